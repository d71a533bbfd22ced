//! Damaged captures, replayed: an error with words, or counters that balance.

use forebay_replay::{
    CaptureError, CaptureReader, ReplayError, ReplayOptions, ReplayResult, ReplayedQueue, replay, salt,
};
use forebay_scenario::Scenario;
use forebay_scenario::schema::{LinkSpec, Switch, Topology};

use crate::dice::Dice;
use crate::judge::{FILE, Verdict};

/// Sound captures to start from.
const SOUND: [&[u8]; 6] = [
    include_bytes!("../../../fuzz/seeds/capture/ethernet.pcap"),
    include_bytes!("../../../fuzz/seeds/capture/ethernet.pcap.gz"),
    include_bytes!("../../../fuzz/seeds/capture/two-interfaces.pcapng"),
    include_bytes!("../../../fuzz/seeds/capture/layers.pcap"),
    include_bytes!("../../../fuzz/seeds/capture/radiotap.pcap"),
    include_bytes!("../../../examples/belligerent.pcap.gz"),
];
/// Values at which length fields and offsets change their behavior.
const NUMBERS: [u32; 9] = [0, 1, 0x7fff, 0xffff, 0x10000, 0x7fff_ffff, 0x8000_0000, 0xffff_fff0, 0xffff_ffff];

/// A capture of `SOUND`, or one that a run traced, with some damage; now and then without.
pub fn damaged(dice: &mut Dice, traced: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = match dice.pick(traced) {
        Some(trace) if dice.chance(0.5) => trace.clone(),
        _ => dice.pick(&SOUND).map_or(Vec::new(), |sound| sound.to_vec()),
    };
    for _ in 0..dice.few() {
        let at = dice.below(bytes.len() + 1);
        let length = dice.below(64).min(bytes.len() - at);
        match dice.below(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let again = bytes[at..at + length].to_vec();
                bytes.splice(at..at, again);
            }
            3 => bytes[at..at + length].iter_mut().for_each(|byte| *byte = dice.word() as u8),
            4 if at + 4 <= bytes.len() => {
                let number = dice.pick(&NUMBERS).copied().unwrap_or(0);
                bytes[at..at + 4].copy_from_slice(&if dice.chance(0.5) {
                    number.to_le_bytes()
                } else {
                    number.to_be_bytes()
                });
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            _ => {}
        }
    }
    bytes
}

/// Judges a capture in front of the port that a scenario has as its star's bottleneck.
///
/// # Errors
/// The law that does not hold.
pub fn capture(text: &str, bytes: &[u8]) -> Result<Verdict, String> {
    // The correction of a port is sometimes skipped.
    let Ok(scenario) = Scenario::load(text, FILE, &[]) else { return Ok(Verdict::Refused) };
    let Topology::Star(star) = &scenario.spec().topology else { return Ok(Verdict::Refused) };
    let LinkSpec { rate, queue: Some(queue), .. } = &star.bottleneck else { return Ok(Verdict::Refused) };
    let options = ReplayOptions::default();
    let read = packets_of(bytes);
    let replayed = || {
        let Ok(discipline) = queue.build_in(&mut Switch::default(), *rate, salt(options.seed)) else { return Ok(None) };
        let (mut delivered, mut dropped) = (Vec::new(), Vec::new());
        let queue = ReplayedQueue {
            name: "queue".into(),
            discipline: String::new(),
            queue: discipline.into_discipline(),
            delivered_to: Some(Box::new(&mut delivered)),
            dropped_to: Some(Box::new(&mut dropped)),
        };
        let result = replay(bytes, *rate, vec![queue], &options, &mut || true)?;
        Ok(Some((result, delivered, dropped)))
    };
    match (read, replayed()) {
        (_, Ok(None)) => Ok(Verdict::Refused),
        (_, Err(error @ ReplayError::Invariant(_))) => Err(error.to_string()),
        (_, Err(error)) if error.to_string().is_empty() => Err("an error without words".into()),
        (_, Err(_)) => Ok(Verdict::Refused),
        (Err(error), Ok(_)) => Err(format!("replayed a file that cannot be read: {error}")),
        (Ok(packets), Ok(Some(outcome))) => {
            let again = replayed().map_err(|error| error.to_string())?;
            if format!("{again:?}") != format!("{:?}", Some(&outcome)) {
                return Err("a second replay differs".into());
            }
            let (result, delivered, dropped) = outcome;
            let written = |bytes: &[u8]| packets_of(bytes).map_err(|error| format!("what was written: {error}"));
            conserved(packets, &result, written(&delivered)?, written(&dropped)?).map(|()| Verdict::Valid)
        }
    }
}

fn packets_of(bytes: &[u8]) -> Result<u64, CaptureError> {
    let mut reader = CaptureReader::new(bytes)?;
    while reader.next_frame()?.is_some() {}
    Ok(reader.packets())
}

/// The values that a result and its captures, of `delivered` and of `dropped` packets, must share.
fn conserved(packets: u64, result: &ReplayResult, delivered: u64, dropped: u64) -> Result<(), String> {
    if packets != result.packets {
        return Err(format!("{packets} packets were read, {} replayed", result.packets));
    }
    for (column, written) in [("packets_delivered", delivered), ("packets_dropped", dropped)] {
        let (queue, flows) = (result.queues.counts(column)[0], result.flows.counts(column).iter().sum::<u64>());
        if (queue, flows) != (written, written) {
            return Err(format!("{column}: {queue} at the queue, {flows} of flows, {written} in the capture"));
        }
    }
    let flows = &result.flows;
    for (row, flow) in flows.texts("flow").iter().enumerate() {
        let count = |column: &str| flows.counts(column)[row];
        if count("packets") != count("packets_delivered") + count("packets_dropped") {
            return Err(format!("packets of a flow are neither delivered nor dropped: `{flow}`"));
        }
        let delays = ["delay_p50_s", "delay_p99_s", "delay_max_s"].map(|column| flows.floats(column)[row]);
        if delays.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(format!("percentiles ascend: `{flow}`: {delays:?}"));
        }
    }
    Ok(())
}
