//! The qdisc of Linux for a discipline, with the parameters that it does not have.

use forebay_qdisc::{
    CobaltConfig, CodelConfig, DrrConfig, FqCodelConfig, FqCodelPreset, FqConfig, FqPieConfig, HhfConfig, PieConfig,
    PiePreset, SfbConfig, SfbDropRule, SfbRateLimitScope, SfqConfig, SfqPlacement, SquareRoot,
};
use forebay_units::{Bytes, QueueSize, Span};

use super::cake::cake;
use super::command::Qdisc;
use super::dualpi2::dualpi2;
use super::port::{Port, number, rate, time};
use super::red;
use crate::schema::QueueSpec;

/// Size that CoDel and PIE of Linux take as that of a packet.
const MTU: Bytes = Bytes(1500);
/// Buckets of sfq and queues of fq_codel are at most so many.
const MOST_QUEUES: u32 = 65_536;

/// The qdisc that does what the discipline does; a FIFO with its limit if there is none. Disciplines with queues inside
/// take several commands: [`super::script::Script`] has them.
pub(super) fn counterpart(queue: &QueueSpec, port: Port) -> Qdisc {
    match queue {
        QueueSpec::DropTail(config) => fifo(config.limit),
        QueueSpec::Red(config) => red::red(config, port),
        QueueSpec::Ared(config) => red::ared(config, port),
        QueueSpec::Choke(config) => red::choke(config, port),
        QueueSpec::SfqRed(config) => red::sfq_red(config, port),
        QueueSpec::Sfq(config) => sfq(config, port),
        QueueSpec::Drr(config) => drr(config, port),
        QueueSpec::Sfb(config) => sfb(config, port),
        QueueSpec::Codel(config) => codel(config, port),
        QueueSpec::FqCodel(config) => fq_codel(config, port),
        QueueSpec::Cake(config) => cake(config, port),
        QueueSpec::Cobalt(config) => cobalt(config, port),
        QueueSpec::Pie(config) => pie(config, port),
        QueueSpec::FqPie(config) => fq_pie(config, port),
        QueueSpec::DualPi2(config) => dualpi2(config, port),
        QueueSpec::Fq(config) => fq(config, port),
        QueueSpec::Hhf(config) => hhf(config, port),
        other => fifo(other.limit().unwrap_or(QueueSize::Packets(1000))).note(format!(
            "{}: Linux has no such discipline. A FIFO with the same limit takes its place.",
            other.name()
        )),
    }
}

pub(super) fn fifo(limit: QueueSize) -> Qdisc {
    match limit {
        QueueSize::Packets(packets) => Qdisc::new("pfifo").with("limit", packets),
        QueueSize::Bytes(bytes) => Qdisc::new("bfifo").with("limit", bytes),
    }
}

/// The larger parameter of a power of two, and a note where that is another number.
pub(super) fn divisor(qdisc: Qdisc, key: &str, buckets: u32) -> Qdisc {
    let divisor = buckets.clamp(1, MOST_QUEUES).next_power_of_two();
    qdisc
        .with("divisor", divisor)
        .note_if(divisor != buckets, format!("{key} = {buckets}: Linux takes a power of two up to {MOST_QUEUES}."))
}

pub(super) fn placement(qdisc: Qdisc, placement: SfqPlacement) -> Qdisc {
    qdisc.note_if(placement != SfqPlacement::Random, "placement = \"ns2\": Linux places flows by a hash.")
}

fn sfq(config: &SfqConfig, port: Port) -> Qdisc {
    let qdisc = Qdisc::new("sfq").packet_limit(config.limit, port);
    let qdisc = match config.quantum {
        Some(quantum) => qdisc.with("quantum", quantum.0),
        None => qdisc.note("quantum: Linux counts bytes, by default the interface's MTU; here a turn is one packet."),
    };
    let qdisc = sfq_buckets(divisor(qdisc, "buckets", config.buckets), config.buckets);
    let qdisc = match config.perturbation_interval {
        Some(interval) => {
            let seconds = interval.picoseconds().div_ceil(Span::from_seconds(1).picoseconds());
            qdisc.with("perturb", seconds).note_if(
                Span::from_seconds(seconds) != interval,
                format!("perturbation_interval = \"{interval}\": Linux takes whole seconds."),
            )
        }
        None => qdisc,
    };
    let qdisc = match config.bucket_limit {
        Some(limit) => qdisc.with("depth", port.packets(limit).clamp(1, SFQ_DEPTH)).note_if(
            port.packets(limit) > SFQ_DEPTH || matches!(limit, QueueSize::Bytes(_)),
            format!("bucket_limit = \"{limit}\": Linux takes at most {SFQ_DEPTH} packets."),
        ),
        None => qdisc.with("depth", SFQ_DEPTH).note(format!("Linux holds at most {SFQ_DEPTH} packets of a flow.")),
    };
    placement(qdisc, config.placement)
        .flag("headdrop", config.steal_from_head)
        .note_if(config.ns2_admission, "ns2_admission: Linux drops from the longest bucket instead.")
}

