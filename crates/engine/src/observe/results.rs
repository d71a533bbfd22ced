//! The results of a run: tables, time series, and figures of the engine.

use forebay_records::{Series, Table, Warning};

use crate::observe::deadlock::Deadlock;
use crate::observe::watched::Watched;

/// Cost of a run, for benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EngineStats {
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Turns of nodes.
    pub events: u64,
    /// Threads that ran the network.
    pub threads: u64,
    /// CPU time of these threads.
    pub cpu_s: f64,
    /// Largest resident set of the process so far.
    pub peak_rss_bytes: u64,
}

/// All results of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// Name of the scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Simulated time.
    pub duration_s: f64,
    /// Time left out at the start.
    pub warmup_s: f64,
    /// One row a flow.
    pub flows: Table,
    /// Delays of delivered packets by group of flows: the packets with no more than `delay_s`, and more than in the row
    /// before. The digest leaves them out: the table of flows has their percentiles.
    pub delays: Table,
    /// One row a queue, with its port's counts in an Ethernet.
    pub queues: Table,
    /// One row a link.
    pub links: Table,
    /// One row for each (flow, direction) at a queue: they add up to the queue's row.
    pub queue_flows: Table,
    /// One row an adapter; no columns without adapters.
    pub adapters: Table,
    /// One row a flow whose transfers arrive during the run; no columns without such flows.
    pub transfers: Table,
    /// Completion times of flows of a given size, a row for each group and range of sizes; no columns without such
    /// flows. The digest leaves it out.
    pub completion_times: Table,
    /// How evenly equal paths are used: a row for each link of each set of equal next hops that packets took; no
    /// columns without such a set. The digest leaves it out.
    pub equal_paths: Table,
    /// One row a flow that plays video; no columns without such flows.
    pub videos: Table,
    /// One row a flow that loads web pages; no columns without such flows.
    pub pages: Table,
    /// One row a ping; no columns without pings.
    pub pings: Table,
    /// One row for each host of a group whose messages wait for others: when it had done its part; no columns without
    /// such groups. The digest leaves it out.
    pub ranks: Table,
    /// Collectives and traces of a group, a row for each repetition; no columns without such groups. The digest leaves
    /// it out.
    pub collectives: Table,
    /// Links stopped for good by each other.
    pub deadlock: Option<Deadlock>,
    /// Time series, sorted by kind, name and quantity.
    pub series: Vec<Series>,
    /// Events that were recorded one by one, if that was asked for. The digest leaves them out.
    pub watched: Option<Watched>,
    /// Properties of the run that its user may not expect.
    pub warnings: Vec<Warning>,
    /// Speed and memory.
    pub engine: EngineStats,
    /// A hash of the tables and the values of the series, without `delays`, `completion_times`, `equal_paths`,
    /// `ranks`, `collectives`, `state_bytes`, `jitter_s`, `size_bytes`, `fct_s`, and the series of PAUSE and memory.
    pub digest: String,
}
