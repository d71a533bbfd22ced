//! Snapshots as Prometheus' text format, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::counters::Count;
use crate::snapshot::{BUCKETS_S, FlowSnapshot, HistogramSnapshot, PortSnapshot, ShadowSnapshot};

/// All metrics of these directions.
#[must_use]
pub fn render(ports: &[PortSnapshot]) -> String {
    let mut text = Exposition { text: String::new(), ports };
    text.head("forebay_build_info", "gauge", "The version of Forebay.");
    text.sample("forebay_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    packets(&mut text);
    states(&mut text);
    let help = "Time from arrival until the last bit was due to leave.";
    text.family("forebay_sojourn_seconds", "histogram", help, |port, show| buckets(&port.sojourn, show));
    let help = "Time from when the last bit was due to leave until the kernel had the frame. Late frames are the \
                host's doing, not the discipline's.";
    text.family("forebay_release_lateness_seconds", "histogram", help, |port, show| buckets(&port.lateness, show));
    flows(&mut text);
    shadows(&mut text);
    text.text
}

fn packets(text: &mut Exposition<'_>) {
    text.count("received", "that arrived and were not refused", |port| port.received);
    text.count("sent", "that left", |port| port.sent);
    text.count("bypassed", "that passed around the queue", |port| port.bypassed);
    text.reasons("dropped", "that the discipline dropped", |port| &port.dropped);
    text.reasons("refused", "that were refused before the queue, or could not leave", |port| &port.refused);
    let help = "Packets that the discipline marked CE.";
    text.family("forebay_marked_packets_total", "counter", help, |port, show| {
        each(&port.marked, "reason", show, |&marked| marked as f64);
    });
    let help = "Frames that the kernel dropped because they were not fetched in time.";
    text.port("forebay_missed_packets_total", "counter", help, |port| port.missed_frames as f64);
}

fn states(text: &mut Exposition<'_>) {
    type Of = fn(&PortSnapshot) -> f64;
    let states: [(&str, &str, Of); 9] = [
        ("forebay_backlog_packets", "Packets queued.", |port| port.backlog_packets as f64),
        ("forebay_backlog_bytes", "Bytes queued, framing included.", |port| port.backlog_bytes as f64),
        ("forebay_draining_packets", "Packets queued in disciplines that were replaced.", |port| {
            port.draining_packets as f64
        }),
        ("forebay_buffers_in_use", "Buffers that hold a frame.", |port| f64::from(port.buffers_in_use)),
        ("forebay_buffers", "All buffers.", |port| f64::from(port.buffers)),
        ("forebay_queue_state_bytes", "Memory of the discipline's state.", |port| port.state_bytes as f64),
        ("forebay_rate_bits_per_second", "Rate of the line.", |port| port.rate_bps as f64),
        ("forebay_overhead_bytes", "Framing counted in addition to each frame.", |port| f64::from(port.overhead_bytes)),
        ("forebay_bypass", "1 while packets pass around the queue.", |port| f64::from(u8::from(port.bypass))),
    ];
    for (name, help, of) in states {
        text.port(name, "gauge", help, of);
    }
    text.family("forebay_queue_gauge", "gauge", "Gauge of the discipline.", |port, show| {
        gauges(&port.gauges, ("discipline", &port.queue.discipline), show);
    });
}

/// The flows with the most bytes. They come and go, and so these are gauges.
fn flows(text: &mut Exposition<'_>) {
    type Of = fn(&FlowSnapshot) -> f64;
    let counts: [(&str, &str, Of); 4] = [
        ("forebay_flow_bytes", "Bytes that arrived of a flow, of those with the most.", |flow| flow.bytes as f64),
        ("forebay_flow_packets", "Packets that arrived of such a flow.", |flow| flow.packets as f64),
        ("forebay_flow_dropped_packets", "Packets dropped of such a flow.", |flow| flow.dropped as f64),
        ("forebay_flow_marked_packets", "Packets marked of such a flow.", |flow| flow.marked as f64),
    ];
    for (name, help, of) in counts {
        text.family(name, "gauge", help, |port, show| {
            port.flows.iter().for_each(|flow| show("", &[("flow", &flow.flow)], of(flow)));
        });
    }
    text.family("forebay_flow_gauge", "gauge", "Gauge of the discipline for such a flow.", |port, show| {
        port.flows.iter().for_each(|flow| gauges(&flow.gauges, ("flow", &flow.flow), show));
    });
}

/// The would-be actions of second disciplines. Names of their own, so that no sum counts packets twice.
fn shadows(text: &mut Exposition<'_>) {
    let mut family = |name: &str, kind: &str, help: &str, of: &dyn Fn(&ShadowSnapshot, &mut Show<'_>)| {
        text.family(&format!("forebay_shadow_{name}"), kind, help, |port, show| {
            let Some(shadow) = &port.shadow else { return };
            let first: Label<'_> = ("shadow", &shadow.queue.discipline);
            of(shadow, &mut |suffix, labels, value| show(suffix, &[&[first], labels].concat(), value));
        });
    };
    family("received_packets_total", "counter", "Packets that the second discipline has seen.", &|shadow, show| {
        show("", &[], shadow.received.packets as f64);
    });
    family("sent_packets_total", "counter", "Packets that it would have sent.", &|shadow, show| {
        show("", &[], shadow.sent.packets as f64);
    });
    family("dropped_packets_total", "counter", "Packets that it would have dropped.", &|shadow, show| {
        each(&shadow.dropped, "reason", show, |count| count.packets as f64);
    });
    family("marked_packets_total", "counter", "Packets that it would have marked CE.", &|shadow, show| {
        each(&shadow.marked, "reason", show, |&marked| marked as f64);
    });
    family("backlog_packets", "gauge", "Packets in its queue.", &|shadow, show| {
        show("", &[], shadow.backlog_packets as f64);
    });
    family("queue_gauge", "gauge", "Gauge of the shadow discipline.", &|shadow, show| {
        each(&shadow.gauges, "gauge", show, |&value| value);
    });
    family("sojourn_seconds", "histogram", "Time that packets would have taken.", &|shadow, show| {
        buckets(&shadow.sojourn, show);
    });
}

type Label<'a> = (&'a str, &'a str);

/// Takes a sample: the end of its name, its labels after the direction, and its value.
type Show<'a> = dyn FnMut(&str, &[Label<'_>], f64) + 'a;

