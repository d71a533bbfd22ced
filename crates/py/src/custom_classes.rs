//! Classes written in Python: the custom disciplines and controllers of a run.
//!
//! A thread that runs a scenario with custom classes stays attached to the interpreter, since to attach for each
//! decision would cost more than most decisions. It lets other threads in whenever Python code runs, and between the
//! parts of a run.

mod call;
mod compiled;
mod component;
mod connection;
mod controller;
mod discipline;
mod fault;
mod law;
mod verdict;

use std::collections::BTreeMap;
use std::sync::Arc;

use forebay_qdisc::{CustomDiscipline, Time};
use forebay_scenario::schema::ScenarioSpec;
use forebay_scenario::{CustomClasses, Site};
use forebay_tcp::ControllerMaker;
use forebay_units::PythonClass;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use serde_json::Value;

use self::call::{Argument, Method};
use self::compiled::{Compiled, CompiledLaw};
pub(crate) use self::component::Component;
pub(crate) use self::connection::Connection;
use self::controller::{ControllerPlan, PythonControllers};
use self::discipline::PythonDiscipline;
use self::fault::{About, Faults, Place};
pub(crate) use self::fault::{ControllerError, DisciplineError};
use self::law::PythonLaw;
use crate::progress::Reins;

/// A class that may be run, as the Python package has looked into it.
#[derive(FromPyObject)]
pub(crate) enum Plan {
    Discipline(DisciplinePlan),
    Controller(ControllerPlan),
}

impl Plan {
    /// Whether it runs without the interpreter.
    fn is_compiled(&self) -> bool {
        matches!(self, Self::Discipline(DisciplinePlan { compiled: Some(_), .. }))
    }
}

/// A class of disciplines.
#[derive(FromPyObject)]
pub(crate) struct DisciplinePlan {
    discipline: Py<PyType>,
    /// Whether it is an admission law.
    is_law: bool,
    /// The arguments that each method asks for, of those that the class has.
    methods: BTreeMap<String, Vec<String>>,
    /// Its name in results.
    name: String,
    /// The compiled law that runs in its place, if any.
    compiled: Option<Compiled>,
    /// Attributes that become time series.
    gauges: Vec<String>,
}

/// The classes that a run may use, by the name that the scenario has for them.
pub(crate) type Plans = BTreeMap<String, Plan>;

/// Makes the instances of custom classes in one run, and keeps the first fault.
pub(crate) struct PythonClasses<'a> {
    plans: &'a Plans,
    faults: Arc<Faults>,
}

/// Runs `work` for a run with such custom classes: attached to the interpreter, unless all are compiled and do
/// without it.
pub(crate) fn attached_for<T>(plans: &Plans, reins: &Reins, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    reins.note_custom();
    if plans.values().all(Plan::is_compiled) {
        return work();
    }
    Python::attach(|py| reins.attached(py, work))?
}

/// Lets other threads take the interpreter, if this thread is attached to it.
pub(crate) fn yield_interpreter(plans: &Plans) {
    if !plans.values().all(Plan::is_compiled) {
        Python::attach(|py| py.detach(|| ()));
    }
}

impl<'a> PythonClasses<'a> {
    pub fn new(plans: &'a Plans) -> Self {
        Self { plans, faults: Arc::default() }
    }

    /// Whether one has failed.
    pub fn have_failed(&self) -> bool {
        self.faults.any()
    }

    /// The error of the first that failed in a run of that scenario under `seed`, or under its own seed.
    pub fn error(&self, scenario: &ScenarioSpec, seed: Option<u64>) -> Option<PyErr> {
        let seed = seed.unwrap_or(scenario.seed);
        self.faults.take().map(|fault| Python::attach(|py| fault.into_error(py, scenario, seed)))
    }

    fn make(
        &self,
        py: Python<'_>,
        plan: &DisciplinePlan,
        queue: &PythonClass,
        site: Site<'_>,
    ) -> PyResult<CustomDiscipline> {
        let class = plan.discipline.bind(py);
        // Before its constructor runs, which may draw already.
        let custom = class.call_method1("__new__", (class,))?;
        let component: PyRef<'_, Component> = custom.extract()?;
        component.settle(site);
        drop(component);
        class.call_method("__init__", (&custom,), Some(&keywords(py, queue)?))?;
        let method = |name: &str| -> PyResult<Option<Method>> {
            let Some(arguments) = plan.methods.get(name) else { return Ok(None) };
            let arguments = arguments.iter().map(|it| Argument::of(it)).collect::<PyResult<_>>()?;
            Ok(Some(Method::new(custom.getattr(name)?, arguments)))
        };
        let place = Place {
            faults: Arc::clone(&self.faults),
            class: queue.class.clone(),
            queue: site.queue().to_owned(),
            gauges: plan.gauges.iter().map(|name| call::interned(name)).collect(),
        };
        if let Some(compiled) = &plan.compiled {
            return Ok(CustomDiscipline::Law(Box::new(CompiledLaw::new(place, &custom, compiled, site.stream())?)));
        }
        Ok(if plan.is_law {
            CustomDiscipline::Law(Box::new(PythonLaw::new(place, custom.clone().unbind(), &method)?))
        } else {
            CustomDiscipline::Discipline(Box::new(PythonDiscipline::new(place, custom.clone().unbind(), &method)?))
        })
    }
}

impl CustomClasses for PythonClasses<'_> {
    fn discipline(&self, class: &PythonClass, site: Site<'_>) -> Option<CustomDiscipline> {
        let Plan::Discipline(plan) = self.plans.get(&class.class)? else { return None };
        Python::attach(|py| match self.make(py, plan, class, site) {
            Ok(custom) => Some(custom),
            Err(cause) => {
                let about = About::Queue { queue: site.queue().to_owned(), packet: None, flow: None };
                self.faults.note(fault::Fault { method: class.class.clone(), at: Time::ZERO, about, cause });
                None
            }
        })
    }

    fn name(&self, class: &PythonClass) -> String {
        match self.plans.get(&class.class) {
            Some(Plan::Discipline(plan)) => plan.name.clone(),
            _ => class.class.clone(),
        }
    }

    fn controllers(&self, class: &PythonClass) -> Option<Arc<dyn ControllerMaker>> {
        let Plan::Controller(plan) = self.plans.get(&class.class)? else { return None };
        Some(Arc::new(Python::attach(|py| PythonControllers::new(py, plan, class, &self.faults))))
    }
}

fn keywords<'py>(py: Python<'py>, class: &PythonClass) -> PyResult<Bound<'py, PyDict>> {
    let keywords = PyDict::new(py);
    for (name, value) in &class.parameters {
        keywords.set_item(name, plain(py, value)?)?;
    }
    Ok(keywords)
}

/// A value of a scenario as a Python object.
fn plain<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(whole), _, _) => whole.into_pyobject(py)?.into_any(),
            (_, Some(whole), _) => whole.into_pyobject(py)?.into_any(),
            (_, _, fraction) => fraction.into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(values) => {
            let values = values.iter().map(|value| plain(py, value)).collect::<PyResult<Vec<_>>>()?;
            values.into_pyobject(py)?.into_any()
        }
        Value::Object(entries) => {
            let table = PyDict::new(py);
            for (key, value) in entries {
                table.set_item(key, plain(py, value)?)?;
            }
            table.into_any()
        }
    })
}
