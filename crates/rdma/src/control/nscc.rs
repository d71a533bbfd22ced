//! NSCC: the sender's congestion control of Ultra Ethernet.
//!
//! # What it does
//! Each ACK has two signs: a mark, and the delay of its packet. Without a mark the window grows, fast if the delay is
//! below a target. With a mark and a long delay it shrinks in proportion to the excess of an average delay. With a mark
//! and a short delay only the path changes. After trims or very long delays, quick adaptation sets the window to the
//! bytes that arrived in the last round trip.
//!
//! # When to use it
//! Use it with trimming switches that mark from about a fifth of the bandwidth-delay product on, and with several
//! paths.
//!
//! # Example
//! ```toml
//! transport.uec = { control = "nscc" }
//! ```
//!
//! # Source
//! Ultra Ethernet Specification 1.0, section 3.6.13, in the form of the Consortium's simulator (uec.cpp): names, order
//! and integer arithmetic of the window are those of the simulator.
//!
//! # Where we differ
//! The average delay has a fraction.
//!
//! # Parameters
//! None. All follow from the network: [`NsccLaw::new`].

use forebay_units::{Rate, Span, Time};

/// Gain of a decrease and its largest share.
const GAMMA: f64 = 0.8;
const LEAST_FACTOR: f64 = 0.5;
/// Weight of a sample in the average delay.
const DELAY_GAIN: f64 = 0.0125;
/// Delay below which the increase may become fast.
const FAST_DELAY_PS: u64 = 1_000_000;
/// The network that the constants are made for: 100 Gb/s times 12 us.
const REFERENCE_BYTES: f64 = 150_000.0;
const REFERENCE_ROUND_TRIP_PS: f64 = 12e6;

/// The constants of NSCC in a network, shared by its flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NsccLaw {
    mtu_bytes: i64,
    line_rate: Rate,
    /// The longest round trip of the network, used as the delay of a trimmed packet.
    network_round_trip_ps: u64,
    /// The target delay.
    target_ps: u64,
    /// The increases: fair, proportional, at each round trip, fast.
    fair: f64,
    proportional: f64,
    eta: f64,
    fast: f64,
    /// The receiver controls too.
    has_receiver_control: bool,
}

impl NsccLaw {
    /// The constants for a network of this rate and round trip, for packets of `payload_bytes` and `mtu_bytes` on the
    /// wire.
    #[must_use]
    pub fn new(line_rate: Rate, round_trip: Span, payload_bytes: u32, mtu_bytes: u32, has_trimming: bool) -> Self {
        let round_trip_ps = round_trip.picoseconds().max(1);
        let target_ps = if has_trimming { (round_trip_ps as f64 * 0.75) as u64 } else { round_trip_ps }.max(1);
        let mss = f64::from(payload_bytes);
        let bdp = (line_rate.bytes_per_second() * round_trip.seconds()).max(1.0);
        let (a, b) = (bdp / REFERENCE_BYTES, target_ps as f64 / REFERENCE_ROUND_TRIP_PS);
        Self {
            mtu_bytes: i64::from(mtu_bytes),
            line_rate,
            network_round_trip_ps: round_trip_ps,
            target_ps,
            fair: 5.0 * mss * a,
            proportional: 4.0 * mss * a * b / target_ps as f64,
            eta: 0.15 * mss * a,
            fast: 0.25 * a,
            has_receiver_control: false,
        }
    }

    /// The constants if the receiver grants credit too: trims at the last hop do not shrink the window.
    #[must_use]
    pub const fn with_receiver_control(self) -> Self {
        Self { has_receiver_control: true, ..self }
    }
}

/// An ACK, as NSCC uses it.
#[derive(Clone, Copy, Debug)]
pub struct NsccAck {
    /// Its time.
    pub now: Time,
    /// It echoes a mark.
    pub is_marked: bool,
    /// The delay above the base round trip; without a valid sample, [`Nscc::average_delay_ps`].
    pub delay_ps: u64,
    /// Bytes that the receiver newly reports.
    pub new_bytes: u64,
    /// Bytes in flight.
    pub in_flight: i64,
}

