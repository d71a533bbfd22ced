//! The loop of one direction: takes frames in, lets its port decide, and hands over what is due. One thread each.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forebay_units::{Span, Time};

use crate::command::{Answer, Change, Command, CommandsIn, Request};
use crate::counters::{Count, Refusal};
use crate::io::{Receive, ReceivedFrame, Transmit};
use crate::port::Port;
use crate::snapshot::{PortContext, PortSnapshot, RunningQueue};
use crate::sys::clock;

/// Frames that are taken in, or handed over, in one go.
const BATCH: usize = 64;

/// The wait after the kernel has refused frames without a sign of when it will take them.
const RETRY: Span = Span::from_microseconds(100);

/// While an interface is down.
const RETRY_WHEN_DOWN: Span = Span::from_milliseconds(10);

/// The longest time between two looks around, for the watchdog.
const LONGEST_WAIT: Span = Span::from_milliseconds(100);

/// The time limit of a direction that ends to send what is queued.
const LONGEST_DRAIN: Span = Span::from_seconds(1);

/// The way to wait for the next departure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Sleeps until then; the kernel wakes it some tens of microseconds late.
    #[default]
    Ppoll,
    /// Sleeps until shortly before, then spins: exact, at the price of a part of the core.
    Spin,
}

impl Wait {
    /// With [`Wait::Spin`], for how long at most it spins. Together with [`Wait::margin`] this leaves a real-time
    /// thread's core to others for more than a tenth of the time, which the kernel demands.
    const LONGEST_SPIN: Span = Span::from_microseconds(60);

    /// Returns how much earlier than the departure it wakes up if departures are `gap` apart.
    fn margin(self, gap: Span) -> Span {
        match self {
            Self::Ppoll => Span::ZERO,
            Self::Spin => Self::LONGEST_SPIN.min(gap / 2),
        }
    }
}

/// The most batches that empty the rings at the end: traffic may never pause.
const MOST_LAST_BATCHES: usize = 64;

/// An interface that was let go.
struct Nowhere {
    fd: UnixStream,
    dropped: u64,
}

impl Receive for Nowhere {
    fn receive(&mut self, _: usize, _: &mut dyn FnMut(ReceivedFrame<'_>)) -> io::Result<usize> {
        Ok(0)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    fn dropped_by_kernel(&mut self) -> u64 {
        self.dropped
    }
}

/// The parts of a direction.
pub struct Forwarder {
    /// `outbound` or `inbound`.
    pub direction: &'static str,
    /// The interface by which frames come.
    pub from: String,
    /// The interface by which they leave.
    pub to: String,
    /// Takes frames in.
    pub receive: Box<dyn Receive>,
    /// Hands frames over.
    pub transmit: Box<dyn Transmit>,
    /// Decides in between.
    pub port: Port,
    /// The discipline in the port.
    pub queue: RunningQueue,
    /// The second discipline in the port.
    pub shadow: Option<RunningQueue>,
    /// The commands to it.
    pub commands: CommandsIn,
    pub wait: Wait,
    /// Counts rounds of the loop, for a watchdog.
    pub alive: Arc<AtomicU64>,
}

/// The events of one turn of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub began: Time,
    /// Frames that came in.
    pub taken: usize,
    /// The kernel took fewer frames than were due.
    pub blocked: bool,
    /// Whether the request to end has arrived.
    pub ends: bool,
}

impl Forwarder {
    /// Forwards until a request to end. Returns what it could not send within a second after that.
    ///
    /// # Errors
    /// An interface is gone.
    pub fn run(mut self) -> io::Result<Count> {
        let mut drain_until = None;
        loop {
            let Turn { began, taken, blocked, ends } = self.turn()?;
            if ends {
                drain_until.get_or_insert(began + LONGEST_DRAIN);
            }
            if drain_until.is_some_and(|until| self.port.held_packets() == 0 || began >= until) {
                return Ok(self.port.give_up_all(began));
            }
            // Frames that became due meanwhile must not wait.
            let idle = taken == 0 && self.port.departures().is_empty();
            if idle || blocked {
                self.wait(blocked, drain_until)?;
            }
        }
    }

