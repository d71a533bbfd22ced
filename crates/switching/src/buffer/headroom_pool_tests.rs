//! The rules of the headroom pool, step by step and as a law.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::buffer::BufferPolicyConfig;
use crate::shared_memory::SharedMemoryConfig;

const RATE: Rate = Rate::megabits(100_000);
const PORTS: usize = 4;

fn memory(config: HeadroomPoolConfig, share: u64, rates: &[Rate], by_class: bool) -> SharedMemory {
    let policy = BufferPolicyConfig::HeadroomPool(config);
    let config = SharedMemoryConfig { share: Bytes(share), policy };
    SharedMemory::new(rates.len(), config).unwrap().fed_by(rates, by_class)
}

fn frame(input: usize, class: usize, len_bytes: u32) -> Frame {
    Frame { input, class, output: 1, len_bytes }
}

fn level(memory: &SharedMemory, input: usize, class: usize) -> (bool, bool) {
    let level = memory.pause_level(input, class).unwrap();
    (level.is_high, level.is_low)
}

/// 100 000 B of shared memory, a reserve of 4000 B and headroom of 6000 B for each of four inputs.
fn small() -> HeadroomPoolConfig {
    let (reserve, headroom, resume_offset) = (Bytes(4000), Bytes(6000), Bytes(3000));
    HeadroomPoolConfig { reserve, headroom, resume_offset, ..HeadroomPoolConfig::default() }
}

#[test]
fn frames_are_charged_to_reserve_then_shared_memory_then_headroom() {
    let mut memory = memory(small(), 35_000, &[RATE; PORTS], true);
    let mut admit = |len| (memory.admit_alone(frame(0, 3, len)), level(&memory, 0, 3));
    let (go_on, hold, stop) = ((false, true), (false, false), (true, false));
    assert_eq!(admit(4000), (Ok(()), go_on), "the reserve, to the last byte");
    // Shared memory up to an eighth of what is free: 12 500 B, then less.
    assert_eq!(admit(8000), (Ok(()), go_on), "8000 of 11 500 B, 3000 B and more below");
    assert_eq!(admit(1000), (Ok(()), hold), "9000 of 11 375 B, less than 3000 B below");
    assert_eq!(admit(2000), (Ok(()), hold), "11 000 of 11 125 B");
    assert_eq!(admit(1000), (Ok(()), stop), "12 000 B would be beyond 11 125 B: headroom");
    assert_eq!(admit(5001), (Err(MemoryFull::Partition), stop), "all of a frame or nothing");
    assert_eq!(admit(5000), (Ok(()), stop), "the headroom, to the last byte");
    assert_eq!(admit(1), (Ok(()), stop), "there are 125 B left of the threshold");
    assert_eq!(admit(200), (Err(MemoryFull::Partition), stop));
    // The headroom is freed first. 11 001 B are shared.
    let mut release = |len| {
        memory.release(frame(0, 3, len), Some(Time::ZERO));
        level(&memory, 0, 3)
    };
    assert_eq!(release(5999), stop);
    assert_eq!(release(1), hold, "11 001 of 11 124 B");
    assert_eq!(release(2001), hold, "9000 of 11 375 B");
    assert_eq!(release(555), hold, "8445 of 11 444 B");
    assert_eq!(release(1), go_on, "8444 of 11 444 B: 3000 B below");
    assert_eq!(release(8444 + 4000), go_on);
    assert_eq!(memory.total(), 0);
}

#[test]
fn an_empty_input_may_send_and_one_at_a_threshold_of_nothing_must_stop() {
    // The other inputs use all shared memory: alpha is large.
    let mut memory = memory(HeadroomPoolConfig { alpha: 8.0, ..small() }, 35_000, &[RATE; PORTS], true);
    assert_eq!(memory.admit_alone(frame(1, 3, 104_000)), Ok(()));
    assert_eq!(memory.admit_alone(frame(0, 3, 1000)), Ok(()));
    assert_eq!(level(&memory, 0, 3), (true, true), "at its arrival it stops, at its departure it may go on");
    assert_eq!(memory.admit_alone(frame(0, 3, 4000)), Ok(()));
    assert_eq!(level(&memory, 0, 3), (true, false), "4000 B in the headroom");
}

#[test]
fn classes_are_charged_singly_only_if_they_are_stopped_singly() {
    for by_class in [true, false] {
        let mut memory = memory(small(), 35_000, &[RATE; PORTS], by_class);
        assert_eq!(memory.admit_alone(frame(0, 2, 12_000)), Ok(()));
        // 8000 B of 11 750 B of shared memory, or 20 000 B.
        let expected = if by_class { Ok(()) } else { Err(MemoryFull::Partition) };
        assert_eq!(memory.admit_alone(frame(0, 5, 12_000)), expected);
        assert_eq!(memory.admit_alone(frame(0, 5, 6000)), Ok(()));
        assert_eq!([2, 5].map(|class| level(&memory, 0, class).0), [!by_class, true]);
    }
}

