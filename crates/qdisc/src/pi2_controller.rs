//! The controller of PI2 and DualPI2: how the base probability moves from tick to tick (RFC 9332, appendix A.1), the
//! gains that follow from round-trip times, and the packets that it drops or marks.

use crate::require;
use crate::signal::Signal;
use crate::{Ecn, ParameterError, Pi2Config, Rng, Span, Time, uniform};

/// Source of the rules in which Linux and RFC 9332 differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum Pi2Preset {
    /// Linux's `sch_dualpi2` and its `tc`.
    #[default]
    Linux,
    /// RFC 9332, appendix A.1.
    Rfc,
}

impl Pi2Preset {
    /// The rule of the preset, unless one is given.
    pub(crate) fn rule<T>(self, given: Option<T>, linux: T, rfc: T) -> T {
        given.unwrap_or(match self {
            Self::Linux => linux,
            Self::Rfc => rfc,
        })
    }

    /// The draw of a queue whose configuration has this.
    pub(crate) fn draw(self, given: Option<Pi2Draw>) -> Pi2Draw {
        self.rule(given, Pi2Draw::Random, Pi2Draw::Recur)
    }
}

/// How packets are chosen with a probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum Pi2Draw {
    /// By random numbers.
    #[default]
    Random,
    /// At regular gaps, without random numbers: each time that the probabilities add up to more than 1.
    Recur,
}

/// A probability of 1 in Linux's units, and `MAX_PROB`, its largest probability.
const LINUX_UNITS: f64 = (1_u64 << 32) as f64;
const LINUX_MAX_PROB: f64 = LINUX_UNITS - 1.0;
/// Linux's gains are whole multiples of 1/256 Hz.
const GAINS_PER_HZ: f64 = 256.0;
/// Linux multiplies gains in 2^-32 of a probability per 64 ns.
const GRANULARITY: i128 = 64;
const PICOSECONDS_PER_NANOSECOND: u64 = 1000;
const PICOSECONDS_PER_MICROSECOND: u64 = 1_000_000;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// A gain of this many 1/256 Hz as `sch_dualpi2` has it (`dualpi2_scale_alpha_beta`).
const fn linux_gain(in_256ths: u64) -> u64 {
    ((in_256ths * 0xffff_ffff) >> 2) / NANOSECONDS_PER_SECOND
}

/// The gains, in the arithmetic of their preset.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gains {
    /// In the units of [`linux_gain`].
    Linux { alpha: u64, beta: u64 },
    /// In Hz.
    Rfc { alpha: f64, beta: f64 },
}

/// Target, period and gains, as given or as they follow from round-trip times.
#[derive(Clone, Copy, Debug)]
struct Design {
    target: Span,
    update_interval: Span,
    alpha_hz: f64,
    beta_hz: f64,
}

impl Pi2Config {
    /// Linux's defaults (`dualpi2_reset_default`), or what its `tc` computes from round-trip times: times are whole
    /// microseconds, 0.1 and 0.3 have single precision.
    fn linux_design(&self) -> Result<Design, ParameterError> {
        let microseconds = |rtt: Span| rtt.picoseconds() / PICOSECONDS_PER_MICROSECOND;
        let (typical, max) = match (self.typical_rtt.map(microseconds), self.max_rtt.map(microseconds)) {
            (None, None) => {
                return Ok(Design {
                    target: Span::from_milliseconds(15),
                    update_interval: Span::from_milliseconds(16),
                    alpha_hz: 41.0 / GAINS_PER_HZ,
                    beta_hz: 819.0 / GAINS_PER_HZ,
                });
            }
            (Some(typical), None) => (typical, typical.saturating_mul(6)),
            (None, Some(max)) => ((max / 6).max(1), max),
            (Some(typical), Some(max)) => (typical, max),
        };
        let third = max as f64 / 3.0;
        let tupdate = if (typical as f64) < third { typical } else { (third as u64).max(1) };
        Ok(Design {
            target: Span::from_microseconds(typical),
            update_interval: Span::from_microseconds(tupdate),
            alpha_hz: tupdate as f64 / max as f64 / max as f64 * 1e6 * f64::from(0.1_f32),
            beta_hz: f64::from(0.3_f32) / max as f64 * 1e6,
        })
    }

    /// RFC 9332, appendix A.1: `dualpi2_params_init`.
    fn rfc_design(&self) -> Design {
        let max_rtt = self.max_rtt.unwrap_or(match self.typical_rtt {
            Some(typical) => Span::from_picoseconds(typical.picoseconds().saturating_mul(6)),
            None => Span::from_milliseconds(100),
        });
        let target = self.target.or(self.typical_rtt).unwrap_or(Span::from_milliseconds(15));
        let third = Span::from_picoseconds(max_rtt.picoseconds() / 3);
        let update_interval = self.update_interval.unwrap_or(target.min(third));
        let max_s = max_rtt.seconds();
        Design {
            target,
            update_interval,
            alpha_hz: 0.1 * update_interval.seconds() / (max_s * max_s),
            beta_hz: 0.3 / max_s,
        }
    }

