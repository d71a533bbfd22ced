//! FECN, forward explicit congestion notification: switches advertise a rate in probes that the sources send.
//!
//! # What it does
//! For each flow a source sends a *rate discovery* frame along with the data, once a period, which carries the rate of
//! its link. Every switch lowers that number to the advertised rate of the port through which the frame leaves. The
//! destination returns the frame, and the source sends the flow at the rate in it. All flows are limited at all times,
//! from the first frame on. A port has one advertised rate r, and corrects it every interval T by the measured load.
//! With A bytes arrived and a queue q, `r <- r / rho`, `rho = (8 A / T) / (f(q) C)`. The queue-control function f is 1
//! at the set-point and falls as the queue grows. All flows that a port limits get the same rate, and share what the
//! others leave: max-min fairness. Rates settle within a small number of intervals; until then, flows together may send
//! several times the capacity of the port.
//!
//! With `severe_congestion` it is E-FECN: a port with a longer queue also signals the source of each arriving frame to
//! fall to the minimum rate until the next rate discovery has returned.
//!
//! # When to use it
//! Use it for max-min fair rates within a few intervals, without state for flows in the switches. All flows send probes
//! at all times, and until the rates settle flows may overload a port.
//!
//! # Example
//! ```toml
//! congestion_management.fecn = { set_point = "75 KB", initial_flows = 10 }
//! ```
//!
//! Set `initial_flows` first: a new flow starts at the capacity divided by this number. With a long `interval` the
//! queue oscillates: see `set_point`.
//!
//! # Source
//! J. Jiang, R. Jain and C. So-In, "An Explicit Rate Control Framework for Lossless Ethernet Operation", IEEE ICC 2008;
//! E-FECN: C. So-In, R. Jain and J. Jiang, "Enhanced Forward Explicit Congestion Notification (E-FECN) Scheme for
//! Datacenter Ethernet Networks", SPECTS 2008. FECN as M. Gusat, C. Minkenberg and R. Luijten compare with it in
//! "Extended Ethernet Congestion Management", IEEE 802.1 2007: max-min fair, settled in about 10 ms, a small multiple
//! of the measurement interval.
//!
//! # Where we differ
//! - Equations and the authors' constants are from secondary sources: we could not check the text of the papers.
//! - Three defaults are not the authors': T = 0.1 ms instead of 1 ms, b = 1.1 instead of 1.002, and a limit to the
//!   growth of an advertised rate, by half in an interval. They are the best of seven settings that were tried on the
//!   scenarios of the slides, baseline and parking lot, in an earlier prototype. With the authors' settings, the queue
//!   of the first overload there was five times as long and took 100 ms and more to drain. To use theirs: `interval =
//!   "1 ms"`, `queue_control.hyperbolic.steepness = 1.002`, `increase_limit = 1e9`. The long interval and the large b
//!   do not work together: see `set_point`.
//! - b = 1.1 has a price. If flows pass two busy ports whose fair shares differ, the two loops may keep each other
//!   swinging. In the chain of this file's tests, rates swing by a quarter around their fair values, and their means
//!   are off by up to 3 %. With b = 1.02 they settle, but a long queue drains more slowly.
//! - The set-point is ours: 75 KB, that of ECM in the slides, so that queues can be compared.
//! - By default T is the time in which a link carries 125 KB. The loop thus has the same gain on links of any rate, and
//!   rate discovery takes the same part of them, 0.05 % a flow. With 0.1 ms on a link of 53 Mb/s, the probes of ten
//!   flows would fill it.
//! - The intervals of all ports start at time 0. The phase of a port's interval at which flows start moves the peak of
//!   the first overload. In the slides' first scenario flows start with an interval, and the highest 1-ms mean of the
//!   queue is 192 KB. It is 213 KB if they start halfway (means of ten seeds), and 215 KB without a limit to the
//!   increase.
//! - C is what the port carries now, so that a port made slower advertises less. A port held back by PAUSE advertises
//!   as if it carried everything.
//! - The second rate discovery of a flow follows the first after a random part of the period, the others after whole
//!   periods. Sources whose periods are in step would all act on the same advertised rate just before its correction,
//!   and so correct twice for the same overload.
//! - Rate discovery frames count as load of the port.
//! - A port without arrivals advertises its capacity, reached as fast as the increase limit allows.
//!
//! # Cost
//! About 100 bytes a port and 50 bytes a flow. An addition for each frame, a division for each port and interval. A
//! control frame each way for each flow and period: with the defaults 0.05 % of a link's rate for each flow, busy or
//! not; 5 Mb/s at 10 Gb/s.
//!
//! # Parameters
//! See [`FecnConfig`].

