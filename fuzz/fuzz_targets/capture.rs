//! No bytes make the capture reader or a replay panic, and the books of a replay always balance.
#![no_main]

use std::io::Write;

use forebay_qdisc::{DropTail, DropTailConfig, Fifo, Rate};
use forebay_replay::{CaptureReader, ReplayError, ReplayOptions, ReplayedQueue, replay};
use forebay_units::QueueSize;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Faults of the file are separate from read data: an error must be printable, and a whole file must replay.
    let read = CaptureReader::new(bytes).and_then(|mut reader| {
        while reader.next_frame()?.is_some() {}
        Ok(reader.packets())
    });
    let (config, rate) = (DropTailConfig { limit: QueueSize::Bytes(3_000) }, Rate::megabits(10));
    let law = DropTail::new(&config, rate, 0).expect("the configuration is within its bounds");
    // The input comes out as captures, whose packets are those of the counters. A record has no bytes to write.
    let written = CaptureReader::new(bytes).is_ok_and(|reader| !reader.is_record());
    let (mut delivered, mut dropped) = (Vec::new(), Vec::new());
    let queue = ReplayedQueue {
        name: "drop_tail".to_owned(),
        discipline: "drop_tail".to_owned(),
        queue: Box::new(Fifo::new(Box::new(law))),
        delivered_to: written.then(|| Box::new(&mut delivered) as Box<dyn Write>),
        dropped_to: written.then(|| Box::new(&mut dropped) as Box<dyn Write>),
    };
    let replayed = replay(bytes, rate, vec![queue], &ReplayOptions::default(), &mut || true);
    if written && let Ok(result) = &replayed {
        assert_eq!(packets_in(&delivered) + packets_in(&dropped), result.packets);
    }
    match (read, replayed) {
        (_, Err(error @ ReplayError::Invariant(_))) => panic!("{error}"),
        (Ok(packets), Ok(result)) => assert_eq!(packets, result.packets),
        (Err(error), Ok(_)) => panic!("replayed a file that cannot be read: {error}"),
        (_, Err(error)) => assert!(!error.to_string().is_empty()),
    }
});

fn packets_in(capture: &[u8]) -> u64 {
    let mut reader = CaptureReader::new(capture).expect("a capture that was written can be read");
    while reader.next_frame().expect("a capture that was written can be read").is_some() {}
    reader.packets()
}
