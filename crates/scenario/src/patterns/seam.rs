//! The seam of patterns: their hosts, and their messages.
//!
//! A pattern makes messages: flows with a start and a size. A host, and each thing that is drawn for it, has a random
//! stream of its own, so that no message changes what another host draws.

use forebay_document::Path;
use forebay_engine::Distribution;
use forebay_qdisc::Time;
use forebay_records::random::stream;
use forebay_units::Span;
use rand_pcg::Pcg64Mcg;

use super::tasks::Tasks;
use crate::schema::{SizeDistribution, SpanDistribution};
use crate::validate::check::{Validity, require};

/// A flow of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// [`Time::NEVER`] if a task begins it.
    pub start: Time,
    /// Its source and destination, as places in [`Setting::hosts`].
    pub ends: [usize; 2],
    pub bytes: u64,
}

/// A host of a pattern.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatternHost<'a> {
    pub name: &'a str,
    /// The rate at which it can send: the sum of its links.
    pub rate_bps: f64,
}

/// The hosts of a group with a pattern, and when they send.
pub(crate) struct Setting<'a> {
    /// The name of the group, which random streams have.
    pub name: &'a str,
    pub hosts: Vec<PatternHost<'a>>,
    /// Whether these are all hosts of the topology.
    pub has_all_hosts: bool,
    pub start: SpanDistribution,
    pub stop: Option<Span>,
    pub duration: Span,
}

impl Setting<'_> {
    /// When messages begin, without what is drawn.
    pub fn begin(&self) -> Time {
        Time::ZERO + self.start.minimum()
    }

    /// Patterns that go on begin no message at this time or later.
    pub fn end(&self) -> Time {
        Time::ZERO + self.stop.unwrap_or(self.duration).min(self.duration)
    }

    /// The time from the first to the second.
    pub fn span(&self) -> Span {
        self.end().since(self.begin().min(self.end()))
    }

    /// The random stream of the group for `what`.
    pub fn stream(&self, seed: u64, what: &str) -> Pcg64Mcg {
        stream(seed, &format!("pattern/{}/{what}", self.name))
    }

    /// How much later than its pattern a message begins, where `start` is drawn.
    pub fn delay(&self, starts: &mut Pcg64Mcg) -> Span {
        match self.start.picoseconds() {
            Distribution::Constant(_) => Span::ZERO,
            drawn => drawn.draw_span(starts).saturating_sub(self.start.minimum()),
        }
    }

    /// When a host begins.
    pub fn begin_at(&self, seed: u64, host: &str) -> Time {
        self.begin().saturating_add(self.delay(&mut self.stream(seed, &format!("{host}/start"))))
    }

    /// Messages of one host after the other to those that `to` makes, each with a start and a size.
    pub fn one_each(&self, seed: u64, size: &SizeDistribution, to: &[Vec<usize>]) -> Vec<Message> {
        let sizes = size.bytes();
        let of_host = |(from, to): (usize, &Vec<usize>)| {
            let name = self.hosts[from].name;
            let [mut starts, mut of_sizes] = ["start", "size"].map(|what| self.stream(seed, &format!("{name}/{what}")));
            let message = |&to: &usize| Message {
                start: self.begin().saturating_add(self.delay(&mut starts)),
                ends: [from, to],
                bytes: sizes.draw_count(&mut of_sizes),
            };
            to.iter().map(message).collect::<Vec<_>>()
        };
        to.iter().enumerate().flat_map(of_host).collect()
    }

    /// Checks that something ends the pattern, if the group says when.
    pub fn needs_no_stop(&self, pattern: &str, at: &Path) -> Validity {
        let message = || format!("`stop` has no effect on `{pattern}`: each of its flows ends with its last byte");
        require(self.stop.is_none(), || at.key("stop"), message, "expected none")
    }
}

/// A pattern of traffic.
pub(crate) trait TrafficPattern {
    /// Checks the parameters, which are at `at`; those of the group are at `group`.
    fn check(&self, setting: &Setting<'_>, at: &Path, group: &Path) -> Validity;

    /// The number of messages; its mean, if the number is drawn.
    fn count(&self, setting: &Setting<'_>) -> f64;

    /// About the most messages that are under way at once in a network that is not overloaded.
    fn at_once(&self, setting: &Setting<'_>) -> f64 {
        self.count(setting)
    }

    /// Whether their number, and so the names of the flows, depends on the seed.
    fn has_drawn_number(&self) -> bool {
        false
    }

    /// Sizes of the messages; `None` if each is given.
    fn size(&self) -> Option<&SizeDistribution>;

    /// The messages, in the order of their numbers.
    fn messages(&self, setting: &Setting<'_>, seed: u64) -> Vec<Message>;

    /// Whether any message waits for another one.
    fn waits_for_messages(&self) -> bool {
        false
    }

    /// The tasks of messages that wait for others or that others wait for.
    fn tasks(&self, _setting: &Setting<'_>, _seed: u64) -> Tasks {
        Tasks::default()
    }

    /// Describes the whole of the messages, if their time together is a result.
    fn whole(&self, _setting: &Setting<'_>) -> Option<Whole> {
        None
    }
}

/// Messages that make something together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Whole {
    /// The pattern.
    pub operation: &'static str,
    /// The algorithm, where there are several.
    pub algorithm: &'static str,
    /// The hosts that take part.
    pub hosts: usize,
    /// Bytes of the data of a host; `None` if hosts have nothing in common.
    pub bytes: Option<u64>,
    /// How often it is repeated.
    pub repeat: u32,
    /// Bytes that must cross the link of each host, as a multiple of `bytes`.
    pub bus_factor: f64,
}
