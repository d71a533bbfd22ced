//! The fault of a custom class, with its place: packet or ACK, flow and time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forebay_qdisc::{Backlog, FlowKey, Time};
use forebay_scenario::schema::ScenarioSpec;
use forebay_scenario::{Application, names};
use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::call::{Method, Values};

create_exception!(
    forebay._core,
    DisciplineError,
    PyRuntimeError,
    "A discipline written in Python failed, and its run was stopped. The message names class, queue, packet, flow and \
     time; the exception that it raised is the cause. `queue`, `packet` (its number at this queue, from 0), `flow` and \
     `time_s` are attributes; None where the call was about no packet."
);

create_exception!(
    forebay._core,
    ControllerError,
    PyRuntimeError,
    "A congestion controller written in Python failed, and its run was stopped. The message names class, flow, ACK and \
     time; the exception that it raised is the cause. `flow`, `acknowledged` (the first byte that is not yet \
     acknowledged) and `time_s` are attributes; `acknowledged` is None where the call was about no ACK."
);

/// The first fault of a run.
#[derive(Debug)]
pub(super) struct Fault {
    /// Class and method.
    pub method: String,
    pub at: Time,
    pub about: About,
    pub cause: PyErr,
}

/// The place of a fault.
#[derive(Debug)]
pub(super) enum About {
    /// A discipline at a queue.
    Queue { queue: String, packet: Option<u64>, flow: Option<FlowKey> },
    /// A controller at a connection.
    Connection { flow: String, acknowledged: Option<u64> },
}

/// Keeps the first fault of a run.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<Option<Fault>>);

impl Faults {
    pub fn note(&self, fault: Fault) {
        self.lock().get_or_insert(fault);
    }

    pub fn any(&self) -> bool {
        self.lock().is_some()
    }

    pub fn take(&self) -> Option<Fault> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Fault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place at which a custom discipline decides, and what it shows.
pub(super) struct Place {
    pub faults: Arc<Faults>,
    pub class: String,
    pub queue: String,
    pub gauges: Vec<&'static str>,
}

impl Place {
    pub fn fault(&self, method: &str, at: Time, packet: Option<u64>, flow: Option<FlowKey>, cause: PyErr) {
        let method = format!("{}.{method}", self.class);
        let about = About::Queue { queue: self.queue.clone(), packet, flow };
        self.faults.note(Fault { method, at, about, cause });
    }

    /// The custom discipline's memory according to `method`; nothing if it returns none.
    pub fn state_bytes(&self, method: Option<&Method>, at: Time) -> u64 {
        let Some(method) = method.filter(|_| !self.faults.any()) else { return 0 };
        let said = Python::attach(|py| method.call(py, &Values::new(at, Backlog::default()))?.extract::<u64>());
        said.unwrap_or_else(|error| {
            self.fault("state_bytes", at, None, None, error);
            0
        })
    }

    /// Shows the attributes of `custom` that are gauges.
    pub fn show(&self, custom: &Py<PyAny>, at: Time, visit: &mut dyn FnMut(&'static str, f64)) {
        if self.gauges.is_empty() || self.faults.any() {
            return;
        }
        Python::attach(|py| {
            for &name in &self.gauges {
                match custom.bind(py).getattr(name).and_then(|value| value.extract::<f64>()) {
                    Ok(value) => visit(name, value),
                    Err(error) => self.fault(name, at, None, None, error),
                }
            }
        });
    }
}

impl Fault {
    pub fn into_error(self, py: Python<'_>, scenario: &ScenarioSpec, seed: u64) -> PyErr {
        let Self { method, at, about, cause } = self;
        let time_s = at.since(Time::ZERO).seconds();
        let raised = cause.value(py).str().map(|text| text.to_string()).unwrap_or_default();
        let kind = cause.get_type(py).name().map_or_else(|_| String::new(), |it| it.to_string());
        let place = place_of(py, &cause).map_or_else(String::new, |place| format!("\n{place}"));
        let message = |place_in_run: &str, moment: &str| {
            format!("{method} in {place_in_run} failed: {kind}: {raised}\n{moment}at {time_s} s{place}")
        };
        let error = match about {
            About::Queue { queue, packet, flow } => {
                let flow = flow.map(|key| flow_name(scenario, seed, key));
                let of_flow = flow.as_ref().map_or_else(String::new, |flow| format!(" of flow {flow}"));
                let moment = packet.map_or_else(String::new, |packet| format!("packet {packet}{of_flow}, "));
                let error = DisciplineError::new_err(message(&format!("queue {queue}"), &moment));
                set(py, &error, "queue", &queue)
                    .and_then(|()| set(py, &error, "packet", packet))
                    .map(|()| (error, flow))
            }
            About::Connection { flow, acknowledged } => {
                let moment = acknowledged.map_or_else(String::new, |number| format!("ACK {number}, "));
                let error = ControllerError::new_err(message(&format!("flow {flow}"), &moment));
                set(py, &error, "acknowledged", acknowledged).map(|()| (error, Some(flow)))
            }
        };
        let told = error.and_then(|(error, flow)| {
            set(py, &error, "flow", flow)?;
            set(py, &error, "time_s", time_s)?;
            error.set_cause(py, Some(cause));
            Ok(error)
        });
        told.unwrap_or_else(|fault| fault)
    }
}

fn set<'py>(py: Python<'py>, error: &PyErr, name: &str, value: impl IntoPyObject<'py>) -> PyResult<()> {
    error.value(py).setattr(name, value)
}

/// The line that raised an exception: `file "laws.py", line 12`.
fn place_of(py: Python<'_>, error: &PyErr) -> Option<String> {
    let mut last = error.traceback(py)?.into_any();
    while let Ok(next) = last.getattr("tb_next")
        && !next.is_none()
    {
        last = next;
    }
    let line = last.getattr("tb_lineno").ok()?;
    let file = last.getattr("tb_frame").ok()?.getattr("f_code").ok()?.getattr("co_filename").ok()?;
    Some(format!("file \"{file}\", line {line}"))
}

/// The name of a flow as the results have it. Each flow has one number for its data and one for its ACKs; a
/// conversation is the flows of its responses, then those of its requests.
fn flow_name(scenario: &ScenarioSpec, seed: u64, key: FlowKey) -> String {
    // Above these bits is the generation of a connection.
    let (mut number, is_ack) = (u64::from(key.0 as u32 >> 1), key.0 & 1 == 1);
    let of = if is_ack { " (its ACKs)" } else { "" };
    for group in &scenario.flows {
        let each = u64::from(group.flows_each());
        let flows = names::flows_of(scenario, group, seed);
        if let Some(name) = flows.get((number / each) as usize) {
            let has_requests = each > 1 && !matches!(group.app, Application::Transfers(_));
            let is_request = has_requests && number % each >= each / 2;
            let request = if is_request { "/request" } else { "" };
            return format!("{name}{request}{of}");
        }
        number -= each * flows.len() as u64;
    }
    format!("number {}", key.0)
}
