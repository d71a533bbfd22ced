//! Loss, duplication and jitter of packets on the way.

use forebay_qdisc::{Time, uniform};
use rand_pcg::Pcg64Mcg;

use crate::driver::node::Channels;
use crate::driver::routes::Way;
use crate::observe::loss_counters::LossCounters;
use crate::packet::{FlowId, Packet};
use crate::spec::Impairments;

/// The impairments of a link at work.
pub(crate) struct Impaired {
    spec: Impairments,
    rng: Pcg64Mcg,
    /// From this flow on, packets are PAUSE frames.
    first_pause: FlowId,
    /// When the last packet comes.
    last: Time,
    pub lost: LossCounters,
    pub duplicated: LossCounters,
}

impl Impaired {
    pub fn new(spec: Impairments, first_pause: FlowId, rng: Pcg64Mcg) -> Self {
        Self {
            spec,
            rng,
            first_pause,
            last: Time::ZERO,
            lost: LossCounters::default(),
            duplicated: LossCounters::default(),
        }
    }

    /// Passes `packet` on, which would arrive at its time.
    pub fn pass(&mut self, packet: Packet, way: Way, channels: &mut Channels) {
        if packet.flow_id() >= self.first_pause || packet.time > channels.measured.to {
            return channels.send(way, packet);
        }
        if self.happens(self.spec.duplication) {
            self.duplicated.add(&packet, &channels.measured);
            let copy = channels.tables.copy(&packet);
            self.pass_copy(copy, way, channels);
        }
        self.pass_copy(packet, way, channels);
    }

    fn pass_copy(&mut self, packet: Packet, way: Way, channels: &mut Channels) {
        if self.happens(self.spec.loss) {
            self.lost.add(&packet, &channels.measured);
            return channels.tables.discard(&packet);
        }
        let mut time = packet.time;
        if let Some(jitter) = self.spec.jitter {
            time = time.saturating_add(jitter.draw_span(&mut self.rng));
        }
        if !self.spec.reorders {
            time = time.max(self.last);
            self.last = time;
        }
        channels.send(way, packet.at(time));
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && uniform(&mut self.rng) < probability
    }
}