/// The samples of a map, with the keys as a label.
fn each<T>(map: &BTreeMap<&'static str, T>, label: &str, show: &mut Show<'_>, value: impl Fn(&T) -> f64) {
    map.iter().for_each(|(key, of)| show("", &[(label, key)], value(of)));
}

fn gauges(gauges: &BTreeMap<&'static str, f64>, owner: Label<'_>, show: &mut Show<'_>) {
    gauges.iter().for_each(|(gauge, &value)| show("", &[owner, ("gauge", gauge)], value));
}

/// The samples of a histogram.
fn buckets(histogram: &HistogramSnapshot, show: &mut Show<'_>) {
    for (bound, &count) in BUCKETS_S.iter().zip(&histogram.buckets) {
        show("_bucket", &[("le", &bound.to_string())], count as f64);
    }
    show("_bucket", &[("le", "+Inf")], histogram.count as f64);
    show("_sum", &[], histogram.sum_s);
    show("_count", &[], histogram.count as f64);
}

/// The text so far.
struct Exposition<'a> {
    text: String,
    ports: &'a [PortSnapshot],
}

impl Exposition<'_> {
    /// A metric with the samples of all directions, which must be adjacent.
    fn family(&mut self, name: &str, kind: &str, help: &str, samples: impl Fn(&PortSnapshot, &mut Show<'_>)) {
        self.head(name, kind, help);
        for port in self.ports {
            samples(port, &mut |suffix, labels, value| {
                let labels = [&[("direction", &*port.direction)], labels].concat();
                self.sample(&format!("{name}{suffix}"), &labels, value);
            });
        }
    }

    /// One number a direction.
    fn port(&mut self, name: &str, kind: &str, help: &str, of: impl Fn(&PortSnapshot) -> f64) {
        self.family(name, kind, help, |port, show| show("", &[], of(port)));
    }

    /// Packets and bytes.
    fn count(&mut self, what: &str, help: &str, of: impl Fn(&PortSnapshot) -> Count) {
        for (unit, name, value) in UNITS {
            let metric = format!("forebay_{what}_{unit}_total");
            self.port(&metric, "counter", &format!("{name} {help}."), |port| value(&of(port)));
        }
    }

    /// Packets and bytes by reason.
    fn reasons(&mut self, what: &str, help: &str, of: impl Fn(&PortSnapshot) -> &BTreeMap<&'static str, Count>) {
        for (unit, name, value) in UNITS {
            let metric = format!("forebay_{what}_{unit}_total");
            self.family(&metric, "counter", &format!("{name} {help}, by reason."), |port, show| {
                each(of(port), "reason", show, value);
            });
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing into a string cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[Label<'_>], value: f64) {
        self.text.push_str(name);
        for (index, (label, value)) in labels.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{}{label}=\"{value}\"", if index == 0 { '{' } else { ',' });
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = match value {
            infinite if infinite.is_infinite() => write!(self.text, " {}Inf", if value > 0.0 { '+' } else { '-' }),
            value => write!(self.text, " {value}"),
        };
        self.text.push('\n');
    }
}

/// A unit of a count: its name, how its description begins, and which of the numbers it is.
type Unit = (&'static str, &'static str, fn(&Count) -> f64);

const UNITS: [Unit; 2] =
    [("packets", "Packets", |count| count.packets as f64), ("bytes", "Bytes of packets", |count| count.bytes as f64)];
