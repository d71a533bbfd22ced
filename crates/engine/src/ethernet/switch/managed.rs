//! Outputs of an Ethernet switch with queue disciplines.

use forebay_qdisc::Time;

use forebay_switching::Frame;

use crate::driver::node::Channels;
use crate::ethernet::port::SwitchPort;
use crate::ethernet::switch::EthernetSwitch;
use crate::packet::Packet;

impl EthernetSwitch {
    #[inline(never)]
    pub(super) fn enqueue(&mut self, packet: Packet, output: usize, now: Time, channels: &mut Channels) {
        self.release(output, now);
        let class = self.class(&packet);
        let Self { ports, forwarding, .. } = self;
        ports[output].enqueue(packet, class, now, forwarding);
        self.drop_managed(output, now, channels);
        self.ports[output].note_managed_length(now);
    }

    /// Releases the memory of packets that the disciplines of a port have dropped.
    #[inline]
    pub(super) fn drop_managed(&mut self, number: usize, now: Time, channels: &mut Channels) {
        while let Some(packet) = self.ports[number].take_dropped() {
            channels.release(&packet);
            if self.sampled {
                self.ports[number].integrate_length(self.memory.of_output(number), now);
            }
            let (input, class) = (SwitchPort::input_of(&packet), self.class(&packet));
            self.memory.release(Frame { input, class, output: number, len_bytes: packet.len_bytes() });
            self.watch_memory(input, class, now, now, channels);
        }
    }
}
