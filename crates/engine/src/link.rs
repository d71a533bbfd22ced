//! A link: serialisation at a rate, then propagation.
//!
//! The sending node owns the link. A packet goes in, and comes out as it arrives at the far end.
//!
//! | file | contents |
//! |---|---|
//! | `service.rs` | rates that change |
//! | `opportunities.rs` | times at which a trace allows to send |
//! | `impaired.rs` | outages, loss, duplication, delay, order |

use forebay_qdisc::framing::Framing;
use forebay_qdisc::{Rate, Span, Time};

use crate::driver::node::Channels;
use crate::driver::routes::Way;
use crate::link::impaired::Impaired;
use crate::link::opportunities::OpportunityService;
use crate::link::service::ServiceRate;
use crate::observe::interval::{Checkpoints, MeasuredInterval};
use crate::observe::reported::LinkReport;
use crate::observe::so_far::{Of, Show};
use crate::observe::trace::Tracer;
use crate::packet::Packet;
use crate::packet::side_tables::SideTables;
use crate::spec::{Opportunities, ServiceStep};

pub(crate) mod impaired;
mod opportunities;
pub(crate) mod service;

/// A link: the fields that every packet touches, in less than a cache line. The rest is in [`LinkRecord`].
#[repr(C)]
pub(crate) struct Link {
    /// Until when the transmitter is busy.
    pub free_at: Time,
    propagation: Span,
    /// The last length sent and its transmission time: most packets of a direction are equally long.
    memo_span: Span,
    /// From the lowest bit: that length (16 bits), a bit each for [`VARIES`], [`IMPAIRED`], [`TRACED`] and [`SAMPLED`],
    /// and packets of that length within the measured interval that are not in the record yet (44). If the rate varies
    /// the length is inverted, so that no packet has it.
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
const TRACED: u64 = 1 << 18;
/// The link samples its utilisation itself.
const SAMPLED: u64 = 1 << 19;
/// Its packets take a path of their own, away from the common one.
const SPECIAL: u64 = IMPAIRED | TRACED;
const ONE_PACKET: u64 = 1 << 20;

/// Fields that few packets touch.
pub(crate) struct LinkRecord {
    /// Its place in the order in which links were added.
    number: u32,
    /// Whether a host is at the far end.
    leads_to_host: bool,
    pub rate: Rate,
    /// The length before the last one and its transmission time: data and control frames come in turn.
    memo_before: (u32, Span),
    /// Packets whose transmission ended by the end of the run.
    hops: u64,
    /// The same within the measured interval, and their bytes.
    packets: u64,
    bytes: u64,
    /// Time of transmission within the measured interval, and outside of it.
    busy: Span,
    busy_outside: Span,
    /// Unless the rate is always the same.
    service: Option<Box<Service>>,
    /// Unless a packet takes its own bytes alone.
    framing: Option<Box<Framing>>,
    impaired: Option<Box<Impaired>>,
    tracer: Option<Box<Tracer>>,
    utilization: Option<Box<UtilizationSeries>>,
}

/// The service of a link whose rate is not always the same.
enum Service {
    Steps(ServiceRate),
    Opportunities(OpportunityService),
}

struct UtilizationSeries {
    /// When the utilisation is sampled, where no port does that.
    checkpoints: Checkpoints,
    /// Time of transmission up to the last sample.
    sampled: Span,
    values: Vec<f64>,
}

impl Link {
    /// Leads to the `input` of a node, from where packets go `way`.
    pub fn new(number: u32, rate: Rate, propagation: Span, input: u32, way: Way) -> Self {
        let record = LinkRecord {
            number,
            leads_to_host: false,
            rate,
            memo_before: (0, Span::ZERO),
            hops: 0,
            packets: 0,
            bytes: 0,
            busy: Span::ZERO,
            busy_outside: Span::ZERO,
            service: None,
            framing: None,
            impaired: None,
            tracer: None,
            utilization: None,
        };
        Self { free_at: Time::ZERO, propagation, memo_span: Span::ZERO, state: 0, input, way, record: Box::new(record) }
    }

