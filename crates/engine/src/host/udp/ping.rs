//! Pings: datagrams that their destination sends back, and the round-trip times that the source finds.

use std::collections::VecDeque;

use forebay_qdisc::{Ecn, Span, Time};
use forebay_records::DelayHistogram;

use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::udp::UdpSink;
use crate::observe::flow_counters::{EndpointContext, ReceiveCounters, SendCounters};
use crate::observe::interval::Checkpoint;
use crate::observe::jitter::Jitter;
use crate::observe::outcomes::{Outcome, OutcomeKind, OutcomeValue};
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::{Packet, PacketFields, departure_stamp, flags};
use crate::spec::Ping;

pub(crate) struct PingSource {
    context: EndpointContext,
    ping: Ping,
    /// When the next packet goes; without a gap, unless an answer comes before.
    next: Time,
    stop: Time,
    /// When the latest packets went, up to the last one; `None` if answered. Those before them are answered or lost.
    waiting: VecDeque<Option<Time>>,
    found: RoundTrips,
    counters: SendCounters,
}

impl PingSource {
    pub fn new(context: EndpointContext, ping: Ping, [start, stop]: [Time; 2], sampled: bool) -> Self {
        Self {
            context,
            ping,
            next: start,
            stop,
            waiting: VecDeque::new(),
            found: RoundTrips { series: sampled.then(Vec::new), ..RoundTrips::default() },
            counters: SendCounters::new(sampled),
        }
    }

    fn emit(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.check(now);
        self.forget_lost(now);
        self.counters.record.started.get_or_insert(now);
        let number = self.counters.count.packets as u32;
        let packet = Packet::new(PacketFields {
            time: now,
            stamp: departure_stamp(now),
            number,
            flow: self.context.flow,
            len_bytes: self.ping.len_bytes,
            flags: 0,
            class: self.context.class,
            ecn: self.ping.ecn,
        });
        self.waiting.push_back(Some(now));
        self.found.sent += 1;
        self.next = now.saturating_add(self.ping.gap.unwrap_or(self.ping.timeout));
        self.counters.sent(&packet, false);
        out.send_datagram(packet);
    }

    /// Gives up packets whose time is over.
    fn forget_lost(&mut self, now: Time) {
        while let Some(front) = self.waiting.front()
            && front.is_none_or(|sent| sent.saturating_add(self.ping.timeout) <= now)
        {
            self.waiting.pop_front();
        }
    }

    /// When the packet of this number was sent, if it waits for its answer.
    fn take(&mut self, number: u32) -> Option<Time> {
        let first = (self.counters.count.packets as u32).wrapping_sub(self.waiting.len() as u32);
        self.waiting.get_mut(number.wrapping_sub(first) as usize)?.take()
    }

    fn check(&mut self, now: Time) {
        while let Some((at, due)) = self.context.checkpoints.take(now) {
            self.found.check(at, due);
            self.counters.check(due, self.context.checkpoints.interval());
        }
    }
}

impl Endpoint for PingSource {
    fn next(&self) -> Time {
        if self.next < self.stop { self.next } else { Time::NEVER }
    }

    fn receive(&mut self, answer: &Packet, out: &mut Outbox<'_>) {
        let now = answer.time;
        self.expire(now, out);
        self.check(now);
        self.counters.count.acks_received += 1;
        self.forget_lost(now);
        // A copy, or an answer that comes too late, counts for nothing.
        let Some(sent) = self.take(answer.number()) else { return };
        self.found.answered(sent, now);
        if self.ping.gap.is_none() && now < self.stop {
            self.emit(now, out);
        }
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        let before = self.counters.count.packets;
        while self.next <= now && self.next < self.stop {
            self.emit(self.next, out);
        }
        out.channels.generated += self.counters.count.packets - before;
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.check(end);
        // It is not known what becomes of those that wait.
        self.forget_lost(end);
        let from = self.found.from;
        self.found.sent -= self.waiting.iter().flatten().filter(|sent| **sent >= from).count() as u64;
        report.sender(self.context.flow, std::mem::take(&mut self.counters));
        report.outcome(self.context.flow, std::mem::take(&mut self.found).outcome());
    }
}

/// Of packets that were sent in the measured interval, and answered or lost before its end.
#[derive(Default)]
struct RoundTrips {
    from: Time,
    sent: u64,
    least: Option<Span>,
    times: DelayHistogram,
    jitter: Jitter,
    /// The sum and the number of the round-trip times since the last sample.
    since_sample: (Span, u32),
    /// The mean of each sampling interval in seconds, if it is sampled.
    series: Option<Vec<f64>>,
}

