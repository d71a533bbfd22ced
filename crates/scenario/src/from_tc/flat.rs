//! The qdiscs without queues of other kinds inside.

use forebay_qdisc::framing::{CellFraming, LinkLayer};
use forebay_qdisc::{
    CakeAckFilter, CakeConfig, CakeIsolation, CakeRoundTrip, CakeTins, CodelConfig, DropTailConfig, DualPi2Config,
    DualPi2EcnMask, FqCodelConfig, FqCodelPreset, FqConfig, FqPieConfig, HhfConfig, PieConfig, PiePreset, SfbConfig,
    SfbRateLimitScope, SquareRoot,
};
use forebay_units::{Bytes, QueueSize, Rate, Span};
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::parameters::Parameters;
use super::text::{Fault, Word};
use super::units;
use forebay_qdisc::config::QueueSpec;

/// A packet of an Ethernet with its header, as the kernel counts it.
pub(super) const PACKET_BYTES: u64 = 1514;
/// Packets that an interface queues by default (`txqueuelen`).
pub(super) const INTERFACE_PACKETS: u64 = 1000;
const OFFLOAD: &str = "packets are never joined in a scenario, so there is nothing to split.";

pub(super) fn fifo(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let counts_bytes = p.kind.is("bfifo");
    let mut limit = if counts_bytes {
        QueueSize::Bytes(INTERFACE_PACKETS * PACKET_BYTES)
    } else {
        QueueSize::Packets(INTERFACE_PACKETS)
    };
    if p.kind.is("pfifo_head_drop") {
        p.note(p.kind, "a full queue drops the packets that arrive, not the first of the queue.");
    }
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" if counts_bytes => limit = QueueSize::Bytes(p.size(word)?.0),
            "limit" => limit = p.packets(word)?,
            _ => return Err(p.unknown(word)),
        }
    }
    Ok(QueueSpec::DropTail(DropTailConfig { limit }))
}

pub(super) fn codel(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let mut config = CodelConfig { square_root: SquareRoot::Newton16, ..CodelConfig::default() };
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" => config.limit = p.packets(word)?,
            "target" => config.target = p.time(word)?,
            "interval" => config.interval = p.time(word)?,
            "ce_threshold" => config.ce_threshold = Some(p.time(word)?),
            "ecn" => config.ecn = true,
            "noecn" => config.ecn = false,
            _ => return Err(p.unknown(word)),
        }
    }
    Ok(QueueSpec::Codel(config))
}

pub(super) fn fq_codel(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let mut config = FqCodelConfig { preset: FqCodelPreset::Linux, ..FqCodelConfig::default() };
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" => config.limit = p.packets(word)?,
            "flows" => config.flows = p.integer(word)?,
            "quantum" => config.quantum = p.size(word)?,
            "memory_limit" => config.memory_limit = p.size(word)?,
            "drop_batch" => config.drop_batch = p.integer(word)?,
            "target" => config.target = p.time(word)?,
            "interval" => config.interval = p.time(word)?,
            "ce_threshold" => config.ce_threshold = Some(p.time(word)?),
            "ce_threshold_selector" => p.note_value(word, "ce_threshold marks all ECN-capable packets.")?,
            "ecn" => config.ecn = true,
            "noecn" => config.ecn = false,
            _ => return Err(p.unknown(word)),
        }
    }
    Ok(QueueSpec::FqCodel(config))
}

/// PIE's gains are multiples of this.
const PIE_GAIN: f64 = 1.0 / 16.0;
const RATE_ESTIMATOR: &str = "the delay is that of the packets; an estimate from the departure rate is not offered.";

/// Reads a word of PIE's law into the fields that both configurations have by the same names.
macro_rules! pie_words {
    ($config:ident, $p:ident, $word:ident) => {
        match $word.text.as_str() {
            "target" => $config.target = $p.time($word)?,
            "tupdate" => $config.update_interval = $p.time($word)?,
            "alpha" => $config.alpha = $p.number($word)? * PIE_GAIN,
            "beta" => $config.beta = $p.number($word)? * PIE_GAIN,
            "ecn" => $config.ecn = true,
            "noecn" => $config.ecn = false,
            "bytemode" => $config.byte_mode = true,
            "nobytemode" => $config.byte_mode = false,
            "dq_rate_estimator" => $p.note($word, RATE_ESTIMATOR),
            "no_dq_rate_estimator" => {}
            _ => return Err($p.unknown($word)),
        }
    };
}

