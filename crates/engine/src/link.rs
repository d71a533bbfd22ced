//! A link: serialisation at a rate, then propagation.
//!
//! Nodes own the links on which they send: a packet goes in, and comes out as it arrives at the far end.

use forebay_qdisc::{Rate, Span, Time, uniform};
use rand_pcg::Pcg64Mcg;

use crate::observe::interval::{Checkpoints, MeasuredInterval};
use crate::observe::loss_book::LossBook;
use crate::observe::trace::Tracer;
use crate::packet::Packet;
use crate::packet::sack::SackTable;

/// A link that takes a packet when it is free. What every packet touches is less than a line of the processor's cache;
/// the rest is in [`LinkRecord`].
#[repr(C)]
pub(crate) struct Wire {
    /// Until when the transmitter is busy.
    pub free_at: Time,
    propagation: Span,
    /// The last length sent and its transmission time: nearly all packets of a direction are equally long.
    memo_span: Span,
    memo_len_bytes: u32,
    /// The number of this link among the inputs of the node at its far end.
    far_input_port: u16,
    /// Whether the link loses, traces or samples: whether `record` has to be looked at.
    observed: bool,
    /// Packets of the remembered length sent within the measured interval and not yet in the record: one addition for
    /// each packet instead of four.
    uncounted: u64,
    record: Box<LinkRecord>,
}

const _: () = assert!(size_of::<Wire>() == 48);

/// What a link knows beside what every packet touches. Of most links nothing is asked: what only some have is apart.
pub(crate) struct LinkRecord {
    /// Its place in the order in which links were added.
    number: u32,
    pub rate: Rate,
    /// The length sent before the last one and its transmission time: where there are two, such as data and control
    /// frames, they come in turn.
    memo_before: (u32, Span),
    /// Packets whose transmission ended by the end of the run, since its start.
    hops: u64,
    /// The same within the measured interval, and their bytes.
    packets: u64,
    bytes: u64,
    /// Time spent transmitting within the measured interval.
    busy: Span,
    /// Of an observed link.
    observed: Option<Box<Observed>>,
}

/// What is asked of a link that loses, traces or samples.
struct Observed {
    loss: Option<Loss>,
    lost: LossBook,
    tracer: Option<Box<Tracer>>,
    utilization: Option<UtilizationSeries>,
    /// When the utilisation is sampled, if the link has to see to that itself.
    checkpoints: Checkpoints,
}

/// Independent random loss of data packets.
struct Loss {
    probability: f64,
    rng: Pcg64Mcg,
}

/// The utilisation of a link over time.
#[derive(Default)]
struct UtilizationSeries {
    /// All time spent transmitting, begun or planned, since the start.
    planned: Span,
    sampled: Span,
    values: Vec<f64>,
}

/// What a link hands in at the end.
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

impl Wire {
    pub fn new(number: u32, rate: Rate, propagation: Span, far_input_port: u16) -> Self {
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
        Self {
            free_at: Time::ZERO,
            propagation,
            memo_span: Span::ZERO,
            memo_len_bytes: 0,
            far_input_port,
            observed: false,
            uncounted: 0,
            record: Box::new(record),
        }
    }

    pub fn set_loss(&mut self, probability: f64, rng: Pcg64Mcg) {
        if probability > 0.0 {
            self.observe().loss = Some(Loss { probability, rng });
        }
    }

    pub fn set_tracer(&mut self, tracer: Tracer) {
        self.observe().tracer = Some(Box::new(tracer));
    }

    /// Makes the utilisation a time series; with `checkpoints` if the wire stands alone, else a port calls
    /// [`Wire::sample`].
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

    /// Takes a packet that has arrived at the sending end of a wire that stands alone: returns it as it arrives at the
    /// far end; `None` if the link loses it.
    #[inline(always)]
    pub fn pass(&mut self, packet: Packet, measured: &MeasuredInterval, sacks: &SackTable) -> Option<Packet> {
        if self.observed && !self.enter_observed(&packet, measured) {
            return None;
        }
        let start = packet.time.max(self.free_at);
        Some(self.transmit(&packet, start, measured, sacks))
    }

    /// Whether the link loses this packet, before any queue sees it.
    #[inline]
    pub fn loses(&mut self, packet: &Packet, measured: &MeasuredInterval) -> bool {
        self.observed && self.record.observed.as_mut().is_some_and(|observed| observed.loses(packet, measured))
    }

    /// Sends `packet` from `start` on: returns it as it arrives at the far end, and knows when the transmitter is free
    /// again.
    #[inline(always)]
    pub fn transmit(&mut self, packet: &Packet, start: Time, measured: &MeasuredInterval, sacks: &SackTable) -> Packet {
        let len_bytes = packet.len_bytes();
        if len_bytes != self.memo_len_bytes {
            self.remember_length(len_bytes);
        }
        let end = start + self.memo_span;
        self.free_at = end;
        let packet = packet.arriving(end + self.propagation, self.far_input_port);
        if end <= measured.to && start >= measured.from {
            self.uncounted += 1;
        } else {
            self.record.count_at_the_edge(len_bytes, start, end, measured);
        }
        if self.observed
            && let Some(observed) = &mut self.record.observed
        {
            observed.sent(&packet, end, self.memo_span, measured, sacks);
        }
        packet
    }

    /// Samples the utilisation since the last sample.
    pub fn sample(&mut self, at: Time, interval: Span) {
        if let Some(observed) = &mut self.record.observed {
            observed.sample(at, interval, self.free_at);
        }
    }

    /// The link is observed from now on.
    fn observe(&mut self) -> &mut Observed {
        self.observed = true;
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

    /// Of an observed link: the packet, at the sending end, is lost there or goes on.
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
        let before = (self.memo_len_bytes, self.memo_span);
        let record = &mut self.record;
        if record.memo_before.0 != len_bytes {
            record.memo_before = (len_bytes, record.rate.transmission_time(u64::from(len_bytes)));
        }
        (self.memo_len_bytes, self.memo_span) = std::mem::replace(&mut record.memo_before, before);
    }

    /// Brings the record up to date.
    fn count(&mut self) {
        let packets = std::mem::take(&mut self.uncounted);
        let record = &mut self.record;
        record.hops += packets;
        record.packets += packets;
        record.bytes += packets * u64::from(self.memo_len_bytes);
        record.busy += self.memo_span * packets;
    }

    /// Hands in the books.
    pub fn finish(&mut self, measured: &MeasuredInterval) -> LinkReport {
        self.count();
        let record = &mut self.record;
        let (mut lost, mut tracer, mut series) = (LossBook::default(), None, None);
        if let Some(mut observed) = record.observed.take() {
            observed.take_samples(measured.to, self.free_at);
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
    /// Counts a transmission that does not lie within the measured interval as a whole.
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
    /// Takes the samples that are due up to `now`.
    fn take_samples(&mut self, now: Time, free_at: Time) {
        while let Some((at, _)) = self.checkpoints.take(now) {
            self.sample(at, self.checkpoints.interval(), free_at);
        }
    }

    /// Samples the utilisation since the last sample. Everything planned beyond `at` is one busy period from `at` to
    /// `free_at`: the transmitter never rests while a packet waits.
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
    fn sent(&mut self, packet: &Packet, end: Time, transmission: Span, measured: &MeasuredInterval, sacks: &SackTable) {
        if let Some(series) = &mut self.utilization {
            series.planned += transmission;
        }
        if let Some(tracer) = &mut self.tracer
            && end <= measured.to
        {
            tracer.record(packet, end, sacks);
        }
    }
}
