//! Lossless Ethernet: switches that share memory, adapters, and the frames between them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use forebay_switching::congestion::CongestionManagement;
use forebay_switching::{BufferPolicyConfig, PAUSE_QUANTUM_BITS, PathPolicyConfig, PauseConfig};
use forebay_units::{Bytes, QueueSize, Rate, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::Serializer;

use super::tagged::algorithms;
use super::{FlowGroup, Impairments, OneOrMany, QueueSpec, RateOrZero, ServicePeriod};

/// Nodes with adapters and switches, whose ports share memory. Full-duplex links of one rate connect them, with
/// shortest-path routes. Links: `<from>-><to>`; the queue of a switch's output has
/// the name of its link. Frames, TCP and UDP cross it, at the lengths that their flows give them. The network of the
/// E2CM proposal.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ethernet {
    /// Every link, in both directions.
    pub link: EthernetLink,
    /// Queue discipline of every output of a switch; where classes have queues of their own, of each class. Its drops
    /// are losses, in addition to the memory's limits and PAUSE. Not together with `congestion_management`. Default:
    /// the `arbiter` of the switch.
    #[serde(default)]
    pub queue: Option<Box<QueueSpec>>,
    /// Congestion management, which slows down the sources of data. Default: none.
    #[serde(default)]
    pub congestion_management: Option<CongestionManagement>,
    /// Properties of every switch.
    #[serde(default)]
    pub switch: SharedMemorySwitch,
    /// Properties of the adapter of every node.
    #[serde(default)]
    pub adapter: Adapter,
    /// The switches, each with the nodes that are connected to it.
    #[schemars(length(min = 1))]
    pub switches: Vec<EthernetSwitch>,
    /// Links between switches: pairs of names.
    #[serde(default)]
    pub trunks: Vec<[String; 2]>,
    /// Which of several equally short paths a packet takes. With `congestion_management`: `single`.
    #[serde(default)]
    pub paths: PathPolicyConfig,
    /// Periods in which a port sends, or a node takes, frames at less than the link's rate.
    #[serde(default)]
    pub service: Vec<Service>,
}

/// A link of an Ethernet, in each direction.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EthernetLink {
    /// Rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Loss of frames on the way.
    #[serde(default)]
    pub impairments: Impairments,
}

/// A switch of an Ethernet and its nodes.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EthernetSwitch {
    /// Its name.
    pub name: String,
    /// The nodes that are connected to it, each by a link of its own: their names, or tables with `name` and `count`. A
    /// core switch has none.
    #[serde(default)]
    pub nodes: Vec<EthernetNode>,
}

/// A node of an Ethernet, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EthernetNode {
    /// Its name.
    pub name: String,
    /// This many nodes, `name-0`, `name-1`, ….
    pub count: Option<u32>,
}

/// A name, or a table.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EthernetNodes {
    /// Name of the nodes: they are `name-0`, `name-1`, …. In `from` and `to` of flows it is a list of all.
    name: String,
    /// Number of nodes. Default: one, with that name.
    #[serde(default)]
    #[schemars(range(min = 1))]
    count: Option<u32>,
}

/// Properties of every switch of an Ethernet.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SharedMemorySwitch {
    /// Memory for each port. PAUSE keeps an input within it.
    pub memory: Bytes,
    /// Which frames find room in the memory of all ports. Default: each input has its own.
    pub buffer: BufferPolicyConfig,
    /// Stops the whole link that leads to an input (IEEE 802.3x). Default: frames that find no room are lost.
    pub pause: Option<Pause>,
    /// Stops single classes on the link that leads to an input (IEEE 802.1Qbb): the watermarks are those of each class.
    pub priority_pause: Option<Pause>,
    /// Frees outputs that PAUSE stops without end. Default: they wait.
    pub watchdog: Option<Watchdog>,
    /// Time after an order to stop in which a port still begins frames.
    pub reaction: Reaction,
    /// Order in which an output sends the frames that its inputs have for it.
    pub arbiter: Arbiter,
    /// Whether classes are served by strict priority, 7 first. Default: classes are not distinguished; with
    /// `priority_pause` they take turns.
    pub strict_priority: bool,
    /// Time from the last bit of a frame until the frame joins the queue of its output.
    pub forwarding_delay: Span,
}

