//! PIE on one queue: which packets signal congestion, and the delay that steers the controller (RFC 8033, sections 4
//! and 5).

use super::controller::{Controller, ControllerState};
use super::{PieConfig, PiePreset};
use crate::signal::Signal;
use crate::{Ecn, ParameterError, Rng, Span, Time, uniform};

/// The rules of PIE, one for all queues that are under it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieLaw {
    pub controller: Controller,
    /// Bytes with which nothing is dropped early.
    small_queue_bytes: u64,
    /// 1 / mean packet size, in byte mode.
    size_factor: Option<f64>,
    derandomize: bool,
    active_threshold: Option<Span>,
    ecn: bool,
    mark_threshold: f64,
}

impl PieLaw {
    /// The law with these parameters; FQ-PIE has them under the same names.
    pub fn new(config: &PieConfig) -> Result<Self, ParameterError> {
        config.check()?;
        let is_linux = config.preset == PiePreset::Linux;
        Ok(Self {
            controller: Controller::new(config),
            small_queue_bytes: config.mean_packet_size.0.saturating_mul(2) - u64::from(is_linux),
            size_factor: config.byte_mode.then(|| 1.0 / config.mean_packet_size.0 as f64),
            derandomize: config.derandomize.unwrap_or(is_linux),
            active_threshold: config.active_threshold,
            ecn: config.ecn,
            mark_threshold: config.mark_threshold,
        })
    }

    fn is_linux(&self) -> bool {
        self.controller.preset == PiePreset::Linux
    }
}

/// The state of PIE on one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieState {
    pub state: ControllerState,
    pub active: bool,
    /// Time of the next tick.
    next_tick: Time,
    /// `current_qdelay`: queueing delay of the packet that left last, 0 once the queue is empty.
    pub delay: Span,
    /// `accu_prob`: the probabilities of the packets since the last drop, added up.
    pub accumulated: f64,
    /// `dq_tstamp` of Linux: when the last packet left, unless the queue has been quiet since.
    departed_at: Time,
}

impl PieState {
    /// The state before the first packet.
    pub fn new(law: &PieLaw) -> Self {
        Self {
            state: ControllerState::quiet(law.controller.max_burst),
            active: law.active_threshold.is_none(),
            next_tick: Time::ZERO.saturating_add(law.controller.update_interval),
            delay: Span::ZERO,
            accumulated: 0.0,
            departed_at: Time::NEVER,
        }
    }

    /// Makes up for the ticks until `now`. Between packets nothing changes of what they depend on: the delay, and
    /// whether the queue is empty.
    pub fn catch_up(&mut self, law: &PieLaw, now: Time, is_empty: bool) {
        if now < self.next_tick {
            return;
        }
        let period = law.controller.update_interval.picoseconds();
        let ticks = now.since(self.next_tick).picoseconds() / period + 1;
        // Beyond the end of time there are no ticks.
        let passed = Span::from_picoseconds(ticks.saturating_mul(period));
        self.next_tick = self.next_tick.saturating_add(passed);
        if !self.active {
            return;
        }
        self.state = law.controller.ticks(self.state, self.delay, is_empty, ticks);
        if law.is_linux() && self.state.is_quiet {
            self.accumulated = 0.0;
            self.departed_at = Time::NEVER;
        }
        // RFC 8033, section 5.3.
        if law.active_threshold.is_some() && self.state.is_quiet {
            self.active = false;
        }
    }

    /// The signal for a packet of this length that finds this many bytes queued, and room. The ticks must have been
    /// caught up on.
    pub fn signal(&mut self, law: &PieLaw, len_bytes: u32, ecn: Ecn, backlog_bytes: u64, rng: &mut dyn Rng) -> Signal {
        if !self.falls(law, len_bytes, backlog_bytes, rng) {
            return Signal::None;
        }
        // RFC 8033, section 5.1.
        if law.ecn && ecn.is_capable() && self.state.probability <= law.mark_threshold {
            if !law.is_linux() {
                self.accumulated = 0.0;
            }
            Signal::Mark
        } else {
            self.accumulated = 0.0;
            Signal::Drop
        }
    }

    /// RFC 8033, section 4.1: whether this packet must signal congestion.
    fn falls(&mut self, law: &PieLaw, len_bytes: u32, backlog_bytes: u64, rng: &mut dyn Rng) -> bool {
        let ControllerState { probability, delay_before, burst_allowance, .. } = self.state;
        if !self.active || burst_allowance > Span::ZERO {
            return false;
        }
        let delay = if law.is_linux() { self.delay } else { delay_before };
        let is_short = law.controller.is_low(delay) && probability < 0.2;
        if is_short || backlog_bytes <= law.small_queue_bytes {
            return false;
        }
        let probability = match law.size_factor {
            Some(size_factor) => {
                let size = f64::from(len_bytes) * size_factor;
                probability * if law.is_linux() { size.min(1.0) } else { size }
            }
            None => probability,
        };
        // RFC 8033, section 5.4.
        if law.derandomize {
            if probability == 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += probability;
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                return true;
            }
        }
        let falls = uniform(rng) < probability;
        if falls {
            self.accumulated = 0.0;
        }
        falls
    }

    /// A packet has found no room.
    pub fn overflowed(&mut self) {
        self.accumulated = 0.0;
    }

    /// A packet has left after `sojourn_time`. The ticks must have been caught up on.
    pub fn departed(&mut self, law: &PieLaw, sojourn_time: Span, is_empty: bool, now: Time) {
        self.delay = if is_empty { Span::ZERO } else { sojourn_time };
        if law.is_linux() {
            // `pie_process_dequeue`.
            let since_last = now.since(self.departed_at);
            self.state.burst_allowance = self.state.burst_allowance.saturating_sub(since_last);
            self.departed_at = now;
        }
        // RFC 8033, section 5.3: with the first delay at the threshold everything starts as new.
        if !self.active && law.active_threshold.is_some_and(|threshold| self.delay >= threshold) {
            self.active = true;
            self.state = ControllerState::quiet(law.controller.max_burst);
            self.accumulated = 0.0;
        }
    }
}
