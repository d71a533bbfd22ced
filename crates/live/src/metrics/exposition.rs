//! Snapshots as Prometheus' text format, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::counters::Count;
use crate::snapshot::{BUCKETS_S, HistogramSnapshot, PortSnapshot, ShadowSnapshot};

/// All metrics of these directions.
#[must_use]
pub fn render(ports: &[PortSnapshot]) -> String {
    let mut text = Exposition { text: String::new(), ports };
    text.family("forebay_build_info", "gauge", "The version of Forebay.", |samples| {
        samples.sample("forebay_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    });
    packets(&mut text);
    states(&mut text);
    text.histogram("forebay_sojourn_seconds", "Time from arrival until the last bit was due to leave.", |port| {
        &port.sojourn
    });
    text.histogram(
        "forebay_release_lateness_seconds",
        "Time from when the last bit was due to leave until the kernel had the frame. Late frames are the host's \
         doing, \
         not the discipline's.",
        |port| &port.lateness,
    );
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
    text.family("forebay_marked_packets_total", "counter", "Packets that the discipline marked CE.", |samples| {
        for port in samples.ports {
            for (reason, &marked) in &port.marked {
                let labels = [("direction", &*port.direction), ("reason", reason)];
                samples.sample("forebay_marked_packets_total", &labels, marked as f64);
            }
        }
    });
    text.port(
        "forebay_missed_packets_total",
        "counter",
        "Frames that the kernel dropped because they were not fetched in time.",
        |port| port.missed_frames as f64,
    );
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
    text.family("forebay_queue_gauge", "gauge", "Gauge of the discipline.", |samples| {
        for port in samples.ports {
            for (gauge, &value) in &port.gauges {
                let labels =
                    [("direction", &*port.direction), ("discipline", &*port.queue.discipline), ("gauge", gauge)];
                samples.sample("forebay_queue_gauge", &labels, value);
            }
        }
    });
}

/// The flows with the most bytes. They come and go, and so these are gauges.
fn flows(text: &mut Exposition<'_>) {
    type Of = fn(&crate::snapshot::FlowSnapshot) -> f64;
    let counts: [(&str, &str, Of); 4] = [
        ("forebay_flow_bytes", "Bytes that arrived of a flow, of those with the most.", |flow| flow.bytes as f64),
        ("forebay_flow_packets", "Packets that arrived of such a flow.", |flow| flow.packets as f64),
        ("forebay_flow_dropped_packets", "Packets dropped of such a flow.", |flow| flow.dropped as f64),
        ("forebay_flow_marked_packets", "Packets marked of such a flow.", |flow| flow.marked as f64),
    ];
    for (name, help, of) in counts {
        text.family(name, "gauge", help, |samples| {
            for port in samples.ports {
                for flow in &port.flows {
                    samples.sample(name, &[("direction", &*port.direction), ("flow", &*flow.flow)], of(flow));
                }
            }
        });
    }
    text.family("forebay_flow_gauge", "gauge", "Gauge of the discipline for such a flow.", |samples| {
        for port in samples.ports {
            for flow in &port.flows {
                for (gauge, &value) in &flow.gauges {
                    let labels = [("direction", &*port.direction), ("flow", &*flow.flow), ("gauge", gauge)];
                    samples.sample("forebay_flow_gauge", &labels, value);
                }
            }
        }
    });
}

/// The would-be actions of second disciplines. Names of their own, so that no sum counts packets twice.
fn shadows(text: &mut Exposition<'_>) {
    let name = "forebay_shadow_received_packets_total";
    text.shadow(name, "counter", "Packets that the second discipline has seen.", |samples, labels, shadow| {
        samples.sample(name, labels, shadow.received.packets as f64);
    });
    let name = "forebay_shadow_sent_packets_total";
    text.shadow(name, "counter", "Packets that it would have sent.", |samples, labels, shadow| {
        samples.sample(name, labels, shadow.sent.packets as f64);
    });
    let name = "forebay_shadow_dropped_packets_total";
    text.shadow(name, "counter", "Packets that it would have dropped.", |samples, labels, shadow| {
        for (reason, count) in &shadow.dropped {
            samples.sample(name, &[labels, &[("reason", reason)]].concat(), count.packets as f64);
        }
    });
    let name = "forebay_shadow_marked_packets_total";
    text.shadow(name, "counter", "Packets that it would have marked CE.", |samples, labels, shadow| {
        for (reason, &marked) in &shadow.marked {
            samples.sample(name, &[labels, &[("reason", reason)]].concat(), marked as f64);
        }
    });
    let name = "forebay_shadow_backlog_packets";
    text.shadow(name, "gauge", "Packets in its queue.", |samples, labels, shadow| {
        samples.sample(name, labels, shadow.backlog_packets as f64);
    });
    let name = "forebay_shadow_queue_gauge";
    text.shadow(name, "gauge", "Gauge of the shadow discipline.", |samples, labels, shadow| {
        for (gauge, &value) in &shadow.gauges {
            samples.sample(name, &[labels, &[("gauge", gauge)]].concat(), value);
        }
    });
    let name = "forebay_shadow_sojourn_seconds";
    text.shadow(name, "histogram", "Time that packets would have taken.", |samples, labels, shadow| {
        samples.buckets(name, labels, &shadow.sojourn);
    });
}

type Label<'a> = (&'a str, &'a str);

/// The text so far.
struct Exposition<'a> {
    text: String,
    ports: &'a [PortSnapshot],
}

impl Exposition<'_> {
    /// A metric with all its samples, which must be adjacent.
    fn family(&mut self, name: &str, kind: &str, help: &str, samples: impl FnOnce(&mut Self)) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing into a string cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        samples(self);
    }

    /// One number a direction.
    fn port(&mut self, name: &str, kind: &str, help: &str, of: impl Fn(&PortSnapshot) -> f64) {
        self.family(name, kind, help, |samples| {
            for port in samples.ports {
                samples.sample(name, &[("direction", &port.direction)], of(port));
            }
        });
    }

    /// Packets and bytes.
    fn count(&mut self, what: &str, help: &str, of: impl Fn(&PortSnapshot) -> Count) {
        for (unit, name, value) in UNITS {
            let metric = format!("forebay_{what}_{unit}_total");
            self.port(&metric, "counter", &format!("{name} {help}."), |port| value(of(port)) as f64);
        }
    }

    /// Packets and bytes by reason.
    fn reasons(&mut self, what: &str, help: &str, of: impl Fn(&PortSnapshot) -> &BTreeMap<&'static str, Count>) {
        for (unit, name, value) in UNITS {
            let metric = format!("forebay_{what}_{unit}_total");
            self.family(&metric, "counter", &format!("{name} {help}, by reason."), |samples| {
                for port in samples.ports {
                    for (reason, &count) in of(port) {
                        let labels = [("direction", &*port.direction), ("reason", reason)];
                        samples.sample(&metric, &labels, value(count) as f64);
                    }
                }
            });
        }
    }

    /// A metric of directions that have a second discipline.
    fn shadow(&mut self, name: &str, kind: &str, help: &str, each: impl Fn(&mut Self, &[Label<'_>], &ShadowSnapshot)) {
        self.family(name, kind, help, |samples| {
            for port in samples.ports {
                if let Some(shadow) = &port.shadow {
                    let labels = [("direction", &*port.direction), ("shadow", &*shadow.queue.discipline)];
                    each(samples, &labels, shadow);
                }
            }
        });
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

    /// A histogram a direction.
    fn histogram(&mut self, name: &str, help: &str, of: impl Fn(&PortSnapshot) -> &HistogramSnapshot) {
        self.family(name, "histogram", help, |samples| {
            for port in samples.ports {
                samples.buckets(name, &[("direction", &port.direction)], of(port));
            }
        });
    }

    /// The samples of one histogram.
    fn buckets(&mut self, name: &str, labels: &[Label<'_>], histogram: &HistogramSnapshot) {
        let bucket = format!("{name}_bucket");
        for (bound, &count) in BUCKETS_S.iter().zip(&histogram.buckets) {
            let bound = bound.to_string();
            self.sample(&bucket, &[labels, &[("le", &*bound)]].concat(), count as f64);
        }
        self.sample(&bucket, &[labels, &[("le", "+Inf")]].concat(), histogram.count as f64);
        self.sample(&format!("{name}_sum"), labels, histogram.sum_s);
        self.sample(&format!("{name}_count"), labels, histogram.count as f64);
    }
}

/// A unit of a count: its name, how its description begins, and which of the numbers it is.
type Unit = (&'static str, &'static str, fn(Count) -> u64);

const UNITS: [Unit; 2] =
    [("packets", "Packets", |count| count.packets), ("bytes", "Bytes of packets", |count| count.bytes)];
