//! The deadlines of many parts, and which comes first.

use forebay_qdisc::Time;

/// A deadline for each of a fixed number of parts: a tournament of groups of four, so that a change costs a step for
/// each fourfold of their number, and the earliest is at hand. Of equal deadlines the part with the lower number comes
/// first.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines {
    /// A tree in an array: the root at 0, and at place `i` of group `g` the earliest of group 4 `g` + `i` + 1. The
    /// parts themselves are the places of the last level.
    groups: Vec<[Time; 4]>,
    /// The first group of the last level.
    last_level: usize,
    /// The earliest of the root, at hand without a look into the tree.
    earliest: Time,
}

impl Deadlines {
    /// For so many parts, none of which has a deadline.
    pub fn new(parts: usize) -> Self {
        let (mut last_level, mut groups) = (0, 1);
        while 4 * groups < parts {
            last_level += groups;
            groups *= 4;
        }
        Self { groups: vec![[Time::NEVER; 4]; last_level + groups], last_level, earliest: Time::NEVER }
    }

    /// The earliest deadline.
    #[inline]
    pub fn earliest(&self) -> Time {
        self.earliest
    }

    /// Sets the deadline of a part; [`Time::NEVER`] for none.
    #[inline]
    pub fn set(&mut self, part: usize, mut deadline: Time) {
        let (mut group, mut place) = (self.last_level + part / 4, part % 4);
        loop {
            let times = &mut self.groups[group];
            if times[place] == deadline {
                return;
            }
            times[place] = deadline;
            deadline = times[0].min(times[1]).min(times[2].min(times[3]));
            if group == 0 {
                self.earliest = deadline;
                return;
            }
            (group, place) = ((group - 1) / 4, (group - 1) % 4);
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
            let [first, second, third, _] = self.groups[group].map(|time| time == earliest);
            let place = if first {
                0
            } else if second {
                1
            } else {
                3 - usize::from(third)
            };
            if group >= self.last_level {
                return Some(4 * (group - self.last_level) + place);
            }
            group = 4 * group + place + 1;
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
            parts in 1_usize..70,
            changes in prop::collection::vec((0_usize..70, prop::option::of(0_u64..8)), 0..100),
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
