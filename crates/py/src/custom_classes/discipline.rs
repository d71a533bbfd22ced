//! A discipline written in Python.

use std::cell::Cell;

use forebay_qdisc::{Arrival, Backlog, CustomFault, FlowKey, Moment, NumberedDiscipline, Order, Served, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::call::{Method, Values};
use super::component::Component;
use super::fault::Place;

/// A subclass of `QueueDiscipline` at one queue.
pub(super) struct PythonDiscipline {
    place: Place,
    object: Py<PyAny>,
    enqueue: Method,
    dequeue: Method,
    poll_at: Option<Method>,
    state_bytes: Option<Method>,
    /// The method called last.
    method: &'static str,
    last: Cell<Time>,
}

impl PythonDiscipline {
    pub fn new(place: Place, object: Py<PyAny>, method: &dyn Fn(&str) -> PyResult<Option<Method>>) -> PyResult<Self> {
        let needed = |name: &str| {
            method(name)?.ok_or_else(|| PyValueError::new_err(format!("a queue discipline has a method `{name}`")))
        };
        Ok(Self {
            place,
            object,
            enqueue: needed("enqueue")?,
            dequeue: needed("dequeue")?,
            poll_at: method("poll_at")?,
            state_bytes: method("state_bytes")?,
            method: "enqueue",
            last: Cell::new(Time::ZERO),
        })
    }

    fn hand_over(&self, py: Python<'_>, orders: &mut Vec<Order>) -> PyResult<()> {
        self.object.bind(py).cast::<Component>()?.get().hand_over(orders);
        Ok(())
    }

    /// The answer if packets wait and none may go now.
    fn held(&self, py: Python<'_>, values: &Values, now: Time) -> PyResult<Served<u64>> {
        let Some(poll_at) = &self.poll_at else { return Ok(Served::Idle) };
        let at = poll_at.call(py, values)?.extract::<Option<u64>>()?.map(Time::from_picoseconds);
        match at {
            Some(at) if at <= now => Err(PyValueError::new_err(format!(
                "poll_at returned {} ps, which is not after now, {} ps",
                at.picoseconds(),
                now.picoseconds()
            ))),
            at => Ok(at.map_or(Served::Idle, Served::PollAt)),
        }
    }
}

impl NumberedDiscipline for PythonDiscipline {
    fn enqueue(&mut self, number: u64, arrival: &Arrival, moment: Moment, orders: &mut Vec<Order>) {
        self.method = "enqueue";
        self.last.set(moment.now);
        let values = Values::new(moment.now, moment.backlog).with_arrival(number, arrival);
        let called = Python::attach(|py| {
            self.enqueue.call(py, &values)?;
            self.hand_over(py, orders)
        });
        if let Err(error) = called {
            self.place.fault("enqueue", moment.now, Some(number), Some(arrival.flow), error);
        }
    }

    fn dequeue(&mut self, moment: Moment, orders: &mut Vec<Order>) -> Served<u64> {
        self.method = "dequeue";
        self.last.set(moment.now);
        if moment.backlog == Backlog::default() {
            return Served::Idle;
        }
        let values = Values::new(moment.now, moment.backlog);
        let called = Python::attach(|py| {
            let next = self.dequeue.call(py, &values)?;
            self.hand_over(py, orders)?;
            if next.is_none() {
                return self.held(py, &values, moment.now);
            }
            // A negative number is that of no packet, like one too large.
            let number: i64 = next.extract()?;
            Ok(Served::Packet(u64::try_from(number).unwrap_or(u64::MAX)))
        });
        called.unwrap_or_else(|error| {
            self.place.fault("dequeue", moment.now, None, None, error);
            Served::Idle
        })
    }

    fn refused(&mut self, number: u64, flow: Option<FlowKey>, now: Time, fault: CustomFault) {
        self.place.fault(self.method, now, Some(number), flow, PyValueError::new_err(fault.to_string()));
    }

    fn has_failed(&self) -> bool {
        self.place.faults.any()
    }

    fn state_bytes(&self) -> u64 {
        self.place.state_bytes(self.state_bytes.as_ref(), self.last.get())
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.place.show(&self.object, self.last.get(), visit);
    }
}
