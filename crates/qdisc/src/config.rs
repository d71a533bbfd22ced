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

pub use forebay_units::QueueSize;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error};

pub use self::fit::{FittedValue, fitted};
use crate::dbl::{FlowTableScope, SharedFlowTable};
use crate::{
    CbqClass, CbqConfig, CustomDiscipline, Dbl, DblConfig, Discipline, FlowKey, Packet, ParameterError, Queue, Rate,
    hash_flow,
};

mod fit;

/// Declares [`QueueSpec`] and all code that needs every discipline. A line has the comment for the schema, the variant
/// with its configuration, the name in a file, the kind, the file, and the table in the guide's list of disciplines.
/// The kinds are a law in front of a FIFO, one that may share a table with the switch's other queues, a discipline that
/// holds its packets, and one with a queue for each class.
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

            /// The limit of the whole queue, for those that have one. A custom discipline limits what it holds as it
            /// likes.
            #[must_use]
            pub fn limit(&self) -> Option<QueueSize> {
                match self {
                    $(Self::$variant(config) => limit!($seam config),)*
                    Self::Python(_) => None,
                }
            }

            /// The queues inside this one, in the order of its classes.
            pub fn children(&self) -> impl Iterator<Item = &Self> {
                let classes: &[CbqClass<Self>] = match self {
                    $(Self::$variant(config) => classes!($seam config),)*
                    Self::Python(_) => &[],
                };
                classes.iter().map(|class| &class.queue)
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
    (classes $config:expr) => {{
        // Each class's queue has a limit of its own.
        let _ = $config;
        None
    }};
    ($seam:ident $config:expr) => {
        $config.limit.into()
    };
}

