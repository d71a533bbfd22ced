//! DBP, destination-based probing: destinations report rates to the sources, and switches lower them on the way.
//!
//! # What it does
//! The destination of a flow sends *rate reports* to its source, one each interval for as long as data come. A report
//! begins with the rate at which the destination takes frames. It goes the way of the data backwards, and every switch
//! lowers it to its share of the port through which the data leave; the source sends at the rate that arrives. Feedback
//! is late by the way back only, and a flow whose destination is slow is told so by the destination itself.
//!
//! A port finds its share in one of two ways. With `rho` it is the advertised rate of FECN, corrected each interval by
//! the load that was measured. With `count` nothing is measured: the reports of the last interval tell how many flows
//! there are, and which of them are held back between here and their destination, at less than the share; what these
//! leave is divided evenly among the others.
//!
//! # Source
//! M. Seaman's proposal to IEEE 802.1au, 2007, as M. Gusat, C. Minkenberg and R. Luijten quote it in "Extended Ethernet
//! Congestion Management", IEEE 802.1 2007: destinations send regular rate reports to each active source; a report
//! traces the path in reverse and begins with the speed of the receiving link. The rule of `count` without its
//! per-flow state: A. Charny, D. Clark and R. Jain, "Congestion Control with Explicit Rate Indication", IEEE ICC 1995.
//!
//! # Where we differ
//! - The quotation has no formulas. All of the following is ours: both shares, that the first frame of a flow is
//!   answered by a report at once, when a source is no longer active, and what a source does without reports.
//! - The queue-control function of FECN is in both shares. Shares that add up to all of the capacity would leave
//!   a queue, once it is there, forever.
//! - `rho` has FECN's weakness where flows pass two busy ports whose fair shares differ: with the default b = 1.1 rates
//!   may go on swinging, there by a third, and the means miss the fair rates by up to 7 %. `count` does not swing.
//! - `count` knows neither the demand of a flow nor what holds it back between its source and here: the port then is
//!   not filled. A report that comes earlier or later than its interval is counted twice in one and not in the next.
//! - The second report to a source follows the first after a random part of the interval, so that sources do not run in
//!   step: they would all act on the same share just before its correction.
//! - The route back has to be the way of the data, or reports meet other ports than the data do.
//!
//! # Cost
//! About 100 bytes a port and 100 bytes a flow; an addition for each frame, a comparison for each report. A control
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
/// What a flow's rate is multiplied by for each silence, with [`Silence::Decay`].
const DECAY: f64 = 0.5;
/// The longest frame of standard Ethernet.
const FRAME_BYTES: u64 = 1500;

/// How a port finds what to lower reports to.
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

/// What a source does when no report has come for three intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum Silence {
    /// Its flow is not limited any more, as at the start.
    #[default]
    Release,
    /// It halves the rate, again for each three intervals more, down to the minimum rate.
    Decay,
}

/// Parameters of DBP.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct DbpConfig {
    /// T_RR: how often an active source is sent a report, and how long a port measures or counts before it corrects its
    /// share. A port that corrected more often than reports come would correct several times for the same overload.
    /// At least as long as a link takes for 15 KB. Default: as long as a link takes for 125 KB, 0.1 ms at 10 Gb/s, as
    /// FECN's interval; with 1 ms the queue would oscillate there.
    pub interval: Option<Span>,
    /// How long after its last frame a source is active. It has to be longer than a flow at the minimum rate takes for
    /// a frame. Default: 20 ms (1500 B at 1 Mb/s take 12 ms), or three intervals if these are longer.
    pub expiry: Option<Span>,
    /// How a port finds its share. Default: `rho`, which also fills ports whose flows do not use theirs.
    pub share: ShareMode,
    /// What a source does when no report has come for three intervals. Default: `release`; reports are not lost here,
    /// so that silence means that the flow has rested.
    pub silence: Silence,
    /// Q_eq: where the queue of a busy port settles. Default: 75 KB (that of ECM, to compare).
    pub set_point: Bytes,
    /// R_min: the least rate of a flow, and the least share. Default: 1 Mbps (that of ECM, to compare).
    pub minimum_rate: Rate,
    /// f: how much of its capacity a port offers, by the length of its queue. Default: hyperbolic.
    pub queue_control: QueueControl,
    /// The most by which the share grows in an interval, as a factor; for `rho` only. Default: 1.5, as with FECN.
    pub increase_limit: f64,
}

