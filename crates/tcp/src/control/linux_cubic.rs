//! CUBIC in the arithmetic of today's Linux: whole segments and milliseconds.
//!
//! # What it does
//! The cubic function gives the number of acknowledged segments for which the window grows by one. That number is
//! truncated, computed again when the window changes or after 31 ms, and never below two. Before the first loss and
//! after a timeout it is never above twenty, so that the window grows by 5 % in a round trip at least.
//!
//! # Source
//! Linux since 4.1, `tcp_cubic.c` (version 2.3) and `tcp_cong_avoid_ai` in `tcp_cong.c`, read for their rules. With the
//! default parameters the numbers are Linux's: β is 717 / 1024, C is 410 / 1024. packetdrill's scripts state the
//! window after each ACK; `tests/packetdrill/cubic.rs` has them.
//!
//! # Where we differ
//! Linux differs from `cubic` of RFC 9438 as follows. The cubic function is evaluated the shortest round trip ahead,
//! not the smoothed one. The Reno-friendly estimate always grows by 8 / 15 of a segment in each round trip, whereas in
//! the RFC it grows by one once it has caught up. Time in which the application was the limit counts, unless the sender
//! was idle. An undone reduction does not restore the state before it. We differ from Linux: the cube root is exact,
//! and a shortest round trip found right after a recovery counts. Idle time lasts until the first ACK after it, where
//! it was longer than the timeout.
//!
//! # Parameters
//! `transport.tcp.congestion_control.cubic.arithmetic = "linux"`.

use crate::{CongestionSignal, Control, CubicConfig, RoundTrips, Span, Time, WindowLaw};

/// The number of segments is computed again after this time, in milliseconds, even if the window has not changed (HZ /
/// 32).
const REFRESH_MS: u64 = 1000 / 32;

/// No more segments than this open the window by one before the first loss.
const MOST_BEFORE_LOSS: u32 = 20;

/// No fewer segments than this open the window by one.
const LEAST: u32 = 2;

/// CUBIC as Linux computes it.
#[derive(Clone, Debug)]
pub(crate) struct LinuxCubic {
    /// β and C in 1024ths.
    beta: u32,
    growth: u32,
    fast_convergence: bool,
    /// Eight times the segments, for each segment of window, after which Reno's estimated window grows by one: with β,
    /// 8 (1 + β) / 3 (1 - β), truncated. None where Reno's window does not count.
    reno_segments_x8: Option<u32>,
    /// The window at which the last loss came, lowered by fast convergence; 0 before the first and after a timeout.
    maximum: u32,
    stage: Option<Stage>,
    /// Segments acknowledged towards the next segment of window (`snd_cwnd_cnt`).
    counted: f64,
    /// The window started over after an idle time, which does not count.
    was_idle: bool,
}

/// One stage of congestion avoidance.
#[derive(Clone, Debug)]
struct Stage {
    start_ms: u64,
    /// The turning point of the cubic function: in segments, and in 1024ths of a second after the start.
    maximum: u32,
    k: u64,
    /// The window that Reno would have, and the segments acknowledged towards its next one.
    reno_window: u32,
    reno_counted: f64,
    /// The window and the time for which `needed` was computed.
    window: u32,
    computed_ms: u64,
    /// Segments that open the window by one.
    needed: u32,
    last_ack_ms: u64,
}

impl LinuxCubic {
    pub fn new(config: CubicConfig) -> Self {
        let beta = libm::round(config.beta * 1024.0).clamp(1.0, 1023.0) as u32;
        // Linux has C in segments per 100 ms.
        let growth = (libm::round(config.growth * 102.4) * 10.0).max(1.0) as u32;
        Self {
            beta,
            growth,
            fast_convergence: config.fast_convergence,
            reno_segments_x8: config.reno_friendly.then(|| 8 * (1024 + beta) / 3 / (1024 - beta)),
            maximum: 0,
            stage: None,
            counted: 0.0,
            was_idle: false,
        }
    }

    fn begin(&self, window: u32, now_ms: u64) -> Stage {
        let distance = f64::from(self.maximum.saturating_sub(window));
        let k = libm::cbrt(distance * 1024.0 / f64::from(self.growth)) * 1024.0;
        Stage {
            start_ms: now_ms,
            maximum: self.maximum.max(window),
            k: k as u64,
            reno_window: window,
            reno_counted: 0.0,
            window: 0,
            computed_ms: now_ms,
            needed: LEAST,
            last_ack_ms: now_ms,
        }
    }

