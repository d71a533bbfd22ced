//! A slotted switch by itself: cells of one length, no network around it, so that theory can be held against it, and it
//! against the switch of the simulator.
//!
//! In each slot, first cells arrive, then the crossbar has its phases, then each output sends a cell. A cell can come
//! and go in the same slot; its delay is then 0.

mod arrivals;
mod batch_means;

use std::collections::VecDeque;

use forebay_switching::{
    InputFifos, LoadMatrix, LoadPattern, Matching, Scheduler, SchedulerConfig, Speedup, VirtualOutputQueues,
};
use rand_core::Rng;

use arrivals::CellSource;
pub use arrivals::{BurstyCells, CellArrivals};
use batch_means::BatchMeans;
pub use batch_means::Estimate;

/// The fabric between inputs and outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellFabric {
    /// A crossbar behind virtual output queues.
    Crossbar {
        /// The scheduler that decides which pairs are joined.
        scheduler: SchedulerConfig,
        /// Phases in a slot. Default: 1.
        speedup: Speedup,
    },
    /// A crossbar behind one FIFO at each input; among the heads for an output one is drawn at random.
    InputFifo,
    /// No crossbar: every cell is at its output at once.
    OutputQueued,
}

/// Parameters of a slotted switch.
#[derive(Clone, Debug, PartialEq)]
pub struct CellSwitchConfig {
    /// Inputs, and outputs: 1 to 64.
    pub ports: usize,
    /// The fabric.
    pub fabric: CellFabric,
    /// The distribution of each input's traffic. Default: uniform.
    pub pattern: LoadPattern,
    /// Cells that come to each input in a slot, on average.
    pub load: f64,
    /// Whether inputs and outputs may be loaded with more than their lines can carry. Default: no.
    pub allow_overload: bool,
    /// The arrivals of cells. Default: Bernoulli.
    pub arrivals: CellArrivals,
    /// Cells that a queue at an input holds at most, each VOQ for itself. Default: no limit.
    pub input_limit: Option<u32>,
    /// Cells that an output's queue holds at most. Default: no limit.
    pub output_limit: Option<u32>,
    /// Whether cells for a full output wait at their input; otherwise they cross and are dropped. Default: no.
    pub backpressure: bool,
}

impl CellSwitchConfig {
    /// A switch without limits under uniform Bernoulli traffic.
    #[must_use]
    pub fn new(ports: usize, fabric: CellFabric, load: f64) -> Self {
        Self {
            ports,
            fabric,
            pattern: LoadPattern::Uniform,
            load,
            allow_overload: false,
            arrivals: CellArrivals::Bernoulli,
            input_limit: None,
            output_limit: None,
            backpressure: false,
        }
    }

    /// The load matrix, if everything is within its bounds.
    fn check(&self) -> LoadMatrix {
        let loads = self.pattern.matrix(self.ports, self.load).unwrap_or_else(|error| panic!("{error}"));
        if !self.allow_overload {
            loads.check_admissible().unwrap_or_else(|error| panic!("{error}"));
        }
        let limits = [self.input_limit, self.output_limit];
        assert!(!limits.contains(&Some(0)), "a limit is at least 1 cell");
        assert!(!self.backpressure || self.output_limit.is_some(), "backpressure comes with an output limit");
        let has_inputs = self.fabric != CellFabric::OutputQueued;
        assert!(!self.backpressure || has_inputs, "backpressure needs queues at the inputs");
        if let CellArrivals::Bursty(bursty) = &self.arrivals {
            assert!(bursty.mean_burst_cells.is_finite() && bursty.mean_burst_cells >= 1.0, "a burst has a cell");
            let line_rate = (0..self.ports).all(|input| loads.input_load(input) <= 1.0 + 1e-9);
            assert!(line_rate, "bursts come at the line rate, so that a load is at most 1");
        }
        loads
    }
}

