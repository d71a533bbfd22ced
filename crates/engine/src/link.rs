//! A link: serialisation at a rate, then propagation.
//!
//! The sending node owns the link. A packet goes in, and comes out as it arrives at the far end.

use forebay_qdisc::{Rate, Span, Time, uniform};
use rand_pcg::Pcg64Mcg;

use crate::driver::routes::Way;
use crate::observe::interval::{Checkpoints, MeasuredInterval};
use crate::observe::loss_book::LossBook;
use crate::observe::trace::Tracer;
use crate::packet::Packet;
use crate::packet::side_tables::SideTables;

/// A link: the fields that every packet touches, in less than a cache line. The rest is in [`LinkRecord`].
#[repr(C)]
pub(crate) struct Link {
    /// Until when the transmitter is busy.
    pub free_at: Time,
    propagation: Span,
    /// The last length sent and its transmission time: most packets of a direction are equally long.
    memo_span: Span,
    /// From the lowest bit: that length (16 bits), whether it loses, traces or samples (1), and packets of that length
    /// within the measured interval that are not in the record yet (47).
    state: u64,
    /// Its number among the inputs of the node at the far end.
    input: u32,
    /// Where packets go from there.
    pub way: Way,
    record: Box<LinkRecord>,
}

const _: () = assert!(size_of::<Link>() == 48);

const OBSERVED: u64 = 1 << 16;
const ONE_PACKET: u64 = 1 << 17;

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
    observed: Option<Box<Observed>>,
}

struct Observed {
    loss: Option<Loss>,
    lost: LossBook,
    tracer: Option<Box<Tracer>>,
    utilization: Option<UtilizationSeries>,
    /// When the utilisation is sampled, where no port does that.
    checkpoints: Checkpoints,
}

/// Independent random loss of data packets.
struct Loss {
    probability: f64,
    rng: Pcg64Mcg,
}

#[derive(Default)]
struct UtilizationSeries {
    /// Time of transmission since the start, begun or planned.
    planned: Span,
    sampled: Span,
    values: Vec<f64>,
}

pub(crate) struct LinkReport {
    pub number: u32,
    pub rate: Rate,
    pub utilization: f64,
    pub hops: u64,
    pub packets: u64,
    pub bytes: u64,
    pub lost: LossBook,
    pub tracer: Option<Box<Tracer>>,
    pub series: Option<Vec<f64>>,
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
            observed: None,
        };
        Self { free_at: Time::ZERO, propagation, memo_span: Span::ZERO, state: 0, input, way, record: Box::new(record) }
    }

    pub fn set_loss(&mut self, probability: f64, rng: Pcg64Mcg) {
        if probability > 0.0 {
            self.observe().loss = Some(Loss { probability, rng });
        }
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

    /// Takes a packet at the sending end of a link without a port: returns it as it arrives at the far end; `None` if
    /// the link loses it.
    #[inline(always)]
    pub fn pass(&mut self, packet: Packet, measured: &MeasuredInterval, tables: &SideTables) -> Option<Packet> {
        if self.is_observed() && !self.enter_observed(&packet.word_by_word(), measured) {
            return None;
        }
        let start = packet.time.max(self.free_at);
        Some(self.transmit(&packet, start, measured, tables))
    }

    /// Whether the link loses this packet. Asked before any queue sees it.
    #[inline]
    pub fn loses(&mut self, packet: &Packet, measured: &MeasuredInterval) -> bool {
        self.is_observed() && self.record.observed.as_mut().is_some_and(|observed| observed.loses(packet, measured))
    }

    /// Sends `packet` from `start` on: returns it as it arrives at the far end.
    #[inline(always)]
    pub fn transmit(
        &mut self,
        packet: &Packet,
        start: Time,
        measured: &MeasuredInterval,
        tables: &SideTables,
    ) -> Packet {
        let len_bytes = packet.len_bytes();
        if len_bytes as u16 != self.state as u16 {
            self.remember_length(len_bytes);
        }
        let end = start + self.memo_span;
        self.free_at = end;
        let packet = packet.arriving(end + self.propagation, self.input);
        if end <= measured.to && start >= measured.from {
            self.state += ONE_PACKET;
        } else {
            self.record.count_at_the_edge(len_bytes, start, end, measured);
        }
        if self.is_observed()
            && let Some(observed) = &mut self.record.observed
        {
            observed.sent(&packet.word_by_word(), end, self.memo_span, measured, tables);
        }
        packet
    }

    /// Samples the utilisation since the last sample.
    pub fn sample(&mut self, at: Time, interval: Span) {
        if let Some(observed) = &mut self.record.observed {
            observed.sample(at, interval, self.free_at);
        }
    }

    #[inline]
    fn is_observed(&self) -> bool {
        self.state & OBSERVED != 0
    }

    fn memo_len_bytes(&self) -> u32 {
        u32::from(self.state as u16)
    }

    fn observe(&mut self) -> &mut Observed {
        self.state |= OBSERVED;
        self.record.observed.get_or_insert_with(|| {
            Box::new(Observed {
                loss: None,
                lost: LossBook::default(),
                tracer: None,
                utilization: None,
                checkpoints: Checkpoints::new(None, None),
            })
        })
    }

    /// A packet enters an observed link: whether it is not lost there.
    #[cold]
    #[inline(never)]
    fn enter_observed(&mut self, packet: &Packet, measured: &MeasuredInterval) -> bool {
        let Some(observed) = &mut self.record.observed else { return true };
        observed.take_samples(packet.time, self.free_at);
        !observed.loses(packet, measured)
    }

    #[cold]
    #[inline(never)]
    fn remember_length(&mut self, len_bytes: u32) {
        self.count();
        let before = (self.memo_len_bytes(), self.memo_span);
        let record = &mut self.record;
        if record.memo_before.0 != len_bytes {
            record.memo_before = (len_bytes, record.rate.transmission_time(u64::from(len_bytes)));
        }
        let (len_bytes, span) = std::mem::replace(&mut record.memo_before, before);
        (self.state, self.memo_span) = (self.state & OBSERVED | u64::from(len_bytes), span);
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
        let (mut lost, mut tracer, mut series) = (LossBook::default(), None, None);
        if let Some(mut observed) = record.observed.take() {
            observed.take_samples(measured.to, self.free_at);
            observed.forget_samples_after(measured.to);
            (lost, tracer) = (observed.lost, observed.tracer);
            series = observed.utilization.map(|series| series.values);
        }
        LinkReport {
            number: record.number,
            rate: record.rate,
            utilization: record.busy.seconds() / measured.seconds(),
            hops: record.hops,
            packets: record.packets,
            bytes: record.bytes,
            lost,
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

    #[cold]
    fn loses(&mut self, packet: &Packet, measured: &MeasuredInterval) -> bool {
        let Some(loss) = &mut self.loss else { return false };
        let lost = !packet.is_ack() && uniform(&mut loss.rng) < loss.probability;
        if lost {
            self.lost.lost(packet, measured);
        }
        lost
    }

    #[cold]
    #[inline(never)]
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
