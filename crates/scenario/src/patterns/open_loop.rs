//! Each host starts flows as a Poisson process, at a given load.
//!
//! The rule of HPCC's traffic generator: the mean gap between two flows of a host is the time that its link takes for
//! the mean size, divided by the load. The destination is uniform over the other hosts. There, times are cut to
//! nanoseconds, and a host does not send the last flow before the end. Here, neither is so.

use forebay_document::Path;
use forebay_engine::Distribution;
use forebay_qdisc::uniform;
use schemars::JsonSchema;

use super::seam::{Message, PatternHost, Setting, TrafficPattern};
use crate::schema::{SizeDistribution, SpanDistribution};
use crate::validate::check::{Validity, check_transfer, require};

/// From `start` to `stop`, each host starts flows as a Poisson process. The destination of each is uniform over the
/// other hosts. They wait for nothing: if the network is slow, more of them are under way.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenLoop {
    /// The rate of new payload of a host, as a part of the rate of its link: above 0, up to 1. Headers and
    /// retransmissions are not counted.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub load: f64,
    /// Payload bytes; drawn for each flow.
    pub size: SizeDistribution,
}

impl OpenLoop {
    /// The mean time between two flows of a host, in picoseconds.
    fn mean_gap_ps(&self, rate_bps: f64) -> f64 {
        8e12 * self.size.bytes().mean() / (self.load * rate_bps)
    }
}

impl TrafficPattern for OpenLoop {
    fn check(&self, setting: &Setting<'_>, at: &Path, group: &Path) -> Validity {
        let load = self.load;
        let label = "expected more than 0, and at most 1: the part of its link that a host fills with payload";
        require(load > 0.0 && load <= 1.0, || at.key("load"), || format!("a load of {load}"), label)?;
        check_transfer(&self.size, &at.key("size"))?;
        let has_mean = self.size.bytes().mean() >= 1.0;
        require(has_mean, || at.key("size"), || "the mean size is below a byte".into(), "expected at least 1 B")?;
        let is_constant = matches!(setting.start, SpanDistribution::Constant(_));
        let message = || "`start` is drawn, and `open_loop` draws the start of each flow itself".to_owned();
        require(is_constant, || group.key("start"), message, "expected one time, from which the hosts send")
    }

    fn count(&self, setting: &Setting<'_>) -> f64 {
        let span_ps = setting.span().picoseconds() as f64;
        setting.hosts.iter().map(|host| span_ps / self.mean_gap_ps(host.rate_bps)).sum()
    }

    /// Processor sharing has load / (1 - load) flows under way at a link on average. Three times as many, and a few
    /// more, leave room for bursts; close to saturation their number grows with time.
    fn at_once(&self, setting: &Setting<'_>) -> f64 {
        let of_each = 4.0 + 3.0 * self.load / (1.0 - self.load).max(1e-3);
        self.count(setting).min(of_each * setting.hosts.len() as f64)
    }

    fn has_drawn_number(&self) -> bool {
        true
    }

    fn size(&self) -> Option<&SizeDistribution> {
        Some(&self.size)
    }

    /// In the order of their starts.
    fn messages(&self, setting: &Setting<'_>, seed: u64) -> Vec<Message> {
        let sizes = self.size.bytes();
        let of_host = |(from, host): (usize, &PatternHost<'_>)| {
            // Under another load, flow n of a host has the same size and destination.
            let [mut gaps, mut destinations, mut of_sizes] =
                ["gap", "destination", "size"].map(|what| setting.stream(seed, &format!("{}/{what}", host.name)));
            let gap = Distribution::Exponential(self.mean_gap_ps(host.rate_bps));
            let mut messages = Vec::new();
            let mut start = setting.begin().saturating_add(gap.draw_span(&mut gaps));
            while start < setting.end() {
                let others = setting.hosts.len() - 1;
                let drawn = (uniform(&mut destinations) * others as f64) as usize;
                let to = if drawn < from { drawn } else { drawn + 1 };
                messages.push(Message { start, ends: [from, to], bytes: sizes.draw_count(&mut of_sizes) });
                start = start.saturating_add(gap.draw_span(&mut gaps));
            }
            messages
        };
        let mut messages: Vec<Message> = setting.hosts.iter().enumerate().flat_map(of_host).collect();
        messages.sort_by_key(|message| message.start);
        messages
    }
}
