//! The options of `htsim_uec`, in the order in which they are given.

use std::ops::Range;

use forebay_document::did_you_mean;
use forebay_units::{Rate, Span};

use super::topology::{Network, Shape};
use super::whole;
use crate::from_tc::text::{Fault, Word};

/// Options that change what is printed or stored, with the number of their values.
const OUTPUT: [(&str, usize); 5] = [("-o", 1), ("-log", 1), ("-logtime", 1), ("-logtime_us", 1), ("-debug", 0)];

/// Options with one value that a scenario can follow: the default.
const FIXED: [(&str, &str); 8] = [
    ("-strat", "ecmp_host"),
    ("-queue_type", "composite"),
    ("-host_queue_type", "fair_prio"),
    ("-planes", "1"),
    ("-sack_threshold", "16384"),
    ("-trimsize", "64"),
    ("-qa_gate", "3"),
    ("-target_q_delay", "0"),
];

/// Options that change results and have no counterpart, with what they do.
const ABSENT: [(&str, &str); 12] = [
    ("-conn_reuse", "several messages on a connection"),
    ("-disable_trim", "queues that drop data and still send control packets first"),
    ("-sleek", "the loss recovery SLEEK"),
    ("-pcie", "a model of the receiver's PCIe bus"),
    ("-oversubscribed_cc", "the receiver's control of an oversubscribed fabric in other fabrics"),
    ("-enable_accurate_base_rtt", "a round trip of its own for each connection"),
    ("-disable_base_rtt_update_on_nack", "round trips without those of NACKs"),
    ("-Ai", "a parameter of the receiver's control of an oversubscribed fabric"),
    ("-Md", "a parameter of the receiver's control of an oversubscribed fabric"),
    ("-alpha", "a parameter of the receiver's control of an oversubscribed fabric"),
    ("-ar_method", "adaptive routing"),
    ("-ar_granularity", "adaptive routing"),
];

/// Options that a scenario follows, for the nearest name of a misspelt one.
const FOLLOWED: [&str; 20] = [
    "-end",
    "-nodes",
    "-tiers",
    "-receiver_cc_only",
    "-sender_cc_only",
    "-sender_cc",
    "-receiver_cc",
    "-sender_cc_algo",
    "-load_balancing_algo",
    "-queue_size_bdp_factor",
    "-cwnd",
    "-q",
    "-ecn",
    "-failed",
    "-linkspeed",
    "-seed",
    "-mtu",
    "-paths",
    "-hop_latency",
    "-switch_latency",
];

/// The options of a run.
#[derive(Debug)]
pub(super) struct Options {
    pub end_us: u64,
    pub seed: u64,
    pub sender_algorithm: String,
    pub has_sender_control: bool,
    pub has_receiver_control: bool,
    /// The last option for congestion control.
    control_span: Range<usize>,
    pub load_balancing: String,
    pub paths: u64,
    pub queue_packets: Option<u64>,
    /// Bandwidth-delay products of a queue, where its packets are not given.
    pub queue_factor: u64,
    pub ecn_packets: Option<[u64; 2]>,
    /// The first window; 0 for the default.
    pub window_packets: u64,
    pub packet_bytes: u64,
    pub rate: Rate,
    rate_span: Range<usize>,
    pub hop: Span,
    pub switch: Span,
    pub failed: u64,
    pub follows_oversubscription: bool,
    nodes: Option<(u64, Range<usize>)>,
    pub tiers: u64,
    /// Options without effect on the scenario.
    pub notes: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            end_us: 1000,
            seed: 13,
            sender_algorithm: "nscc".to_owned(),
            has_sender_control: true,
            has_receiver_control: false,
            control_span: 0..0,
            load_balancing: "mixed".to_owned(),
            paths: 64,
            queue_packets: None,
            queue_factor: 1,
            ecn_packets: None,
            window_packets: 0,
            packet_bytes: 4150,
            rate: Rate::megabits(100_000),
            rate_span: 0..0,
            hop: Span::from_microseconds(1),
            switch: Span::ZERO,
            failed: 0,
            follows_oversubscription: true,
            nodes: None,
            tiers: 3,
            notes: Vec::new(),
        }
    }
}

