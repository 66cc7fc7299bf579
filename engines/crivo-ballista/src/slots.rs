//! Gives back what executors are thought to be busy with, and are not.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpc;
use ballista_core::serde::protobuf::{ExecutorHeartbeat, UpdateTaskStatusParams};
use ballista_core::serde::scheduler::{ExecutorData, ExecutorMetadata};
use ballista_scheduler::cluster::{BoundTask, ClusterState, ClusterStateEventStream, ExecutorSlot};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::scheduler_server::SchedulerServer;
use ballista_scheduler::state::task_manager::JobInfoCache;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tonic::Request;

/// Between two looks at the executors.
const INTERVAL: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 1000 });

/// Longer than a task is neither one that runs nor one whose end was told.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 2000 } else { 15_000 });

/// The state of a cluster, which counts the virtual cores that tasks of each executor hold.
///
/// A scheduler takes them when it gives a task to an executor, and gives them back when the executor tells
/// the end of the task. Ballista 55 finds out how many by looking at the stage of the task. If an executor is
/// lost, stages begin again, and the cores of their tasks on other executors are never given back:
/// executors that are idle are taken for busy, in the end for ever.
pub struct CountedCores {
    state: Arc<dyn ClusterState>,
    /// More may have been given back than were taken.
    held: Mutex<HashMap<String, i64>>,
}

