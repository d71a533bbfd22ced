//! Congestion controllers written in Python.

use std::collections::BTreeMap;
use std::sync::Arc;

use forebay_tcp::{
    AckSample, CongestionSample, Control, Controller, ControllerMaker, Delivery, Needs, Pacing, Phase, Span, Time,
};
use forebay_units::PythonClass;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use super::connection::Connection;
use super::fault::{About, Fault, Faults};
use super::keywords;

/// A class of controllers, as the Python package has looked into it.
#[derive(FromPyObject)]
pub(crate) struct ControllerPlan {
    controller: Py<PyType>,
    /// The arguments that each method asks for, of those that the class has.
    methods: BTreeMap<String, Vec<String>>,
    /// Names of groups of measurements.
    needs: Vec<String>,
    is_paced: bool,
}

/// A class of controllers in a run.
#[derive(Debug)]
struct ControllerClass {
    class: PythonClass,
    controller: Py<PyType>,
    methods: BTreeMap<String, Vec<String>>,
    needs: Needs,
    pacing: Option<Pacing>,
    faults: Arc<Faults>,
}

/// Makes the controllers of one class and its parameters.
#[derive(Debug)]
pub(super) struct PythonControllers(Arc<ControllerClass>);

impl PythonControllers {
    pub fn new(py: Python<'_>, plan: &ControllerPlan, class: &PythonClass, faults: &Arc<Faults>) -> Self {
        let needs = |name: &str| plan.needs.iter().any(|need| need == name);
        let needs = Needs {
            every_round_trip: needs("round_trips"),
            round_trip_estimate: needs("round_trips"),
            delivery: needs("delivery"),
            marks: needs("marks"),
            answers_marks: needs("marks") && !plan.methods.contains_key("on_ecn"),
            owns_recovery: needs("recovery"),
            owns_slow_start: true,
            randomness: true,
            start: true,
            ..Needs::default()
        };
        Self(Arc::new(ControllerClass {
            class: class.clone(),
            controller: plan.controller.clone_ref(py),
            methods: plan.methods.clone(),
            needs,
            pacing: plan.is_paced.then_some(Pacing::LINUX),
            faults: Arc::clone(faults),
        }))
    }
}

impl ControllerMaker for PythonControllers {
    fn make(&self, payload_bytes: u32) -> Box<dyn Controller> {
        let class = Arc::clone(&self.0);
        let last = Moment { now: Time::ZERO, acknowledged: None };
        Box::new(PythonController { class, payload_bytes, seed: 0, flow: String::new(), last, instance: None })
    }
}

/// A subclass of `CongestionController` at one connection.
#[derive(Debug)]
struct PythonController {
    class: Arc<ControllerClass>,
    payload_bytes: u32,
    seed: u64,
    flow: String,
    /// The moment of the last call.
    last: Moment,
    /// Made when the connection is about to open.
    instance: Option<Instance>,
}

/// The Python object and those of its methods that it defines.
#[derive(Debug)]
struct Instance {
    connection: Py<Connection>,
    on_ack: Call<AckOf>,
    on_loss: Call<CongestionOf>,
    on_ecn: Option<Call<CongestionOf>>,
    on_timeout: Option<Call<CongestionOf>>,
    undo: Option<Call<Nothing>>,
    restart: Option<Call<Nothing>>,
}

/// The moment of a call, for messages.
#[derive(Clone, Copy, Debug)]
struct Moment {
    now: Time,
    acknowledged: Option<u64>,
}

impl ControllerClass {
    fn make(&self, py: Python<'_>, settle: impl FnOnce(&Connection)) -> PyResult<Instance> {
        let class = self.controller.bind(py);
        // Before its constructor runs, which may draw already.
        let custom = class.call_method1("__new__", (class,))?;
        let connection = custom.cast::<Connection>()?.clone();
        settle(connection.get());
        class.call_method("__init__", (&custom,), Some(&keywords(py, &self.class)?))?;
        let needed = |name: &str| PyValueError::new_err(format!("a congestion controller has a method `{name}`"));
        Ok(Instance {
            on_ack: self.method(&custom, "on_ack")?.ok_or_else(|| needed("on_ack"))?,
            on_loss: self.method(&custom, "on_loss")?.ok_or_else(|| needed("on_loss"))?,
            on_ecn: self.method(&custom, "on_ecn")?,
            on_timeout: self.method(&custom, "on_timeout")?,
            undo: self.method(&custom, "undo")?,
            restart: self.method(&custom, "restart")?,
            connection: connection.unbind(),
        })
    }