pub(super) fn pie(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let mut config = PieConfig { preset: PiePreset::Linux, ..PieConfig::default() };
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" => config.limit = p.packets(word)?,
            _ => pie_words!(config, p, word),
        }
    }
    Ok(QueueSpec::Pie(config))
}

pub(super) fn fq_pie(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let mut config = FqPieConfig::default();
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" => config.limit = p.packets(word)?,
            "flows" => config.flows = p.integer(word)?,
            "quantum" => config.quantum = p.size(word)?,
            "memory_limit" => config.memory_limit = p.size(word)?,
            "ecn_prob" => config.mark_threshold = p.percent(word)?,
            _ => pie_words!(config, p, word),
        }
    }
    Ok(QueueSpec::FqPie(config))
}

/// The queue of a socket has no counterpart: a scenario's senders pace themselves.
pub(super) fn fq(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let mut config = FqConfig::default();
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" => config.limit = p.packets(word)?,
            "flow_limit" => {
                config.flow_limit = p.read(word, "a number of packets", units::packets)?.try_into().unwrap_or(u32::MAX)
            }
            "orphan_mask" => config.flows = p.integer(word)?.saturating_add(1),
            "quantum" => config.quantum = p.size(word)?,
            "initial_quantum" => config.initial_quantum = p.size(word)?,
            "maxrate" => config.flow_max_rate = Some(p.rate(word)?),
            "low_rate_threshold" => config.low_rate_threshold = p.rate(word)?,
            "refill_delay" => config.refill_delay = p.time(word)?,
            "ce_threshold" => config.ce_threshold = Some(p.time(word)?),
            "bands" => {
                p.integer(word)?;
            }
            "priomap" => {
                let bands = p.list(config.priomap.len());
                for (place, band) in config.priomap.iter_mut().zip(bands) {
                    *place = u8::try_from(band).unwrap_or(u8::MAX);
                }
            }
            "weights" => {
                let weights = p.list(config.weights.len());
                for (place, weight) in config.weights.iter_mut().zip(weights) {
                    *place = u32::try_from(weight).unwrap_or(u32::MAX);
                }
            }
            "buckets" => p.note_value(word, "the size of the kernel's table of flows.")?,
            "timer_slack" | "horizon" => p.note_value(word, "packets have no departure time of their own.")?,
            "offload_horizon" => p.note_value(word, "there is no offload.")?,
            "horizon_drop" | "horizon_cap" | "pacing" => {}
            "nopacing" => p.note(word, "senders pace themselves; only `maxrate` paces here."),
            "defrate" => p.note_value(word, "Linux ignores it, too.")?,
            _ => return Err(p.unknown(word)),
        }
    }
    Ok(QueueSpec::Fq(config))
}

pub(super) fn hhf(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let mut config = HhfConfig::default();
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" => config.limit = p.packets(word)?,
            "quantum" => config.quantum = p.size(word)?,
            "hh_limit" => config.hh_limit = p.integer(word)?,
            "reset_timeout" => config.reset_timeout = p.time(word)?,
            "admit_bytes" => config.admit_bytes = p.size(word)?,
            "evict_timeout" => config.evict_timeout = p.time(word)?,
            "non_hh_weight" => config.non_hh_weight = p.integer(word)?,
            _ => return Err(p.unknown(word)),
        }
    }
    Ok(QueueSpec::Hhf(config))
}