/// The state of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Nscc {
    window: i64,
    max_window: i64,
    base_round_trip_ps: u64,
    average_delay_ps: f64,
    /// Increase that waits for the next adjustment, times the window; bytes received since the last one.
    increase: i64,
    received: i64,
    last_adjustment: Time,
    last_decrease: Time,
    /// Bytes that arrived in this period of quick adaptation, and its end.
    achieved: i64,
    quick_end: Option<Time>,
    /// A trim or loss came in this period.
    is_triggered: bool,
    /// After a quick adaptation: bytes that were in flight, and those of them that have arrived.
    to_ignore: i64,
    ignored: i64,
    /// Bytes in a row with hardly any delay; fast increase.
    undelayed: i64,
    is_fast: bool,
}

impl Nscc {
    /// A flow with this base round trip. Without `window_bytes`, the first window is 1.5 bandwidth-delay products.
    #[must_use]
    pub fn new(law: &NsccLaw, base_round_trip: Span, window_bytes: Option<u64>) -> Self {
        let base_round_trip_ps = base_round_trip.picoseconds();
        let max_window = max_window(law, base_round_trip_ps);
        Self {
            window: window_bytes.map_or(max_window, |bytes| i64::try_from(bytes).unwrap_or(max_window)),
            max_window,
            base_round_trip_ps,
            average_delay_ps: 0.0,
            increase: 0,
            received: 0,
            last_adjustment: Time::ZERO,
            last_decrease: Time::ZERO,
            achieved: 0,
            quick_end: None,
            is_triggered: false,
            to_ignore: 0,
            ignored: 0,
            undelayed: 0,
            is_fast: false,
        }
    }

    /// The window in bytes.
    #[must_use]
    pub fn window(&self) -> i64 {
        self.window
    }

    /// The average delay in picoseconds.
    #[must_use]
    pub fn average_delay_ps(&self) -> u64 {
        self.average_delay_ps as u64
    }

    /// Counts what the receiver newly reports, before the round trip and the ACK itself.
    pub fn on_received(&mut self, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.achieved = self.achieved.saturating_add(bytes);
        self.received = self.received.saturating_add(bytes);
        self.ignored = self.ignored.saturating_add(bytes);
    }

    /// A round trip. Returns the delay of its packet.
    pub fn on_round_trip(&mut self, round_trip: Span, is_marked: bool, law: &NsccLaw) -> u64 {
        self.update_base(round_trip, law);
        let delay_ps = round_trip.picoseconds() - self.base_round_trip_ps;
        self.update_delay(delay_ps, is_marked, law);
        delay_ps
    }

    /// Takes a shorter round trip as the base one, with a largest window that fits.
    fn update_base(&mut self, round_trip: Span, law: &NsccLaw) {
        if round_trip.picoseconds() < self.base_round_trip_ps {
            self.base_round_trip_ps = round_trip.picoseconds();
            self.max_window = max_window(law, self.base_round_trip_ps);
        }
    }

    fn update_delay(&mut self, delay_ps: u64, is_marked: bool, law: &NsccLaw) {
        let is_outlier = !is_marked && delay_ps > law.target_ps;
        let sample = if is_outlier { self.base_round_trip_ps as f64 * 0.25 } else { delay_ps as f64 };
        self.average_delay_ps = DELAY_GAIN * sample + (1.0 - DELAY_GAIN) * self.average_delay_ps;
    }

    /// Returns whether this ACK or trim changes nothing else.
    fn quick_adapt(&mut self, is_loss: bool, is_marked: bool, ack: &NsccAck, law: &NsccLaw) -> bool {
        let mut is_done = false;
        if self.ignored < self.to_ignore && is_marked {
            is_done = true;
        } else if self.quick_end.is_none_or(|end| ack.now > end) {
            let is_congested = self.is_triggered || is_loss || ack.delay_ps > 4 * law.target_ps;
            if self.quick_end.is_some() && is_congested && self.achieved < self.max_window >> 3 {
                self.window = self.achieved.max(law.mtu_bytes);
                self.to_ignore = ack.in_flight;
                self.ignored = 0;
                self.is_triggered = false;
                is_done = true;
            }
            self.achieved = 0;
            let period = Span::from_picoseconds(self.base_round_trip_ps.saturating_add(law.target_ps));
            self.quick_end = Some(ack.now.saturating_add(period));
        }
        if is_done {
            (self.increase, self.received) = (0, 0);
        }
        is_done
    }

