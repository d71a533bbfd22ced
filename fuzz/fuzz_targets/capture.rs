//! No bytes make the capture reader or a replay panic, and the books of a replay always balance.
#![no_main]

use forebay_qdisc::{DropTailConfig, Rate};
use forebay_scenario::replay::{CaptureReader, ReplayError, ReplayOptions, replay};
use forebay_scenario::schema::QueueSpec;
use forebay_units::QueueSize;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // What was read is told apart from what was wrong: an error must be printable, and a whole file must replay.
    let read = CaptureReader::new(bytes).and_then(|mut reader| {
        while reader.next_frame()?.is_some() {}
        Ok(reader.packets())
    });
    let queue = QueueSpec::DropTail(DropTailConfig { limit: QueueSize::Bytes(3_000) });
    match (read, replay(bytes, Rate::megabits(10), &queue, &ReplayOptions::default())) {
        (_, Err(error @ ReplayError::Invariant(_))) => panic!("{error}"),
        (Ok(packets), Ok(result)) => assert_eq!(packets, result.packets),
        (Err(error), Ok(_)) => panic!("replayed a file that cannot be read: {error}"),
        (_, Err(error)) => assert!(!error.to_string().is_empty()),
    }
});
