//! PAUSE (IEEE 802.3x) and priority flow control (IEEE 802.1Qbb): a buffer that fills stops its feeder.
//!
//! # What it does
//! A buffer that holds as much as its high watermark orders the port that feeds it to stop, and when it is down to the
//! low one, to continue. An order to stop has a *pause time* in quanta of 512 bits on the line and ends by itself after
//! it. The pause time is the longest possible. The order is repeated every half of it while the buffer is above the low
//! watermark. The order to continue is a pause time of zero. The ordered port ends the frame that it has begun, and
//! begins no more until the pause time is over or another order comes, which takes the place of the one before.
//!
//! With PAUSE, one [`PauseSender`] watches a buffer and one [`PauseReceiver`] stops a port, but for control frames.
//! With priority flow control there is one of each for every class, and a frame lists its classes.
//!
//! Nothing is lost if there is room above the high watermark for all that comes before the feeder stops: [`headroom`].
//!
//! # Source
//! IEEE 802.3, annex 31B (MAC control PAUSE operation), and annex 31D with IEEE 802.1Q, clause 36 (priority-based flow
//! control). Watermarks as in M. Gusat, C. Minkenberg and R. Luijten, "Extended Ethernet Congestion Management", IEEE
//! 802.1 2007, slide "Simulation Setup".
//!
//! # Where we differ
//! - Quanta and headroom count a frame's bytes, without preamble and gap, as the whole simulator does.
//! - The delays of interfaces and of higher layers are part of the propagation or of the time of reaction.
//! - Neither standard defines the time of a repetition; the half of the pause time leaves as much for the order's way
//!   and for the frame before it.
//!
//! # Cost
//! 16 bytes for each sender, 32 for each receiver; two comparisons for each frame that comes or goes.
//!
//! # Parameters
//! See [`PauseConfig`].

use forebay_units::{Bytes, PICOSECONDS_PER_SECOND, Rate, Span, Time};

use crate::{ParameterError, require};

/// The shortest frame of Ethernet (IEEE 802.3, `minFrameSize`).
pub const SHORTEST_FRAME: Bytes = Bytes(64);

/// The unit of pause times: 512 bit times.
pub const PAUSE_QUANTUM_BITS: u64 = 512;

/// Watermarks at which a buffer stops its feeder and lets it continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseConfig {
    /// With this many bytes in the buffer, or more, the feeder is stopped.
    pub high: Bytes,
    /// With this many, or fewer, it may continue.
    pub low: Bytes,
}

impl PauseConfig {
    /// Whether the watermarks are in order. Whether there is room above the high one is another question: see
    /// [`headroom`].
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn check(&self) -> Result<(), ParameterError> {
        require(self.low < self.high, "low", "be below `high`")
    }

    /// The level of a buffer that holds `used` bytes.
    #[inline]
    #[must_use]
    pub fn level(&self, used: u64) -> PauseLevel {
        PauseLevel { is_high: used >= self.high.0, is_low: used <= self.low.0 }
    }
}

/// How full a buffer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseLevel {
    /// The feeder must stop.
    pub is_high: bool,
    /// It may continue.
    pub is_low: bool,
}

/// The end whose buffer fills: decides when to send which pause time.
#[derive(Clone, Copy, Debug)]
pub struct PauseSender {
    /// Half the time of the longest pause: the interval at which the order to stop is repeated.
    refresh: Span,
    /// The time of the next repetition; [`Time::NEVER`] while the feeder may send.
    refresh_at: Time,
}

impl PauseSender {
    /// Pause time of the order to stop: the longest there is. It is said again every half of it.
    pub const STOP: u16 = u16::MAX;
    /// Pause time of the order to continue.
    pub const GO: u16 = 0;