impl Default for DbpConfig {
    fn default() -> Self {
        Self {
            interval: None,
            expiry: None,
            share: ShareMode::default(),
            silence: Silence::default(),
            set_point: Bytes(75_000),
            minimum_rate: Rate::megabits(1),
            queue_control: QueueControl::default(),
            increase_limit: 1.5,
        }
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

/// The reflector: what the destination does about one of its sources.
struct DbpDestination {
    interval: Span,
    expiry: Span,
    last_data: Time,
    /// When the next report is due; [`Time::NEVER`] while the source is not active.
    report_at: Time,
}

impl DbpDestination {
    /// "Originally carries a rate set by the destination to be its receiving link speed", or what it takes at present.
    fn report(context: &Context<'_>) -> Message {
        Message::RateReport { rate_bps: context.capacity.bits_per_second() as f64 }
    }
}

impl Reflector for DbpDestination {
    fn delivered(&mut self, _delivered_bytes: u64, _marked: bool, context: &mut Context<'_>) -> Option<Message> {
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

    fn backward(&mut self, message: &mut Message, _queue_bytes: u64, context: &mut Context<'_>) {
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

    /// Counts a report; gives the share.
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

    /// The interval is over: what the constrained leave is divided among the others.
    fn update(&mut self, queue_bytes: u64, context: &Context<'_>) {
        let rest_bps = self.law.offered_bps(queue_bytes, context.capacity) - self.constrained_bps;
        let share_bps = match self.unconstrained {
            // Whoever comes next may have what is left, and no less than those who are here (Charny et al.).
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
    /// How long after a report the source waits for the next.
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

    fn sent(&mut self, _sent_bytes: u64, _context: &mut Context<'_>) -> Option<Message> {
        None
    }

    fn silent_bytes(&self) -> u64 {
        u64::MAX
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
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::congestion::CongestionManagement;
    use crate::congestion::advertised_rate::parking_lot::{Network, fair_within};
    use crate::test_support::rng;

    const LINE: Rate = Rate::megabits(10_000);
    const BOTH: [ShareMode; 2] = [ShareMode::Rho, ShareMode::Count];

    fn network(share: ShareMode, routes: &[&[usize]]) -> Network {
        let config = DbpConfig { share, ..DbpConfig::default() };
        Network::new(&CongestionManagement::Dbp(config), LINE, routes)
    }

    fn report(rate_bps: f64) -> Message {
        Message::RateReport { rate_bps }
    }

    fn context<'a>(now: Time, rng: &'a mut dyn rand_core::Rng) -> Context<'a> {
        Context { now, capacity: LINE, rng }
    }

    fn milliseconds(ms: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(ms)
    }

    #[test]
    fn reports_begin_with_the_first_frame_and_end_when_the_source_has_rested() {
        let mut rng = rng(1);
        let mut destination = DbpConfig::default().reflector(LINE).unwrap();
        assert_eq!(destination.poll_at(), Time::NEVER);
        // The node takes 3 Gb/s of the 10 Gb/s that come.
        let capacity = Rate::megabits(3000);
        let begin = milliseconds(5);
        let first = destination.delivered(1500, false, &mut Context { now: begin, capacity, rng: &mut rng });
        assert_eq!(first, Some(report(3e9)));
        assert!(destination.poll_at() < begin + Span::from_microseconds(100));
        let again = destination.delivered(1500, false, &mut Context { now: begin, capacity, rng: &mut rng });
        assert_eq!(again, None, "one report an interval, however many frames");
        let mut times = Vec::new();
        while destination.poll_at() < Time::NEVER {
            let now = destination.poll_at();
            if destination.expire(&mut Context { now, capacity, rng: &mut rng }).is_some() {
                times.push(now);
            }
        }
        assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) == Span::from_microseconds(100)));
        assert_eq!(times.len(), 200, "20 ms of reports");
        let now = milliseconds(50);
        assert!(destination.delivered(1500, false, &mut Context { now, capacity, rng: &mut rng }).is_some());
    }

    #[test]
    fn a_source_does_as_it_is_told_and_is_free_or_slow_without_reports() {
        let mut rng = rng(1);
        let decaying = DbpConfig { silence: Silence::Decay, ..DbpConfig::default() };
        let mut free = DbpConfig::default().reaction_point(LINE, Time::ZERO);
        let mut slow = decaying.reaction_point(LINE, Time::ZERO);
        assert_eq!((free.rate_bps(), free.poll_at()), (None, Time::NEVER));
        for (told, rate) in [(2.5e9, Some(2.5e9)), (0.0, Some(1e6)), (1e10, None), (4e6, Some(4e6))] {
            free.receive(&report(told), &mut context(milliseconds(1), &mut rng));
            slow.receive(&report(told), &mut context(milliseconds(1), &mut rng));
            assert_eq!(free.rate_bps(), rate);
        }
        let silent_at = milliseconds(1) + Span::from_microseconds(300);
        assert_eq!((free.poll_at(), slow.poll_at()), (silent_at, silent_at));
        free.expire(&mut context(silent_at, &mut rng));
        assert_eq!((free.rate_bps(), free.poll_at()), (None, Time::NEVER));
        let mut rates = Vec::new();
        while slow.poll_at() < Time::NEVER {
            let now = slow.poll_at();
            slow.expire(&mut context(now, &mut rng));
            rates.extend(slow.rate_bps());
        }
        assert_eq!(rates, [2e6, 1e6]);
    }

    #[test]
    fn a_port_that_counts_divides_what_the_constrained_leave() {
        let mut rng = rng(1);
        let config = DbpConfig { share: ShareMode::Count, ..DbpConfig::default() };
        let mut port = config.congestion_point(CongestionPointId(0), LINE);
        let mut interval = |rates: &[f64], index: u64| {
            let now = Time::ZERO + Span::from_microseconds(100) * (index + 1);
            assert_eq!(port.poll_at(), now);
            let mut lowered = Vec::new();
            for &rate_bps in rates {
                let mut message = report(rate_bps);
                port.backward(&mut message, 75_000, &mut Context { now, capacity: LINE, rng: &mut rng });
                if let Message::RateReport { rate_bps } = message {
                    lowered.push(rate_bps);
                }
            }
            port.expire(75_000, &mut Context { now, capacity: LINE, rng: &mut rng });
            lowered
        };
        // At first all may have all; then 4 Gb/s are held back elsewhere, and two flows share the rest.
        assert_eq!(interval(&[1e10, 1e10, 4e9], 0), [1e10, 1e10, 4e9]);
        assert_eq!(interval(&[1e10, 1e10, 4e9], 1), [3e9, 3e9, 3e9]);
        // 4 Gb/s were more than the share: all three were alike, and each has a third. Two flows take 1 Gb/s each now.
        assert_eq!(interval(&[1e9, 1e9, 1e10], 2), [1e9, 1e9, 1e10 / 3.0]);
        // The third had what they leave. Without it, whoever comes may have that, and no less than they have.
        assert_eq!(interval(&[1e9, 1e9, 1e10], 3), [1e9, 1e9, 8e9]);
        assert_eq!(interval(&[1e9, 1e9], 4), [1e9, 1e9]);
        assert_eq!(interval(&[1e10], 5), [9e9]);
    }

    #[test]
    fn flows_through_one_port_share_it_and_its_queue_settles() {
        for share in BOTH {
            let mut network = network(share, &[&[0], &[0], &[0], &[0]]);
            network.run(Span::from_milliseconds(20));
            let rates = network.measure(Span::from_milliseconds(5));
            assert!(fair_within(&rates, &[2.5e9; 4], 0.02), "{share:?}: {rates:?}");
            assert!((65_000..85_000).contains(&network.queue_bytes(0)), "{share:?}: {}", network.queue_bytes(0));
        }
    }

    #[test]
    fn a_parking_lot_is_shared_by_the_rule_of_max_min() {
        for share in BOTH {
            let mut network = network(share, &[&[0, 1], &[0, 1], &[0, 1], &[0, 1], &[0], &[1]]);
            network.run(Span::from_milliseconds(20));
            let rates = network.measure(Span::from_milliseconds(5));
            assert!(fair_within(&rates, &[2e9; 6], 0.02), "{share:?}: {rates:?}");
        }
    }

    #[test]
    fn counting_is_exact_where_the_shares_of_two_ports_differ() {
        let mut network = network(ShareMode::Count, &[&[0, 1], &[0, 1], &[0, 1], &[0], &[1], &[1]]);
        network.run(Span::from_milliseconds(20));
        let rates = network.measure(Span::from_milliseconds(5));
        assert!(fair_within(&rates, &[2e9, 2e9, 2e9, 4e9, 2e9, 2e9], 0.01), "{rates:?}");
    }

    #[test]
    fn only_the_load_tells_what_a_flow_cannot_use() {
        for (share, fair) in [(ShareMode::Rho, 4.75e9), (ShareMode::Count, 3.6e9)] {
            let mut network = network(share, &[&[0], &[0], &[0]]);
            network.set_demand(0, 5e8);
            network.run(Span::from_milliseconds(20));
            let rates = network.measure(Span::from_milliseconds(5));
            assert!(fair_within(&rates, &[5e8, fair, fair], 0.03), "{share:?}: {rates:?}");
        }
    }

    proptest! {
        #[test]
        fn a_rate_stays_between_the_minimum_and_the_line(
            // A report, or silence, after this many microseconds.
            told in prop::collection::vec((prop::option::of(-1e9..1e12), 0_u64..1000), 1..20), decays in any::<bool>()
        ) {
            let mut rng = rng(1);
            let silence = if decays { Silence::Decay } else { Silence::Release };
            let mut source = DbpConfig { silence, ..DbpConfig::default() }.reaction_point(LINE, Time::ZERO);
            let mut now = Time::ZERO;
            for (report_bps, wait) in told {
                now += Span::from_microseconds(wait);
                while source.poll_at() <= now {
                    let at = source.poll_at();
                    source.expire(&mut context(at, &mut rng));
                }
                if let Some(report_bps) = report_bps {
                    source.receive(&report(report_bps), &mut context(now, &mut rng));
                }
                prop_assert!(source.rate_bps().is_none_or(|rate_bps| (1e6..1e10).contains(&rate_bps)));
            }
        }
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let field = |config: DbpConfig| config.check(LINE).err().map(|error| error.field);
        let config = DbpConfig::default;
        assert_eq!(field(config()), None);
        assert_eq!(field(DbpConfig { interval: Some(Span::ZERO), ..config() }), Some("interval"));
        let twelve = Some(Span::from_milliseconds(12));
        assert_eq!(field(DbpConfig { expiry: twelve, ..config() }), Some("expiry"));
        let thirty = DbpConfig { interval: Some(Span::from_milliseconds(30)), ..config() };
        assert_eq!(field(thirty.clone()), None);
        assert_eq!(field(DbpConfig { expiry: Some(Span::from_milliseconds(20)), ..thirty }), Some("expiry"));
        for megabits in [2, 53, 100_000] {
            assert_eq!(config().check(Rate::megabits(megabits)), Ok(()));
        }
        assert_eq!(field(DbpConfig { minimum_rate: Rate::megabits(20_000), ..config() }), Some("minimum_rate"));
        assert_eq!(field(DbpConfig { set_point: Bytes(0), ..config() }), Some("set_point"));
        assert_eq!(field(DbpConfig { increase_limit: 1.0, ..config() }), Some("increase_limit"));
        assert_eq!(field(DbpConfig { increase_limit: f64::INFINITY, ..config() }), Some("increase_limit"));
    }

    #[test]
    fn the_bounds_of_times_and_rates_are_these() {
        let field = |config: DbpConfig| config.check(LINE).err().map(|error| error.field);
        let config = DbpConfig::default;
        let (least, ms) = (Span::from_picoseconds(1), Span::from_milliseconds);
        // 1500 B take 12 ms at 1 Mb/s, and as long as the default expiry at 600 kb/s.
        assert_eq!(field(DbpConfig { expiry: Some(ms(12) + least), ..config() }), None);
        for (bits_per_second, expected) in [(600_000, Some("expiry")), (600_001, None)] {
            let minimum_rate = Rate::new(bits_per_second).unwrap();
            assert_eq!(field(DbpConfig { minimum_rate, ..config() }), expected, "{bits_per_second} b/s");
        }
        // A source is active for an interval at least.
        let thirty = DbpConfig { interval: Some(ms(30)), ..config() };
        assert_eq!(field(DbpConfig { expiry: Some(ms(30)), ..thirty.clone() }), None);
        let below = Span::from_picoseconds(ms(30).picoseconds() - 1);
        assert_eq!(field(DbpConfig { expiry: Some(below), ..thirty }), Some("expiry"));
        // 15 KB at 10 Gb/s.
        let twelve = Span::from_microseconds(12);
        assert_eq!(field(DbpConfig { interval: Some(twelve), ..config() }), None);
        let below = Span::from_picoseconds(twelve.picoseconds() - 1);
        assert_eq!(field(DbpConfig { interval: Some(below), ..config() }), Some("interval"));
        let above = Rate::new(LINE.bits_per_second() + 1).unwrap();
        assert_eq!(field(DbpConfig { minimum_rate: LINE, ..config() }), None);
        assert_eq!(field(DbpConfig { minimum_rate: above, ..config() }), Some("minimum_rate"));
        assert_eq!(field(DbpConfig { set_point: Bytes(1), ..config() }), None);
        assert_eq!(field(DbpConfig { increase_limit: 1.0 + f64::EPSILON, ..config() }), None);
    }

    #[test]
    fn a_source_is_active_for_20_ms_or_for_three_longer_intervals() {
        let ms = Span::from_milliseconds;
        for (interval, expiry) in [(None, 20), (Some(6), 20), (Some(7), 21), (Some(30), 90)] {
            assert_eq!(DbpConfig { interval: interval.map(ms), ..DbpConfig::default() }.expiry(LINE), ms(expiry));
        }
        let given = DbpConfig { interval: Some(ms(30)), expiry: Some(ms(31)), ..DbpConfig::default() };
        assert_eq!(given.expiry(LINE), ms(31));
    }

    #[cfg(feature = "config")]
    #[test]
    fn it_is_read_from_a_scenario() {
        let config: DbpConfig = toml::from_str("share = 'count'\nsilence = 'decay'\nexpiry = '50 ms'").unwrap();
        assert_eq!((config.share, config.silence), (ShareMode::Count, Silence::Decay));
        assert!(toml::from_str::<DbpConfig>("share = 'sum'").is_err());
    }
}
