//! How traffic is spread over the pairs of an input and an output.

use alloc::vec::Vec;
use core::fmt;

use crate::MAX_PORTS;

/// Sums of loads within this of 1 count as 1: they are sums of rounded fractions.
const TOLERANCE: f64 = 1e-9;

/// Distribution of the traffic of each input over the outputs.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum LoadPattern {
    /// Every output gets the same share of each input.
    #[default]
    Uniform,
    /// Output i + 1 gets two thirds of input i, output i + 2 one third, modulo the number of ports. One of the
    /// admissible loads that are hardest to schedule: only two matchings keep all ports busy (tiny buffers, section
    /// 3.3.1).
    Diagonal,
    /// One output gets more than its share of each input.
    HotSpot(HotSpot),
    /// The load of each input (row) to each output (column), in units of the line rate. It is multiplied by the `load`,
    /// if one is given.
    Matrix(Vec<Vec<f64>>),
}

forebay_units::configuration! {
    /// One output that gets more than its share.
    pub struct HotSpot {
        /// The hot output, counted from 1. Default: 1.
        pub output: u32 = 1;
        /// Fraction of each input's traffic that goes to it; the rest is distributed evenly over the others. Default:
        /// 0.5.
        pub fraction: f64 = 0.5;
    }
}

impl LoadPattern {
    /// The matrix for this many `ports` when each input is loaded with `load` of its line rate.
    ///
    /// # Errors
    /// When it is not a matrix of this many ports, or has something that is no load. It may be overloaded: see
    /// [`LoadMatrix::check_admissible`].
    pub fn matrix(&self, ports: usize, load: f64) -> Result<LoadMatrix, LoadError> {
        let fill = |rate: &dyn Fn(usize, usize) -> f64| {
            let pairs = (0..ports * ports).map(|pair| load * rate(pair / ports, pair % ports));
            LoadMatrix::new(ports, pairs.collect())
        };
        if !(1..=MAX_PORTS).contains(&ports) {
            return Err(LoadError::Ports { ports });
        }
        match self {
            Self::Uniform => fill(&|_, _| 1.0 / ports as f64),
            Self::Diagonal => fill(&|input, output| {
                let share = |ahead: usize, share: f64| if (input + ahead) % ports == output { share } else { 0.0 };
                share(1, 2.0 / 3.0) + share(2, 1.0 / 3.0)
            }),
            Self::HotSpot(HotSpot { output: hot, fraction }) => {
                if !(1..=ports as u32).contains(hot) || !(0.0..=1.0).contains(fraction) {
                    return Err(LoadError::HotSpot { ports });
                }
                let hot = *hot as usize - 1;
                let others = (ports - 1) as f64;
                fill(&|_, output| if output == hot { *fraction } else { (1.0 - fraction) / others })
            }
            Self::Matrix(rows) => {
                if rows.len() != ports {
                    return Err(LoadError::Rows { rows: rows.len(), ports });
                }
                if let Some(input) = rows.iter().position(|row| row.len() != ports) {
                    return Err(LoadError::Columns { input, columns: rows[input].len(), ports });
                }
                fill(&|input, output| rows[input][output])
            }
        }
    }
}

/// The load of each pair of an input and an output, in units of the line rate.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadMatrix {
    ports: usize,
    /// The load of a pair, at `input * ports + output`.
    loads: Vec<f64>,
}

impl LoadMatrix {
    fn new(ports: usize, loads: Vec<f64>) -> Result<Self, LoadError> {
        match loads.iter().position(|load| !(load.is_finite() && *load >= 0.0)) {
            Some(pair) => Err(LoadError::NotALoad { input: pair / ports, output: pair % ports }),
            None => Ok(Self { ports, loads }),
        }
    }

    /// The number of ports on each side of the switch.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// Load of `input` for `output`.
    #[must_use]
    pub fn load(&self, input: usize, output: usize) -> f64 {
        self.loads_of_input(input)[output]
    }

    /// Loads of `input` for each output.
    #[must_use]
    pub fn loads_of_input(&self, input: usize) -> &[f64] {
        &self.loads[input * self.ports..][..self.ports]
    }

