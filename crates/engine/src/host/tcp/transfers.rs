//! Transfers that arrive during the run, each over a connection of its own.
//!
//! The connections of a workload between two hosts share a number of slots, each of which is a flow of the engine. The
//! source reuses a slot when its connection has ended: when the FIN is acknowledged, the sink has received everything.
//! Packets carry the generation of their slot, so the sink begins a new connection at the first packet of a later
//! generation, and both ends free packets of an earlier one, which were late.

mod sink;
mod source;

pub(crate) use sink::TransferSink;
pub(crate) use source::{TransferSource, TransferSourceParts};

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_qdisc::Time;

use crate::packet::Packet;

/// Whether a generation comes after another: they wrap.
fn comes_after(one: u8, other: u8) -> bool {
    let ahead = one.wrapping_sub(other) & Packet::GENERATIONS.wrapping_sub(1);
    ahead != 0 && ahead < Packet::GENERATIONS / 2
}

/// The timers of the slots. Entries may be too early.
#[derive(Default)]
struct Timers {
    entries: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Timers {
    /// A lower bound of the next timer.
    fn next(&self) -> Time {
        self.entries.peek().map_or(Time::NEVER, |&Reverse((at, _))| at)
    }

    /// Enters the timer of a slot, whose entry is at `planned`, unless there is an earlier one.
    fn plan(&mut self, slot: u32, deadline: Time, planned: &mut Time) {
        if deadline < *planned {
            *planned = deadline;
            self.entries.push(Reverse((deadline, slot)));
        }
    }

    /// Takes the first entry up to `now`: time and slot.
    fn take(&mut self, now: Time) -> Option<(Time, u32)> {
        if self.next() > now {
            return None;
        }
        self.entries.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_wrap() {
        let last = Packet::GENERATIONS - 1;
        assert!(comes_after(1, 0) && comes_after(0, last) && comes_after(3, last));
        assert!(!comes_after(0, 0) && !comes_after(0, 1) && !comes_after(last, 0));
    }
}
