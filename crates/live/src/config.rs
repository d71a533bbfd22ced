//! The configuration: a TOML file, read and checked as a whole before anything is touched.

use std::net::SocketAddr;
use std::path::PathBuf;

use forebay_document::{Document, DocumentError, Invalid, Kind, Path};
use forebay_qdisc::config::{Alone, NoCustomDiscipline, QueueError, QueueSpec};
use forebay_qdisc::{ParameterError, Rate, Span};
use forebay_replay::{rng, salt};
use forebay_units::{Bytes, QueueSize};
use serde::{Deserialize, Serialize};

use crate::command::BuiltQueue;
use crate::forwarder::Wait;
use crate::packet::LivePacket;
use crate::shadow::Shadow;
use crate::snapshot::RunningQueue;

/// A discipline that runs without Python.
pub type Queue = QueueSpec<NoCustomDiscipline>;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LiveConfig {
    /// The two interfaces.
    pub interfaces: Interfaces,
    /// The queue for frames from inside to outside; without it they are forwarded without a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outbound: Option<Direction>,
    /// The queue for frames from outside to inside; without it they are forwarded without a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inbound: Option<Direction>,
    /// How frames are moved.
    #[serde(default)]
    pub io: Io,
    /// How it is controlled and watched.
    #[serde(default)]
    pub control: Control,
}

/// The two interfaces, by name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Interfaces {
    /// The interface of the hosts whose traffic leaves through `outbound`.
    pub inside: String,
    /// Where it goes.
    pub outside: String,
}

/// The port of one direction.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Rate of the line. Somewhat below that of the link behind it, so that the queue is here.
    pub rate: Rate,
    /// Framing counted in addition to each frame: on an Ethernet preamble, frame check sequence and gap.
    #[serde(default = "ethernet_overhead")]
    pub overhead: Bytes,
    /// The most time that is caught up after a stall of this program; it bounds the burst that follows.
    #[serde(default = "one_millisecond")]
    pub burst: Span,
    /// The discipline, as the `queue` of a scenario.
    pub queue: Queue,
    /// A second discipline that receives the same packets; its would-be drops are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<Queue>,
    /// The core on which this direction runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Real-time priority (`SCHED_FIFO`) of this direction, 1 to 99.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
}

fn ethernet_overhead() -> Bytes {
    Bytes(24)
}

fn one_millisecond() -> Span {
    Span::from_milliseconds(1)
}

/// A way to move frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A packet socket with a ring: on every interface and kernel.
    #[default]
    AfPacket,
    /// XDP sockets in copy mode: less work for each frame.
    AfXdp,
    /// TAP interfaces that are made for this: to teach and to test.
    Tap,
}

/// How frames are moved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// The way to move frames.
    #[serde(default)]
    pub method: Method,
    /// Frames that each direction holds at most. Default: enough for the limits of its disciplines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffers: Option<u32>,
    /// How the next departure is waited for.
    #[serde(default)]
    pub wait: Wait,
    /// Makes both interfaces ports of a bridge, which forwards frames when this program is gone.
    #[serde(default)]
    pub fail_open: bool,
    /// Name of that bridge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bridge: Option<String>,
}

/// How it is controlled and watched.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Control {
    /// The UNIX socket of `forebay live set` and the others.
    pub socket: PathBuf,
    /// Where Prometheus finds metrics: a loopback address and a port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<SocketAddr>,
    /// Seed of the disciplines' random streams.
    pub seed: u64,
}

impl Default for Control {
    fn default() -> Self {
        Self { socket: PathBuf::from(DEFAULT_SOCKET), metrics: None, seed: 1 }
    }
}

/// Where the control socket is unless the configuration says otherwise.
pub const DEFAULT_SOCKET: &str = "/run/forebay/live.sock";

/// A discipline written in Python would need an interpreter in the data plane.
const KIND: Kind = Kind {
    name: "configuration",
    override_example: "outbound.rate=50 Mbps",
    not_offered: &["python"],
    foreign: &[forebay_qdisc::COUNTERPARTS],
    misplaced: &[],
};