#[test]
fn alpha_and_headroom_follow_the_rate_of_the_link() {
    // HPCC's: three times 12.5 KB/us for 1 us; at 400 Gb/s four times that, and a shift of 1 bit in place of 3.
    let config = HeadroomPoolConfig { rate: Some(RATE), total: Some(Bytes(32 << 20)), ..HeadroomPoolConfig::default() };
    let fast = Rate::megabits(400_000);
    assert_eq!([RATE, fast].map(|rate| config.headroom_at(rate).0), [37_500, 150_000]);
    let rates = [RATE, RATE, fast];
    assert_eq!(config.set_aside(rates.into_iter()), Bytes(2 * 37_500 + 150_000 + 3 * 4096));
    let memory = memory(config, 32 << 20, &rates, true);
    let shared = (32 << 20) - 225_000 - 3 * 4096;
    // The reserve comes first.
    for (input, threshold) in [(0, shared >> 3), (2, shared >> 1)] {
        for (bytes, fits) in [(4096 + threshold, true), (4096 + threshold + 1, false)] {
            let mut memory = super::tests::memory(config, 32 << 20, &rates, true);
            assert_eq!(memory.admit_alone(frame(input, 3, bytes)).is_ok(), fits, "{input} {bytes}");
        }
    }
    assert_eq!(memory.capacity(), 96 << 20, "of which `total` is used");
}

#[test]
fn the_memory_of_the_switch_is_the_last_limit() {
    let config = HeadroomPoolConfig { total: Some(Bytes(20_000)), ..small() };
    let mut memory = memory(config, 35_000, &[RATE; PORTS], true);
    for input in [0, 1] {
        assert_eq!(memory.admit_alone(frame(input, 3, 4000)), Ok(()));
        assert_eq!(memory.admit_alone(frame(input, 3, 6000)), Ok(()), "no shared memory is left: headroom");
    }
    assert_eq!(memory.admit_alone(frame(2, 3, 1)), Err(MemoryFull::All), "not even for a reserve");
}

#[test]
fn parameters_that_cannot_work_are_refused_by_name() {
    let field = |config| build(&config).err().map(|error| error.field);
    let defaults = HeadroomPoolConfig::default;
    assert_eq!(field(defaults()), None);
    for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(field(HeadroomPoolConfig { alpha, ..defaults() }), Some("alpha"));
    }
    assert_eq!(field(HeadroomPoolConfig { headroom: Bytes(0), ..defaults() }), Some("headroom"));
    for classes in [0, 9] {
        assert_eq!(field(HeadroomPoolConfig { classes, ..defaults() }), Some("classes"));
    }
}

/// A feeder: it obeys an order to stop after a number of bytes, the headroom less the frame at which it is given.
#[derive(Clone, Copy, Default)]
struct Feeder {
    is_stopped: bool,
    sent_since: u64,
}

proptest! {
    #[test]
    fn nothing_is_lost_if_the_headroom_has_room_for_what_arrives_after_the_order(
        alpha in prop_oneof![Just(0.125), 0.01..8.0],
        reserve in 0_u64..8000,
        headroom in 2000_u64..20_000,
        resume_offset in 0_u64..8000,
        shared in 0_u64..200_000,
        by_class in any::<bool>(),
        steps in prop::collection::vec(
            (0..PORTS, 0..3_usize, 1_u32..2000, 0..3_usize, any::<prop::sample::Index>()),
            1..600,
        ),
    ) {
        let classes = if by_class { 3 } else { 1 };
        let config = HeadroomPoolConfig {
            alpha,
            reserve: Bytes(reserve),
            headroom: Bytes(headroom),
            resume_offset: Bytes(resume_offset),
            rate: None,
            classes,
            total: None,
        };
        let share = (reserve + headroom) * u64::from(classes) + shared / PORTS as u64;
        let mut memory = memory(config, share, &[RATE; PORTS], by_class);
        let (mut feeders, mut held) = ([[Feeder::default(); 3]; PORTS], Vec::<Frame>::new());
        for (input, class, len_bytes, leaving, which) in steps {
            let arrival = frame(input, class, len_bytes);
            let feeder = &mut feeders[input][if by_class { class } else { 0 }];
            if !feeder.is_stopped || feeder.sent_since + u64::from(len_bytes) <= headroom {
                prop_assert_eq!(memory.admit_alone(arrival), Ok(()));
                held.push(arrival);
                feeder.is_stopped |= level(&memory, input, class).0;
                // The frame at which it is stopped may be in the headroom, too.
                feeder.sent_since += if feeder.is_stopped { u64::from(len_bytes) } else { 0 };
            }
            for _ in 0..leaving {
                if held.is_empty() {
                    break;
                }
                let left = held.swap_remove(which.index(held.len()));
                memory.release(left, Some(Time::ZERO));
                if level(&memory, left.input, left.class).1 {
                    feeders[left.input][if by_class { left.class } else { 0 }] = Feeder::default();
                }
            }
            prop_assert_eq!(memory.total(), held.iter().map(|frame| u64::from(frame.len_bytes)).sum::<u64>());
            prop_assert!(memory.total() <= memory.capacity());
            for (input, feeders) in feeders.iter().enumerate() {
                for (class, feeder) in feeders.iter().enumerate().take(classes.into()) {
                    let holds = held.iter().any(|frame| frame.input == input && (!by_class || frame.class == class));
                    prop_assert!(holds || !feeder.is_stopped, "an empty input stops its feeder forever");
                    // Something must leave, and never more than there is.
                    let excess = memory.excess(input, class).unwrap();
                    prop_assert!((1..=memory.of_input(input).max(1)).contains(&excess));
                }
            }
        }
    }
}