/// Packets that sfq holds of one flow.
pub(super) const SFQ_DEPTH: u64 = 127;
/// Flows that sfq holds at a time.
const SFQ_FLOWS: u32 = 65_408;

/// As many flows at a time as there are buckets; sfq's default is 128.
pub(super) fn sfq_buckets(qdisc: Qdisc, buckets: u32) -> Qdisc {
    qdisc.with("flows", buckets.min(SFQ_FLOWS))
}

/// Linux's `drr` has no flow queues of its own; its `sfq` is deficit round robin over a hash.
fn drr(config: &DrrConfig, port: Port) -> Qdisc {
    let buckets = config.buckets.unwrap_or(1024);
    let qdisc = Qdisc::new("sfq").packet_limit(config.limit, port).with("quantum", config.quantum.0);
    sfq_buckets(divisor(qdisc, "buckets", buckets), buckets)
        .with("depth", SFQ_DEPTH)
        .flag("headdrop", config.steal_from_head)
        .note("drr: Linux's drr needs a class and a filter for each flow. sfq does deficit round robin by a hash.")
        .note_if(config.buckets.is_none(), "A queue for each flow: here 1024 hashed ones.")
        .note_if(!config.weights.is_empty(), "weights: flows of sfq have equal shares; use cbq, which becomes htb.")
        .note(format!("Linux holds at most {SFQ_DEPTH} packets of a flow."))
}

/// The packet in which Linux's rate limiter of SFB counts.
const SFB_PACKET_BITS: f64 = 1500.0 * 8.0;

fn sfb(config: &SfbConfig, port: Port) -> Qdisc {
    // A scenario that was checked has bins of some size.
    let (size, limit) = config.check().unwrap_or((19, 24));
    let rate = (config.rate_limit.bits_per_second() as f64 / SFB_PACKET_BITS).round().max(1.0);
    let rehash = config.rehash_interval.unwrap_or(Span::from_seconds(600));
    let milliseconds = |span: Span| (span.picoseconds() / 1_000_000_000).max(1);
    Qdisc::new("sfb")
        .with("rehash", milliseconds(rehash))
        .with("db", milliseconds(rehash) / 10)
        .packet_limit(config.limit, port)
        // Linux acts when a bin reaches these numbers, Forebay when it exceeds them.
        .with("max", u64::from(limit) + 1)
        .with("target", u64::from(size) + 1)
        .with("increment", number(config.increment))
        .with("decrement", number(config.decrement))
        .with("penalty_rate", rate)
        .with("penalty_burst", config.burst.0.div_ceil(1500))
        .note_if(
            (config.levels, config.bins) != (8, 16),
            format!("levels = {}, bins = {}: Linux has 8 levels of 16 bins.", config.levels, config.bins),
        )
        .note_if(config.drop_rule == SfbDropRule::Any, "drop_rule = \"any\": Linux has \"all\".")
        .note_if(
            config.rate_limit_scope != SfbRateLimitScope::Linux,
            format!("rate_limit = \"{}\": Linux has one for all held flows, in packets a second.", config.rate_limit),
        )
        .note_if(config.fair_limit.is_some(), "fair_limit: no counterpart; the rate stays as given.")
        .note_if(config.parole_time > Span::ZERO, format!("parole_time = \"{}\": none in Linux.", config.parole_time))
        .note_if(config.rehash_interval.is_none(), "rehash_interval: Linux always rehashes, here every 600 s.")
        .note_if(!config.double_buffer, "double_buffer = false: Linux always warms up the next bins.")
        .note_if(!config.ecn, "ecn = false: Linux marks packets that are ECN-capable.")
}

