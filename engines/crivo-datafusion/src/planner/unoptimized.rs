//! A session that plans quickly what is never executed.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProviderList, Session};
use datafusion::common::config::TableOptions;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::registry::ExtensionTypeRegistryRef;
use datafusion::logical_expr::{
    AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, ScalarUDF, WindowUDF,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::operator_statistics::StatisticsRegistry;
use datafusion::prelude::SessionConfig;

/// A session whose physical plans no rule optimises: the rules take most of the time of planning, and
/// statistics need none of them.
pub(super) struct Unoptimized<'a> {
    session: &'a dyn Session,
    table_options: TableOptions,
}

impl<'a> Unoptimized<'a> {
    pub(super) fn new(session: &'a dyn Session) -> Self {
        Self { session, table_options: session.table_options().clone() }
    }
}

// `physical_optimizers` is the trait's own: none.
#[async_trait]
impl Session for Unoptimized<'_> {
    fn session_id(&self) -> &str {
        self.session.session_id()
    }

    fn config(&self) -> &SessionConfig {
        self.session.config()
    }

    fn catalog_list(&self) -> Arc<dyn CatalogProviderList> {
        self.session.catalog_list()
    }

    fn query_planner(&self) -> Arc<dyn QueryPlanner + Send + Sync> {
        self.session.query_planner()
    }

    fn optimize(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        self.session.optimize(plan)
    }

    fn statistics_registry(&self) -> Option<&StatisticsRegistry> {
        self.session.statistics_registry()
    }

    async fn create_physical_plan(&self, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
        self.session.create_physical_plan(plan).await
    }

    fn create_physical_expr(&self, expr: Expr, schema: &DFSchema) -> Result<Arc<dyn PhysicalExpr>> {
        self.session.create_physical_expr(expr, schema)
    }

    fn scalar_functions(&self) -> &HashMap<String, Arc<ScalarUDF>> {
        self.session.scalar_functions()
    }

    fn higher_order_functions(&self) -> &HashMap<String, Arc<HigherOrderUDF>> {
        self.session.higher_order_functions()
    }

    fn aggregate_functions(&self) -> &HashMap<String, Arc<AggregateUDF>> {
        self.session.aggregate_functions()
    }

    fn window_functions(&self) -> &HashMap<String, Arc<WindowUDF>> {
        self.session.window_functions()
    }

    fn extension_type_registry(&self) -> &ExtensionTypeRegistryRef {
        self.session.extension_type_registry()
    }

    fn runtime_env(&self) -> &Arc<RuntimeEnv> {
        self.session.runtime_env()
    }

    fn execution_props(&self) -> &ExecutionProps {
        self.session.execution_props()
    }

    fn as_any(&self) -> &dyn Any {
        self.session.as_any()
    }

    fn table_options(&self) -> &TableOptions {
        &self.table_options
    }

    fn table_options_mut(&mut self) -> &mut TableOptions {
        &mut self.table_options
    }

    fn task_ctx(&self) -> Arc<TaskContext> {
        self.session.task_ctx()
    }
}
