//! RCCC: the receiver's congestion control of Ultra Ethernet, by credit.
//!
//! # What it does
//! A sender spends a first credit of 1.5 bandwidth-delay products at once. Then it sends only what its receiver grants.
//! Each data packet carries the amount that the sender could use. A receiver has one pacer for all its flows, which
//! grants four packets to each in turn, at slightly less than the rate of its link.
//!
//! # When to use it
//! Use it where congestion is at receivers (incast), alone or with NSCC. Fabrics whose uplinks are slower than their
//! hosts need [`OversubscribedControl`] or NSCC too.
//!
//! # Example
//! ```toml
//! transport.uec = { control = "rccc" }
//! ```
//!
//! # Source
//! Ultra Ethernet Specification 1.0, in the form of the Consortium's simulator (uec.cpp, oversubscribed_cc.cpp). It
//! comes from EQDS (Olteanu et al., NSDI 2022).
//!
//! # Where we differ
//! A flow is at most once in the list of flows without demand; the source can enter it repeatedly. The control of an
//! oversubscribed fabric adapts every 1.5 round trips from the first packet on; the source draws each interval within a
//! quarter of that.
//!
//! # Parameters
//! None. All follow from the network.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use forebay_units::{Rate, Span, Time};

/// Credit is counted in quanta of 2^8 bytes.
pub const QUANTUM_BITS: u32 = 8;
/// Packets in a grant.
const PACKETS_IN_GRANT: u32 = 4;
/// The pacer's rate, as a share of its link's.
const PULL_SHARE: f64 = 0.99;
/// Quanta whose time passes after a grant of nothing.
const EMPTY_GRANT_QUANTA: i64 = 1_024 >> QUANTUM_BITS;

/// `bytes` in quanta, rounded up.
pub(crate) const fn quanta(bytes: i64) -> i64 {
    (bytes + (1 << QUANTUM_BITS) - 1) >> QUANTUM_BITS
}

/// A flow at its pacer.
#[derive(Clone, Copy, Debug, Default)]
struct Granted {
    /// Quanta that the sender could use, and that it got; since the start.
    target: i64,
    granted: i64,
    max_idle: i64,
    is_active: bool,
    is_idle: bool,
    is_used: bool,
}

/// A grant, for the caller to send to the flow's sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The flow's number at the pacer.
    pub flow: u32,
    /// Quanta granted since the start of the flow.
    pub granted: i64,
    /// No demand asked for it.
    pub is_slow: bool,
}

/// The pacer of a receiving host.
#[derive(Debug)]
pub struct PullPacer {
    flows: Vec<Granted>,
    free: Vec<u32>,
    active: VecDeque<u32>,
    idle: VecDeque<u32>,
    /// The time of the next grant, while the pacer runs.
    next: Time,
    quanta_in_grant: i64,
    quantum_ps: f64,
    /// The share of the rate that oversubscribed paths leave.
    share: f64,
}

impl PullPacer {
    /// The pacer of a host with a link of this rate, for packets of `payload_bytes`.
    #[must_use]
    pub fn new(line_rate: Rate, payload_bytes: u32) -> Self {
        let quantum_bits = 8.0 * f64::from(1_u32 << QUANTUM_BITS);
        Self {
            flows: Vec::new(),
            free: Vec::new(),
            active: VecDeque::new(),
            idle: VecDeque::new(),
            next: Time::NEVER,
            quanta_in_grant: i64::from(payload_bytes * PACKETS_IN_GRANT) >> QUANTUM_BITS,
            quantum_ps: quantum_bits * 1e12 / line_rate.bits_per_second() as f64 / PULL_SHARE,
            share: 1.0,
        }
    }

    /// Adds a flow, with a bound of the credit that it gets without demand, and returns its number.
    pub fn add(&mut self, max_idle_bytes: u64) -> u32 {
        let max_idle = i64::try_from(max_idle_bytes >> QUANTUM_BITS).unwrap_or(i64::MAX);
        let granted = Granted { max_idle, is_used: true, ..Granted::default() };
        if let Some(flow) = self.free.pop() {
            self.flows[flow as usize] = granted;
            return flow;
        }
        self.flows.push(granted);
        self.flows.len() as u32 - 1
    }