/// The parameters that CoDel and FQ-CoDel share.
fn control_law(qdisc: Qdisc, config: &CodelConfig) -> Qdisc {
    let qdisc = qdisc
        .with("target", time(config.target))
        .with("interval", time(config.interval))
        .flag(if config.ecn { "ecn" } else { "noecn" }, true)
        .note_if(
            config.max_packet_size != MTU,
            format!("max_packet_size = \"{}\": Linux takes the interface's MTU.", config.max_packet_size),
        );
    match config.ce_threshold {
        Some(threshold) => qdisc.with("ce_threshold", time(threshold)),
        None => qdisc,
    }
}

fn codel(config: &CodelConfig, port: Port) -> Qdisc {
    control_law(Qdisc::new("codel").packet_limit(config.limit, port), config).note_if(
        config.square_root != SquareRoot::Newton16,
        "square_root = \"exact\": Linux computes as with \"newton16\".",
    )
}

fn fq_codel(config: &FqCodelConfig, port: Port) -> Qdisc {
    let flows = config.flows.min(MOST_QUEUES);
    let qdisc = Qdisc::new("fq_codel")
        .packet_limit(config.limit, port)
        .with("flows", flows)
        .with("quantum", config.quantum.0)
        .with("memory_limit", config.memory_limit.0)
        .with("drop_batch", config.drop_batch)
        .note_if(flows != config.flows, format!("flows = {}: Linux has at most {MOST_QUEUES}.", config.flows))
        .note_if(config.preset == FqCodelPreset::Rfc, "preset = \"rfc\": Linux has the rules of preset = \"linux\".")
        .note("memory_limit: Linux counts buffers of the kernel, about 2300 B for a packet of 1500 B.");
    control_law(qdisc, &config.codel())
}

/// CAKE has COBALT on each of its queues; `flowblind` leaves one queue.
fn cobalt(config: &CobaltConfig, port: Port) -> Qdisc {
    let target_of_cake = Span::from_picoseconds(config.interval.picoseconds() / 20);
    let default = CobaltConfig::default();
    Qdisc::new("cake unlimited besteffort flowblind raw no-split-gso")
        .with("rtt", time(config.interval))
        .with("memlimit", port.bytes(config.limit))
        .note("cobalt: the queue of CAKE, here a single one. CAKE counts buffers of the kernel in memlimit.")
        .note_if(
            config.target != target_of_cake,
            format!("target = \"{}\": CAKE takes a twentieth of the interval, {target_of_cake}.", config.target),
        )
        .note_if(!config.ecn, "ecn = false: CAKE marks packets that are ECN-capable.")
        .note_if(
            (config.increment, config.decrement) != (default.increment, default.decrement),
            "increment, decrement: 1/256 and 1/4096 in CAKE.",
        )
        .note_if(config.blue_threshold.is_some(), "blue_threshold: no counterpart in CAKE.")
        .note_if(config.ce_threshold.is_some(), "ce_threshold: no counterpart in CAKE.")
}

/// PIE's gains in Linux are multiples of 1/16.
const PIE_GAIN: f64 = 16.0;

/// A gain in sixteenths, as `tc` reads it.
fn pie_gain(value: f64) -> f64 {
    (value * PIE_GAIN).round().clamp(0.0, 32.0)
}

fn pie(config: &PieConfig, port: Port) -> Qdisc {
    let qdisc = Qdisc::new("pie").packet_limit(config.limit, port);
    pie_notes(pie_law(qdisc, config), config, &PieConfig { mean_packet_size: MTU, ..PieConfig::default() })
        .note_if(config.active_threshold.is_some(), "active_threshold: Linux's PIE is always active.")
        .note_if(config.mark_threshold != PieConfig::default().mark_threshold, "mark_threshold: 0.1 in Linux.")
}

/// The parameters that PIE and FQ-PIE share.
fn pie_law(qdisc: Qdisc, config: &PieConfig) -> Qdisc {
    qdisc
        .with("target", time(config.target))
        .with("tupdate", time(config.update_interval))
        .with("alpha", pie_gain(config.alpha))
        .with("beta", pie_gain(config.beta))
        .flag(if config.ecn { "ecn" } else { "noecn" }, true)
        .flag(if config.byte_mode { "bytemode" } else { "nobytemode" }, true)
}