macro_rules! classes {
    (classes $config:expr) => {
        &$config.classes
    };
    ($seam:ident $config:expr) => {{
        let _ = $config;
        &[]
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
    (classes $discipline:ident, $packet:ty, $config:expr, $site:expr) => {{
        let queues = $site.queues_of_classes::<$packet, _>($config)?;
        Ok(Queue::Discipline(Box::new(crate::$discipline::new($config, queues)?)))
    }};
}

/// The external objects that a queue needs: tables that it shares with others, and custom disciplines.
pub trait BuildContext<G> {
    /// The flow table of this many entries that the queues of a switch share; `None` if there is none, and a queue that
    /// asks for it gets a table of its own.
    fn flow_table(&mut self, entries: u32) -> Option<SharedFlowTable>;

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

impl<G> QueueSpec<G> {
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

    /// Where `error` is: in the queue's own configuration, in one of its classes, or in the queue of one.
    fn at_fault<P: Packet + 'static, S: BuildContext<G> + Clone>(
        &self,
        context: &S,
        link_rate: Rate,
        error: ParameterError,
    ) -> QueueError {
        let own = |below: &str, error: ParameterError| {
            let path = format!("{}{below}.{}", self.name(), error.field);
            QueueError { path, discipline: self.name(), error }
        };
        let Self::Cbq(cbq) = self else { return own("", error) };
        for (index, class) in cbq.classes.iter().enumerate() {
            let below = format!(".classes.{index}");
            let rate = cbq.class_rate(index, link_rate);
            if let Err(mut inner) = class.queue.check::<P>(context, rate) {
                inner.path = format!("{}{below}.queue.{}", self.name(), inner.path);
                return inner;
            }
            let alone = Self::Cbq(CbqConfig { classes: [class.clone()].into(), default_class: None });
            if alone.build_in::<P>(&mut context.clone(), rate, 0).is_err() {
                return own(&below, error);
            }
        }
        own("", error)
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

    /// The queue of each class, built for the rate that the class can count on, with a salt of its own.
    fn queues_of_classes<P: Packet + 'static, G>(
        &mut self,
        config: &CbqConfig<QueueSpec<G>>,
    ) -> Result<Vec<Box<dyn Discipline<P>>>, ParameterError>
    where
        S: BuildContext<G>,
    {
        let queue = |(index, class): (usize, &CbqClass<QueueSpec<G>>)| {
            let classes = [self.classes, &[index]].concat();
            let salt = hash_flow(FlowKey(index as u64), self.salt);
            let link_rate = config.class_rate(index, self.link_rate);
            let mut site = BuildSite { context: &mut *self.context, classes: &classes, link_rate, salt };
            Ok(class.queue.build_at(&mut site)?.into_discipline())
        };
        config.classes.iter().enumerate().map(queue).collect()
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
    /// Core-stateless fair queueing: edge routers label packets with their flow's rate, core routers drop by label.
    Csfq(crate::CsfqConfig) = "csfq", discipline Csfq, "csfq.rs", containment;
    /// Controlled delay: drops at the head of the queue when packets have waited too long for too long.
    Codel(crate::CodelConfig) = "codel", discipline Codel, "codel.rs", one_queue;
    /// Flows hashed to queues that take turns, new ones first, and CoDel on each.
    FqCodel(crate::FqCodelConfig) = "fq_codel", discipline FqCodel, "fq_codel.rs", fair_queueing;
    /// Shaper, tins, fairness by host and flow, and COBALT: the queue of a home gateway in Linux.
    Cake(crate::CakeConfig) = "cake", discipline Cake, "cake.rs", fair_queueing;
    /// CoDel for flows that respond and BLUE for those that do not.
    Cobalt(crate::CobaltConfig) = "cobalt", discipline Cobalt, "cobalt.rs", one_queue;
    /// Proportional integral controller enhanced: drops with a probability steered by the queueing delay.
    Pie(crate::PieConfig) = "pie", law Pie, "pie.rs", one_queue;
    /// Approximate fair dropping: drops what a flow sends beyond its fair share, as estimated from a sample.
    Afd(crate::AfdConfig) = "afd", law Afd, "afd.rs", containment;
    /// RED that blocks the flows that were served most until the others have caught up.
    Breathe(crate::BreatheConfig) = "breathe", law Breathe, "breathe.rs", containment;
    /// Class-based queueing: a queue of any kind for each class of traffic, with a share, a shaping rate and a
    /// priority.
    Cbq(CbqConfig<QueueSpec<G>>) = "cbq", classes Cbq, "cbq.rs", classes;
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString;

    use super::*;
    use crate::test_support::{LINK, Labelled};

    fn read(text: &str) -> QueueSpec {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn every_discipline_without_classes_is_built_from_its_name_alone() {
        for Manual { name, source, .. } in
            QueueSpec::<NoCustomDiscipline>::DISCIPLINES.iter().filter(|it| it.name != "cbq")
        {
            let queue = read(&format!("{name} = {{}}"));
            assert_eq!(queue.name(), *name);
            assert!(source.contains("//! # What it does"), "{name}");
            assert!(queue.build::<Labelled>(LINK, 0).is_ok(), "{name}");
            assert_eq!(queue.check::<Labelled>(&Alone, LINK), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_queue_alone_has_the_shared_table_to_itself() {
        let queue = read("dbl = { flow_table = 'shared' }");
        assert!(queue.shares_state());
        assert!(matches!(queue.build::<Labelled>(LINK, 0), Ok(Queue::Law(_))));
        let refused = read("dbl = { flow_table = 'shared', flow_table_entries = 0 }");
        assert_eq!(refused.check::<Labelled>(&Alone, LINK).unwrap_err().path, "dbl.flow_table_entries");
    }

    #[test]
    fn a_queue_changes_classes_if_one_inside_it_does() {
        for (text, expected) in [
            ("cake = {}", false),
            ("cake = { wash = true }", true),
            (
                "cbq = { classes = [{ name = 'a', queue.drr = {} }, { name = 'b', queue.cake = { wash = true } }] }",
                true,
            ),
            ("cbq = { classes = [{ name = 'a', queue.cake = {} }] }", false),
        ] {
            assert_eq!(read(text).changes_class(), expected, "{text}");
        }
    }

    #[test]
    fn an_error_tells_the_way_to_its_parameter() {
        for (text, path, message) in [
            ("red = { limit = '0 packets' }", "red.limit", "red: `limit` must"),
            ("cbq = { classes = [] }", "cbq.classes", "cbq: `classes` must name at least one class"),
            (
                "cbq = { classes = [{ name = 'a', queue.drr = {} }, { name = 'b', share = -1, queue.drr = {} }] }",
                "cbq.classes.1.share",
                "cbq: `share` must",
            ),
            (
                "cbq.classes = [{ name = 'a', queue.drr = {} }, { name = 'b', queue.red = { limit = '0 packets' } }]",
                "cbq.classes.1.queue.red.limit",
                "red: `limit` must",
            ),
        ] {
            let error = read(text).check::<Labelled>(&Alone, LINK).unwrap_err();
            assert_eq!(error.path, path);
            assert!(error.to_string().starts_with(message), "{error}");
        }
    }

    #[test]
    fn without_custom_disciplines_none_is_read() {
        let error = toml::from_str::<QueueSpec>("python = 'module:Class'").unwrap_err();
        assert!(error.message().contains("a discipline written in Python cannot be used here"), "{error}");
    }
}