impl Default for SharedMemorySwitch {
    /// Memory as in the E2CM proposal.
    fn default() -> Self {
        Self {
            memory: Bytes(300_000),
            buffer: BufferPolicyConfig::default(),
            pause: None,
            priority_pause: None,
            watchdog: None,
            reaction: Reaction::default(),
            arbiter: Arbiter::Fifo,
            strict_priority: false,
            forwarding_delay: Span::ZERO,
        }
    }
}

/// Properties of the adapter of every node of an Ethernet. It has a virtual output queue for each flow and serves them
/// round-robin.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adapter {
    /// Maximum number of frames in each virtual output queue; further frames are dropped at the source. The ACKs of a
    /// flow have a queue of their own. Default: no limit.
    pub voq_limit: Option<QueueSize>,
    /// Maximum number of flows that have a rate limiter at the same time. Default: all.
    #[schemars(range(min = 1))]
    pub rate_limiters: Option<u32>,
    /// Memory for frames that have arrived and that the node has not taken yet.
    pub egress_memory: Bytes,
    /// Stops the link from the switch (IEEE 802.3x). Default: frames that find no room are lost.
    pub pause: Option<Pause>,
    /// Stops single classes on the link from the switch (IEEE 802.1Qbb): the watermarks are those of each class.
    pub priority_pause: Option<Pause>,
    /// Time after an order to stop in which the adapter still begins frames.
    pub reaction: Reaction,
}

impl Default for Adapter {
    /// Memory as in the E2CM proposal.
    fn default() -> Self {
        Self {
            voq_limit: None,
            rate_limiters: None,
            egress_memory: Bytes(150_000),
            pause: None,
            priority_pause: None,
            reaction: Reaction::default(),
        }
    }
}

/// Watermarks at which a buffer stops and restarts the link that feeds it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Fill level at which the sender must stop. Both levels are required, but not at a switch with the buffer policy
    /// `headroom_pool`, which decides itself.
    #[serde(default)]
    pub high: Option<Bytes>,
    /// Fill level at which it may continue.
    #[serde(default)]
    pub low: Option<Bytes>,
    /// Accept a buffer with too little room above `high`, or too little `headroom`, for what arrives before the sender
    /// stops, or an output limit: frames may then be lost, and the results count them.
    #[serde(default)]
    pub allow_loss: bool,
}

impl Pause {
    /// The levels, unless a buffer policy decides.
    #[must_use]
    pub fn watermarks(&self) -> Option<PauseConfig> {
        Some(PauseConfig { high: self.high?, low: self.low? })
    }
}

/// Looks at the outputs of a switch at regular times. A class that PAUSE has stopped at an output is in a storm if it
/// has frames and has sent none for the time of detection. Then links wait for each other, or a receiver is broken. The
/// storm ends when no PAUSE for the class has come for the time of restoration. The defaults are SONiC's, for
/// switches of up to 32 ports; it multiplies all times by the number of ports in units of 32.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Watchdog {
    /// Time of detection.
    pub detection: Span,
    /// Time of restoration.
    pub restoration: Span,
    /// Time between two looks. Default: 200 ms, or the shorter of the other times.
    pub poll: Option<Span>,
    /// The fate of the class at the output during a storm.
    pub action: WatchdogAction,
}

/// The reaction of a watchdog to a storm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchdogAction {
    /// Its frames at the output are dropped, those that wait and those that come.
    #[default]
    Drop,
    /// The output ignores PAUSE.
    Forward,
}

impl Watchdog {
    const USUAL: Span = Span::from_milliseconds(200);

    /// The time between two looks.
    #[must_use]
    pub fn poll(&self) -> Span {
        self.poll.unwrap_or_else(|| Self::USUAL.min(self.detection).min(self.restoration))
    }
}

impl Default for Watchdog {
    fn default() -> Self {
        Self { detection: Self::USUAL, restoration: Self::USUAL, poll: None, action: WatchdogAction::default() }
    }
}

/// Order in which an output of a switch sends the frames that its inputs have for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arbiter {
    /// In the order of arrival.
    #[default]
    Fifo,
    /// One frame of each input, round-robin.
    RoundRobin,
}

