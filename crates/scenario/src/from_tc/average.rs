//! The qdiscs with RED in them, and SFQ, which may have it.

use forebay_qdisc::{AredConfig, ChokeConfig, RedConfig, SfqConfig, SfqRedConfig};
use forebay_units::{Bytes, QueueSize, Span};

use super::flat::PACKET_BYTES;
use super::parameters::Parameters;
use super::text::{Fault, Word};
use super::units;
use crate::tc::weight_exponent;
use forebay_qdisc::config::QueueSpec;

/// Parameters of RED as `tc` takes them.
struct Average {
    min: u64,
    max: u64,
    mean_packet_size: Option<Bytes>,
    burst: Option<u32>,
    /// The weight's exponent, which output has in place of `burst`.
    exponent: Option<u32>,
    probability: f64,
    ecn: bool,
    hard_drop: bool,
}

impl Average {
    fn new() -> Self {
        Self {
            min: 0,
            max: 0,
            mean_packet_size: None,
            burst: None,
            exponent: None,
            probability: 0.02,
            ecn: false,
            hard_drop: false,
        }
    }

    /// Reads a parameter, except the thresholds, whose unit differs. Whether it is one.
    fn read(&mut self, word: &Word, p: &mut Parameters<'_, '_>) -> Result<bool, Fault> {
        match word.text.as_str() {
            "avpkt" => self.mean_packet_size = Some(p.size(word)?),
            "burst" => self.burst = Some(p.integer(word)?),
            "ewma" => self.exponent = Some(p.integer(word)?),
            "probability" => self.probability = p.number(word)?,
            "ecn" => self.ecn = true,
            "harddrop" => self.hard_drop = true,
            // For the decay of the average while the link idles. In a scenario it is the link's rate.
            "bandwidth" => drop(p.rate(word)?),
            "Scell_log" | "Plog" => drop(p.integer(word)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The mean packet size; that of `tc` for qdiscs that do not need it.
    fn packet_bytes(&self) -> u64 {
        self.mean_packet_size.map_or(1000, |size| size.0.max(1))
    }

    /// The weight, from the burst (iproute2, `tc_red.c`). Thresholds are in bytes.
    fn weight(&self, min_bytes: u64, max_bytes: u64, p: &mut Parameters<'_, '_>) -> Result<f64, Fault> {
        let packet = self.packet_bytes();
        let default = (min_bytes.saturating_mul(2).saturating_add(max_bytes)) / packet.saturating_mul(3);
        let burst = self.burst.map_or(default, u64::from);
        let exponent = match self.exponent {
            Some(exponent) => Some(exponent).filter(|exponent| *exponent < 32),
            None => weight_exponent(burst, min_bytes as f64 / packet as f64),
        };
        let refused = || p.kind.fault("the burst is shorter than the lower threshold", "no weight follows from it");
        let exponent = exponent.ok_or_else(refused)?;
        if self.mean_packet_size.is_none() && self.burst.is_none() && self.exponent.is_none() {
            p.note(p.kind, "without avpkt and burst, as in the output of `tc qdisc show`, the weight is a guess.");
        }
        Ok(libm::exp2(-f64::from(exponent)))
    }
}

pub(super) fn red(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let (mut average, mut limit, mut adapts) = (Average::new(), 0, false);
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" => limit = p.size(word)?.0,
            "min" => average.min = p.size(word)?.0,
            "max" => average.max = p.size(word)?.0,
            "adaptive" | "adaptative" => adapts = true,
            "nodrop" => p.note(word, "packets that are not ECN-capable are dropped."),
            _ if average.read(word, p)? => {}
            _ => return Err(p.unknown(word)),
        }
    }
    if limit == 0 {
        return Err(p.kind.fault("red needs a `limit`", "the limit is missing"));
    }
    if average.max == 0 {
        average.max = if average.min == 0 { limit / 4 } else { average.min.saturating_mul(3) };
    }
    if average.min == 0 {
        average.min = average.max / 3;
    }
    let config = RedConfig {
        limit: QueueSize::Bytes(limit),
        min_threshold: QueueSize::Bytes(average.min),
        max_threshold: QueueSize::Bytes(average.max),
        weight: average.weight(average.min, average.max, p)?,
        max_probability: average.probability,
        mean_packet_size: Bytes(average.packet_bytes()),
        ecn: average.ecn,
        hard_drop: !average.ecn || average.hard_drop,
        ..RedConfig::default()
    };
    if !adapts {
        return Ok(QueueSpec::Red(config));
    }
    Ok(QueueSpec::Ared(AredConfig {
        limit: config.limit,
        min_threshold: Some(config.min_threshold),
        max_threshold: Some(config.max_threshold),
        weight: Some(config.weight),
        max_probability: config.max_probability,
        gentle: false,
        mean_packet_size: config.mean_packet_size,
        ecn: config.ecn,
        hard_drop: config.hard_drop,
        ..AredConfig::default()
    }))
}

pub(super) fn choke(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let (mut average, mut limit) = (Average::new(), 0);
    let count = |p: &mut Parameters<'_, '_>, word: &Word| p.read(word, "a number of packets", units::packets);
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" => limit = count(p, word)?,
            "min" => average.min = count(p, word)?,
            "max" => average.max = count(p, word)?,
            _ if average.read(word, p)? => {}
            _ => return Err(p.unknown(word)),
        }
    }
    if limit == 0 {
        return Err(p.kind.fault("choke needs a `limit`", "the limit is missing"));
    }
    if average.max == 0 {
        average.max = limit / 4;
    }
    if average.min == 0 {
        average.min = average.max / 3;
    }
    let bytes = |packets: u64| packets.saturating_mul(average.packet_bytes());
    Ok(QueueSpec::Choke(ChokeConfig {
        limit: QueueSize::Packets(limit),
        min_threshold: QueueSize::Packets(average.min),
        max_threshold: QueueSize::Packets(average.max),
        weight: average.weight(bytes(average.min), bytes(average.max), p)?,
        max_probability: average.probability,
        mean_packet_size: Bytes(average.packet_bytes()),
        ecn: average.ecn,
        ..ChokeConfig::default()
    }))
}