    /// An ACK, after [`Nscc::on_received`] and [`Nscc::on_round_trip`].
    pub fn on_ack(&mut self, ack: &NsccAck, law: &NsccLaw) {
        if self.quick_adapt(false, ack.is_marked, ack, law) {
            return;
        }
        let is_late = ack.delay_ps >= law.target_ps;
        match (ack.is_marked, is_late) {
            (false, true) => self.add(law.fair * ack.new_bytes as f64),
            (false, false) => self.increase_below_target(ack, law),
            (true, true) => self.decrease(ack.now, law),
            (true, false) => {}
        }
        self.clamp(law);
        let period = Span::from_picoseconds(law.network_round_trip_ps);
        let is_due = ack.now.since(self.last_adjustment) > period;
        if self.received > 8 * law.mtu_bytes || is_due {
            self.window += self.increase / self.window;
            if ack.now.since(self.last_adjustment) >= period {
                self.window = (self.window as f64 + law.eta) as i64;
                self.last_adjustment = ack.now;
            }
            (self.increase, self.received) = (0, 0);
        }
        self.clamp(law);
    }

    fn add(&mut self, increase: f64) {
        self.increase = self.increase.saturating_add(increase as i64);
    }

    fn increase_below_target(&mut self, ack: &NsccAck, law: &NsccLaw) {
        if ack.delay_ps < FAST_DELAY_PS {
            self.undelayed = self.undelayed.saturating_add(i64::try_from(ack.new_bytes).unwrap_or(i64::MAX));
            self.is_fast |= self.undelayed > self.window;
        } else {
            self.undelayed = 0;
            self.is_fast = false;
        }
        if self.is_fast {
            self.window = (self.window as f64 + ack.new_bytes as f64 * law.fast) as i64;
        } else {
            self.add(law.proportional * ack.new_bytes as f64 * (law.target_ps - ack.delay_ps) as f64);
        }
    }

    fn decrease(&mut self, now: Time, law: &NsccLaw) {
        (self.is_fast, self.undelayed) = (false, 0);
        let target_ps = law.target_ps as f64;
        let is_due = now.since(self.last_decrease).picoseconds() > self.base_round_trip_ps;
        if self.average_delay_ps > target_ps && is_due {
            let excess = (self.average_delay_ps - target_ps) / self.average_delay_ps;
            self.window = (self.window as f64 * (1.0 - GAMMA * excess).max(LEAST_FACTOR)) as i64;
            self.last_decrease = now;
        }
    }

    fn clamp(&mut self, law: &NsccLaw) {
        self.window = self.window.min(self.max_window).max(law.mtu_bytes);
    }

    /// A packet of `bytes` was trimmed, after `round_trip`.
    pub fn on_trimmed(
        &mut self,
        bytes: u32,
        is_last_hop: bool,
        round_trip: Span,
        in_flight: i64,
        now: Time,
        law: &NsccLaw,
    ) {
        self.update_base(round_trip, law);
        self.ignored = self.ignored.saturating_add(i64::from(bytes));
        self.update_delay(law.network_round_trip_ps, true, law);
        self.is_triggered = true;
        let sample = NsccAck { now, is_marked: true, delay_ps: 0, new_bytes: 0, in_flight };
        let is_adapted = self.quick_adapt(true, true, &sample, law);
        if !is_adapted && (!law.has_receiver_control || !is_last_hop) {
            self.window -= i64::from(bytes);
            self.clamp(law);
        }
    }

    /// A packet of `bytes` timed out.
    pub fn on_timeout(&mut self, bytes: u32, law: &NsccLaw) {
        self.window = (self.window - i64::from(bytes)).max(law.mtu_bytes);
    }
}