    fn method<S: Sample>(&self, custom: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Option<Call<S>>> {
        let Some(arguments) = self.methods.get(name) else { return Ok(None) };
        let getter = |name: &String| {
            let found = S::ARGUMENTS.iter().find(|(known, _)| known == name);
            found.map(|&(_, get)| get).ok_or_else(|| PyValueError::new_err(format!("no argument is named {name}")))
        };
        let arguments = arguments.iter().map(getter).collect::<PyResult<_>>()?;
        Ok(Some(Call { name, bound: custom.getattr(name)?.unbind(), arguments }))
    }
}

impl PythonController {
    fn fault(&self, method: &str, cause: PyErr) {
        let about = About::Connection { flow: self.flow.clone(), acknowledged: self.last.acknowledged };
        let dot = if method.is_empty() { "" } else { "." };
        let method = format!("{}{dot}{method}", self.class.class.class);
        self.class.faults.note(Fault { method, at: self.last.now, about, cause });
    }

    /// Calls the method that `choose` takes, with the window before and after it in `control`.
    fn call<S: Sample>(
        &self,
        choose: impl FnOnce(&Instance) -> Option<&Call<S>>,
        sample: &S::Of<'_>,
        control: &mut Control,
    ) {
        // The run is about to be stopped.
        if self.class.faults.any() {
            return;
        }
        let Some(instance) = &self.instance else { return };
        let Some(call) = choose(instance) else { return };
        let called = Python::attach(|py| {
            let connection = instance.connection.bind(py).get();
            connection.set_control(*control);
            call.call(py, sample)?;
            *control = connection.control();
            Ok(())
        });
        if let Err(error) = called {
            self.fault(call.name, error);
        }
    }

    fn answer(
        &mut self,
        choose: impl FnOnce(&Instance) -> Option<&Call<CongestionOf>>,
        congestion: &CongestionSample,
        control: &mut Control,
    ) {
        self.last = Moment { now: congestion.now, acknowledged: Some(congestion.acknowledged) };
        self.call::<CongestionOf>(choose, congestion, control);
    }
}

impl Controller for PythonController {
    fn needs(&self) -> Needs {
        self.class.needs
    }

    fn pacing(&self) -> Option<Pacing> {
        self.class.pacing
    }

    fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn start(&mut self, name: &str, control: &mut Control) {
        name.clone_into(&mut self.flow);
        let made = Python::attach(|py| {
            let settle = |connection: &Connection| connection.settle(name, self.seed, self.payload_bytes, *control);
            let instance = self.class.make(py, settle)?;
            let control = instance.connection.bind(py).get().control();
            Ok((instance, control))
        });
        match made {
            Ok((instance, initial)) => {
                *control = initial;
                self.instance = Some(instance);
            }
            Err(error) => self.fault("", error),
        }
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        let before = control.congestion_window;
        self.last = Moment { now: ack.now, acknowledged: Some(ack.acknowledged) };
        self.call::<AckOf>(|instance| Some(&instance.on_ack), ack, control);
        if ack.phase == Phase::Recovery && !self.class.needs.owns_recovery {
            control.congestion_window = control.congestion_window.min(before);
        }
    }

    fn on_loss(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.answer(|instance| Some(&instance.on_loss), congestion, control);
    }

    /// RFC 3168, 6.1.2: without a method of its own, a mark counts like a loss.
    fn on_ecn(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.answer(|instance| instance.on_ecn.as_ref().or(Some(&instance.on_loss)), congestion, control);
    }

    /// RFC 5681, 3.1: without a method of its own, a timeout sets the threshold as a loss does, and the window to one
    /// segment.
    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        if self.instance.as_ref().is_some_and(|instance| instance.on_timeout.is_some()) {
            return self.answer(|instance| instance.on_timeout.as_ref(), congestion, control);
        }
        if !congestion.keeps_threshold {
            self.on_loss(congestion, control);
        }
        control.congestion_window = 1.0;
    }

    fn undo(&mut self) {
        self.notify(|instance| instance.undo.as_ref());
    }

    fn restart(&mut self) {
        self.notify(|instance| instance.restart.as_ref());
    }
}

impl PythonController {
    /// Calls a method that sets nothing.
    fn notify(&self, choose: impl FnOnce(&Instance) -> Option<&Call<Nothing>>) {
        let Some(instance) = &self.instance else { return };
        let mut control = Python::attach(|py| instance.connection.bind(py).get().control());
        self.call::<Nothing>(choose, &(), &mut control);
    }
}

