//! Unexpected behaviour of a replay.

use std::collections::BTreeMap;

use forebay_records::Warning;

use crate::arrivals::Arrivals;
use crate::dissect::FlowIdentity;
use crate::error::CaptureError;

/// The longest frame of a link without jumbo frames: 1518 bytes, and two VLAN tags.
pub(crate) const LONGEST_FRAME_BYTES: u32 = 1_526;
/// The longest frame of common links with jumbo frames.
const LONGEST_JUMBO_BYTES: u32 = 9_216;
/// So many kinds of opaque packets are named.
const MOST_KINDS: usize = 3;

/// The warnings of a replay that has read all arrivals.
pub(crate) fn warnings(arrivals: &Arrivals<'_>) -> Vec<Warning> {
    let mut all = Vec::new();
    all.extend(arrivals.ended_early().map(|error| ended_early(error, arrivals.packets_read())));
    all.extend(missed(arrivals.missed()));
    all.extend(empty(arrivals.empty()));
    all.extend(pauses(arrivals));
    all.extend(opaque(arrivals));
    all.extend(unaddressed(arrivals.unaddressed_opaque));
    all.extend(cut(arrivals.cut().iter().sum()));
    all.extend(long(arrivals));
    all
}

fn warning(text: String, remedy: &str) -> Warning {
    Warning { text, remedy: remedy.to_owned() }
}

fn ended_early(error: &CaptureError, packets: u64) -> Warning {
    let unit = if matches!(error, CaptureError::RecordTruncated { .. }) { "arrival" } else { "packet" };
    let text = format!("the file ends within the {unit} after {unit} {packets}: only the complete ones were replayed");
    warning(text, "copy the file again if it was complete at its source")
}

fn missed(packets: u64) -> Option<Warning> {
    let text = format!("{} missing from the record: its writer could not keep up", are(packets));
    (packets > 0).then(|| warning(text, "record again while the machine has less other work"))
}

fn empty(frames: u64) -> Option<Warning> {
    let frames = if frames == 1 { "1 frame of zero bytes was".into() } else { zero_bytes(frames) };
    (!frames.is_empty()).then(|| warning(format!("{frames} skipped"), "check the tool that wrote the capture"))
}

fn zero_bytes(frames: u64) -> String {
    if frames == 0 { String::new() } else { format!("{} frames of zero bytes were", thousands(frames)) }
}

fn pauses(arrivals: &Arrivals<'_>) -> Option<Warning> {
    let pauses = &arrivals.pauses;
    let days = pauses.first_ps as f64 / 86_400e12;
    let others = match pauses.count {
        0 => return None,
        1 => String::new(),
        more => format!(" and {} more", thousands(more - 1)),
    };
    let text = format!(
        "packet {} comes {days:.1} days after the packet before it: the replay shortens this pause{others} to 1 day",
        pauses.first_packet
    );
    Some(warning(text, "if a packet has a wrong time, remove it: `editcap IN OUT NUMBER`"))
}

fn opaque(arrivals: &Arrivals<'_>) -> Option<Warning> {
    let mut kinds: BTreeMap<FlowIdentity, u64> = BTreeMap::new();
    for (flow, &packets) in arrivals.flows().iter().zip(arrivals.opaque()) {
        if packets > 0 {
            *kinds.entry(*flow).or_default() += packets;
        }
    }
    let opaque: u64 = kinds.values().sum();
    if opaque == 0 {
        return None;
    }
    let mut largest: Vec<_> = kinds.iter().collect();
    largest.sort_by_key(|&(_, &packets)| std::cmp::Reverse(packets));
    let mut named: Vec<String> =
        largest.iter().take(MOST_KINDS).map(|(kind, packets)| format!("{kind}: {}", thousands(**packets))).collect();
    if largest.len() > MOST_KINDS {
        named.push("…".into());
    }
    let (named, all) = (named.join(", "), arrivals.packets_replayed);
    let text = if opaque == all {
        format!("no packet shows an IP header ({named}): the replay cannot distinguish flows")
    } else {
        let (opaque, all) = (thousands(opaque), thousands(all));
        format!("{opaque} of {all} packets show no IP header ({named}): each of these kinds counts as one flow")
    };
    Some(warning(text, "capture where the packets are not encrypted and not encapsulated"))
}

fn unaddressed(packets: u64) -> Option<Warning> {
    let text = format!("{} left out because no destination address is visible", are(packets));
    (packets > 0).then(|| warning(text, "replay them too: leave out `--to`"))
}

fn cut(packets: u64) -> Option<Warning> {
    let were = if packets == 1 { "1 packet was".into() } else { format!("{} packets were", thousands(packets)) };
    let text = format!(
        "{were} captured without the headers that identify their flow: flows between the same addresses count as one"
    );
    (packets > 0).then(|| warning(text, "capture with a longer snaplen: `tcpdump -s 128`"))
}

fn long(arrivals: &Arrivals<'_>) -> Option<Warning> {
    let long = &arrivals.long;
    if long.packets == 0 {
        return None;
    }
    let are = if long.packets == 1 { "1 packet is".into() } else { format!("{} packets are", thousands(long.packets)) };
    let cause = if long.longest_bytes > LONGEST_JUMBO_BYTES {
        "segmentation offload merged packets before the capture, and the replay sends each as one"
    } else {
        "unless the link has jumbo frames, segmentation offload merged packets before the capture"
    };
    let longest = thousands(long.longest_bytes.into());
    let text = format!("{are} longer than an Ethernet frame, up to {longest} B: {cause}");
    Some(warning(text, "capture with offloads off: `ethtool -K DEVICE tso off gso off gro off lro off`"))
}

fn are(packets: u64) -> String {
    if packets == 1 { "1 packet is".into() } else { format!("{} packets are", thousands(packets)) }
}

/// A number with a comma before each three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        let texts = [0, 999, 1_000, 27_777, 1_234_567].map(thousands);
        assert_eq!(texts, ["0", "999", "1,000", "27,777", "1,234,567"]);
    }
}
