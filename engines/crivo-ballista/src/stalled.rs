//! Ends queries that would never end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ballista_core::JobId;
use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_scheduler::cluster::JobState;
use ballista_scheduler::scheduler_server::SchedulerServer;
use ballista_scheduler::state::execution_graph::ExecutionGraph;
use ballista_scheduler::state::execution_stage::ExecutionStage;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};

/// Between two looks at the queries.
const INTERVAL: Duration = Duration::from_secs(1);

/// Longer than planning the next stage of a query takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// More stages than a plan with this number of operators has, each of which can end one.
fn max_stages(operators: usize) -> usize {
    100 + 2 * operators
}

/// Clients ask for the state of their queries more often.
const CLIENT_INTERVAL: Duration = Duration::from_secs(5);

const REASON: &str = "the query cannot end: an executor was lost, or a side of an outer join is empty, where \
    Ballista's adaptive planner does not go on; try again, or set ballista.planner.adaptive.enabled to \
    false";

/// Ends the queries of a scheduler that cannot end by themselves, with an error; for as long as the
/// scheduler runs.
///
/// These are queries that have no task that runs and none that could, so that nothing will tell their end,
/// those that are planned again without end, and those of the adaptive planner of which a stage that had
/// ended runs again. Ballista 55 brings queries into these states if an executor is lost, or if a side of
/// an outer join turns out to be empty. A query that only waits for executors has tasks that could run.
pub async fn end_stalled_queries(
    scheduler: SchedulerServer<LogicalPlanNode, PhysicalPlanNode>,
    jobs: Arc<dyn JobState>,
) {
    let mut idle_since: HashMap<JobId, Instant> = HashMap::new();
    loop {
        tokio::time::sleep(INTERVAL).await;
        let mut idle = HashMap::new();
        for (job, info) in scheduler.state.task_manager.get_running_job_cache().iter() {
            let mut graph = info.execution_graph.write().await;
            if !matches!(graph.status().status, Some(Status::Running(_))) {
                continue;
            }
            if is_idle(graph.as_ref()) {
                let start = idle_since.get(job).copied().unwrap_or_else(Instant::now);
                idle.insert(job.clone(), start);
            }
            let is_stalled = idle.get(job).is_some_and(|start| start.elapsed() >= PATIENCE);
            if is_stalled || is_endless(graph.as_ref()) || is_beyond_repair(graph.as_ref()) {
                log::error!("{job}: {REASON}");
                graph.fail_job(REASON.to_owned());
                // The other queries of the scheduler go on, whatever happens to this one.
                if let Err(error) = jobs.save_job(job, &graph).await {
                    log::error!("{job}: its client is not told: {error}");
                }
                tokio::spawn(remove(scheduler.clone(), job.clone()));
            }
        }
        idle_since = idle;
    }
}

fn is_idle(graph: &dyn ExecutionGraph) -> bool {
    graph.running_tasks().is_empty() && graph.available_tasks() == 0
}

fn is_endless(graph: &dyn ExecutionGraph) -> bool {
    fn operator_count(plan: &Arc<dyn ExecutionPlan>) -> usize {
        1 + plan.children().into_iter().map(operator_count).sum::<usize>()
    }
    graph.stages().len() > max_stages(operator_count(&graph.physical_plan()))
}

/// Whether the adaptive planner has lost rows of a stage that had ended. It forgets a stage's output when the
/// stage ends, so that what the second attempt tells is an error in the scheduler's log and nothing else: the
/// stages that wait for it never start, and executors get no further tasks.
fn is_beyond_repair(graph: &dyn ExecutionGraph) -> bool {
    let is_repeated = |stage: &ExecutionStage| match stage {
        ExecutionStage::UnResolved(_) => true,
        ExecutionStage::Resolved(it) => it.stage_attempt_num > 0,
        ExecutionStage::Running(it) => it.stage_attempt_num > 0,
        ExecutionStage::Successful(it) => it.stage_attempt_num > 0,
        ExecutionStage::Failed(_) => false,
    };
    // A physical plan that a client has made is never planned again, whatever the session's options say.
    let is_adaptive = graph.logical_plan().is_some()
        && graph.session_config().ballista_adaptive_query_planner_enabled();
    is_adaptive && graph.stages().values().any(is_repeated)
}

/// Removes what is left of a query, when its client has seen why it failed.
async fn remove(scheduler: SchedulerServer<LogicalPlanNode, PhysicalPlanNode>, job: JobId) {
    tokio::time::sleep(CLIENT_INTERVAL).await;
    if let Err(error) = scheduler.cancel_job(job.clone()).await {
        log::error!("{job} cannot be removed: {error}");
    }
}