    /// Creates the control of a buffer that is fed over a link of this rate.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        let longest = pause_time(Self::STOP, rate);
        Self { refresh: longest / 2, refresh_at: Time::NEVER }
    }

    /// The level of the buffer at `now`, after a frame came or left, or at [`PauseSender::poll_at`]: returns the pause
    /// time to be sent, if one is. It takes the place of one that has been decided on before and still waits for
    /// the port.
    #[inline]
    pub fn update(&mut self, level: PauseLevel, now: Time) -> Option<u16> {
        if self.is_pausing() {
            if level.is_low {
                self.refresh_at = Time::NEVER;
                return Some(Self::GO);
            }
            if now < self.refresh_at {
                return None;
            }
        } else if !level.is_high {
            return None;
        }
        self.refresh_at = now.saturating_add(self.refresh);
        Some(Self::STOP)
    }

    /// The time of the next call of [`PauseSender::update`], if nothing changes before.
    #[inline]
    #[must_use]
    pub fn poll_at(&self) -> Time {
        self.refresh_at
    }

    /// Whether the feeder has an order to stop.
    #[inline]
    #[must_use]
    pub fn is_pausing(&self) -> bool {
        self.refresh_at < Time::NEVER
    }
}

/// The end that must stop. Times of calls must not decrease.
#[derive(Clone, Copy, Debug)]
pub struct PauseReceiver {
    rate: Rate,
    /// The end of the last pause.
    until: Time,
    /// The time up to which `stopped` counts.
    counted: Time,
    stopped: Span,
}

impl PauseReceiver {
    /// Creates the state of a port that sends at this rate.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { rate, until: Time::ZERO, counted: Time::ZERO, stopped: Span::ZERO }
    }

    /// A pause time holds from `now` on, in place of the rest of the one before (IEEE 802.3, annex 31B).
    pub fn receive(&mut self, quanta: u16, now: Time) {
        self.count(now);
        self.until = now.saturating_add(pause_time(quanta, self.rate));
    }

    /// Whether a frame may be begun at `now`.
    #[inline]
    #[must_use]
    pub fn may_send(&self, now: Time) -> bool {
        now >= self.until
    }

    /// The time at which sending may continue if no other order arrives.
    #[inline]
    #[must_use]
    pub fn until(&self) -> Time {
        self.until
    }

    /// Adds what has passed of the pause.
    fn count(&mut self, now: Time) {
        self.stopped += self.until.min(now).since(self.counted);
        self.counted = now;
    }

    /// The total time for which it has been stopped by `now`.
    pub fn stopped(&mut self, now: Time) -> Span {
        self.count(now);
        self.stopped
    }
}

/// The duration of a number of quanta at this rate.
#[must_use]
fn pause_time(quanta: u16, rate: Rate) -> Span {
    rate.transmission_time(u64::from(quanta) * PAUSE_QUANTUM_BITS / 8)
}

/// The headroom above the high watermark that prevents loss: all frames that may arrive before the order to stop takes
/// effect, beginning with the frame that passes the watermark.
///
/// | largest amount | while |
/// |---|---|
/// | a frame less a byte | the watermark is passed by the last byte of a frame: the rest of it |
/// | a frame | the order waits for the frame that the port has begun the other way |
/// | a control frame | the order itself is sent |
/// | the link, both ways | the order travels there, and what was sent last travels here |
/// | the time of reaction | the other end takes it to heed the order |
/// | a frame | the other end ends the frame that it has begun |
/// | the rounding of a clock of picoseconds | frames last half a picosecond less than they should, at worst |
///
/// The last is nothing where a byte lasts whole picoseconds, as at 1, 10, 40 and 100 Gb/s. Elsewhere it grows with the
/// number of frames in flight; no frame is shorter than [`SHORTEST_FRAME`].
///
/// The order goes ahead of all that waits, and the port's frames last no longer than they do at `rate`. With priority
/// flow control each class needs as much: the others may send meanwhile, but into memory of their own.
#[must_use]
pub fn headroom(rate: Rate, propagation: Span, largest_frame: Bytes, control_frame: Bytes, reaction: Span) -> Bytes {
    let there_and_back = propagation.picoseconds().saturating_mul(2);
    let in_flight = rate.bytes_in(Span::from_picoseconds(there_and_back.saturating_add(reaction.picoseconds())));
    // The byte that the first frame is short of makes up for the part of a byte in flight that was rounded down.
    let frames = largest_frame.0.saturating_mul(3);
    let all = in_flight.saturating_add(frames).saturating_add(control_frame.0);
    Bytes(all.saturating_add(gained_by_rounding(rate, all)))
}

