//! A link: serialisation at a rate, then propagation.
//!
//! The sending node owns the link. A packet goes in, and comes out as it arrives at the far end.
//!
//! | file | contents |
//! |---|---|
//! | `service.rs` | rates that change |
//! | `impaired.rs` | loss, duplication, jitter |

use forebay_qdisc::{Rate, Span, Time};

use crate::driver::node::Channels;
use crate::driver::routes::Way;
use crate::link::impaired::Impaired;
use crate::link::service::ServiceRate;
use crate::observe::interval::{Checkpoints, MeasuredInterval};
use crate::observe::reported::LinkReport;
use crate::observe::trace::Tracer;
use crate::packet::Packet;
use crate::packet::side_tables::SideTables;
use crate::spec::ServiceStep;

pub(crate) mod impaired;
pub(crate) mod service;

/// A link: the fields that every packet touches, in less than a cache line. The rest is in [`LinkRecord`].
#[repr(C)]
pub(crate) struct Link {
    /// Until when the transmitter is busy.
    pub free_at: Time,
    propagation: Span,
    /// The last length sent and its transmission time: most packets of a direction are equally long.
    memo_span: Span,
    /// From the lowest bit: that length (16 bits), a bit each for [`VARIES`], [`IMPAIRED`] and [`OBSERVED`], and
    /// packets of that length within the measured interval that are not in the record yet (45). If the rate varies the
    /// length is inverted, so that no packet has it.
    state: u64,
    /// Its number among the inputs of the node at the far end.
    input: u32,
    /// Where packets go from there.
    pub way: Way,
    record: Box<LinkRecord>,
}

const _: () = assert!(size_of::<Link>() == 48);

const LENGTH: u64 = (1 << 16) - 1;
/// The rate changes.
const VARIES: u64 = 1 << 16;
const IMPAIRED: u64 = 1 << 17;
/// The link traces or samples.
const OBSERVED: u64 = 1 << 18;
/// Its packets take a path of their own, away from the common one.
const SPECIAL: u64 = IMPAIRED | OBSERVED;
const ONE_PACKET: u64 = 1 << 19;

/// Fields that few packets touch.
pub(crate) struct LinkRecord {
    /// Its place in the order in which links were added.
    number: u32,
    pub rate: Rate,
    /// The length before the last one and its transmission time: data and control frames come in turn.
    memo_before: (u32, Span),
    /// Packets whose transmission ended by the end of the run.
    hops: u64,
    /// The same within the measured interval, and their bytes.
    packets: u64,
    bytes: u64,
    /// Time of transmission within the measured interval.
    busy: Span,
    /// Unless the rate is always the same.
    service: Option<Box<ServiceRate>>,
    impaired: Option<Box<Impaired>>,
    observed: Option<Box<Observed>>,
}

struct Observed {
    tracer: Option<Box<Tracer>>,
    utilization: Option<UtilizationSeries>,
    /// When the utilisation is sampled, where no port does that.
    checkpoints: Checkpoints,
}

#[derive(Default)]
struct UtilizationSeries {
    /// Time of transmission since the start, begun or planned.
    planned: Span,
    sampled: Span,
    values: Vec<f64>,
}

impl Link {
    /// Leads to the `input` of a node, from where packets go `way`.
    pub fn new(number: u32, rate: Rate, propagation: Span, input: u32, way: Way) -> Self {
        let record = LinkRecord {
            number,
            rate,
            memo_before: (0, Span::ZERO),
            hops: 0,
            packets: 0,
            bytes: 0,
            busy: Span::ZERO,
            service: None,
            impaired: None,
            observed: None,
        };
        Self { free_at: Time::ZERO, propagation, memo_span: Span::ZERO, state: 0, input, way, record: Box::new(record) }
    }

    /// The rate changes in these steps.
    pub fn set_service(&mut self, steps: Vec<ServiceStep>) {
        self.state |= VARIES | LENGTH;
        self.record.service = Some(Box::new(ServiceRate::new(self.record.rate, steps)));
    }

    pub fn impair(&mut self, impaired: Impaired) {
        self.state |= IMPAIRED;
        self.record.impaired = Some(Box::new(impaired));
    }

    pub fn set_tracer(&mut self, tracer: Tracer) {
        self.observe().tracer = Some(Box::new(tracer));
    }

