//! DBP, destination-based probing: destinations report rates to the sources, and switches lower them on the way.
//!
//! # What it does
//! The destination of a flow sends *rate reports* to its source, one in each interval for as long as data arrive. A
//! report starts with the rate at which the destination takes frames. It travels the path of the data in reverse, and
//! every switch lowers it to its share of the port through which the data leave; the source sends at the rate that
//! arrives. Feedback is delayed by the return path only, and a slow destination itself signals to the source of its
//! flow.
//!
//! A port finds its share in one of two ways. With `rho` it is the advertised rate of FECN, corrected in each interval
//! by the measured load. With `count` nothing is measured. The reports of the last interval give the port the number of
//! flows, and those that are limited to less than the share between here and their destination. The rest is divided
//! evenly among the others.
//!
//! # When to use it
//! Use it to study rates that destinations report: feedback takes only the way back, and a slow destination is known at
//! once. The proposal has no formulas, so most of the algorithm here is ours; for comparisons with published results
//! use `fecn` or `qcn`.
//!
//! # Example
//! ```toml
//! congestion_management.dbp = { share = "rho", set_point = "75 KB" }
//! ```
//!
//! Set `share` first: `"rho"` also fills ports whose flows do not use their share, `"count"` does not swing.
//!
//! # Source
//! M. Seaman's proposal to IEEE 802.1au, 2007, as M. Gusat, C. Minkenberg and R. Luijten quote it in "Extended Ethernet
//! Congestion Management", IEEE 802.1 2007. Destinations send regular rate reports to each active source; a report
//! traces the path in reverse and begins with the speed of the receiving link. The rule of `count` without its per-flow
//! state: A. Charny, D. Clark and R. Jain, "Congestion Control with Explicit Rate Indication", IEEE ICC 1995.
//!
//! # Where we differ
//! - The quotation has no formulas. All of the following is ours: both shares, the report that answers the first frame
//!   of a flow at once, when a source ceases to be active, and the behaviour of a source without reports.
//! - Both shares include the queue-control function of FECN. Shares that add up to all of the capacity would never
//!   drain a queue once it has formed.
//! - `rho` has FECN's weakness if flows pass two busy ports whose fair shares differ. With the default b = 1.1 rates
//!   may keep swinging, there by a third, and the means miss the fair rates by up to 7 %. `count` does not swing.
//! - `count` uses neither the demand of a flow nor its limits between its source and here; the port then is not filled.
//!   A report that comes earlier or later than its interval counts twice in one interval and not in the next.
//! - The second report to a source follows the first after a random part of the interval, so that sources do not act in
//!   step: they would all use the same share just before its correction.
//! - The route back must be the reverse of the data's route, or reports meet other ports than the data.
//!
//! # Cost
//! About 100 bytes a port and 100 bytes a flow. An addition for each frame, a comparison for each report. A control
//! frame for each active flow and interval: with the defaults 0.05 % of a link's rate, 5 Mb/s at 10 Gb/s.
//!
//! # Parameters
//! See [`DbpConfig`].

use alloc::boxed::Box;

use forebay_units::{Bytes, Rate, Span, Time};

use super::advertised_rate::{AdvertisedRate, PortLaw, QueueControl, interval_on};
use super::{
    Arrival, CongestionPoint, CongestionPointId, Context, GaugeVisitor, Message, ReactionPoint, Reflector, Verdict,
};
use crate::{ParameterError, require, uniform};

/// Intervals without a report after which the source acts on its own.
const SILENT_INTERVALS: u64 = 3;

fn silent_intervals(interval: Span) -> Span {
    Span::from_picoseconds(interval.picoseconds().saturating_mul(SILENT_INTERVALS))
}
/// The factor of a flow's rate for each silence, with [`Silence::Decay`].
const DECAY: f64 = 0.5;
/// The longest frame of standard Ethernet.
const FRAME_BYTES: u64 = 1500;

/// Method by which a port finds the rate to which it lowers reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum ShareMode {
    /// By the load: the advertised rate of FECN.
    #[default]
    Rho,
    /// By counting the reports that pass.
    Count,
}

/// Behaviour of a source when no report has come for three intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum Silence {
    /// Its flow is no longer limited, as at the start.
    #[default]
    Release,
    /// It halves the rate, and again after every three further intervals, down to the minimum rate.
    Decay,
}

