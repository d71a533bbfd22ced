//! The queues of a scenario: those of `forebay-qdisc`, and disciplines written in Python.

use std::sync::{Mutex, PoisonError};

use forebay_qdisc::config::{self, BuildContext};
use forebay_qdisc::dbl::{FlowTable, LendTable, SharedFlowTable};
use forebay_qdisc::{CustomDiscipline, ParameterError, Rate};
use forebay_units::PythonClass;

use super::tagged::Algorithm;
use crate::custom_classes::{CustomClasses, Site, StandIns};

/// The queue discipline of a sending port: exactly one of these.
pub type QueueSpec = config::QueueSpec<PythonClass>;

/// Every discipline in the order in which they are listed, and the table in the guide's list in which it is.
pub(crate) fn disciplines() -> impl Iterator<Item = (Algorithm, &'static str)> {
    let python = Algorithm { name: "python", source: include_str!("python.rs"), parameters: PythonClass::table_schema };
    let built_in = QueueSpec::DISCIPLINES
        .iter()
        .map(|&config::Manual { name, source, parameters, group }| (Algorithm { name, source, parameters }, group));
    built_in.chain([(python, "own")])
}

/// The shared parts of the queues of one switch: the flow tables of those that ask for a shared one, and the maker of
/// custom disciplines.
#[derive(Clone, Default)]
pub struct Switch<'g> {
    /// Tables by their number of entries: queues that want the same number share one.
    tables: Vec<(u32, SharedFlowTable)>,
    custom: Option<&'g dyn CustomClasses>,
    seed: u64,
    /// The path of the queue that is built next.
    path: String,
    /// Whether it is a part of a simulated network.
    is_simulated: bool,
}

/// A flow table that queues share. The ports that share it are one node of the engine, so that none waits for another.
struct Locked(Mutex<FlowTable>);

impl LendTable for Locked {
    fn lend(&self, work: &mut dyn FnMut(&mut FlowTable)) {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl<'g> Switch<'g> {
    /// A switch in a run under `seed` whose custom disciplines are made by `custom`.
    #[must_use]
    pub fn new(seed: u64, custom: Option<&'g dyn CustomClasses>) -> Self {
        Self { custom, seed, is_simulated: true, ..Self::default() }
    }

    /// The queue that is built next is that of this link.
    pub fn at_link(&mut self, link: &str) {
        self.path = format!("link/{link}");
    }

    /// A switch with drop-tail in the place of each custom discipline: for what can be said of a queue without those
    /// who make its custom disciplines.
    pub(crate) fn of_stand_ins() -> Self {
        Self::new(0, Some(&StandIns))
    }
}

impl BuildContext<PythonClass> for Switch<'_> {
    fn flow_table(&mut self, entries: u32) -> Option<SharedFlowTable> {
        let present = self.tables.iter().find(|(size, _)| *size == entries).map(|(_, table)| table.clone());
        Some(present.unwrap_or_else(|| {
            let table = SharedFlowTable::new(entries, |table| Locked(Mutex::new(table)));
            self.tables.push((entries, table.clone()));
            table
        }))
    }

    fn hears_senders(&self) -> bool {
        self.is_simulated
    }

    fn custom_discipline(
        &mut self,
        queue: &PythonClass,
        classes: &[usize],
        link_rate: Rate,
        salt: u64,
    ) -> Result<CustomDiscipline, ParameterError> {
        let error = |bound| ParameterError { field: "class", bound };
        let custom = self.custom.ok_or(error("be run by `forebay run`, `forebay.run` or a command that uses them"))?;
        let mut path = self.path.clone();
        for class in classes {
            path += &format!("/class/{class}");
        }
        let site = Site { seed: self.seed, path: &path, link_rate, salt };
        custom
            .discipline(queue, site)
            .ok_or(error("be a class derived from AdmissionLaw or QueueDiscipline that accepts these parameters"))
    }
}