    /// Load of `input` for all outputs together.
    #[must_use]
    pub fn input_load(&self, input: usize) -> f64 {
        self.loads_of_input(input).iter().sum()
    }

    /// Load of all inputs together for `output`.
    #[must_use]
    pub fn output_load(&self, output: usize) -> f64 {
        (0..self.ports).map(|input| self.load(input, output)).sum()
    }

    /// Checks that no input and no output has more than its line can carry.
    ///
    /// # Errors
    /// The first input (row) or output (column) whose loads are together more than 1.
    pub fn check_admissible(&self) -> Result<(), LoadError> {
        let overloaded = |load: f64| load > 1.0 + TOLERANCE;
        for input in 0..self.ports {
            let load = self.input_load(input);
            if overloaded(load) {
                return Err(LoadError::InputOverload { input, load });
            }
        }
        for output in 0..self.ports {
            let load = self.output_load(output);
            if overloaded(load) {
                return Err(LoadError::OutputOverload { output, load });
            }
        }
        Ok(())
    }
}

/// Why a load is refused; its `Display` is one sentence, in which ports are counted from 1; here they are counted from
/// 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadError {
    /// A switch does not have this many ports.
    Ports {
        /// As many as were asked for.
        ports: usize,
    },
    /// The matrix has not one row for each input.
    Rows {
        /// Its rows.
        rows: usize,
        /// The switch's ports.
        ports: usize,
    },
    /// A row of the matrix has not one column for each output.
    Columns {
        /// The row.
        input: usize,
        /// Its columns.
        columns: usize,
        /// The switch's ports.
        ports: usize,
    },
    /// The hot output is no port of the switch, or its fraction is none.
    HotSpot {
        /// The switch's ports.
        ports: usize,
    },
    /// A load is negative or not finite.
    NotALoad {
        /// Its row.
        input: usize,
        /// Its column.
        output: usize,
    },
    /// An input is to send more than its line carries.
    InputOverload {
        /// The row.
        input: usize,
        /// The sum of its loads.
        load: f64,
    },
    /// An output is to receive more than its line carries.
    OutputOverload {
        /// The column.
        output: usize,
        /// The sum of its loads.
        load: f64,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ports { ports } => write!(f, "a switch has 1 to {MAX_PORTS} ports, not {ports}"),
            Self::Rows { rows, ports } => write!(f, "the load matrix has {rows} rows for {ports} ports"),
            Self::Columns { input, columns, ports } => {
                write!(f, "row {} of the load matrix has {columns} columns for {ports} ports", input + 1)
            }
            Self::HotSpot { ports } => {
                write!(f, "a hot spot is an output from 1 to {ports} with a fraction between 0 and 1")
            }
            Self::NotALoad { input, output } => {
                write!(
                    f,
                    "row {}, column {} of the load matrix must be a number that is not negative",
                    input + 1,
                    output + 1
                )
            }
            Self::InputOverload { input, load } => {
                write!(f, "input {} is overloaded: it would send {load:.4} of its line rate", input + 1)
            }
            Self::OutputOverload { output, load } => {
                write!(f, "output {} is overloaded: it would receive {load:.4} of its line rate", output + 1)
            }
        }
    }
}

impl core::error::Error for LoadError {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn matrix(pattern: &LoadPattern, ports: usize) -> LoadMatrix {
        pattern.matrix(ports, 1.0).unwrap()
    }

    #[test]
    fn every_pattern_is_admissible_at_full_load_but_the_hot_spot() {
        for ports in 1..=64 {
            for pattern in [LoadPattern::Uniform, LoadPattern::Diagonal] {
                let matrix = matrix(&pattern, ports);
                assert_eq!(matrix.check_admissible(), Ok(()), "{ports} {pattern:?}");
                for port in 0..ports {
                    assert!((matrix.input_load(port) - 1.0).abs() < TOLERANCE);
                    assert!((matrix.output_load(port) - 1.0).abs() < TOLERANCE);
                }
            }
        }
        let hot = LoadPattern::HotSpot(HotSpot { output: 3, fraction: 0.5 });
        assert_eq!(hot.matrix(4, 0.5).unwrap().check_admissible(), Ok(()));
        let error = matrix(&hot, 4).check_admissible().unwrap_err();
        assert_eq!(error.to_string(), "output 3 is overloaded: it would receive 2.0000 of its line rate");
    }

