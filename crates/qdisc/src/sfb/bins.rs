//! Levels of bins, each with its own hash function, that count the packets of their flows. They are the Bloom filter of
//! SFB (paper, section II), with the moving hash and its double buffer (section III-D).
//!
//! Every queued packet is counted in one bin of each level, and in those of the warm-up set if there is one. The bins
//! of a packet are noted while it is queued, so that it leaves the ones that it entered. When the hash functions
//! change, the packets in the queue are counted again under the new ones: counts are exact at all times.

use alloc::vec;
use alloc::vec::Vec;

use forebay_units::Span;

use crate::memory::heap_bytes;
use crate::{FlowKey, Ticket, Time, hash_flow, table_index};

/// Most levels that a filter may have.
pub(crate) const MAX_LEVELS: usize = 16;

/// A bin: the part common to all laws that keep bins, and the state that the law `S` adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bin<S> {
    /// `qlen`: packets in the queue of the flows in this bin.
    pub packets: u32,
    /// When the rate limiter last had a packet of its, to pass or to drop.
    pub limited_at: Time,
    /// Its token bucket: when what the limiter let through would have gone out at the limit.
    pub paid_until: Time,
    /// The law's state.
    pub state: S,
}

/// The bins of a flow, by set and level, as indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place([u32; 2 * MAX_LEVELS]);

impl Place {
    /// Nowhere yet.
    pub const NEW: Self = Self([0; 2 * MAX_LEVELS]);
}

/// A queued packet's flow.
#[derive(Clone, Copy, Debug)]
struct Note {
    flow: FlowKey,
    queued: bool,
}

/// The hash functions of a set of bins, two levels to each 64-bit hash.
type Seeds = [u64; MAX_LEVELS / 2];

/// One set of bins, or two when the moving hash is double-buffered.
#[derive(Clone, Debug)]
pub(crate) struct Bins<S> {
    levels: usize,
    bins_per_level: u32,
    sets: usize,
    fresh: S,
    salt: u64,
    interval: Option<Span>,

    bins: Vec<Bin<S>>,
    seeds: [Seeds; 2],
    active: usize,
    /// How often the hash has changed.
    epoch: u64,
    next_change: Time,

    /// For each ticket, the packet's flow and, `sets * levels` to a ticket, its bins.
    notes: Vec<Note>,
    noted_bins: Vec<u32>,
    free: Vec<u32>,
}

