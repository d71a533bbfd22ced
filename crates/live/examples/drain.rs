//! Measures how fast a direction forwards by itself. Its receive ring is filled first. Then the generator stops, and
//! the clock runs while the direction empties the ring. So no generator uses the processor or limits the rate.
//!
//! `drain ROUNDS [METHOD [WHAT [BYTES [FAR_END]]]]` makes network namespaces of its own, and needs root. In each round
//! every method (af_packet, af_xdp) takes its turn with every path between its two interfaces: `bare` (the example
//! `forward`), `none` (a direction without a queue), `dbl` (a port with DBL). Names choose one of them. The method
//! `messages`, AF_PACKET without a receive ring, takes its turn with `bare` alone: `forebay-live` does not use it, and
//! it is there to be compared with.
//!
//! The frames leave by a veth pair. By default the kernel receives a frame at the far end within the call that sends
//! it, on the same core (`same_core`). With threaded NAPI a thread of the kernel does so on another core
//! (`other_core`), and the direction pays for sending alone, as it does before a network card.
//!
//! Prints a JSON object for each measurement. `timed` frames leave in `nanoseconds` by the clock, which take
//! `cpu_nanoseconds` of the processor in the one thread that does everything; the first ones leave before the clock
//! starts, as a warm-up. `fill_nanoseconds` is the generator's time before, which contains the kernel's way from the
//! wire into the ring.

mod bare;
#[path = "../tests/lab/mod.rs"]
mod lab;

use std::error::Error;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bare::Way;
use cpu_time::ThreadTime;
use forebay_live::command::{self, Commands};
use forebay_live::config::LiveConfig;
use forebay_live::forwarder::{Forwarder, Wait};
use forebay_live::io::{Halves, Transmit};
use forebay_live::pool::Pool;
use forebay_live::port::{Port, PortParts};
use forebay_live::snapshot::RunningQueue;
use forebay_live::sys::clock;
use forebay_live::sys::ethtool::Ethtool;
use forebay_live::sys::realtime;
use forebay_qdisc::Time;
use forebay_replay::rng;
use lab::Lab;
use serde_json::{Value, json};

/// Less than a ring holds.
const FRAMES: usize = 3072;
/// This many of these leave before the clock starts: the caches and the branch predictor are warm then, as in steady
/// traffic.
const WARM_UP: u64 = 512;
const AT_ONCE: usize = 64;
/// More than are on their way at the same time, so that DBL has no flow to limit.
const FLOWS: usize = 64;
const LONGEST_FRAME: usize = 1518;
/// The rate is above all that is reached, so that the line never lets a frame wait.
const CONFIG: &str = r#"
interfaces = { inside = "a1", outside = "b1" }
outbound = { rate = "1 Tbps", queue = "dbl" }
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds: usize = arguments.first().ok_or("drain ROUNDS [METHOD [WHAT [BYTES [FAR_END]]]]")?.parse()?;
    let wanted = |place: usize, name: &str| arguments.get(place).is_none_or(|only| only == name);
    let processors = realtime::processors()?;
    let far_ends = if processors.len() > 1 { &[FarEnd::SameCore, FarEnd::OtherCore][..] } else { &[FarEnd::SameCore] };
    let mut drains = Vec::new();
    for &far_end in far_ends.iter().filter(|far_end| wanted(4, far_end.name())) {
        for method in ["messages", "af_packet", "af_xdp"].into_iter().filter(|method| wanted(1, method)) {
            let Some(lab) = Lab::new(1500) else { return Ok(()) };
            far_end.prepare(&lab, processors[0])?;
            drains.push(Drain::new(lab, method, far_end)?);
        }
    }
    if let Some(&last) = processors.last() {
        realtime::pin(last)?;
    }
    for round in 0..rounds {
        for bytes in [60, 1514].into_iter().filter(|bytes| wanted(3, &bytes.to_string())) {
            let frames: Vec<Vec<u8>> = (0..FLOWS).map(|flow| udp_frame(flow as u16, bytes)).collect();
            for drain in &mut drains {
                let between: &[&str] = if drain.method == "messages" { &["bare"] } else { &["bare", "none", "dbl"] };
                for what in between.iter().filter(|what| wanted(2, what)) {
                    let mut found = drain.measure(what, &frames)?;
                    found["round"] = json!(round);
                    found["bytes"] = json!(bytes);
                    println!("{found}");
                }
            }
        }
    }
    Ok(())
}