    /// One turn of the loop, without waiting: hands over what is due, takes in one batch, does what was asked.
    ///
    /// # Errors
    /// An interface is gone.
    pub fn turn(&mut self) -> io::Result<Turn> {
        self.alive.fetch_add(1, Ordering::Relaxed);
        let began = clock::now();
        self.port.run_until(began);
        let blocked = self.hand_over()?;
        let taken = self.take_in()?;
        let ends = self.obey()?;
        Ok(Turn { began, taken, blocked, ends })
    }

    /// Hands over all departures that the kernel takes. Returns whether it took too few.
    fn hand_over(&mut self) -> io::Result<bool> {
        // The kernel now starts sending frames that it took earlier. The next frames get an error.
        let _ = self.transmit.send(&[]);
        while !self.port.departures().is_empty() {
            let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
            let mut count = 0;
            for (frame, departure) in frames.iter_mut().zip(self.port.departures()) {
                *frame = self.port.frame(departure.buffer);
                count += 1;
            }
            match self.transmit.send(&frames[..count]) {
                Ok(sent) => {
                    self.port.departed(sent, clock::now());
                    if sent < count {
                        return Ok(true);
                    }
                }
                // Longer than the MTU, or the interface is down: frames do not wait for better times.
                Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NetworkDown) => {
                    self.port.give_up_first();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Takes in what is there. Returns how many frames.
    fn take_in(&mut self) -> io::Result<usize> {
        let Self { receive, port, .. } = self;
        let now = clock::now();
        port.run_until(now);
        let taken = receive.receive(BATCH, &mut |frame| arrive(port, &frame, now));
        match taken {
            Err(error) if error.kind() == ErrorKind::NetworkDown => {
                clock::wait(&[], now + RETRY_WHEN_DOWN)?;
                Ok(0)
            }
            taken => taken,
        }
    }

    /// Waits for a frame, a command, or the next departure.
    fn wait(&mut self, blocked: bool, drain_until: Option<Time>) -> io::Result<()> {
        let now = clock::now();
        let next = if blocked { now + RETRY } else { self.port.next().unwrap_or(Time::NEVER) };
        let gap = next.since(now);
        let wake = if next == Time::NEVER { next } else { now + gap.saturating_sub(self.wait.margin(gap)) };
        let until = wake.min(drain_until.unwrap_or(Time::NEVER)).min(now + LONGEST_WAIT);
        if drain_until.is_some() {
            return clock::wait(&[], until).map(|_| ());
        }
        clock::wait(&[self.receive.fd(), self.commands.waker.as_fd()], until).map(|_| ())
    }

    /// Does what was asked meanwhile. Returns whether that is to end.
    fn obey(&mut self) -> io::Result<bool> {
        let mut ends = false;
        while let Ok(Request { command, answer }) = self.commands.requests.try_recv() {
            let mut woken = [0; 64];
            let _ = self.commands.waker.read(&mut woken);
            let done = match command {
                Command::Snapshot => {
                    self.port.remove_taps();
                    Answer::Snapshot(Box::new(self.snapshot()))
                }
                Command::Change(change) => self.change(*change),
                Command::Bypass(on) => {
                    self.port.set_bypass(on, clock::now());
                    Answer::Done
                }
                Command::Tap(tap) => {
                    self.port.remove_taps();
                    self.port.add_tap(tap);
                    Answer::Done
                }
                Command::Drain => {
                    ends = true;
                    Answer::LetGo(self.stop_receiving()?)
                }
            };
            // The client may have stopped waiting.
            let _ = answer.send(done);
        }
        Ok(ends)
    }

    /// Forwards the frames that have arrived, and releases the interface to its successor.
    fn stop_receiving(&mut self) -> io::Result<Box<dyn Receive>> {
        for _ in 0..MOST_LAST_BATCHES {
            if self.take_in()? == 0 {
                break;
            }
        }
        let nowhere = Nowhere { fd: self.commands.waker.try_clone()?, dropped: self.receive.dropped_by_kernel() };
        Ok(std::mem::replace(&mut self.receive, Box::new(nowhere)))
    }

    fn change(&mut self, change: Change) -> Answer {
        let Change { rate, overhead_bytes, burst, queue, shadow } = change;
        if let Some(queue) = queue {
            // All held frames stay, and the new discipline may fill up: every frame must have its buffer.
            if self.port.held_packets() + queue.most_packets > u64::from(self.port.pool().capacity()) {
                return Answer::Refused(
                    "the queued packets leave too few buffers for another discipline; try again when they have left, \
                     or                      set a larger `io.buffers` and start again"
                        .into(),
                );
            }
            if self.port.replace_queue(queue.discipline).is_err() {
                return Answer::Refused(
                    "too many replaced disciplines still hold packets; try again when they have left".into(),
                );
            }
            self.queue = queue.running;
        }
        if let Some(rate) = rate {
            self.port.set_rate(rate);
        }
        if let Some(overhead_bytes) = overhead_bytes {
            self.port.set_overhead(overhead_bytes);
        }
        if let Some(burst) = burst {
            self.port.set_burst(burst);
        }
        if let Some(shadow) = shadow {
            let (running, shadow) = shadow.unzip();
            self.port.set_shadow(shadow);
            self.shadow = running;
        }
        Answer::Done
    }

    fn snapshot(&mut self) -> PortSnapshot {
        let missed_frames = self.receive.dropped_by_kernel();
        let context = PortContext {
            direction: self.direction,
            from: &self.from,
            to: &self.to,
            queue: &self.queue,
            shadow: self.shadow.as_ref(),
            missed_frames,
        };
        PortSnapshot::of(&self.port, &context)
    }
}

/// Gives a frame to its port, or refuses it.
#[inline]
fn arrive(port: &mut Port, frame: &ReceivedFrame<'_>, now: Time) {
    let refused_bytes = frame.wire_bytes + port.overhead_bytes();
    if frame.checksum_unfinished {
        port.refuse(Refusal::UnfinishedChecksum, refused_bytes);
    } else if frame.wire_bytes as usize > frame.bytes.len() {
        port.refuse(Refusal::TooLong, refused_bytes);
    } else {
        port.arrive(frame.bytes, frame.vlan, now);
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::{DropTail, DropTailConfig, Fifo, Rate};
    use forebay_replay::rng;

    use super::*;
    use crate::command;
    use crate::pool::Pool;
    use crate::port::PortParts;

    /// Frames that are there at once; sent frames are gone.
    struct Wire {
        fd: UnixStream,
        frames: usize,
    }

    impl Receive for Wire {
        fn receive(&mut self, most: usize, take: &mut dyn FnMut(ReceivedFrame<'_>)) -> io::Result<usize> {
            let count = most.min(self.frames);
            self.frames -= count;
            let frame = ReceivedFrame { bytes: &[0; 101], vlan: None, wire_bytes: 101, checksum_unfinished: false };
            (0..count).for_each(|_| take(frame));
            Ok(count)
        }

        fn fd(&self) -> BorrowedFd<'_> {
            self.fd.as_fd()
        }

        fn dropped_by_kernel(&mut self) -> u64 {
            0
        }
    }

    impl Transmit for Wire {
        fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
            Ok(frames.len())
        }

        fn fd(&self) -> BorrowedFd<'_> {
            self.fd.as_fd()
        }
    }

    #[test]
    fn what_a_direction_does_not_send_in_the_end_is_counted() {
        let (one, other) = UnixStream::pair().unwrap();
        let (commands, asked) = command::commands().unwrap();
        // Five minutes a frame.
        let rate = Rate::new(3).unwrap();
        let queue = Box::new(Fifo::new(Box::new(DropTail::new(&DropTailConfig::default(), rate, 0).unwrap())));
        let pool = Pool::new(64, 1518);
        let forwarder = Forwarder {
            direction: "outbound",
            from: "lan0".into(),
            to: "wan0".into(),
            receive: Box::new(Wire { fd: one, frames: 7 }),
            transmit: Box::new(Wire { fd: other, frames: 0 }),
            port: Port::new(PortParts { rate, overhead_bytes: 24, burst: Span::ZERO, queue, rng: rng(1), pool }),
            queue: RunningQueue { discipline: "drop_tail".into(), parameters: serde_json::Value::Null },
            shadow: None,
            commands: asked,
            wait: Wait::default(),
            alive: Arc::default(),
        };
        let thread = std::thread::spawn(|| forwarder.run());
        assert!(matches!(commands.ask(Command::Drain), Ok(Answer::LetGo(_))));
        assert_eq!(thread.join().unwrap().unwrap(), Count { packets: 7, bytes: 7 * 125 });
    }
}
