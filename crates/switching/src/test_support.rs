//! Shared parts of this crate's unit tests.

use alloc::vec;

use proptest::prelude::*;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::Occupancy;

pub fn rng(seed: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed)
}

/// Occupancies as hard as they come: of any number of ports up to `most`, sparse or full, all alike, with ties, or with
/// queues as long as can be counted.
pub fn hostile_occupancy(most: usize) -> impl Strategy<Value = Occupancy> {
    let length = prop_oneof![
        4 => Just(0_u32),
        4 => 1_u32..=3,
        2 => 1_u32..=1000,
        1 => Just(u32::MAX),
        1 => (1_u32 << 22) - 2..=1 << 22,
    ];
    let lengths = move |ports: usize| {
        prop_oneof![
            4 => prop::collection::vec(length.clone(), ports * ports),
            1 => prop::collection::vec(1_u32..=2, ports * ports),
            1 => prop::collection::vec(prop_oneof![9 => Just(0_u32), 1 => 1_u32..=9], ports * ports),
            1 => any::<u32>().prop_map(move |length| vec![length; ports * ports]),
        ]
    };
    (1..=most)
        .prop_flat_map(move |ports| lengths(ports).prop_map(move |lengths| Occupancy::from_lengths(ports, &lengths)))
}
