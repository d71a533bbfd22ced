//! The common part of the two base classes of Python: random stream, link rate, salt, and orders about packets.

use std::sync::{Mutex, MutexGuard, PoisonError};

use forebay_qdisc::{Order, Rng, uniform};
use forebay_scenario::Site;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use rand_pcg::Pcg64Mcg;

use super::verdict;

struct State {
    stream: Pcg64Mcg,
    link_rate_bps: u64,
    salt: u64,
    orders: Vec<Order>,
}

/// A part of a scenario that is written in Python: the base of `AdmissionLaw` and of `QueueDiscipline`.
#[pyclass(subclass, frozen, module = "forebay._core")]
pub(crate) struct Component(Mutex<State>);

impl Component {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells it where it decides.
    pub(super) fn settle(&self, site: Site<'_>) {
        let mut state = self.state();
        state.stream = site.stream();
        state.link_rate_bps = site.link_rate.bits_per_second();
        state.salt = site.salt;
    }

    /// Moves the orders that a call gave to `orders`.
    pub(super) fn hand_over(&self, orders: &mut Vec<Order>) {
        orders.append(&mut self.state().orders);
    }
}

#[pymethods]
impl Component {
    #[new]
    #[pyo3(signature = (*_arguments, **_parameters))]
    fn new(_arguments: &Bound<'_, PyTuple>, _parameters: Option<&Bound<'_, PyDict>>) -> Self {
        // Outside a run, for tests of a single class.
        let state = State {
            stream: forebay_records::random::stream(0, "outside a run"),
            link_rate_bps: 0,
            salt: 0,
            orders: Vec::new(),
        };
        Self(Mutex::new(state))
    }

    /// The next number of this component's own random stream: uniform in [0, 1), with 53 bits. The seed of the run and
    /// the place of the queue decide all of them.
    fn random(&self) -> f64 {
        uniform(&mut self.state().stream)
    }

    /// The next 64 bits of this component's own random stream, as a number.
    fn random_bits(&self) -> u64 {
        self.state().stream.next_u64()
    }

    /// The rate of the link behind the queue in bits per second; within class-based queueing that of the class. Zero
    /// outside a run.
    #[getter]
    fn link_rate_bps(&self) -> u64 {
        self.state().link_rate_bps
    }

    /// A number that separates the flow hashes of this queue from those of others under the same seed. Zero outside a
    /// run.
    #[getter]
    fn salt(&self) -> u64 {
        self.state().salt
    }

    /// Notes an order about a packet, to be carried out after the call.
    fn _order(&self, packet: i64, verdict: i64) -> PyResult<()> {
        let number = u64::try_from(packet).unwrap_or(u64::MAX);
        let order = match verdict::of(verdict) {
            Some(verdict::Sentence::Drop(reason)) => Order::Drop(number, reason),
            Some(verdict::Sentence::Mark(reason)) => Order::Mark(number, reason),
            Some(verdict::Sentence::Enqueue) | None => {
                return Err(PyValueError::new_err(format!("{verdict} is neither a drop nor a mark")));
            }
        };
        self.state().orders.push(order);
        Ok(())
    }
}