forebay_units::configuration! {
    /// Parameters of DBP.
    pub struct DbpConfig {
        /// T_RR: interval between two reports to an active source, and time for which a port measures or counts before
        /// it corrects its share. A port that corrected more often than reports come would correct several times for
        /// the same overload. At least the time in which a link carries 15 KB. Default: the time in which a link
        /// carries 125 KB, 0.1 ms at 10 Gb/s, like FECN's interval; with 1 ms the queue would oscillate there.
        pub interval: Option<Span> = None;
        /// Time for which a source is active after its last frame. It must be longer than the time that a flow at the
        /// minimum rate takes for a frame. Default: 20 ms (1500 B at 1 Mb/s take 12 ms), or three intervals if these
        /// are longer.
        pub expiry: Option<Span> = None;
        /// Method by which a port finds its share. Default: `rho`, which also fills ports whose flows do not use
        /// theirs.
        pub share: ShareMode = ShareMode::default();
        /// Behaviour of a source when no report has come for three intervals. Default: `release`; reports are not lost
        /// here, so silence means that the flow was idle.
        pub silence: Silence = Silence::default();
        /// Q_eq: length at which the queue of a busy port settles. Default: 75 KB (that of ECM, for comparison).
        pub set_point: Bytes = Bytes(75_000);
        /// R_min: minimum rate of a flow, and minimum share. Default: 1 Mbps (that of ECM, for comparison).
        pub minimum_rate: Rate = Rate::megabits(1);
        /// f: fraction of its capacity that a port offers, depending on the length of its queue. Default: hyperbolic.
        pub queue_control: QueueControl = QueueControl::default();
        /// Maximum growth of the share in an interval, as a factor; for `rho` only. Default: 1.5, as with FECN.
        pub increase_limit: f64 = 1.5;
    }
}

impl DbpConfig {
    pub(crate) fn check(&self, line: Rate) -> Result<(), ParameterError> {
        self.port_law(line).check(line)?;
        let expiry = self.expiry(line);
        require(expiry >= self.interval(line), "expiry", "be at least `interval`")?;
        // A source that its own limiter keeps silent for longer would be forgotten between two of its frames.
        let holds = expiry > self.minimum_rate.transmission_time(FRAME_BYTES);
        require(holds, "expiry", "be longer than 1500 B take at `minimum_rate`")
    }

    pub(crate) fn congestion_point(&self, _id: CongestionPointId, capacity: Rate) -> impl CongestionPoint + use<> {
        let capacity_bps = capacity.bits_per_second() as f64;
        let share = match self.share {
            ShareMode::Rho => PortShare::Rho(AdvertisedRate::new(self.port_law(capacity), capacity_bps)),
            ShareMode::Count => PortShare::Count(ReportCount::new(self.port_law(capacity), capacity_bps)),
        };
        DbpPort { share }
    }

    pub(crate) fn reaction_point(&self, line: Rate, _start: Time) -> impl ReactionPoint + use<> {
        DbpSource {
            line_bps: line.bits_per_second() as f64,
            minimum_bps: self.minimum_rate.bits_per_second() as f64,
            patience: silent_intervals(self.interval(line)),
            silence: self.silence,
            rate_bps: None,
            silent_at: Time::NEVER,
        }
    }

    pub(crate) fn reflector(&self, line: Rate) -> Option<Box<dyn Reflector>> {
        Some(Box::new(DbpDestination {
            interval: self.interval(line),
            expiry: self.expiry(line),
            last_data: Time::ZERO,
            report_at: Time::NEVER,
        }))
    }

    /// T_RR.
    pub(super) fn interval(&self, line: Rate) -> Span {
        interval_on(line, self.interval)
    }

    fn expiry(&self, line: Rate) -> Span {
        self.expiry.unwrap_or_else(|| Span::from_milliseconds(20).max(silent_intervals(self.interval(line))))
    }

    fn port_law(&self, line: Rate) -> PortLaw {
        PortLaw {
            set_point: self.set_point,
            interval: self.interval(line),
            queue_control: self.queue_control,
            increase_limit: self.increase_limit,
            minimum_rate: self.minimum_rate,
        }
    }
}

/// The reflector: the destination's part for one of its sources.
struct DbpDestination {
    interval: Span,
    expiry: Span,
    last_data: Time,
    /// The due time of the next report; [`Time::NEVER`] while the source is not active.
    report_at: Time,
}

impl DbpDestination {
    /// "Originally carries a rate set by the destination to be its receiving link speed", or what it takes at present.
    fn report(context: &Context<'_>) -> Message {
        Message::RateReport { rate_bps: context.capacity.bits_per_second() as f64 }
    }
}

impl Reflector for DbpDestination {
    fn delivered(&mut self, _marked: bool, context: &mut Context<'_>) -> Option<Message> {
        self.last_data = context.now;
        if self.report_at < Time::NEVER {
            return None;
        }
        let wait = Span::from_seconds_f64(self.interval.seconds() * uniform(context.rng));
        self.report_at = context.now.saturating_add(wait);
        Some(Self::report(context))
    }

    fn poll_at(&self) -> Time {
        self.report_at
    }

    fn expire(&mut self, context: &mut Context<'_>) -> Option<Message> {
        if context.now.since(self.last_data) > self.expiry {
            self.report_at = Time::NEVER;
            return None;
        }
        self.report_at = context.now.saturating_add(self.interval);
        Some(Self::report(context))
    }
}

/// The congestion point.
struct DbpPort {
    share: PortShare,
}