use alloc::boxed::Box;

use forebay_units::{Bytes, Rate, Span, Time};

use super::advertised_rate::{AdvertisedRate, PortLaw, QueueControl, interval_on};
use super::{
    Arrival, CongestionPoint, CongestionPointId, Context, GaugeVisitor, Message, ReactionPoint, Reflector, Verdict,
};
use crate::{ParameterError, require, uniform};

forebay_units::configuration! {
    /// Parameters of FECN.
    pub struct FecnConfig {
        /// Q_eq: length at which the queue of a busy port settles. It oscillates if the interval is more than about
        /// half of 8 Q_eq b / ((b - 1) C), with the defaults and 10 Gb/s more than 0.38 ms. Default: 75 KB (that of
        /// ECM, for comparison).
        pub set_point: Bytes = Bytes(75_000);
        /// T: time for which a port measures before it corrects its advertised rate. At least the time in which a link
        /// carries 15 KB. Default: the time in which a link carries 125 KB, 0.1 ms at 10 Gb/s (tried; the authors': 1
        /// ms).
        pub interval: Option<Span> = None;
        /// T_p: interval between two rate discoveries for each flow. Default: `interval`.
        pub discovery_period: Option<Span> = None;
        /// N0: sources and ports start at the capacity divided by this number. Default: 10 (the authors').
        pub initial_flows: u32 = 10;
        /// R_min: minimum rate of a flow, and minimum advertised rate. Default: 1 Mbps (that of ECM, for comparison).
        pub minimum_rate: Rate = Rate::megabits(1);
        /// f: fraction of its capacity that a port offers, depending on the length of its queue. Default: hyperbolic.
        pub queue_control: QueueControl = QueueControl::default();
        /// Maximum growth of the advertised rate in an interval, as a factor. Default: 1.5 (tried; the authors' law has
        /// no limit).
        pub increase_limit: f64 = 1.5;
        /// Q_sc: queue length above which the sources of arriving frames must fall to the minimum rate (E-FECN).
        /// Default: never (FECN).
        pub severe_congestion: Option<Bytes> = None;
    }
}

impl FecnConfig {
    pub(crate) fn check(&self, line: Rate) -> Result<(), ParameterError> {
        self.port_law(line).check(line)?;
        require(self.discovery_period != Some(Span::ZERO), "discovery_period", "be more than 0")?;
        require(self.initial_flows > 0, "initial_flows", "be at least 1")?;
        let holds = self.severe_congestion.is_none_or(|severe| severe > self.set_point);
        require(holds, "severe_congestion", "be above `set_point`")
    }

    pub(crate) fn congestion_point(&self, id: CongestionPointId, capacity: Rate) -> impl CongestionPoint + use<> {
        FecnPort {
            id,
            advertised: AdvertisedRate::new(self.port_law(capacity), self.initial_bps(capacity)),
            severe_congestion: self.severe_congestion,
        }
    }

    pub(crate) fn reaction_point(&self, line: Rate, start: Time) -> impl ReactionPoint + use<> {
        FecnSource {
            line_bps: line.bits_per_second() as f64,
            minimum_bps: self.minimum_rate.bits_per_second() as f64,
            period: self.discovery_period(line),
            rate_bps: self.initial_bps(line),
            discovery_at: start,
            in_step: true,
        }
    }

    pub(crate) fn reflector(&self, _line: Rate) -> Option<Box<dyn Reflector>> {
        Some(Box::new(FecnDestination))
    }

    /// T_p.
    pub(super) fn discovery_period(&self, line: Rate) -> Span {
        self.discovery_period.unwrap_or_else(|| interval_on(line, self.interval))
    }

    fn port_law(&self, line: Rate) -> PortLaw {
        PortLaw {
            set_point: self.set_point,
            interval: interval_on(line, self.interval),
            queue_control: self.queue_control,
            increase_limit: self.increase_limit,
            minimum_rate: self.minimum_rate,
        }
    }

