//! The arrival of a frame at an Ethernet switch: memory, congestion point, and the queue of its output.

use forebay_qdisc::{DropReason, Packet as _, Span, Time};
use forebay_switching::{Arriving, Frame, MemoryFull};

use crate::driver::node::Channels;
use crate::ethernet::departures::Departure;
use crate::ethernet::discipline_queues::Freed;
use crate::ethernet::port::SwitchPort;
use crate::ethernet::switch::{EthernetSwitch, begin_probe, release};
use crate::observe::packet_recorder::Traits;
use crate::packet::Packet;

impl EthernetSwitch {
    /// A frame has arrived completely.
    #[inline]
    pub(super) fn arrive(&mut self, packet: Packet, channels: &mut Channels) {
        if self.rows.is_control(packet.flow_id()) || self.forwarding_delay > Span::ZERO {
            return self.arrive_specially(packet.word_by_word(), channels);
        }
        self.admit(packet, channels);
    }

    /// A control frame has arrived, or a frame that is not forwarded at once.
    #[cold]
    #[inline(never)]
    fn arrive_specially(&mut self, packet: Packet, channels: &mut Channels) {
        let flow = packet.flow_id();
        if self.rows.is_control(flow) && (packet.is_ack() || self.rows.is_pause(flow)) {
            return self.arrive_control(packet, channels);
        }
        if self.forwarding_delay == Span::ZERO {
            let (output, packet) = self.forward(packet, channels);
            return self.admit_carefully(packet, output, packet.time, channels);
        }
        let packet = packet.at(packet.time + self.forwarding_delay);
        self.upkeep_due = self.upkeep_due.min(packet.time);
        self.delayed.push(packet);
    }

    /// Queues a data frame at its arrival, mostly where memory is ample and no congestion point sees it.
    #[inline(always)]
    fn admit(&mut self, packet: Packet, channels: &mut Channels) {
        let (entry, input, class) = (self.entry(&packet), SwitchPort::input_of(&packet), self.class(&packet));
        if entry.is_in_table() {
            let (output, packet) = self.forward(packet.word_by_word(), channels);
            return self.admit_carefully(packet, output, packet.time, channels);
        }
        let (output, len_bytes) = (entry.output(), packet.len_bytes());
        let port = &mut self.ports[output];
        if self.sampled || !port.sampler.skips_next() || self.memory.is_close(input, len_bytes) {
            return self.admit_carefully(packet.word_by_word(), output, packet.time, channels);
        }
        // ACKs are not rate limited.
        if !packet.is_ack() {
            port.sample_frame(len_bytes);
        }
        self.memory.take(Frame { input, class, output, len_bytes });
        self.join(packet, Some(entry.row()), output, class, channels);
    }

    /// The output of a data frame that is forwarded now, and the frame as it leaves. Asked once for each.
    #[inline(never)]
    pub(super) fn forward(&mut self, packet: Packet, channels: &Channels) -> (usize, Packet) {
        let entry = self.entry(&packet);
        match &mut self.paths {
            Some(paths) if entry.is_in_table() => paths.forward(&packet, channels),
            _ => (entry.output(), packet),
        }
    }

    /// Queues a frame of any kind at `now`, if there is memory.
    #[inline(never)]
    pub(super) fn admit_carefully(&mut self, mut packet: Packet, output: usize, now: Time, channels: &mut Channels) {
        let (entry, input, class) = (self.entry(&packet), SwitchPort::input_of(&packet), self.class(&packet));
        let len_bytes = packet.len_bytes();
        let is_probe = self.rows.is_control(packet.flow_id());
        let is_close = self.sampled || self.memory.is_close(input, len_bytes);
        if !is_close {
            self.memory.take(Frame { input, class, output, len_bytes });
        } else if !self.take_closely(&packet, output, now, channels) {
            return;
        }
        if !is_probe && !packet.is_ack() && self.ports[output].sample_frame(len_bytes) {
            packet = self.consult(packet, output, now, channels);
        }
        if self.stops_by_policy {
            self.order_by_policy(input, class, now, channels);
        } else if is_close {
            self.watch_memory(input, class, now, now, channels);
        }
        self.join(packet.at(now), (!is_probe).then_some(entry.row()), output, class, channels);
    }

    /// A frame that has its memory joins the queue of its output at `packet.time`. Probes have no row in the counters.
    /// Inlined to keep the packet in registers: in memory, it would be stored word by word and loaded as a whole, which
    /// defeats store forwarding.
    #[inline(always)]
    fn join(&mut self, packet: Packet, row: Option<u32>, output: usize, class: usize, channels: &mut Channels) {
        let (now, is_probe) = (packet.time, row.is_none());
        let Self { ports, memory, sampled, .. } = self;
        let port = &mut ports[output];
        if port.chooses {
            return self.join_choice(packet.word_by_word(), output, now, channels);
        }
        let start = if port.is_open_and_free(now) {
            port.note_alone(now);
            now
        } else {
            release(port, memory, output, *sampled, now);
            let Some(start) = port.start_on_arrival(now, is_probe) else {
                return self.wait(packet.word_by_word(), output, now, channels);
            };
            port.note_length(1, now);
            start
        };
        if is_probe {
            begin_probe(&packet.word_by_word(), port, now, channels);
        }
        if !port.commit(&packet, start, class, row.unwrap_or(Departure::NOT_COUNTED), now, channels) {
            self.keep(output);
        }
        if self.has_stopped {
            self.plan_release(output);
        }
    }