/// The switch's random streams: two, so that the same cells come whatever the scheduler draws.
pub struct CellSwitchRngs<'a> {
    /// The random numbers for the arrivals of cells and their outputs.
    pub arrivals: &'a mut dyn Rng,
    /// The draws of the scheduler.
    pub scheduler: &'a mut dyn Rng,
}

/// A cell in the switch.
#[derive(Clone, Copy, Debug)]
struct Cell {
    arrived: u64,
}

/// The input side and the crossbar.
enum Inputs {
    Crossbar { queues: VirtualOutputQueues<Cell>, scheduler: Box<dyn Scheduler>, speedup: Speedup },
    Fifo(InputFifos<Cell>),
    None,
}

impl Inputs {
    fn new(config: &CellSwitchConfig) -> Self {
        let (ports, limit) = (config.ports, config.input_limit);
        match &config.fabric {
            CellFabric::Crossbar { scheduler, speedup } => {
                speedup.check(ports).unwrap_or_else(|error| panic!("{error}"));
                let queues = VirtualOutputQueues::new(ports, limit);
                let scheduler = scheduler.build(ports).unwrap_or_else(|error| panic!("{error}"));
                Self::Crossbar { queues, scheduler, speedup: *speedup }
            }
            CellFabric::InputFifo => Self::Fifo(InputFifos::new(ports, limit)),
            CellFabric::OutputQueued => Self::None,
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Crossbar { queues, .. } => queues.len(),
            Self::Fifo(fifos) => fifos.len(),
            Self::None => 0,
        }
    }

    fn phases_in_slot(&self, slot: u64) -> u64 {
        match self {
            Self::Crossbar { speedup, .. } => speedup.phases_in_slot(slot),
            Self::Fifo(_) => 1,
            Self::None => 0,
        }
    }

    fn schedule(&mut self, outputs: u64, rng: &mut dyn Rng, matching: &mut Matching) {
        match self {
            Self::Crossbar { queues, scheduler, .. } => scheduler.schedule(queues.occupancy(), outputs, rng, matching),
            Self::Fifo(fifos) => fifos.phase(outputs, rng, matching),
            Self::None => matching.clear(),
        }
    }

    fn pop(&mut self, input: usize, output: usize) -> Option<Cell> {
        match self {
            Self::Crossbar { queues, .. } => queues.pop(input, output),
            Self::Fifo(fifos) => fifos.pop(input).map(|(_, cell)| cell),
            Self::None => None,
        }
    }
}

/// The counters since the warm-up.
#[derive(Clone, Debug)]
struct Counters {
    since: u64,
    arrived: u64,
    dropped_at_inputs: u64,
    dropped_at_outputs: u64,
    departed: Vec<u64>,
    delays: BatchMeans,
    at_inputs: Level,
    at_outputs: Level,
}

/// Cells that are left at the end of a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    sum: u64,
    most: u64,
}

impl Level {
    fn observe(&mut self, cells: u64) {
        self.sum += cells;
        self.most = self.most.max(cells);
    }
}

impl Counters {
    fn new(ports: usize, since: u64, slots: u64) -> Self {
        Self {
            since,
            arrived: 0,
            dropped_at_inputs: 0,
            dropped_at_outputs: 0,
            departed: vec![0; ports],
            delays: BatchMeans::new(slots),
            at_inputs: Level::default(),
            at_outputs: Level::default(),
        }
    }
}

/// The results of a run of a slotted switch after its warm-up. Means are NaN if it had no slots.
#[derive(Clone, Debug, PartialEq)]
pub struct CellSwitchReport {
    /// Slots that were measured.
    pub slots: u64,
    /// Cells that came.
    pub arrived: u64,
    /// Cells that were sent.
    pub departed: u64,
    /// Cells that a full queue at an input turned away.
    pub dropped_at_inputs: u64,
    /// Cells that crossed to a full output.
    pub dropped_at_outputs: u64,
    /// Cells that each output sent in a slot, on average.
    pub throughput: Vec<f64>,
    /// Slots between the arrival of a cell and its departure, of those that departed.
    pub delay_slots: Estimate,
    /// Cells at all inputs at the end of a slot, on average.
    pub mean_at_inputs: f64,
    /// Cells at all inputs at the end of a slot, at most.
    pub max_at_inputs: u64,
    /// Cells at all outputs at the end of a slot, on average.
    pub mean_at_outputs: f64,
    /// Cells at all outputs at the end of a slot, at most.
    pub max_at_outputs: u64,
}

