//! Storms of PAUSE at the outputs of an Ethernet switch.

use forebay_qdisc::{DropReason, Time};
use forebay_switching::SharedMemory;

use crate::driver::node::Channels;
use crate::ethernet::switch::EthernetSwitch;

impl EthernetSwitch {
    /// Asks the watchdog, if it is time, about storms that have begun or ended.
    pub(super) fn look_for_storms(&mut self, now: Time, channels: &mut Channels) {
        let Some(watchdog) = self.watchdog.as_mut().filter(|watchdog| watchdog.next_look() <= now) else { return };
        let changed = watchdog.look(&mut self.ports, now);
        let drops = watchdog.drops();
        for &number in &changed {
            let control = &mut self.ports[number].control;
            control.dropped = if drops { control.storms } else { 0 };
        }
        for number in changed {
            self.look_at(number, now, channels);
        }
    }

    /// Drops the waiting frames of the classes in a storm.
    #[cold]
    pub(super) fn discard(&mut self, number: usize, now: Time, channels: &mut Channels) {
        let dropped = self.ports[number].control.dropped;
        for class in (0..SharedMemory::CLASSES).filter(|class| dropped & 1 << class != 0) {
            while let Some(packet) = self.ports[number].queues.pop_last(class) {
                self.count_discarded(number, 1);
                self.evict(&packet, number, DropReason::Forced, now, channels);
            }
        }
        let packets = self.ports[number].discard_managed(dropped, now, &self.forwarding);
        self.count_discarded(number, packets);
        self.free_managed(number, now, channels);
    }

    fn count_discarded(&mut self, number: usize, packets: u64) {
        if let Some(watchdog) = &mut self.ports[number].control.report.watchdog {
            watchdog.packets_dropped += packets;
        }
    }
}