    /// Queues a frame at a port that chooses among its frames, or asks a law about each.
    #[inline(never)]
    fn join_choice(&mut self, packet: Packet, output: usize, now: Time, channels: &mut Channels) {
        self.release(output, now);
        let class = self.class(&packet);
        let Self { ports, forwarding, .. } = self;
        let port = &mut ports[output];
        let Some(managed) = &mut port.managed else {
            port.queues.push(class, SwitchPort::input_of(&packet), packet);
            port.note_length(0, now);
            return self.choose_later(output, now);
        };
        managed.enqueue(packet, class, &mut port.record, forwarding, channels);
        let is_fifo = managed.is_fifo;
        self.free_managed(output, now, channels);
        let port = &mut self.ports[output];
        port.note(port.waiting(now), now);
        if is_fifo { self.look_at(output, now, channels) } else { self.choose_later(output, now) }
    }

    /// Releases the memory of packets that the disciplines of a port have dropped or cut.
    #[inline]
    pub(super) fn free_managed(&mut self, number: usize, now: Time, channels: &mut Channels) {
        while let Some(freed) = self.ports[number].managed.as_mut().and_then(|managed| managed.freed.pop()) {
            let (packet, len_bytes) = match freed {
                Freed::Dropped(packet) => {
                    channels.release(&packet);
                    (packet, packet.len_bytes())
                }
                Freed::Cut(packet, cut_bytes) => {
                    channels.tables.note_trimmed(&packet, self.ports[number].link.leads_to_host());
                    (packet, cut_bytes)
                }
            };
            if self.sampled {
                self.ports[number].integrate_length(self.memory.of_output(number), now);
            }
            let (input, class) = (SwitchPort::input_of(&packet), self.class(&packet));
            self.memory.release(Frame { input, class, output: number, len_bytes }, None);
            self.watch_memory(input, class, now, now, channels);
        }
    }

    /// Queues a frame that cannot be committed yet.
    #[inline(never)]
    fn wait(&mut self, packet: Packet, output: usize, now: Time, channels: &mut Channels) {
        let (input, class) = (SwitchPort::input_of(&packet), self.class(&packet));
        let port = &mut self.ports[output];
        port.queues.push(class, input, packet);
        port.note_length(0, now);
        if port.queues.len() == 1 || port.departures.len() == 0 {
            self.look_at(output, now, channels);
        }
    }

    /// Takes memory near a limit or for samples, where the exact use matters. Returns false if there is no room.
    #[inline(never)]
    fn take_closely(&mut self, packet: &Packet, output: usize, now: Time, channels: &mut Channels) -> bool {
        self.release_all(now);
        if self.sampled {
            self.ports[output].integrate_length(self.memory.of_output(output), now);
        }
        let (input, class) = (SwitchPort::input_of(packet), self.class(packet));
        let frame = Frame { input, class, output, len_bytes: packet.len_bytes() };
        let (flow, rate) = (packet.flow().0, self.ports[output].link.rate());
        let arriving = Arriving { now, flow, rate };
        let mut taken = self.memory.admit(frame, arriving);
        while taken == Err(MemoryFull::All)
            && let Some(victim) = self.memory.victim(frame)
            && self.push_out(victim, now, channels)
        {
            taken = self.memory.admit(frame, arriving);
        }
        if let Err(full) = taken {
            self.lose(*packet, output, full, now, channels);
        }
        taken.is_ok()
    }

    #[cold]
    fn lose(&mut self, packet: Packet, output: usize, full: MemoryFull, now: Time, channels: &mut Channels) {
        let reason = match full {
            MemoryFull::Partition => DropReason::InputPort,
            MemoryFull::Output | MemoryFull::All => DropReason::Overflow,
        };
        self.ports[SwitchPort::input_of(&packet)].control.report.frames_lost += 1;
        if let Some(recorder) = &self.ports[output].record.recorder {
            recorder.lock().refuse(Traits::of(&packet), now);
        }
        if self.rows.is_control(packet.flow_id()) {
            channels.tables.messages.take(packet.number());
            self.control_count.lost += 1;
            return;
        }
        channels.release(&packet);
        let row = self.entry(&packet).row() as usize;
        self.ports[output].record.counters.refuse_at(row, packet.len_bytes(), reason, now);
    }
}
