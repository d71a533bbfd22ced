//! An admission law that Numba compiled.

use forebay_compiled::{ARGUMENTS, FAILED, Function, Record, State};
use forebay_qdisc::{Admission, Arrival, Backlog, DropReason, FlowKey, Offer, Ticket, Time, Verdict};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, VecDeque};

use super::call::Values;
use super::fault::Place;
use super::verdict::{self, Sentence};

/// The parts of a law that the Python package has compiled.
#[derive(FromPyObject)]
pub(crate) struct Compiled {
    /// The fields of its state, each with its name and whether it is a float.
    fields: Vec<(String, bool)>,
    /// Its methods.
    functions: BTreeMap<String, Py<PyAny>>,
}

/// A subclass of `CompiledLaw` at one queue. It runs without the interpreter.
pub(super) struct CompiledLaw {
    place: Place,
    state: State,
    stream: Pcg64Mcg,
    admit: Function,
    release: Option<Function>,
    idle: Option<Function>,
    /// The words of the gauges.
    shown: Vec<(&'static str, usize)>,
    arrived: u64,
    /// The packets admitted and not yet released, if releases are reported: numbers and flows.
    waiting: VecDeque<(u64, FlowKey)>,
}

impl CompiledLaw {
    pub fn new(place: Place, object: &Bound<'_, PyAny>, compiled: &Compiled, stream: Pcg64Mcg) -> PyResult<Self> {
        let record = Record::new(compiled.fields.clone());
        let function = |name: &str| -> PyResult<Option<Function>> {
            let function = compiled.functions.get(name);
            function.map(|function| Function::new(function.bind(object.py()), &record)).transpose()
        };
        let gauge = |&name: &&'static str| {
            let word = record.field(name);
            word.map(|word| (name, word))
                .ok_or_else(|| PyValueError::new_err(format!("the gauge {name} is not a field")))
        };
        Ok(Self {
            shown: place.gauges.iter().map(gauge).collect::<PyResult<_>>()?,
            state: record.read(object)?,
            stream,
            admit: function("admit")?.ok_or_else(|| PyValueError::new_err("an admission law has a method `admit`"))?,
            release: function("release")?,
            idle: function("idle")?,
            arrived: 0,
            waiting: VecDeque::new(),
            place,
        })
    }

    #[cold]
    fn fail(&self, method: &str, at: Time, packet: Option<u64>, arrival: Option<&Arrival>, why: String) -> Verdict {
        self.place.fault(method, at, packet, arrival.map(|it| it.flow), PyRuntimeError::new_err(why));
        Verdict::Drop(DropReason::Overflow)
    }
}

const RAISED: &str = "it raised an exception: to see which, run it with `compiled = False` in its class";

impl Admission for CompiledLaw {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        let packet = self.arrived;
        self.arrived += 1;
        // The run is about to be stopped.
        if self.place.faults.any() {
            return Verdict::Drop(DropReason::Overflow);
        }
        let values = Values::new(offer.now, offer.backlog).with_arrival(packet, arrival);
        let number = self.admit.call(&mut self.state, &mut self.stream, values.signed());
        let verdict = match verdict::of(number) {
            Some(Sentence::Enqueue) => Verdict::Enqueue(Ticket::default()),
            Some(Sentence::Drop(reason)) => return Verdict::Drop(reason),
            Some(Sentence::Mark(reason)) if arrival.ecn.is_capable() => Verdict::Mark(Ticket::default(), reason),
            Some(Sentence::Mark(_)) => {
                return self.fail("admit", offer.now, Some(packet), Some(arrival), verdict::NOT_CAPABLE.to_owned());
            }
            None => {
                let why = if number == FAILED { RAISED.to_owned() } else { verdict::is_none(number) };
                return self.fail("admit", offer.now, Some(packet), Some(arrival), why);
            }
        };
        if self.release.is_some() {
            self.waiting.push_back((packet, arrival.flow));
        }
        verdict
    }

    fn release(&mut self, _ticket: Ticket, len_bytes: u32, backlog: Backlog, now: Time) {
        let Some(release) = &self.release else { return };
        let Some((packet, flow)) = self.waiting.pop_front() else { return };
        if self.place.faults.any() {
            return;
        }
        let values = Values::new(now, backlog).with_departure(packet, flow, len_bytes);
        if release.call(&mut self.state, &mut self.stream, values.signed()) == FAILED {
            self.fail("release", now, Some(packet), None, RAISED.to_owned());
        }
    }

    fn watches_departures(&self) -> bool {
        self.release.is_some()
    }

    fn idle(&mut self, since: Time) {
        let Some(idle) = self.idle.as_ref().filter(|_| !self.place.faults.any()) else { return };
        let values = Values::new(since, Backlog::default());
        if idle.call(&mut self.state, &mut self.stream, values.signed()) == FAILED {
            self.fail("idle", since, None, None, RAISED.to_owned());
        }
    }

    fn state_bytes(&self) -> u64 {
        self.state.bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        for &(name, word) in &self.shown {
            if let Some(value) = self.state.value(word) {
                visit(name, value);
            }
        }
    }
}

const _: () = assert!(ARGUMENTS == super::call::ARGUMENTS);
