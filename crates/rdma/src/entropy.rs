//! Choice of the entropy of each packet, by which switches choose its path.
//!
//! A sender with n paths uses n entropies. Feedback names the entropy of the packet that was acknowledged, marked or
//! trimmed.
//!
//! Source: `uec_mp.cpp` of the Ultra Ethernet Consortium's simulator; Bonato et al., "REPS", 2025.
//!
//! # Where we differ
//! The source has no entropy of a packet that timed out, and charges the one whose bits are all set. Here a caller
//! without it passes `None`, and only REPS reacts.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use forebay_units::{Span, Time};
use rand_core::Rng;

/// The most that a path is penalized, and the penalties of signs of congestion.
const MAX_PENALTY: u8 = 15;
const MARK_PENALTY: u8 = 1;
const TRIM_PENALTY: u8 = 4;
/// Entropies that REPS keeps.
const RING: usize = 8;
/// After a timeout, REPS repeats its ring for this long, and then explores with this many packets.
const FREEZE: Span = Span::from_milliseconds(10);
const EXPLORED_PACKETS: u8 = 16;

/// Choice of entropies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum LoadBalancing {
    /// All in turn, in an order that changes at random.
    Oblivious,
    /// As oblivious, but entropies with marks, trims or timeouts are skipped for some turns.
    Bitmap,
    /// Repeats the entropies of unmarked ACKs, in a ring of eight; else a random one.
    Reps,
    /// Repeats the entropies of unmarked ACKs; without one, as bitmap.
    Mixed,
}

/// The sign that a packet's path gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFeedback {
    /// The packet arrived without a mark.
    Good,
    /// It arrived marked.
    Marked,
    /// It was trimmed.
    Trimmed,
    /// It timed out.
    TimedOut,
}

/// All entropies in turn: an index with some bits inverted, other ones in each pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    mask: u16,
    index: u16,
    inverted: u16,
    /// The bits above the mask, which differ from flow to flow.
    upper: u16,
}

impl Turns {
    pub fn new(paths: u16, rng: &mut dyn Rng) -> Self {
        let mask = paths - 1;
        let draw = rng.next_u32();
        Self { mask, index: 0, inverted: draw as u16 & mask, upper: (draw >> 16) as u16 & !mask }
    }

    pub fn current(&self) -> u16 {
        (self.index ^ self.inverted) & self.mask
    }

    pub fn mask(&self) -> u16 {
        self.mask
    }

    /// The current one with the bits of the flow.
    pub fn entropy(&self) -> u16 {
        self.current() | self.upper
    }

    pub fn advance(&mut self, rng: &mut dyn Rng) {
        self.index += 1;
        if self.index > self.mask {
            self.index = 0;
            self.inverted = rng.next_u32() as u16 & self.mask;
        }
    }
}

/// The ring of REPS.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    entropies: [u16; RING],
    /// The slot for the next one, and how many have been filled.
    head: u8,
    count: u8,
    /// Entropies not used since their ACK: the last ones before the head.
    fresh: u8,
    /// Set while frozen: when that may end, and the slot that is used next.
    frozen_until: Option<Time>,
    next_frozen: u8,
    /// Packets that still explore.
    exploring: u8,
}

impl Ring {
    fn feedback(&mut self, entropy: Option<u16>, feedback: PathFeedback, now: Time) {
        if feedback == PathFeedback::TimedOut && self.frozen_until.is_none() && self.exploring == 0 {
            self.frozen_until = Some(now.saturating_add(FREEZE));
        }
        if self.frozen_until.is_some_and(|end| now > end) {
            *self = Self { exploring: EXPLORED_PACKETS, ..Self::default() };
        }
        if let (Some(entropy), PathFeedback::Good) = (entropy, feedback) {
            self.entropies[usize::from(self.head)] = entropy;
            self.head = (self.head + 1) % RING as u8;
            self.fresh = (self.fresh + 1).min(RING as u8);
            self.count = (self.count + 1).min(RING as u8);
        }
    }

    /// The next entropy, if the ring offers one.
    fn take(&mut self) -> Option<u16> {
        if self.exploring > 0 {
            self.exploring -= 1;
            return None;
        }
        if self.frozen_until.is_some() {
            let slot = (self.count > 0).then_some(self.next_frozen % self.count.max(1))?;
            self.next_frozen = slot + 1;
            self.fresh = self.fresh.saturating_sub(1);
            return Some(self.entropies[usize::from(slot)]);
        }
        self.fresh = self.fresh.checked_sub(1)?;
        let slot = (usize::from(self.head) + RING - usize::from(self.fresh) - 1) % RING;
        Some(self.entropies[slot])
    }
}

