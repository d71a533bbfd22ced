//! The deadlines of many parts, and which comes first.

use forebay_qdisc::Time;

/// How many parts are in a group: so many comparisons, without branches, cost less than another level.
const GROUP: usize = 8;

/// A deadline for each of a fixed number of parts: a tournament of groups of eight, so that a change costs a step for
/// each eightfold of their number, and the earliest is at hand. Of equal deadlines the part with the lower number
/// comes first.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines {
    /// A tree in an array: the root at 0, and at place `i` of group `g` the earliest of group 8 `g` + `i` + 1. The
    /// parts themselves are the places of the last level.
    groups: Vec<[Time; GROUP]>,
    /// The first group of the last level.
    last_level: usize,
    /// The earliest of the root, at hand without a look into the tree.
    earliest: Time,
}

impl Deadlines {
    /// For so many parts, none of which has a deadline.
    pub fn new(parts: usize) -> Self {
        let (mut last_level, mut groups) = (0, 1);
        while GROUP * groups < parts {
            last_level += groups;
            groups *= GROUP;
        }
        Self { groups: vec![[Time::NEVER; GROUP]; last_level + groups], last_level, earliest: Time::NEVER }
    }

    /// The earliest deadline.
    #[inline]
    pub fn earliest(&self) -> Time {
        self.earliest
    }

    /// Sets the deadline of a part; [`Time::NEVER`] for none.
    #[inline]
    pub fn set(&mut self, part: usize, mut deadline: Time) {
        let (mut group, mut place) = (self.last_level + part / GROUP, part % GROUP);
        loop {
            let times = &mut self.groups[group];
            times[place] = deadline;
            deadline = times.iter().copied().fold(Time::NEVER, Time::min);
            if group == 0 {
                self.earliest = deadline;
                return;
            }
            (group, place) = ((group - 1) / GROUP, (group - 1) % GROUP);
        }
    }

    /// The part whose deadline is the earliest, if that is `now` or before.
    #[inline]
    pub fn due(&self, now: Time) -> Option<usize> {
        let earliest = self.earliest;
        if earliest > now || earliest == Time::NEVER {
            return None;
        }
        let mut group = 0;
        loop {
            let equal = self.groups[group].map(|time| u32::from(time == earliest));
            let places = equal.iter().zip(0..).fold(0_u32, |places, (equal, place)| places | equal << place);
            let place = places.trailing_zeros() as usize;
            if group >= self.last_level {
                return Some(GROUP * (group - self.last_level) + place);
            }
            group = GROUP * group + place + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_knows_the_first_of_the_earliest(
            parts in 1_usize..300,
            changes in prop::collection::vec((0_usize..300, prop::option::of(0_u64..8)), 0..100),
            now in 0_u64..10,
        ) {
            let (mut deadlines, mut model) = (Deadlines::new(parts), vec![Time::NEVER; parts]);
            for (part, deadline) in changes {
                let (part, deadline) = (part % parts, deadline.map_or(Time::NEVER, Time::from_picoseconds));
                deadlines.set(part, deadline);
                model[part] = deadline;
                let first = (0..parts).min_by_key(|&part| (model[part], part)).unwrap();
                let now = Time::from_picoseconds(now);
                prop_assert_eq!(deadlines.earliest(), model[first]);
                prop_assert_eq!(deadlines.due(now), Some(first).filter(|&part| model[part] <= now));
            }
        }
    }

    #[test]
    fn nothing_has_no_deadline() {
        assert_eq!((Deadlines::new(0).earliest(), Deadlines::new(0).due(Time::NEVER)), (Time::NEVER, None));
    }
}
