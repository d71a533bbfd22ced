//! Calls of a custom discipline's methods, with the arguments that each asks for.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use forebay_qdisc::{Arrival, Backlog, FlowKey, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Declares [`Argument`] with its names in Python, in the order of their places in [`Values`].
macro_rules! arguments {
    ($($variant:ident = $name:literal,)*) => {
        /// The values that a method can request by the name of a parameter.
        #[derive(Clone, Copy)]
        pub(super) enum Argument { $($variant,)* }

        impl Argument {
            pub fn of(name: &str) -> PyResult<Self> {
                match name {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(PyValueError::new_err(format!("no argument is named {name}"))),
                }
            }
        }

        pub(super) const ARGUMENTS: usize = [$($name,)*].len();
    };
}

arguments! {
    Now = "now",
    Packet = "packet",
    Flow = "flow",
    Length = "length",
    Ecn = "ecn",
    TrafficClass = "traffic_class",
    InputPort = "input_port",
    QueuePackets = "queue_packets",
    QueueBytes = "queue_bytes",
}

/// The values for a call, by [`Argument`]. Zero where the call has no such thing.
#[derive(Clone, Copy)]
pub(super) struct Values([u64; ARGUMENTS]);

impl Values {
    pub fn new(now: Time, backlog: Backlog) -> Self {
        let mut values = Self([0; ARGUMENTS]);
        values.set(Argument::Now, now.picoseconds());
        values.set(Argument::QueuePackets, backlog.packets);
        values.set(Argument::QueueBytes, backlog.bytes);
        values
    }

    pub fn with_arrival(mut self, packet: u64, arrival: &Arrival) -> Self {
        self.set(Argument::Packet, packet);
        self.set(Argument::Flow, arrival.flow.0);
        self.set(Argument::Length, arrival.len_bytes.into());
        self.set(Argument::Ecn, u64::from(arrival.ecn.codepoint()));
        self.set(Argument::TrafficClass, arrival.class.into());
        self.set(Argument::InputPort, arrival.input_port.into());
        self
    }

    pub fn with_departure(mut self, packet: u64, flow: FlowKey, len_bytes: u32) -> Self {
        self.set(Argument::Packet, packet);
        self.set(Argument::Flow, flow.0);
        self.set(Argument::Length, len_bytes.into());
        self
    }

    /// The arguments as a compiled function takes them; all are below 2^63.
    #[inline]
    pub fn signed(self) -> [i64; ARGUMENTS] {
        self.0.map(u64::cast_signed)
    }

    #[inline]
    fn set(&mut self, argument: Argument, value: u64) {
        self.0[argument as usize] = value;
    }
}

/// A bound method with the arguments that it asks for.
pub(super) struct Method {
    bound: Py<PyAny>,
    arguments: Vec<Argument>,
}

impl Method {
    pub fn new(bound: Bound<'_, PyAny>, arguments: Vec<Argument>) -> Self {
        Self { bound: bound.unbind(), arguments }
    }

    #[inline]
    pub fn call<'py>(&self, py: Python<'py>, values: &Values) -> PyResult<Bound<'py, PyAny>> {
        let arguments = PyTuple::new(py, self.arguments.iter().map(|&argument| values.0[argument as usize]))?;
        self.bound.bind(py).call1(arguments)
    }
}

/// A name that is kept until the process ends, as gauges have them. There are as many as the classes of a process
/// declare.
pub(super) fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.into());
    names.insert(kept);
    kept
}