impl CellSwitchReport {
    /// Cells sent in a slot by an output, on average over the outputs.
    #[must_use]
    pub fn mean_throughput(&self) -> f64 {
        self.throughput.iter().sum::<f64>() / self.throughput.len() as f64
    }
}

/// A slotted switch.
pub struct CellSwitch {
    traffic: Traffic,
    queues: Queues,
}

/// The source of the cells.
struct Traffic {
    loads: LoadMatrix,
    sources: Vec<CellSource>,
    saturated: bool,
}

/// The queues on both sides of the crossbar.
struct Queues {
    inputs: Inputs,
    outputs: Vec<VecDeque<Cell>>,
    output_limit: usize,
    backpressure: bool,
    matching: Matching,
    slot: u64,
    counters: Counters,
}

impl CellSwitch {
    /// An empty switch.
    ///
    /// # Panics
    /// If a parameter is outside its bounds, or the load more than the lines can carry.
    #[must_use]
    pub fn new(config: &CellSwitchConfig) -> Self {
        let loads = config.check();
        let ports = config.ports;
        let sources = (0..ports).map(|input| CellSource::new(loads.loads_of_input(input), &config.arrivals)).collect();
        let queues = Queues {
            inputs: Inputs::new(config),
            outputs: vec![VecDeque::new(); ports],
            output_limit: config.output_limit.map_or(usize::MAX, |limit| limit as usize),
            backpressure: config.backpressure,
            matching: Matching::new(ports),
            slot: 0,
            counters: Counters::new(ports, 0, 0),
        };
        let saturated = config.arrivals == CellArrivals::Saturated;
        Self { traffic: Traffic { loads, sources, saturated }, queues }
    }

    /// Runs for `warm_up` slots and then for `slots` more, of which it reports.
    pub fn run(&mut self, warm_up: u64, slots: u64, rng: &mut CellSwitchRngs<'_>) -> CellSwitchReport {
        for _ in 0..warm_up {
            self.advance(rng);
        }
        let queues = &mut self.queues;
        queues.counters = Counters::new(queues.outputs.len(), queues.slot, slots);
        for _ in 0..slots {
            self.advance(rng);
        }
        self.report()
    }

    /// One slot: arrivals, phases, departures.
    pub fn advance(&mut self, rng: &mut CellSwitchRngs<'_>) {
        let phases = self.queues.inputs.phases_in_slot(self.queues.slot);
        if self.traffic.saturated {
            self.traffic.saturate(&mut self.queues, phases, rng.arrivals);
        } else {
            self.traffic.arrive(&mut self.queues, rng.arrivals);
        }
        for _ in 0..phases {
            self.queues.cross(rng.scheduler);
        }
        self.queues.depart();
    }

    /// Cells in the switch.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.queues.inputs.len() + self.queues.at_outputs()
    }

    /// The counters since the last warm-up.
    #[must_use]
    pub fn report(&self) -> CellSwitchReport {
        let counters = &self.queues.counters;
        let slots = self.queues.slot - counters.since;
        let in_a_slot = |count: u64| count as f64 / slots as f64;
        CellSwitchReport {
            slots,
            arrived: counters.arrived,
            departed: counters.departed.iter().sum(),
            dropped_at_inputs: counters.dropped_at_inputs,
            dropped_at_outputs: counters.dropped_at_outputs,
            throughput: counters.departed.iter().map(|count| in_a_slot(*count)).collect(),
            delay_slots: counters.delays.estimate(),
            mean_at_inputs: in_a_slot(counters.at_inputs.sum),
            max_at_inputs: counters.at_inputs.most,
            mean_at_outputs: in_a_slot(counters.at_outputs.sum),
            max_at_outputs: counters.at_outputs.most,
        }
    }
}