impl CountedCores {
    /// Counts the cores of that cluster.
    pub fn new(state: Arc<dyn ClusterState>) -> Self {
        Self { state, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ClusterState for CountedCores {
    async fn init(&self) -> Result<()> {
        self.state.init().await
    }

    async fn bind_schedulable_tasks(
        &self,
        distribution: TaskDistributionPolicy,
        active_jobs: Arc<HashMap<JobId, JobInfoCache>>,
        executors: Option<HashSet<String>>,
    ) -> Result<Vec<BoundTask>> {
        let tasks = self.state.bind_schedulable_tasks(distribution, active_jobs, executors).await?;
        let mut held = self.held();
        for (executor, task) in &tasks {
            *held.entry(executor.clone()).or_default() += i64::from(task.vcores_consumed);
        }
        Ok(tasks)
    }

    async fn unbind_tasks(&self, executor_slots: Vec<ExecutorSlot>) -> Result<()> {
        for (executor, cores) in &executor_slots {
            if let Some(held) = self.held().get_mut(executor) {
                *held -= i64::from(*cores);
            }
        }
        self.state.unbind_tasks(executor_slots).await
    }

    async fn register_executor(
        &self,
        metadata: ExecutorMetadata,
        spec: ExecutorData,
    ) -> Result<()> {
        let executor = metadata.id.clone();
        self.state.register_executor(metadata, spec).await?;
        self.held().insert(executor, 0);
        Ok(())
    }

    async fn save_executor_metadata(&self, metadata: ExecutorMetadata) -> Result<()> {
        self.state.save_executor_metadata(metadata).await
    }

    async fn get_executor_metadata(&self, executor_id: &str) -> Result<ExecutorMetadata> {
        self.state.get_executor_metadata(executor_id).await
    }

    async fn registered_executor_metadata(&self) -> Vec<ExecutorMetadata> {
        self.state.registered_executor_metadata().await
    }

    async fn save_executor_heartbeat(&self, heartbeat: ExecutorHeartbeat) -> Result<()> {
        self.state.save_executor_heartbeat(heartbeat).await
    }

    async fn remove_executor(&self, executor_id: &str) -> Result<()> {
        self.held().remove(executor_id);
        self.state.remove_executor(executor_id).await
    }

    fn executor_heartbeats(&self) -> HashMap<String, ExecutorHeartbeat> {
        self.state.executor_heartbeats()
    }

    fn get_executor_heartbeat(&self, executor_id: &str) -> Option<ExecutorHeartbeat> {
        self.state.get_executor_heartbeat(executor_id)
    }

    async fn cluster_state_events(&self) -> Result<ClusterStateEventStream> {
        self.state.cluster_state_events().await
    }
}

/// The least cores that an executor held for nobody, since when it held any.
struct Lost {
    cores: u32,
    since: Instant,
}

/// Gives the cores of executors back that no task holds; for as long as the scheduler runs.
pub async fn return_lost_cores(
    scheduler: SchedulerServer<LogicalPlanNode, PhysicalPlanNode>,
    cores: Arc<CountedCores>,
) {
    let mut lost: HashMap<String, Lost> = HashMap::new();
    loop {
        tokio::time::sleep(INTERVAL).await;
        let mut idle = cores.held().clone();
        for (_, info) in scheduler.state.task_manager.get_running_job_cache().iter() {
            let graph = info.execution_graph.read().await;
            for task in graph.running_tasks() {
                let held = graph.task_vcores(task.stage_id, task.task_id).unwrap_or(0);
                if let Some(idle) = idle.get_mut(&task.executor_id) {
                    *idle -= i64::from(held);
                }
            }
        }
        let idle = idle.into_iter().filter_map(|(executor, cores)| {
            let cores = u32::try_from(cores).ok().filter(|&cores| cores > 0)?;
            Some((executor, cores))
        });
        let before = std::mem::take(&mut lost);
        for (executor, cores) in idle {
            let seen = before.get(&executor);
            let since = seen.map_or_else(Instant::now, |seen| seen.since);
            let cores = seen.map_or(cores, |seen| seen.cores.min(cores));
            lost.insert(executor, Lost { cores, since });
        }
        for (executor, Lost { cores: count, .. }) in
            lost.extract_if(|_, lost| lost.since.elapsed() >= PATIENCE)
        {
            log::warn!("executor {executor}: {count} cores that no task holds are free again");
            if let Err(error) = cores.unbind_tasks(vec![(executor.clone(), count)]).await {
                log::error!("executor {executor}: {error}");
            }
            // Tasks are given to executors when there is news of one; of no task, here.
            let news = UpdateTaskStatusParams { executor_id: executor, task_status: Vec::new() };
            if let Err(error) =
                SchedulerGrpc::update_task_status(&scheduler, Request::new(news)).await
            {
                log::error!("tasks are not given to executors: {error}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ballista_core::serde::scheduler::ExecutorSpecification;
    use ballista_scheduler::cluster::BallistaCluster;
    use ballista_scheduler::config::SchedulerConfig;
    use ballista_scheduler::scheduler_process::create_scheduler;

    use super::*;

    fn held(cores: &CountedCores) -> Option<i64> {
        cores.held().get("e").copied()
    }

    /// Cores that no task holds are given back, and not before it is certain; none of an executor that is gone.
    #[tokio::test]
    async fn cores_of_nobody_are_given_back() {
        let config = SchedulerConfig::default();
        let cluster = BallistaCluster::new_from_config(&config).await.unwrap();
        // What the outer one gives back, the inner one is told.
        let inner = Arc::new(CountedCores::new(cluster.cluster_state()));
        let cores = Arc::new(CountedCores::new(Arc::clone(&inner) as _));
        let cluster = BallistaCluster::new(Arc::clone(&cores) as _, cluster.job_state());
        let scheduler = create_scheduler(cluster, Arc::new(config)).await.unwrap();
        let metadata = ExecutorMetadata {
            id: "e".to_owned(),
            host: "localhost".to_owned(),
            port: 1,
            grpc_port: 2,
            specification: ExecutorSpecification::default(),
            os_info: Default::default(),
        };
        let data =
            ExecutorData { executor_id: "e".to_owned(), total_vcores: 4, available_vcores: 1 };
        cores.register_executor(metadata, data).await.unwrap();
        for cores in [&inner, &cores] {
            cores.held().insert("e".to_owned(), 3);
        }

        tokio::spawn(return_lost_cores(scheduler, Arc::clone(&cores)));
        tokio::time::sleep(PATIENCE / 2).await;
        assert_eq!((held(&cores), held(&inner)), (Some(3), Some(3)));
        // Of three cores one was that of a task, whose end is told late.
        cores.unbind_tasks(vec![("e".to_owned(), 1)]).await.unwrap();
        tokio::time::sleep(2 * PATIENCE).await;
        assert_eq!((held(&cores), held(&inner)), (Some(0), Some(0)));

        cores.held().insert("e".to_owned(), 2);
        cores.remove_executor("e").await.unwrap();
        tokio::time::sleep(2 * PATIENCE).await;
        assert_eq!((held(&cores), held(&inner)), (None, None));
    }
}
