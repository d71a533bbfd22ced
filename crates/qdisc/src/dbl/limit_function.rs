//! The dynamic buffer limit as a function of the queue's length and the number of active flows.

use alloc::vec::Vec;

use super::config::{DblFunction, DblTable};
use crate::ParameterError;
use crate::require;

/// `dbl`, ready to be evaluated for each packet.
#[derive(Clone, Debug)]
pub(super) struct BufferLimitFunction {
    min: u32,
    max: u32,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Share { reference: u32 },
    Line { reference: u32 },
    Steps { rows: Vec<u32>, columns: Vec<u32>, cells: Vec<u32> },
}

impl BufferLimitFunction {
    /// The function within `min..=max` cells; checks a table's shape.
    pub fn new(function: &DblFunction, min: u32, max: u32, reference: u32) -> Result<Self, ParameterError> {
        let shape = match function {
            DblFunction::Formula => Shape::Share { reference },
            DblFunction::Linear => Shape::Line { reference },
            DblFunction::Table(table) => steps(table, min, max)?,
        };
        Ok(Self { min, max, shape })
    }

    /// `dbl` in cells.
    #[inline]
    pub fn cells(&self, queue_cells: u64, active_flows: u32) -> u32 {
        match &self.shape {
            Shape::Share { reference } => {
                let left = u64::from(*reference).saturating_sub(queue_cells);
                let flows = u64::from(active_flows.max(1));
                // The bounds are found without dividing, and most packets meet one of them.
                if left >= u64::from(self.max) * flows {
                    self.max
                } else if left <= u64::from(self.min) * flows {
                    self.min
                } else {
                    (left / flows) as u32
                }
            }
            Shape::Line { reference } => {
                let height = u64::from(self.max - self.min);
                let fall = height * queue_cells.min(u64::from(*reference)) / u64::from(*reference);
                self.max - fall as u32
            }
            Shape::Steps { rows, columns, cells } => {
                let row = step(rows, u32::try_from(queue_cells).unwrap_or(u32::MAX));
                cells[row * columns.len() + step(columns, active_flows)]
            }
        }
    }
}

/// The index of the last step at or below `value`; the first step is 0.
fn step(steps: &[u32], value: u32) -> usize {
    steps.partition_point(|start| *start <= value).saturating_sub(1)
}

fn steps(table: &DblTable, min: u32, max: u32) -> Result<Shape, ParameterError> {
    let ascending = |steps: &[u32]| steps.first() == Some(&0) && steps.windows(2).all(|pair| pair[0] < pair[1]);
    require(ascending(&table.queue_cells), "dbl_function", "have `queue_cells` that ascend from 0")?;
    require(ascending(&table.active_flows), "dbl_function", "have `active_flows` that ascend from 0")?;
    let shaped = table.dbl_cells.len() == table.queue_cells.len()
        && table.dbl_cells.iter().all(|row| row.len() == table.active_flows.len());
    require(
        shaped,
        "dbl_function",
        "have a row of `dbl_cells` for each of `queue_cells` and a column for each of `active_flows`",
    )?;
    let cells = table.dbl_cells.iter().flatten().map(|cells| (*cells).clamp(min, max)).collect();
    Ok(Shape::Steps { rows: table.queue_cells.clone(), columns: table.active_flows.clone(), cells })
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn the_share_is_bounded() {
        let dbl = BufferLimitFunction::new(&DblFunction::Formula, 32, 256, 4096).unwrap();
        assert_eq!(dbl.cells(0, 0), 256);
        assert_eq!(dbl.cells(600, 1), 256);
        assert_eq!(dbl.cells(2096, 10), 200);
        assert_eq!(dbl.cells(4000, 10), 32);
        assert_eq!(dbl.cells(9999, 1), 32);
    }

    #[test]
    fn the_line_falls_from_max_to_min() {
        let dbl = BufferLimitFunction::new(&DblFunction::Linear, 32, 256, 1000).unwrap();
        assert_eq!([0, 500, 1000, 5000].map(|queue| dbl.cells(queue, 7)), [256, 144, 32, 32]);
    }

    #[test]
    fn the_table_is_looked_up_in_steps() {
        let table = DblTable {
            queue_cells: vec![0, 100],
            active_flows: vec![0, 2, 10],
            dbl_cells: vec![vec![256, 200, 100], vec![128, 64, 1]],
        };
        let dbl = BufferLimitFunction::new(&DblFunction::Table(table), 32, 256, 1).unwrap();
        assert_eq!(
            [(0, 0), (99, 1), (99, 2), (100, 9), (5000, 10)].map(|(q, n)| dbl.cells(q, n)),
            [256, 256, 200, 64, 32]
        );
    }

    #[test]
    fn a_table_of_the_wrong_shape_is_refused() {
        for (queue_cells, active_flows, dbl_cells) in [
            (vec![], vec![0], vec![]),
            (vec![1], vec![0], vec![vec![1]]),
            (vec![0, 0], vec![0], vec![vec![1], vec![1]]),
            (vec![0], vec![0, 5], vec![vec![1]]),
            (vec![0, 9], vec![0], vec![vec![1]]),
        ] {
            let table = DblFunction::Table(DblTable { queue_cells, active_flows, dbl_cells });
            assert_eq!(BufferLimitFunction::new(&table, 32, 256, 1).unwrap_err().field, "dbl_function");
        }
    }
}
