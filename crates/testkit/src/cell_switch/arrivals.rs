//! When cells come to a slotted switch, and for which outputs.

use forebay_qdisc::uniform;
use rand_core::Rng;

/// The arrivals of cells at the inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CellArrivals {
    /// Each slot has a cell with the probability of the load, independently of the others.
    #[default]
    Bernoulli,
    /// Bursts of cells for one output, back to back.
    Bursty(BurstyCells),
    /// As many as can be served: no queue that has a load is ever empty. Of the loads, only their proportions count.
    Saturated,
}

/// On-off arrivals: in a burst a cell comes in every slot, all for the same output; between bursts none does. Lengths
/// of bursts and of gaps are geometric; gaps are as long as the load of the input asks, and may be empty.
#[derive(Clone, Debug, PartialEq)]
pub struct BurstyCells {
    /// Mean length of a burst in cells, at least 1. Default: 16.
    pub mean_burst_cells: f64,
}

impl Default for BurstyCells {
    fn default() -> Self {
        Self { mean_burst_cells: 16.0 }
    }
}

/// The cells that come to one input.
#[derive(Clone, Debug)]
pub(super) struct CellSource {
    /// Sums of the loads for the outputs up to each one.
    cumulative: Vec<f64>,
    load: f64,
    /// The last output that has a load.
    last: usize,
    bursts: Option<Bursts>,
}

#[derive(Clone, Debug)]
struct Bursts {
    start_probability: f64,
    end_probability: f64,
    output: Option<usize>,
}

impl CellSource {
    /// The source for the loads of one input. With bursts, they may not be more than 1 together.
    pub fn new(loads: &[f64], arrivals: &CellArrivals) -> Self {
        let mut load = 0.0;
        let mut cumulative = vec![0.0; loads.len()];
        for (sum, one) in cumulative.iter_mut().zip(loads) {
            load += one;
            *sum = load;
        }
        let last = loads.iter().rposition(|load| *load > 0.0).unwrap_or(0);
        let bursts = match arrivals {
            CellArrivals::Bursty(BurstyCells { mean_burst_cells }) => Some(Bursts {
                // Gaps of mean g slots, zero included, end with probability 1 / (1 + g) in each slot that could be the
                // next of a gap; the load is burst / (burst + g).
                start_probability: load / (load + mean_burst_cells * (1.0 - load).max(0.0)),
                end_probability: 1.0 / mean_burst_cells,
                output: None,
            }),
            CellArrivals::Bernoulli | CellArrivals::Saturated => None,
        };
        Self { cumulative, load, last, bursts }
    }

    /// Shows the output of each cell that comes in this slot.
    pub fn slot(&mut self, rng: &mut dyn Rng, mut arrive: impl FnMut(usize)) {
        if self.load == 0.0 {
            return;
        }
        if self.bursts.is_some() {
            if let Some(output) = self.burst(rng) {
                arrive(output);
            }
            return;
        }
        // An overloaded input gets its whole cells for certain, and the rest with its probability.
        let mut rest = self.load;
        while rest > 0.0 {
            let (draw, probability) = (uniform(rng), rest.min(1.0));
            if draw < probability {
                arrive(self.output_at(draw / probability));
            }
            rest -= 1.0;
        }
    }

    /// The output of a cell that has come, drawn in proportion to the loads.
    pub fn draw_output(&self, rng: &mut dyn Rng) -> usize {
        self.output_at(uniform(rng))
    }

    fn output_at(&self, position: f64) -> usize {
        let position = position * self.load;
        self.cumulative.partition_point(|sum| *sum <= position).min(self.last)
    }

    fn burst(&mut self, rng: &mut dyn Rng) -> Option<usize> {
        let bursts = self.bursts.as_ref()?;
        let (start, end) = (bursts.start_probability, bursts.end_probability);
        let output = match bursts.output {
            Some(output) => Some(output),
            None => (uniform(rng) < start).then(|| self.draw_output(rng)),
        };
        let goes_on = output.filter(|_| uniform(rng) >= end);
        if let Some(bursts) = &mut self.bursts {
            bursts.output = goes_on;
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_switch::tests::rng;

    const SLOTS: u32 = 200_000;

    fn counts(loads: &[f64], arrivals: &CellArrivals) -> Vec<f64> {
        let (mut source, mut rng) = (CellSource::new(loads, arrivals), rng(1));
        let mut counts = vec![0_u32; loads.len()];
        (0..SLOTS).for_each(|_| source.slot(&mut rng, |output| counts[output] += 1));
        counts.into_iter().map(|count| f64::from(count) / f64::from(SLOTS)).collect()
    }

    #[test]
    fn cells_come_as_the_loads_say() {
        let bursty = |mean_burst_cells| CellArrivals::Bursty(BurstyCells { mean_burst_cells });
        // One standard deviation of a Bernoulli mean is below 0.0012; bursts of mean b widen it by sqrt(2 b) at most.
        let cases = [(CellArrivals::Bernoulli, 0.005), (bursty(1.0), 0.007), (bursty(20.0), 0.03)];
        for (arrivals, tolerance) in cases {
            for loads in [&[0.1, 0.0, 0.5, 0.2][..], &[0.0, 0.0], &[0.0, 1.0, 0.0]] {
                for (count, load) in counts(loads, &arrivals).into_iter().zip(loads) {
                    assert!(
                        (count - load).abs() <= load * (1.0 - load) * 4.0 * tolerance,
                        "{arrivals:?} {loads:?} {count}"
                    );
                }
            }
        }
    }

    #[test]
    fn an_overloaded_input_gets_more_than_a_cell_a_slot() {
        let counts = counts(&[1.5, 0.75], &CellArrivals::Bernoulli);
        assert!((counts[0] - 1.5).abs() < 0.01 && (counts[1] - 0.75).abs() < 0.01, "{counts:?}");
    }

    #[test]
    fn bursts_are_geometric_and_for_one_output() {
        // With a single burst in 50 slots on average, neighbouring bursts for the same output are rare.
        let arrivals = CellArrivals::Bursty(BurstyCells { mean_burst_cells: 8.0 });
        let (mut source, mut rng) = (CellSource::new(&[0.01; 16], &arrivals), rng(1));
        let (mut bursts, mut cells, mut last) = (0_u32, 0_u32, None);
        for _ in 0..SLOTS {
            let mut now = None;
            source.slot(&mut rng, |output| now = Some(output));
            cells += u32::from(now.is_some());
            bursts += u32::from(now.is_some() && now != last);
            last = now;
        }
        let mean = f64::from(cells) / f64::from(bursts);
        assert!((7.6..8.5).contains(&mean), "{mean}");
    }
}
