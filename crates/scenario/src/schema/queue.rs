//! Queues: one line a discipline.

use std::sync::{Mutex, PoisonError};

use forebay_qdisc as qdisc;
use forebay_qdisc::dbl::{FlowTable, FlowTableScope, LendTable, SharedFlowTable};
use forebay_qdisc::{
    CbqConfig, Dbl, DblConfig, Discipline, FlowKey, Guest, Packet, ParameterError, Queue, Rate, hash_flow,
};
use forebay_units::QueueSize;
use schemars::{JsonSchema, Schema};

use super::PythonQueue;
use super::python::Parameters;
use super::tagged::{self, Algorithm};
use crate::guests::{Guests, Site, StandIns};

/// Declares [`QueueSpec`] and all that has to know every discipline. A line is: the comment for the schema, the variant
/// with its configuration, the name in a scenario, what is built (a law in front of a FIFO, one that may share a table
/// with the switch's other queues, a discipline that holds its packets, one that holds a queue for each class, or a
/// guest that others make), the file, and the table in the guide's list of disciplines.
macro_rules! disciplines {
    ($(
        $(#[$doc:meta])*
        $variant:ident($config:ty) = $name:literal, $seam:ident $law:ident, $file:literal, $group:ident;
    )*) => {
        /// The queue discipline of a sending port: exactly one of these.
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
        #[schemars(transform = allow_bare_names)]
        pub enum QueueSpec {
            $($(#[$doc])* #[serde(rename = $name)] $variant($config),)*
        }

        /// Every discipline, in the order in which they are listed.
        pub(crate) const DISCIPLINES: &[Algorithm] = &[
            $(Algorithm {
                name: $name,
                source: include_str!(concat!("../../../qdisc/src/", $file)),
                parameters: schema!($seam $config),
            },)*
        ];

        /// The table in the guide's list in which the discipline of that name is.
        pub(crate) fn group_of(name: &str) -> Option<&'static str> {
            match name {
                $($name => Some(stringify!($group)),)*
                _ => None,
            }
        }

        fn allow_bare_names(schema: &mut Schema) {
            let bare: Vec<&str> =
                [$(($name, stringify!($seam))),*]
                .into_iter()
                .filter(|(_, seam)| !["classes", "guest"].contains(seam))
                .map(|(name, _)| name)
                .collect();
            tagged::allow_bare(schema, &bare);
        }

        impl QueueSpec {
            /// Name of the discipline, as in a scenario.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// The limit of the whole queue, for those that have one.
            #[must_use]
            pub fn limit(&self) -> Option<QueueSize> {
                match self { $(Self::$variant(config) => limit!($seam config),)* }
            }

            /// Whether it shares state with other queues of its switch.
            #[must_use]
            pub fn shares_state(&self) -> bool {
                match self { $(Self::$variant(config) => shares_state!($seam config),)* }
            }

            /// Builds the queue for a link of `link_rate`, the only one of its switch; `salt` separates the flow hashes
            /// of different queues.
            ///
            /// # Errors
            /// The first parameter outside its bound; a guest, which only a run can have.
            pub fn build<P: Packet + 'static>(&self, link_rate: Rate, salt: u64) -> Result<Queue<P>, ParameterError> {
                self.build_in(&mut Switch::default(), link_rate, salt)
            }

            /// As [`QueueSpec::build`], with drop-tail in the place of each guest: what can be said of a queue without
            /// those who make its guests.
            ///
            /// # Errors
            /// The first parameter outside its bound.
            pub fn build_without_guests<P: Packet + 'static>(
                &self,
                link_rate: Rate,
            ) -> Result<Queue<P>, ParameterError> {
                self.build_in(&mut Switch::new(0, Some(&StandIns)), link_rate, 0)
            }

            /// Builds the queue for a link of `link_rate` beside the other queues of `switch`, with which it may share
            /// a flow table.
            ///
            /// # Errors
            /// The first parameter outside its bound.
            pub fn build_in<P: Packet + 'static>(
                &self,
                switch: &mut Switch<'_>,
                link_rate: Rate,
                salt: u64,
            ) -> Result<Queue<P>, ParameterError> {
                match self {
                    $(Self::$variant(config) => build!($seam $law, P, config, switch, link_rate, salt),)*
                }
            }
        }
    };
}

macro_rules! schema {
    (guest $config:ty) => {
        Parameters::json_schema
    };
    ($seam:ident $config:ty) => {
        <$config as JsonSchema>::json_schema
    };
}

macro_rules! limit {
    (classes $config:expr) => {{
        // Each class's queue has a limit of its own.
        let _ = $config;
        None
    }};
    (guest $config:expr) => {{
        // A guest limits what it holds as it likes.
        let _ = $config;
        None
    }};
    ($seam:ident $config:expr) => {
        Some($config.limit)
    };
}

