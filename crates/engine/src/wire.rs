//! A link: serialisation at a rate, then propagation.
//!
//! A link whose sending end nobody asked about (no discipline, no limit) is a [`Wire`] and nothing else: one packet in,
//! one packet out, no decision. The driver passes packets through such wires itself, without an outbox.

use forebay_qdisc::{Rate, Span, Time, uniform};
use rand_pcg::Pcg64Mcg;

use crate::packet::Packet;
use crate::process::Outbox;
use crate::queue_book::LossBook;
use crate::trace::Tracer;
use crate::window::{Checkpoints, Window};

/// The transmitting end of a link. What every packet touches is one cache line; the rest is in [`WireRecord`].
#[repr(C, align(64))]
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
    pub record: Box<WireRecord>,
}

const _: () = assert!(size_of::<Wire>() == 64);

/// What a link knows beside what every packet touches.
pub(crate) struct WireRecord {
    /// Its place in the order in which links were added.
    number: u32,
    pub name: String,
    pub rate: Rate,
    /// Packets whose transmission ended by the end of the run, since its start.
    hops: u64,
    /// The same within the measured interval, and their bytes.
    packets: u64,
    bytes: u64,
    /// Time spent transmitting within the measured interval.
    busy: Span,
    loss: Option<Loss>,
    pub lost: LossBook,
    tracer: Option<Tracer>,
    utilization: Option<UtilizationSeries>,
    /// When the utilisation is sampled, if the wire has to see to that itself.
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
    pub name: String,
    pub rate: Rate,
    pub utilization: f64,
    pub hops: u64,
    pub packets: u64,
    pub bytes: u64,
    pub lost: LossBook,
    pub tracer: Option<Tracer>,
    pub series: Option<Vec<f64>>,
}

impl Wire {
    pub fn new(number: u32, name: String, rate: Rate, propagation: Span, far_input_port: u16) -> Self {
        Self {
            free_at: Time::ZERO,
            propagation,
            memo_span: Span::ZERO,
            memo_len_bytes: 0,
            far_input_port,
            observed: false,
            uncounted: 0,
            record: Box::new(WireRecord {
                number,
                name,
                rate,
                hops: 0,
                packets: 0,
                bytes: 0,
                busy: Span::ZERO,
                loss: None,
                lost: LossBook::default(),
                tracer: None,
                utilization: None,
                checkpoints: Checkpoints::new(None, None),
            }),
        }
    }

    pub fn set_loss(&mut self, probability: f64, rng: Pcg64Mcg) {
        if probability > 0.0 {
            self.observed = true;
            self.record.loss = Some(Loss { probability, rng });
        }
    }

    pub fn set_tracer(&mut self, tracer: Tracer) {
        self.observed = true;
        self.record.tracer = Some(tracer);
    }

    /// Makes the utilisation a time series; with `checkpoints` if the wire stands alone, else a port calls
    /// [`Wire::sample`].
    pub fn sample_utilization(&mut self, checkpoints: Option<Checkpoints>) {
        self.observed = true;
        self.record.utilization = Some(UtilizationSeries::default());
        if let Some(checkpoints) = checkpoints {
            self.record.checkpoints = checkpoints;
        }
    }

    /// Takes a packet that has arrived at the sending end of a wire that stands alone: gives it as it arrives at the
    /// far end; `None` if the link loses it.
    #[inline(always)]
    pub fn pass(&mut self, packet: Packet, out: &mut Outbox) -> Option<Packet> {
        if self.observed && !self.enter_observed(packet, &out.window) {
            out.release(&{ packet });
            return None;
        }
        let start = packet.time.max(self.free_at);
        Some(self.transmit(&packet, start, out))
    }

    #[cold]
    fn enter_observed(&mut self, packet: Packet, window: &Window) -> bool {
        self.take_samples(packet.time);
        !self.record.loses(&packet, window)
    }

    /// Takes the samples that are due up to `now`.
    fn take_samples(&mut self, now: Time) {
        while let Some((at, _)) = self.record.checkpoints.take(now) {
            self.sample(at, self.record.checkpoints.interval());
        }
    }

    /// Whether the link loses this packet, before any queue sees it.
    #[inline]
    pub fn loses(&mut self, packet: &Packet, window: &Window) -> bool {
        self.observed && self.record.loses(packet, window)
    }

    /// Sends `packet` from `start` on: gives it as it arrives at the far end, and knows when the transmitter is free
    /// again.
    #[inline(always)]
    pub fn transmit(&mut self, packet: &Packet, start: Time, out: &mut Outbox) -> Packet {
        let len_bytes = packet.len_bytes();
        if len_bytes != self.memo_len_bytes {
            self.remember_length(len_bytes);
        }
        let end = start + self.memo_span;
        self.free_at = end;
        let packet = packet.arriving(end + self.propagation, self.far_input_port);
        if end <= out.window.to && start >= out.window.from {
            self.uncounted += 1;
        } else {
            self.count_at_the_edge(len_bytes, start, &out.window);
        }
        if self.observed {
            self.record.observe(packet, end, self.memo_span, out);
        }
        packet
    }

    #[cold]
    fn remember_length(&mut self, len_bytes: u32) {
        self.count();
        self.memo_len_bytes = len_bytes;
        self.memo_span = self.record.rate.transmission_time(u64::from(len_bytes));
    }

    /// Counts a transmission that does not lie within the measured interval as a whole.
    #[cold]
    fn count_at_the_edge(&mut self, len_bytes: u32, start: Time, window: &Window) {
        let record = &mut self.record;
        record.busy += window.clip(start, self.free_at);
        if self.free_at <= window.to {
            record.hops += 1;
            if self.free_at > window.from {
                record.packets += 1;
                record.bytes += u64::from(len_bytes);
            }
        }
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

    /// Samples the utilisation since the last sample. Everything planned beyond `at` is one busy period from `at` to
    /// `free_at`: the transmitter never rests while a packet waits.
    pub fn sample(&mut self, at: Time, interval: Span) {
        if let Some(series) = &mut self.record.utilization {
            let busy = series.planned.saturating_sub(self.free_at.since(at));
            series.values.push(busy.saturating_sub(series.sampled).seconds() / interval.seconds());
            series.sampled = busy;
        }
    }

    pub fn finish(&mut self, window: &Window) -> LinkReport {
        self.take_samples(window.to);
        self.count();
        let record = &mut self.record;
        LinkReport {
            number: record.number,
            name: record.name.clone(),
            rate: record.rate,
            utilization: record.busy.seconds() / window.seconds(),
            hops: record.hops,
            packets: record.packets,
            bytes: record.bytes,
            lost: std::mem::take(&mut record.lost),
            tracer: record.tracer.take(),
            series: record.utilization.take().map(|series| series.values),
        }
    }
}

impl WireRecord {
    #[cold]
    fn loses(&mut self, packet: &Packet, window: &Window) -> bool {
        let Some(loss) = &mut self.loss else { return false };
        let lost = !packet.is_ack() && uniform(&mut loss.rng) < loss.probability;
        if lost {
            self.lost.lost(packet, window);
        }
        lost
    }

    #[cold]
    fn observe(&mut self, packet: Packet, end: Time, transmission: Span, out: &Outbox) {
        if let Some(series) = &mut self.utilization {
            series.planned += transmission;
        }
        if let Some(tracer) = &mut self.tracer
            && end <= out.window.to
        {
            tracer.record(&packet, end, &out.sacks);
        }
    }
}
