//! Models of loss: independent or correlated, Gilbert and Elliott's, and the chain of four states of netem.
//!
//! E. N. Gilbert, "Capacity of a burst-noise channel", 1960; E. O. Elliott, "Estimates of error rates for codes on
//! burst-noise channels", 1963. Four states: S. Salsano, F. Ludovici, A. Ordine and D. Giannuzzi, "Definition of a
//! general and intuitive loss model for packet networks and its implementation in the Netem module", 2012.

use forebay_qdisc::{Rng, uniform};

use super::correlated::Correlated;
use crate::spec::LossModel;

/// A loss model at work. Every chain begins in its good state.
#[derive(Clone, Debug)]
pub(super) enum Loss {
    Random { probability: f64, draws: Correlated },
    GilbertElliott { to_bad: f64, to_good: f64, loss_in_bad: f64, loss_in_good: f64, is_bad: bool },
    FourState { p13: f64, p31: f64, p32: f64, p23: f64, p14: f64, state: State },
}

/// A state of the chain of four.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Good,
    ReceivedInBurst,
    LostInBurst,
    LostAlone,
}

impl Loss {
    pub fn new(model: LossModel, rng: &mut dyn Rng) -> Self {
        match model {
            LossModel::Random { probability, correlation } => {
                Self::Random { probability, draws: Correlated::new(correlation, rng) }
            }
            LossModel::GilbertElliott { to_bad, to_good, loss_in_bad, loss_in_good } => {
                Self::GilbertElliott { to_bad, to_good, loss_in_bad, loss_in_good, is_bad: false }
            }
            LossModel::FourState { p13, p31, p32, p23, p14 } => {
                Self::FourState { p13, p31, p32, p23, p14, state: State::Good }
            }
        }
    }

    /// Whether the next packet is lost.
    pub fn loses(&mut self, rng: &mut dyn Rng) -> bool {
        match self {
            Self::Random { probability, draws } => draws.happens(*probability, rng),
            Self::GilbertElliott { to_bad, to_good, loss_in_bad, loss_in_good, is_bad } => {
                let (moves, loss) = if *is_bad { (*to_good, *loss_in_bad) } else { (*to_bad, *loss_in_good) };
                *is_bad ^= uniform(rng) < moves;
                uniform(rng) < loss
            }
            Self::FourState { p13, p31, p32, p23, p14, state } => {
                let draw = uniform(rng);
                *state = match *state {
                    State::Good if draw < *p14 => State::LostAlone,
                    State::Good if draw < *p14 + *p13 => State::LostInBurst,
                    State::Good | State::LostAlone => State::Good,
                    State::LostInBurst if draw < *p32 => State::ReceivedInBurst,
                    State::LostInBurst if draw < *p32 + *p31 => State::Good,
                    State::LostInBurst => State::LostInBurst,
                    State::ReceivedInBurst if draw < *p23 => State::LostInBurst,
                    State::ReceivedInBurst => State::ReceivedInBurst,
                };
                matches!(state, State::LostInBurst | State::LostAlone)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_records::random::stream;

    use super::*;

    /// The share of lost packets, and the mean number lost in a row.
    fn losses(model: LossModel, packets: u32) -> (f64, f64) {
        let mut rng = stream(1, "loss");
        let mut loss = Loss::new(model, &mut rng);
        let (mut lost, mut bursts, mut was_lost) = (0, 0, false);
        for _ in 0..packets {
            let is_lost = loss.loses(&mut rng);
            lost += u32::from(is_lost);
            bursts += u32::from(is_lost && !was_lost);
            was_lost = is_lost;
        }
        (f64::from(lost) / f64::from(packets), f64::from(lost) / f64::from(bursts))
    }

    fn assert_close(value: f64, expected: f64, tolerance: f64) {
        assert!((value / expected - 1.0).abs() < tolerance, "{value} instead of {expected}");
    }

    #[test]
    fn gilbert_and_elliotts_losses_and_bursts_are_those_of_the_closed_form() {
        // loss = ((1 - k) r + (1 - h) p) / (p + r); with h = 0 and k = 1 a burst has 1 / r packets.
        for (p, r, bad, good) in [(0.01, 0.25, 1.0, 0.0), (0.02, 0.1, 0.5, 0.01), (0.3, 0.4, 0.9, 0.1)] {
            let model = LossModel::GilbertElliott { to_bad: p, to_good: r, loss_in_bad: bad, loss_in_good: good };
            let (share, burst) = losses(model, 2_000_000);
            assert_close(share, (good * r + bad * p) / (p + r), 0.02);
            if (bad, good) == (1.0, 0.0) {
                assert_close(share, 0.038_46, 0.02);
                assert_close(burst, 4.0, 0.02);
            }
        }
    }

    #[test]
    fn the_losses_of_the_four_states_are_those_of_the_closed_form() {
        for (p13, p31, p32, p23, p14) in
            [(0.01, 0.3, 0.2, 0.5, 0.002), (0.05, 0.1, 0.4, 0.2, 0.0), (0.0, 0.5, 0.1, 0.5, 0.03)]
        {
            let (share, burst) = losses(LossModel::FourState { p13, p31, p32, p23, p14 }, 2_000_000);
            let expected = (p13 / p31 + p14) / (1.0 + p14 + p13 / p31 + p13 * p32 / (p31 * p23));
            assert_close(share, expected, 0.02);
            if p13 == 0.0 {
                assert_close(burst, 1.0, 1e-9);
            }
        }
        let (share, _) =
            losses(LossModel::FourState { p13: 0.01, p31: 0.3, p32: 0.2, p23: 0.5, p14: 0.002 }, 2_000_000);
        assert_close(share, 0.033_69, 0.02);
    }

    #[test]
    fn correlated_losses_come_in_bursts_and_are_rarer() {
        let independent = losses(LossModel::Random { probability: 0.1, correlation: 0.0 }, 1_000_000);
        assert_close(independent.0, 0.1, 0.02);
        assert_close(independent.1, 1.0 / 0.9, 0.02);
        // The weighted sum of uniform numbers is seldom near zero: the known flaw of netem's correlation.
        let correlated = losses(LossModel::Random { probability: 0.1, correlation: 0.5 }, 1_000_000);
        assert!(correlated.0 < 0.01 && correlated.1 > 1.05, "{correlated:?}");
    }
}