#[derive(Clone, Debug)]
enum Choice {
    Oblivious(Turns),
    /// Penalties by entropy; empty before the first one.
    Bitmap(Turns, Vec<u8>),
    Reps(Ring, u16),
    Mixed(Turns, Vec<u8>, VecDeque<u16>),
}

/// The entropies of a flow.
#[derive(Clone, Debug)]
pub struct Entropies(Choice);

impl Entropies {
    /// The entropies of a flow with `paths` paths, which are rounded up to a power of two of at most 2^15.
    #[must_use]
    pub fn new(balancing: LoadBalancing, paths: u16, rng: &mut dyn Rng) -> Self {
        let paths = paths.clamp(1, 1 << 15).next_power_of_two();
        Self(match balancing {
            LoadBalancing::Oblivious => Choice::Oblivious(Turns::new(paths, rng)),
            LoadBalancing::Bitmap => Choice::Bitmap(Turns::new(paths, rng), Vec::new()),
            LoadBalancing::Reps => Choice::Reps(Ring::default(), paths - 1),
            LoadBalancing::Mixed => Choice::Mixed(Turns::new(paths, rng), Vec::new(), VecDeque::new()),
        })
    }

    /// A sign about `entropy`; `None` if the caller does not know it.
    pub fn feedback(&mut self, entropy: Option<u16>, feedback: PathFeedback, now: Time) {
        match &mut self.0 {
            Choice::Oblivious(_) => {}
            Choice::Bitmap(turns, penalties) => penalize(turns, penalties, entropy, feedback),
            Choice::Reps(ring, _) => ring.feedback(entropy, feedback, now),
            Choice::Mixed(turns, penalties, recycled) => {
                penalize(turns, penalties, entropy, feedback);
                if let (Some(entropy), PathFeedback::Good) = (entropy, feedback) {
                    recycled.push_back(entropy);
                }
            }
        }
    }

    /// The entropy of the next packet.
    pub fn next(&mut self, rng: &mut dyn Rng) -> u16 {
        match &mut self.0 {
            Choice::Oblivious(turns) => {
                let entropy = turns.entropy();
                turns.advance(rng);
                entropy
            }
            Choice::Bitmap(turns, penalties) => next_of_bitmap(turns, penalties, rng),
            Choice::Reps(ring, mask) => ring.take().unwrap_or_else(|| rng.next_u32() as u16 & *mask),
            Choice::Mixed(turns, penalties, recycled) => {
                recycled.pop_front().unwrap_or_else(|| next_of_bitmap(turns, penalties, rng))
            }
        }
    }
}

fn penalize(turns: &Turns, penalties: &mut Vec<u8>, entropy: Option<u16>, feedback: PathFeedback) {
    let penalty = match feedback {
        PathFeedback::Good => return,
        PathFeedback::Marked => MARK_PENALTY,
        PathFeedback::Trimmed => TRIM_PENALTY,
        PathFeedback::TimedOut => MAX_PENALTY,
    };
    let Some(entropy) = entropy else { return };
    penalties.resize(usize::from(turns.mask) + 1, 0);
    let counter = &mut penalties[usize::from(entropy & turns.mask)];
    *counter = (*counter + penalty).min(MAX_PENALTY);
}