    /// Checks the fields of the controller.
    fn design(&self) -> Result<Design, ParameterError> {
        let microsecond = Span::from_microseconds(1);
        for (rtt, field) in [(self.typical_rtt, "typical_rtt"), (self.max_rtt, "max_rtt")] {
            require(rtt.is_none_or(|rtt| rtt >= microsecond), field, "be at least 1 us")?;
        }
        if let (Some(typical), Some(max)) = (self.typical_rtt, self.max_rtt) {
            require(typical <= max, "typical_rtt", "be at most `max_rtt`")?;
        }
        let design = match self.preset {
            Pi2Preset::Linux => self.linux_design()?,
            Pi2Preset::Rfc => self.rfc_design(),
        };
        // `tc` reads gains to single precision.
        let read = |hz: f64| if self.preset == Pi2Preset::Linux { f64::from(hz as f32) } else { hz };
        let design = Design {
            target: self.target.unwrap_or(design.target),
            update_interval: self.update_interval.unwrap_or(design.update_interval),
            alpha_hz: self.alpha.map_or(design.alpha_hz, read),
            beta_hz: self.beta.map_or(design.beta_hz, read),
        };
        require(design.target > Span::ZERO, "target", "be more than 0")?;
        require(design.update_interval >= microsecond, "update_interval", "be at least 1 us")?;
        require(
            design.update_interval.picoseconds() >= design.target.picoseconds() / 1000,
            "update_interval",
            "be at least a thousandth of `target`",
        )?;
        // Linux has 31 bits of 1/256 Hz.
        let (least, own, derived) = match self.preset {
            Pi2Preset::Linux => (1.0 / GAINS_PER_HZ, "be between 1/256 and 8388607", "give gains of at least 1/256 Hz"),
            Pi2Preset::Rfc => (1e-6, "be between 0.000001 and 8388607", "give gains of at least 0.000001 Hz"),
        };
        for (given, gain, field) in [(self.alpha, design.alpha_hz, "alpha"), (self.beta, design.beta_hz, "beta")] {
            let source = match (self.max_rtt, self.typical_rtt) {
                (Some(_), _) => "max_rtt",
                (None, Some(_)) => "typical_rtt",
                (None, None) => "update_interval",
            };
            let (field, bound) = if given.is_some() { (field, own) } else { (source, derived) };
            require((least..=8_388_607.0).contains(&gain), field, bound)?;
        }
        require((1.0..=255.0).contains(&self.coupling_factor), "coupling_factor", "be between 1 and 255")?;
        Ok(design)
    }
}

/// The base probability `p'` with its controller. It is a whole multiple of 2^-32, as in Linux, or of 2^-52, so that
/// sums of it are exact.
#[derive(Clone, Debug)]
pub(crate) struct Pi2Controller {
    gains: Gains,
    target: Span,
    update_interval: Span,
    coupling_factor: f64,
    /// The largest base probability.
    most: f64,
    /// Time of the next tick.
    next_tick: Time,
    probability: f64,
    /// `last_qdelay`, `prevq`: the delay at the last tick.
    delay_before: Span,
}

impl Pi2Controller {
    pub fn new(config: &Pi2Config) -> Result<Self, ParameterError> {
        let Design { target, update_interval, alpha_hz, beta_hz } = config.design()?;
        let gains = match config.preset {
            Pi2Preset::Linux => {
                let gain = |hz: f64| linux_gain((hz * GAINS_PER_HZ) as u64);
                Gains::Linux { alpha: gain(alpha_hz), beta: gain(beta_hz) }
            }
            Pi2Preset::Rfc => Gains::Rfc { alpha: alpha_hz, beta: beta_hz },
        };
        let most = match (config.drop_on_overload, config.preset) {
            (false, _) => libm::floor(LINUX_MAX_PROB / config.coupling_factor) / LINUX_UNITS,
            (true, Pi2Preset::Linux) => LINUX_MAX_PROB / LINUX_UNITS,
            (true, Pi2Preset::Rfc) => 1.0,
        };
        Ok(Self {
            gains,
            target,
            update_interval,
            coupling_factor: config.coupling_factor,
            most,
            next_tick: Time::ZERO.saturating_add(update_interval),
            probability: 0.0,
            delay_before: Span::ZERO,
        })
    }

    /// The base probability, as of the last tick that was caught up on.
    #[inline]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// `p_CL`: the probability of L4S packets, or 1 in overload.
    #[inline]
    fn coupled(&self) -> f64 {
        (self.probability * self.coupling_factor).min(1.0)
    }

    /// Whether the coupled probability has reached 1, and thus the Classic one its maximum, `p_Cmax`.
    #[inline]
    fn is_overloaded(&self) -> bool {
        self.probability * self.coupling_factor >= 1.0
    }

    /// The signal for a Classic packet: with the square of the base probability (`dualpi2_classic_marking`).
    #[inline]
    pub fn classic_signal(&self, choice: &mut Choice, ecn: Ecn, rng: &mut dyn Rng) -> Signal {
        if !choice.falls_squared(self.probability, rng) {
            Signal::None
        } else if ecn.is_capable() && !self.is_overloaded() {
            Signal::Mark
        } else {
            Signal::Drop
        }
    }

