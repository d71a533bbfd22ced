//! Queues as a file describes them: every discipline under its name, one line each.
//!
//! A [`QueueSpec`] is read by serde: a table with one key, `queue.red = { … }`, or as a bare name, `queue = "red"`, if
//! the reader takes that for a table without parameters, as `forebay-document` does. It builds the [`Queue`], with the
//! help of [`BuildContext`] for what a queue cannot have by itself. A discipline from outside this crate, a custom
//! discipline, has a configuration of its own type `G`; where there are no custom disciplines this is
//! [`NoCustomDiscipline`].

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use forebay_units::Bytes;
pub use forebay_units::QueueSize;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error};

pub use self::fit::{FittedValue, fitted, fitted_among};
use crate::dbl::{FlowTableScope, SharedFlowTable};
use crate::{
    CbqConfig, CustomDiscipline, Dbl, DblConfig, Discipline, DropTail, DropTailConfig, EtsConfig, FlowKey, HtbConfig,
    InnerQueue, InnerQueues, Packet, ParameterError, PlacedError, PrioConfig, Queue, RankConfig, Rate, TaprioConfig,
    TbfConfig, hash_flow, require,
};

mod fit;

/// Declares [`QueueSpec`] and all code that needs every discipline. A line has the comment for the schema, the variant
/// with its configuration, the name in a file, the kind, the file, and the table in the guide's list of disciplines.
/// The kinds are a law in front of a FIFO, one that may share a table with the switch's other queues, a discipline that
/// holds its packets, and one with queues inside it. The last kind has queues that must be given, and no bare name.
macro_rules! disciplines {
    ($(
        $(#[$doc:meta])*
        $variant:ident($config:ty) = $name:literal, $seam:ident $law:ident, $file:literal, $group:ident;
    )*) => {
        /// The queue discipline of a sending port: exactly one of these.
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, JsonSchema)]
        #[schemars(rename = "QueueSpec", transform = allow_bare_names)]
        pub enum QueueSpec<G = NoCustomDiscipline> {
            $($(#[$doc])* #[serde(rename = $name)] $variant($config),)*
            /// A discipline written in Python: a class, with its parameters.
            #[serde(rename = "python")]
            Python(G),
        }

        impl<G: JsonSchema> QueueSpec<G> {
            /// Every discipline of this crate, in the order in which they are listed.
            pub const DISCIPLINES: &'static [Manual] = &[
                $(Manual {
                    name: $name,
                    source: include_str!($file),
                    parameters: <$config as JsonSchema>::json_schema,
                    group: stringify!($group),
                },)*
            ];
        }

        fn allow_bare_names(schema: &mut Schema) {
            let names: Vec<&str> = [$(($name, stringify!($seam))),*]
                .into_iter()
                .filter(|(_, seam)| *seam != "classes")
                .map(|(name, _)| name)
                .collect();
            forebay_units::allow_bare_names(schema, &names);
        }

        impl<G> QueueSpec<G> {
            /// Name of the discipline, as in a file.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Python(_) => "python",
                }
            }

            /// The limit of the whole queue, for those that have one; of each band in `fq`. A custom discipline limits
            /// what it holds as it likes, and queues inside another one have limits of their own.
            #[must_use]
            pub fn limit(&self) -> Option<QueueSize> {
                match self {
                    $(Self::$variant(config) => limit!($seam config),)*
                    Self::Python(_) => None,
                }
            }

            /// The configuration, if it has queues inside.
            fn inner(&self) -> Option<&dyn InnerQueues<Self>> {
                match self {
                    $(Self::$variant(config) => inner!($seam config),)*
                    Self::Python(_) => None,
                }
            }

            /// Whether it shares state with other queues of its switch.
            #[must_use]
            pub fn shares_state(&self) -> bool {
                let shares = match self {
                    $(Self::$variant(config) => shares_state!($seam config),)*
                    Self::Python(_) => false,
                };
                shares || self.children().any(Self::shares_state)
            }

            fn build_at<P: Packet + 'static, S: BuildContext<G>>(
                &self,
                site: &mut BuildSite<'_, S>,
            ) -> Result<Queue<P>, ParameterError> {
                require(!self.has_senders_ranks() || site.context.hears_senders(), "ranks", ONLY_SIMULATED)?;
                match self {
                    $(Self::$variant(config) => build!($seam $law, P, config, site),)*
                    Self::Python(custom) => {
                        let custom =
                            site.context.custom_discipline(custom, site.classes, site.link_rate, site.salt)?;
                        Ok(custom.into_queue())
                    }
                }
            }
        }
    };
}