    /// The rate changes in these steps.
    pub fn set_service(&mut self, steps: Vec<ServiceStep>) {
        self.state |= VARIES | LENGTH;
        self.record.service = Some(Box::new(Service::Steps(ServiceRate::new(self.record.rate, steps))));
    }

    /// It sends when a trace allows it.
    pub fn set_opportunities(&mut self, trace: &Opportunities) {
        self.state |= VARIES | LENGTH;
        self.record.service = Some(Box::new(Service::Opportunities(OpportunityService::new(trace))));
    }

    /// Packets take more bytes than their own.
    pub fn set_framing(&mut self, framing: Framing) {
        self.record.framing = Some(Box::new(framing));
    }

    pub fn impair(&mut self, impaired: Impaired) {
        self.state |= IMPAIRED;
        self.record.impaired = Some(Box::new(impaired));
    }

    pub fn set_tracer(&mut self, tracer: Tracer) {
        self.state |= TRACED;
        self.record.tracer = Some(Box::new(tracer));
    }

    /// Makes the utilisation a time series. Without `checkpoints` a port calls [`Link::sample`].
    pub fn sample_utilization(&mut self, checkpoints: Option<Checkpoints>) {
        if checkpoints.is_some() {
            self.state |= SAMPLED;
        }
        let checkpoints = checkpoints.unwrap_or_else(|| Checkpoints::new(None, None));
        let series = UtilizationSeries { checkpoints, sampled: Span::ZERO, values: Vec::new() };
        self.record.utilization = Some(Box::new(series));
    }

    /// A host is at the far end.
    pub fn set_leads_to_host(&mut self) {
        self.record.leads_to_host = true;
    }

    /// Whether a host is at the far end.
    pub fn leads_to_host(&self) -> bool {
        self.record.leads_to_host
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
        if self.state & SAMPLED != 0 {
            self.take_samples(packet.time);
        }
        let sent = self.transmit(packet, packet.time.max(self.free_at), measured);
        if self.state & TRACED != 0 {
            self.trace(&sent.word_by_word(), measured, tables);
        }
        sent
    }

    /// Takes a packet at the sending end of a link without a port, and sends it on from the far end.
    #[inline(always)]
    pub fn pass_on(&mut self, packet: &Packet, channels: &mut Channels) {
        if self.state & (SPECIAL | SAMPLED) != 0 && self.is_sent_specially(packet, channels) {
            return;
        }
        let sent = self.transmit(packet, packet.time.max(self.free_at), &channels.measured);
        channels.send(self.way, sent);
    }

