//! UDP: when packets are sent, and how long they are.

use std::borrow::Cow;

use forebay_units::{Bytes, Rate, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use crate::schema::{SizeDistribution, SpanDistribution};

/// UDP: packets at a rate of their own, regardless of losses. Exactly one pattern: `constant`, `on_off`, `poisson`,
/// `steps`, `voice`, `game` or `ping`.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(try_from = "UdpTable")]
#[schemars(with = "UdpTable")]
pub struct Udp {
    /// Size of a packet on the wire.
    pub packet: PacketSize,
    /// When packets are sent.
    pub pattern: UdpPattern,
}

/// When UDP packets are sent.
#[derive(Clone, Debug, PartialEq)]
pub enum UdpPattern {
    /// Evenly.
    Constant(Constant),
    /// Evenly spaced in on periods, with nothing in off periods.
    OnOff(OnOff),
    /// With exponentially distributed gaps.
    Poisson(Poisson),
    /// Evenly, at a rate that changes at given times.
    Steps(Vec<RateStep>),
    /// A call.
    Voice(Voice),
    /// One direction of an online game.
    Game(Game),
    /// Packets that the destination sends back.
    Ping(Ping),
}

/// UDP: packets at a rate of their own, regardless of losses. Exactly one pattern: `constant`, `on_off`, `poisson`,
/// `steps`, `voice`, `game` or `ping`.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Udp")]
struct UdpTable {
    /// Size of a packet on the wire: "1000 B", or { exponential = "1000 B" } drawn for each packet. Draws are cut to
    /// 1 B to 65535 B, and the rate is kept. Required, but for
    /// `voice`, `game` and `ping`.
    #[serde(default)]
    packet: Option<PacketSize>,
    /// Evenly spaced, at one rate.
    #[serde(default)]
    constant: Option<Constant>,
    /// Evenly spaced in on periods, with nothing in off periods. A gap that an off period interrupts goes on after it.
    #[serde(default)]
    on_off: Option<OnOff>,
    /// With exponentially distributed gaps.
    #[serde(default)]
    poisson: Option<Poisson>,
    /// Evenly spaced, at a rate that changes at given times in ascending order: nothing before the first, and the last
    /// rate until the end.
    #[serde(default)]
    steps: Option<Vec<RateStep>>,
    /// A call by G.711: a packet of 200 B each 20 ms, with 160 B of sound and the headers of RTP, UDP and IP. The
    /// results have the rating R of the E-model and the mean opinion score.
    #[serde(default)]
    voice: Option<Voice>,
    /// One direction of an online game, "up" or "down": small packets whose sizes and gaps are normally distributed.
    /// Up, 82 B of data (deviation 20 B) each 33 ms (3 ms); down, 404 B (120 B) each 33 ms (5 ms); and the headers of
    /// UDP and IP.
    #[serde(default)]
    game: Option<Game>,
    /// A ping: the destination sends each packet back, and the results have the round-trip times. `packet`, 84 B by
    /// default, is the size of a packet and of its answer.
    #[serde(default)]
    ping: Option<Ping>,
}

impl TryFrom<UdpTable> for Udp {
    type Error = String;

    fn try_from(table: UdpTable) -> Result<Self, String> {
        let patterns = [
            table.constant.map(|pattern| ("constant", UdpPattern::Constant(pattern))),
            table.on_off.map(|pattern| ("on_off", UdpPattern::OnOff(pattern))),
            table.poisson.map(|pattern| ("poisson", UdpPattern::Poisson(pattern))),
            table.steps.map(|pattern| ("steps", UdpPattern::Steps(pattern))),
            table.voice.map(|pattern| ("voice", UdpPattern::Voice(pattern))),
            table.game.map(|pattern| ("game", UdpPattern::Game(pattern))),
            table.ping.map(|pattern| ("ping", UdpPattern::Ping(pattern))),
        ];
        let mut given = patterns.into_iter().flatten();
        let pattern = match (given.next(), given.next()) {
            (Some((_, pattern)), None) => pattern,
            (Some((one, _)), Some((other, _))) => {
                return Err(format!("two patterns, `{one}` and `{other}`: give exactly one"));
            }
            (None, _) => {
                return Err(
                    "no pattern: give one of `constant`, `on_off`, `poisson`, `steps`, `voice`, `game`, `ping`".into(),
                );
            }
        };
        let packet = match (&pattern, table.packet) {
            (UdpPattern::Voice(_), Some(_)) => return Err("`packet` with `voice`, whose packets have 200 B".into()),
            (UdpPattern::Voice(_), None) => SizeDistribution::Constant(VOICE_PACKET),
            (UdpPattern::Game(_), Some(_)) => return Err("`packet` with `game`, which has sizes of its own".into()),
            (UdpPattern::Game(game), None) => game.packet(),
            (UdpPattern::Ping(_), None) => SizeDistribution::Constant(PING_PACKET),
            (UdpPattern::Ping(_), Some(drawn)) if !matches!(drawn, SizeDistribution::Constant(_)) => {
                return Err("the packets of a `ping` have one size: give `packet` as \"84 B\"".into());
            }
            (_, Some(packet)) => packet,
            (_, None) => return Err("`packet` is missing: the size of a packet, such as \"1000 B\"".into()),
        };
        Ok(Self { packet, pattern })
    }
}

/// A call by G.711.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Voice {
    /// A fixed jitter buffer: each packet is played when it is as old as the least delay in the measured interval
    /// plus this time.
    /// One that comes later counts as lost. Without it, the buffer adapts to the jitter: twice its mean.
    #[serde(default)]
    pub jitter_buffer: Option<Span>,
}