    /// Makes the utilisation a time series. Without `checkpoints` a port calls [`Link::sample`].
    pub fn sample_utilization(&mut self, checkpoints: Option<Checkpoints>) {
        let observed = self.observe();
        observed.utilization = Some(UtilizationSeries::default());
        if let Some(checkpoints) = checkpoints {
            observed.checkpoints = checkpoints;
        }
    }

    pub fn number(&self) -> u32 {
        self.record.number
    }

    pub fn rate(&self) -> Rate {
        self.record.rate
    }

    /// Takes a packet at the sending end of a link without a port and without impairments: returns it as it arrives at
    /// the far end.
    #[inline(always)]
    pub fn pass(&mut self, packet: &Packet, measured: &MeasuredInterval, tables: &SideTables) -> Packet {
        if self.state & OBSERVED != 0 {
            self.take_samples(packet.time);
        }
        let sent = self.transmit(packet, packet.time.max(self.free_at), measured);
        if self.state & OBSERVED != 0 {
            self.observe_sent(&sent.word_by_word(), measured, tables);
        }
        sent
    }

    /// Takes a packet at the sending end of a link without a port, and sends it on from the far end.
    #[inline(always)]
    pub fn pass_on(&mut self, packet: &Packet, channels: &mut Channels) {
        if self.state & SPECIAL != 0 {
            return self.pass_on_special(packet.word_by_word(), channels);
        }
        let sent = self.transmit(packet, packet.time.max(self.free_at), &channels.measured);
        channels.send(self.way, sent);
    }

    /// The same where packets mostly go to a node to which they come in order on each link.
    #[inline(always)]
    pub fn pass_on_by_link(&mut self, packet: &Packet, channels: &mut Channels) {
        if self.state & SPECIAL != 0 {
            return self.pass_on_special(packet.word_by_word(), channels);
        }
        let sent = self.transmit(packet, packet.time.max(self.free_at), &channels.measured);
        channels.send_by_link(self.way, sent.word_by_word());
    }

    /// Sends `packet` from `start` on, and on from the far end.
    #[inline(always)]
    pub fn send(&mut self, packet: &Packet, start: Time, channels: &mut Channels) {
        if self.state & SPECIAL != 0 {
            return self.send_special(packet.word_by_word(), start, channels);
        }
        let sent = self.transmit(packet, start, &channels.measured);
        channels.send(self.way, sent);
    }

    #[cold]
    #[inline(never)]
    fn pass_on_special(&mut self, packet: Packet, channels: &mut Channels) {
        self.take_samples(packet.time);
        self.send_special(packet, packet.time.max(self.free_at), channels);
    }

    #[cold]
    #[inline(never)]
    fn send_special(&mut self, packet: Packet, start: Time, channels: &mut Channels) {
        let sent = self.transmit(&packet, start, &channels.measured);
        self.observe_sent(&sent, &channels.measured, &channels.tables);
        match &mut self.record.impaired {
            Some(impaired) => impaired.pass(sent, self.way, channels),
            None => channels.send(self.way, sent),
        }
    }

    #[cold]
    #[inline(never)]
    fn observe_sent(&mut self, packet: &Packet, measured: &MeasuredInterval, tables: &SideTables) {
        if let Some(observed) = &mut self.record.observed {
            observed.sent(packet, self.free_at, self.memo_span, measured, tables);
        }
    }

    /// Sends `packet` from `start` on: returns it as it arrives at the far end.
    #[inline(always)]
    fn transmit(&mut self, packet: &Packet, start: Time, measured: &MeasuredInterval) -> Packet {
        let len_bytes = packet.len_bytes();
        if len_bytes as u16 != self.state as u16 {
            self.remember_length(len_bytes, start);
        }
        let end = start + self.memo_span;
        self.free_at = end;
        if end <= measured.to && start >= measured.from {
            self.state += ONE_PACKET;
        } else {
            self.record.count_at_the_edge(len_bytes, start, end, measured);
        }
        packet.arriving(end + self.propagation, self.input)
    }

    /// Samples the utilisation since the last sample.
    pub fn sample(&mut self, at: Time, interval: Span) {
        if let Some(observed) = &mut self.record.observed {
            observed.sample(at, interval, self.free_at);
        }
    }

    fn memo_len_bytes(&self) -> u32 {
        u32::from(if self.state & VARIES == 0 { self.state as u16 } else { !self.state as u16 })
    }

