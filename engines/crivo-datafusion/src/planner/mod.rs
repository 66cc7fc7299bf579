//! Runtime filters: joins that drop rows before they are sent.
//!
//! ```text
//!   SELECT … FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE o_orderdate = …
//!
//!   1  SELECT bloom_agg(o_orderkey) FROM orders WHERE o_orderdate = …      few keys, some kilobytes
//!   2  lineitem ── bloom_contains('…', l_orderkey) ── exchange ── join ── exchange ── orders
//! ```
//!
//! The planner of a session finds the joins where a filter is safe and predicted to pay, evaluates the
//! keys of one side, decides again with their number, and adds the filter to the other side as a literal
//! predicate, which goes down through projections, filters and further joins to the tables. The join
//! itself is unchanged and remains the truth. What an engine does inside one process (dynamic filters)
//! cannot cross an exchange between processes; a literal in a plan can.
//!
//! [`enable`] adds the planner to a session; the option `crivo.runtime_filters` turns it on, and
//! [`CrivoOptions`] has the others. `EXPLAIN` evaluates the keys, too, and shows the plan with its
//! filters.

mod bounds;
mod engine;
mod estimate;
mod exec;
mod failure;
mod files;
mod options;
mod rewrite;
mod safety;
mod unoptimized;

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNode;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::union::UnionExec;
use datafusion::prelude::SessionContext;

pub use exec::RuntimeFilterExec;
pub use options::CrivoOptions;
use rewrite::Rewriter;
pub use rewrite::RuntimeFilter;

/// A planner that puts runtime filters into plans, and leaves the rest to another planner.
#[derive(Debug)]
pub struct RuntimeFilterPlanner {
    planner: Arc<dyn QueryPlanner + Send + Sync>,
}

impl RuntimeFilterPlanner {
    /// Filters in front of `planner`, which also plans the queries for keys.
    pub fn new(planner: Arc<dyn QueryPlanner + Send + Sync>) -> Self {
        Self { planner }
    }
}

#[async_trait]
impl QueryPlanner for RuntimeFilterPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = session.config_options().extensions.get::<CrivoOptions>();
        let Some(options) = options.filter(|options| options.runtime_filters) else {
            return self.planner.create_physical_plan(plan, session).await;
        };
        // A query without joins is none of the filters' business.
        if !plan.exists(|node| Ok(matches!(node, LogicalPlan::Join(_))))? {
            return self.planner.create_physical_plan(plan, session).await;
        }
        let mut rewriter = Rewriter::new(self.planner.as_ref(), session, options);
        let Some(rewritten) = rewriter.rewrite(plan).await? else {
            return self.planner.create_physical_plan(plan, session).await;
        };
        let Rewriter { filters, files, share_operators, .. } = rewriter;
        // That they change is what the query is for, and says nothing about its filters.
        if files.are_written_by(plan)? {
            return self.planner.create_physical_plan(plan, session).await;
        }
        if let LogicalPlan::Explain(_) = &rewritten {
            let explain = self.planner.create_physical_plan(&rewritten, session).await?;
            return show_filters(explain, &filters);
        }
        let input = self.planner.create_physical_plan(&rewritten, session).await?;
        // Tables in memory are read when they are planned.
        files.verify_memory().await?;
        let function = session.scalar_functions().get("bloom_contains").cloned();
        Ok(Arc::new(RuntimeFilterExec::new(input, filters, share_operators, function, files)))
    }
}

/// The result of `EXPLAIN`, and a row that tells the filters.
fn show_filters(
    explain: Arc<dyn ExecutionPlan>,
    filters: &[RuntimeFilter],
) -> Result<Arc<dyn ExecutionPlan>> {
    let text = filters.iter().map(RuntimeFilter::to_string).collect::<Vec<_>>().join("\n");
    let columns: Vec<ArrayRef> =
        vec![StringArray::from(vec!["runtime_filters"]), StringArray::from(vec![text])]
            .into_iter()
            .map(|column| Arc::new(column) as ArrayRef)
            .collect();
    let rows = RecordBatch::try_new(explain.schema(), columns)?;
    let row = MemorySourceConfig::try_new_exec(&[vec![rows]], explain.schema(), None)?;
    UnionExec::try_new(vec![explain, row])
}

/// The session with runtime filters and the functions that they need. The option
/// `crivo.runtime_filters` turns the filters on.
///
/// ```
/// use crivo_datafusion::planner;
/// use datafusion::prelude::SessionContext;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> datafusion::error::Result<()> {
/// let context = planner::enable(&SessionContext::new());
/// context.sql("SET crivo.runtime_filters = true").await?;
/// # Ok(())
/// # }
/// ```
pub fn enable(context: &SessionContext) -> SessionContext {
    let state = context.state();
    let planner = RuntimeFilterPlanner::new(Arc::clone(state.query_planner()));
    let mut config = state.config().clone();
    if config.options().extensions.get::<CrivoOptions>().is_none() {
        config.options_mut().extensions.insert(CrivoOptions::default());
    }
    let state = SessionStateBuilder::new_from_existing(state)
        .with_config(config)
        .with_query_planner(Arc::new(planner))
        .build();
    let context = SessionContext::new_with_state(state);
    crate::register_functions(&context);
    context
}
