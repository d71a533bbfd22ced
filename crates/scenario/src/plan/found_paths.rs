//! The paths of a network, for warnings and for what is computed from the results of its run.

use std::cell::OnceCell;

use forebay_engine::forwarding::{Edge, Forwarding};

use super::Plan;
use super::outline::Outline;
use crate::schema::ScenarioSpec;

/// A plan, and which of its links lead where.
pub(crate) struct Paths<'p, 's> {
    pub plan: &'p Plan<'s>,
    pub forwarding: &'p Forwarding,
    pub edges: &'p [Edge],
}

/// The plan and the paths of a scenario's network, which are made once, when they are asked for first: they take memory
/// for each flow.
pub(crate) struct FoundPaths<'s> {
    pub outline: Outline<'s>,
    seed: u64,
    plan: OnceCell<Plan<'s>>,
    routes: OnceCell<(Forwarding, Vec<Edge>)>,
}

impl<'s> FoundPaths<'s> {
    pub fn new(spec: &'s ScenarioSpec, seed: u64) -> Self {
        Self { outline: Outline::new(spec), seed, plan: OnceCell::new(), routes: OnceCell::new() }
    }

    pub fn spec(&self) -> &'s ScenarioSpec {
        self.outline.spec
    }

    pub fn plan(&self) -> &Plan<'s> {
        self.plan.get_or_init(|| Plan::new(self.outline.spec, self.seed))
    }

    pub fn get(&self) -> Paths<'_, 's> {
        let plan = self.plan();
        let (forwarding, edges) = self.routes.get_or_init(|| plan.forwarding());
        Paths { plan, forwarding, edges }
    }
}
