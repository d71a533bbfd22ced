//! The deadlines of many parts, and which comes first.

use forebay_qdisc::Time;

/// A deadline for each of a fixed number of parts: a tournament, so that a change costs a step for each doubling of
/// their number, and the earliest is at hand. Of equal deadlines the part with the lower number comes first.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines {
    /// A binary tree in an array: the earliest of all at 1, the earliest of what is below `node` at 2 `node` and
    /// 2 `node` + 1, the parts themselves in the second half.
    tree: Vec<Time>,
    /// The root once more, at hand without a look into the tree.
    earliest: Time,
}

impl Deadlines {
    /// For so many parts, none of which has a deadline.
    pub fn new(parts: usize) -> Self {
        Self { tree: vec![Time::NEVER; 2 * parts.next_power_of_two()], earliest: Time::NEVER }
    }

    /// The earliest deadline.
    #[inline]
    pub fn earliest(&self) -> Time {
        self.earliest
    }

    /// Sets the deadline of a part; [`Time::NEVER`] for none.
    #[inline]
    pub fn set(&mut self, part: usize, deadline: Time) {
        let mut node = self.tree.len() / 2 + part;
        if self.tree[node] == deadline {
            return;
        }
        self.tree[node] = deadline;
        while node > 1 {
            node /= 2;
            let earliest = self.tree[2 * node].min(self.tree[2 * node + 1]);
            if self.tree[node] == earliest {
                return;
            }
            self.tree[node] = earliest;
        }
        self.earliest = self.tree[1];
    }

    /// The part whose deadline is the earliest, if that is `now` or before.
    #[inline]
    pub fn due(&self, now: Time) -> Option<usize> {
        let earliest = self.earliest;
        if earliest > now || earliest == Time::NEVER {
            return None;
        }
        let half = self.tree.len() / 2;
        let mut node = 1;
        while node < half {
            node = 2 * node + usize::from(self.tree[2 * node] != earliest);
        }
        Some(node - half)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_knows_the_first_of_the_earliest(
            parts in 1_usize..20,
            changes in prop::collection::vec((0_usize..20, prop::option::of(0_u64..8)), 0..100),
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