    #[test]
    fn the_diagonal_is_two_thirds_and_one_third() {
        let matrix = LoadPattern::Diagonal.matrix(8, 0.9).unwrap();
        assert!((matrix.load(7, 0) - 0.6).abs() < TOLERANCE && (matrix.load(7, 1) - 0.3).abs() < TOLERANCE);
        assert_eq!((matrix.load(7, 2), matrix.load(7, 7)), (0.0, 0.0));
    }

    #[test]
    fn errors_name_the_row() {
        let error = |rows: &[&[f64]]| {
            let pattern = LoadPattern::Matrix(rows.iter().map(|row| row.to_vec()).collect());
            let matrix = pattern.matrix(2, 1.0);
            matrix.and_then(|matrix| matrix.check_admissible()).unwrap_err().to_string()
        };
        assert_eq!(error(&[&[0.5, 0.5]]), "the load matrix has 1 rows for 2 ports");
        assert_eq!(error(&[&[0.5, 0.5], &[1.0]]), "row 2 of the load matrix has 1 columns for 2 ports");
        assert_eq!(
            error(&[&[0.5, 0.25], &[0.75, 0.5]]),
            "input 2 is overloaded: it would send 1.2500 of its line rate"
        );
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            let message = "row 1, column 2 of the load matrix must be a number that is not negative";
            assert_eq!(error(&[&[0.5, bad], &[0.0, 0.0]]), message);
        }
        let hot = LoadPattern::HotSpot(HotSpot { output: 9, fraction: 0.5 });
        assert_eq!(hot.matrix(8, 1.0), Err(LoadError::HotSpot { ports: 8 }));
        for ports in [0, 65] {
            assert_eq!(LoadPattern::Uniform.matrix(ports, 1.0), Err(LoadError::Ports { ports }));
        }
        assert_eq!(LoadPattern::Uniform.matrix(2, -1.0), Err(LoadError::NotALoad { input: 0, output: 0 }));
    }
    #[test]
    fn a_hot_spot_takes_its_fraction_and_leaves_the_others_equal_parts() {
        let hot_spot = |output, fraction| LoadPattern::HotSpot(HotSpot { output, fraction });
        let loads = matrix(&hot_spot(2, 0.4), 4);
        for input in 0..4 {
            for (output, expected) in [0.2, 0.4, 0.2, 0.2].into_iter().enumerate() {
                assert!((loads.load(input, output) - expected).abs() < 1e-12, "{input} to {output}");
            }
        }
        assert_eq!(loads.ports(), 4);
        assert_eq!(matrix(&hot_spot(1, 1.0), 1).load(0, 0), 1.0);
        assert_eq!(matrix(&hot_spot(1, 0.25), 2).loads_of_input(1), [0.25, 0.75]);
        for (output, fraction) in [(0, 0.5), (5, 0.5), (1, -0.01), (1, 1.01)] {
            let expected = Err(LoadError::HotSpot { ports: 4 });
            assert_eq!(hot_spot(output, fraction).matrix(4, 1.0), expected, "{output} {fraction}");
        }
        for (output, fraction) in [(1, 0.0), (4, 1.0)] {
            assert!(hot_spot(output, fraction).matrix(4, 1.0).is_ok(), "{output} {fraction}");
        }
    }

    #[test]
    fn an_overload_is_found_at_the_first_port_too() {
        let check = |rows: [[f64; 2]; 2]| {
            let rows = rows.iter().map(|row| row.to_vec()).collect();
            LoadPattern::Matrix(rows).matrix(2, 1.0).unwrap().check_admissible()
        };
        assert_eq!(check([[0.5, 0.5], [0.5, 0.5]]), Ok(()));
        assert!(matches!(check([[0.55, 0.5], [0.0, 0.0]]), Err(LoadError::InputOverload { input: 0, .. })));
        assert!(matches!(check([[0.55, 0.0], [0.5, 0.0]]), Err(LoadError::OutputOverload { output: 0, .. })));
    }
}
