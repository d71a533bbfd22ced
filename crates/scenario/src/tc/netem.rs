//! netem: the delay of a link, and what happens to packets on the way.

use std::fmt::Write as _;

use forebay_units::Span;

use super::port::{exact_time, is_whole_microseconds, number, time};
use crate::plan::PlannedLink;
use crate::schema::{
    CorrelatedLoss, DrawnLoss, EarlyPackets, FourState, GilbertElliott, Impairments, LinkSpec, LossModel, Reordering,
    Slots, SpanDistribution,
};

/// Size of the smallest packets, which decide how many packets netem must hold.
const SMALLEST_PACKET_BYTES: u64 = 64;

/// Delay and impairments of the link. They belong behind the queue: netem at the same interface would take the queue's
/// place.
pub(super) fn path_lines(link: &PlannedLink, link_spec: &LinkSpec, device: &str) -> Vec<String> {
    let spec = &link_spec.impairments;
    let (mut notes, mut netem) = (Vec::new(), String::new());
    let changes = [
        (!link_spec.service.is_empty(), "changes its rate or delay"),
        (link_spec.trace.is_some(), "has the rate of a trace"),
        (link_spec.framing.is_some(), "takes more bytes than those of a packet"),
        (!link_spec.down.is_empty(), "is down for a time"),
        (!spec.lose.is_empty(), "loses chosen packets"),
    ];
    for (_, change) in changes.iter().filter(|(changes, _)| *changes) {
        notes.push(format!("# The link {change} in the scenario; here it does not."));
    }
    let delay = link.propagation + spec.jitter.mean();
    let jitter = width(spec.jitter);
    if [delay, jitter].iter().any(|span| !is_whole_microseconds(*span)) {
        notes.push("# Delay and jitter are rounded up to microseconds.".to_owned());
    }
    if delay > Span::ZERO {
        // tc reads delay and jitter in microseconds, and slots in nanoseconds.
        let _ = write!(netem, " delay {}", time(delay));
    }
    netem += &netem_jitter(spec, &mut notes);
    netem += &netem_loss(&spec.loss);
    if spec.duplication > 0.0 {
        let _ = write!(netem, " duplicate {}", percent(spec.duplication));
    }
    if let Reordering::Early(EarlyPackets { probability, correlation, gap }) = spec.reordering {
        let _ = write!(netem, " reorder {} {} gap {gap}", percent(probability), percent(correlation));
        notes.push("# An early packet has no jitter in the scenario; in netem it has no delay either.".to_owned());
    }
    if let Some(Slots { min, max, packets, bytes }) = spec.slots {
        let _ = write!(netem, " slot {} {}", exact_time(min), exact_time(max.unwrap_or(min)));
        if let Some(packets) = packets {
            let _ = write!(netem, " packets {packets}");
        }
        if let Some(bytes) = bytes {
            let _ = write!(netem, " bytes {}", bytes.0);
        }
    }
    if netem.is_empty() {
        return notes;
    }
    // netem's limit counts the packets that it delays.
    let enough = (link_spec.rate.bytes_in(delay) / SMALLEST_PACKET_BYTES).max(1000);
    let packets = spec.limit.unwrap_or(enough);
    notes.extend([
        format!("# Delay and loss come after the queue. At the other end of the link, if {device} receives there:"),
        "#   ip link add ifb0 type ifb && ip link set ifb0 up".to_owned(),
        format!("#   tc qdisc add dev {device} handle ffff: ingress"),
        format!("#   tc filter add dev {device} parent ffff: matchall action mirred egress redirect dev ifb0"),
        format!("#   tc qdisc add dev ifb0 root netem limit {packets}{netem}"),
    ]);
    notes
}

/// The jitter in the words of netem.
fn netem_jitter(spec: &Impairments, notes: &mut Vec<String>) -> String {
    let jitter = width(spec.jitter);
    let mut netem = match spec.jitter {
        SpanDistribution::Exponential(_) => {
            notes.push("# netem has no exponential distribution: the jitter is its mean.".to_owned());
            return String::new();
        }
        _ if jitter == Span::ZERO => return String::new(),
        SpanDistribution::Normal { .. } => format!(" {} distribution normal", time(jitter)),
        _ => format!(" {}", time(jitter)),
    };
    if spec.jitter_correlation > 0.0 {
        let _ = write!(netem, " {}", percent(spec.jitter_correlation));
    }
    if spec.reordering == Reordering::default() {
        notes.push("# Packets keep their order in the scenario; netem lets them overtake others.".to_owned());
    }
    netem
}

/// The jitter as netem takes it: how far a uniform one is from its mean, or the deviation of a normal one.
fn width(jitter: SpanDistribution) -> Span {
    match jitter {
        SpanDistribution::Uniform(low, high) if low < high => (high - low) / 2,
        SpanDistribution::Normal { deviation, .. } => deviation,
        _ => Span::ZERO,
    }
}

/// A loss model in the words of netem.
fn netem_loss(model: &LossModel) -> String {
    match *model {
        LossModel::Probability(0.0) => String::new(),
        LossModel::Probability(probability) => format!(" loss {}", percent(probability)),
        LossModel::Drawn(DrawnLoss::Correlated(CorrelatedLoss { probability, correlation })) => {
            format!(" loss random {} {}", percent(probability), percent(correlation))
        }
        LossModel::Drawn(DrawnLoss::GilbertElliott(chain)) => {
            let GilbertElliott { to_bad, to_good, loss_in_bad, loss_in_good } = chain;
            let [p, r, bad, good] = [to_bad, to_good, loss_in_bad, loss_in_good].map(percent);
            format!(" loss gemodel {p} {r} {bad} {good}")
        }
        LossModel::Drawn(DrawnLoss::FourState(FourState { p13, p31, p32, p23, p14 })) => {
            format!(" loss state {}", [p13, p31, p32, p23, p14].map(percent).join(" "))
        }
    }
}

fn percent(fraction: f64) -> String {
    format!("{}%", number(fraction * 100.0))
}