/// The shortest frame that a sender hands over, without padding and frame check sequence.
const SHORTEST_FRAME_BYTES: u64 = 42;

/// Frames that wait to be handed over, in addition to those that a discipline holds.
const BUFFERS_BESIDE: u64 = 1024;

/// Enough for every discipline with its defaults: 25 MB of full frames.
const FEWEST_BY_DEFAULT: u64 = 16_384;

const FEWEST_BUFFERS: u64 = 64;
const MOST_BUFFERS: u64 = 1 << 20;

impl LiveConfig {
    /// Reads and checks the text of a file. `overrides` are pairs of a key path and a value.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn load(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Self, DocumentError> {
        let document = Document::parse(KIND, file, text, overrides)?;
        document.check_texts()?;
        let config: Self = document.read()?;
        match config.check() {
            Ok(()) => Ok(config),
            Err(invalid) => Err(document.refused(invalid)),
        }
    }

    /// The directions that are described, with their names.
    pub fn directions(&self) -> impl Iterator<Item = (&'static str, &Direction)> {
        [("outbound", &self.outbound), ("inbound", &self.inbound)]
            .into_iter()
            .filter_map(|(name, direction)| direction.as_ref().map(|direction| (name, direction)))
    }

    /// The direction of that name, if it is described.
    #[must_use]
    pub fn direction(&self, name: &str) -> Option<&Direction> {
        self.directions().find(|(known, _)| *known == name).map(|(_, direction)| direction)
    }

    fn check(&self) -> Result<(), Invalid> {
        let root = Path::default();
        if self.interfaces.inside == self.interfaces.outside {
            let path = root.below("interfaces.outside");
            return Err(Invalid::new(path, "both interfaces are the same", "expected another one than `inside`"));
        }
        if self.directions().next().is_none() {
            let message = "no queue is configured: `outbound` and `inbound` are both missing";
            return Err(Invalid::new(root, message, "expected a table `outbound` or `inbound`"));
        }
        for (name, direction) in self.directions() {
            direction.check(&root.key(name))?;
            self.check_buffers(direction)?;
        }
        if self.control.metrics.is_some_and(|address| !address.ip().is_loopback()) {
            let path = root.below("control.metrics");
            let message = "metrics reveal who communicates with whom, so they are served on this machine only";
            return Err(Invalid::new(path, message, "expected a loopback address such as \"127.0.0.1:9779\""));
        }
        if self.io.bridge.is_some() && !self.io.fail_open {
            let path = root.below("io.bridge");
            return Err(Invalid::new(path, "`bridge` has no effect without `fail_open`", "set `fail_open = true`"));
        }
        Ok(())
    }

    /// A discipline that may hold more than there are buffers would not be the one that decides about drops.
    fn check_buffers(&self, direction: &Direction) -> Result<(), Invalid> {
        let Some(buffers) = self.io.buffers else { return Ok(()) };
        let path = Path::default().below("io.buffers");
        let range = format!("expected {FEWEST_BUFFERS} to {MOST_BUFFERS}");
        if !(FEWEST_BUFFERS..=MOST_BUFFERS).contains(&u64::from(buffers)) {
            return Err(Invalid::new(path, format!("{buffers} buffers"), range));
        }
        let needed = direction.buffers_needed();
        if u64::from(buffers) < needed {
            let message = format!("`{}` may hold more frames than there are buffers", direction.queue.name());
            return Err(Invalid::new(path, message, format!("expected at least {needed}")));
        }
        Ok(())
    }

    /// Frames that a direction holds at most.
    #[must_use]
    pub fn buffers(&self, direction: Option<&Direction>) -> u32 {
        let held = direction.map_or(0, |direction| direction.most_packets(&direction.queue));
        // Twice as many as are held: a change may leave one discipline full while another one fills up.
        let wanted = (2 * held + BUFFERS_BESIDE).clamp(FEWEST_BY_DEFAULT, MOST_BUFFERS);
        self.io.buffers.unwrap_or(if direction.is_none() { BUFFERS_BESIDE } else { wanted } as u32)
    }
}