/// The sample of a method.
trait Sample: 'static {
    type Of<'a>;
    /// The arguments that the method may ask for, by their names.
    const ARGUMENTS: &'static [(&'static str, Getter<Self>)];
}

/// Takes the value of an argument from a sample.
type Getter<S> = for<'py, 'a, 'b> fn(Python<'py>, &'a <S as Sample>::Of<'b>) -> PyResult<Bound<'py, PyAny>>;

/// A bound method with the arguments that it asks for.
struct Call<S: Sample + ?Sized> {
    name: &'static str,
    bound: Py<PyAny>,
    arguments: Vec<Getter<S>>,
}

impl<S: Sample> std::fmt::Debug for Call<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl<S: Sample> Call<S> {
    #[inline]
    fn call(&self, py: Python<'_>, sample: &S::Of<'_>) -> PyResult<()> {
        let arguments = self.arguments.iter().map(|get| get(py, sample)).collect::<PyResult<Vec<_>>>()?;
        self.bound.bind(py).call1(PyTuple::new(py, arguments)?)?;
        Ok(())
    }
}

/// An ACK.
enum AckOf {}
/// A sign of congestion.
enum CongestionOf {}
/// No sample.
enum Nothing {}

fn seconds(span: Option<Span>) -> Option<f64> {
    span.map(Span::seconds)
}

/// A measurement of delivery. Callers have asked for it, so that it is there.
fn delivery(ack: &AckSample<'_>) -> Delivery {
    ack.delivery.copied().unwrap_or_default()
}

impl Sample for AckOf {
    type Of<'a> = AckSample<'a>;
    const ARGUMENTS: &'static [(&'static str, Getter<Self>)] = &[
        ("now", |py, ack| ack.now.picoseconds().into_bound_py_any(py)),
        ("acked", |py, ack| ack.acked_segments.into_bound_py_any(py)),
        ("newly_delivered", |py, ack| ack.delivered_segments.into_bound_py_any(py)),
        ("snd_una", |py, ack| ack.acknowledged.into_bound_py_any(py)),
        ("snd_nxt", |py, ack| ack.next.into_bound_py_any(py)),
        ("window_used", |py, ack| ack.is_window_used.into_bound_py_any(py)),
        ("echoes_mark", |py, ack| ack.echoes_mark.into_bound_py_any(py)),
        ("in_recovery", |py, ack| (ack.phase == Phase::Recovery).into_bound_py_any(py)),
        ("after_timeout", |py, ack| (ack.phase == Phase::Timeout).into_bound_py_any(py)),
        ("newly_marked", |py, ack| ack.marked_segments.into_bound_py_any(py)),
        ("round_trip_s", |py, ack| seconds(ack.round_trips.latest).into_bound_py_any(py)),
        ("smoothed_round_trip_s", |py, ack| seconds(ack.round_trips.smoothed).into_bound_py_any(py)),
        ("round_trip_deviation_s", |py, ack| seconds(ack.round_trips.deviation).into_bound_py_any(py)),
        ("shortest_round_trip_s", |py, ack| seconds(ack.round_trips.shortest).into_bound_py_any(py)),
        ("delivery_rate", |py, ack| delivery(ack).rate().into_bound_py_any(py)),
        ("delivered", |py, ack| delivery(ack).delivered.into_bound_py_any(py)),
        ("lost", |py, ack| delivery(ack).lost.into_bound_py_any(py)),
        ("newly_lost", |py, ack| delivery(ack).newly_lost.into_bound_py_any(py)),
        ("in_flight", |py, ack| delivery(ack).in_flight.into_bound_py_any(py)),
        ("in_flight_before", |py, ack| delivery(ack).in_flight_before.into_bound_py_any(py)),
        ("application_limited", |py, ack| {
            delivery(ack).segment.is_some_and(|it| it.is_application_limited).into_bound_py_any(py)
        }),
    ];
}

impl Sample for CongestionOf {
    type Of<'a> = CongestionSample;
    const ARGUMENTS: &'static [(&'static str, Getter<Self>)] = &[
        ("now", |py, sign| sign.now.picoseconds().into_bound_py_any(py)),
        ("used", |py, sign| sign.used_segments.into_bound_py_any(py)),
        ("snd_una", |py, sign| sign.acknowledged.into_bound_py_any(py)),
        ("snd_nxt", |py, sign| sign.next.into_bound_py_any(py)),
        ("keeps_threshold", |py, sign| sign.keeps_threshold.into_bound_py_any(py)),
    ];
}

impl Sample for Nothing {
    type Of<'a> = ();
    const ARGUMENTS: &'static [(&'static str, Getter<Self>)] = &[];
}
