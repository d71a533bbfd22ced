//! A congestion controller of your own, written in Python: it runs in the simulator like the built-in ones.
//!
//! # What it does
//! A Python class takes the place of a controller's name. It is a subclass of `forebay.CongestionController`. The
//! sender reports ACKs, losses, marks and timeouts to it; the class sets `self.window`, `self.threshold` and
//! `self.pacing_rate_bps` in answer. All else stays the sender's: the detection and the repair of losses, timers,
//! pacing, undo. A method receives only the arguments that it names. Each connection has an instance of its own, with
//! its own stream of random numbers.
//!
//! A scenario file that names Python code runs only with `--allow-python`, or `allow_python=True`. The module is
//! searched for in the folder of the file, then where Python searches for modules.
//!
//! # When to use it
//! Use it to try a controller of your own in any scenario, without Rust. Each ACK costs a Python call: for long studies
//! write it in Rust.
//!
//! # Example
//! ```toml
//! transport.tcp.congestion_control = { python = "python_controller:Aimd" }
//! ```
//!
//! The class is in `python_controller.py`, in the folder of the scenario:
//!
//! ```python python_controller.py
//! import forebay as fb
//!
//!
//! class Aimd(fb.CongestionController):
//!     def on_ack(self, acked, window_used):
//!         if window_used:
//!             self.window += acked / self.window
//!
//!     def on_loss(self, used):
//!         self.window = max(used / 2, 2.0)
//! ```
//!
//! # Source
//! Your own. `docs/guide/python-controllers.md` builds the rules of RFC 5681 step by step and checks them against
//! `reno`: same packets, same digest.
//!
//! # Where we differ
//! - An exception, or a window, threshold or rate outside its bounds, ends the run with an error that names flow, ACK
//!   and time. Everything up to then is accounted for as usual.
//! - Calls to different connections do not come in the order of time: a host may run ahead of another where the results
//!   are the same. State that instances share by other means than packets has no defined order.
//! - Logarithms, powers and exponentials of Python's `math` are those of the platform. Those of `forebay.portable` have
//!   the same bits everywhere.
//!
//! # Cost
//! The memory of the Python object. Each ACK costs a Python call, some microseconds with a small method. Within a
//! process only one such run makes progress at a time; commands with many runs start processes.
//!
//! # Parameters
//! A table, `{ class = "module:Class", parameters = { … } }`. The bare text, `python = "module:Class"`, names a class
//! without parameters.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use forebay_units::PythonClass;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeStruct;

use crate::Controller;
use crate::control::reno;
use crate::control::setup::Setup;

/// Makes the controllers of a custom class.
pub trait ControllerMaker: fmt::Debug + Send + Sync {
    /// A controller for a connection whose full segments have this much payload.
    fn make(&self, payload_bytes: u32) -> Box<dyn Controller>;
}

/// A controller from outside this crate: its class and, in a run, the maker of its instances.
#[derive(Clone, Debug)]
pub struct CustomControl {
    /// The class.
    pub class: Arc<PythonClass>,
    /// Absent until a run has found the class.
    maker: Option<Arc<dyn ControllerMaker>>,
}

impl CustomControl {
    /// The same class with the maker of its instances.
    #[must_use]
    pub fn made_by(&self, maker: Arc<dyn ControllerMaker>) -> Self {
        Self { class: Arc::clone(&self.class), maker: Some(maker) }
    }

    /// Whether the needs of its controllers are still unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        self.maker.is_none()
    }

    /// The controller of a sender. Without a maker NewReno's is in its place, to validate everything else.
    pub(crate) fn build(&self, setup: &Setup) -> Box<dyn Controller> {
        self.maker.as_ref().map_or_else(|| reno::build(setup), |maker| maker.make(setup.payload_bytes))
    }
}

impl PartialEq for CustomControl {
    fn eq(&self, other: &Self) -> bool {
        self.class == other.class
    }
}

impl<'de> serde::Deserialize<'de> for CustomControl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PythonClass::deserialize(deserializer).map(|class| Self { class: Arc::new(class), maker: None })
    }
}

impl serde::Serialize for CustomControl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_struct("PythonClass", 2)?;
        table.serialize_field("class", &self.class.class)?;
        table.serialize_field("parameters", &self.class.parameters)?;
        table.end()
    }
}

impl JsonSchema for CustomControl {
    fn schema_name() -> Cow<'static, str> {
        PythonClass::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        PythonClass::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AckSample, CongestionControl, CongestionSample, Control, EcnCodepoint, Needs, TcpConfig};

    #[derive(Clone, Copy, Debug)]
    struct Needing(Needs);

    impl ControllerMaker for Needing {
        fn make(&self, payload_bytes: u32) -> Box<dyn Controller> {
            assert_eq!(payload_bytes, 1460);
            Box::new(*self)
        }
    }

    impl Controller for Needing {
        fn needs(&self) -> Needs {
            self.0
        }

        fn on_ack(&mut self, _ack: &AckSample<'_>, _control: &mut Control) {}

        fn on_loss(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

        fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

        fn on_timeout(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}
    }

    /// The key that is refused, before the class is found and with a maker of controllers that need this.
    fn refused(config: &TcpConfig, needs: Needs) -> [Option<&'static str>; 2] {
        let class = PythonClass { class: "own:Aimd".into(), parameters: Default::default() };
        let unknown = CustomControl { class: Arc::new(class), maker: None };
        let known = unknown.made_by(Arc::new(Needing(needs)));
        [unknown, known].map(|control| {
            let congestion_control = CongestionControl::Custom(control);
            let config = TcpConfig { congestion_control, ..config.clone() };
            config.validate().err().map(|error| error.field)
        })
    }

    #[test]
    fn needs_are_validated_once_the_class_is_found() {
        let basic = TcpConfig::default();
        assert_eq!(refused(&basic, Needs::default()), [None, None]);
        let delivery = Needs { delivery: true, ..Needs::default() };
        assert_eq!(refused(&basic, delivery), [None, Some("congestion_control")]);
        let ect1 = TcpConfig { ecn: true, ecn_codepoint: Some(EcnCodepoint::Ect1), ..basic };
        assert_eq!(refused(&ect1, Needs::default()), [None, Some("ecn_codepoint")]);
        assert_eq!(refused(&ect1, Needs { marks: true, ..Needs::default() }), [None, None]);
    }
}
