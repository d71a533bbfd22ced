//! A network: from its description to its result.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use forebay_qdisc::{Span, Time};
use forebay_records::StringColumn;
use forebay_switching::PathPolicyConfig;

use crate::assembly::Description;
use crate::driver::progress::Progress;
use crate::driver::windows::Windows;
use crate::error::RunError;
use crate::observe::interval::MeasuredInterval;
use crate::observe::meter::{Meter, peak_rss_bytes};
use crate::observe::report::Report;
use crate::observe::results::RunResult;
use crate::observe::transfers::{SharedTable, TransferTable};
use crate::packet::FlowId;
use crate::run_so_far::RunSoFar;
use crate::spec::flows::Flows;
use crate::spec::links::Links;
use crate::spec::{
    FlowSpec, LinkId, LinkSpec, NodeIndex, NodeSpec, Probes, RouteChange, TaskGraph, TcpData, Transport, Watch,
};

/// Collects nodes, links and flows; [`NetworkBuilder::build`] makes the network.
pub struct NetworkBuilder {
    network: Description,
}

impl NetworkBuilder {
    /// A network without anything, to be run until `end` and measured from `warmup` on.
    #[must_use]
    pub fn new(seed: u64, warmup: Time, end: Time, probes: Probes) -> Self {
        let network = Description {
            seed,
            measured: MeasuredInterval { from: warmup, to: end },
            probes,
            nodes: Vec::new(),
            node_names: StringColumn::new(),
            links: Links::default(),
            flows: Flows::default(),
            task_graphs: Vec::new(),
            paths: PathPolicyConfig::default(),
            route_changes: Vec::new(),
            device_queue_limit: None,
            transfer_table: None,
            states_sizes: false,
            watched_senders: BTreeSet::new(),
            watch: None,
        };
        Self { network }
    }

    /// Limits the datagrams that wait at a host for its own uplink. Without a call there is no limit.
    pub fn limit_device_queues(&mut self, packets: u32) {
        self.network.device_queue_limit = Some(packets);
    }

    /// Sets which of several equal paths packets take. Without a call it is a single one.
    pub fn choose_paths(&mut self, policy: PathPolicyConfig) {
        self.network.paths = policy;
    }

    /// Changes routes during the run, in the order of time. Without a call they do not change. An Ethernet keeps those
    /// of the start.
    pub fn change_routes(&mut self, changes: Vec<RouteChange>) {
        self.network.route_changes = changes;
    }

    /// Writes the transfers that arrive during the run into `table` as they are completed. The order of flows in it
    /// depends on the threads of the run.
    pub fn write_transfers(&mut self, table: Box<dyn TransferTable>) {
        self.network.transfer_table = Some(SharedTable::new(table));
    }

    /// Lets senders state the sizes of their flows, for queues that rank packets by the bytes left.
    pub fn state_sizes(&mut self) {
        self.network.states_sizes = true;
    }

    /// Adds a node. Its name is that of its random streams and, for switches, in results.
    pub fn add_node(&mut self, name: &str, node: NodeSpec) -> NodeIndex {
        self.network.node_names.push(name);
        self.network.nodes.push(node);
        self.network.nodes.len() as NodeIndex - 1
    }

    /// Adds one direction of a link.
    pub fn add_link(&mut self, link: LinkSpec) -> LinkId {
        self.network.links.add(link)
    }

    /// Adds a flow. One with data both ways becomes two: the data of the client is a flow of its
    /// own, named `NAME/request`.
    pub fn add_flow(&mut self, flow: FlowSpec) {
        let request = match &flow.transport {
            Transport::Tcp { data: TcpData::BothWays(_), .. } => Some(FlowSpec {
                name: format!("{}/request", flow.name),
                group: format!("{}/request", flow.group),
                transport: flow.transport.clone(),
                source: flow.destination,
                destination: flow.source,
                host_jitter: [flow.host_jitter[1].clone(), flow.host_jitter[0].clone()],
                ..flow
            }),
            _ => None,
        };
        self.network.flows.add(flow);
        if let Some(request) = request {
            self.network.flows.add(request);
        }
    }

    /// Adds tasks, whose flows must be messages over RDMA transports that are added before the network is built.
    pub fn add_tasks(&mut self, graph: TaskGraph) {
        self.network.task_graphs.push(graph);
    }

    /// Records the state of the TCP sender of this flow as time series, if the probes have an interval.
    pub fn watch_sender(&mut self, flow: FlowId) {
        if self.network.probes.interval.is_some() {
            self.network.watched_senders.insert(flow);
        }
    }

