//! Collective operations: all-reduce, and its halves, reduce-scatter and all-gather.
//!
//! The data of a host are cut into as many chunks as there are hosts. Both algorithms move (N - 1)/N of the data over
//! the link of each host in each half. The ring does so in N - 1 steps between neighbours (Patarasu and Yuan 2009),
//! halving and doubling in log2(N) steps between hosts whose numbers differ in one bit (Rabenseifner 2004).

use forebay_document::Path;
use forebay_qdisc::Time;
use forebay_units::Bytes;
use schemars::JsonSchema;

use super::seam::{Message, Setting, TrafficPattern, Whole};
use super::tasks::{Action, Tasks};
use crate::schema::SizeDistribution;
use crate::validate::check::{Validity, check_transfer, require};

/// A collective operation. Each message starts when its host has received the messages that its data depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collective {
    /// Which hosts exchange which chunks.
    pub algorithm: Algorithm,
    /// Payload bytes of the data, the same at each host: of its input, or of the result of an all-gather.
    pub size: Bytes,
    /// How often it is done. A host starts the next one when it is done with the one before. Default: once.
    #[serde(default = "once")]
    #[schemars(range(min = 1))]
    pub repeat: u32,
}

fn once() -> u32 {
    1
}

/// An algorithm of collective operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CollectiveAlgorithm")]
pub enum Algorithm {
    /// Each host sends to the next one, a chunk in each step.
    Ring,
    /// Hosts exchange halves of the data with the next host, quarters with the next but one, and so on; to gather, the
    /// other way round. The number of hosts is a power of two.
    HalvingDoubling,
}

/// A half of an all-reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    Reduce,
    Gather,
}

use Half::{Gather, Reduce};

/// The message of a host in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transfer {
    to: usize,
    bytes: u64,
}

/// The steps of a collective among `hosts`, whose data are so many bytes.
#[derive(Clone, Copy)]
struct Steps<'a> {
    halves: &'a [Half],
    algorithm: Algorithm,
    hosts: usize,
    bytes: u64,
}

impl Steps<'_> {
    fn of_half(&self) -> usize {
        match self.algorithm {
            Algorithm::Ring => self.hosts.saturating_sub(1),
            Algorithm::HalvingDoubling => self.hosts.max(1).ilog2() as usize,
        }
    }

    fn count(&self) -> usize {
        self.halves.len() * self.of_half()
    }

    /// The bytes of the chunks from one up to another. Sizes differ by a byte at most.
    fn chunks(&self, from: usize, to: usize) -> u64 {
        let end = |chunk: usize| u128::from(self.bytes) * chunk as u128 / self.hosts as u128;
        (end(to) - end(from)) as u64
    }

    /// The chunks that a host has after so many halvings.
    fn share(&self, host: usize, halvings: usize) -> (usize, usize) {
        (0..halvings).fold((0, self.hosts), |(from, to), bit| {
            let middle = from.midpoint(to);
            if (host >> bit) & 1 == 0 { (from, middle) } else { (middle, to) }
        })
    }

    fn transfer(&self, step: usize, host: usize) -> Transfer {
        let (half, step) = (self.halves[step / self.of_half()], step % self.of_half());
        match self.algorithm {
            Algorithm::Ring => {
                // The chunk that came in the step before; at first the own one, or the one that is complete.
                let first = host + usize::from(half == Gather);
                let chunk = (first + self.hosts - step) % self.hosts;
                Transfer { to: (host + 1) % self.hosts, bytes: self.chunks(chunk, chunk + 1) }
            }
            Algorithm::HalvingDoubling => {
                let bytes = |halvings: usize| {
                    let (from, to) = self.share(host, halvings);
                    self.chunks(from, to)
                };
                // Neighbours exchange the largest halves, which stay near.
                let bit = if half == Reduce { step } else { self.of_half() - 1 - step };
                let bytes = if half == Reduce { bytes(bit) - bytes(bit + 1) } else { bytes(bit + 1) };
                Transfer { to: host ^ (1 << bit), bytes }
            }
        }
    }

    /// The host from which a host receives in a step.
    fn source(&self, step: usize, host: usize) -> usize {
        match self.algorithm {
            Algorithm::Ring => (host + self.hosts - 1) % self.hosts,
            Algorithm::HalvingDoubling => self.transfer(step, host).to,
        }
    }

    /// The earlier steps whose data a host sends on in this one.
    fn needs(&self, step: usize) -> std::ops::Range<usize> {
        match self.algorithm {
            Algorithm::Ring => step.saturating_sub(1)..step,
            Algorithm::HalvingDoubling => 0..step,
        }
    }
}

impl Collective {
    fn steps<'a>(&self, halves: &'a [Half], setting: &Setting<'_>) -> Steps<'a> {
        Steps { halves, algorithm: self.algorithm, hosts: setting.hosts.len(), bytes: self.size.0 }
    }