    /// Removes a flow that has ended.
    pub fn remove(&mut self, flow: u32) {
        let granted = &mut self.flows[flow as usize];
        if !core::mem::take(&mut granted.is_used) {
            return;
        }
        if core::mem::take(&mut granted.is_active) {
            self.active.retain(|&other| other != flow);
        }
        if core::mem::take(&mut granted.is_idle) {
            self.idle.retain(|&other| other != flow);
        }
        self.free.push(flow);
    }

    /// The pull target of a packet has arrived.
    pub fn on_target(&mut self, flow: u32, target: i64, now: Time) {
        let granted = &mut self.flows[flow as usize];
        if target > granted.target {
            granted.target = target;
            self.request(flow, now);
        }
    }

    /// A trimmed packet or a request to send has arrived: the sender needs credit for its retransmission.
    pub fn on_need(&mut self, flow: u32, now: Time) {
        self.request(flow, now);
    }

    fn request(&mut self, flow: u32, now: Time) {
        let granted = &mut self.flows[flow as usize];
        if granted.is_used && !core::mem::replace(&mut granted.is_active, true) {
            self.active.push_back(flow);
            if self.next == Time::NEVER {
                self.next = now;
            }
        }
    }

    /// The time of the next grant.
    #[must_use]
    pub fn timer(&self) -> Time {
        self.next
    }

    /// The grant that is due at [`PullPacer::timer`]; `None` without a flow to grant to.
    pub fn on_timer(&mut self, now: Time) -> Option<Pull> {
        let (pull, quanta) = if let Some(flow) = self.active.pop_front() {
            self.grant(flow)
        } else if let Some(flow) = self.idle.pop_front() {
            self.grant_without_demand(flow)
        } else {
            self.next = Time::NEVER;
            return None;
        };
        let quanta = if quanta == 0 { EMPTY_GRANT_QUANTA } else { quanta };
        let wait = self.quantum_ps / self.share * quanta as f64;
        self.next = now.saturating_add(Span::from_picoseconds(wait as u64).max(Span::from_picoseconds(1)));
        Some(pull)
    }

    fn grant(&mut self, flow: u32) -> (Pull, i64) {
        let granted = &mut self.flows[flow as usize];
        let before = granted.granted;
        granted.granted = (before + self.quanta_in_grant).min(granted.target.max(before));
        if granted.target > granted.granted {
            self.active.push_back(flow);
        } else {
            granted.is_active = false;
            if !core::mem::replace(&mut granted.is_idle, true) {
                self.idle.push_back(flow);
            }
        }
        (Pull { flow, granted: granted.granted, is_slow: false }, granted.granted - before)
    }

    fn grant_without_demand(&mut self, flow: u32) -> (Pull, i64) {
        let granted = &mut self.flows[flow as usize];
        granted.granted += self.quanta_in_grant;
        if granted.granted - granted.target < granted.max_idle && granted.granted >= granted.target {
            self.idle.push_back(flow);
        } else {
            granted.is_idle = false;
        }
        (Pull { flow, granted: granted.granted, is_slow: true }, self.quanta_in_grant)
    }

    /// Sets the share of the rate that oversubscribed paths leave, from 0.01 to 1.
    pub fn set_share(&mut self, share: f64) {
        self.share = share.clamp(0.01, 1.0);
    }
}

/// The credit of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    bytes: i64,
    max: i64,
    granted: i64,
    is_speculating: bool,
}

impl Credit {
    /// A flow starts with a credit of `max_bytes`, its largest.
    pub fn new(max_bytes: i64) -> Self {
        Self { bytes: max_bytes, max: max_bytes, granted: 0, is_speculating: true }
    }

    pub fn is_left(&self) -> bool {
        self.bytes > 0
    }

    pub fn spend(&mut self, bytes: u32) {
        self.bytes -= i64::from(bytes);
    }

    /// The receiver has answered: the rest of the first credit is void.
    pub fn stop_speculating(&mut self) {
        if core::mem::take(&mut self.is_speculating) {
            self.bytes = self.bytes.min(0);
        }
    }

    pub fn on_pull(&mut self, granted: i64) {
        if granted > self.granted {
            self.bytes = (self.bytes + ((granted - self.granted) << QUANTUM_BITS)).min(self.max);
            self.granted = granted;
        }
    }