/// SFB with the values that `tc` configures (iproute2, `q_sfb.c`) and the bins of the kernel. Linux acts when a bin
/// reaches `max` and `target`, Forebay when it exceeds its limits.
pub(super) fn sfb(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let mut config = SfbConfig {
        limit: QueueSize::Packets(INTERFACE_PACKETS),
        levels: 8,
        bins: 16,
        increment: 0.0005,
        decrement: 0.00005,
        rate_limit_scope: SfbRateLimitScope::Linux,
        parole_time: Span::ZERO,
        rehash_interval: Some(Span::from_seconds(600)),
        ..SfbConfig::default()
    };
    let (mut most, mut target, mut rate, mut burst) = (0, 0, 10, 20);
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" => config.limit = p.packets(word)?,
            "max" => most = p.integer(word)?,
            "target" => target = p.integer(word)?,
            "increment" => config.increment = p.number(word)?,
            "decrement" => config.decrement = p.number(word)?,
            "penalty_rate" => rate = p.integer(word)?,
            "penalty_burst" => burst = p.integer(word)?,
            "rehash" => config.rehash_interval = Some(Span::from_milliseconds(u64::from(p.integer(word)?))),
            "db" => drop(p.integer(word)?),
            // Output has the words `penalty rate 10 burst 20 (600000ms 60000ms)`.
            "penalty" => {}
            "rate" => rate = p.integer(word)?,
            "burst" => burst = p.integer(word)?,
            text => match text.trim_matches(['(', ')']).strip_suffix("ms").and_then(units::integer) {
                Some(rehash) if text.starts_with('(') => {
                    config.rehash_interval = Some(Span::from_picoseconds(rehash.saturating_mul(1_000_000_000)));
                }
                Some(_) if text.ends_with(')') => {}
                _ => return Err(p.unknown(word)),
            },
        }
    }
    if most == 0 {
        most = if target == 0 { 25 } else { (target.saturating_mul(5).saturating_add(1)) / 4 };
    }
    if target == 0 {
        target = most.saturating_mul(4).saturating_add(3) / 5;
    }
    (config.bin_limit, config.bin_size) = (Some(most.saturating_sub(1)), Some(target.saturating_sub(1)));
    config.rate_limit = Rate::new(u64::from(rate) * 1500 * 8)
        .ok_or_else(|| p.kind.fault("a penalty_rate of 0 packets a second", "expected at least 1"))?;
    config.burst = Bytes(u64::from(burst) * 1500);
    Ok(QueueSpec::Sfb(config))
}

pub(super) fn dualpi2(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let mut config = DualPi2Config::default();
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "limit" => config.limit = p.packets(word)?,
            "memlimit" => config.memory_limit = Some(p.size(word)?),
            "target" => config.target = Some(p.time(word)?),
            "tupdate" => config.update_interval = Some(p.time(word)?),
            "max_rtt" => config.max_rtt = Some(p.time(word)?),
            "typical_rtt" => config.typical_rtt = Some(p.time(word)?),
            "alpha" => config.alpha = Some(p.number(word)?),
            "beta" => config.beta = Some(p.number(word)?),
            "coupling_factor" => config.coupling_factor = f64::from(p.integer(word)?),
            "step_thresh" => match p.optional(units::time) {
                Some(threshold) => config.step_threshold = Some(threshold),
                None => {
                    let read = |text: &str| units::packets(text).and_then(|packets| u32::try_from(packets).ok());
                    config.step_threshold_packets = Some(p.read(word, "a time, or packets such as 5p", read)?);
                }
            },
            "min_qlen_step" => {
                let read = |text: &str| units::packets(text).and_then(|packets| u32::try_from(packets).ok());
                config.min_qlen_step = Some(p.read(word, "a number of packets", read)?);
            }
            "classic_protection" => {
                config.classic_protection = Some((p.percent(word)? * 100.0).round() as u32);
            }
            "drop_on_overload" => config.drop_on_overload = true,
            "overflow" => config.drop_on_overload = false,
            "drop_enqueue" => config.drop_on_enqueue = true,
            "drop_dequeue" => config.drop_on_enqueue = false,
            "l4s_ect" => config.ecn_mask = DualPi2EcnMask::L4sEct,
            "any_ect" => config.ecn_mask = DualPi2EcnMask::AnyEct,
            "split_gso" => p.note(word, OFFLOAD),
            "no_split_gso" => {}
            _ => return Err(p.unknown(word)),
        }
    }
    Ok(QueueSpec::DualPi2(config))
}

