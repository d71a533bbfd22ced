//! MWM, maximum weight matching: the matching whose queues are together the longest.
//!
//! # What it does
//! The weight of a pair is the length of its virtual output queue in packets. The scheduler finds a matching with the
//! largest total weight, exactly. It achieves 100 % throughput under all admissible traffic, and is the reference for
//! cheaper schedulers. Queues of weight zero are not matched; among several best matchings one is chosen at random.
//!
//! # When to use it
//! Use it as the reference for other schedulers: it carries every load that any switch can carry. Its computation grows
//! with the cube of the number of ports, too slow for the hardware of a fast switch.
//!
//! # Example
//! ```toml
//! fabric.cioq = { scheduler = "mwm", voq_limit = "100 packets" }
//! ```
//!
//! It is the default scheduler. `voq_limit` is the buffer at the inputs.
//!
//! # Source
//! N. McKeown, A. Mekkittikul, V. Anantharam and J. Walrand, "Achieving 100% Throughput in an Input-Queued Switch",
//! IEEE Transactions on Communications 47(8), 1999 (LQF); R. Jonker and A. Volgenant, "A Shortest Augmenting Path
//! Algorithm for Dense and Sparse Linear Assignment Problems", Computing 38, 1987.
//!
//! # Where we differ
//! - All arithmetic is in integers, and one pass over a row finds both the nearest column and the preferred one among
//!   equals. For this a distance has the number of its column in its low bits, below a bit for taken columns.
//! - Ties: the inputs are visited from a random one on, and the outputs are numbered from a random one on. The best
//!   matchings do not have equal probabilities, but no port is preferred.
//! - Every phase starts from scratch. Keeping the prices of the last phase saves searches, but most of the time is
//!   spent on reading the lengths and on the first pass over the rows, which both need.
//! - A queue of more than 4 194 303 packets weighs as much as one of that length.
//!
//! # Cost
//! Two tables with an entry for each pair of ports. O(ports^3) in the worst case. In practice it is little more than
//! one pass over the lengths if the longest queues of the inputs are for different outputs, and a few passes over a row
//! for each other input.
//!
//! # Parameters
//! None: see [`MwmConfig`].

use alloc::boxed::Box;

use rand_core::Rng;

use crate::port_set::{below, members, members_from, only};
use crate::{MAX_PORTS, Matching, Occupancy, ParameterError, Scheduler};

/// Maximum weight matching has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct MwmConfig {}

/// The scheduler for `ports` ports, 1 to 64: with tables of the next power of two, so that the loops over a row have
/// fixed lengths and become vector instructions.
pub(crate) fn build(_: &MwmConfig, ports: usize) -> Result<Box<dyn Scheduler>, ParameterError> {
    Ok(match ports {
        0..=2 => Box::new(MaximumWeight::<2>::new()),
        3..=4 => Box::new(MaximumWeight::<4>::new()),
        5..=8 => Box::new(MaximumWeight::<8>::new()),
        9..=16 => Box::new(MaximumWeight::<16>::new()),
        17..=32 => Box::new(MaximumWeight::<32>::new()),
        _ => Box::new(MaximumWeight::<MAX_PORTS>::new()),
    })
}

/// Low bits of a distance: six for the number of the column, one that says that the column is taken.
const TAG_BITS: u32 = 7;
const TAG: i32 = (1 << TAG_BITS) - 1;
const TAKEN: i32 = 1 << (TAG_BITS - 1);
const NUMBER: i32 = TAKEN - 1;

/// The largest weight. Row prices, column prices and with them all distances but the tentative ones are at most the
/// largest weight, and tentative ones at most three times that: with the tag, they fit into 31 bits.
const MAX_WEIGHT: u32 = (1 << 22) - 1;
const _: () = assert!((3 * MAX_WEIGHT as u64) << TAG_BITS < i32::MAX as u64 - TAG as u64);

const NONE: u8 = u8::MAX;

/// Maximum weight matching of at most `N` ports, as an assignment of rows (inputs) to columns (outputs) in which every
/// row gets a column, be it one of weight zero.
///
/// All weights, prices and distances are shifted by [`TAG_BITS`]. For every row i and column j the slack
/// `row_price[i] + column_price[j] - weights[i][j]` is at least 0, and it is 0 for pairs that are joined; the price of
/// a column without a row is 0. By weak duality a matching with such prices is best.
struct MaximumWeight<const N: usize> {
    weights: [[i32; N]; N],
    row_price: [i32; N],
    /// Price of each column with its tag: `price | taken | number`.
    column_price: [i32; N],
    row_of: [u8; N],
    column_of: [u8; N],
    /// The number of each column, by which it is preferred among equals; and the column of each number.
    numbers: [i32; N],
    columns: [i32; N],
}