    /// The pull target of a packet: quanta that the flow could use, since its start. `wanted` are the bytes to send and
    /// to repeat, `window` the bound of a controlling sender, `active_flows` those of the adapter.
    pub fn target(
        &self,
        wanted: i64,
        window: Option<i64>,
        mtu_bytes: i64,
        has_backlog: bool,
        active_flows: u32,
    ) -> i64 {
        let bound = window.map_or(self.max, |window| (window + mtu_bytes).min(self.max));
        let mut bytes = wanted.min(bound) - self.bytes;
        if self.is_speculating && bytes < mtu_bytes && has_backlog {
            bytes = mtu_bytes;
        }
        quanta(bytes / i64::from(active_flows.max(1)) + (self.granted << QUANTUM_BITS))
    }
}

/// The share of its rate that a pacer uses where the fabric is slower than its hosts.
#[derive(Clone, Copy, Debug)]
pub struct OversubscribedControl {
    share: f64,
    /// The least share, and its increase in an interval.
    least: f64,
    increase: f64,
    /// The average share of marked packets.
    marked_share: f64,
    quiet_intervals: u32,
    packets: u32,
    marked: u32,
    trimmed_elsewhere: u32,
    trimmed: u32,
}

impl OversubscribedControl {
    const GAIN: f64 = 0.5;
    const TARGET: f64 = 0.3;
    const DECREASE: f64 = 0.5;

    /// For a fabric that is `ratio` times slower than its hosts.
    #[must_use]
    pub fn new(ratio: u32) -> Self {
        let ratio = f64::from(ratio.max(1));
        Self {
            share: 1.0,
            least: (0.8 / ratio).max(0.01),
            increase: 0.1 / ratio,
            marked_share: 0.0,
            quiet_intervals: 0,
            packets: 0,
            marked: 0,
            trimmed_elsewhere: 0,
            trimmed: 0,
        }
    }

    /// The time between two adaptations.
    #[must_use]
    pub fn interval(round_trip: Span) -> Span {
        round_trip * 3 / 2
    }

