//! The event driver: decides in which order the processes run.
//!
//! Lanes are FIFO queues of packets on their way from one process to the next. Only the head of a lane has an entry in
//! the event queue. Processes come in three kinds:
//!
//! - a process that several others feed gets its packets through the event queue, in the order of (time, lane);
//! - a process that puts what arrives aside until a timer of its own (a switch fabric) gets packets from any number of
//!   feeders at once, while they are sent, each feeder's in order;
//! - a process with one feeder gets them in the order in which the feeder sends them, so it runs at once, inside the
//!   feeder's event ("fusion"), ahead of the global clock. It runs its own timers that are due before each packet.
//!
//! An Ethernet has a driver of its own, `rounds.rs`.
//!
//! The results are those of running everything in the order of (time, timers before lanes, id), whichever processes are
//! fused.

use forebay_qdisc::Time;

use crate::driver::event_queue::{BUCKETS_AHEAD, Event, EventQueue};
use crate::driver::prefetch::prefetch;
use crate::driver::process::{Outbox, Process};
use crate::driver::ring::Ring;
use crate::driver::ways::Path;
use crate::error::RunError;
use crate::link::Wire;
use crate::observe::report::Report;
use crate::observe::window::Window;
use crate::packet::Packet;

/// How much work passes between two calls of the run's control function, in packets or turns of nodes: some
/// milliseconds.
const WORK_PER_CHECK: u64 = 1 << 14;

/// With this many lanes, a few kilobytes each, their packets are not in the processor's caches when their turn comes.
/// With fewer they are, and looking ahead costs more than it spares: 3 % at 400 flows.
const LANES_BEYOND_THE_CACHE: usize = 4096;

/// How many fused processes in a row are looked at ahead, at most: a ring of them and a fabric has no end.
const FUSED_TO_FOLLOW: u32 = 8;

/// The bit of a path's entry that says that the process runs inside its feeder.
const FUSED: u32 = 1 << 31;

/// Instead of a process: the packet waits on a lane, or stays there.
const PARKED: u32 = u32::MAX;

/// The processes along the path of each (flow, direction): links, then the endpoint, in rows of equal length.
pub(crate) struct Routes {
    stride: usize,
    processes: Vec<u32>,
    sources: Vec<u32>,
    lengths: Vec<u32>,
}

impl Routes {
    /// From the forward and the backward path of each flow, alternately.
    pub fn new(paths: impl Iterator<Item = Path>) -> Self {
        let paths: Vec<Path> = paths.collect();
        let stride = paths.iter().map(|path| path.processes.len() + 1).max().unwrap_or(1);
        let mut routes = Self { stride, processes: Vec::new(), sources: Vec::new(), lengths: Vec::new() };
        for path in paths {
            let end = routes.processes.len() + stride;
            routes.sources.push(path.source);
            routes.lengths.push(path.processes.len() as u32 + 1);
            routes.processes.extend(path.processes);
            routes.processes.push(path.destination);
            routes.processes.resize(end, u32::MAX);
        }
        routes
    }

    /// The process that `packet` reaches next, with [`FUSED`] set if it runs inside its feeder.
    #[inline]
    fn next(&self, packet: &Packet) -> u32 {
        self.processes[packet.direction_index() * self.stride + packet.hop()]
    }

    /// Asks for the row of a flow and direction.
    #[inline]
    fn prefetch_row(&self, direction: usize) {
        prefetch(&self.processes[direction * self.stride]);
    }

    /// Asks for both rows of a flow.
    #[inline]
    fn prefetch(&self, direction: usize) {
        let row = (direction & !1) * self.stride;
        prefetch(&self.processes[row]);
        prefetch(&self.processes[row + 2 * self.stride - 1]);
    }

    /// Shows the fused processes that `packet`, sent by `from`, and the answer to it are going to meet, each with the
    /// direction; returns the process whose lane is next.
    #[inline(always)]
    fn follow(&self, mut from: u32, packet: &Packet, mut visit: impl FnMut(u32, u32)) -> u32 {
        let (mut direction, mut hop) = (packet.direction_index(), packet.hop());
        for _ in 0..FUSED_TO_FOLLOW {
            let next = self.processes[direction * self.stride + hop];
            if next & FUSED == 0 {
                break;
            }
            from = next & !FUSED;
            visit(from, direction as u32);
            hop += 1;
            if hop as u32 == self.lengths[direction] {
                (direction, hop) = (direction ^ 1, 0);
            }
        }
        from
    }