macro_rules! limit {
    (classes $config:expr) => {
        InnerQueues::limit($config)
    };
    (queues $config:expr) => {
        InnerQueues::limit($config)
    };
    ($seam:ident $config:expr) => {
        $config.limit.into()
    };
}

macro_rules! inner {
    (classes $config:expr) => {
        Some($config)
    };
    (queues $config:expr) => {
        Some($config)
    };
    ($seam:ident $config:expr) => {{
        let _ = $config;
        None
    }};
}

macro_rules! shares_state {
    (shared_law $config:expr) => {
        $config.flow_table == FlowTableScope::Shared
    };
    ($seam:ident $config:expr) => {{
        let _ = $config;
        false
    }};
}

macro_rules! build {
    (law $law:ident, $packet:ty, $config:expr, $site:expr) => {
        Ok(Queue::Law(Box::new(crate::$law::new($config, $site.link_rate, $site.salt)?)))
    };
    (shared_law $law:ident, $packet:ty, $config:expr, $site:expr) => {
        Ok(Queue::Law(Box::new($site.dbl($config)?)))
    };
    (discipline $discipline:ident, $packet:ty, $config:expr, $site:expr) => {
        Ok(Queue::Discipline(Box::new(crate::$discipline::<$packet>::new($config, $site.link_rate, $site.salt)?)))
    };
    (classes $discipline:ident, $packet:ty, $config:expr, $site:expr) => {
        build!(queues $discipline, $packet, $config, $site)
    };
    (queues $discipline:ident, $packet:ty, $config:expr, $site:expr) => {{
        let queues = $site.inner_queues::<$packet, G>($config)?;
        Ok(Queue::Discipline(Box::new(crate::$discipline::new($config, $site.link_rate, queues)?)))
    }};
}

/// The external objects that a queue needs: tables that it shares with others, and custom disciplines.
pub trait BuildContext<G> {
    /// The flow table of this many entries that the queues of a switch share; `None` if there is none, and a queue that
    /// asks for it gets a table of its own.
    fn flow_table(&mut self, entries: u32) -> Option<SharedFlowTable>;

    /// Whether senders state facts about their packets, as simulated ones do: remaining bytes, departures.
    fn hears_senders(&self) -> bool {
        false
    }

    /// The custom discipline that `custom` describes, for a link or class of `link_rate`; `salt` separates the flow
    /// hashes of different queues. `classes` are the indices of the classes in which it is, the outermost first.
    ///
    /// # Errors
    /// If it cannot be made.
    fn custom_discipline(
        &mut self,
        custom: &G,
        classes: &[usize],
        link_rate: Rate,
        salt: u64,
    ) -> Result<CustomDiscipline, ParameterError>;
}

/// The context of a queue alone, which shares no table and has no custom disciplines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl BuildContext<NoCustomDiscipline> for Alone {
    fn flow_table(&mut self, _entries: u32) -> Option<SharedFlowTable> {
        None
    }

    fn custom_discipline(
        &mut self,
        custom: &NoCustomDiscipline,
        _: &[usize],
        _: Rate,
        _: u64,
    ) -> Result<CustomDiscipline, ParameterError> {
        match *custom {}
    }
}

/// The configuration of a custom discipline where there are none: it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum NoCustomDiscipline {}

impl<'de> Deserialize<'de> for NoCustomDiscipline {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("a discipline written in Python cannot be used here"))
    }
}

impl JsonSchema for NoCustomDiscipline {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "NoCustomDiscipline".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        false.into()
    }
}

/// A discipline as its manual shows it.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// Its name in a file.
    pub name: &'static str,
    /// The source file, whose opening comment is the text.
    pub source: &'static str,
    /// The schema of its parameters.
    pub parameters: fn(&mut SchemaGenerator) -> Schema,
    /// The table in the guide's list of disciplines in which it is.
    pub group: &'static str,
}

