//! Ranks that a test gives, and the measurement of inversions.

use alloc::vec::Vec;

use super::*;
use crate::test_support::{Bench, Labelled};
use crate::{Discipline, Time};

/// The label of a packet is its rank.
pub struct ByLabel;

impl Ranks<Labelled> for ByLabel {
    fn rank(&mut self, packet: &Labelled, _cx: &mut Cx<'_, Labelled>) -> Rank {
        i64::from(packet.label)
    }
    fn dropped(&mut self, _: &Labelled, _: Rank) {}
    fn sent(&mut self, _: Rank) {}
    fn idle(&mut self) {}
    fn heap_bytes(&self) -> u64 {
        0
    }
    fn gauges(&self, _: &mut dyn FnMut(&'static str, f64)) {}
    fn flow_gauges(&self, _: FlowKey, _: &mut dyn FnMut(&'static str, f64)) {}
}

/// A packet of this rank; `number` separates it from others of the rank.
pub fn ranked(rank: u32, number: u64) -> Labelled {
    Labelled::new(rank, number, 1000, 0)
}

/// Departures that leave at least one smaller rank behind, as SP-PIFO's figures count them. Each of `slots` is the
/// ranks of the packets that arrive while one is sent.
pub fn inversions<D: Discipline<Labelled>>(discipline: D, slots: &[Vec<u32>]) -> usize {
    let mut bench = Bench::new(discipline);
    let mut queued: Vec<Labelled> = Vec::new();
    let mut number = 0;
    let mut inverted = 0;
    for ranks in slots {
        for rank in ranks {
            number += 1;
            let packet = ranked(*rank, number);
            queued.push(packet);
            bench.enqueue(packet);
        }
        for (dropped, ..) in bench.dropped.0.drain(..) {
            queued.retain(|packet| *packet != dropped);
        }
        bench.now = Time::ZERO;
        if let Some(sent) = bench.dequeue() {
            queued.retain(|packet| *packet != sent);
            inverted += usize::from(queued.iter().any(|packet| packet.label < sent.label));
        }
    }
    inverted
}