/// The next entropy without a penalty. The first one that is skipped loses one; if all have penalties, the last one
/// that was examined is used.
fn next_of_bitmap(turns: &mut Turns, penalties: &mut [u8], rng: &mut dyn Rng) -> u16 {
    let mut is_first = true;
    for _ in 0..penalties.len() {
        let penalty = &mut penalties[usize::from(turns.current())];
        if *penalty == 0 {
            break;
        }
        if core::mem::take(&mut is_first) {
            *penalty -= 1;
        }
        turns.advance(rng);
    }
    let entropy = turns.entropy();
    turns.advance(rng);
    entropy
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn flow(balancing: LoadBalancing, paths: u16) -> (Entropies, Pcg64Mcg) {
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        (Entropies::new(balancing, paths, &mut rng), rng)
    }

    fn next(flow: &mut Entropies, rng: &mut Pcg64Mcg, count: usize) -> Vec<u16> {
        (0..count).map(|_| flow.next(rng)).collect()
    }

    #[test]
    fn each_pass_uses_each_entropy_once() {
        for balancing in [LoadBalancing::Oblivious, LoadBalancing::Bitmap, LoadBalancing::Mixed] {
            let (mut flow, mut rng) = flow(balancing, 16);
            let passes: Vec<_> = (0..4).map(|_| next(&mut flow, &mut rng, 16)).collect();
            for pass in &passes {
                let mut low: Vec<_> = pass.iter().map(|entropy| entropy & 15).collect();
                low.sort_unstable();
                assert_eq!(low, (0..16).collect::<Vec<_>>());
                assert!(pass.iter().all(|entropy| entropy >> 4 == passes[0][0] >> 4));
            }
            assert!(passes.windows(2).any(|pair| pair[0] != pair[1]));
        }
    }

    #[test]
    fn a_penalized_entropy_is_skipped_as_often_as_its_counter() {
        for (feedback, skipped) in [(PathFeedback::Marked, 1), (PathFeedback::Trimmed, 4), (PathFeedback::TimedOut, 15)]
        {
            let (mut flow, mut rng) = flow(LoadBalancing::Bitmap, 8);
            flow.feedback(Some(5), feedback, Time::ZERO);
            let mut passes = 0;
            // A pass has seven packets while the entropy is skipped.
            while !next(&mut flow, &mut rng, 7).iter().any(|entropy| entropy & 7 == 5) {
                passes += 1;
                assert!(passes < 20);
            }
            assert!(passes == skipped || passes == skipped - 1, "{feedback:?}: {passes}");
        }
    }

    #[test]
    fn if_all_are_penalized_one_is_used_all_the_same() {
        let (mut flow, mut rng) = flow(LoadBalancing::Bitmap, 4);
        for entropy in 0..4 {
            flow.feedback(Some(entropy), PathFeedback::TimedOut, Time::ZERO);
            flow.feedback(Some(entropy), PathFeedback::TimedOut, Time::ZERO);
        }
        next(&mut flow, &mut rng, 10);
        // Ten packets took ten of the sixty.
        let Choice::Bitmap(_, penalties) = &flow.0 else { panic!() };
        assert_eq!(penalties.iter().map(|&penalty| u32::from(penalty)).sum::<u32>(), 50);
    }

    #[test]
    fn mixed_repeats_what_came_back_unmarked() {
        let (mut flow, mut rng) = flow(LoadBalancing::Mixed, 64);
        for (entropy, feedback) in [(700, PathFeedback::Good), (701, PathFeedback::Marked), (702, PathFeedback::Good)] {
            flow.feedback(Some(entropy), feedback, Time::ZERO);
        }
        assert_eq!(next(&mut flow, &mut rng, 2), [700, 702]);
        assert!(!next(&mut flow, &mut rng, 63).iter().any(|entropy| entropy & 63 == 701 & 63));
    }

    #[test]
    fn reps_uses_the_oldest_of_the_last_eight_and_freezes_after_a_timeout() {
        let (mut flow, mut rng) = flow(LoadBalancing::Reps, 16);
        let at = |milliseconds: u64| Time::ZERO + Span::from_milliseconds(milliseconds);
        for entropy in 100..110 {
            flow.feedback(Some(entropy), PathFeedback::Good, at(0));
        }
        assert_eq!(next(&mut flow, &mut rng, 3), [102, 103, 104]);
        flow.feedback(Some(110), PathFeedback::Good, at(0));
        assert_eq!(next(&mut flow, &mut rng, 6), [105, 106, 107, 108, 109, 110]);
        assert!(next(&mut flow, &mut rng, 20).iter().all(|&entropy| entropy < 16));
        // Frozen: the ring again and again, in the order of its slots.
        flow.feedback(None, PathFeedback::TimedOut, at(1));
        assert_eq!(next(&mut flow, &mut rng, 9), [108, 109, 110, 103, 104, 105, 106, 107, 108]);
        // Then it explores.
        flow.feedback(Some(50), PathFeedback::Good, at(12));
        assert!(next(&mut flow, &mut rng, 16).iter().all(|&entropy| entropy < 16));
        assert_eq!(next(&mut flow, &mut rng, 1), [50]);
    }
}