impl RoundTrips {
    fn check(&mut self, at: Time, due: Checkpoint) {
        match due {
            Checkpoint::WarmUp => {
                self.jitter.begin_measurement();
                *self = Self {
                    from: at,
                    jitter: self.jitter,
                    since_sample: self.since_sample,
                    series: self.series.take(),
                    ..Self::default()
                };
            }
            Checkpoint::Sample => {
                let (sum, answers) = std::mem::take(&mut self.since_sample);
                if let Some(series) = &mut self.series {
                    series.push(sum.seconds() / f64::from(answers));
                }
            }
        }
    }

    fn answered(&mut self, sent: Time, now: Time) {
        let time = now.since(sent);
        if self.series.is_some() {
            self.since_sample = (self.since_sample.0 + time, self.since_sample.1 + 1);
        }
        if sent < self.from {
            // The last packet before the interval is compared with its first one.
            if self.times.count() == 0 {
                self.jitter.record(time);
                self.jitter.begin_measurement();
            }
            return;
        }
        self.jitter.record(time);
        self.least = Some(self.least.map_or(time, |least| least.min(time)));
        self.times.record(time);
    }

    fn outcome(self) -> Outcome {
        use OutcomeValue::{Count, Float};
        let Self { sent, least, times, jitter, series, .. } = self;
        Outcome {
            kind: OutcomeKind::Ping,
            values: vec![
                ("sent", Count(sent)),
                ("answered", Count(times.count())),
                ("rtt_min_s", Float(least.map_or(f64::NAN, |least| least.picoseconds() as f64 * 1e-12))),
                ("rtt_mean_s", Float(times.mean_s())),
                ("rtt_p50_s", Float(times.quantile_s(0.50))),
                ("rtt_p99_s", Float(times.quantile_s(0.99))),
                ("rtt_max_s", Float(times.max_s())),
                ("jitter_s", Float(jitter.mean_s())),
            ],
            series: series.map(|means| ("rtt_s", means)).into_iter().collect(),
        }
    }
}

/// Sends each packet back.
pub(crate) struct PingSink {
    sink: UdpSink,
    ecn: Ecn,
}

impl PingSink {
    pub fn new(context: EndpointContext, ping: &Ping, counters: ReceiveCounters) -> Self {
        Self { sink: UdpSink::new(context, 0, counters), ecn: ping.ecn }
    }
}

impl Endpoint for PingSink {
    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        self.sink.receive(packet, out);
        self.sink.counters.count.acks_sent += 1;
        out.send_datagram(Packet::new(PacketFields {
            time: packet.time,
            // An answer is of the ACKs' direction, where 0 is a stamp without options.
            stamp: 0,
            number: packet.number(),
            flow: self.sink.context.flow,
            len_bytes: packet.len_bytes() as u16,
            flags: flags::ACK,
            class: self.sink.context.class,
            ecn: self.ecn,
        }));
    }

    fn show(&self, show: &mut Show<'_>) {
        self.sink.show(show);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.sink.finish(end, report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(milliseconds)
    }

    #[test]
    fn the_table_has_the_packets_sent_since_the_end_of_the_warm_up() {
        let mut found = RoundTrips { series: Some(Vec::new()), ..RoundTrips::default() };
        found.sent = 1;
        found.answered(at(0), at(500));
        found.check(at(1000), Checkpoint::Sample);
        found.check(at(1000), Checkpoint::WarmUp);
        found.sent = 2;
        // Sent before: it counts for the series alone.
        found.answered(at(900), at(1020));
        found.answered(at(1000), at(1030));
        found.answered(at(1100), at(1140));
        // A late answer of a packet that was sent before.
        found.answered(at(950), at(1150));
        found.check(at(2000), Checkpoint::Sample);
        found.check(at(3000), Checkpoint::Sample);
        let Outcome { values, series, .. } = found.outcome();
        let value = |name| values.iter().find(|(column, _)| *column == name).map(|&(_, value)| value);
        assert_eq!(value("sent"), Some(OutcomeValue::Count(2)));
        assert_eq!(value("answered"), Some(OutcomeValue::Count(2)));
        let near = |name, expected: f64| {
            let Some(OutcomeValue::Float(value)) = value(name) else { panic!("{name}") };
            assert!((value - expected).abs() < 1e-12, "{name}: {value}");
        };
        near("rtt_min_s", 0.030);
        near("rtt_mean_s", 0.035);
        near("rtt_max_s", 0.040);
        // 120 ms to 30 ms, 30 ms to 40 ms: the packet before the interval is only compared with.
        near("jitter_s", 0.050);
        let means = &series[0].1;
        assert!((means[0] - 0.5).abs() < 1e-12 && (means[1] - 0.39 / 4.0).abs() < 1e-12 && means[2].is_nan());
    }
}