/// A search for a free column along paths of least slack.
struct Search<const N: usize> {
    /// The tentative distance of each open column with the column's tag; `i32::MAX` for the others.
    distance: [i32; N],
    /// Ones for each closed column, so that a bitwise or lifts its distance to `i32::MAX`; zero for open ones.
    closed: [i32; N],
    /// The distance at which each closed column was closed.
    closed_at: [i32; N],
    /// The row from which each column's distance was found.
    reached_from: [i32; N],
}

/// The weight of a queue of this `length`.
const fn weigh(length: u32) -> i32 {
    let capped = if length < MAX_WEIGHT { length } else { MAX_WEIGHT };
    (capped << TAG_BITS) as i32
}

impl<const N: usize> MaximumWeight<N> {
    fn new() -> Self {
        Self {
            weights: [[0; N]; N],
            row_price: [0; N],
            column_price: [0; N],
            row_of: [NONE; N],
            column_of: [NONE; N],
            numbers: [0; N],
            columns: [0; N],
        }
    }

    /// Reads the lengths of the inputs in `rows`, and numbers the columns from `first` on. Outputs that may not
    /// receive, and columns past the last port, have weight zero.
    fn read(&mut self, occupancy: &Occupancy, rows: u64, outputs: u64, first: usize) {
        let ports = occupancy.ports();
        let blocked = occupancy.all_outputs() & !outputs;
        for row in members(rows) {
            let lengths = occupancy.lengths_of_input(row);
            let weights = &mut self.weights[row];
            if let Ok(lengths) = <&[u32; N]>::try_from(lengths) {
                *weights = lengths.map(weigh);
            } else {
                weights.iter_mut().zip(lengths).for_each(|(weight, &length)| *weight = weigh(length));
            }
            for output in members(blocked) {
                weights[output] = 0;
            }
        }
        let (ports, first) = (ports as i32, first as i32);
        for at in 0..N as i32 {
            let number = at - first + if at < first { ports } else { 0 };
            let column = at + first - if at + first >= ports { ports } else { 0 };
            self.numbers[at as usize] = if at < ports { number } else { at };
            self.columns[at as usize] = if at < ports { column } else { at };
        }
    }

    /// Assigns a column to each row of `rows`, beginning with row `first`.
    fn solve(&mut self, rows: u64, first: usize) {
        self.row_of = [NONE; N];
        self.column_of = [NONE; N];
        self.column_price = self.numbers;
        let mut unassigned = 0;
        // Columns are free of charge at first. A row whose dearest column is free takes it, which is already the
        // whole matching if they all differ.
        for row in members_from(rows, first) {
            let nearest = self.nearest_column(row);
            self.row_price[row] = -(nearest & !TAG);
            if nearest & TAKEN == 0 {
                let column = self.column(nearest);
                self.assign(row, column);
                self.take(column);
            } else {
                unassigned |= only(row);
            }
        }
        for row in members_from(unassigned, first) {
            self.augment(row);
        }
    }

    /// The column that a tagged `distance` leads to.
    fn column(&self, distance: i32) -> usize {
        self.columns[(distance & NUMBER) as usize] as usize
    }

    /// The least of `column_price - weight` over the columns, with the tag of the column.
    fn nearest_column(&self, row: usize) -> i32 {
        let mut nearest = i32::MAX;
        for (price, weight) in self.column_price.iter().zip(&self.weights[row]) {
            nearest = nearest.min(price - weight);
        }
        nearest
    }

    fn assign(&mut self, row: usize, column: usize) {
        self.row_of[column] = row as u8;
        self.column_of[row] = column as u8;
    }

    /// Marks a column as taken. All prices are written, for all of them are read next: a processor cannot forward a
    /// narrow store to the wide load that follows it.
    fn take(&mut self, column: usize) {
        for (at, price) in self.column_price.iter_mut().enumerate() {
            *price |= if at == column { TAKEN } else { 0 };
        }
    }

