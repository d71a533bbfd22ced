//! Disciplines that a scenario names and Forebay does not have: the caller that runs the scenario creates them.

use forebay_qdisc::{CustomDiscipline, DropTail, DropTailConfig, Rate};
use forebay_records::random::stream;
use rand_pcg::Pcg64Mcg;

use crate::schema::PythonQueue;

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

/// Makes custom disciplines.
pub trait CustomDisciplines {
    /// The custom discipline for that place; `None` if it cannot be made, for a reason that the maker keeps.
    fn build(&self, queue: &PythonQueue, site: Site<'_>) -> Option<CustomDiscipline>;

    /// The discipline's name in results.
    fn name(&self, queue: &PythonQueue) -> String;
}

/// Puts drop-tail in the place of each custom discipline, to see whether all else in a scenario can be built.
pub(crate) struct StandIns;

impl CustomDisciplines for StandIns {
    fn build(&self, _: &PythonQueue, site: Site<'_>) -> Option<CustomDiscipline> {
        let law = DropTail::new(&DropTailConfig::default(), site.link_rate, site.salt).ok()?;
        Some(CustomDiscipline::Law(Box::new(law)))
    }

    fn name(&self, queue: &PythonQueue) -> String {
        queue.class.clone()
    }
}