enum PortShare {
    Rho(AdvertisedRate),
    Count(ReportCount),
}

impl CongestionPoint for DbpPort {
    fn arrived(&mut self, frame: Arrival, _context: &mut Context<'_>) -> Verdict {
        if let PortShare::Rho(advertised) = &mut self.share {
            advertised.arrived(frame.len_bytes);
        }
        Verdict::Pass
    }

    fn backward(&mut self, message: &mut Message, context: &mut Context<'_>) {
        if let Message::RateReport { rate_bps } = message {
            let share_bps = match &mut self.share {
                PortShare::Rho(advertised) => advertised.bps(context.capacity),
                PortShare::Count(count) => count.passes(*rate_bps, context.capacity),
            };
            *rate_bps = rate_bps.min(share_bps);
        }
    }

    fn poll_at(&self) -> Time {
        match &self.share {
            PortShare::Rho(advertised) => advertised.update_at(),
            PortShare::Count(count) => count.update_at,
        }
    }

    fn expire(&mut self, queue_bytes: u64, context: &mut Context<'_>) {
        match &mut self.share {
            PortShare::Rho(advertised) => advertised.update(queue_bytes, context),
            PortShare::Count(count) => count.update(queue_bytes, context),
        }
    }

    fn gauges(&self, visit: &mut GaugeVisitor<'_>) {
        let share_bps = match &self.share {
            PortShare::Rho(advertised) => advertised.latest_bps(),
            PortShare::Count(count) => count.share_bps,
        };
        visit("advertised_rate_bps", share_bps);
    }
}

/// A port that counts the reports that pass it.
struct ReportCount {
    law: PortLaw,
    share_bps: f64,
    /// The rates of the reports since the last update that were held back by less than the share already: their sum and
    /// the highest of them.
    constrained_bps: f64,
    highest_constrained_bps: f64,
    /// The number of the other reports.
    unconstrained: u32,
    update_at: Time,
}

impl ReportCount {
    fn new(law: PortLaw, share_bps: f64) -> Self {
        Self {
            law,
            share_bps,
            constrained_bps: 0.0,
            highest_constrained_bps: 0.0,
            unconstrained: 0,
            update_at: Time::ZERO.saturating_add(law.interval),
        }
    }

    /// Counts a report; returns the share.
    fn passes(&mut self, rate_bps: f64, capacity: Rate) -> f64 {
        let share_bps = self.share_bps.min(capacity.bits_per_second() as f64);
        if rate_bps < share_bps {
            self.constrained_bps += rate_bps;
            self.highest_constrained_bps = self.highest_constrained_bps.max(rate_bps);
        } else {
            self.unconstrained += 1;
        }
        share_bps
    }

    /// The interval is over: the rest of the constrained flows is divided among the others.
    fn update(&mut self, queue_bytes: u64, context: &Context<'_>) {
        let rest_bps = self.law.offered_bps(queue_bytes, context.capacity) - self.constrained_bps;
        let share_bps = match self.unconstrained {
            // The next flow may have the rest, and no less than the present flows (Charny et al.).
            0 => rest_bps + self.highest_constrained_bps,
            others => rest_bps / f64::from(others),
        };
        let capacity_bps = context.capacity.bits_per_second() as f64;
        let share_bps = share_bps.max(self.law.minimum_rate.bits_per_second() as f64).min(capacity_bps);
        *self = Self { update_at: context.now.saturating_add(self.law.interval), ..Self::new(self.law, share_bps) };
    }
}

/// The reaction point.
struct DbpSource {
    line_bps: f64,
    minimum_bps: f64,
    /// The longest time that the source waits for the next report.
    patience: Span,
    silence: Silence,
    rate_bps: Option<f64>,
    silent_at: Time,
}

impl ReactionPoint for DbpSource {
    fn receive(&mut self, message: &Message, context: &mut Context<'_>) {
        if let Message::RateReport { rate_bps } = *message {
            // At the rate of the link there is nothing to limit.
            self.rate_bps = (rate_bps < self.line_bps).then(|| rate_bps.max(self.minimum_bps));
            self.silent_at = context.now.saturating_add(self.patience);
        }
    }

    fn poll_at(&self) -> Time {
        self.silent_at
    }

    fn expire(&mut self, context: &mut Context<'_>) -> Option<Message> {
        self.silent_at = Time::NEVER;
        match self.silence {
            Silence::Release => self.rate_bps = None,
            Silence::Decay => {
                let rate_bps = (DECAY * self.rate_bps.unwrap_or(self.line_bps)).max(self.minimum_bps);
                self.rate_bps = Some(rate_bps);
                if rate_bps > self.minimum_bps {
                    self.silent_at = context.now.saturating_add(self.patience);
                }
            }
        }
        None
    }

    fn rate_bps(&self) -> Option<f64> {
        self.rate_bps
    }
}

#[cfg(test)]
#[path = "dbp_tests.rs"]
mod tests;