/// The rules of PIE that Linux does not let one choose. `linux` has its values.
fn pie_notes(qdisc: Qdisc, config: &PieConfig, linux: &PieConfig) -> Qdisc {
    let rounded = [config.alpha, config.beta].iter().any(|&value| pie_gain(value) != value * PIE_GAIN);
    let is_set = |text: &str| format!("{text} in Linux.");
    let spreads_out = config.derandomize.unwrap_or(config.preset == PiePreset::Linux);
    qdisc
        .note("update_interval: Linux rounds it up to ticks of its clock: 15 ms becomes 16 ms at 250 Hz.")
        .note_if(rounded, "alpha, beta: Linux takes multiples of 1/16 up to 2.")
        .note_if(config.max_burst != linux.max_burst, is_set("max_burst: 150 ms"))
        .note_if(config.mean_packet_size != linux.mean_packet_size, is_set("mean_packet_size: the interface's MTU"))
        .note_if(!spreads_out, "derandomize = false: Linux spreads drops out.")
        .note_if(!config.cap_adjustment, "cap_adjustment = false: Linux caps it.")
}

/// The probability from which fq_pie drops is a whole percentage (iproute2, `q_fq_pie.c`); 0 leaves the default.
const FQ_PIE_PERCENT: (f64, f64) = (1.0, 99.0);

fn fq_pie(config: &FqPieConfig, port: Port) -> Qdisc {
    let law = config.pie();
    let percent = (config.mark_threshold * 100.0).round().clamp(FQ_PIE_PERCENT.0, FQ_PIE_PERCENT.1);
    let qdisc = Qdisc::new("fq_pie").packet_limit(config.limit, port).with("flows", config.flows);
    let qdisc = pie_law(qdisc, &law)
        .with("quantum", config.quantum.0)
        .with("memory_limit", config.memory_limit.0)
        .with("ecn_prob", percent)
        .flag("no_dq_rate_estimator", true);
    let linux = FqPieConfig::default();
    pie_notes(qdisc, &law, &linux.pie())
        .note_if(config.preset == PiePreset::Rfc, "preset = \"rfc\": Linux has the rules of preset = \"linux\".")
        .note_if(
            (percent - config.mark_threshold * 100.0).abs() > 1e-9,
            format!("mark_threshold = {}: Linux takes a percentage from 1 to 99.", number(config.mark_threshold)),
        )
        .note("memory_limit: Linux counts buffers of the kernel, about 2300 B for a packet of 1500 B.")
}

/// Parameters as `tc` has them (iproute2, `q_fq.c`). Bands are younger than the rest: iproute2 6.7.
fn fq(config: &FqConfig, port: Port) -> Qdisc {
    let linux = FqConfig::default();
    let flows = config.flows.next_power_of_two();
    let mut qdisc = Qdisc::new("fq")
        .packet_limit(config.limit, port)
        .with("flow_limit", config.flow_limit)
        .with("orphan_mask", flows - 1)
        .with("quantum", config.quantum.0)
        .with("initial_quantum", config.initial_quantum.0)
        .with("low_rate_threshold", rate(config.low_rate_threshold))
        .with("refill_delay", time(config.refill_delay))
        .note_if(flows != config.flows, format!("flows = {}: Linux takes a power of two.", config.flows));
    if let Some(most) = config.flow_max_rate {
        qdisc = qdisc.with("maxrate", rate(most));
    }
    if let Some(threshold) = config.ce_threshold {
        qdisc = qdisc.with("ce_threshold", time(threshold));
    }
    if (config.priomap, config.weights) != (linux.priomap, linux.weights) {
        let list = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let bands = config.priomap.map(u32::from);
        qdisc = qdisc.with("bands", format!("3 priomap {}", list(&bands))).with("weights", list(&config.weights));
    }
    qdisc
        .note("Sockets of this machine have flows of their own, paced by TCP; here all flows are hashed.")
        .note("The band follows from the priority of a packet, which forwarded packets have from their TOS.")
}

/// Parameters as `tc` has them (iproute2, `q_hhf.c`).
fn hhf(config: &HhfConfig, port: Port) -> Qdisc {
    Qdisc::new("hhf")
        .packet_limit(config.limit, port)
        .with("quantum", config.quantum.0)
        .with("hh_limit", config.hh_limit)
        .with("reset_timeout", time(config.reset_timeout))
        .with("admit_bytes", config.admit_bytes.0)
        .with("evict_timeout", time(config.evict_timeout))
        .with("non_hh_weight", config.non_hh_weight)
        .note_if(config.hh_limit == 0, "hh_limit = 0: `tc` takes it for its default, 2048.")
        .note("Linux's times are in ticks of its clock.")
}
