//! UDP sources and sinks.

mod call;
mod ping;

use forebay_qdisc::{Ecn, Span, Time, uniform};
use rand_pcg::Pcg64Mcg;

use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::observe::flow_counters::{EndpointContext, ReceiveCounters, SendCounters};
use crate::observe::interval::Checkpoint;
use crate::observe::jitter::Jitter;
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::{Packet, PacketFields, departure_stamp};
use crate::spec::{Distribution, RateStep, UdpPattern};

pub(crate) use call::CallSink;
pub(crate) use ping::{PingSink, PingSource};

/// The lengths that a packet can have. A draw outside is cut.
const LEAST_BYTES: f64 = 1.0;
const MOST_BYTES: f64 = u16::MAX as f64;

pub(crate) struct UdpSource {
    context: EndpointContext,
    pattern: UdpPattern,
    /// Lengths in bytes on the link.
    length: Distribution,
    ecn: Ecn,
    next: Time,
    stop: Time,
    on_until: Time,
    started: bool,
    /// Length and gap, where nothing is drawn.
    steady: Option<(u16, Span)>,
    rng: Pcg64Mcg,
    counters: SendCounters,
}

pub(crate) struct UdpSourceParts {
    pub context: EndpointContext,
    pub pattern: UdpPattern,
    pub length: Distribution,
    pub ecn: Ecn,
    pub start: Time,
    pub stop: Time,
    pub rng: Pcg64Mcg,
    pub counters: SendCounters,
}

impl UdpSource {
    pub fn new(parts: UdpSourceParts) -> Self {
        let UdpSourceParts { context, pattern, length, ecn, start, stop, rng, counters } = parts;
        Self {
            context,
            pattern,
            length,
            ecn,
            next: start,
            stop,
            on_until: Time::ZERO,
            started: false,
            steady: None,
            rng,
            counters,
        }
    }

    /// Settles when the first packet goes.
    fn begin(&mut self) {
        self.started = true;
        if let (&UdpPattern::Constant { rate_bps, jitter: 0.0, .. }, &Distribution::Constant(bytes)) =
            (&self.pattern, &self.length)
        {
            self.steady = Some(((bytes + 0.5) as u16, self.gap_at(rate_bps, bytes)));
        }
        self.counters.record.started = Some(self.next);
        let first = self.next;
        self.next = match self.pattern {
            UdpPattern::Constant { rate_bps, random_phase: true, .. } => {
                let gap = self.gap_at(rate_bps, self.length_mean());
                first + Span::from_picoseconds((gap.picoseconds() as f64 * uniform(&mut self.rng)) as u64)
            }
            UdpPattern::Constant { .. } => first,
            UdpPattern::OnOff { ref on, .. } => {
                self.on_until = first + on.draw_span(&mut self.rng);
                first
            }
            UdpPattern::Poisson { rate_bps } => first + self.poisson_gap(rate_bps),
            UdpPattern::Gaps(ref gap) => first + Span::from_picoseconds((gap.mean() * uniform(&mut self.rng)) as u64),
            UdpPattern::Steps(ref steps) => steps.first().map_or(Time::NEVER, |step| first.max(step.from)),
        };
    }

    /// Of the packets as they are sent, so that what is cut off their lengths does not change the rate.
    fn length_mean(&self) -> f64 {
        self.length.mean_within(LEAST_BYTES, MOST_BYTES)
    }

    fn gap_at(&self, rate_bps: f64, bytes: f64) -> Span {
        Span::from_seconds_f64(bytes * 8.0 / rate_bps)
    }

    fn poisson_gap(&mut self, rate_bps: f64) -> Span {
        let mean = self.gap_at(rate_bps, self.length_mean());
        Distribution::Exponential(mean.picoseconds() as f64).draw_span(&mut self.rng)
    }

    /// The time of the packet after one of `bytes` at `self.next`.
    #[inline(never)]
    fn following(&mut self, bytes: f64) -> Time {
        match self.pattern {
            UdpPattern::Constant { rate_bps, jitter, .. } => {
                let gap = self.gap_at(rate_bps, bytes);
                if jitter == 0.0 {
                    return self.next + gap;
                }
                let factor = 1.0 - jitter + 2.0 * jitter * uniform(&mut self.rng);
                self.next + Span::from_picoseconds((gap.picoseconds() as f64 * factor) as u64)
            }
            UdpPattern::OnOff { rate_bps, ref on, ref off } => {
                let (mut at, mut gap) = (self.next, self.gap_at(rate_bps, bytes));
                // A gap counts on periods only. Its rest continues in the next one, as in ns-3's `OnOffApplication`.
                while gap >= self.on_until.since(at) {
                    gap = gap - self.on_until.since(at);
                    at = self.on_until.saturating_add(off.draw_span(&mut self.rng));
                    if at >= self.stop {
                        return Time::NEVER;
                    }
                    self.on_until = at + on.draw_span(&mut self.rng);
                }
                at + gap
            }
            UdpPattern::Poisson { rate_bps } => self.next + self.poisson_gap(rate_bps),
            UdpPattern::Gaps(ref gap) => self.next + gap.draw_span(&mut self.rng),
            UdpPattern::Steps(ref steps) => time_of_bits(steps, self.next, bytes * 8.0),
        }
    }