/// An interval that never passes: half a year, in seconds.
const LONGEST_PERTURBATION: u64 = 15_552_000;

/// Parameters of SFQ without its RED, with the defaults of the kernel.
struct Sfq {
    limit: QueueSize,
    quantum: Bytes,
    divisor: u32,
    flows: u32,
    depth: QueueSize,
    perturbation: u64,
    head_drop: bool,
}

impl Sfq {
    /// The number of buckets: the divisor, unless `flows` are the reason that it is so large.
    fn buckets(&self, p: &mut Parameters<'_, '_>) -> u32 {
        if self.flows.checked_next_power_of_two() == Some(self.divisor) {
            return self.flows.max(1);
        }
        if self.flows < self.divisor {
            let text = format!("all {} buckets can hold packets; in Linux {} at a time.", self.divisor, self.flows);
            p.note(p.kind, &text);
        }
        self.divisor
    }
}

pub(super) fn sfq(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let mut sfq = Sfq {
        limit: QueueSize::Packets(127),
        quantum: Bytes(PACKET_BYTES),
        divisor: 1024,
        flows: 128,
        depth: QueueSize::Packets(127),
        perturbation: 0,
        head_drop: false,
    };
    let (mut average, mut red_limit) = (Average::new(), None);
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" => sfq.limit = p.packets(word)?,
            "quantum" => sfq.quantum = p.size(word)?,
            "divisor" => sfq.divisor = p.integer(word)?,
            "flows" => {
                let read = |text: &str| {
                    let number = text.split_once('/').map_or(text, |(flows, _)| flows);
                    units::integer(number).and_then(|flows| u32::try_from(flows).ok())
                };
                sfq.flows = p.read(word, "a number of flows", read)?;
            }
            "depth" => sfq.depth = p.packets(word)?,
            "perturb" => {
                let read = |text: &str| units::integer(text.strip_suffix("sec").unwrap_or(text));
                sfq.perturbation = p.read(word, "a number of seconds", read)?.min(LONGEST_PERTURBATION);
            }
            "headdrop" => sfq.head_drop = true,
            "redflowlimit" => red_limit = Some(p.size(word)?.0),
            "min" => average.min = p.size(word)?.0,
            "max" => average.max = p.size(word)?.0,
            _ if average.read(word, p)? => {}
            _ => return Err(p.unknown(word)),
        }
    }
    if average.min > 0 || average.max > 0 || red_limit.is_some() {
        return sfq_red(&sfq, average, red_limit, p);
    }
    let buckets = sfq.buckets(p);
    Ok(QueueSpec::Sfq(SfqConfig {
        limit: sfq.limit,
        buckets,
        bucket_limit: Some(sfq.depth),
        quantum: Some(sfq.quantum),
        perturbation_interval: (sfq.perturbation > 0).then(|| Span::from_seconds(sfq.perturbation)),
        steal_from_head: sfq.head_drop,
        ..SfqConfig::default()
    }))
}

fn sfq_red(
    sfq: &Sfq,
    mut average: Average,
    red_limit: Option<u64>,
    p: &mut Parameters<'_, '_>,
) -> Result<QueueSpec, Fault> {
    if average.max == 0 {
        average.max = red_limit.unwrap_or(0) / 4;
    }
    if average.min == 0 {
        average.min = average.max / 3;
    }
    let config = SfqRedConfig {
        limit: sfq.limit,
        // The buffer is divided, so there is a bucket for each flow that Linux holds at a time.
        buckets: sfq.flows.max(1),
        quantum: Some(sfq.quantum),
        min_threshold: QueueSize::Bytes(average.min),
        max_threshold: QueueSize::Bytes(average.max),
        weight: average.weight(average.min, average.max, p)?,
        max_probability: average.probability,
        mean_packet_size: Bytes(average.packet_bytes()),
        ecn: average.ecn,
        hard_drop: !average.ecn || average.hard_drop,
        ..SfqRedConfig::default()
    };
    if red_limit.is_some() {
        p.note(p.kind, "redflowlimit: the buffer is divided evenly among as many buckets as there are `flows`.");
    }
    if sfq.perturbation > 0 {
        p.note(p.kind, "perturb: the hash of flows does not change in sfq_red.");
    }
    if sfq.head_drop {
        p.note(p.kind, "headdrop: a full bucket drops the packet that arrives.");
    }
    Ok(QueueSpec::SfqRed(config))
}