macro_rules! shares_state {
    (shared_law $config:expr) => {
        $config.flow_table == FlowTableScope::Shared
    };
    (classes $config:expr) => {
        $config.classes.iter().any(|class| class.queue.shares_state())
    };
    ($seam:ident $config:expr) => {{
        let _ = $config;
        false
    }};
}

macro_rules! build {
    (law $law:ident, $packet:ty, $config:expr, $switch:expr, $link_rate:expr, $salt:expr) => {
        Ok(Queue::Law(Box::new(qdisc::$law::new($config, $link_rate, $salt)?)))
    };
    (shared_law $law:ident, $packet:ty, $config:expr, $switch:expr, $link_rate:expr, $salt:expr) => {
        Ok(Queue::Law(Box::new($switch.dbl($config, $link_rate, $salt)?)))
    };
    (discipline $discipline:ident, $packet:ty, $config:expr, $switch:expr, $link_rate:expr, $salt:expr) => {
        Ok(Queue::Discipline(Box::new(qdisc::$discipline::<$packet>::new($config, $link_rate, $salt)?)))
    };
    (classes $discipline:ident, $packet:ty, $config:expr, $switch:expr, $link_rate:expr, $salt:expr) => {{
        let queues = $switch.queues_of_classes::<$packet>($config, $link_rate, $salt)?;
        Ok(Queue::Discipline(Box::new(qdisc::$discipline::new($config, queues)?)))
    }};
    (guest $guest:ident, $packet:ty, $config:expr, $switch:expr, $link_rate:expr, $salt:expr) => {
        $switch.guest($config, $link_rate, $salt).map(qdisc::$guest::into_queue::<$packet>)
    };
}

/// What the queues of one switch share: the flow tables of those that ask for a shared one, and who makes guests.
#[derive(Clone, Default)]
pub struct Switch<'g> {
    /// Tables by their number of entries: queues that want the same number share one.
    tables: Vec<(u32, SharedFlowTable)>,
    guests: Option<&'g dyn Guests>,
    seed: u64,
    /// The path of the queue that is built next.
    path: String,
}

/// A flow table that queues share. The ports that share it are one node of the engine, so that none waits for another.
struct Locked(Mutex<FlowTable>);