/// 160 B of sound, and 12 B, 8 B and 20 B of RTP, UDP and IP.
const VOICE_PACKET: Bytes = Bytes(200);
pub(crate) const VOICE_INTERVAL: Span = Span::from_milliseconds(20);
pub(crate) const VOICE_BPS: f64 = 80_000.0;
/// The headers of IP version 4 and UDP.
const IP_AND_UDP_BYTES: u16 = 28;

/// 56 B of data, and 8 B and 20 B of ICMP and IP: a packet of the command `ping`.
const PING_PACKET: Bytes = Bytes(84);

impl Udp {
    /// The call, if it is one.
    #[must_use]
    pub fn call(&self) -> Option<Voice> {
        if let UdpPattern::Voice(voice) = self.pattern { Some(voice) } else { None }
    }

    /// Whether its packets come back.
    #[must_use]
    pub fn is_ping(&self) -> bool {
        matches!(self.pattern, UdpPattern::Ping(_))
    }

    /// Bytes of each packet that are not payload. Only calls and games say what their payload is.
    #[must_use]
    pub fn header_bytes(&self) -> u16 {
        match self.pattern {
            UdpPattern::Voice(_) | UdpPattern::Game(_) => IP_AND_UDP_BYTES,
            _ => 0,
        }
    }
}

/// One direction of an online game, with the numbers of the DOCSIS modules for ns-3: sizes and gaps are normally
/// distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Game {
    /// From a player to the server.
    Up,
    /// From the server to a player.
    Down,
}

impl Game {
    /// Sizes on the wire: those of the data, and the headers of IP and UDP.
    fn packet(self) -> SizeDistribution {
        let (data, deviation) = match self {
            Self::Up => (82, 20),
            Self::Down => (404, 120),
        };
        let mean = Bytes(data + u64::from(IP_AND_UDP_BYTES));
        SizeDistribution::Normal { mean, deviation: Bytes(deviation) }
    }

    /// The time from packet to packet.
    #[must_use]
    pub fn gap(self) -> SpanDistribution {
        let deviation = match self {
            Self::Up => 3,
            Self::Down => 5,
        };
        SpanDistribution::Normal { mean: Span::from_milliseconds(33), deviation: Span::from_milliseconds(deviation) }
    }

    /// The mean rate on the wire.
    pub(crate) fn bps(self) -> f64 {
        self.packet().mean().0 as f64 * 8.0 / self.gap().mean().seconds()
    }
}

/// A ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Time from packet to packet; "on_answer": the next packet follows when the one before is answered or lost.
    #[serde(default)]
    pub interval: PingInterval,
    /// A packet without an answer after this time is lost. The default is that of flent.
    #[serde(default = "ping_timeout")]
    pub timeout: Span,
}

const fn ping_timeout() -> Span {
    Span::from_seconds(2)
}

/// When the packets of a ping go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PingInterval {
    /// Evenly.
    Every(Span),
    /// When the one before is answered or lost.
    OnAnswer,
}

const ON_ANSWER: &str = "on_answer";

impl Default for PingInterval {
    fn default() -> Self {
        Self::Every(Span::from_milliseconds(200))
    }
}

impl<'de> Deserialize<'de> for PingInterval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == ON_ANSWER {
            return Ok(Self::OnAnswer);
        }
        let refused = |error| D::Error::custom(format_args!("{error}, or \"{ON_ANSWER}\""));
        text.parse().map(Self::Every).map_err(refused)
    }
}

impl Serialize for PingInterval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Every(interval) => interval.serialize(serializer),
            Self::OnAnswer => serializer.serialize_str(ON_ANSWER),
        }
    }
}

impl JsonSchema for PingInterval {
    fn schema_name() -> Cow<'static, str> {
        "PingInterval".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Time from packet to packet: \"200 ms\", or \"on_answer\".",
            "anyOf": [{ "const": ON_ANSWER }, generator.subschema_for::<Span>()],
        })
    }
}

/// Packets evenly spaced.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Rate on the wire.
    pub rate: Rate,
    /// Each gap is multiplied by a number drawn uniformly from 1 - jitter to 1 + jitter. From 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub jitter: f64,
    /// Whether the first packet comes after a random part of a gap, so that equal flows are not synchronised.
    #[serde(default)]
    pub random_phase: bool,
}

/// Packets evenly spaced while on, none while off.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Rate on the wire while on.
    pub rate: Rate,
    /// Length of an on period; drawn each time.
    pub on: SpanDistribution,
    /// Length of an off period; drawn each time.
    pub off: SpanDistribution,
}

/// Packets with exponential gaps: a Poisson process.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Mean rate on the wire.
    pub rate: Rate,
}

/// A rate, and the time from which it applies.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Time from which it applies, from the start of the run.
    pub from: Span,
    /// Rate on the wire.
    pub rate: Rate,
}

/// Size of a packet: a size distribution whose draws are cut to what a packet can be, 1 B to 65535 B.
pub type PacketSize = SizeDistribution;
