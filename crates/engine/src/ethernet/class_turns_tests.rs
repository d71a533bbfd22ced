//! The order of classes at a port.

use super::*;

fn next_classes(mut turns: ClassTurns, candidates: Classes) -> Vec<usize> {
    let next = |_| {
        let class = turns.pick(candidates);
        turns.goes(class);
        class
    };
    (0..5).map(next).collect()
}

#[test]
fn strict_priority_serves_the_highest_class() {
    assert_eq!(next_classes(ClassTurns::new(true), 0b1000_1001), [7; 5]);
    assert_eq!(next_classes(ClassTurns::new(true), 0b0000_0001), [0; 5]);
}

#[test]
fn round_robin_serves_each_candidate_once_in_a_round() {
    assert_eq!(next_classes(ClassTurns::new(false), 0b1000_1001), [0, 3, 7, 0, 3]);
    assert_eq!(next_classes(ClassTurns::new(false), 0b0100_0000), [6; 5]);
}