impl Traffic {
    fn arrive(&mut self, queues: &mut Queues, rng: &mut dyn Rng) {
        for (input, source) in self.sources.iter_mut().enumerate() {
            source.slot(rng, |output| queues.accept(input, output));
        }
    }

    /// Brings this many cells that no queue with a load runs empty before the last of the coming phases.
    fn saturate(&self, queues: &mut Queues, phases: u64, rng: &mut dyn Rng) {
        for (input, source) in self.sources.iter().enumerate() {
            let missing = match &queues.inputs {
                Inputs::Crossbar { .. } => {
                    self.fill(queues, input, phases);
                    0
                }
                Inputs::Fifo(fifos) => phases.saturating_sub(fifos.length(input) as u64),
                Inputs::None => 1,
            };
            (0..missing).for_each(|_| queues.accept(input, source.draw_output(rng)));
        }
    }

    fn fill(&self, queues: &mut Queues, input: usize, phases: u64) {
        for (output, load) in self.loads.loads_of_input(input).iter().enumerate() {
            let Inputs::Crossbar { queues: voqs, .. } = &queues.inputs else { return };
            let missing = phases.saturating_sub(u64::from(voqs.occupancy().length(input, output)));
            if *load > 0.0 {
                (0..missing).for_each(|_| queues.accept(input, output));
            }
        }
    }
}

impl Queues {
    /// A cell comes to `input` for `output`.
    fn accept(&mut self, input: usize, output: usize) {
        let cell = Cell { arrived: self.slot };
        self.counters.arrived += 1;
        let refused = match &mut self.inputs {
            Inputs::Crossbar { queues, .. } => queues.push(input, output, cell).is_err(),
            Inputs::Fifo(fifos) => fifos.push(input, output, cell).is_err(),
            Inputs::None => return self.deliver(output, cell),
        };
        self.counters.dropped_at_inputs += u64::from(refused);
    }

    /// One phase of the crossbar.
    fn cross(&mut self, rng: &mut dyn Rng) {
        let outputs = if self.backpressure { self.outputs_with_room() } else { u64::MAX };
        self.inputs.schedule(outputs, rng, &mut self.matching);
        for input in 0..self.outputs.len() {
            let Some(output) = self.matching.output_of(input) else { continue };
            if let Some(cell) = self.inputs.pop(input, output) {
                self.deliver(output, cell);
            }
        }
    }

    fn outputs_with_room(&self) -> u64 {
        let has_room = |queue: &VecDeque<Cell>| u64::from(queue.len() < self.output_limit);
        self.outputs.iter().enumerate().map(|(output, queue)| has_room(queue) << output).sum()
    }

    fn deliver(&mut self, output: usize, cell: Cell) {
        if self.outputs[output].len() < self.output_limit {
            self.outputs[output].push_back(cell);
        } else {
            self.counters.dropped_at_outputs += 1;
        }
    }

    /// Each output sends a cell; the slot ends.
    fn depart(&mut self) {
        let since = self.counters.since;
        for (output, queue) in self.outputs.iter_mut().enumerate() {
            if let Some(cell) = queue.pop_front() {
                self.counters.departed[output] += 1;
                self.counters.delays.observe(self.slot - since, (self.slot - cell.arrived) as f64);
            }
        }
        self.counters.at_inputs.observe(self.inputs.len());
        self.counters.at_outputs.observe(self.at_outputs());
        self.slot += 1;
    }

    fn at_outputs(&self) -> u64 {
        self.outputs.iter().map(|queue| queue.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests;
