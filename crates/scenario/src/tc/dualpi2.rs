//! DualPI2's parameters in the words of `tc`.

use forebay_qdisc::{DualPi2Config, DualPi2EcnMask, Pi2Preset};

use super::command::Qdisc;
use super::port::{Port, number, time};

pub(super) fn dualpi2(config: &DualPi2Config, port: Port) -> Qdisc {
    let mut qdisc = Qdisc::new("dualpi2").packet_limit(config.limit, port);
    if let Some(limit) = config.memory_limit {
        qdisc = qdisc.with("memlimit", limit.0);
    }
    for (key, span) in [
        ("max_rtt", config.max_rtt),
        ("typical_rtt", config.typical_rtt),
        ("target", config.target),
        ("tupdate", config.update_interval),
    ] {
        qdisc = match span {
            Some(span) => qdisc.with(key, time(span)),
            None => qdisc,
        };
    }
    for (key, gain) in [("alpha", config.alpha), ("beta", config.beta)] {
        qdisc = match gain {
            Some(gain) => qdisc.with(key, number(gain)),
            None => qdisc,
        };
    }
    qdisc = match (config.step_threshold_packets, config.step_threshold) {
        (Some(packets), _) => qdisc.with("step_thresh", format!("{packets}packets")),
        (None, Some(threshold)) => qdisc.with("step_thresh", time(threshold)),
        (None, None) => qdisc,
    };
    if let Some(packets) = config.min_qlen_step {
        qdisc = qdisc.with("min_qlen_step", packets);
    }
    let factor = config.coupling_factor.round().clamp(1.0, 255.0);
    qdisc = qdisc.with("coupling_factor", factor);
    if let Some(percent) = config.classic_protection {
        qdisc = qdisc.with("classic_protection", format!("{percent}%"));
    }
    let has_rules = config.preset == Pi2Preset::Linux
        && config.delay.is_none()
        && config.classic_draw.is_none()
        && config.l4s_draw.is_none()
        && config.l4s_aqm.is_none()
        && config.scheduler.is_none()
        && config.min_backlog.is_none();
    qdisc
        .flag(if config.drop_on_overload { "drop_on_overload" } else { "overflow" }, true)
        .flag(if config.drop_on_enqueue { "drop_enqueue" } else { "drop_dequeue" }, true)
        .flag(if config.ecn_mask == DualPi2EcnMask::AnyEct { "any_ect" } else { "l4s_ect" }, true)
        .note_if(!has_rules, "dualpi2: Linux has the rules of preset = \"linux\", and no others.")
        .note_if(factor != config.coupling_factor, "coupling_factor: Linux takes a whole number.")
        .note_if(
            !config.l4s_classes.is_empty() || !config.llll_classes.is_empty(),
            "l4s_classes, llll_classes: in Linux filters choose the class 1 (L4S) or 2 (LLLL).",
        )
}