    fn check(&self, name: &str, setting: &Setting<'_>, at: &Path, group: &Path) -> Validity {
        setting.needs_no_stop(name, group)?;
        check_transfer(&SizeDistribution::Constant(self.size), &at.key("size"))?;
        require(self.repeat > 0, || at.key("repeat"), || "`repeat` is 0".into(), "expected 1 or more")?;
        let hosts = setting.hosts.len();
        let message = || format!("`halving_doubling` with {hosts} hosts");
        let label = "expected `ring`, or a number of hosts that is a power of two";
        let fits = self.algorithm == Algorithm::Ring || hosts.is_power_of_two();
        require(fits, || at.key("algorithm"), message, label)?;
        let message = || format!("`size` is too small for {hosts} hosts");
        let label = format!("expected at least {hosts} B: a byte for the chunk of each host");
        require(self.size.0 >= hosts as u64, || at.key("size"), message, &label)
    }

    fn messages(&self, halves: &[Half], setting: &Setting<'_>) -> Vec<Message> {
        let steps = self.steps(halves, setting);
        let of_step = |step: usize| {
            (0..steps.hosts).map(move |host| {
                let Transfer { to, bytes } = steps.transfer(step, host);
                Message { start: Time::NEVER, ends: [host, to], bytes }
            })
        };
        (0..self.repeat).flat_map(|_| (0..steps.count()).flat_map(of_step)).collect()
    }

    /// A host sends in a step what it has received before, and starts again when it has received everything.
    fn tasks(&self, halves: &[Half], setting: &Setting<'_>, seed: u64) -> Tasks {
        let steps = self.steps(halves, setting);
        let (hosts, count) = (steps.hosts, steps.count());
        let mut tasks = Tasks::default();
        let starts: Vec<Time> = setting.hosts.iter().map(|host| setting.begin_at(seed, host.name)).collect();
        // The receive of each step, by host.
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); hosts];
        for repetition in 0..self.repeat as usize {
            let mut received: Vec<Vec<u32>> = vec![Vec::with_capacity(count); hosts];
            for step in 0..count {
                let message = |from: usize| ((repetition * count + step) * hosts + from) as u32;
                for host in 0..hosts {
                    let send = tasks.add(host, Action::Send(message(host)), starts[host]);
                    let needed = if step == 0 { &before[host][..] } else { &received[host][steps.needs(step)] };
                    needed.iter().for_each(|&receive| tasks.after(send, receive));
                }
                for (host, received) in received.iter_mut().enumerate() {
                    let receive = Action::Receive(message(steps.source(step, host)));
                    received.push(tasks.add(host, receive, Time::ZERO));
                }
            }
            before = received;
        }
        tasks
    }

    fn whole(&self, halves: &[Half], operation: &'static str, setting: &Setting<'_>) -> Whole {
        let hosts = setting.hosts.len();
        Whole {
            operation,
            algorithm: match self.algorithm {
                Algorithm::Ring => "ring",
                Algorithm::HalvingDoubling => "halving_doubling",
            },
            hosts,
            bytes: Some(self.size.0),
            repeat: self.repeat,
            bus_factor: halves.len() as f64 * (hosts as f64 - 1.0) / hosts as f64,
        }
    }
}

/// Generates the pattern of each collective: its type, name and halves.
macro_rules! collectives {
    ($($(#[doc = $doc:literal])* $type:ident = $name:literal, $halves:expr;)*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
            pub struct $type(Collective);

            impl TrafficPattern for $type {
                fn check(&self, setting: &Setting<'_>, at: &Path, group: &Path) -> Validity {
                    self.0.check($name, setting, at, group)
                }

                fn count(&self, setting: &Setting<'_>) -> f64 {
                    let steps = self.0.steps($halves, setting);
                    f64::from(self.0.repeat) * steps.count() as f64 * steps.hosts as f64
                }

                /// A host sends one message at a time, and the next may begin before the last is acknowledged.
                fn at_once(&self, setting: &Setting<'_>) -> f64 {
                    self.count(setting).min(2.0 * setting.hosts.len() as f64)
                }

                fn size(&self) -> Option<&SizeDistribution> {
                    None
                }

                fn messages(&self, setting: &Setting<'_>, _: u64) -> Vec<Message> {
                    self.0.messages($halves, setting)
                }

                fn waits_for_messages(&self) -> bool {
                    true
                }

                fn tasks(&self, setting: &Setting<'_>, seed: u64) -> Tasks {
                    self.0.tasks($halves, setting, seed)
                }

                fn whole(&self, setting: &Setting<'_>) -> Option<Whole> {
                    Some(self.0.whole($halves, $name, setting))
                }
            }
        )*
    };
}

collectives! {
    /// The hosts add up their data, and each gets the sum: a reduce-scatter and an all-gather.
    AllReduce = "all_reduce", &[Reduce, Gather];
    /// The hosts add up their data, and each gets a part of the sum.
    ReduceScatter = "reduce_scatter", &[Reduce];
    /// Each host has a part of the data, and gets the others.
    AllGather = "all_gather", &[Gather];
}

#[cfg(test)]
#[path = "collective_tests.rs"]
mod tests;