    /// The signal for an L4S packet: with `native`, the probability of its queue alone, or the coupled one if that is
    /// larger (`dualpi2_scalable_marking`).
    #[inline]
    pub fn l4s_signal(&self, choice: &mut Choice, ecn: Ecn, native: f64, rng: &mut dyn Rng) -> Signal {
        let is_overloaded = self.is_overloaded();
        if is_overloaded && choice.falls_squared(self.probability, rng) {
            return Signal::Drop;
        }
        match (choice.falls(self.coupled().max(native), rng), ecn.is_capable()) {
            (true, true) => Signal::Mark,
            (true, false) if !is_overloaded => Signal::Drop,
            _ => Signal::None,
        }
    }

    /// Takes the ticks up to `now`. Since the last call the delay was the age of the packet that came at `head`, or 0.
    #[inline]
    pub fn catch_up(&mut self, now: Time, head: Option<Time>) {
        if now >= self.next_tick {
            self.take_ticks(now, head);
        }
    }

    fn take_ticks(&mut self, now: Time, head: Option<Time>) {
        let period = self.update_interval.picoseconds();
        let first = self.next_tick;
        let ticks = now.since(first).picoseconds() / period + 1;
        let from_first = |ticks: u64| Span::from_picoseconds(ticks.saturating_mul(period));
        self.next_tick = first.saturating_add(from_first(ticks));
        let Some(head) = head else {
            self.tick(Span::ZERO);
            // All further steps are equal, and down.
            let step = self.step(Span::ZERO);
            self.probability = (self.probability + (ticks - 1) as f64 * step).max(0.0);
            return;
        };
        for tick in 0..ticks {
            let delay = first.saturating_add(from_first(tick)).since(head);
            self.tick(delay);
            // The delay grows until `now`: each further step would be up.
            if self.probability == self.most && delay >= self.target {
                self.delay_before = first.saturating_add(from_first(ticks - 1)).since(head);
                return;
            }
        }
    }

    /// Sets the base probability.
    #[cfg(test)]
    pub fn set_probability(&mut self, probability: f64) {
        self.probability = probability;
    }

    /// The delay at the last tick.
    #[cfg(test)]
    pub fn delay_before(&self) -> Span {
        self.delay_before
    }

    /// One tick at which the delay is this.
    fn tick(&mut self, delay: Span) {
        self.probability = (self.probability + self.step(delay)).clamp(0.0, self.most);
        self.delay_before = delay;
    }

    /// `alpha * (delay - target) + beta * (delay - delay_before)`.
    fn step(&self, delay: Span) -> f64 {
        let units = self.gains.units();
        match self.gains {
            Gains::Linux { alpha, beta } => {
                let nanoseconds = |span: Span| i128::from(span.picoseconds() / PICOSECONDS_PER_NANOSECOND);
                let error = nanoseconds(delay) - nanoseconds(self.target);
                let growth = nanoseconds(delay) - nanoseconds(self.delay_before);
                let delta = error * i128::from(alpha) + growth * i128::from(beta);
                // Rounds towards 0, in both directions.
                (delta / GRANULARITY) as f64 / units
            }
            Gains::Rfc { alpha, beta } => {
                let error = delay.seconds() - self.target.seconds();
                let growth = delay.seconds() - self.delay_before.seconds();
                libm::round((alpha * error + beta * growth) * units) / units
            }
        }
    }
}

impl Gains {
    /// A probability of 1, in the least differences that are kept.
    const fn units(self) -> f64 {
        match self {
            Self::Linux { .. } => LINUX_UNITS,
            Self::Rfc { .. } => (1_u64 << 52) as f64,
        }
    }
}

/// The choice of a queue's packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    draw: Pi2Draw,
    /// `count` of the RFC: the probabilities since the last packet that was chosen, added up.
    sum: f64,
}

impl Choice {
    pub fn new(draw: Pi2Draw) -> Self {
        Self { draw, sum: 0.0 }
    }

    /// An event of this probability. RFC 9332, appendix A.1: `recur`.
    #[inline]
    pub fn falls(&mut self, probability: f64, rng: &mut dyn Rng) -> bool {
        match self.draw {
            Pi2Draw::Random => probability > 0.0 && (probability >= 1.0 || uniform(rng) < probability),
            Pi2Draw::Recur => {
                self.sum += probability;
                let falls = self.sum > 1.0;
                if falls {
                    self.sum -= 1.0;
                }
                falls
            }
        }
    }

    /// An event of the square of this probability: random numbers are drawn for each factor, as in Linux.
    #[inline]
    pub fn falls_squared(&mut self, probability: f64, rng: &mut dyn Rng) -> bool {
        match self.draw {
            Pi2Draw::Random => self.falls(probability, rng) && self.falls(probability, rng),
            Pi2Draw::Recur => self.falls(probability * probability, rng),
        }
    }
}

#[cfg(test)]
#[path = "pi2_controller_tests.rs"]
mod tests;