impl<S: Copy> Bins<S> {
    /// Empty bins in the state `fresh`. Their hash functions change each `interval`, if one is given, and are then
    /// double-buffered if so asked.
    pub fn new(
        levels: u32,
        bins_per_level: u32,
        fresh: S,
        interval: Option<Span>,
        double_buffer: bool,
        salt: u64,
    ) -> Self {
        let (levels, sets) = (levels as usize, if interval.is_some() && double_buffer { 2 } else { 1 });
        let bin = Bin { packets: 0, limited_at: Time::ZERO, paid_until: Time::ZERO, state: fresh };
        Self {
            levels,
            bins_per_level,
            sets,
            fresh,
            salt,
            interval,
            bins: vec![bin; sets * levels * bins_per_level as usize],
            seeds: [seeds(salt, 0), seeds(salt, 1)],
            active: 0,
            epoch: 0,
            next_change: interval.map_or(Time::NEVER, |interval| Time::ZERO.saturating_add(interval)),
            notes: Vec::new(),
            noted_bins: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Whether there is a warm-up set.
    pub fn is_double_buffered(&self) -> bool {
        self.sets == 2
    }

    /// Changes the hash functions if that is due. A law that calls this at each arrival misses nothing: between
    /// arrivals no bin's state matters.
    #[inline]
    pub fn keep_moving(&mut self, now: Time) {
        if now >= self.next_change {
            self.change_hash(now);
        }
    }

    /// All the changes due at `now`. After two without a packet between them neither set knows anything.
    #[cold]
    fn change_hash(&mut self, now: Time) {
        let Some(interval) = self.interval else { return };
        let changes = now.since(self.next_change).picoseconds() / interval.picoseconds() + 1;
        let passed = interval.picoseconds().saturating_mul(changes);
        self.next_change = self.next_change.saturating_add(Span::from_picoseconds(passed));
        self.epoch = self.epoch.wrapping_add(changes);
        if self.is_double_buffered() {
            self.active ^= (changes % 2) as usize;
            self.renew(self.active ^ 1, self.epoch.wrapping_add(1));
            if changes == 1 {
                return;
            }
        }
        self.renew(self.active, self.epoch);
    }

    /// Resets a set, gives it the hash functions of `epoch`, and counts the queued packets in it.
    fn renew(&mut self, set: usize, epoch: u64) {
        let fresh = Bin { packets: 0, limited_at: Time::ZERO, paid_until: Time::ZERO, state: self.fresh };
        let size = self.levels * self.bins_per_level as usize;
        self.bins[set * size..(set + 1) * size].fill(fresh);
        self.seeds[set] = seeds(self.salt, epoch);
        let mut place = Place::NEW;
        let range = set * self.levels..(set + 1) * self.levels;
        for slot in 0..self.notes.len() {
            let note = self.notes[slot];
            if note.queued {
                self.locate_in(set, note.flow, &mut place);
                let noted = slot * self.sets * self.levels;
                self.noted_bins[noted + range.start..noted + range.end].copy_from_slice(&place.0[range.clone()]);
                place.0[range.clone()].iter().for_each(|bin| self.bins[*bin as usize].packets += 1);
            }
        }
    }

    /// Where a flow's packets are counted in the active set.
    pub fn locate(&self, flow: FlowKey) -> Place {
        let mut place = Place::NEW;
        self.locate_active(flow, &mut place);
        place
    }

    /// The same, into `place`: a copy of it would cost more than the hash.
    #[inline]
    pub fn locate_active(&self, flow: FlowKey, place: &mut Place) {
        self.locate_in(self.active, flow, place);
    }

    /// Adds to `place` the bins of the warm-up set, if there is one.
    #[inline]
    pub fn locate_warm_up(&self, flow: FlowKey, place: &mut Place) {
        if self.is_double_buffered() {
            self.locate_in(self.active ^ 1, flow, place);
        }
    }

    #[inline]
    fn locate_in(&self, set: usize, flow: FlowKey, place: &mut Place) {
        let mut first = (set * self.levels) as u32 * self.bins_per_level;
        let mut hash = 0;
        for (level, index) in place.0[set * self.levels..(set + 1) * self.levels].iter_mut().enumerate() {
            // The upper half of a hash is for the even level, the lower for the odd one.
            hash = if level % 2 == 0 { hash_flow(flow, self.seeds[set][level / 2]) } else { hash << 32 };
            *index = first + table_index(hash, self.bins_per_level);
            first += self.bins_per_level;
        }
    }

    /// The bins of `place` in the active set, from level 0.
    #[inline]
    pub fn at<'a>(&'a self, place: &'a Place) -> impl Iterator<Item = &'a Bin<S>> {
        let first = self.active * self.levels;
        place.0[first..first + self.levels].iter().map(|index| &self.bins[*index as usize])
    }

    /// The bins of a flow in the active set, from level 0, numbered within their level.
    pub fn numbers(&self, flow: FlowKey) -> impl Iterator<Item = u32> {
        let Place(indices) = self.locate(flow);
        let (first, bins_per_level) = (self.active * self.levels, self.bins_per_level);
        (first..first + self.levels).map(move |level| indices[level] % bins_per_level)
    }

    /// Shows each bin of `place` in the active set, from level 0.
    #[inline]
    pub fn update(&mut self, place: &Place, mut each: impl FnMut(&mut Bin<S>)) {
        self.update_set(self.active, place, &mut each);
    }

    /// Shows each bin of `place` in the warm-up set, whose bins have been added to it.
    #[inline]
    pub fn update_warm_up(&mut self, place: &Place, mut each: impl FnMut(&mut Bin<S>)) {
        if self.is_double_buffered() {
            self.update_set(self.active ^ 1, place, &mut each);
        }
    }

    #[inline]
    fn update_set(&mut self, set: usize, place: &Place, each: &mut impl FnMut(&mut Bin<S>)) {
        let first = set * self.levels;
        for index in &place.0[first..first + self.levels] {
            each(&mut self.bins[*index as usize]);
        }
    }

    /// Counts a packet that enters the queue, in the bins of `place`, to which those of the warm-up set have been
    /// added.
    #[inline]
    pub fn enter(&mut self, flow: FlowKey, place: &Place) -> Ticket {
        let stride = self.sets * self.levels;
        let note = Note { flow, queued: true };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.notes[slot as usize] = note;
                slot
            }
            None => {
                self.notes.push(note);
                self.noted_bins.resize(self.notes.len() * stride, 0);
                (self.notes.len() - 1) as u32
            }
        };
        // A loop: a copy of a length unknown to the compiler is a call, which costs more than these few entries.
        for (noted, index) in self.noted_bins[slot as usize * stride..][..stride].iter_mut().zip(&place.0[..stride]) {
            *noted = *index;
            self.bins[*index as usize].packets += 1;
        }
        Ticket(slot)
    }

