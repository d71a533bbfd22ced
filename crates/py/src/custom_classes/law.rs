//! An admission law written in Python.

use std::cell::Cell;
use std::collections::VecDeque;

use forebay_qdisc::{Admission, Arrival, Backlog, DropReason, FlowKey, Offer, Ticket, Time, Verdict};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::call::{Method, Values};
use super::fault::Place;
use super::verdict::{self, Sentence};

/// A subclass of `AdmissionLaw` at one queue.
pub(super) struct PythonLaw {
    place: Place,
    object: Py<PyAny>,
    admit: Method,
    release: Option<Method>,
    idle: Option<Method>,
    state_bytes: Option<Method>,
    arrived: u64,
    /// The packets admitted and not yet released, if releases are reported.
    waiting: VecDeque<(u64, FlowKey)>,
    last: Cell<Time>,
}

impl PythonLaw {
    pub fn new(place: Place, object: Py<PyAny>, method: &dyn Fn(&str) -> PyResult<Option<Method>>) -> PyResult<Self> {
        Ok(Self {
            place,
            object,
            admit: method("admit")?.ok_or_else(|| PyValueError::new_err("an admission law has a method `admit`"))?,
            release: method("release")?,
            idle: method("idle")?,
            state_bytes: method("state_bytes")?,
            arrived: 0,
            waiting: VecDeque::new(),
            last: Cell::new(Time::ZERO),
        })
    }

    /// Python's verdict on an arrival.
    fn sentence(&self, values: &Values, arrival: &Arrival) -> PyResult<Sentence> {
        Python::attach(|py| {
            let sentence = verdict::returned(&self.admit.call(py, values)?)?;
            match sentence {
                Sentence::Mark(_) if !arrival.ecn.is_capable() => Err(PyValueError::new_err(verdict::NOT_CAPABLE)),
                sentence => Ok(sentence),
            }
        })
    }
}

impl Admission for PythonLaw {
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        let packet = self.arrived;
        self.arrived += 1;
        self.last.set(offer.now);
        // The run is about to be stopped.
        if self.place.faults.any() {
            return Verdict::Drop(DropReason::Overflow);
        }
        let values = Values::new(offer.now, offer.backlog).with_arrival(packet, arrival);
        let verdict = match self.sentence(&values, arrival) {
            Ok(Sentence::Enqueue) => Verdict::Enqueue(Ticket::default()),
            Ok(Sentence::Mark(reason)) => Verdict::Mark(Ticket::default(), reason),
            Ok(Sentence::Drop(reason)) => return Verdict::Drop(reason),
            Err(error) => {
                self.place.fault("admit", offer.now, Some(packet), Some(arrival.flow), error);
                return Verdict::Drop(DropReason::Overflow);
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
        if let Err(error) = Python::attach(|py| release.call(py, &values).map(drop)) {
            self.place.fault("release", now, Some(packet), Some(flow), error);
        }
    }

    fn watches_departures(&self) -> bool {
        self.release.is_some()
    }

    fn idle(&mut self, since: Time) {
        let Some(idle) = self.idle.as_ref().filter(|_| !self.place.faults.any()) else { return };
        let values = Values::new(since, Backlog::default());
        if let Err(error) = Python::attach(|py| idle.call(py, &values).map(drop)) {
            self.place.fault("idle", since, None, None, error);
        }
    }

    fn state_bytes(&self) -> u64 {
        self.place.state_bytes(self.state_bytes.as_ref(), self.last.get())
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.place.show(&self.object, self.last.get(), visit);
    }
}