    /// The whole segments of the cubic function, the shortest round trip ahead of `now_ms`.
    fn target(&self, stage: &Stage, path: &RoundTrips, now_ms: u64) -> u64 {
        let ahead_ms = path.shortest.map_or(0, milliseconds);
        let time = now_ms.saturating_sub(stage.start_ms).saturating_add(ahead_ms).saturating_mul(1024) / 1000;
        let offset = time.abs_diff(stage.k) as f64 / 1024.0;
        let distance = (f64::from(self.growth) / 1024.0 * offset * offset * offset) as u64;
        let maximum = u64::from(stage.maximum);
        if time < stage.k { maximum.saturating_sub(distance) } else { maximum.saturating_add(distance) }
    }

    /// The number of segments that open `window` by one under the cubic function alone.
    fn segments_for_one(&self, stage: &Stage, window: u32, path: &RoundTrips, now_ms: u64) -> u32 {
        let target = self.target(stage, path, now_ms);
        let segments = match target.checked_sub(u64::from(window)) {
            None | Some(0) => window.saturating_mul(100),
            Some(distance) => (u64::from(window) / distance) as u32,
        };
        if self.maximum == 0 { segments.min(MOST_BEFORE_LOSS) } else { segments }
    }

    /// `bictcp_update`: how many segments open `window` by one.
    fn update(&self, stage: &mut Stage, window: u32, path: &RoundTrips, now_ms: u64) {
        let is_fresh = stage.window == window && now_ms.saturating_sub(stage.computed_ms) <= REFRESH_MS;
        if is_fresh {
            return;
        }
        // The function is evaluated once in a millisecond.
        if stage.window == 0 || now_ms != stage.computed_ms {
            (stage.window, stage.computed_ms) = (window, now_ms);
            stage.needed = self.segments_for_one(stage, window, path, now_ms);
        }
        if let Some(reno_segments_x8) = self.reno_segments_x8 {
            let reno_segments = (u64::from(window) * u64::from(reno_segments_x8) / 8).max(1) as f64;
            while stage.reno_counted > reno_segments {
                stage.reno_counted -= reno_segments;
                stage.reno_window = stage.reno_window.saturating_add(1);
            }
            if let Some(lead) = stage.reno_window.checked_sub(window).filter(|&lead| lead > 0) {
                stage.needed = stage.needed.min(window / lead);
            }
        }
        stage.needed = stage.needed.max(LEAST);
    }
}

impl WindowLaw for LinuxCubic {
    fn uses_round_trips(&self) -> bool {
        true
    }

    /// `bictcp_cong_avoid` and `tcp_cong_avoid_ai`.
    fn avoid_congestion(&mut self, window: &mut Control, acked_segments: f64, path: &RoundTrips, now: Time) {
        let now_ms = milliseconds(now.since(Time::ZERO));
        let current = window.congestion_window as u32;
        let mut stage = self.stage.take().unwrap_or_else(|| self.begin(current, now_ms));
        if core::mem::take(&mut self.was_idle) {
            // `CA_EVENT_TX_START`: never into the future.
            stage.start_ms = (stage.start_ms + now_ms.saturating_sub(stage.last_ack_ms)).min(now_ms);
        }
        stage.last_ack_ms = now_ms;
        stage.reno_counted += acked_segments;
        self.update(&mut stage, current, path, now_ms);

        let needed = f64::from(stage.needed);
        self.stage = Some(stage);
        if self.counted >= needed {
            self.counted = 0.0;
            window.congestion_window += 1.0;
        }
        self.counted += acked_segments;
        if self.counted >= needed {
            let segments = libm::floor(self.counted / needed);
            self.counted -= segments * needed;
            window.congestion_window += segments;
        }
    }