    /// Whether the whole rate is used and nothing has arrived in this interval.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.share >= 1.0 && self.packets == 0
    }

    /// A data packet has arrived, whole or trimmed.
    pub fn on_packet(&mut self, is_marked: bool) {
        self.packets += 1;
        self.marked += u32::from(is_marked);
    }

    /// The last packet was trimmed, at its last hop or elsewhere.
    pub fn on_trimmed(&mut self, is_last_hop: bool) {
        self.trimmed += 1;
        self.trimmed_elsewhere += u32::from(!is_last_hop);
    }

    /// The end of an interval. Returns the share for [`PullPacer::set_share`].
    pub fn on_interval(&mut self) -> f64 {
        let whole = self.packets.saturating_sub(self.trimmed);
        let marked_share = if whole > 0 { f64::from(self.marked) / f64::from(whole) } else { 0.0 };
        self.marked_share = (1.0 - Self::GAIN) * self.marked_share + Self::GAIN * marked_share;
        let is_trimmed = self.trimmed_elsewhere > 0;
        if is_trimmed {
            self.share -= f64::from(self.trimmed_elsewhere) / f64::from(self.packets.max(1));
        }
        let is_marked = self.marked_share > Self::TARGET;
        if is_marked {
            self.share *= 1.0 - Self::DECREASE * (self.marked_share - Self::TARGET);
        }
        if is_trimmed || is_marked {
            self.quiet_intervals = 0;
        } else {
            // After so many doublings the step is more than the whole rate.
            let doublings = if self.marked == 0 { self.quiet_intervals.min(20) } else { 0 };
            self.share += self.increase * f64::from(1_u32 << doublings);
            self.quiet_intervals += 1;
        }
        self.share = self.share.clamp(self.least, 1.0);
        (self.packets, self.marked, self.trimmed, self.trimmed_elsewhere) = (0, 0, 0, 0);
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pacer() -> PullPacer {
        PullPacer::new(Rate::megabits(100_000), 4_086)
    }

    fn pulls(pacer: &mut PullPacer, count: usize) -> Vec<(u32, i64, bool)> {
        (0..count)
            .map_while(|_| pacer.on_timer(pacer.timer()))
            .map(|pull| (pull.flow, pull.granted, pull.is_slow))
            .collect()
    }

    #[test]
    fn flows_get_four_packets_in_turn_at_99_percent() {
        let mut pacer = pacer();
        let flows = [pacer.add(10_000), pacer.add(10_000)];
        pacer.on_target(flows[0], 130, Time::ZERO);
        pacer.on_target(flows[1], 100, Time::ZERO);
        assert_eq!(pulls(&mut pacer, 3), [(0, 63, false), (1, 63, false), (0, 126, false)]);
        // 63 quanta of 256 bytes at 99 Gb/s, three times.
        let expected = 3.0 * 63.0 * 2_048.0 / 99e9;
        assert!((pacer.timer().seconds() - expected).abs() < 1e-11);
        // The rest of the demand; then credit without demand up to 39 quanta and in turn.
        assert_eq!(pulls(&mut pacer, 3), [(1, 100, false), (0, 130, false), (1, 163, true)]);
        assert_eq!(pulls(&mut pacer, 9), [(0, 193, true)]);
        assert_eq!(pacer.timer(), Time::NEVER);
        // A higher target below the credit: an empty grant, after the time of four quanta.
        pacer.on_target(flows[0], 150, Time::ZERO);
        assert_eq!(pulls(&mut pacer, 1), [(0, 193, false)]);
        assert_eq!(pacer.timer().picoseconds(), (4.0 * 2_048.0 / 99e9 * 1e12) as u64);
    }

    #[test]
    fn a_removed_flow_gets_nothing_and_its_number_returns() {
        let mut pacer = pacer();
        let flow = pacer.add(10_000);
        pacer.on_target(flow, 1_000, Time::ZERO);
        pacer.remove(flow);
        pacer.remove(flow);
        assert_eq!(pulls(&mut pacer, 1), []);
        assert_eq!((pacer.add(0), pacer.add(0)), (flow, flow + 1));
        pacer.on_need(flow, Time::ZERO);
        assert_eq!(pulls(&mut pacer, 1), [(flow, 0, false)]);
    }

    #[test]
    fn a_smaller_share_makes_grants_rarer() {
        let mut pacer = pacer();
        let flow = pacer.add(0);
        pacer.on_target(flow, 1_000, Time::ZERO);
        pacer.set_share(0.25);
        pulls(&mut pacer, 1);
        assert!((pacer.timer().seconds() - 4.0 * 63.0 * 2_048.0 / 99e9).abs() < 1e-11);
    }

    #[test]
    fn credit_starts_full_and_becomes_void_with_the_first_answer() {
        let mut credit = Credit::new(262_926);
        // 100 000 bytes are covered, and a packet is asked for nevertheless.
        assert_eq!(credit.target(100_000, None, 4_150, true, 1), quanta(4_150));
        credit.spend(4_150);
        assert_eq!(credit.target(1_000_000, None, 4_150, true, 1), quanta(4_150));
        assert_eq!(credit.target(100_000, None, 4_150, false, 1), quanta(100_000 - 258_776));
        credit.stop_speculating();
        assert_eq!((credit.bytes, credit.is_left()), (0, false));
        // Bounded by 1.5 bandwidth-delay products or the window, and divided among flows.
        assert_eq!(credit.target(1_000_000, None, 4_150, true, 1), quanta(262_926));
        assert_eq!(credit.target(1_000_000, Some(50_000), 4_150, true, 1), quanta(54_150));
        assert_eq!(credit.target(1_000_000, None, 4_150, true, 4), quanta(262_926 / 4));
        credit.on_pull(63);
        credit.on_pull(60);
        assert_eq!(credit.bytes, 63 * 256);
        assert_eq!(credit.target(10_000, None, 4_150, true, 1), 63 + quanta(10_000 - 63 * 256));
        credit.on_pull(1 << 20);
        assert_eq!(credit.bytes, 262_926);
    }

    #[test]
    fn trims_and_marks_lower_the_share_and_quiet_round_trips_raise_it() {
        let mut control = OversubscribedControl::new(10);
        for packet in 0..100 {
            control.on_packet(false);
            if packet < 30 {
                control.on_trimmed(packet < 10);
            }
        }
        assert!((control.on_interval() - 0.8).abs() < 1e-12);
        assert!((control.on_interval() - 0.81).abs() < 1e-12);
        assert!((control.on_interval() - 0.83).abs() < 1e-12);
        for _ in 0..10 {
            control.on_packet(true);
        }
        // The average is one half: 1 - 0.5 (0.5 - 0.3).
        assert!((control.on_interval() - 0.83 * 0.9).abs() < 1e-12);
        let mut share = 0.0;
        for _ in 0..12 {
            share = control.on_interval();
        }
        assert!((share - 1.0).abs() < 1e-12);
    }
}
