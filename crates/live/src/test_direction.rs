//! A direction for tests of adjacent parts: a port on a thread, with frames and time by hand.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use forebay_qdisc::{DropTail, DropTailConfig, Fifo, Rate, Red, RedConfig, Span, Time};
use forebay_units::QueueSize;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use crate::command::{Answer, Command, Commands, CommandsIn, Request, commands};
use crate::control::{Clock, Configurer, Direction, Plan, PlannedChange};
use crate::pool::Pool;
use crate::port::{Port, PortParts};
use crate::shadow::Shadow;
use crate::snapshot::{PortContext, PortSnapshot, RunningQueue};

/// A clock that tests move.
#[derive(Default)]
pub struct TestClock(AtomicU64);

/// The time of day at which it starts.
pub const UNIX_NS: u64 = 1_700_000_000_000_000_000;

impl TestClock {
    pub fn advance(&self, span: Span) {
        self.0.fetch_add(span.picoseconds(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Time {
        Time::from_picoseconds(self.0.load(Ordering::SeqCst))
    }

    fn wait(&self, _: &[BorrowedFd<'_>], _: Option<Time>) {
        thread::sleep(Duration::from_millis(1));
    }

    fn unix_ns_at_zero(&self) -> u64 {
        UNIX_NS
    }
}

/// Waits until `done`, as long as a busy machine may need.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if done() {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("never: {what}");
}

/// A direction that runs: a queue of three packets in front of 8 Mb/s, a queue of RED in its shadow.
pub struct TestDirection {
    commands: Commands,
    frames: Sender<(Time, Vec<u8>)>,
    /// Whether it refuses changes.
    pub refuses: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl TestDirection {
    pub fn start(direction: Direction) -> Self {
        let (commands, asked) = commands().unwrap();
        let (frames, arriving) = mpsc::channel();
        let refuses = Arc::new(AtomicBool::new(false));
        let refusing = Arc::clone(&refuses);
        let thread = thread::spawn(move || run(direction, &asked, &arriving, &refusing));
        Self { commands, frames, refuses, thread }
    }

    pub fn commands(&self) -> Commands {
        self.commands.try_clone().unwrap()
    }

    /// Frames that arrive at `at`, in order.
    pub fn arrive(&self, at: Time, frame: &[u8], count: usize) {
        for _ in 0..count {
            self.frames.send((at, frame.to_vec())).unwrap();
        }
    }

    pub fn snapshot(&self) -> PortSnapshot {
        match self.commands.ask(Command::Snapshot).unwrap() {
            Answer::Snapshot(snapshot) => *snapshot,
            _ => panic!("no snapshot"),
        }
    }

    pub fn end(self) {
        assert!(matches!(self.commands.ask(Command::Drain), Ok(Answer::Done)));
        self.thread.join().unwrap();
    }
}

fn run(direction: Direction, asked: &CommandsIn, frames: &Receiver<(Time, Vec<u8>)>, refuses: &AtomicBool) {
    let rate = Rate::megabits(8);
    let limit = QueueSize::Packets(3);
    let parts = PortParts {
        rate,
        overhead_bytes: 24,
        burst: Span::from_seconds(10),
        queue: Box::new(Fifo::new(Box::new(DropTail::new(&DropTailConfig { limit }, rate, 0).unwrap()))),
        rng: Pcg64Mcg::seed_from_u64(1),
        pool: Pool::new(64, 1600),
    };
    let mut port = Port::new(parts);
    let red = Box::new(Fifo::new(Box::new(Red::new(&RedConfig::default(), rate, 0).unwrap())));
    port.set_shadow(Some(Shadow::new(red, rate, Pcg64Mcg::seed_from_u64(2))));
    let mut queue = RunningQueue { discipline: "drop_tail".into(), parameters: json!({ "limit": "3 packets" }) };
    let shadow = RunningQueue { discipline: "red".into(), parameters: json!({}) };
    loop {
        let frame = frames.try_recv();
        if let Ok((at, frame)) = &frame {
            port.run_until(*at);
            port.arrive(frame, None, *at);
            port.departed(port.departures().len(), *at);
        }
        match asked.requests.try_recv() {
            Ok(Request { command, answer }) => {
                let done = match command {
                    Command::Snapshot => {
                        let (direction, from, to) = (direction.name(), "lan0", "wan0");
                        let (queue, shadow, missed_frames) = (&queue, Some(&shadow), 7);
                        let context = PortContext { direction, from, to, queue, shadow, missed_frames };
                        Answer::Snapshot(Box::new(PortSnapshot::of(&port, &context)))
                    }
                    Command::Change(_) if refuses.load(Ordering::SeqCst) => Answer::Refused("not now".into()),
                    Command::Change(change) => {
                        change.rate.into_iter().for_each(|rate| port.set_rate(rate));
                        if let Some(built) = change.queue {
                            queue = built.running;
                        }
                        Answer::Done
                    }
                    Command::Bypass(on) => {
                        port.set_bypass(on, Time::ZERO);
                        Answer::Done
                    }
                    Command::Tap(tap) => {
                        port.remove_taps();
                        port.add_tap(tap);
                        Answer::Done
                    }
                    Command::Drain => {
                        let _ = answer.send(Answer::Done);
                        return;
                    }
                };
                let _ = answer.send(done);
            }
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) if frame.is_err() => thread::sleep(Duration::from_micros(200)),
            Err(TryRecvError::Empty) => {}
        }
    }
}

/// A configuration that has nothing but rates. It stores its notifications.
pub struct TestConfigurer {
    pub told: Arc<Mutex<Vec<&'static str>>>,
    /// The content of the file: the rate of both directions.
    pub file: Arc<Mutex<Rate>>,
    rate: Rate,
    planned: Rate,
    before: Rate,
}

impl TestConfigurer {
    pub fn new() -> Self {
        let rate = Rate::megabits(8);
        Self { told: Arc::default(), file: Arc::new(Mutex::new(rate)), rate, planned: rate, before: rate }
    }

    fn plan(&mut self, rate: Rate, directions: &[Direction]) -> Plan {
        self.planned = rate;
        let before = self.rate;
        let change = |rate| crate::command::Change { rate: Some(rate), ..Default::default() };
        let changes = directions
            .iter()
            .filter(|_| rate != before)
            .map(|&direction| PlannedChange {
                direction,
                change: change(rate),
                undo: Box::new(move || Ok(change(before))),
            })
            .collect();
        Plan { changes }
    }
}

impl Configurer for TestConfigurer {
    fn set(&mut self, direction: Direction, settings: &[(String, String)]) -> Result<Plan, String> {
        match settings {
            [(key, value)] if key == "rate" => {
                let rate = value.parse().map_err(|error| format!("rate: {error}"))?;
                Ok(self.plan(rate, &[direction]))
            }
            _ => Err("unknown key; expected rate".to_owned()),
        }
    }

    fn reload(&mut self) -> Result<Plan, String> {
        let rate = *self.file.lock().unwrap();
        Ok(self.plan(rate, &Direction::ALL))
    }

    fn adopt(&mut self) {
        self.before = self.rate;
        self.rate = self.planned;
        self.told.lock().unwrap().push("adopt");
    }

    fn revert(&mut self) {
        self.rate = self.before;
        self.told.lock().unwrap().push("revert");
    }
}

/// A UDP packet in an Ethernet frame of `frame_bytes`.
pub fn frame(source_port: u16, frame_bytes: usize) -> Vec<u8> {
    let mut frame = vec![0; frame_bytes];
    frame[12..14].copy_from_slice(&[8, 0]);
    let ip_bytes = (frame_bytes - 14) as u16;
    frame[14] = 0x45;
    frame[15] = 0b10;
    frame[16..18].copy_from_slice(&ip_bytes.to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    frame[34..36].copy_from_slice(&source_port.to_be_bytes());
    frame[36..38].copy_from_slice(&9_u16.to_be_bytes());
    frame[38..40].copy_from_slice(&(ip_bytes - 20).to_be_bytes());
    frame
}