impl Manual {
    /// Whether every parameter has a default, so that the bare name is enough.
    #[must_use]
    pub fn has_defaults(&self) -> bool {
        let schema = (self.parameters)(&mut SchemaGenerator::default());
        schema.get("required").and_then(|required| required.as_array()).is_none_or(Vec::is_empty)
    }
}

/// A parameter of a queue that is outside its bound, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueError {
    /// The keys that lead from the queue to the parameter, with dots between them; classes have numbers, from 0:
    /// `cbq.classes.1.queue.red.limit`.
    pub path: String,
    /// Name of the discipline that has the parameter.
    pub discipline: &'static str,
    /// The parameter and its bound.
    pub error: ParameterError,
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}` must {}", self.discipline, self.error.field, self.error.bound)
    }
}

impl core::error::Error for QueueError {}

/// The bound of ranks where packets are real ones.
const ONLY_SIMULATED: &str = "be \"stfq\" or drawn here: only simulated packets show what else ranks need";

impl<G> QueueSpec<G> {
    /// Whether it writes rates into packets, for the queues behind it.
    #[must_use]
    pub fn labels_packets(&self) -> bool {
        matches!(self, Self::Csfq(_)) || self.children().any(Self::labels_packets)
    }

    /// How it ranks packets, if it does.
    #[must_use]
    pub fn ranks(&self) -> Option<&RankConfig> {
        match self {
            Self::Pifo(config) => Some(&config.ranks),
            Self::SpPifo(config) => Some(&config.ranks),
            Self::Aifo(config) => Some(&config.ranks),
            _ => None,
        }
    }

    /// Whether it ranks packets by facts that their senders state.
    fn has_senders_ranks(&self) -> bool {
        self.ranks().is_some_and(RankConfig::needs_senders)
    }

    /// Whether it, or a queue inside it, ranks packets by facts that their senders state.
    #[must_use]
    pub fn needs_senders(&self) -> bool {
        self.has_senders_ranks() || self.children().any(Self::needs_senders)
    }

    /// Whether packets may leave with another traffic class than that with which they came.
    #[must_use]
    pub fn changes_class(&self) -> bool {
        matches!(self, Self::Cake(config) if config.wash) || self.children().any(Self::changes_class)
    }
}

impl QueueSpec {
    /// Builds the queue for a link of `link_rate`, alone; `salt` separates the flow hashes of different queues.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn build<P: Packet + 'static>(&self, link_rate: Rate, salt: u64) -> Result<Queue<P>, ParameterError> {
        self.build_in(&mut Alone, link_rate, salt)
    }
}

impl<G> QueueSpec<G> {
    /// The queues inside this one that the file describes.
    pub fn children(&self) -> impl Iterator<Item = &Self> {
        let inner = self.inner().map(InnerQueues::inner_queues).unwrap_or_default();
        inner.into_iter().filter_map(|inner| inner.queue)
    }

    /// The limits that together bound the packets queued: its own, those of its bands, or those of the queues inside.
    /// `None` if one of them is a custom discipline.
    #[must_use]
    pub fn limits(&self) -> Option<Vec<QueueSize>> {
        match self {
            Self::Fq(config) => return Some(config.limits().into()),
            Self::Cake(config) => return Some([config.whole_limit()].into()),
            Self::Trimming(config) => return Some(config.limits().into()),
            _ => {}
        }
        if let Some(limit) = self.limit() {
            return Some([limit].into());
        }
        let mut limits = Vec::new();
        for inner in self.inner()?.inner_queues() {
            match inner.queue {
                Some(queue) => limits.extend(queue.limits()?),
                None => limits.push(inner.fifo_limit),
            }
        }
        Some(limits)
    }

    /// The longest packet that may leave on a link of `link_rate`, if longer ones are dropped on arrival.
    #[must_use]
    pub fn longest_packet(&self, link_rate: Rate) -> Option<Bytes> {
        self.inner().and_then(|config| config.longest_packet(link_rate))
    }

    /// Builds the queue for a link of `link_rate`, with what it needs from its context; `salt` separates the flow
    /// hashes of different queues.
    ///
    /// # Errors
    /// The first parameter outside its bound; a custom discipline that cannot be made.
    pub fn build_in<P: Packet + 'static>(
        &self,
        context: &mut impl BuildContext<G>,
        link_rate: Rate,
        salt: u64,
    ) -> Result<Queue<P>, ParameterError> {
        self.build_at(&mut BuildSite { context, classes: &[], link_rate, salt })
    }
}

impl<G: Clone> QueueSpec<G> {
    /// Checks that the queue can be built for a link of `link_rate` in such a context.
    ///
    /// # Errors
    /// The first parameter outside its bound, with its path; a custom discipline that cannot be made.
    pub fn check<P: Packet + 'static>(
        &self,
        context: &(impl BuildContext<G> + Clone),
        link_rate: Rate,
    ) -> Result<(), QueueError> {
        match self.build_in::<P>(&mut context.clone(), link_rate, 0) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.at_fault::<P, _>(context, link_rate, error)),
        }
    }

    /// Where `error` is: in the queue's own configuration, or in a queue inside it.
    fn at_fault<P: Packet + 'static, S: BuildContext<G> + Clone>(
        &self,
        context: &S,
        link_rate: Rate,
        error: ParameterError,
    ) -> QueueError {
        let mut placed = PlacedError::from(error);
        if let Some(config) = self.inner() {
            for inner in config.inner_queues() {
                let rate = config.inner_rate(inner.index, link_rate);
                let checked = inner.queue.map_or(Ok(()), |queue| queue.check::<P>(context, rate));
                if let Err(error) = checked {
                    return QueueError { path: format!("{}.{}.{}", self.name(), inner.keys, error.path), ..error };
                }
            }
            placed = config.check(link_rate).err().unwrap_or(placed);
        }
        let PlacedError { table, error } = placed;
        let keys = [self.name(), &table, error.field];
        let keys: Vec<&str> = keys.into_iter().filter(|key| !key.is_empty()).collect();
        QueueError { path: keys.join("."), discipline: self.name(), error }
    }
}

/// Where a queue is built: at a link, or in a class.
struct BuildSite<'s, S> {
    context: &'s mut S,
    classes: &'s [usize],
    link_rate: Rate,
    salt: u64,
}

impl<S> BuildSite<'_, S> {
    fn dbl<G>(&mut self, config: &DblConfig) -> Result<Dbl, ParameterError>
    where
        S: BuildContext<G>,
    {
        if config.flow_table == FlowTableScope::Shared {
            // Before a table of that size is made.
            config.check()?;
            if let Some(table) = self.context.flow_table(config.flow_table_entries) {
                return Dbl::with_shared_table(config, self.link_rate, self.salt, &table);
            }
        }
        Dbl::new(config, self.link_rate, self.salt)
    }

    /// The queues inside, each built for the rate that it can count on, with a salt of its own.
    fn inner_queues<P: Packet + 'static, G>(
        &mut self,
        config: &impl InnerQueues<QueueSpec<G>>,
    ) -> Result<Vec<Box<dyn Discipline<P>>>, ParameterError>
    where
        S: BuildContext<G>,
    {
        let queue = |InnerQueue { index, queue, fifo_limit, .. }| {
            let classes = [self.classes, &[index]].concat();
            let salt = hash_flow(FlowKey(index as u64), self.salt);
            let link_rate = config.inner_rate(index, self.link_rate);
            let mut site = BuildSite { context: &mut *self.context, classes: &classes, link_rate, salt };
            match queue {
                Some(queue) => Ok(QueueSpec::build_at(queue, &mut site)?.into_discipline()),
                None => {
                    let fifo = DropTail::new(&DropTailConfig { limit: fifo_limit }, link_rate, salt)?;
                    Ok(Queue::Law(Box::new(fifo)).into_discipline())
                }
            }
        };
        config.inner_queues().into_iter().map(queue).collect()
    }
}

disciplines! {
    /// One FIFO queue with a limit: a packet that does not fit is dropped.
    DropTail(crate::DropTailConfig) = "drop_tail", law DropTail, "drop_tail.rs", one_queue;
    /// Random early detection: drops early, by the average queue.
    Red(crate::RedConfig) = "red", law Red, "red.rs", one_queue;
    /// RED that keeps the average queue half-way between its thresholds by adjusting its maximum probability.
    Ared(crate::AredConfig) = "ared", law Ared, "ared.rs", one_queue;
    /// RED that scales its maximum probability at each crossing of a threshold.
    FengRed(crate::FengRedConfig) = "feng_red", law FengRed, "feng_red.rs", one_queue;
    /// RED with preferential dropping: finds the fast flows by RED's drop history and drops them first.
    RedPd(crate::RedPdConfig) = "red_pd", law RedPd, "red_pd.rs", containment;
    /// RED with penalty box: finds flows that do not respond by a log of drops and holds them to a fixed rate.
    PenaltyBox(crate::PenaltyBoxConfig) = "penalty_box", law PenaltyBox, "penalty_box.rs", containment;
    /// RED with a share for each flow: limits flows that take more than others.
    Fred(crate::FredConfig) = "fred", law Fred, "fred.rs", containment;
    /// Dynamic buffer limiting: limits the buffer of each flow, and flows that do not respond to about one packet.
    Dbl(DblConfig) = "dbl", shared_law Dbl, "dbl.rs", containment;
    /// BLUE: adjusts its drop probability by lost packets and idle time.
    Blue(crate::BlueConfig) = "blue", law Blue, "blue.rs", one_queue;
    /// Stochastic Fair BLUE: finds flows that do not respond, in a few dozen bins, and holds them to a fixed rate.
    Sfb(crate::SfbConfig) = "sfb", law Sfb, "sfb.rs", containment;
    /// Stochastic Fair RED: the bins of Stochastic Fair BLUE with a RED in each.
    Sfred(crate::SfredConfig) = "sfred", law Sfred, "sfred.rs", containment;
    /// CHOKe: drops an arrival together with a packet of the same flow drawn from the queue.
    Choke(crate::ChokeConfig) = "choke", discipline Choke, "choke.rs", containment;
    /// Stochastic fair queueing: flows hashed to a fixed number of queues that take turns.
    Sfq(crate::SfqConfig) = "sfq", discipline Sfq, "sfq.rs", fair_queueing;
    /// Stochastic fair queueing over a divided buffer, with RED in each queue.
    SfqRed(crate::SfqRedConfig) = "sfq_red", discipline SfqRed, "sfq_red.rs", fair_queueing;
    /// Deficit round robin: a queue for each flow, served round-robin by bytes.
    Drr(crate::DrrConfig) = "drr", discipline Drr, "drr.rs", fair_queueing;
    /// Weighted fair queueing: each flow gets its share of the link to within one packet.
    Wfq(crate::WfqConfig) = "wfq", discipline Wfq, "wfq.rs", fair_queueing;
    /// Stabilized RED: drops by the queue and by an estimate of the number of flows.
    Sred(crate::SredConfig) = "sred", law Sred, "sred.rs", one_queue;
    /// A proportional-integral controller: drops with the probability that holds the queue at a reference.
    Pi(crate::PiConfig) = "pi", law Pi, "pi.rs", one_queue;
    /// Random exponential marking: a price of the link, which follows load and queue, sets the probability.
    Rem(crate::RemConfig) = "rem", law Rem, "rem.rs", one_queue;
    /// Core-stateless fair queueing: edge routers label packets with their flow's rate, core routers drop by label.
    Csfq(crate::CsfqConfig) = "csfq", discipline Csfq, "csfq.rs", containment;
    /// PI2: the queueing delay steers a base probability, packets are dropped with its square.
    Pi2(crate::Pi2Config) = "pi2", discipline Pi2, "pi2.rs", one_queue;
    /// DualPI2: two queues, one for L4S and one for other traffic, whose marks and drops are coupled.
    DualPi2(crate::DualPi2Config) = "dualpi2", discipline DualPi2, "dualpi2.rs", one_queue;
    /// Controlled delay: drops at the head of the queue when packets have waited too long for too long.
    Codel(crate::CodelConfig) = "codel", discipline Codel, "codel.rs", one_queue;
    /// Flows hashed to queues that take turns, new ones first, with a longest rate, in three bands: Linux's queue for
    /// hosts.
    Fq(crate::FqConfig) = "fq", discipline Fq, "fq.rs", fair_queueing;
    /// Flows hashed to queues that take turns, new ones first, and CoDel on each.
    FqCodel(crate::FqCodelConfig) = "fq_codel", discipline FqCodel, "fq_codel.rs", fair_queueing;
    /// Flows hashed to queues that take turns, new ones first, and PIE on each.
    FqPie(crate::FqPieConfig) = "fq_pie", discipline FqPie, "fq_pie.rs", fair_queueing;
    /// Shaper, tins, fairness by host and flow, and COBALT: the queue of a home gateway in Linux.
    Cake(crate::CakeConfig) = "cake", discipline Cake, "cake.rs", fair_queueing;
    /// CoDel for flows that respond and BLUE for those that do not.
    Cobalt(crate::CobaltConfig) = "cobalt", discipline Cobalt, "cobalt.rs", one_queue;
    /// Proportional integral controller enhanced: drops with a probability steered by the queueing delay.
    Pie(crate::PieConfig) = "pie", law Pie, "pie.rs", one_queue;
    /// Approximate fair dropping: drops what a flow sends beyond its fair share, as estimated from a sample.
    Afd(crate::AfdConfig) = "afd", law Afd, "afd.rs", containment;
    /// Heavy-hitter filter: finds the flows that send most, and gives the others twice their share of the link.
    Hhf(crate::HhfConfig) = "hhf", discipline Hhf, "hhf.rs", containment;
    /// RED that blocks the flows that were served most until the others have caught up.
    Breathe(crate::BreatheConfig) = "breathe", law Breathe, "breathe.rs", containment;
    /// Push-in first-out: packets leave in the order of their ranks, those of start-time fair queueing.
    Pifo(crate::PifoConfig) = "pifo", discipline Pifo, "pifo.rs", fair_queueing;
    /// Strict-priority queues that approximate a PIFO: their bounds follow the ranks of the packets.
    SpPifo(crate::SpPifoConfig) = "sp_pifo", discipline SpPifo, "sp_pifo.rs", fair_queueing;
    /// One FIFO queue that admits the packets that a PIFO would serve, by their ranks.
    Aifo(crate::AifoConfig) = "aifo", discipline Aifo, "aifo.rs", containment;
    /// Approximate fair queueing: a calendar of FIFO queues in which each flow has a number of bytes in each round.
    Afq(crate::AfqConfig) = "afq", discipline Afq, "afq.rs", fair_queueing;
    /// ECN thresholds: marks packets that leave a long queue behind, as the switches of data centers do.
    EcnThreshold(crate::EcnThresholdConfig) = "ecn_threshold", discipline EcnThreshold, "ecn_threshold.rs", one_queue;
    /// Trimming: cuts the payload of packets that do not fit, and sends their headers first.
    Trimming(crate::TrimmingConfig) = "trimming", discipline Trimming, "trimming.rs", one_queue;
    /// Class-based queueing: a queue of any kind for each class of traffic, with a share, a shaping rate and a
    /// priority.
    Cbq(CbqConfig<QueueSpec<G>>) = "cbq", classes Cbq, "cbq.rs", classes;
    /// Bands by priority: the first that has packets sends.
    Prio(PrioConfig<QueueSpec<G>>) = "prio", queues Prio, "prio.rs", classes;
    /// Enhanced transmission selection: bands by priority, then bands that share the link by deficit round robin.
    Ets(EtsConfig<QueueSpec<G>>) = "ets", queues Ets, "ets.rs", classes;
    /// Gates by time (802.1Qbv): a cyclic schedule decides which classes may send.
    Taprio(TaprioConfig<QueueSpec<G>>) = "taprio", classes Taprio, "taprio.rs", classes;
    /// A token bucket: lets through a rate, and a burst after an idle time.
    Tbf(TbfConfig<QueueSpec<G>>) = "tbf", queues Tbf, "tbf.rs", classes;
    /// Hierarchical token buckets: a tree of classes with guaranteed rates and ceilings; its leaves have queues of any
    /// kind.
    Htb(HtbConfig<QueueSpec<G>>) = "htb", classes Htb, "htb.rs", classes;
}

#[cfg(test)]
mod tests;