    /// Takes back what [`Bins::enter`] counted, and shows the state of each bin that becomes empty.
    #[inline]
    pub fn leave(&mut self, ticket: Ticket, mut emptied: impl FnMut(&mut S)) {
        let stride = self.sets * self.levels;
        for index in &self.noted_bins[ticket.0 as usize * stride..][..stride] {
            let bin = &mut self.bins[*index as usize];
            bin.packets -= 1;
            if bin.packets == 0 {
                emptied(&mut bin.state);
            }
        }
        self.notes[ticket.0 as usize].queued = false;
        self.free.push(ticket.0);
    }

    /// The levels of the active set.
    pub fn levels(&self) -> impl Iterator<Item = &[Bin<S>]> {
        self.set_levels(self.active)
    }

    /// The levels of the warm-up set; none without one.
    pub fn warm_up_levels(&self) -> impl Iterator<Item = &[Bin<S>]> {
        self.set_levels(self.active ^ 1).take(if self.is_double_buffered() { self.levels } else { 0 })
    }

    fn set_levels(&self, set: usize) -> impl Iterator<Item = &[Bin<S>]> {
        self.bins.chunks_exact(self.bins_per_level as usize).skip(set * self.levels).take(self.levels)
    }

    /// Bytes that it holds on the heap.
    pub fn heap_bytes(&self) -> u64 {
        heap_bytes(&self.bins) + heap_bytes(&self.notes) + heap_bytes(&self.noted_bins) + heap_bytes(&self.free)
    }
}

