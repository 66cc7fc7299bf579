//! The versions of the files that a filter was made from.
//!
//! The build side of a join is read twice. If a file changed in between, the filter would miss keys that
//! the join has, and rows would be lost silently. So what the object store tells about each file is
//! compared after the query. A table in memory is read when a plan is made, and is compared then.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_err};
use datafusion::datasource::listing::{ListingTable, ListingTableUrl};
use datafusion::datasource::{MemTable, TableProvider, source_as_provider};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::LogicalPlan;
use datafusion::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use futures::TryStreamExt;

/// A file as its store describes it: time of change in nanoseconds, size, tag.
type Version = (i64, u64, Option<String>);

/// The batches of a table in memory.
type Partitions = Vec<Vec<RecordBatch>>;

/// Files of a table: those at a place whose names end so. Others there are none of its business.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listing {
    url: ListingTableUrl,
    ending: String,
}

/// The tables of a plan that are files, and the versions of these.
#[derive(Debug, Clone)]
pub(super) struct FileVersions {
    runtime: Arc<RuntimeEnv>,
    /// Whether tables are only the files directly in their directories.
    ignores_subdirectories: bool,
    listings: Vec<(Listing, BTreeMap<String, Version>)>,
    /// Tables in memory, and their batches.
    in_memory: Vec<(Arc<dyn TableProvider>, Partitions)>,
}

impl FileVersions {
    pub(super) fn new(session: &dyn Session) -> Self {
        Self {
            runtime: Arc::clone(session.runtime_env()),
            ignores_subdirectories: session
                .config_options()
                .execution
                .listing_table_ignore_subdirectory,
            listings: Vec::new(),
            in_memory: Vec::new(),
        }
    }

    /// Remembers the files of the tables in `plan`, as they are now. Those that are known keep their
    /// version: the first filter decides.
    pub(super) async fn add(&mut self, plan: &LogicalPlan) -> Result<()> {
        let (mut listings, mut providers) = (Vec::new(), Vec::new());
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node
                && let Ok(provider) = source_as_provider(&scan.source)
            {
                match provider.downcast_ref::<ListingTable>() {
                    Some(table) => {
                        let ending = &table.options().file_extension;
                        listings.extend(
                            table
                                .table_paths()
                                .iter()
                                .map(|url| Listing { url: url.clone(), ending: ending.clone() }),
                        );
                    }
                    None => providers.push(provider),
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        for listing in listings {
            if !self.listings.iter().any(|(known, _)| *known == listing) {
                let versions = self.versions(&listing).await?;
                self.listings.push((listing, versions));
            }
        }
        for provider in providers {
            if !self.in_memory.iter().any(|(known, _)| Arc::ptr_eq(known, &provider)) {
                let batches = batches(provider.as_ref()).await;
                self.in_memory.push((provider, batches));
            }
        }
        Ok(())
    }

    /// Whether a plan writes where one of the tables is.
    pub(super) fn are_written_by(&self, plan: &LogicalPlan) -> Result<bool> {
        let mut targets: Vec<ListingTableUrl> = Vec::new();
        plan.apply_with_subqueries(|node| {
            match node {
                LogicalPlan::Copy(copy) => targets.push(ListingTableUrl::parse(&copy.output_url)?),
                LogicalPlan::Dml(dml) => {
                    if let Ok(provider) = source_as_provider(&dml.target)
                        && let Some(table) = provider.downcast_ref::<ListingTable>()
                    {
                        targets.extend(table.table_paths().iter().cloned());
                    }
                }
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        let is_in = |a: &ListingTableUrl, b: &ListingTableUrl| a.as_str().starts_with(b.as_str());
        Ok(targets.iter().any(|target| {
            let mut urls = self.listings.iter().map(|(listing, _)| &listing.url);
            urls.any(|table| is_in(target, table) || is_in(table, target))
        }))
    }

    /// Fails if a table in memory is not what it was.
    pub(super) async fn verify_memory(&self) -> Result<()> {
        for (provider, before) in &self.in_memory {
            let now = batches(provider.as_ref()).await;
            // Rows are added in batches of their own; what is changed is a new batch.
            let is_same = |(a, b): (&RecordBatch, &RecordBatch)| {
                a.num_rows() == b.num_rows()
                    && a.columns().iter().zip(b.columns()).all(|(a, b)| Arc::ptr_eq(a, b))
            };
            let is_unchanged = now.len() == before.len()
                && now
                    .iter()
                    .zip(before)
                    .all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(is_same));
            if !is_unchanged {
                return exec_err!("a table changed while the query was planned: run it again");
            }
        }
        Ok(())
    }

    /// Fails if a file is not what it was.
    pub(super) async fn verify(&self) -> Result<()> {
        for (listing, before) in &self.listings {
            if self.versions(listing).await? != *before {
                return exec_err!(
                    "files of {} changed while the query read them; its result may lack rows: \
                     run it again",
                    listing.url
                );
            }
        }
        Ok(())
    }

    async fn versions(&self, listing: &Listing) -> Result<BTreeMap<String, Version>> {
        let Listing { url, ending } = listing;
        let store = self.runtime.object_store(url.object_store())?;
        let mut metas = match url.is_collection() {
            true => store.list(Some(url.prefix())).try_collect::<Vec<_>>().await?,
            false => vec![store.head(url.prefix()).await?],
        };
        metas.retain(|meta| {
            meta.location.as_ref().ends_with(ending)
                && url.contains(&meta.location, self.ignores_subdirectories)
        });
        let version = |meta: ObjectMeta| {
            let changed = meta.last_modified.timestamp_nanos_opt().unwrap_or_default();
            (meta.location.to_string(), (changed, meta.size, meta.e_tag))
        };
        Ok(metas.into_iter().map(version).collect())
    }
}

/// The batches of a table in memory; none of others.
async fn batches(provider: &dyn TableProvider) -> Partitions {
    let mut partitions = Vec::new();
    for partition in provider.downcast_ref::<MemTable>().map_or(&[][..], |it| &it.batches) {
        partitions.push(partition.read().await.clone());
    }
    partitions
}