    /// The same where packets mostly go to a node to which they come in order on each link.
    #[inline(always)]
    pub fn pass_on_by_link(&mut self, packet: &Packet, channels: &mut Channels) {
        if self.state & (SPECIAL | SAMPLED) != 0 && self.is_sent_specially(packet, channels) {
            return;
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

    /// Takes the samples that are due; sends the packet if it does not take the common path.
    #[inline(always)]
    fn is_sent_specially(&mut self, packet: &Packet, channels: &mut Channels) -> bool {
        self.take_samples(packet.time);
        let is_special = self.state & SPECIAL != 0;
        if is_special {
            self.send_special(packet.word_by_word(), packet.time.max(self.free_at), channels);
        }
        is_special
    }

    #[cold]
    #[inline(never)]
    fn send_special(&mut self, packet: Packet, start: Time, channels: &mut Channels) {
        let sent = self.transmit(&packet, start, &channels.measured);
        self.trace(&sent, &channels.measured, &channels.tables);
        match &mut self.record.impaired {
            Some(impaired) => impaired.pass(sent, (start, self.free_at), self.way, channels),
            None => channels.send(self.way, sent),
        }
    }

    #[cold]
    #[inline(never)]
    fn trace(&mut self, packet: &Packet, measured: &MeasuredInterval, tables: &SideTables) {
        if let Some(tracer) = &mut self.record.tracer
            && self.free_at <= measured.to
        {
            tracer.record(packet, self.free_at, tables);
        }
    }

    /// Sends `packet` from `start` on: returns it as it arrives at the far end.
    #[inline(always)]
    fn transmit(&mut self, packet: &Packet, start: Time, measured: &MeasuredInterval) -> Packet {
        let len_bytes = packet.len_bytes();
        if len_bytes as u16 != self.state as u16 {
            self.remember_length(packet, start);
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

    /// Samples the utilisation since the last sample. The plan beyond `at` is one busy period up to `free_at`: the
    /// transmitter never rests while a packet waits.
    pub fn sample(&mut self, at: Time, interval: Span) {
        self.count();
        let planned = self.record.busy + self.record.busy_outside;
        if let Some(series) = &mut self.record.utilization {
            let busy = planned.saturating_sub(self.free_at.since(at));
            series.values.push(busy.saturating_sub(series.sampled).seconds() / interval.seconds());
            series.sampled = busy;
        }
    }

    fn memo_len_bytes(&self) -> u32 {
        u32::from(if self.state & VARIES == 0 { self.state as u16 } else { !self.state as u16 })
    }

    #[cold]
    #[inline(never)]
    fn take_samples(&mut self, now: Time) {
        while let Some(series) = &mut self.record.utilization
            && let Some((at, _)) = series.checkpoints.take(now)
        {
            let interval = series.checkpoints.interval();
            self.sample(at, interval);
        }
    }

    #[cold]
    #[inline(never)]
    fn remember_length(&mut self, packet: &Packet, start: Time) {
        self.count();
        let len_bytes = packet.len_bytes();
        let framing = self.record.framing.as_deref();
        let bytes = u64::from(framing.map_or(len_bytes, |framing| framing.adjusted_bytes(len_bytes)));
        if let Some(service) = &mut self.record.service {
            let end = match &mut **service {
                // A transmission that begins at a rate of zero lasts until the rate is back.
                Service::Steps(rate) => rate.transmission(start, bytes).1,
                Service::Opportunities(trace) => {
                    trace.finish(start, start == self.free_at && packet.time < start, bytes)
                }
            };
            self.memo_span = end.since(start);
            self.state = self.state & !LENGTH | u64::from(!len_bytes as u16);
            return;
        }
        let before = (self.memo_len_bytes(), self.memo_span);
        let record = &mut self.record;
        if record.memo_before.0 != len_bytes {
            record.memo_before = (len_bytes, record.rate.transmission_time(bytes));
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

    /// Shows the utilisation so far, if it is a time series.
    pub fn show(&self, show: &mut Show<'_>) {
        if let Some(series) = &self.record.utilization {
            show(Of::Link(self.record.number), "utilization", &series.values, &[]);
        }
    }

    pub fn finish(&mut self, measured: &MeasuredInterval) -> LinkReport {
        self.count();
        self.take_samples(measured.to);
        let record = &mut self.record;
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
            tracer: record.tracer.take(),
            series: record.utilization.take().map(|series| series.up_to(measured.to)),
        }
    }
}

impl LinkRecord {
    /// Counts a transmission that is in part outside of the measured interval.
    #[cold]
    #[inline(never)]
    fn count_at_the_edge(&mut self, len_bytes: u32, start: Time, end: Time, measured: &MeasuredInterval) {
        let within = measured.clip(start, end);
        self.busy += within;
        self.busy_outside += end.since(start) - within;
        if end <= measured.to {
            self.hops += 1;
            if end > measured.from {
                self.packets += 1;
                self.bytes += u64::from(len_bytes);
            }
        }
    }
}

impl UtilizationSeries {
    /// Its samples. Processing times of hosts give packets a time after the end of the run.
    fn up_to(mut self, end: Time) -> Vec<f64> {
        if self.checkpoints.next() < Time::NEVER {
            self.values.truncate((end.picoseconds() / self.checkpoints.interval().picoseconds()) as usize);
        }
        self.values
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