    fn observe(&mut self) -> &mut Observed {
        self.state |= OBSERVED;
        self.record.observed.get_or_insert_with(|| {
            Box::new(Observed { tracer: None, utilization: None, checkpoints: Checkpoints::new(None, None) })
        })
    }

    #[cold]
    #[inline(never)]
    fn take_samples(&mut self, now: Time) {
        if let Some(observed) = &mut self.record.observed {
            observed.take_samples(now, self.free_at);
        }
    }

    #[cold]
    #[inline(never)]
    fn remember_length(&mut self, len_bytes: u32, start: Time) {
        self.count();
        if let Some(service) = &self.record.service {
            // A transmission that begins at a rate of zero lasts until the rate is back.
            self.memo_span = service.transmission(start, u64::from(len_bytes)).1.since(start);
            self.state = self.state & !LENGTH | u64::from(!len_bytes as u16);
            return;
        }
        let before = (self.memo_len_bytes(), self.memo_span);
        let record = &mut self.record;
        if record.memo_before.0 != len_bytes {
            record.memo_before = (len_bytes, record.rate.transmission_time(u64::from(len_bytes)));
        }
        let (len_bytes, span) = std::mem::replace(&mut record.memo_before, before);
        (self.state, self.memo_span) = (self.state & !LENGTH | u64::from(len_bytes), span);
    }

    /// Brings the record up to date.
    fn count(&mut self) {
        let packets = self.state / ONE_PACKET;
        self.state %= ONE_PACKET;
        let len_bytes = self.memo_len_bytes();
        let record = &mut self.record;
        record.hops += packets;
        record.packets += packets;
        record.bytes += packets * u64::from(len_bytes);
        record.busy += self.memo_span * packets;
    }

    pub fn finish(&mut self, measured: &MeasuredInterval) -> LinkReport {
        self.count();
        let record = &mut self.record;
        let (mut tracer, mut series) = (None, None);
        if let Some(mut observed) = record.observed.take() {
            observed.take_samples(measured.to, self.free_at);
            observed.forget_samples_after(measured.to);
            tracer = observed.tracer;
            series = observed.utilization.map(|series| series.values);
        }
        let (lost, duplicated) =
            record.impaired.take().map_or_else(Default::default, |impaired| (impaired.lost, impaired.duplicated));
        LinkReport {
            number: record.number,
            rate: record.rate,
            utilization: record.busy.seconds() / measured.seconds(),
            hops: record.hops,
            packets: record.packets,
            bytes: record.bytes,
            lost,
            duplicated,
            tracer,
            series,
        }
    }
}

impl LinkRecord {
    /// Counts a transmission that is in part outside of the measured interval.
    #[cold]
    #[inline(never)]
    fn count_at_the_edge(&mut self, len_bytes: u32, start: Time, end: Time, measured: &MeasuredInterval) {
        self.busy += measured.clip(start, end);
        if end <= measured.to {
            self.hops += 1;
            if end > measured.from {
                self.packets += 1;
                self.bytes += u64::from(len_bytes);
            }
        }
    }
}

impl Observed {
    /// Processing times of hosts give packets a time after the end of the run.
    fn forget_samples_after(&mut self, end: Time) {
        if self.checkpoints.next() < Time::NEVER
            && let Some(series) = &mut self.utilization
        {
            series.values.truncate((end.picoseconds() / self.checkpoints.interval().picoseconds()) as usize);
        }
    }

    fn take_samples(&mut self, now: Time, free_at: Time) {
        while let Some((at, _)) = self.checkpoints.take(now) {
            self.sample(at, self.checkpoints.interval(), free_at);
        }
    }

    /// Samples the utilisation since the last sample. The plan beyond `at` is one busy period up to `free_at`: the
    /// transmitter never rests while a packet waits.
    fn sample(&mut self, at: Time, interval: Span, free_at: Time) {
        if let Some(series) = &mut self.utilization {
            let busy = series.planned.saturating_sub(free_at.since(at));
            series.values.push(busy.saturating_sub(series.sampled).seconds() / interval.seconds());
            series.sampled = busy;
        }
    }

    fn sent(
        &mut self,
        packet: &Packet,
        end: Time,
        transmission: Span,
        measured: &MeasuredInterval,
        tables: &SideTables,
    ) {
        if let Some(series) = &mut self.utilization {
            series.planned += transmission;
        }
        if let Some(tracer) = &mut self.tracer
            && end <= measured.to
        {
            tracer.record(packet, end, tables);
        }
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
