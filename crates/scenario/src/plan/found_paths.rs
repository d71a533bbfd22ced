//! The paths of a network, for what is computed from the results of its run.

use std::cell::OnceCell;

use forebay_engine::forwarding::{Edge, Forwarding};

use super::Plan;
use crate::schema::ScenarioSpec;

/// A plan, and which of its links lead where.
pub(crate) struct Paths<'s> {
    pub plan: Plan<'s>,
    pub forwarding: Forwarding,
    pub edges: Vec<Edge>,
}

/// The paths of a scenario's network, which are found once, when they are asked for first.
pub(crate) struct FoundPaths<'s> {
    pub spec: &'s ScenarioSpec,
    seed: u64,
    found: OnceCell<Paths<'s>>,
}

impl<'s> FoundPaths<'s> {
    pub fn new(spec: &'s ScenarioSpec, seed: u64) -> Self {
        Self { spec, seed, found: OnceCell::new() }
    }

    pub fn get(&self) -> &Paths<'s> {
        self.found.get_or_init(|| {
            let plan = Plan::new(self.spec, self.seed);
            let (forwarding, edges) = plan.forwarding();
            Paths { plan, forwarding, edges }
        })
    }
}