    /// Dijkstra's search from the row `root` to the nearest free column; then new prices, and a column for the root.
    fn augment(&mut self, root: usize) {
        let mut search = Search { distance: [i32::MAX; N], closed: [0; N], closed_at: [0; N], reached_from: [0; N] };
        let mut closed_rows = [(0_u8, 0_i32); N];
        let mut closed_count = 0;
        let (mut row, mut level) = (root, 0);
        let free = loop {
            let nearest = search.relax(level + self.row_price[row], row, &self.column_price, &self.weights[row]);
            level = nearest & !TAG;
            let column = self.column(nearest);
            if nearest & TAKEN == 0 {
                break column;
            }
            search.close(column, level);
            closed_rows[closed_count] = (self.row_of[column], level);
            closed_count += 1;
            row = usize::from(self.row_of[column]);
        };
        self.row_price[root] -= level;
        for &(row, distance) in &closed_rows[..closed_count] {
            self.row_price[usize::from(row)] -= level - distance;
        }
        for (price, (closed, at)) in self.column_price.iter_mut().zip(search.closed.iter().zip(&search.closed_at)) {
            *price += (level - at) & closed;
        }
        self.take(free);
        self.change_partners(root, free, &search.reached_from);
    }

    /// Follows the path back from its free `column` to the `root`.
    fn change_partners(&mut self, root: usize, mut column: usize, reached_from: &[i32; N]) {
        loop {
            let row = reached_from[column] as usize;
            let former = self.column_of[row];
            self.assign(row, column);
            if row == root {
                return;
            }
            column = usize::from(former);
        }
    }
}

impl<const N: usize> Search<N> {
    /// Offers all open columns the way through `row`, whose own distance and price together are `base`; returns the
    /// least distance of an open column, with its tag: of the equals the free come first.
    fn relax(&mut self, base: i32, row: usize, column_price: &[i32; N], weights: &[i32; N]) -> i32 {
        let mut nearest = i32::MAX;
        for column in 0..N {
            let through_row = (base + column_price[column] - weights[column]) | self.closed[column];
            let nearer = through_row < self.distance[column];
            self.distance[column] = if nearer { through_row } else { self.distance[column] };
            self.reached_from[column] = if nearer { row as i32 } else { self.reached_from[column] };
            nearest = nearest.min(self.distance[column]);
        }
        nearest
    }

    /// Closes a column at this distance; whole tables are written as in [`MaximumWeight::take`].
    fn close(&mut self, column: usize, distance: i32) {
        for at in 0..N {
            let closes = at == column;
            self.distance[at] = if closes { i32::MAX } else { self.distance[at] };
            self.closed[at] = if closes { i32::MAX } else { self.closed[at] };
            self.closed_at[at] = if closes { distance } else { self.closed_at[at] };
        }
    }
}