    /// Records events one by one: see [`RunResult::watched`]. All other results stay the same.
    pub fn watch(&mut self, watch: Watch) {
        self.network.watch = Some(watch);
    }

    /// How many flows there are; the next one added gets this index.
    #[must_use]
    pub fn flow_count(&self) -> u32 {
        self.network.flows.len() as u32
    }

    /// Makes the network.
    ///
    /// # Errors
    /// If the description contradicts itself, or the file of a trace cannot be created.
    pub fn build(mut self) -> Result<Network, RunError> {
        let transfer_table = self.network.transfer_table.clone();
        let (driver, alone) = self.network.assemble()?;
        let Description { measured, probes, node_names, flows, links, watch, .. } = self.network;
        let mut report = Report::new(measured, flows.labels, node_names, links.names);
        if watch.is_some() {
            report.expect_logs();
        }
        for mut tasks in alone {
            tasks.run_alone(measured.to);
            tasks.report(&mut report);
        }
        Ok(Network { driver, report, measured, sampling_interval: probes.interval, transfer_table })
    }
}

/// A network that is ready to run.
pub struct Network {
    driver: Windows,
    report: Report,
    measured: MeasuredInterval,
    sampling_interval: Option<Span>,
    transfer_table: Option<SharedTable>,
}

impl Network {
    /// Runs to the end, on one thread. `control` is called now and then with the part of the run that is done; it
    /// answers whether to go on.
    ///
    /// # Errors
    /// If `control` stops the run, a trace cannot be written, or the counters do not balance.
    pub fn run(self, control: &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError> {
        self.run_on(NonZeroUsize::MIN, control)
    }

    /// As [`Network::run`], on at most this many threads, this one among them: the same results. Where several threads
    /// would be slower it has one. `control` is called on this thread.
    ///
    /// # Errors
    /// As [`Network::run`]; if a thread cannot be started.
    pub fn run_on(self, threads: NonZeroUsize, control: &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError> {
        self.run_by(&mut |fraction, _| control(fraction), |driver, progress| {
            driver.run_on(driver.partition(threads), progress)
        })
    }

    /// As [`Network::run`]; `control` also gets the run so far, whose time series it may show.
    ///
    /// # Errors
    /// As [`Network::run`].
    pub fn run_shown(self, control: &mut dyn FnMut(f64, &RunSoFar<'_>) -> bool) -> Result<RunResult, RunError> {
        self.run_by(control, |driver, progress| driver.run(progress).map(|()| (1, 0.0)))
    }

    /// As [`Network::run_on`], also where several threads are slower than one.
    ///
    /// # Errors
    /// As [`Network::run_on`].
    #[cfg(feature = "oracle")]
    #[doc(hidden)]
    pub fn run_divided(
        self,
        threads: NonZeroUsize,
        control: &mut dyn FnMut(f64) -> bool,
    ) -> Result<RunResult, RunError> {
        self.run_by(&mut |fraction, _| control(fraction), |driver, progress| {
            driver.run_on(driver.best_partition(threads), progress)
        })
    }

    /// As [`Network::run`], with everything in the order of the global clock: the same results, slower.
    ///
    /// # Errors
    /// As [`Network::run`].
    #[cfg(feature = "oracle")]
    #[doc(hidden)]
    pub fn run_in_order(self, control: &mut dyn FnMut(f64) -> bool) -> Result<RunResult, RunError> {
        self.run_by(&mut |fraction, _| control(fraction), |driver, progress| {
            driver.run_in_order(progress).map(|()| (1, 0.0))
        })
    }

    /// `run` returns how many threads it used, and the CPU time of those other than this one.
    fn run_by(
        self,
        control: &mut dyn FnMut(f64, &RunSoFar<'_>) -> bool,
        run: impl FnOnce(&mut Windows, &mut Progress<'_>) -> Result<(usize, f64), RunError>,
    ) -> Result<RunResult, RunError> {
        let Self { mut driver, mut report, measured, sampling_interval, transfer_table } = self;
        let meter = Meter::start();
        let mut control = |fraction, nodes: &[_]| control(fraction, &RunSoFar::new(nodes, &report, sampling_interval));
        let mut progress = Progress::new(&mut control, measured.to);
        let (threads, other_cpu_s) = run(&mut driver, &mut progress)?;
        let events = progress.events;
        driver.finish(&mut report);
        transfer_table.map_or(Ok(()), |table| table.close())?;
        let mut result = report.close(sampling_interval)?;
        result.engine.events = events;
        result.engine.threads = threads as u64;
        result.engine.cpu_s = meter.elapsed().as_secs_f64() + other_cpu_s;
        result.engine.peak_rss_bytes = peak_rss_bytes();
        Ok(result)
    }
}