    #[inline]
    fn emit(&mut self, out: &mut Outbox<'_>) {
        let now = self.next;
        let len_bytes = if let Some((len_bytes, gap)) = self.steady {
            self.next += gap;
            len_bytes
        } else {
            let bytes = self.length.draw(&mut self.rng).clamp(LEAST_BYTES, MOST_BYTES);
            self.next = self.following(bytes);
            (bytes + 0.5) as u16
        };
        self.send(now, len_bytes, out);
    }

    #[inline(always)]
    fn send(&mut self, now: Time, len_bytes: u16, out: &mut Outbox<'_>) {
        if self.context.checkpoints.next() <= now {
            self.check(now);
        }
        let packet = Packet::new(PacketFields {
            time: now,
            stamp: departure_stamp(now),
            number: self.counters.count.packets as u32,
            flow: self.context.flow,
            len_bytes,
            flags: 0,
            class: self.context.class,
            ecn: self.ecn,
        });
        self.counters.sent(&packet, false);
        out.send_datagram(packet);
    }

    #[cold]
    fn check(&mut self, now: Time) {
        while let Some((_, due)) = self.context.checkpoints.take(now) {
            self.counters.check(due, self.context.checkpoints.interval());
        }
    }
}

impl Endpoint for UdpSource {
    #[inline]
    fn next(&self) -> Time {
        if self.next < self.stop || !self.started { self.next } else { Time::NEVER }
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        if !self.started {
            self.begin();
        }
        let before = self.counters.count.packets;
        while self.next <= now && self.next < self.stop {
            self.emit(out);
        }
        out.channels.generated += self.counters.count.packets - before;
    }

    fn show(&self, show: &mut Show<'_>) {
        self.counters.record.show(self.context.flow, show);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.check(end);
        report.sender(self.context.flow, std::mem::take(&mut self.counters));
    }
}

/// The time at which `bits` have passed after `at`, which is not before the first step. A change of the rate takes
/// effect at once.
fn time_of_bits(steps: &[RateStep], mut at: Time, mut bits: f64) -> Time {
    let first = steps.partition_point(|step| step.from <= at).saturating_sub(1);
    for (step, next) in steps[first..].iter().zip(first + 1..) {
        let end = steps.get(next).map_or(Time::NEVER, |next| next.from);
        let done = at.saturating_add(Span::from_seconds_f64(bits / step.rate_bps));
        if done <= end {
            return done;
        }
        bits = (bits - end.since(at).seconds() * step.rate_bps).max(0.0);
        at = end;
    }
    Time::NEVER
}

#[repr(align(64))]
pub(crate) struct UdpSink {
    context: EndpointContext,
    header_bytes: u16,
    jitter: Jitter,
    counters: ReceiveCounters,
}

impl UdpSink {
    pub fn new(context: EndpointContext, header_bytes: u16, counters: ReceiveCounters) -> Self {
        Self { context, header_bytes, jitter: Jitter::default(), counters }
    }

    #[cold]
    fn check(&mut self, now: Time) {
        while let Some((_, due)) = self.context.checkpoints.take(now) {
            if matches!(due, Checkpoint::WarmUp) {
                self.jitter.begin_measurement();
            }
            self.counters.check(due, self.context.checkpoints.interval());
        }
    }
}

impl Endpoint for UdpSink {
    #[inline]
    fn receive(&mut self, packet: &Packet, _out: &mut Outbox<'_>) {
        if self.context.checkpoints.next() <= packet.time {
            self.check(packet.time);
        }
        self.counters.received(packet);
        self.jitter.record(packet.age());
        self.counters.count.payload += u64::from(packet.len_bytes().saturating_sub(u32::from(self.header_bytes)));
    }

    fn show(&self, show: &mut Show<'_>) {
        self.counters.record.show(self.context.flow, show);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.check(end);
        self.counters.record.jitter = self.jitter;
        report.receiver(self.context.flow, std::mem::take(&mut self.counters));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(milliseconds)
    }

    #[test]
    fn a_gap_goes_on_at_the_new_rate() {
        let steps = [
            RateStep { from: at(0), rate_bps: 8000.0 },
            RateStep { from: at(1500), rate_bps: 80_000.0 },
            RateStep { from: at(2000), rate_bps: 8000.0 },
        ];
        // Packets of 1000 B: one a second, then ten.
        assert_eq!(time_of_bits(&steps, at(0), 8000.0), at(1000));
        assert_eq!(time_of_bits(&steps, at(1000), 8000.0), at(1550), "half the gap at each rate");
        assert_eq!(time_of_bits(&steps, at(1550), 8000.0), at(1650));
        assert_eq!(time_of_bits(&steps, at(1950), 8000.0), at(2500), "half the gap at each rate");
        assert_eq!(time_of_bits(&steps, at(1500), 48_000.0), at(3000), "five packets in the middle step, one after it");
        assert_eq!(time_of_bits(&steps, at(2000), 8000.0), at(3000));
    }
}