impl LendTable for Locked {
    fn lend(&self, work: &mut dyn FnMut(&mut FlowTable)) {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl<'g> Switch<'g> {
    /// A switch in a run under `seed` whose guests are made by `guests`.
    #[must_use]
    pub fn new(seed: u64, guests: Option<&'g dyn Guests>) -> Self {
        Self { guests, seed, ..Self::default() }
    }

    /// The queue that is built next is that of this link.
    pub fn at_link(&mut self, link: &str) {
        self.path = format!("link/{link}");
    }

    fn guest(&self, queue: &PythonQueue, link_rate: Rate, salt: u64) -> Result<Guest, ParameterError> {
        let error = |bound| ParameterError { field: "class", bound };
        let guests = self.guests.ok_or(error("be run by `forebay run`, `forebay.run` or a command that uses them"))?;
        let site = Site { seed: self.seed, path: &self.path, link_rate, salt };
        guests.build(queue, site).ok_or(error("be a class that accepts these parameters"))
    }

    fn dbl(&mut self, config: &DblConfig, link_rate: Rate, salt: u64) -> Result<Dbl, ParameterError> {
        if config.flow_table == FlowTableScope::PerQueue {
            return Dbl::new(config, link_rate, salt);
        }
        let entries = config.flow_table_entries;
        let index = match self.tables.iter().position(|(size, _)| *size == entries) {
            Some(index) => index,
            None => {
                // A queue of its own checks the configuration before a table of that size is made.
                Dbl::new(config, link_rate, salt)?;
                self.tables.push((entries, SharedFlowTable::new(entries, |table| Locked(Mutex::new(table)))));
                self.tables.len() - 1
            }
        };
        Dbl::with_shared_table(config, link_rate, salt, &self.tables[index].1)
    }

    /// The queue of each class, built for the rate that the class can count on, with a salt of its own.
    fn queues_of_classes<P: Packet + 'static>(
        &mut self,
        config: &CbqConfig<QueueSpec>,
        link_rate: Rate,
        salt: u64,
    ) -> Result<Vec<Box<dyn Discipline<P>>>, ParameterError> {
        let path = self.path.clone();
        let classes = config.classes.iter().enumerate();
        let queues = classes
            .map(|(index, class)| {
                let salt = hash_flow(FlowKey(index as u64), salt);
                self.path = format!("{path}/class/{index}");
                let queue = class.queue.build_in(self, config.class_rate(index, link_rate), salt)?;
                Ok(queue.into_discipline())
            })
            .collect();
        self.path = path;
        queues
    }
}

disciplines! {
    /// One FIFO queue with a limit: a packet that does not fit is dropped.
    DropTail(qdisc::DropTailConfig) = "drop_tail", law DropTail, "drop_tail.rs", one_queue;
    /// Random early detection: drops early, by the average queue.
    Red(qdisc::RedConfig) = "red", law Red, "red.rs", one_queue;
    /// RED that keeps the average queue half-way between its thresholds by adjusting its maximum probability.
    Ared(qdisc::AredConfig) = "ared", law Ared, "ared.rs", one_queue;
    /// RED that scales its maximum probability at each crossing of a threshold.
    FengRed(qdisc::FengRedConfig) = "feng_red", law FengRed, "feng_red.rs", one_queue;
    /// RED with preferential dropping: finds the fast flows by RED's drop history and drops them first.
    RedPd(qdisc::RedPdConfig) = "red_pd", law RedPd, "red_pd.rs", containment;
    /// RED with penalty box: finds flows that do not respond by a log of drops and holds them to a fixed rate.
    PenaltyBox(qdisc::PenaltyBoxConfig) = "penalty_box", law PenaltyBox, "penalty_box.rs", containment;
    /// RED with a share for each flow: limits flows that take more than others.
    Fred(qdisc::FredConfig) = "fred", law Fred, "fred.rs", containment;
    /// Dynamic buffer limiting: limits the buffer of each flow, and flows that do not respond to about one packet.
    Dbl(DblConfig) = "dbl", shared_law Dbl, "dbl.rs", containment;
    /// BLUE: adjusts its drop probability by lost packets and idle time.
    Blue(qdisc::BlueConfig) = "blue", law Blue, "blue.rs", one_queue;
    /// Stochastic Fair BLUE: finds flows that do not respond, in a few dozen bins, and holds them to a fixed rate.
    Sfb(qdisc::SfbConfig) = "sfb", law Sfb, "sfb.rs", containment;
    /// Stochastic Fair RED: the bins of Stochastic Fair BLUE with a RED in each.
    Sfred(qdisc::SfredConfig) = "sfred", law Sfred, "sfred.rs", containment;
    /// CHOKe: drops an arrival together with a packet of the same flow drawn from the queue.
    Choke(qdisc::ChokeConfig) = "choke", discipline Choke, "choke.rs", containment;
    /// Stochastic fair queueing: flows hashed to a fixed number of queues that take turns.
    Sfq(qdisc::SfqConfig) = "sfq", discipline Sfq, "sfq.rs", fair_queueing;
    /// Stochastic fair queueing over a divided buffer, with RED in each queue.
    SfqRed(qdisc::SfqRedConfig) = "sfq_red", discipline SfqRed, "sfq_red.rs", fair_queueing;
    /// Deficit round robin: a queue for each flow, served round-robin by bytes.
    Drr(qdisc::DrrConfig) = "drr", discipline Drr, "drr.rs", fair_queueing;
    /// Weighted fair queueing: each flow gets its share of the link to within one packet.
    Wfq(qdisc::WfqConfig) = "wfq", discipline Wfq, "wfq.rs", fair_queueing;
    /// Stabilized RED: drops by the queue and by an estimate of the number of flows.
    Sred(qdisc::SredConfig) = "sred", law Sred, "sred.rs", one_queue;
    /// A proportional-integral controller: drops with the probability that holds the queue at a reference.
    Pi(qdisc::PiConfig) = "pi", law Pi, "pi.rs", one_queue;
    /// Core-stateless fair queueing: edge routers label packets with their flow's rate, core routers drop by label.
    Csfq(qdisc::CsfqConfig) = "csfq", discipline Csfq, "csfq.rs", containment;
    /// Controlled delay: drops at the head of the queue when packets have waited too long for too long.
    Codel(qdisc::CodelConfig) = "codel", discipline Codel, "codel.rs", one_queue;
    /// Flows hashed to queues that take turns, new ones first, and CoDel on each.
    FqCodel(qdisc::FqCodelConfig) = "fq_codel", discipline FqCodel, "fq_codel.rs", fair_queueing;
    /// CoDel for flows that respond and BLUE for those that do not.
    Cobalt(qdisc::CobaltConfig) = "cobalt", discipline Cobalt, "cobalt.rs", one_queue;
    /// Proportional integral controller enhanced: drops with a probability steered by the queueing delay.
    Pie(qdisc::PieConfig) = "pie", law Pie, "pie.rs", one_queue;
    /// Approximate fair dropping: drops what a flow sends beyond its fair share, as estimated from a sample.
    Afd(qdisc::AfdConfig) = "afd", law Afd, "afd.rs", containment;
    /// RED that blocks the flows that were served most until the others have caught up.
    Breathe(qdisc::BreatheConfig) = "breathe", law Breathe, "breathe.rs", containment;
    /// Class-based queueing: a queue of any kind for each class of traffic, with a share, a shaping rate and a
    /// priority.
    Cbq(CbqConfig<QueueSpec>) = "cbq", classes Cbq, "cbq.rs", classes;
    /// A discipline written in Python: a class, with its parameters.
    Python(PythonQueue) = "python", guest Guest, "../../scenario/src/schema/python.rs", own;
}