/// The value of an enumeration by its word, which is that of `tc`.
fn named<'d, T: serde::Deserialize<'d>>(word: &'d Word) -> Option<T> {
    let deserializer: StrDeserializer<'d, Error> = word.text.as_str().into_deserializer();
    T::deserialize(deserializer).ok()
}

pub(super) fn cake(p: &mut Parameters<'_, '_>) -> Result<QueueSpec, Fault> {
    let mut config = CakeConfig::default();
    while let Some(word) = p.next() {
        match word.text.as_str() {
            "bandwidth" if p.skip("unlimited") => config.bandwidth = None,
            "bandwidth" => (config.bandwidth, config.autorate_ingress) = (Some(p.rate(word)?), false),
            "unlimited" => (config.bandwidth, config.autorate_ingress) = (None, false),
            "autorate-ingress" => config.autorate_ingress = true,
            "rtt" => config.rtt = CakeRoundTrip(p.time(word)?),
            "diffserv" => config.tins = CakeTins::Diffserv4,
            "wash" => config.wash = true,
            "nowash" => config.wash = false,
            "no-ack-filter" => config.ack_filter = CakeAckFilter::Off,
            "ack-filter" => config.ack_filter = CakeAckFilter::On,
            "ack-filter-aggressive" => config.ack_filter = CakeAckFilter::Aggressive,
            "ingress" => config.ingress = true,
            "egress" => config.ingress = false,
            "memlimit" => config.limit = Some(QueueSize::Bytes(p.size(word)?.0)),
            "nat" => p.note(word, "no address is translated in a scenario."),
            "split-gso" => p.note(word, OFFLOAD),
            "fwmark" => p.note_value(word, "the traffic class alone chooses the tin.")?,
            "nonat" | "no-split-gso" | "via-ethernet" => {}
            _ => {
                if !named_word(word, &mut config) && !overhead(word, p, &mut config)? {
                    return Err(p.unknown(word));
                }
            }
        }
    }
    // Output has the overhead in numbers, also where it is the default.
    if config.overhead == Some(0) && config.link_layer.is_none() && config.mpu.is_none() && config.vlan_tags == 0 {
        p.note(p.kind, "an overhead of 0 counts the IP packet, without the header of an Ethernet.");
    }
    Ok(QueueSpec::Cake(config))
}

/// Words that are values: of the tins, of the isolation, of the round-trip time.
fn named_word(word: &Word, config: &mut CakeConfig) -> bool {
    if let Some(tins) = named::<CakeTins>(word) {
        config.tins = tins;
    } else if let Some(isolation) = named::<CakeIsolation>(word) {
        config.isolation = isolation;
    } else if let Some(rtt) = named::<CakeRoundTrip>(word).filter(|_| word.text.starts_with(char::is_alphabetic)) {
        config.rtt = rtt;
    } else {
        return false;
    }
    true
}

/// The bytes of the link: a preset, or numbers, of which the later replaces the earlier.
fn overhead(word: &Word, p: &mut Parameters<'_, '_>, config: &mut CakeConfig) -> Result<bool, Fault> {
    match word.text.as_str() {
        "raw" => {
            (config.link_layer, config.overhead, config.vlan_tags) = (None, None, 0);
            config.framing = None;
        }
        "overhead" => {
            let read = |text: &str| text.parse::<i32>().ok();
            config.overhead = Some(p.read(word, "a number of bytes from -64 to 256", read)?);
            // It replaces what the words before it have added.
            config.vlan_tags = 0;
        }
        "mpu" => config.mpu = Some(p.integer(word)?),
        "ether-vlan" => config.vlan_tags += 1,
        "atm" => config.framing = Some(CellFraming::Atm),
        "ptm" => config.framing = Some(CellFraming::Ptm),
        "noatm" => config.framing = Some(CellFraming::None),
        _ => {
            let Some(layer) = named::<LinkLayer>(word) else { return Ok(false) };
            if config.link_layer.is_some() || config.overhead.is_some() {
                p.note(word, "one link layer counts, the last one; `tc` adds their bytes.");
            }
            (config.link_layer, config.overhead, config.framing) = (Some(layer), None, None);
        }
    }
    Ok(true)
}