impl Options {
    pub fn read(words: &[Word]) -> Result<Self, Fault> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            options.option(word, &mut words)?;
        }
        Ok(options)
    }

    fn option(&mut self, word: &Word, rest: &mut std::slice::Iter<'_, Word>) -> Result<(), Fault> {
        let mut value =
            || rest.next().ok_or_else(|| word.fault(format!("`{}` needs a value", word.text), "the last word"));
        let mut number = |least: u64, most: u64| whole(value()?, least..=most);
        match word.text.as_str() {
            "-end" => self.end_us = number(1, 86_400_000_000)?,
            "-seed" => self.seed = number(0, u64::from(u32::MAX))?,
            "-nodes" => self.nodes = Some((number(1, 1_000_000)?, word.span.clone())),
            "-tiers" => self.tiers = number(2, 3)?,
            "-paths" => self.paths = number(1, 10_000)?,
            "-queue_size_bdp_factor" => self.queue_factor = number(1, 1000)?,
            "-cwnd" => self.window_packets = number(0, 1_000_000)?,
            "-q" => self.queue_packets = Some(number(2, 1_000_000)?),
            "-ecn" => self.ecn_packets = Some([number(0, 1_000_000)?, number(1, 1_000_000)?]),
            "-failed" => self.failed = number(0, 1_000_000)?,
            "-mtu" => self.packet_bytes = number(65, 65_535)?,
            "-linkspeed" => {
                self.rate = Rate::megabits(number(1, 10_000_000)?);
                self.rate_span = word.span.clone();
            }
            "-hop_latency" => self.hop = microseconds(value()?)?,
            "-switch_latency" => self.switch = microseconds(value()?)?,
            "-load_balancing_algo" => {
                self.load_balancing = one_of(value()?, &["oblivious", "bitmap", "reps", "mixed"])?;
            }
            "-force_disable_oversubscribed_cc" => self.follows_oversubscription = false,
            "-sender_cc_algo" => {
                self.sender_algorithm = one_of(value()?, &["nscc", "dctcp", "constant"])?;
                self.control(word, true, self.has_receiver_control);
            }
            "-sender_cc_only" => self.control(word, true, false),
            "-receiver_cc_only" => self.control(word, false, true),
            "-sender_cc" => self.control(word, true, self.has_receiver_control),
            "-receiver_cc" => self.control(word, self.has_sender_control, true),
            "-tm" | "-topo" => {
                let label = "the matrix and the topology are given apart from the options";
                return Err(word.fault(format!("`{}` among the options", word.text), label));
            }
            name => return self.other(word, name, rest),
        }
        Ok(())
    }

    /// The option `word` selects parts of congestion control.
    fn control(&mut self, word: &Word, has_sender_control: bool, has_receiver_control: bool) {
        self.control_span = word.span.clone();
        (self.has_sender_control, self.has_receiver_control) = (has_sender_control, has_receiver_control);
    }

    /// An option that a scenario does not follow.
    fn other(&mut self, word: &Word, name: &str, rest: &mut std::slice::Iter<'_, Word>) -> Result<(), Fault> {
        let mut value = || rest.next().ok_or_else(|| word.fault(format!("`{name}` needs a value"), "the last word"));
        if let Some((_, count)) = OUTPUT.iter().find(|(output, _)| *output == name) {
            for _ in 0..*count {
                value()?;
            }
            self.notes.push(format!("{name}: it changes what htsim prints. `[probes]` and `[[traces]]` record here."));
            return Ok(());
        }
        if let Some((_, default)) = FIXED.iter().find(|(fixed, _)| *fixed == name) {
            let value = value()?;
            let message = format!("`{name} {}` has no counterpart", value.text);
            return if value.is(default) { Ok(()) } else { Err(value.fault(message, format!("expected {default}"))) };
        }
        if let Some((_, what)) = ABSENT.iter().find(|(absent, _)| *absent == name) {
            let message = format!("`{name}` has no counterpart: {what}");
            return Err(word.fault(message, "leave it out, and the results will differ"));
        }
        let help = did_you_mean(name, FOLLOWED);
        Err(Fault { help, ..word.fault(format!("`{name}` is no option of htsim_uec"), "expected an option") })
    }

    /// The control of a flow in the words of a scenario.
    pub fn control_name(&self) -> &str {
        match (self.has_sender_control, self.has_receiver_control) {
            (true, true) => "both",
            (false, _) => "rccc",
            (true, false) => &self.sender_algorithm,
        }
    }

    /// Checks what depends on several options, and on the network.
    pub fn check(&self, network: &Network, has_file: bool) -> Result<(), Fault> {
        let fault = |span: &Range<usize>, message: String, label: &str, help: &str| {
            let help = Some(help.to_owned()).filter(|help| !help.is_empty());
            Err(Fault { span: span.clone(), message, label: label.to_owned(), help })
        };
        if let Some((nodes, span)) = &self.nodes
            && *nodes != u64::from(network.hosts)
        {
            let message = format!("{nodes} nodes, and the matrix has {}", network.hosts);
            return fault(span, message, "leave it out", "");
        }
        if self.has_sender_control && self.has_receiver_control && self.sender_algorithm != "nscc" {
            let message =
                format!("`{}` together with the receiver's control has no counterpart", self.sender_algorithm);
            return fault(&self.control_span, message, "expected one of the two", "");
        }
        if has_file && network.links[0].rate != self.rate {
            let message =
                format!("hosts send at {}, and their links have {} in the topology", self.rate, network.links[0].rate);
            let help = format!("give `-linkspeed {}`, in Mb/s", network.links[0].rate.bits_per_second() / 1_000_000);
            return fault(&self.rate_span, message, "expected the rate of the hosts' links", &help);
        }
        let queue = self.queue_packets(network);
        let [low, high] = self.ecn_packets(network);
        if low > high || high > queue {
            let message = format!("marks from {low} to {high} packets do not fit into a queue of {queue}");
            return fault(&(0..0), message, "htsim stops with these", "give `-ecn LOW HIGH` with LOW <= HIGH <= queue");
        }
        let most = match network.shape {
            Shape::FatTree { .. } => u64::from(network.hosts),
            Shape::LeafSpine { spines, .. } => u64::from(spines),
        };
        if self.failed > most {
            let message = format!("{} failed links of {most}", self.failed);
            return fault(&(0..0), message, "expected fewer with `-failed`", "");
        }
        Ok(())
    }

    /// The round trip without queues: of a full packet and an ACK over the longest path.
    pub fn round_trip(&self, network: &Network) -> Span {
        let links = 2 * network.links.len() as u64;
        let delays: u64 = network.links.iter().map(|link| link.delay.picoseconds()).sum();
        Span::from_picoseconds(4 * delays) + self.rate.transmission_time(links * (self.packet_bytes + 64))
    }

    /// A bandwidth-delay product in whole packets.
    fn product_packets(&self, network: &Network) -> u64 {
        self.rate.bytes_in(self.round_trip(network)).div_ceil(self.packet_bytes)
    }

    /// The packets of a queue, the one that is being sent among them.
    pub fn queue_packets(&self, network: &Network) -> u64 {
        self.queue_packets.unwrap_or_else(|| self.product_packets(network) * self.queue_factor)
    }

    /// The thresholds of marks.
    pub fn ecn_packets(&self, network: &Network) -> [u64; 2] {
        let product = self.product_packets(network);
        self.ecn_packets.unwrap_or([product.div_ceil(5), (4 * product).div_ceil(5)])
    }

    /// The timeout, where it is not the one that follows from the bandwidth-delay product.
    pub fn timeout(&self, network: &Network) -> Option<Span> {
        let packets = self.queue_packets(network);
        let time = Span::from_microseconds(15) + self.rate.transmission_time(6 * packets * self.packet_bytes);
        (packets != self.product_packets(network)).then_some(time)
    }
}

fn microseconds(word: &Word) -> Result<Span, Fault> {
    let time = word.text.parse().ok().filter(|time: &f64| (0.0..=1e6).contains(time));
    let time =
        time.ok_or_else(|| word.fault(format!("`{}` is no time", word.text), "expected microseconds, up to 1e6"))?;
    Ok(Span::from_picoseconds((time * 1e6).round() as u64))
}

fn one_of(word: &Word, names: &[&str]) -> Result<String, Fault> {
    if names.contains(&word.text.as_str()) {
        return Ok(word.text.clone());
    }
    let fault =
        word.fault(format!("`{}` has no counterpart", word.text), format!("expected one of {}", names.join(", ")));
    Err(Fault { help: did_you_mean(&word.text, names.iter().copied()), ..fault })
}
