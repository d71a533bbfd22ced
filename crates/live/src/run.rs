//! From a configuration to two directions that forward, and to the network as it was.
//!
//! Everything that needs a privilege comes first, then privileges are dropped, then threads are started: one for each
//! direction, one for the control socket, one for metrics. The first thread waits for signals and feeds the watchdog.

mod presence;
mod system;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use forebay_qdisc::{Discipline, DropTail, DropTailConfig, Fifo, Rate, Span, Time};
use forebay_replay::rng;

use self::presence::Presence;
use self::system::System;
use crate::command::{self, BuiltQueue, Command as Asked, Commands};
use crate::config::{Direction as Described, LiveConfig};
use crate::configure::Configuration;
use crate::control::{Clock, Control, ControlHandle, ControlParts, Direction};
use crate::counters::Count;
use crate::forwarder::Forwarder;
use crate::io::Halves;
use crate::metrics::{Metrics, MetricsHandle};
use crate::notify::{self, Notifier};
use crate::packet::LivePacket;
use crate::pool::Pool;
use crate::port::{Port, PortParts};
use crate::privileges::{self, CapabilitySet, Otherwise};
use crate::snapshot::RunningQueue;
use crate::sys::clock;
use crate::sys::realtime::{self, Schedule};
use crate::sys::signals::{Signal, Signals};

/// The interval at which the first thread checks the directions, unless the service manager needs a shorter one.
const LOOK_EVERY: Span = Span::from_milliseconds(500);

/// Times are counted for no longer than 213 days, so this process ends in good time; a service manager starts it again.
const LONGEST_RUN: Span = Span::from_seconds(200 * 24 * 3600);

/// Why it does not run, or ended.
#[derive(Debug)]
pub enum Failure {
    /// Something that was given, or found, is not as it must be: exit status 2.
    Input(String),
    /// Something failed while it ran: exit status 3.
    Broken(String),
}

fn input(error: impl std::fmt::Display) -> Failure {
    Failure::Input(error.to_string())
}

fn broken(error: impl std::fmt::Display) -> Failure {
    Failure::Broken(error.to_string())
}

/// Checks a configuration and the machine, and touches nothing.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(configuration: &Configuration) -> Result<(), Failure> {
    system::check(configuration.running()).map(|_| ())
}

/// Forwards until a request to end. `restorer` is the command that turns the offloads on again, see
/// [`run_restorer`](crate::setup::run_restorer); `log` receives messages for the operator.
///
/// # Errors
/// A fault of the configuration or the machine, or a failure.
pub fn run(configuration: Configuration, restorer: Command, log: fn(&str)) -> Result<(), Failure> {
    let mut signals = Signals::block().map_err(broken)?;
    let notifier = Notifier::from_environment().map_err(input)?;
    let config = configuration.running().clone();
    let (mut system, halves) = System::set_up(&config, restorer)?;
    let presence = system.presence().map_err(broken)?;
    let (plans, directions) = plans(&config, system.longest_frame(), halves)?;
    let clock: Arc<dyn Clock> = Arc::new(MachineClock);
    let parts = ControlParts {
        socket: config.control.socket.clone(),
        directions: described(&config, &directions).map_err(broken)?,
        configurer: Box::new(configuration),
        system: system.read_back(&config)?,
        clock: Arc::clone(&clock),
        log: Box::new(log),
    };
    let (control, handle) = Control::bind(parts).map_err(input)?;
    let metrics = match config.control.metrics {
        Some(address) => Some(metrics(address, &config, &directions, clock)?),
        None => None,
    };
    take_priority(&plans)?;
    system.settle();
    privileges::drop(CapabilitySet::empty(), Otherwise::Kill).map_err(broken)?;

    let mut running = Running { threads: Vec::new(), directions, control: handle };
    running.start(plans)?;
    // Threads that only observe or answer do not run before the directions.
    let _ = realtime::schedule(Schedule::Normal);
    let controlling = spawn("control", move || control.run()).map_err(broken)?;
    let metrics = match metrics {
        Some((metrics, handle)) => Some((handle, spawn("metrics", move || metrics.run()).map_err(broken)?)),
        None => None,
    };
    let _ = notifier.ready("forwarding");
    log("ready");
    let ended = running.watch(&mut signals, &notifier, presence, log);
    let _ = notifier.stopping();
    // The reader of the present state holds the entrances, too.
    running.control.stop();
    let _ = controlling.join();
    running.stop_receiving(&mut system);
    let drained = running.join(log);
    if let Some((handle, thread)) = metrics {
        handle.stop();
        let _ = thread.join();
    }
    // The first error is reported.
    ended.and(drained).and(system.tear_down())
}

