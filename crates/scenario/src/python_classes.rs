//! The classes written in Python that a scenario names.

use std::collections::BTreeSet;

use forebay_tcp::CongestionControl;

use crate::plan::outline::{Links, Outline};
use crate::schema::{QueueSpec, ScenarioSpec, Transport};

/// The classes written in Python that a scenario names, each once.
#[must_use]
pub fn python_classes(spec: &ScenarioSpec) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for group in &spec.flows {
        if let Transport::Tcp(config) = &group.transport
            && let CongestionControl::Custom(control) = &config.congestion_control
        {
            found.insert(control.class.class.clone());
        }
    }
    let outline = Outline::new(spec);
    let queues = outline.links.iter().flat_map(Links::directions).filter_map(|way| way.spec.queue.as_deref());
    queues.for_each(|queue| find_classes(queue, &mut found));
    found
}

fn find_classes(queue: &QueueSpec, found: &mut BTreeSet<String>) {
    if let QueueSpec::Python(python) = queue {
        found.insert(python.class.clone());
    }
    queue.children().for_each(|child| find_classes(child, found));
}