/// The receiver in the kernel of the frames sent.
#[derive(Clone, Copy)]
enum FarEnd {
    SameCore,
    OtherCore,
}

impl FarEnd {
    const fn name(self) -> &'static str {
        match self {
            Self::SameCore => "same_core",
            Self::OtherCore => "other_core",
        }
    }

    fn prepare(self, lab: &Lab, processor: usize) -> Result<(), Box<dyn Error>> {
        // As `forebay-live` leaves its interfaces. A pair that segments never uses NAPI.
        lab::within(&lab.middle, || set_features("b1", "tx-tcp", false))?;
        if let Self::OtherCore = self {
            // NAPI is there once generic receive offload is turned on.
            lab::within(&lab.ends, || set_features("b0", "rx-gro", false))?;
            lab::within(&lab.ends, || set_features("b0", "rx-gro", true))?;
            lab::ip(&["netns", "exec", &lab.ends, "sh", "-c", "echo 1 > /sys/class/net/b0/threaded"])?;
            pin_napi(processor)?;
        }
        Ok(())
    }
}

/// Pins the kernel's threads that receive at far ends: the scheduler tends to put them on the sending core.
fn pin_napi(processor: usize) -> Result<(), Box<dyn Error>> {
    for process in std::fs::read_dir("/proc")?.flatten() {
        let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        if name.starts_with("napi/b0-") {
            let id = process.file_name();
            let mut taskset = Command::new("taskset");
            let status = taskset.args(["-cp", &processor.to_string()]).arg(id).stdout(Stdio::null()).status()?;
            if !status.success() {
                return Err(format!("taskset cannot pin {name}").into());
            }
        }
    }
    Ok(())
}

/// Turns all features on or off whose name begins so.
fn set_features(interface: &str, prefix: &str, on: bool) -> std::io::Result<()> {
    let ethtool = Ethtool::open()?;
    let features = ethtool.features(interface)?.into_iter();
    let these = features.filter(|feature| feature.changeable && feature.name.starts_with(prefix));
    ethtool.set_features(interface, &these.map(|feature| (feature.bit, on)).collect::<Vec<_>>())
}

/// One emptying of the ring.
struct Run {
    /// The bare loop; none where the port forwards.
    way: Option<Way>,
    /// Frames that the port had sent before.
    sent: u64,
}

/// One method between the interfaces of a lab of its own.
struct Drain {
    method: &'static str,
    far_end: FarEnd,
    lab: Lab,
    generator: Box<dyn Transmit>,
    forwarder: Forwarder,
    /// The port that is not in the forwarder now.
    other: Port,
    _commands: Commands,
}

impl Drain {
    fn new(lab: Lab, method: &'static str, far_end: FarEnd) -> Result<Self, Box<dyn Error>> {
        let open = |name| lab::within(&lab.middle, || bare::open(method, name).map_err(|error| error.to_string()));
        let (inside, outside): (Halves, Halves) = (open("a1")?, open("b1")?);
        let generator = lab.end("a0").transmit;
        let (_commands, commands) = command::commands()?;
        let config = LiveConfig::load(CONFIG, "drain", &[]).map_err(|error| error.render(false))?;
        let forwarder = Forwarder {
            direction: "outbound",
            from: "a1".into(),
            to: "b1".into(),
            receive: inside.receive,
            transmit: outside.transmit,
            port: port(&config)?,
            queue: RunningQueue { discipline: "dbl".into(), parameters: Value::Null },
            shadow: None,
            commands,
            wait: Wait::default(),
            alive: Arc::new(AtomicU64::new(0)),
        };
        let mut other = port(&config)?;
        other.set_bypass(true, Time::ZERO);
        Ok(Self { method, far_end, lab, generator, forwarder, other, _commands })
    }

