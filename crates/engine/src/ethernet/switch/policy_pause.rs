//! PAUSE of an Ethernet switch as its buffer policy decides.
//!
//! As in the switch of HPCC's simulator, a frame that arrives may stop its feeder, and one that leaves may let it
//! continue. Frames of other inputs never make an input act. But the memory that they hold decides, too: all frames
//! that have left by then must be released first. So feeders continue after all ports have acted.

use forebay_qdisc::Time;
use forebay_switching::{PauseLevel, SharedMemory};

use crate::driver::node::Channels;
use crate::ethernet::switch::EthernetSwitch;

impl EthernetSwitch {
    /// A frame of `class` has come by `input`, and has its memory.
    #[cold]
    pub(super) fn order_by_policy(&mut self, input: usize, class: usize, now: Time, channels: &mut Channels) {
        if let Some(PauseLevel { is_high, .. }) = self.memory.pause_level(input, class) {
            let level = PauseLevel { is_high, is_low: false };
            self.ports[input].control.orders.decide(class, level, now);
            self.send_orders(input, now, now, channels);
        }
    }

    /// Memory of `class` at `input` has been released at `now`.
    pub(super) fn note_release(&mut self, input: usize, class: usize, now: Time) {
        if self.ports[input].control.orders.note_release(class) {
            self.upkeep_due = self.upkeep_due.min(now);
        }
    }

    /// Lets the feeder of `input` continue, or repeats the order to stop. All memory has been released.
    pub(super) fn order_after_releases(&mut self, input: usize, now: Time, channels: &mut Channels) {
        let classes = self.ports[input].control.orders.take_released();
        let is_due = self.ports[input].control.orders.poll_at() <= now;
        for class in (0..SharedMemory::CLASSES).filter(|class| classes & 1 << class != 0) {
            if let Some(PauseLevel { is_low, .. }) = self.memory.pause_level(input, class) {
                let level = PauseLevel { is_high: false, is_low };
                self.ports[input].control.orders.decide(class, level, now);
            }
        }
        for class in (0..SharedMemory::CLASSES).filter(|_| is_due) {
            self.ports[input].control.orders.decide(class, PauseLevel::default(), now);
        }
        if is_due || classes != 0 {
            self.send_orders(input, now, now, channels);
        }
    }
}
