//! Controllers from outside run like the built-in ones, one for each connection.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use forebay_qdisc::CustomDiscipline;
use forebay_scenario::{CustomClasses, Scenario, Site, run, run_divided, run_on};
use forebay_tcp::{AckSample, CongestionSample, Control, Controller, ControllerMaker, Needs};
use forebay_units::PythonClass;

const SCENARIO: &str = r#"
    duration = "4 s"
    [topology.dumbbell]
    access = { rate = "100 Mbps", delay = "1 ms" }
    bottleneck = { rate = "10 Mbps", delay = "10 ms", queue.drop_tail.limit = "20 packets" }
    [[flows]]
    name = "long"
    count = 2
    transport.tcp.congestion_control = "reno"
    [[flows]]
    name = "short"
    transport.tcp.congestion_control = "reno"
    app.transfers = { size = "30 KB", gap = "300 ms" }
"#;

fn load(control: &str) -> Scenario {
    Scenario::load(&SCENARIO.replace("\"reno\"", control), "test.toml", &[]).unwrap()
}

/// Reno by the interface that controllers from outside have. Remembers the names of its connections.
#[derive(Clone, Debug, Default)]
struct Outside(Arc<Mutex<Vec<String>>>);

impl ControllerMaker for Outside {
    fn make(&self, _payload_bytes: u32) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl Outside {
    fn reduce(congestion: &CongestionSample, control: &mut Control) {
        let target = (congestion.used_segments / 2.0).max(2.0);
        control.slow_start_threshold = target.floor();
        control.congestion_window = target.min(control.congestion_window);
    }
}

impl Controller for Outside {
    fn needs(&self) -> Needs {
        Needs { start: true, owns_slow_start: true, ..Needs::default() }
    }

    fn start(&mut self, name: &str, control: &mut Control) {
        assert_eq!(*control, Control::new(10.0, f64::INFINITY));
        self.0.lock().unwrap().push(name.to_owned());
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        if !ack.is_window_used {
            return;
        }
        let mut acked = ack.acked_segments;
        if control.congestion_window < control.slow_start_threshold {
            control.congestion_window += acked;
            acked = control.congestion_window - control.slow_start_threshold;
            if acked <= 0.0 {
                return;
            }
            control.congestion_window = control.slow_start_threshold;
        }
        control.congestion_window += acked / control.congestion_window;
    }

    fn on_loss(&mut self, congestion: &CongestionSample, control: &mut Control) {
        Self::reduce(congestion, control);
    }

    fn on_ecn(&mut self, congestion: &CongestionSample, control: &mut Control) {
        Self::reduce(congestion, control);
    }

    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        if !congestion.keeps_threshold {
            Self::reduce(congestion, control);
        }
        control.congestion_window = 1.0;
    }
}

/// Has one class of controllers, and no disciplines.
struct Classes(Outside);

impl CustomClasses for Classes {
    fn discipline(&self, _: &PythonClass, _: Site<'_>) -> Option<CustomDiscipline> {
        None
    }

    fn name(&self, class: &PythonClass) -> String {
        class.class.clone()
    }

    fn controllers(&self, class: &PythonClass) -> Option<Arc<dyn ControllerMaker>> {
        (class.class == "own:Reno").then(|| Arc::new(self.0.clone()) as Arc<dyn ControllerMaker>)
    }
}

#[test]
fn reno_from_outside_is_reno_on_any_number_of_threads() {
    let built_in = run(&load("\"reno\""), None, None, &mut |_| true).unwrap();
    let classes = Classes(Outside::default());
    let outside = load("{ python = \"own:Reno\" }");
    let on_one = run_on(NonZeroUsize::MIN, &outside, None, None, Some(&classes), &mut |_| true).unwrap();
    let names = std::mem::take(&mut *classes.0.0.lock().unwrap());
    let on_two = run_divided(NonZeroUsize::new(2).unwrap(), &outside, None, None, Some(&classes), &mut |_| true);
    let digests = [&built_in, &on_one, &on_two.unwrap()].map(|result| result.digest.clone());
    assert_eq!(digests[0], digests[1]);
    assert_eq!(digests[0], digests[2]);
    assert!(built_in.flows.counts("packets_retransmitted")[0] > 0);
    // One for each connection, each transfer included.
    let distinct: BTreeSet<&String> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    assert!(names.contains(&"long-1".to_owned()) && names.contains(&"short, transfer 3".to_owned()), "{names:?}");
}

#[test]
fn without_the_class_no_run_begins() {
    let message = |control: &str, classes: Option<&dyn CustomClasses>| {
        let result = run_on(NonZeroUsize::MIN, &load(control), None, None, classes, &mut |_| true);
        result.map(|result| result.digest).unwrap_err().to_string()
    };
    let classes = Classes(Outside::default());
    assert_eq!(
        message("{ python = \"own:Reno\" }", None),
        "the flows `long`: `congestion_control` must be run by `forebay run`, `forebay.run` or a command that uses them"
    );
    assert_eq!(
        message("{ python = \"own:Law\" }", Some(&classes)),
        "the flows `long`: `congestion_control` must be a class derived from CongestionController"
    );
}