impl Direction {
    fn check(&self, path: &Path) -> Result<(), Invalid> {
        let range = |key: &str, message: String, expected: &str| Err(Invalid::new(path.key(key), message, expected));
        if self.overhead.0 > 1000 {
            return range("overhead", format!("{} of framing a frame", self.overhead), "expected at most 1000 B");
        }
        if self.burst > Span::from_seconds(1) {
            return range("burst", format!("a burst of {}", self.burst), "expected at most 1 s");
        }
        if self.priority.is_some_and(|priority| !(1..=99).contains(&priority)) {
            return range("priority", "no real-time priority".into(), "expected 1 to 99");
        }
        for (key, queue) in [("queue", Some(&self.queue)), ("shadow", self.shadow.as_ref())] {
            let Some(queue) = queue else { continue };
            if let Err(error) = queue.check::<LivePacket>(&Alone, self.rate) {
                return Err(refused(&path.key(key), &error));
            }
        }
        if self.buffers_needed() > MOST_BUFFERS {
            let message = format!("`{}` may hold {} frames", self.queue.name(), self.buffers_needed());
            return range("queue", message, &format!("expected a `limit` for which {MOST_BUFFERS} buffers are enough"));
        }
        Ok(())
    }

    /// Builds a discipline for this direction.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn build(&self, queue: &Queue, seed: u64) -> Result<BuiltQueue, ParameterError> {
        let discipline = queue.build::<LivePacket>(self.rate, salt(seed))?.into_discipline();
        Ok(BuiltQueue { running: running(queue), discipline, most_packets: self.most_packets(queue) })
    }

    /// Builds the second discipline, if there is one.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn build_shadow(&self, seed: u64) -> Result<Option<(RunningQueue, Shadow)>, ParameterError> {
        let Some(queue) = &self.shadow else { return Ok(None) };
        let BuiltQueue { running, discipline, .. } = self.build(queue, seed)?;
        Ok(Some((running, Shadow::new(discipline, self.rate, rng(seed)))))
    }

    /// Buffers for all that the discipline may hold.
    #[must_use]
    pub fn buffers_needed(&self) -> u64 {
        self.most_packets(&self.queue).saturating_add(BUFFERS_BESIDE)
    }

    /// Packets that a discipline may hold.
    fn most_packets(&self, queue: &Queue) -> u64 {
        let packets = |limit| match limit {
            QueueSize::Packets(packets) => packets,
            QueueSize::Bytes(bytes) => bytes / (SHORTEST_FRAME_BYTES + self.overhead.0),
        };
        // The packet that a shaper holds in addition to its queue is one of those of `BUFFERS_BESIDE`.
        let limits = queue.limits();
        limits.map_or(u64::MAX, |limits| limits.into_iter().map(packets).fold(0, u64::saturating_add))
    }
}

/// A discipline with its parameters, for those who ask what runs.
fn running(queue: &Queue) -> RunningQueue {
    let tagged = serde_json::to_value(queue).unwrap_or_default();
    let parameters = tagged.get(queue.name()).cloned().unwrap_or(tagged);
    RunningQueue { discipline: queue.name().to_owned(), parameters }
}

fn refused(path: &Path, error: &QueueError) -> Invalid {
    Invalid::new(path.below(&error.path), error.to_string(), format!("must {}", error.error.bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discipline_written_in_python_is_refused_and_not_offered() {
        let refused = |queue: &str| {
            let interfaces = "interfaces = { inside = 'lan0', outside = 'wan0' }";
            let text = format!("{interfaces}\noutbound = {{ rate = '1 Gbps', queue = {queue} }}");
            LiveConfig::load(&text, "live.toml", &[]).unwrap_err().render(false)
        };
        let error = refused("'dbll'");
        assert!(error.contains("`dbl`") && error.contains("`cbq`") && !error.contains("python"), "{error}");
        let error = refused("{ python = 'module:Class' }");
        assert!(error.contains("a discipline written in Python cannot be used here"), "{error}");
    }
}