/// 1.5 bandwidth-delay products, but at least a packet.
fn max_window(law: &NsccLaw, round_trip_ps: u64) -> i64 {
    let bdp = law.line_rate.bytes_in(Span::from_picoseconds(round_trip_ps));
    i64::try_from(bdp + bdp / 2).unwrap_or(i64::MAX).max(law.mtu_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The network of the source's defaults: 6 links of 100 Gb/s and 1 us.
    const ROUND_TRIP: Span = Span::from_picoseconds(14_022_720);

    fn law() -> NsccLaw {
        NsccLaw::new(Rate::megabits(100_000), ROUND_TRIP, 4_086, 4_150, true)
    }

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    fn ack(microseconds: u64, is_marked: bool, delay_ps: u64, new_bytes: u64) -> NsccAck {
        NsccAck { now: at(microseconds), is_marked, delay_ps, new_bytes, in_flight: 100_000 }
    }

    #[test]
    fn the_constants_of_the_default_network() {
        let law = law();
        let flow = Nscc::new(&law, ROUND_TRIP, None);
        assert_eq!((flow.window, flow.max_window, law.target_ps), (262_926, 262_926, 10_517_040));
        let a = 175_284.0 / 150_000.0;
        assert!((law.fair - 5.0 * 4_086.0 * a).abs() < 1e-6 && (law.eta - 0.15 * 4_086.0 * a).abs() < 1e-6);
        assert!((law.proportional - 4.0 * 4_086.0 * a / 12e6).abs() < 1e-12);
        let without = NsccLaw::new(Rate::megabits(100_000), ROUND_TRIP, 4_086, 4_150, false);
        assert_eq!(without.target_ps, ROUND_TRIP.picoseconds());
    }

    /// A flow whose first period of quick adaptation has begun, with this window.
    fn flow(window: u64) -> (Nscc, NsccLaw) {
        let law = law();
        let mut flow = Nscc::new(&law, ROUND_TRIP, Some(window));
        flow.last_adjustment = at(100);
        flow.quick_end = Some(at(1_000));
        (flow, law)
    }

    #[test]
    fn increases_wait_for_eight_packets() {
        let (mut flow, law) = flow(100_000);
        flow.on_received(4_150);
        flow.on_ack(&ack(101, false, 11_000_000, 4_150), &law);
        assert_eq!((flow.window, flow.increase), (100_000, (law.fair * 4_150.0) as i64));
        flow.on_received(4_150);
        flow.on_ack(&ack(102, false, 517_040 + 2_000_000, 4_150), &law);
        let waiting = (law.fair * 4_150.0) as i64 + (law.proportional * 4_150.0 * 8_000_000.0) as i64;
        assert_eq!((flow.window, flow.increase), (100_000, waiting));
        flow.on_received(8 * 4_150);
        flow.on_ack(&ack(103, true, 0, 0), &law);
        assert_eq!((flow.window, flow.increase, flow.received), (100_000 + waiting / 100_000, 0, 0));
        // After a round trip a small step comes on top.
        flow.on_ack(&ack(115, true, 0, 0), &law);
        assert_eq!(flow.window, 100_000 + waiting / 100_000 + law.eta as i64);
    }

    #[test]
    fn a_window_without_delay_starts_a_fast_increase() {
        let (mut flow, law) = flow(20_000);
        flow.on_ack(&ack(101, false, 999_999, 20_000), &law);
        assert!(!flow.is_fast && flow.window == 20_000);
        flow.on_ack(&ack(102, false, 0, 4_150), &law);
        assert!(flow.is_fast);
        assert_eq!(flow.window, (20_000.0 + 4_150.0 * law.fast) as i64);
        flow.on_ack(&ack(103, false, 1_000_000, 4_150), &law);
        assert!(!flow.is_fast && flow.undelayed == 0);
    }

    #[test]
    fn marks_with_delay_shrink_the_window_once_in_a_round_trip() {
        let (mut flow, law) = flow(200_000);
        flow.average_delay_ps = 2.0 * law.target_ps as f64;
        flow.on_ack(&ack(101, true, 20_000_000, 0), &law);
        assert_eq!(flow.window, 120_000);
        flow.on_ack(&ack(102, true, 20_000_000, 0), &law);
        assert_eq!(flow.window, 120_000);
        flow.average_delay_ps = 1e9;
        flow.on_ack(&ack(116, true, 20_000_000, 0), &law);
        // At most by half; then the adjustment of a round trip.
        assert_eq!(flow.window, 60_000 + law.eta as i64);
    }

    #[test]
    fn the_average_delay_ignores_unmarked_outliers() {
        let (mut flow, law) = flow(200_000);
        flow.on_round_trip(ROUND_TRIP + Span::from_microseconds(8), false, &law);
        assert!((flow.average_delay_ps - 0.0125 * 8e6).abs() < 1e-6);
        let before = flow.average_delay_ps;
        flow.on_round_trip(ROUND_TRIP + Span::from_microseconds(80), false, &law);
        let quarter = ROUND_TRIP.picoseconds() as f64 / 4.0;
        assert!((flow.average_delay_ps - (0.9875 * before + 0.0125 * quarter)).abs() < 1e-6);
        // A shorter round trip is the new base.
        assert_eq!(flow.on_round_trip(Span::from_microseconds(10), false, &law), 0);
        assert_eq!((flow.base_round_trip_ps, flow.max_window), (10_000_000, 187_500));
    }

    #[test]
    fn quick_adaptation_sets_the_window_to_what_arrived() {
        let (mut flow, law) = flow(200_000);
        flow.on_trimmed(4_150, false, Span::from_microseconds(20), 150_000, at(500), &law);
        assert_eq!((flow.window, flow.is_triggered), (195_850, true));
        flow.on_received(12_450);
        flow.on_ack(&ack(1_001, true, 0, 12_450), &law);
        assert_eq!((flow.window, flow.to_ignore, flow.ignored, flow.achieved), (12_450, 100_000, 0, 0));
        // Marked ACKs of what was in flight change nothing, unmarked ones do.
        flow.on_received(40_000);
        flow.on_ack(&ack(1_002, true, 50_000_000, 40_000), &law);
        assert_eq!((flow.window, flow.received), (12_450, 0));
        flow.on_received(60_000);
        flow.on_ack(&ack(1_003, false, 11_000_000, 60_000), &law);
        assert!(flow.window > 12_450);
        // With an eighth of the largest window or more, none is due.
        let (mut flow, law) = self::flow(200_000);
        flow.is_triggered = true;
        flow.on_received(32_866);
        flow.on_ack(&ack(1_001, true, 0, 32_866), &law);
        assert!(flow.window >= 200_000);
    }

    #[test]
    fn trims_at_the_last_hop_belong_to_a_controlling_receiver() {
        let (mut flow, law) = flow(200_000);
        let law = law.with_receiver_control();
        flow.on_trimmed(4_150, true, Span::from_microseconds(20), 0, at(500), &law);
        assert_eq!(flow.window, 200_000);
        flow.on_trimmed(4_150, false, Span::from_microseconds(20), 0, at(501), &law);
        assert_eq!(flow.window, 195_850);
        flow.window = 5_000;
        flow.on_timeout(4_150, &law);
        assert_eq!(flow.window, 4_150);
    }

    proptest! {
        #[test]
        fn the_window_stays_in_bounds(
            events in prop::collection::vec(
                (0_u64..30_000_000, 0_u8..5, any::<bool>(), 0_u64..200_000_000, 0_u64..300_000),
                0..200,
            ),
            gigabits in 1_u64..800,
        ) {
            let law = NsccLaw::new(Rate::megabits(gigabits * 1_000), ROUND_TRIP, 4_086, 4_150, true);
            let mut flow = Nscc::new(&law, ROUND_TRIP, None);
            let largest = flow.max_window;
            let mut now = Time::ZERO;
            for (wait, kind, is_marked, round_trip_ps, bytes) in events {
                now += Span::from_picoseconds(wait);
                let round_trip = Span::from_picoseconds(round_trip_ps);
                match kind {
                    0 => flow.on_trimmed(4_150, is_marked, round_trip, bytes as i64, now, &law),
                    1 => flow.on_timeout(4_150, &law),
                    _ => {
                        flow.on_received(bytes);
                        let delay_ps = flow.on_round_trip(round_trip, is_marked, &law);
                        let ack = NsccAck { now, is_marked, delay_ps, new_bytes: bytes, in_flight: bytes as i64 };
                        flow.on_ack(&ack, &law);
                    }
                }
                prop_assert!((4_150..=largest).contains(&flow.window), "{}", flow.window);
                prop_assert!(flow.average_delay_ps.is_finite());
            }
        }
    }
}