    /// Notes in the paths which processes run inside their feeder: those with one feeder, but for `in_global_order`;
    /// and those that take packets early from any number of feeders, and send nothing when they do.
    pub fn fuse(&mut self, process_count: usize, in_global_order: &[u32], early: &[u32]) {
        let mut fused = self.fused(process_count, in_global_order);
        for &process in early {
            fused[process as usize] = true;
        }
        for (row, &length) in self.processes.chunks_mut(self.stride).zip(&self.lengths) {
            for process in &mut row[..length as usize] {
                *process |= if fused[*process as usize] { FUSED } else { 0 };
            }
        }
    }

    /// Which processes have one feeder only, and may so run inside it.
    fn fused(&self, process_count: usize, in_global_order: &[u32]) -> Vec<bool> {
        const NONE: u32 = u32::MAX;
        const SEVERAL: u32 = u32::MAX - 1;
        let mut feeder = vec![NONE; process_count];
        for ((row, &length), &source) in self.processes.chunks(self.stride).zip(&self.lengths).zip(&self.sources) {
            let mut previous = source;
            for &process in &row[..length as usize] {
                let known = &mut feeder[process as usize];
                if *known == NONE || *known == previous {
                    *known = previous;
                } else {
                    *known = SEVERAL;
                }
                previous = process;
            }
        }
        // A ring of fused processes (a single flow: data, ACK, data, …) would never come back to the event queue.
        // Follow the feeders of each process; `seen` holds who came by last, so that the whole search is linear.
        let mut fused: Vec<bool> = feeder.iter().map(|&from| from < SEVERAL).collect();
        for &process in in_global_order {
            fused[process as usize] = false;
        }
        let mut seen = vec![NONE; process_count];
        for first in 0..process_count {
            let mut process = first;
            while fused[process] && seen[process] == NONE {
                seen[process] = first as u32;
                process = feeder[process] as usize;
            }
            if fused[process] && seen[process] == first as u32 {
                fused[process] = false;
            }
        }
        fused
    }
}

/// How far a run has come.
pub(crate) struct Progress<'a> {
    /// Called from time to time with the part of the run that is done; answers whether to continue.
    control: &'a mut dyn FnMut(f64) -> bool,
    end: Time,
    /// Entries taken from the event queue, or halves of rounds.
    pub events: u64,
    /// Work until the next call of `control`.
    until_check: u64,
}

impl<'a> Progress<'a> {
    pub fn new(control: &'a mut dyn FnMut(f64) -> bool, end: Time) -> Self {
        Self { control, end, events: 0, until_check: WORK_PER_CHECK }
    }

    /// Counts work, and asks from time to time whether to continue. An event is no measure of it: with few flows it may
    /// bring thousands of packets.
    ///
    /// # Errors
    /// If the answer is no.
    #[inline]
    pub fn count_work(&mut self, now: Time, work: u64) -> Result<(), RunError> {
        if let Some(left) = self.until_check.checked_sub(work) {
            self.until_check = left;
            return Ok(());
        }
        self.check(now)
    }

    #[cold]
    #[inline(never)]
    fn check(&mut self, now: Time) -> Result<(), RunError> {
        self.until_check = WORK_PER_CHECK;
        if (self.control)(now.seconds() / self.end.seconds()) { Ok(()) } else { Err(RunError::Stopped) }
    }
}

/// What a process has sent to processes that are not fused. Aligned, so that none lies in two lines of the processor's
/// cache.
#[derive(Default)]
#[repr(align(32))]
struct Lane {
    packets: Ring<Packet>,
}

/// Processes and lanes, ready to run.
pub(crate) struct EventDriver {
    /// Processes 0 and up: links whose sending end has no books.
    wires: Vec<Wire>,
    /// The processes after them: ports with books, then endpoints.
    processes: Vec<Box<dyn Process>>,
    /// What each process has sent to processes that are not fused.
    lanes: Vec<Lane>,
    routes: Routes,
    queue: EventQueue,
    out: Outbox,
    window: Window,
    /// Packets that are still on their way when the run ends, by (flow, direction).
    in_flight: Vec<u64>,
    /// The lane that is being run, which asks for its next turn itself; else [`PARKED`].
    running_lane: u32,
    /// Whether it pays to ask for memory ahead ([`LANES_BEYOND_THE_CACHE`]).
    looks_ahead: bool,
    /// The processes, past the wires, that the packets in the outbox are going to meet, each with the direction.
    ahead: Vec<(u32, u32)>,
    /// The lanes where they are going.
    lanes_ahead: Vec<u32>,
}