/// The most bytes by which this many, in frames one after the other, may come early because [times of
/// transmission](Rate::transmission_time) are rounded to picoseconds.
fn gained_by_rounding(rate: Rate, bytes: u64) -> u64 {
    if (PICOSECONDS_PER_SECOND * 8).is_multiple_of(rate.bits_per_second()) {
        return 0;
    }
    let most_frames = bytes.div_ceil(SHORTEST_FRAME.0);
    rate.bytes_in(Span::from_picoseconds(most_frames.div_ceil(2))).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    const RATE: Rate = Rate::megabits(10_000);
    const CONFIG: PauseConfig = PauseConfig { high: Bytes(280_000), low: Bytes(260_000) };
    const STOP: Option<u16> = Some(PauseSender::STOP);
    const GO: Option<u16> = Some(PauseSender::GO);

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Span::from_nanoseconds(nanoseconds)
    }

    #[test]
    fn the_high_watermark_stops_and_the_low_one_lets_go() {
        let mut sender = PauseSender::new(RATE);
        assert_eq!(sender.update(CONFIG.level(279_999), at(0)), None);
        assert_eq!(sender.update(CONFIG.level(280_000), at(1)), STOP);
        assert_eq!(sender.update(CONFIG.level(300_000), at(2)), None, "it has been said");
        assert_eq!(sender.update(CONFIG.level(260_001), at(3)), None);
        assert_eq!(sender.update(CONFIG.level(260_000), at(4)), GO);
        assert_eq!((sender.update(CONFIG.level(279_999), at(5)), sender.poll_at()), (None, Time::NEVER));
        assert_eq!(sender.update(CONFIG.level(280_000), at(6)), STOP);
    }

    #[test]
    fn the_order_to_stop_is_said_again_every_half_of_its_time() {
        let mut sender = PauseSender::new(RATE);
        assert_eq!(sender.update(CONFIG.level(280_000), Time::ZERO), STOP);
        // 65535 quanta at 10 Gb/s are 3.355 ms.
        assert_eq!(sender.poll_at(), Time::from_picoseconds(65_535 * 51_200 / 2));
        let half = sender.poll_at();
        assert_eq!(sender.update(CONFIG.level(270_000), half), STOP, "while the buffer is above the low watermark");
        assert_eq!(sender.poll_at(), half + half.since(Time::ZERO));
        assert_eq!(sender.update(CONFIG.level(260_000), sender.poll_at()), GO);
    }

    #[test]
    fn another_order_takes_the_place_of_the_one_before() {
        let mut receiver = PauseReceiver::new(RATE);
        assert!(receiver.may_send(at(0)));
        receiver.receive(1000, at(100));
        // 1000 quanta of 51.2 ns.
        assert_eq!(receiver.until(), at(51_300));
        assert!(!receiver.may_send(at(51_299)) && receiver.may_send(at(51_300)));
        receiver.receive(10, at(200));
        assert_eq!(receiver.until(), at(712), "a shorter one as well");
        receiver.receive(PauseSender::GO, at(300));
        assert!(receiver.may_send(at(300)));
        assert_eq!(receiver.stopped(at(1_000_000)), Span::from_nanoseconds(200));
    }

    #[test]
    fn watermarks_out_of_order_are_refused_by_name() {
        let check = |high, low| PauseConfig { high: Bytes(high), low: Bytes(low) }.check();
        assert_eq!(check(2, 1), Ok(()));
        assert_eq!(check(1, 1).map_err(|error| error.field), Err("low"));
        assert_eq!(check(0, 0).map_err(|error| error.field), Err("low"));
    }

    #[test]
    fn the_margins_of_the_slides_hold_their_headroom() {
        let of = |propagation_ns, quanta| {
            let (propagation, reaction) = (Span::from_nanoseconds(propagation_ns), pause_time(quanta, RATE));
            headroom(RATE, propagation, Bytes(1500), Bytes(64), reaction)
        };
        // Two ways of 625 B, three frames and a control frame; 60 quanta of reaction are 3840 B.
        assert_eq!(of(500, 0), Bytes(5814));
        assert_eq!(of(500, 60), Bytes(9654));
        // 300 KB less 280 KB at a switch, and 150 KB less 140 KB at an adapter.
        assert!(of(500, 60) < Bytes(10_000));
        assert!(of(2170, 0) < Bytes(10_000) && of(2180, 0) > Bytes(10_000));
        for rate in [RATE, Rate::new(u64::MAX).unwrap()] {
            assert_eq!(headroom(rate, Span::MAX, Bytes(u64::MAX), Bytes(64), Span::MAX), Bytes(u64::MAX));
        }
    }

    /// One link with a buffer at its end from which nothing leaves.
    struct Link {
        rate: Rate,
        propagation: Span,
        reaction: Span,
        largest: u32,
        high: u64,
        /// The time for which the order waits for the port.
        wait: Span,
    }

    const CONTROL_FRAME: Bytes = Bytes(64);

    impl Link {
        fn headroom(&self) -> u64 {
            headroom(self.rate, self.propagation, Bytes(self.largest.into()), CONTROL_FRAME, self.reaction).0
        }

        fn time(&self, len_bytes: u32) -> Span {
            self.rate.transmission_time(len_bytes.into())
        }

        /// The final contents of the buffer if these frames arrive back to back, and more of the last length.
        fn filled_by(&self, lengths: &[u32]) -> u64 {
            let (mut used, mut begin, mut stops_at, mut index) = (0, Time::ZERO, Time::NEVER, 0);
            // A frame begun at the very time of the order is out already.
            while begin <= stops_at {
                let len_bytes = lengths[index.min(lengths.len() - 1)];
                index += 1;
                begin += self.time(len_bytes);
                used += u64::from(len_bytes);
                if used >= self.high && stops_at == Time::NEVER {
                    // Its last bit leaves as the next frame begins.
                    let order_sent =
                        begin + self.propagation + self.wait + self.rate.transmission_time(CONTROL_FRAME.0);
                    stops_at = order_sent + self.propagation + self.reaction;
                }
            }
            used
        }
    }

    #[test]
    fn headroom_is_tight_within_a_frame() {
        for megabits in [1000, 3000, 10_000, 40_000, 100_000] {
            for (propagation_ns, reaction_ns) in [(0, 0), (500, 0), (500, 3072), (20_000, 0), (7, 13)] {
                for largest in [64, 1500, 9216] {
                    let rate = Rate::megabits(megabits);
                    let link = Link {
                        rate,
                        propagation: Span::from_nanoseconds(propagation_ns),
                        reaction: Span::from_nanoseconds(reaction_ns),
                        largest,
                        // The watermark is passed by all of a frame but a byte, and the port has just begun another.
                        high: u64::from(largest) * 10 + 1,
                        wait: rate.transmission_time(largest.into()),
                    };
                    let unused = link.high + link.headroom() - link.filled_by(&[largest]);
                    assert!(
                        unused <= u64::from(largest),
                        "{megabits} {propagation_ns} {reaction_ns} {largest}: {unused}"
                    );
                }
            }
        }
    }

    #[test]
    fn headroom_holds_short_frames_that_a_clock_of_picoseconds_makes_shorter() {
        // A byte lasts 49.17 ps, and a frame of 66 B 3245.3 ps, of which the clock takes 3245.
        let rate = Rate::megabits(162_696);
        let link = Link {
            rate,
            propagation: Span::from_microseconds(20),
            reaction: Span::ZERO,
            largest: 66,
            high: 66 * 10 + 1,
            wait: rate.transmission_time(66),
        };
        let exact = rate.bytes_in(link.propagation * 2) + 3 * 66 + CONTROL_FRAME.0;
        let came = link.filled_by(&[66]) - link.high;
        assert!((exact + 1..=link.headroom()).contains(&came), "{exact} {came} {}", link.headroom());
    }

    proptest! {
        #[test]
        fn headroom_is_never_exceeded(
            megabits in prop_oneof![Just(1000_u64), Just(10_000), Just(100_000), 100_u64..400_000],
            propagation_ns in prop_oneof![Just(500_u64), 0_u64..50_000],
            reaction_ns in prop_oneof![Just(0_u64), 0_u64..5000],
            largest in prop_oneof![Just(1500_u32), 64_u32..=9216],
            high in 1_u64..100_000,
            wait in prop_oneof![Just(1.0), 0.0..=1.0],
            parts in prop::collection::vec(prop_oneof![Just(1.0), 0.0..=1.0], 1..100),
        ) {
            let rate = Rate::megabits(megabits);
            let longest_wait = rate.transmission_time(largest.into());
            let link = Link {
                rate,
                propagation: Span::from_nanoseconds(propagation_ns),
                reaction: Span::from_nanoseconds(reaction_ns),
                largest,
                high,
                wait: Span::from_picoseconds((longest_wait.picoseconds() as f64 * wait) as u64),
            };
            let lengths: Vec<u32> = parts.iter().map(|part| 64 + ((largest - 64) as f64 * part) as u32).collect();
            let used = link.filled_by(&lengths);
            prop_assert!(used <= high + link.headroom(), "{used} of {high} + {}", link.headroom());
        }

        #[test]
        fn pause_time_adds_up(
            // After this many nanoseconds: an order, or a question.
            steps in prop::collection::vec((0_u64..300, prop::option::of(0_u16..400)), 1..60),
        ) {
            // A quantum is a nanosecond, and every one is looked at.
            let mut receiver = PauseReceiver::new(Rate::megabits(512_000));
            let (mut now, mut stopped) = (0, 0);
            for (wait, order) in steps {
                stopped += (now..now + wait).filter(|&ns| !receiver.may_send(at(ns))).count() as u64;
                now += wait;
                if let Some(quanta) = order {
                    receiver.receive(quanta, at(now));
                }
                prop_assert_eq!(receiver.stopped(at(now)), Span::from_nanoseconds(stopped));
            }
        }

        #[test]
        fn a_buffer_above_its_high_watermark_keeps_its_feeder_stopped(
            levels in prop::collection::vec((0_u64..1_000_000, 0_u64..400_000), 1..100), delay_us in 0_u64..1600,
        ) {
            // Orders take up to just under half of the longest pause to arrive.
            let delay = Span::from_microseconds(delay_us);
            let (mut sender, mut receiver) = (PauseSender::new(RATE), PauseReceiver::new(RATE));
            let (mut now, mut used, mut last) = (Time::ZERO, 0, PauseSender::GO);
            for (wait_ns, level) in levels {
                let next = now + Span::from_nanoseconds(wait_ns);
                // Everything that happens on the way to the next change of the level.
                while sender.poll_at() <= next {
                    now = sender.poll_at();
                    prop_assert!(!receiver.may_send(now), "it went on before it was told again");
                    prop_assert_eq!(sender.update(CONFIG.level(used), now), STOP);
                    receiver.receive(PauseSender::STOP, now + delay);
                }
                (now, used) = (next, level);
                if let Some(order) = sender.update(CONFIG.level(used), now) {
                    prop_assert_ne!((last, order), (PauseSender::GO, PauseSender::GO));
                    last = order;
                    receiver.receive(order, now + delay);
                }
                prop_assert!(sender.is_pausing() || used < CONFIG.high.0);
                prop_assert!(!sender.is_pausing() || used > CONFIG.low.0);
                prop_assert_eq!(sender.is_pausing(), !receiver.may_send(now + delay));
            }
        }
    }
}