impl<const N: usize> Scheduler for MaximumWeight<N> {
    fn schedule(&mut self, occupancy: &Occupancy, outputs: u64, rng: &mut dyn Rng, matching: &mut Matching) {
        matching.clear();
        let ports = occupancy.ports();
        if occupancy.outputs() & outputs == 0 {
            return;
        }
        let (first, shift) = (below(ports, rng), below(ports, rng));
        let rows = occupancy.inputs();
        self.read(occupancy, rows, outputs, shift);
        self.solve(rows, first);
        for row in members(rows) {
            let column = usize::from(self.column_of[row]);
            if self.weights[row][column] > 0 {
                matching.connect(row, column);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_support::{hostile_occupancy, rng};

    fn weight(occupancy: &Occupancy, matching: &Matching) -> u64 {
        matching.pairs().map(|(input, output)| capped(occupancy, input, output)).sum()
    }

    fn capped(occupancy: &Occupancy, input: usize, output: usize) -> u64 {
        u64::from(occupancy.length(input, output).min(MAX_WEIGHT))
    }

    fn schedule(occupancy: &Occupancy, outputs: u64, seed: u64) -> Matching {
        let mut matching = Matching::new(occupancy.ports());
        let mut scheduler = build(&MwmConfig {}, occupancy.ports()).unwrap();
        scheduler.schedule(occupancy, outputs, &mut rng(seed), &mut matching);
        matching
    }

    /// The best weight by trying everything: each input without a partner, or with each output that is left.
    fn brute_force(occupancy: &Occupancy, input: usize, outputs: u64) -> u64 {
        if input == occupancy.ports() {
            return 0;
        }
        let alone = brute_force(occupancy, input + 1, outputs);
        let joined = members(outputs & occupancy.all_outputs()).map(|output| {
            capped(occupancy, input, output) + brute_force(occupancy, input + 1, outputs & !only(output))
        });
        joined.max().unwrap_or(0).max(alone)
    }

    /// The best weight for each set of outputs that the inputs so far may use (ports * 2^ports steps).
    fn by_sets(occupancy: &Occupancy, outputs: u64) -> u64 {
        let ports = occupancy.ports();
        let mut best = alloc::vec![0_u64; 1 << ports];
        for input in 0..ports {
            for set in (0..best.len()).rev() {
                let joined = members(set as u64 & outputs)
                    .map(|output| capped(occupancy, input, output) + best[set & !(1 << output)]);
                best[set] = joined.chain([best[set]]).max().unwrap_or(0);
            }
        }
        best.last().copied().unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn no_matching_weighs_more_by_brute_force(occupancy in hostile_occupancy(6), outputs: u64, seed: u64) {
            let matching = schedule(&occupancy, outputs, seed);
            prop_assert_eq!(weight(&occupancy, &matching), brute_force(&occupancy, 0, outputs));
        }

        #[test]
        fn no_matching_weighs_more_by_sets_of_outputs(occupancy in hostile_occupancy(8), outputs: u64, seed: u64) {
            let matching = schedule(&occupancy, outputs, seed);
            prop_assert_eq!(weight(&occupancy, &matching), by_sets(&occupancy, outputs));
        }

        #[test]
        fn prices_prove_the_matching_best_for_any_ports(occupancy in hostile_occupancy(64), first in 0_usize..64) {
            prove::<64>(&occupancy, first)?;
        }

        #[test]
        fn prices_prove_the_matching_best_for_full_tables(occupancy in hostile_occupancy(16), first in 0_usize..16) {
            prove::<16>(&occupancy, first)?;
        }
    }

    /// Weak duality: the prices bound the weight of every matching, and this one reaches the bound.
    fn prove<const N: usize>(occupancy: &Occupancy, first: usize) -> Result<(), TestCaseError> {
        let mut solver = MaximumWeight::<N>::new();
        let rows = occupancy.inputs();
        solver.read(occupancy, rows, u64::MAX, first % occupancy.ports());
        solver.solve(rows, first % occupancy.ports());
        let (mut prices, mut weight) = (0_i64, 0_i64);
        for row in members(rows) {
            for column in 0..N {
                let slack = solver.row_price[row] + (solver.column_price[column] & !TAG) - solver.weights[row][column];
                prop_assert!(slack >= 0);
                prop_assert!(slack == 0 || usize::from(solver.column_of[row]) != column);
            }
            prop_assert!(solver.row_price[row] >= 0);
            prices += i64::from(solver.row_price[row]);
            weight += i64::from(solver.weights[row][usize::from(solver.column_of[row])]);
        }
        for column in 0..N {
            let price = solver.column_price[column] & !TAG;
            prop_assert!(price >= 0 && (price == 0 || solver.row_of[column] != NONE));
            prices += i64::from(price);
        }
        prop_assert_eq!(prices, weight);
        Ok(())
    }

    #[test]
    fn the_heavier_diagonal_wins() {
        let occupancy = Occupancy::from_lengths(2, &[5, 3, 4, 0]);
        let matching = schedule(&occupancy, u64::MAX, 1);
        assert_eq!((matching.output_of(0), matching.output_of(1)), (Some(1), Some(0)));
        let matching = schedule(&occupancy, 0b01, 1);
        assert_eq!((matching.output_of(0), matching.output_of(1)), (Some(0), None));
    }

    #[test]
    fn ties_fall_to_every_port() {
        // Two inputs for one output, and two outputs for one input: each must win its share.
        let occupancy = Occupancy::from_lengths(3, &[2, 0, 0, 2, 0, 0, 0, 2, 2]);
        let (mut first_input, mut first_output) = (0_u32, 0_u32);
        for seed in 0..3000 {
            let matching = schedule(&occupancy, u64::MAX, seed);
            first_input += u32::from(matching.output_of(0) == Some(0));
            first_output += u32::from(matching.output_of(2) == Some(1));
        }
        // The one of two neighbours that comes first from a random start among three ports wins 2/3 or 1/3.
        for wins in [first_input, first_output] {
            assert!((800..2200).contains(&wins), "{wins}");
        }
    }
}