    /// Fills the ring, and measures how long it takes until all that was in it has gone.
    fn measure(&mut self, what: &str, frames: &[Vec<u8>]) -> Result<Value, Box<dyn Error>> {
        if (what == "none") != self.forwarder.port.is_bypassed() {
            std::mem::swap(&mut self.forwarder.port, &mut self.other);
        }
        // Frames that have arrived by themselves since the last time.
        while self.forwarder.receive.receive(AT_ONCE, &mut |_| {})? > 0 {}
        let missed = self.forwarder.receive.dropped_by_kernel();
        let arrived = self.arrived();
        let (filling, used) = (clock::now(), ThreadTime::now());
        fill(&mut *self.generator, frames)?;
        let (fill, fill_cpu) = (clock::now().since(filling), used.elapsed());
        let mut run =
            Run { way: (what == "bare").then(Way::default), sent: self.forwarder.port.counters().sent.packets };
        while self.forwarded(&run) < WARM_UP && self.step(&mut run)? {}
        let warm = self.forwarded(&run);
        let (begin, used) = (clock::now(), ThreadTime::now());
        while self.step(&mut run)? {}
        let (span, cpu) = (clock::now().since(begin), used.elapsed());
        let forwarded = self.forwarded(&run);
        Ok(json!({
            "method": self.method,
            "far_end": self.far_end.name(),
            "what": what,
            "filled": FRAMES,
            "missed": self.forwarder.receive.dropped_by_kernel() - missed,
            "forwarded": forwarded,
            "arrived": self.all_arrived(arrived + forwarded) - arrived,
            "timed": forwarded - warm,
            "nanoseconds": span.picoseconds() / 1000,
            "cpu_nanoseconds": cpu.as_nanos() as u64,
            "fill_nanoseconds": fill.picoseconds() / 1000,
            "fill_cpu_nanoseconds": fill_cpu.as_nanos() as u64,
        }))
    }

    /// Forwards one batch. Returns whether there was anything to forward.
    fn step(&mut self, run: &mut Run) -> Result<bool, Box<dyn Error>> {
        let forwarder = &mut self.forwarder;
        match &mut run.way {
            Some(way) => Ok(way.step(&mut *forwarder.receive, &mut *forwarder.transmit)? > 0),
            None => Ok(forwarder.turn()?.taken > 0 || forwarder.port.held_packets() > 0),
        }
    }

    /// Frames that were sent in this run: one that the port dropped or refused was not.
    fn forwarded(&self, run: &Run) -> u64 {
        match &run.way {
            Some(way) => way.sent,
            None => self.forwarder.port.counters().sent.packets - run.sent,
        }
    }

    /// Frames that have reached the far end, when there are no more on the way.
    fn all_arrived(&self, expected: u64) -> u64 {
        for _ in 0..100 {
            if self.arrived() >= expected {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.arrived()
    }

    /// Frames that have reached the far end.
    fn arrived(&self) -> u64 {
        lab::within(&self.lab.ends, || lab::counter("b0", 1))
    }
}

fn port(config: &LiveConfig) -> Result<Port, Box<dyn Error>> {
    let direction = config.outbound.as_ref().ok_or("no direction")?;
    let queue = direction.build(&direction.queue, 1).map_err(|error| error.to_string())?.discipline;
    Ok(Port::new(PortParts {
        rate: direction.rate,
        overhead_bytes: direction.overhead.0 as u32,
        burst: direction.burst,
        queue,
        rng: rng(1),
        pool: Pool::new(config.buffers(Some(direction)), LONGEST_FRAME),
    }))
}

/// Sends all frames of a round, one after another of `frames`.
fn fill(generator: &mut dyn Transmit, frames: &[Vec<u8>]) -> std::io::Result<()> {
    let mut sent = 0;
    while sent < FRAMES {
        let start = sent % FLOWS;
        let batch: Vec<&[u8]> = frames[start..(start + AT_ONCE).min(FLOWS)].iter().map(|frame| &frame[..]).collect();
        sent += generator.send(&batch)?;
    }
    Ok(())
}

/// A UDP packet in an Ethernet frame of `bytes` bytes; each flow has a port of its own.
fn udp_frame(flow: u16, bytes: usize) -> Vec<u8> {
    let ip_bytes = bytes as u16 - 14;
    let mut frame = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45, 0];
    frame.extend(ip_bytes.to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend((1024 + flow).to_be_bytes());
    frame.extend(9_u16.to_be_bytes());
    frame.extend((ip_bytes - 20).to_be_bytes());
    frame.resize(bytes, 0);
    frame
}
