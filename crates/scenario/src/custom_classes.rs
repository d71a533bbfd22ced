//! Disciplines and controllers that a scenario names and Forebay does not have: the caller that runs the scenario
//! creates them.

use std::sync::Arc;

use forebay_qdisc::{CustomDiscipline, DropTail, DropTailConfig, Rate};
use forebay_records::random::stream;
use forebay_tcp::ControllerMaker;
use forebay_units::PythonClass;
use rand_pcg::Pcg64Mcg;

/// Where a custom discipline decides.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The seed of the run.
    pub seed: u64,
    /// The path of its place, `"link/bottleneck"`, or `"link/bottleneck/class/1"` within class-based queueing.
    pub path: &'a str,
    /// Rate of its link, or of its class.
    pub link_rate: Rate,
    /// Separates the flow hashes of different queues.
    pub salt: u64,
}

impl Site<'_> {
    /// The random stream of the place, which nothing else draws from. A built-in law alone at a port has the same.
    #[must_use]
    pub fn stream(&self) -> Pcg64Mcg {
        stream(self.seed, self.path)
    }

    /// The name of its queue.
    #[must_use]
    pub fn queue(&self) -> &str {
        let path = self.path.strip_prefix("link/").unwrap_or(self.path);
        path.split_once("/class/").map_or(path, |(queue, _)| queue)
    }
}

/// Makes custom disciplines and controllers.
pub trait CustomClasses {
    /// The custom discipline for that place; `None` if it cannot be made, for a reason that the maker keeps.
    fn discipline(&self, class: &PythonClass, site: Site<'_>) -> Option<CustomDiscipline>;

    /// The discipline's name in results.
    fn name(&self, class: &PythonClass) -> String;

    /// The maker of the controllers of that class; `None` if it is not one of a controller.
    fn controllers(&self, class: &PythonClass) -> Option<Arc<dyn ControllerMaker>>;
}

/// Puts drop-tail in the place of each custom discipline, to see whether all else in a scenario can be built.
pub(crate) struct StandIns;

impl CustomClasses for StandIns {
    fn discipline(&self, _: &PythonClass, site: Site<'_>) -> Option<CustomDiscipline> {
        let law = DropTail::new(&DropTailConfig::default(), site.link_rate, site.salt).ok()?;
        Some(CustomDiscipline::Law(Box::new(law)))
    }

    fn name(&self, class: &PythonClass) -> String {
        class.class.clone()
    }

    fn controllers(&self, _: &PythonClass) -> Option<Arc<dyn ControllerMaker>> {
        None
    }
}