impl EventDriver {
    pub fn new(wires: Vec<Wire>, processes: Vec<Box<dyn Process>>, routes: Routes, window: Window) -> Self {
        let count = wires.len() + processes.len();
        Self {
            lanes: (0..count).map(|_| Lane::default()).collect(),
            in_flight: vec![0; routes.sources.len()],
            wires,
            processes,
            routes,
            queue: EventQueue::default(),
            out: Outbox::new(window),
            window,
            running_lane: PARKED,
            looks_ahead: false,
            ahead: Vec::new(),
            lanes_ahead: Vec::new(),
        }
    }

    /// Runs every process through the event queue, as if none could be fused: the same results, slower. For tests.
    pub fn without_fusion(&mut self) {
        for process in &mut self.routes.processes {
            *process &= !FUSED;
        }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If the run is stopped.
    pub fn run(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        self.looks_ahead = self.lanes.len() >= LANES_BEYOND_THE_CACHE;
        if self.looks_ahead {
            self.queue.look_ahead();
        }
        self.start(progress)?;
        while let Some(event) = self.queue.peek() {
            if event.time > self.window.to {
                break;
            }
            progress.events += 1;
            let packets = self.step(event);
            progress.count_work(event.time, packets)?;
        }
        Ok(())
    }

    /// Starts every process: with a million flows that takes a while too.
    #[inline(never)]
    fn start(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        for (process, id) in self.processes.iter_mut().zip(self.wires.len() as u32..) {
            progress.count_work(Time::ZERO, 1)?;
            self.out.running = id;
            process.start(&mut self.out);
        }
        self.deliver_sent();
        while let Some((process, at)) = self.out.wake_ups.pop() {
            progress.count_work(Time::ZERO, 1)?;
            self.queue.push(Event { time: at, id: process });
        }
        Ok(())
    }

    /// Runs the process that `event` is for, and whatever follows from it in fused processes. Gives how many packets of
    /// a lane it delivered, at least 1.
    #[inline]
    fn step(&mut self, event: Event) -> u64 {
        let count = self.lanes.len() as u32;
        if event.id < count {
            self.queue.pop();
            self.out.running = event.id;
            self.processes[event.id as usize - self.wires.len()].expire(event.time, &mut self.out);
            if self.looks_ahead && self.out.packets.len() > 1 {
                self.prefetch_what_follows();
            }
            self.drain();
            return 1;
        }
        self.queue.pop();
        if self.looks_ahead {
            self.prefetch_what_comes_soon(count);
        }
        self.run_lane(event.id - count, event.id)
    }

    /// Asks for the lanes whose turn comes next, which with thousands of flows lie in far memory: step by step, as
    /// their turn comes nearer, for the lane, its first packets, and the path of the first.
    #[inline(never)]
    fn prefetch_what_comes_soon(&mut self, count: u32) {
        let Self { lanes, routes, .. } = self;
        self.queue.take_soon(|ahead, id| {
            let Some(lane) = id.checked_sub(count) else { return };
            let lane = &lanes[lane as usize].packets;
            match ahead {
                BUCKETS_AHEAD => prefetch(lane),
                0 => {
                    if let Some(packet) = lane.front() {
                        routes.prefetch_row(packet.direction_index());
                    }
                }
                _ => lane.prefetch_front(),
            }
        });
    }

    /// Asks for the memory that the packets in the outbox are going to meet in this event: that of the fused processes
    /// on their way, and on the way of the answers. A switch fabric sends several at once, each to another flow: step
    /// by step for all of them together, the processor waits once for each step and not for each packet. An 8 x 8
    /// switch with 3920 flows ran a fifth faster for it. (Asking some phases ahead was slower: what comes early is gone
    /// again.)
    #[inline(never)]
    fn prefetch_what_follows(&mut self) {
        for (_, packet) in &self.out.packets {
            self.routes.prefetch(packet.direction_index());
        }
        let first = self.wires.len();
        for (from, packet) in &self.out.packets {
            let lane = self.routes.follow(*from, packet, |process, direction| {
                if let Some(wire) = self.wires.get(process as usize) {
                    prefetch(wire);
                } else {
                    prefetch(&self.processes[process as usize - first]);
                    self.ahead.push((process - first as u32, direction));
                }
            });
            prefetch(&self.lanes[lane as usize]);
            self.lanes_ahead.push(lane);
        }
        for &(process, direction) in &self.ahead {
            self.processes[process as usize].prefetch(direction as usize);
        }
        for lane in self.lanes_ahead.drain(..) {
            self.lanes[lane as usize].packets.prefetch_back();
        }
        for (process, _) in self.ahead.drain(..) {
            self.processes[process as usize].prefetch_further();
        }
    }

    /// Delivers the first packet of a lane whose turn it is, and those behind it for as long as nothing else comes
    /// earlier, but no more than [`WORK_PER_CHECK`]: a lone flow could continue to the end of the run. Returns how
    /// many.
    fn run_lane(&mut self, from: u32, id: u32) -> u64 {
        let mut delivered = 0;
        self.running_lane = from;
        let mut packet = self.lanes[from as usize].packets.pop();
        while let Some(arrived) = packet {
            let process = self.routes.next(&arrived);
            self.deliver(arrived, process & !FUSED);
            self.drain();
            delivered += 1;
            let lane = &mut self.lanes[from as usize].packets;
            let Some(next) = lane.front() else { break };
            let event = Event { time: next.time, id };
            if delivered == WORK_PER_CHECK || self.queue.has_earlier(event) {
                self.queue.push(event);
                break;
            }
            packet = lane.pop();
        }
        self.running_lane = PARKED;
        delivered
    }

    /// Empties the outbox: into fused processes, which may send again, or onto lanes.
    #[inline(always)]
    fn drain(&mut self) {
        self.deliver_sent();
        while let Some((process, at)) = self.out.wake_ups.pop() {
            self.queue.push(Event { time: at, id: process });
        }
    }

    /// Hands on what is in the outbox.
    #[inline(always)]
    fn deliver_sent(&mut self) {
        let mut sent = 0;
        while let Some(&(from, packet)) = self.out.packets.get(sent) {
            sent += 1;
            let process = self.send_on(from, packet);
            if process != PARKED {
                self.deliver(packet, process);
            }
        }
        self.out.packets.clear();
    }

    /// Hands `packet` to the process that it has reached, and follows it for as long as nothing but wires lies ahead of
    /// it: one in, one out, without touching the outbox. The packet stays in registers on the way.
    #[inline(always)]
    fn deliver(&mut self, mut packet: Packet, mut process: u32) {
        loop {
            packet.advance();
            let Some(wire) = self.wires.get_mut(process as usize) else {
                self.out.running = process;
                let arrived = packet;
                return self.processes[process as usize - self.wires.len()].receive(&arrived, &mut self.out);
            };
            let Some(passed) = wire.pass(packet, &self.out.window, &self.out.sacks) else {
                return self.out.release(&{ packet });
            };
            packet = passed;
            process = self.send_on(process, packet);
            if process == PARKED {
                return;
            }
        }
    }

    /// Sends `packet`, which `from` has sent, on its way: returns the fused process that takes it at once; else puts it
    /// onto the lane and returns [`PARKED`].
    #[inline(always)]
    fn send_on(&mut self, from: u32, packet: Packet) -> u32 {
        if packet.time > self.window.to {
            self.count_in_flight(packet);
            return PARKED;
        }
        let next = self.routes.next(&packet);
        if next & FUSED != 0 {
            return next & !FUSED;
        }
        let count = self.lanes.len() as u32;
        let lane = &mut self.lanes[from as usize].packets;
        debug_assert!(lane.back().is_none_or(|last| last.time <= packet.time), "a lane is FIFO");
        if lane.front().is_none() && self.running_lane != from {
            self.queue.push(Event { time: packet.time, id: count + from });
        }
        lane.push(packet);
        PARKED
    }

    #[cold]
    fn count_in_flight(&mut self, packet: Packet) {
        self.in_flight[packet.direction_index()] += 1;
        self.out.release(&packet);
    }

    /// Hands in all books.
    pub fn finish(self, report: &mut Report) {
        let Self { in_flight, wires, processes, window, .. } = self;
        for (direction, packets) in in_flight.into_iter().enumerate() {
            report.in_flight(direction, packets);
        }
        // Each goes when it has handed in its books: of a million flows not all need be there twice.
        for mut wire in wires {
            report.link(wire.finish(&window));
        }
        for mut process in processes {
            process.finish(window.to, report);
        }
    }
}