/// The hash functions of an epoch.
fn seeds(salt: u64, epoch: u64) -> Seeds {
    core::array::from_fn(|pair| {
        hash_flow(FlowKey(epoch.wrapping_mul(MAX_LEVELS as u64).wrapping_add(pair as u64)), salt)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Operation {
        Enter(u64),
        Leave(usize),
        Wait(u64),
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            4 => (0_u64..40).prop_map(Operation::Enter),
            3 => any::<usize>().prop_map(Operation::Leave),
            1 => prop_oneof![0_u64..3, Just(9_999_000)].prop_map(Operation::Wait),
        ]
    }

    proptest! {
        #[test]
        fn each_level_counts_every_queued_packet_where_it_belongs(
            levels in 1_u32..6,
            bins_per_level in 1_u32..30,
            double_buffer: bool,
            moving: bool,
            operations in prop::collection::vec(operation(), 0..200),
        ) {
            let interval = moving.then(|| Span::from_milliseconds(2));
            let mut bins = Bins::new(levels, bins_per_level, (), interval, double_buffer, 5);
            let (mut now, mut queued) = (Time::ZERO, Vec::new());
            for operation in operations {
                match operation {
                    Operation::Enter(flow) => {
                        let flow = FlowKey(flow);
                        let mut place = bins.locate(flow);
                        bins.locate_warm_up(flow, &mut place);
                        queued.push((flow, bins.enter(flow, &place)));
                    }
                    Operation::Leave(which) if !queued.is_empty() => {
                        let (_, ticket) = queued.swap_remove(which % queued.len());
                        bins.leave(ticket, |()| {});
                    }
                    Operation::Leave(_) => {}
                    Operation::Wait(milliseconds) => now += Span::from_milliseconds(milliseconds),
                }
                bins.keep_moving(now);
                let counts = bins.bins.iter().map(|bin| bin.packets).collect::<Vec<_>>();
                let mut expected = vec![0; counts.len()];
                for (flow, _) in &queued {
                    let mut place = bins.locate(*flow);
                    bins.locate_warm_up(*flow, &mut place);
                    let stride = bins.sets * bins.levels;
                    place.0[..stride].iter().for_each(|index| expected[*index as usize] += 1);
                }
                prop_assert_eq!(counts, expected);
            }
        }
    }

    #[test]
    fn the_number_of_a_bin_is_its_place_in_its_level() {
        let interval = Span::from_seconds(2);
        let mut bins = Bins::new(5, 23, (), Some(interval), true, 1);
        // In the one set and in the other.
        for changes in 0..2 {
            bins.keep_moving(Time::ZERO + interval * changes);
            for flow in (0..100).map(FlowKey) {
                let mut place = bins.locate(flow);
                bins.locate_warm_up(flow, &mut place);
                let ticket = bins.enter(flow, &place);
                let holding: Vec<u32> = bins
                    .levels()
                    .map(|level| level.iter().position(|bin| bin.packets == 1).map(|number| number as u32).unwrap())
                    .collect();
                assert_eq!(bins.numbers(flow).collect::<Vec<_>>(), holding);
                bins.leave(ticket, |()| {});
            }
        }
    }

    #[test]
    fn each_level_has_a_hash_function_of_its_own() {
        // Paper, section II: independent ones. Two levels give a flow the same number in one case of 23, and each bin
        // has one flow of 23: 400 of these, with a standard deviation of 19.6.
        let levels = 6;
        let bins = Bins::new(levels, 23, (), None, false, 1);
        let numbers: Vec<Vec<u32>> = (0..400 * 23).map(|flow| bins.numbers(FlowKey(flow)).collect()).collect();
        let is_fair = |flows: usize| (300..=500).contains(&flows);
        for one in 0..levels as usize {
            assert!((0..23).all(|bin| is_fair(numbers.iter().filter(|numbers| numbers[one] == bin).count())), "{one}");
            for other in 0..one {
                assert!(
                    is_fair(numbers.iter().filter(|numbers| numbers[one] == numbers[other]).count()),
                    "{one} {other}"
                );
            }
        }
    }

    #[test]
    fn the_warm_up_set_becomes_the_active_one() {
        let interval = Span::from_seconds(2);
        let mut bins = Bins::new(3, 23, 0, Some(interval), true, 1);
        let mut place = bins.locate(FlowKey(9));
        bins.locate_warm_up(FlowKey(9), &mut place);
        bins.update_warm_up(&place, |bin| bin.state = 7);
        assert!(bins.at(&place).all(|bin| bin.state == 0));
        bins.keep_moving(Time::ZERO + interval);
        assert!(bins.at(&bins.locate(FlowKey(9))).all(|bin| bin.state == 7));
        assert!(bins.warm_up_levels().flatten().all(|bin| bin.state == 0));
        // Two changes later nothing of it is left, whether they come one by one or at once.
        let mut late = bins.clone();
        bins.keep_moving(Time::ZERO + interval * 2);
        bins.keep_moving(Time::ZERO + interval * 3);
        late.keep_moving(Time::ZERO + interval * 3);
        for bins in [&bins, &late] {
            assert!(bins.levels().flatten().all(|bin| bin.state == 0));
        }
        assert_eq!(bins.locate(FlowKey(9)).0, late.locate(FlowKey(9)).0);
    }

    #[test]
    fn a_change_of_hash_separates_what_collided() {
        let interval = Span::from_seconds(2);
        let mut bins = Bins::new(2, 23, (), Some(interval), false, 1);
        let collides = |bins: &Bins<()>, flow| bins.locate(FlowKey(flow)).0 == bins.locate(FlowKey(0)).0;
        let flow = (1..).find(|flow| collides(&bins, *flow)).unwrap();
        bins.keep_moving(Time::ZERO + interval);
        assert!(!collides(&bins, flow));
    }
}
