//! CAKE's parameters in the words of `tc` (iproute2, `q_cake.c`).

use forebay_qdisc::framing::{CellFraming, LinkLayer};
use forebay_qdisc::{CakeAckFilter, CakeConfig, CakeIsolation, CakeTins};

use super::command::Qdisc;
use super::port::{Port, rate, time};

pub(super) fn cake(config: &CakeConfig, port: Port) -> Qdisc {
    let qdisc = Qdisc::new("cake");
    // `bandwidth` ends the automatic rate, so it comes first.
    let qdisc = match config.bandwidth {
        Some(bandwidth) => qdisc.with("bandwidth", rate(bandwidth)),
        None => qdisc.flag("unlimited", true),
    };
    let ack_filter = match config.ack_filter {
        CakeAckFilter::Off => "no-ack-filter",
        CakeAckFilter::On => "ack-filter",
        CakeAckFilter::Aggressive => "ack-filter-aggressive",
    };
    let qdisc = qdisc
        .flag("autorate-ingress", config.autorate_ingress)
        .flag(tins(config.tins), true)
        .flag(isolation(config.isolation), true)
        .flag("nonat", true)
        .flag(if config.wash { "wash" } else { "nowash" }, true)
        .flag(ack_filter, true)
        .flag("no-split-gso", true)
        .with("rtt", time(config.rtt.0));
    let mut qdisc = overhead(qdisc, config).flag(if config.ingress { "ingress" } else { "egress" }, true);
    if let Some(limit) = config.limit {
        qdisc = qdisc
            .with("memlimit", port.bytes(limit))
            .note("limit: CAKE counts buffers of the kernel in memlimit, about 2300 B for a packet of 1500 B.");
    }
    qdisc
        .note_if(config.tins != CakeTins::Besteffort, "The traffic class is the DSCP of a packet.")
        .note_if(config.autorate_ingress && config.bandwidth.is_none(), "autorate-ingress begins without a limit.")
}

/// The bytes that the link adds. A keyword adds to the overhead and sets the cells; `overhead` sets it.
fn overhead(mut qdisc: Qdisc, config: &CakeConfig) -> Qdisc {
    match (config.link_layer, config.overhead) {
        (None, None) if config.vlan_tags == 0 => qdisc = qdisc.flag("raw", true),
        (None, None) => {}
        (layer, overhead) => {
            qdisc = qdisc.flag(layer.map_or("", link_layer), layer.is_some());
            if let Some(overhead) = overhead {
                qdisc = qdisc.with("overhead", overhead);
            }
        }
    }
    for _ in 0..config.vlan_tags {
        qdisc = qdisc.flag("ether-vlan", true);
    }
    if let Some(mpu) = config.mpu {
        qdisc = qdisc.with("mpu", mpu).note_if(
            mpu == 0 && config.link_layer.is_some(),
            "mpu = 0: tc does not take it, and the kernel keeps the value that it has.",
        );
    }
    let framing = config.framing.map(|framing| match framing {
        CellFraming::None => "noatm",
        CellFraming::Atm => "atm",
        CellFraming::Ptm => "ptm",
    });
    qdisc.flag(framing.unwrap_or(""), framing.is_some())
}

fn tins(tins: CakeTins) -> &'static str {
    match tins {
        CakeTins::Besteffort => "besteffort",
        CakeTins::Precedence => "precedence",
        CakeTins::Diffserv3 => "diffserv3",
        CakeTins::Diffserv4 => "diffserv4",
        CakeTins::Diffserv8 => "diffserv8",
    }
}

fn isolation(isolation: CakeIsolation) -> &'static str {
    match isolation {
        CakeIsolation::Flowblind => "flowblind",
        CakeIsolation::Srchost => "srchost",
        CakeIsolation::Dsthost => "dsthost",
        CakeIsolation::Hosts => "hosts",
        CakeIsolation::Flows => "flows",
        CakeIsolation::DualSrchost => "dual-srchost",
        CakeIsolation::DualDsthost => "dual-dsthost",
        CakeIsolation::TripleIsolate => "triple-isolate",
    }
}

fn link_layer(layer: LinkLayer) -> &'static str {
    match layer {
        LinkLayer::Ethernet => "ethernet",
        LinkLayer::Docsis => "docsis",
        LinkLayer::Conservative => "conservative",
        LinkLayer::IpoaVcmux => "ipoa-vcmux",
        LinkLayer::IpoaLlcsnap => "ipoa-llcsnap",
        LinkLayer::BridgedVcmux => "bridged-vcmux",
        LinkLayer::BridgedLlcsnap => "bridged-llcsnap",
        LinkLayer::PppoaVcmux => "pppoa-vcmux",
        LinkLayer::PppoaLlc => "pppoa-llc",
        LinkLayer::PppoeVcmux => "pppoe-vcmux",
        LinkLayer::PppoeLlcsnap => "pppoe-llcsnap",
        LinkLayer::PppoePtm => "pppoe-ptm",
        LinkLayer::BridgedPtm => "bridged-ptm",
    }
}