/// A temporary rate of a port or a node.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Name of the node.
    pub node: String,
    /// The rate, at most the link's. It may be "0 bps": no frame begins, and one that has begun goes on afterwards.
    pub rate: RateOrZero,
    /// Start.
    #[serde(default)]
    pub from: Span,
    /// End. Default: the end of the run.
    #[serde(default)]
    pub to: Option<Span>,
    /// Place: the switch's port to the node sends at this rate, or the node takes frames from its adapter at this rate.
    #[serde(default)]
    pub at: ServiceAt,
}

impl Service {
    /// The period of this rate.
    #[must_use]
    pub fn period(&self) -> ServicePeriod {
        ServicePeriod { rate: Some(self.rate), delay: None, from: self.from, to: self.to }
    }
}

/// Whose rate a [`Service`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceAt {
    /// The switch's port to the node.
    #[default]
    Switch,
    /// The node.
    Node,
}

/// Time that a port takes to obey an order to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// A time.
    Time(Span),
    /// This many quanta, of 512 bit times.
    Quanta(u16),
}

impl Default for Reaction {
    fn default() -> Self {
        Self::Time(Span::ZERO)
    }
}

impl Reaction {
    /// The time on a link of this rate.
    #[must_use]
    pub fn on(self, rate: Rate) -> Span {
        match self {
            Self::Time(span) => span,
            Self::Quanta(quanta) => rate.transmission_time(u64::from(quanta) * PAUSE_QUANTUM_BITS / 8),
        }
    }
}

impl FromStr for Reaction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let quanta = text.trim().strip_suffix("quanta").or_else(|| text.trim().strip_suffix("quantum"));
        let Some(quanta) = quanta else { return text.parse().map(Self::Time).map_err(|error| error.to_string()) };
        let refused = || format!("expected a number of quanta from 0 to {} in {text:?}", u16::MAX);
        quanta.trim().parse().map(Self::Quanta).map_err(|_| refused())
    }
}

impl fmt::Display for Reaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(span) => span.fmt(f),
            Self::Quanta(quanta) => write!(f, "{quanta} quanta"),
        }
    }
}

impl<'de> serde::Deserialize<'de> for EthernetNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;
        impl<'de> Visitor<'de> for NameOrTable {
            type Value = EthernetNode;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a node, or a table with `name` and `count`")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<EthernetNode, E> {
                Ok(EthernetNode { name: name.to_owned(), count: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<EthernetNode, A::Error> {
                let EthernetNodes { name, count } = EthernetNodes::deserialize(MapAccessDeserializer::new(table))?;
                Ok(EthernetNode { name, count })
            }
        }
        deserializer.deserialize_any(NameOrTable)
    }
}

impl JsonSchema for EthernetNode {
    fn schema_name() -> Cow<'static, str> {
        "EthernetNode".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The name of a node, or a table with `name` and `count`.",
            "oneOf": [{ "type": "string" }, generator.subschema_for::<EthernetNodes>()],
        })
    }
}

impl<'de> serde::Deserialize<'de> for Reaction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Reaction;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"3 us\", or quanta such as \"60 quanta\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Reaction, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl serde::Serialize for Reaction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Reaction {
    fn schema_name() -> Cow<'static, str> {
        "Reaction".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time, \"3 us\", or a number of pause quanta, of 512 bit times each: \"60 quanta\".",
            "oneOf": [
                generator.subschema_for::<Span>(),
                { "type": "string", "pattern": r"^\s*[0-9]+\s*(quanta|quantum)\s*$" },
            ],
        })
    }
}

/// Ethernet frames between the nodes of an Ethernet. There is a flow for each name in `from`, or in `to` if that list
/// is longer; with `to = "others"` there is one from each source to every other node. A single flow has the name of its
/// group; several are named `<group>-<from>-<to>`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    /// Rate at which a flow generates frames while it is on, whether or not the network takes them; with `to =
    /// "others"` the rate of a source, distributed evenly over the other nodes. The link's rate fills every slot.
    pub rate: Rate,
    /// Length of a frame.
    #[serde(default = "full_size")]
    pub size: Bytes,
    /// Times at which frames are generated.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// On and off periods. Default: always on.
    #[serde(default)]
    pub on_off: Option<FrameOnOff>,
    /// E2CM only: set-point of these flows, instead of the scheme's `flow_set_point` ("Per-flow Q_eq").
    #[serde(default)]
    pub set_point: Option<Bytes>,
}