/// A direction before its thread runs.
struct Plan {
    forwarder: Forwarder,
    cpu: Option<u32>,
    priority: Option<u8>,
}

type Asking = Vec<(Direction, Commands)>;

/// Prepares both directions and the channels to them.
fn plans(
    config: &LiveConfig,
    longest_frame: usize,
    [inside, outside]: [Halves; 2],
) -> Result<(Vec<Plan>, Asking), Failure> {
    let names = &config.interfaces;
    let (mut plans, mut asking) = (Vec::new(), Vec::new());
    for (name, described, (from, receive), (to, transmit)) in [
        (Direction::Outbound, &config.outbound, (&names.inside, inside.receive), (&names.outside, outside.transmit)),
        (Direction::Inbound, &config.inbound, (&names.outside, outside.receive), (&names.inside, inside.transmit)),
    ] {
        let described = described.as_ref();
        let (port, queue, shadow) = port(config, described, longest_frame)?;
        let (ask, commands) = command::commands().map_err(broken)?;
        let forwarder = Forwarder {
            direction: name.name(),
            from: from.clone(),
            to: to.clone(),
            receive,
            transmit,
            port,
            queue,
            shadow,
            commands,
            wait: config.io.wait,
            alive: Arc::new(AtomicU64::new(0)),
        };
        let (cpu, priority) = described.map_or((None, None), |one| (one.cpu, one.priority));
        plans.push(Plan { forwarder, cpu, priority });
        asking.push((name, ask));
    }
    Ok((plans, asking))
}

/// The port of a direction. One that is not described passes everything around its queue.
fn port(
    config: &LiveConfig,
    described: Option<&Described>,
    longest_frame: usize,
) -> Result<(Port, RunningQueue, Option<RunningQueue>), Failure> {
    let seed = config.control.seed;
    let pool = Pool::new(config.buffers(described), longest_frame);
    let Some(described) = described else {
        let rate = Rate::new(u64::MAX).unwrap_or(Rate::megabits(1_000_000));
        let law = DropTail::new(&DropTailConfig::default(), rate, 0).map_err(broken)?;
        let queue: Box<dyn Discipline<LivePacket>> = Box::new(Fifo::new(Box::new(law)));
        let mut port = Port::new(PortParts { rate, overhead_bytes: 0, burst: Span::ZERO, queue, rng: rng(seed), pool });
        port.set_bypass(true, Time::ZERO);
        return Ok((port, RunningQueue { discipline: "none".into(), parameters: serde_json::Value::Null }, None));
    };
    let BuiltQueue { running, discipline, .. } = described.build(&described.queue, seed).map_err(input)?;
    let mut port = Port::new(PortParts {
        rate: described.rate,
        overhead_bytes: described.overhead.0 as u32,
        burst: described.burst,
        queue: discipline,
        rng: rng(seed),
        pool,
    });
    let (shadow_queue, shadow) = described.build_shadow(seed).map_err(input)?.unzip();
    port.set_shadow(shadow);
    Ok((port, running, shadow_queue))
}

/// Selects the directions that have a queue.
fn described(config: &LiveConfig, directions: &Asking) -> io::Result<Asking> {
    let with_queue = directions.iter().filter(|(name, _)| config.direction(name.name()).is_some());
    with_queue.map(|(name, commands)| Ok((*name, commands.try_clone()?))).collect()
}

fn metrics(
    address: SocketAddr,
    config: &LiveConfig,
    directions: &Asking,
    clock: Arc<dyn Clock>,
) -> Result<(Metrics, MetricsHandle), Failure> {
    let commands = described(config, directions).map_err(broken)?.into_iter().map(|(_, commands)| commands);
    Metrics::bind(address, commands.collect(), clock).map_err(input)
}

/// Takes the highest priority that a direction wants, while it may. Each direction lowers its own.
fn take_priority(plans: &[Plan]) -> Result<(), Failure> {
    let Some(priority) = plans.iter().filter_map(|plan| plan.priority).max() else { return Ok(()) };
    let refused =
        |what: &str, error: io::Error| input(format!("{what}: {error}; run it as root or without `priority`"));
    realtime::lock_memory().map_err(|error| refused("cannot keep its memory from being swapped", error))?;
    realtime::schedule(Schedule::Fifo(priority))
        .map_err(|error| refused(&format!("cannot get the real-time priority {priority}"), error))
}

fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// The directions that run.
struct Running {
    threads: Vec<Direct>,
    directions: Asking,
    control: ControlHandle,
}

/// A direction's thread.
struct Direct {
    name: &'static str,
    alive: Arc<AtomicU64>,
    thread: JoinHandle<io::Result<Count>>,
}

impl Running {
    fn start(&mut self, plans: Vec<Plan>) -> Result<(), Failure> {
        for Plan { forwarder, cpu, priority } in plans {
            let (name, alive) = (forwarder.direction, Arc::clone(&forwarder.alive));
            let thread = spawn(name, move || {
                realtime::schedule(priority.map_or(Schedule::Normal, Schedule::Fifo))?;
                cpu.map_or(Ok(()), |cpu| realtime::pin(cpu as usize))?;
                forwarder.run()
            });
            self.threads.push(Direct { name, alive, thread: thread.map_err(broken)? });
        }
        Ok(())
    }

    /// Waits for the end: a signal, a direction that ended, or an interface that is gone. Passes other signals on, and
    /// reports to the service manager while all directions are alive.
    fn watch(
        &self,
        signals: &mut Signals,
        notifier: &Notifier,
        mut presence: Presence,
        log: fn(&str),
    ) -> Result<(), Failure> {
        let every = notify::watchdog()
            .map_or(LOOK_EVERY, |limit| LOOK_EVERY.min(Span::from_nanoseconds(limit.as_nanos() as u64 / 3)));
        let mut rounds: Vec<u64> = vec![u64::MAX; self.threads.len()];
        loop {
            let now = clock::now();
            clock::wait(&[signals.as_fd()], now + every).map_err(broken)?;
            while let Some(signal) = signals.take() {
                match signal {
                    Signal::End => return Ok(()),
                    Signal::Reload => self.control.reload(),
                }
            }
            // Before the directions: if one ended, its interface is the cause.
            if let Some(gone) = presence.gone() {
                return Err(broken(gone));
            }
            if let Some(ended) = self.threads.iter().find(|direct| direct.thread.is_finished()) {
                log(&format!("{} has ended", ended.name));
                return Ok(());
            }
            let now_at: Vec<u64> = self.threads.iter().map(|direct| direct.alive.load(Ordering::Relaxed)).collect();
            if now_at.iter().zip(&rounds).all(|(now, before)| now != before) {
                let _ = notifier.alive();
            }
            rounds = now_at;
            if now >= Time::ZERO + LONGEST_RUN {
                log("the longest run of 200 days is over; the service manager starts the next one");
                return Ok(());
            }
        }
    }

    /// Has the directions take in nothing more, one after the other; they go on sending what is queued.
    fn stop_receiving(&self, system: &mut System) {
        for (direction, commands) in &self.directions {
            // If the thread has ended already, joining it shows the reason.
            let let_go = commands.ask(Asked::Drain);
            // First the bridge takes over, then the socket is closed: that takes longer than traffic should pause.
            system.open_entrance(*direction);
            drop(let_go);
        }
    }

    /// Waits for the end of all directions. Returns what they ended with.
    fn join(self, log: fn(&str)) -> Result<(), Failure> {
        let mut result = Ok(());
        for Direct { name, thread, .. } in self.threads {
            let ended = match thread.join() {
                Ok(Ok(Count { packets: 0, .. })) => Ok(()),
                Ok(Ok(Count { packets, bytes })) => {
                    log(&format!(
                        "{name}: {packets} packets ({bytes} bytes) were still queued after a second and are lost"
                    ));
                    Ok(())
                }
                Ok(Err(error)) => Err(broken(format!("{name}: {error}"))),
                Err(_) => Err(broken(format!("{name}: internal error: its thread panicked (please report)"))),
            };
            result = result.and(ended);
        }
        result
    }
}

/// The clock by which packets are stamped.
struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> Time {
        clock::now()
    }

    fn wait(&self, readable: &[BorrowedFd<'_>], until: Option<Time>) {
        // The waiting side checks again in any case.
        let _ = clock::wait(readable, until.unwrap_or(Time::NEVER));
    }

    fn unix_ns_at_zero(&self) -> u64 {
        clock::unix_ns_at_zero()
    }
}
