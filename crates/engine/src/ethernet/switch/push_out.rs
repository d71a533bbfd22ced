//! A frame in the memory of an Ethernet switch makes room for another one.

use forebay_qdisc::{DropReason, Time};
use forebay_switching::Frame;

use crate::driver::node::Channels;
use crate::ethernet::port::SwitchPort;
use crate::ethernet::switch::EthernetSwitch;
use crate::observe::packet_recorder::Traits;
use crate::observe::queue_counters::Dropped;
use crate::packet::Packet;

impl EthernetSwitch {
    /// Pushes the last frame of a class out of the queue of an output. Returns false if none waits there.
    #[cold]
    pub(super) fn push_out(&mut self, (output, class): (usize, usize), now: Time, channels: &mut Channels) -> bool {
        let port = &mut self.ports[output];
        let commits_ahead = !port.chooses;
        if commits_ahead {
            port.revoke(now);
        }
        let last = port.queues.pop_last(class);
        if let Some(packet) = &last {
            self.ports[SwitchPort::input_of(packet)].control.report.frames_lost += 1;
            self.evict(packet, output, DropReason::Evicted, now, channels);
        }
        if commits_ahead {
            self.look_at(output, now, channels);
        }
        last.is_some()
    }

    /// Counts a frame that leaves the queue of an output without being sent, and frees its memory.
    pub(super) fn evict(
        &mut self,
        packet: &Packet,
        output: usize,
        reason: DropReason,
        now: Time,
        channels: &mut Channels,
    ) {
        let (input, class, len_bytes) = (SwitchPort::input_of(packet), self.class(packet), packet.len_bytes());
        let (entry, is_control) = (self.entry(packet), self.rows.is_control(packet.flow_id()));
        let port = &mut self.ports[output];
        if let Some(recorder) = &port.record.recorder {
            recorder.lock().evict(Traits::of(packet), packet.time, now);
        }
        let counters = &mut port.record.counters;
        counters.waited(1, u64::from(len_bytes), packet.time, now);
        if is_control {
            channels.tables.messages.take(packet.number());
            self.control_count.lost += 1;
        } else {
            channels.release(packet);
            let row = counters.arrival_at(entry.row() as usize, packet.time);
            counters.drop_at(row, len_bytes, reason, now, Dropped::AfterEnqueue);
        }
        if self.sampled {
            port.integrate_length(self.memory.of_output(output), now);
        }
        self.memory.release(Frame { input, class, output, len_bytes }, None);
        self.watch_memory(input, class, now, now, channels);
    }
}