    /// r0 = C / N0, but no less than R_min.
    fn initial_bps(&self, capacity: Rate) -> f64 {
        let share_bps = capacity.bits_per_second() as f64 / f64::from(self.initial_flows);
        share_bps.max(self.minimum_rate.bits_per_second() as f64)
    }
}

/// The congestion point.
struct FecnPort {
    id: CongestionPointId,
    advertised: AdvertisedRate,
    severe_congestion: Option<Bytes>,
}

impl CongestionPoint for FecnPort {
    fn arrived(&mut self, frame: Arrival, _context: &mut Context<'_>) -> Verdict {
        self.advertised.arrived(frame.len_bytes);
        match self.severe_congestion {
            Some(severe) if frame.queue_bytes > severe.0 => Verdict::Tell(Message::BcnZero { from: self.id }),
            _ => Verdict::Pass,
        }
    }

    fn forward(&mut self, message: &mut Message, context: &mut Context<'_>) {
        if let Message::RateDiscovery { rate_bps } = message {
            *rate_bps = rate_bps.min(self.advertised.bps(context.capacity));
            self.advertised.arrived_control();
        }
    }

    fn poll_at(&self) -> Time {
        self.advertised.update_at()
    }

    fn expire(&mut self, queue_bytes: u64, context: &mut Context<'_>) {
        self.advertised.update(queue_bytes, context);
    }

    fn gauges(&self, visit: &mut GaugeVisitor<'_>) {
        visit("advertised_rate_bps", self.advertised.latest_bps());
    }
}

/// The reaction point.
struct FecnSource {
    line_bps: f64,
    minimum_bps: f64,
    /// T_p.
    period: Span,
    rate_bps: f64,
    discovery_at: Time,
    /// Whether the flow's period has still to be put out of step with those of others.
    in_step: bool,
}

impl ReactionPoint for FecnSource {
    fn receive(&mut self, message: &Message, _context: &mut Context<'_>) {
        match message {
            Message::RateReport { rate_bps } => self.rate_bps = rate_bps.max(self.minimum_bps).min(self.line_bps),
            Message::BcnZero { .. } => self.rate_bps = self.minimum_bps,
            _ => {}
        }
    }

    fn poll_at(&self) -> Time {
        self.discovery_at
    }

    fn expire(&mut self, context: &mut Context<'_>) -> Option<Message> {
        let wait = if self.in_step {
            Span::from_seconds_f64(self.period.seconds() * uniform(context.rng))
        } else {
            self.period
        };
        self.in_step = false;
        self.discovery_at = context.now.saturating_add(wait);
        Some(Message::RateDiscovery { rate_bps: self.line_bps })
    }

    fn rate_bps(&self) -> Option<f64> {
        Some(self.rate_bps)
    }
}

/// The reflector.
struct FecnDestination;