fn full_size() -> Bytes {
    Bytes(1500)
}

/// Times at which frames are generated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// In each slot, which is the transmission time of a frame, with the same probability.
    #[default]
    Bernoulli,
    /// At equal intervals.
    Constant,
}

/// Frames for the first part of every period, none for the rest.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameOnOff {
    /// Length of a period; the first begins with the flow.
    pub period: Span,
    /// Fraction of the period, at its beginning, in which frames are generated.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub duty: f64,
}

impl FrameOnOff {
    /// How long frames are generated in each period.
    #[must_use]
    pub fn on(&self) -> Span {
        Span::from_picoseconds((self.duty * self.period.picoseconds() as f64).round() as u64).min(self.period)
    }
}

impl Frames {
    /// Frames for each slot of a link of this rate while the flow is on.
    #[must_use]
    pub fn load(&self, link: Rate) -> f64 {
        self.rate.bits_per_second() as f64 / link.bits_per_second() as f64
    }
}

/// Flows whose frames one source generates together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator<'a> {
    /// The node that sends.
    pub from: &'a str,
    /// The nodes that it sends to, equally often.
    pub to: Vec<&'a str>,
}

/// As `to`: every other node.
pub(crate) const OTHERS: &str = "others";

impl Ethernet {
    /// Names of all nodes, switch by switch.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.switches.iter().flat_map(|switch| switch.nodes.iter().map(|node| node.name.as_str()))
    }
}

impl OneOrMany {
    /// Whether it is the word for every other node.
    #[must_use]
    pub fn is_others(&self) -> bool {
        matches!(&*self.0, [only] if only == OTHERS)
    }
}

impl FlowGroup {
    /// How many generators a group of frames has.
    #[must_use]
    pub fn generators(&self) -> usize {
        let names = |list: &Option<OneOrMany>| list.as_ref().map_or(0, |list| list.0.len());
        names(&self.from).max(names(&self.to))
    }
}

algorithms! {
    /// Every scheme of congestion management, in the order in which they are listed.
    SCHEMES;
    "ecm", forebay_switching::congestion::EcmConfig, "congestion/ecm.rs";
    "e2cm", forebay_switching::congestion::E2cmConfig, "congestion/e2cm.rs";
    "qcn", forebay_switching::congestion::QcnConfig, "congestion/qcn.rs";
    "fecn", forebay_switching::congestion::FecnConfig, "congestion/fecn.rs";
    "dbp", forebay_switching::congestion::DbpConfig, "congestion/dbp.rs";
    "dcqcn", forebay_switching::congestion::DcqcnConfig, "congestion/dcqcn.rs";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_has_its_page() {
        let every: Vec<_> = CongestionManagement::every().iter().map(CongestionManagement::name).collect();
        assert_eq!(SCHEMES.iter().map(|scheme| scheme.name).collect::<Vec<_>>(), every);
    }

    #[test]
    fn a_reaction_is_a_time_or_quanta() {
        // 802.3 allows 60 quanta at 10 Gb/s: 60 x 512 bits.
        let ten_gigabit = Rate::megabits(10_000);
        assert_eq!("60 quanta".parse().map(|it: Reaction| it.on(ten_gigabit)), Ok(Span::from_nanoseconds(3072)));
        assert_eq!("1 us".parse().map(|it: Reaction| it.on(ten_gigabit)), Ok(Span::from_microseconds(1)));
        for text in ["60 quanta", "1 us"] {
            assert_eq!(text.parse::<Reaction>().map(|it| it.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["70000 quanta", "-1 quanta", "quanta", "60", "6 apples"] {
            assert!(wrong.parse::<Reaction>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_part_of_a_period_that_is_on_is_no_longer_than_it() {
        let half = FrameOnOff { period: Span::from_milliseconds(200), duty: 0.5 };
        assert_eq!(half.on(), Span::from_milliseconds(100));
        assert_eq!(FrameOnOff { duty: 1.0, ..half }.on(), half.period);
    }
}
