//! The earliest of many deadlines.

use forebay_qdisc::Time;

use crate::driver::agenda::set_bits;

/// This many comparisons without branches cost less than another level.
const GROUP: usize = 16;

/// A tournament of groups of sixteen. Among equal deadlines the lowest part comes first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Tournament {
    /// Group 0: the parts or, if they are more than sixteen, the minima of groups.
    root: [Time; GROUP],
    /// The minimum of the root.
    earliest: Time,
    /// The other groups, a tree in an array: place `i` of group `g` is the minimum of group 16 `g` + `i` + 1. The last
    /// level holds the parts.
    below: Vec<[Time; GROUP]>,
    last_level: usize,
}

impl Tournament {
    pub fn new(parts: usize) -> Self {
        let (mut last_level, mut groups) = (0, 1);
        while GROUP * groups < parts {
            last_level += groups;
            groups *= GROUP;
        }
        Self {
            root: [Time::NEVER; GROUP],
            below: vec![[Time::NEVER; GROUP]; last_level + groups - 1],
            last_level,
            earliest: Time::NEVER,
        }
    }

    #[inline]
    pub fn earliest(&self) -> Time {
        self.earliest
    }

    #[inline]
    pub fn of(&self, part: usize) -> Time {
        let group = self.last_level + part / GROUP;
        if group == 0 { self.root[part] } else { self.below[group - 1][part % GROUP] }
    }

    /// [`Time::NEVER`] for none.
    #[inline]
    pub fn set(&mut self, part: usize, mut deadline: Time) {
        let (mut group, mut place) = (self.last_level + part / GROUP, part % GROUP);
        while group > 0 {
            let times = &mut self.below[group - 1];
            times[place] = deadline;
            deadline = times.iter().copied().fold(Time::NEVER, Time::min);
            (group, place) = ((group - 1) / GROUP, (group - 1) % GROUP);
        }
        let before = std::mem::replace(&mut self.root[place], deadline);
        if (before > self.earliest) | (deadline <= self.earliest) {
            self.earliest = deadline.min(self.earliest);
            return;
        }
        self.earliest = self.root.iter().copied().fold(Time::NEVER, Time::min);
    }

    /// The part with the earliest deadline, if that is not after `now`.
    #[inline]
    pub fn due(&self, now: Time) -> Option<usize> {
        (self.earliest <= now && self.earliest < Time::NEVER).then(|| self.first())
    }

    /// The part with the earliest deadline; of several, the one with the lowest `rank`. There must be one.
    pub fn first_by(&self, rank: impl Fn(usize) -> u64) -> usize {
        let mut first: Option<(usize, Option<u64>)> = None;
        self.visit_earliest(0, &mut |part| {
            first = Some(first.map_or((part, None), |(other, of_other)| {
                let (of_other, of_part) = (of_other.unwrap_or_else(|| rank(other)), rank(part));
                if of_part < of_other { (part, Some(of_part)) } else { (other, Some(of_other)) }
            }));
        });
        first.map_or(0, |(part, _)| part)
    }

    /// Visits the parts below `group` that have the earliest deadline, in ascending order.
    fn visit_earliest(&self, group: usize, visit: &mut impl FnMut(usize)) {
        let times = if group == 0 { &self.root } else { &self.below[group - 1] };
        let mut equal = set_bits(times.map(|time| time == self.earliest));
        while equal != 0 {
            let place = equal.trailing_zeros() as usize;
            equal &= equal - 1;
            if group < self.last_level {
                self.visit_earliest(GROUP * group + place + 1, visit);
            } else {
                visit(GROUP * (group - self.last_level) + place);
            }
        }
    }

    /// The part with the earliest deadline; there must be one.
    pub fn first(&self) -> usize {
        let earliest = self.earliest;
        let mut place = place_of(&self.root, earliest);
        let mut group = 0;
        while group < self.last_level {
            group = GROUP * group + place + 1;
            place = place_of(&self.below[group - 1], earliest);
        }
        GROUP * (group - self.last_level) + place
    }
}

/// The first place with this time; there must be one.
#[inline]
fn place_of(times: &[Time; GROUP], time: Time) -> usize {
    set_bits(times.map(|other| other == time)).trailing_zeros() as usize
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
            let (mut deadlines, mut model) = (Tournament::new(parts), vec![Time::NEVER; parts]);
            for (part, deadline) in changes {
                let (part, deadline) = (part % parts, deadline.map_or(Time::NEVER, Time::from_picoseconds));
                deadlines.set(part, deadline);
                model[part] = deadline;
                let first = (0..parts).min_by_key(|&part| (model[part], part)).unwrap();
                let now = Time::from_picoseconds(now);
                prop_assert_eq!((deadlines.of(part), deadlines.earliest()), (deadline, model[first]));
                prop_assert_eq!(deadlines.due(now), Some(first).filter(|&part| model[part] <= now));
                // Backwards: the last one of the earliest.
                let last = (0..parts).min_by_key(|&part| (model[part], parts - part)).unwrap();
                if model[first] < Time::NEVER {
                    prop_assert_eq!(deadlines.first_by(|part| (parts - part) as u64), last);
                }
            }
        }
    }

    #[test]
    fn nothing_has_no_deadline() {
        assert_eq!((Tournament::new(0).earliest(), Tournament::new(0).due(Time::NEVER)), (Time::NEVER, None));
    }
}
