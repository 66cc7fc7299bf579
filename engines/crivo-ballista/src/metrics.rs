//! What the executors of a cluster counted.

use ballista_core::JobId;
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    GetJobMetricsParams, GetJobMetricsResult, OperatorWithMetrics,
};
use crivo_datafusion::planner::RuntimeFilterExec;
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::protobuf::LogicalPlanNode;

use crate::MAX_MESSAGE_BYTES;

/// What a query did on a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct JobMetrics {
    /// The rows that reached an operator with a filter, which may also have conditions of the query itself
    /// (see [`RuntimeFilterExec::share_operators`]). Lists of keys are not counted.
    pub filter_input_rows: u64,
    /// How many of them passed.
    pub filter_output_rows: u64,
    /// The bytes of the rows that executors fetched from each other, decoded. What an executor reads from its own
    /// files is not counted, so that the number depends on who ran what; with `ballista.shuffle.force_remote_read`
    /// executors fetch all that stages read from other stages.
    pub fetched_bytes: u64,
}

/// What the last execution of a plan did on the cluster of the scheduler at `address`.
///
/// # Errors
/// If the plan was not executed there, or the scheduler does not answer, or has forgotten the query.
pub async fn job_metrics(address: &str, plan: &dyn ExecutionPlan) -> Result<JobMetrics> {
    let Some(job) = job_of(plan) else { return exec_err!("the query did not run on a cluster") };
    let mut scheduler = SchedulerGrpcClient::connect(format!("http://{address}"))
        .await
        .map_err(|error| exec_datafusion_err!("scheduler {address}: {error}"))?
        .max_decoding_message_size(MAX_MESSAGE_BYTES as usize);
    let answer = scheduler
        .get_job_metrics(GetJobMetricsParams { job_id: job.to_string() })
        .await
        .map_err(|error| exec_datafusion_err!("scheduler {address}: {error}"))?;
    Ok(summary(&answer.into_inner()))
}

fn job_of(plan: &dyn ExecutionPlan) -> Option<JobId> {
    match plan.downcast_ref::<RuntimeFilterExec>() {
        Some(root) => job_of(root.children().first()?.as_ref()),
        None => plan.downcast_ref::<DistributedQueryExec<LogicalPlanNode>>()?.job_id(),
    }
}

fn summary(job: &GetJobMetricsResult) -> JobMetrics {
    let mut total = JobMetrics::default();
    for stage in &job.stages {
        // An operator is followed by its input.
        for (index, operator) in stage.operators.iter().enumerate() {
            if operator.operator_type == "FilterExec"
                && operator.operator_desc.contains("bloom_contains(")
                && let Some(input) = stage.operators.get(index + 1)
            {
                total.filter_input_rows += output_rows(input);
                total.filter_output_rows += output_rows(operator);
            }
            total.fetched_bytes += count(operator, "decoded_bytes");
        }
    }
    total
}

fn output_rows(operator: &OperatorWithMetrics) -> u64 {
    sum(operator, |metric| if let Metric::OutputRows(rows) = metric { *rows } else { 0 })
}

fn count(operator: &OperatorWithMetrics, name: &str) -> u64 {
    sum(operator, |metric| match metric {
        Metric::Count(count) if count.name == name => count.value,
        _ => 0,
    })
}

fn sum(operator: &OperatorWithMetrics, value: impl Fn(&Metric) -> u64) -> u64 {
    operator.metrics.iter().filter_map(|it| it.metric.as_ref()).map(value).sum()
}