impl Reflector for FecnDestination {
    fn reflect(&mut self, message: &Message, _delivered_bytes: u64, _context: &mut Context<'_>) -> Option<Message> {
        match *message {
            Message::RateDiscovery { rate_bps } => Some(Message::RateReport { rate_bps }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::congestion::CongestionManagement;
    use crate::congestion::advertised_rate::parking_lot::{Network, fair_within};
    use crate::congestion::advertised_rate::{Hyperbolic, Linear};
    use crate::test_support::rng;

    const LINE: Rate = Rate::megabits(10_000);
    const PORT: CongestionPointId = CongestionPointId(7);

    fn network(config: FecnConfig, routes: &[&[usize]]) -> Network {
        Network::new(&CongestionManagement::Fecn(config), LINE, routes)
    }

    fn context<'a>(now: Time, rng: &'a mut dyn rand_core::Rng) -> Context<'a> {
        Context { now, capacity: LINE, rng }
    }

    #[test]
    fn a_flow_is_limited_from_the_start_and_follows_what_it_finds() {
        let (mut rng, start) = (rng(1), Time::from_picoseconds(1_000_000));
        let mut source = FecnConfig::default().reaction_point(LINE, start);
        assert_eq!((source.rate_bps(), source.poll_at()), (Some(1e9), start));
        let discovery = source.expire(&mut context(start, &mut rng)).unwrap();
        assert_eq!(discovery, Message::RateDiscovery { rate_bps: 1e10 });
        // The second after a part of the period, then one each period.
        let second = source.poll_at();
        assert!(second >= start && second < start + Span::from_microseconds(100));
        source.expire(&mut context(second, &mut rng));
        assert_eq!(source.poll_at(), second + Span::from_microseconds(100));

        let mut port = FecnConfig::default().congestion_point(PORT, LINE);
        let mut message = discovery;
        port.forward(&mut message, &mut context(start, &mut rng));
        assert_eq!(message, Message::RateDiscovery { rate_bps: 1e9 }, "C / N0");
        let mut destination = FecnConfig::default().reflector(LINE).unwrap();
        let report = destination.reflect(&message, 0, &mut context(start, &mut rng)).unwrap();
        assert_eq!(report, Message::RateReport { rate_bps: 1e9 });
        for (reported, rate) in [(2.5e9, 2.5e9), (0.0, 1e6), (1e12, 1e10)] {
            source.receive(&Message::RateReport { rate_bps: reported }, &mut context(second, &mut rng));
            assert_eq!(source.rate_bps(), Some(rate), "reported {reported}");
        }
    }

    #[test]
    fn severe_congestion_stops_a_source_until_the_next_rate_discovery() {
        let mut rng = rng(1);
        let config = FecnConfig { severe_congestion: Some(Bytes(200_000)), ..FecnConfig::default() };
        let mut port = config.congestion_point(PORT, LINE);
        let frame = |queue_bytes| Arrival { len_bytes: 1500, queue_bytes, limited_by: None };
        assert_eq!(port.arrived(frame(200_000), &mut context(Time::ZERO, &mut rng)), Verdict::Pass);
        let stop = Message::BcnZero { from: PORT };
        assert_eq!(port.arrived(frame(200_001), &mut context(Time::ZERO, &mut rng)), Verdict::Tell(stop));
        let mut source = config.reaction_point(LINE, Time::ZERO);
        source.receive(&stop, &mut context(Time::ZERO, &mut rng));
        assert_eq!(source.rate_bps(), Some(1e6));
        source.receive(&Message::RateReport { rate_bps: 2e9 }, &mut context(Time::ZERO, &mut rng));
        assert_eq!(source.rate_bps(), Some(2e9));
    }

    #[test]
    fn flows_through_one_port_share_it_within_ten_milliseconds_and_its_queue_settles() {
        let linear = FecnConfig { queue_control: QueueControl::Linear(Linear::default()), ..FecnConfig::default() };
        for config in [FecnConfig::default(), linear] {
            let mut network = network(config, &[&[0], &[0], &[0], &[0]]);
            network.run(Span::from_milliseconds(10));
            let rates = network.measure(Span::from_milliseconds(5));
            assert!(fair_within(&rates, &[2.5e9; 4], 0.01), "{rates:?}");
            assert!((70_000..80_000).contains(&network.queue_bytes(0)), "{}", network.queue_bytes(0));
        }
    }

    #[test]
    fn slow_and_fast_lines_are_shared_as_well_and_carry_data() {
        // The same course in units of the interval: 1 Gb/s takes ten times as long as 10 Gb/s, 53 Mb/s 189 times.
        for line in [Rate::megabits(53), Rate::megabits(1000), Rate::megabits(40_000)] {
            let mut network =
                Network::new(&CongestionManagement::Fecn(FecnConfig::default()), line, &[&[0], &[0], &[0], &[0]]);
            let interval = interval_on(line, None);
            network.run(interval * 100);
            let rates = network.measure(interval * 50);
            let fair = line.bits_per_second() as f64 / 4.0;
            assert!(fair_within(&rates, &[fair; 4], 0.02), "{line}: {rates:?}");
            assert!((65_000..85_000).contains(&network.queue_bytes(0)), "{line}: {}", network.queue_bytes(0));
        }
    }

    #[test]
    fn a_parking_lot_is_shared_by_the_rule_of_max_min() {
        // Slide "Parking Lot: Source Rates for ECN": all sources get 2 Gb/s, C / 5.
        let mut network = network(FecnConfig::default(), &[&[0, 1], &[0, 1], &[0, 1], &[0, 1], &[0], &[1]]);
        network.run(Span::from_milliseconds(20));
        let rates = network.measure(Span::from_milliseconds(5));
        assert!(fair_within(&rates, &[2e9; 6], 0.02), "{rates:?}");
    }

    #[test]
    fn ports_of_different_shares_come_to_rest_if_the_offer_falls_gently() {
        let gentle = QueueControl::Hyperbolic(Hyperbolic { steepness: 1.02, ..Hyperbolic::default() });
        let config = FecnConfig { queue_control: gentle, ..FecnConfig::default() };
        let mut network = network(config, &[&[0, 1], &[0, 1], &[0, 1], &[0], &[1], &[1]]);
        network.run(Span::from_milliseconds(20));
        let rates = network.measure(Span::from_milliseconds(5));
        assert!(fair_within(&rates, &[2e9, 2e9, 2e9, 4e9, 2e9, 2e9], 0.02), "{rates:?}");
    }

    #[test]
    fn what_one_flow_cannot_use_goes_to_the_others() {
        let mut network = network(FecnConfig::default(), &[&[0], &[0], &[0]]);
        network.set_demand(0, 5e8);
        network.run(Span::from_milliseconds(20));
        let rates = network.measure(Span::from_milliseconds(5));
        assert!(fair_within(&rates, &[5e8, 4.75e9, 4.75e9], 0.02), "{rates:?}");
    }

    #[test]
    fn a_port_made_slower_is_shared_at_its_new_rate() {
        let mut network = network(FecnConfig::default(), &[&[0], &[0]]);
        network.run(Span::from_milliseconds(10));
        network.set_capacity(0, Rate::megabits(1000));
        network.run(Span::from_milliseconds(40));
        let rates = network.measure(Span::from_milliseconds(10));
        assert!(fair_within(&rates, &[5e8; 2], 0.05), "{rates:?}");
    }

    proptest! {
        #[test]
        fn a_rate_stays_between_the_minimum_and_the_line(told in prop::collection::vec(-1e9..1e12, 1..20)) {
            let mut rng = rng(1);
            let mut source = FecnConfig::default().reaction_point(LINE, Time::ZERO);
            for (rate_bps, number) in told.into_iter().zip(0_u32..) {
                let stop = Message::BcnZero { from: PORT };
                let message = if number % 3 == 2 { stop } else { Message::RateReport { rate_bps } };
                source.receive(&message, &mut context(Time::ZERO, &mut rng));
                prop_assert!((1e6..=1e10).contains(&source.rate_bps().unwrap()));
            }
        }
    }

    #[test]
    fn what_cannot_work_is_refused_by_name() {
        let field = |config: FecnConfig| config.check(LINE).err().map(|error| error.field);
        let config = FecnConfig::default;
        assert_eq!(field(config()), None);
        for megabits in [2, 53, 100_000] {
            assert_eq!(config().check(Rate::megabits(megabits)), Ok(()));
        }
        let short = FecnConfig { interval: Some(Span::from_microseconds(100)), ..config() };
        assert_eq!(field(short.clone()), None);
        assert_eq!(short.check(Rate::megabits(53)).err().map(|error| error.field), Some("interval"));
        assert_eq!(field(FecnConfig { discovery_period: Some(Span::ZERO), ..config() }), Some("discovery_period"));
        assert_eq!(field(FecnConfig { initial_flows: 0, ..config() }), Some("initial_flows"));
        assert_eq!(field(FecnConfig { minimum_rate: Rate::megabits(20_000), ..config() }), Some("minimum_rate"));
        let severe = FecnConfig { severe_congestion: Some(Bytes(75_000)), ..config() };
        assert_eq!(field(severe), Some("severe_congestion"));
        assert_eq!(field(FecnConfig { severe_congestion: Some(Bytes(75_001)), ..config() }), None);
        let flat = QueueControl::Hyperbolic(Hyperbolic { steepness: 1.0, ..Hyperbolic::default() });
        let flat = FecnConfig { queue_control: flat, ..config() };
        assert_eq!(field(flat), Some("queue_control.hyperbolic.steepness"));
    }

    #[cfg(feature = "config")]
    #[test]
    fn it_is_read_from_a_scenario() {
        let text = "set_point = '30 KB'\nqueue_control.linear = { slope = 0.2 }\nsevere_congestion = '200 KB'";
        let config: FecnConfig = toml::from_str(text).unwrap();
        assert_eq!(config.set_point, Bytes(30_000));
        assert_eq!(config.queue_control, QueueControl::Linear(Linear { slope: 0.2, floor: 0.1 }));
        assert_eq!(config.increase_limit, 1.5);
        assert!(toml::from_str::<FecnConfig>("queue_control.linear = { steepness = 1.2 }").is_err());
    }
}