    /// `bictcp_recalc_ssthresh`; after a timeout `bictcp_reset`.
    fn reduce(&mut self, window: &Control, used_segments: f64, signal: CongestionSignal, _now: Time) -> f64 {
        let current = window.congestion_window as u32;
        let share = |segments: u32, part: u32| (u64::from(segments) * u64::from(part) / 1024) as u32;
        self.maximum = match signal {
            CongestionSignal::Timeout => 0,
            _ if self.fast_convergence && current < self.maximum => share(current, (1024 + self.beta) / 2),
            _ => current,
        };
        self.stage = None;
        self.counted = 0.0;
        f64::from(share(used_segments as u32, self.beta))
    }

    /// `bictcp_reset`.
    fn forget(&mut self) {
        self.maximum = 0;
        self.stage = None;
        self.counted = 0.0;
    }

    fn restart(&mut self) {
        self.was_idle = self.stage.is_some();
    }
}

fn milliseconds(span: Span) -> u64 {
    span.picoseconds() / Span::from_milliseconds(1).picoseconds()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at_ms(ms: u64) -> Time {
        Time::from_picoseconds(Span::from_milliseconds(ms).picoseconds())
    }

    fn law() -> LinuxCubic {
        LinuxCubic::new(CubicConfig::default())
    }

    fn window(segments: f64) -> Control {
        Control::new(segments, 2.0)
    }

    #[test]
    fn the_parameters_are_those_of_linux() {
        let law = law();
        assert_eq!((law.beta, law.growth, law.reno_segments_x8), (717, 410, Some(15)));
    }

    #[test]
    fn a_reduction_leaves_717_of_1024_and_a_timeout_forgets() {
        let mut law = law();
        assert_eq!(law.reduce(&window(100.0), 100.0, CongestionSignal::Loss, at_ms(0)), 70.0);
        assert_eq!(law.maximum, 100);
        // Below the maximum: fast convergence, 90 * 1741 / 2048.
        assert_eq!(law.reduce(&window(90.0), 90.0, CongestionSignal::EcnEcho, at_ms(0)), 63.0);
        assert_eq!(law.maximum, 76);
        law.reduce(&window(90.0), 90.0, CongestionSignal::Timeout, at_ms(0));
        assert_eq!(law.maximum, 0);
    }

    #[test]
    fn a_timeout_without_a_reduction_forgets_as_one_with_it() {
        let path = RoundTrips::default();
        let mut law = law();
        law.reduce(&window(100.0), 100.0, CongestionSignal::Loss, at_ms(0));
        law.avoid_congestion(&mut window(70.0), 3.0, &path, at_ms(1));
        law.forget();
        assert_eq!((law.maximum, law.counted, law.stage.is_none()), (0, 0.0, true));
    }

    #[test]
    fn twenty_segments_open_the_window_before_the_first_loss() {
        let (mut law, mut window) = (law(), window(48.0));
        let path = RoundTrips::default();
        for acked in 1..=40 {
            law.avoid_congestion(&mut window, 1.0, &path, at_ms(acked));
            assert_eq!(window.congestion_window, 48.0 + (acked / 20) as f64);
        }
    }

    #[test]
    fn two_segments_open_the_window_at_most() {
        let (mut law, mut window) = (law(), window(100.0));
        let path = RoundTrips::default();
        law.avoid_congestion(&mut window, 1.0, &path, at_ms(0));
        law.avoid_congestion(&mut window, 100.0, &path, at_ms(100_000));
        assert_eq!(window.congestion_window, 150.0);
    }

    #[test]
    fn idle_time_does_not_count() {
        let path = RoundTrips::default();
        for (was_idle, grows_fast) in [(false, true), (true, false)] {
            let (mut law, mut window) = (law(), window(100.0));
            law.avoid_congestion(&mut window, 1.0, &path, at_ms(0));
            if was_idle {
                law.restart();
            }
            law.avoid_congestion(&mut window, 10.0, &path, at_ms(60_000));
            assert_eq!(window.congestion_window > 100.0, grows_fast);
        }
    }
    /// A path with a round trip of this many milliseconds.
    fn path(round_trip_ms: u64) -> RoundTrips {
        RoundTrips { shortest: Some(Span::from_milliseconds(round_trip_ms)), ..RoundTrips::default() }
    }

    #[test]
    fn the_cubic_function_is_flat_at_the_old_maximum_and_looked_up_a_round_trip_ahead() {
        let unknown = RoundTrips::default();
        let law = LinuxCubic { maximum: 1000, ..law() };
        // K = cbrt(300 / 0.400390625) = 9.0826 s, 9300 in 1024ths of a second.
        let stage = law.begin(700, 5000);
        assert_eq!((stage.k, stage.maximum), (9300, 1000));
        assert_eq!(law.target(&stage, &unknown, 5000), 1000 - 299);
        assert_eq!(law.target(&stage, &unknown, 5000 + 9083), 1000);
        // 5 s before it is 50.05 segments lower, 10 s after it 400.4 higher.
        assert_eq!(law.target(&stage, &unknown, 5000 + 4083), 950);
        assert_eq!(law.target(&stage, &unknown, 5000 + 19_083), 1400);
        assert_eq!(law.target(&stage, &path(83), 5000 + 19_000), 1400);
        // Above the old maximum it begins at the window.
        let stage = law.begin(1200, 5000);
        assert_eq!((stage.k, stage.maximum), (0, 1200));
        assert_eq!(law.target(&stage, &unknown, 15_000), 1600);
    }

    #[test]
    fn reno_is_the_lower_bound() {
        let path = RoundTrips::default();
        let law = LinuxCubic { maximum: 40, ..law() };
        // 15 / 8 of a window of segments for each of Reno's; a cubic window that stands still would need 100 windows.
        for (counted, reno_window, left, needed) in
            [(75.0, 40, 75.0, 4000), (76.0, 41, 1.0, 40), (152.0, 42, 2.0, 20), (227.0, 43, 2.0, 13)]
        {
            let mut stage = law.begin(40, 0);
            stage.reno_counted = counted;
            law.update(&mut stage, 40, &path, 1);
            assert_eq!((stage.reno_window, stage.reno_counted, stage.needed), (reno_window, left, needed), "{counted}");
        }
    }

    #[test]
    fn the_function_is_looked_up_again_after_31_ms_or_for_another_window_but_once_in_a_millisecond() {
        let path = RoundTrips::default();
        let law = law();
        let mut stage = law.begin(40, 0);
        let mut looked_up = |window, now_ms| {
            law.update(&mut stage, window, &path, now_ms);
            (stage.window, stage.computed_ms)
        };
        assert_eq!(looked_up(40, 0), (40, 0));
        assert_eq!(looked_up(40, 31), (40, 0));
        assert_eq!(looked_up(40, 32), (40, 32));
        assert_eq!(looked_up(41, 32), (40, 32));
        assert_eq!(looked_up(41, 33), (41, 33));
    }

    #[test]
    fn segments_counted_beyond_what_is_needed_open_the_window_by_one_and_are_forgotten() {
        let path = RoundTrips::default();
        // 20 are needed before the first loss.
        for (counted, acked, grown, left) in
            [(25.0, 1.0, 1.0, 1.0), (20.0, 1.0, 1.0, 1.0), (19.0, 1.0, 1.0, 0.0), (19.0, 30.0, 2.0, 9.0)]
        {
            let mut law = LinuxCubic { counted, ..law() };
            let mut window = window(48.0);
            law.avoid_congestion(&mut window, acked, &path, at_ms(0));
            assert_eq!((window.congestion_window, law.counted), (48.0 + grown, left), "{counted} and {acked}");
            assert_eq!(law.stage.map(|stage| stage.reno_counted), Some(acked));
        }
    }

    #[test]
    fn a_stage_goes_on_after_an_idle_time_as_if_there_had_been_none() {
        let path = RoundTrips::default();
        let (mut law, mut window) = (law(), window(100.0));
        law.avoid_congestion(&mut window, 1.0, &path, at_ms(0));
        law.avoid_congestion(&mut window, 1.0, &path, at_ms(5000));
        law.restart();
        law.avoid_congestion(&mut window, 1.0, &path, at_ms(60_000));
        assert_eq!(law.stage.map(|stage| stage.start_ms), Some(55_000));
    }

    #[test]
    fn a_loss_at_the_old_maximum_keeps_it() {
        let mut law = law();
        law.reduce(&window(100.0), 100.0, CongestionSignal::Loss, at_ms(0));
        law.reduce(&window(100.0), 100.0, CongestionSignal::Loss, at_ms(0));
        assert_eq!(law.maximum, 100);
    }
}
