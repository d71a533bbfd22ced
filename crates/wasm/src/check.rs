//! Checking a scenario.

use forebay_scenario::{GroupData, PlanData, QueueData, Scenario, memory_estimate, names, plan_data, python_classes};
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::convert::{Entries, Utf16, list, pairs, property, texts};
use crate::fault;

/// The name of the scenario in messages.
pub(crate) const FILE: &str = "scenario.toml";
/// The plan of a network with more links than this is not shown: it would take longer than the check.
const MOST_LINKS: u64 = 20_000;

/// Why a file cannot be read.
const NO_FILE: &str = "the page has no such file";

/// Reads and validates a scenario with overrides, pairs of a path and a value.
pub(crate) fn load(text: &str, overrides: &Array, files: &JsValue) -> Result<Scenario, JsValue> {
    let read = |name: &str| property(files, name).as_string().ok_or_else(|| NO_FILE.to_owned());
    Scenario::load_with(text, FILE, &pairs(overrides), &read).map_err(|error| fault::scenario(&error, text))
}

/// Facts about a scenario. `files` has the texts of trace files by name. Throws the fault of a text that is not valid.
#[wasm_bindgen]
pub fn check(text: &str, overrides: &Array, files: &JsValue) -> Result<JsValue, JsValue> {
    let scenario = load(text, overrides, files)?;
    let spec = scenario.spec();
    let pins = spec.lab.iter().flat_map(|lab| &lab.pins).map(|pin| {
        Entries::new()
            .with("key", &*pin.key)
            .with("from", pin.bounds[0].as_deref())
            .with("to", pin.bounds[1].as_deref())
            .with("label", pin.label.as_deref())
    });
    let facts = Entries::new()
        .with("name", scenario.name())
        .with("description", spec.description.as_deref().unwrap_or_default())
        .with("duration_s", spec.duration.seconds())
        .with("warmup_s", spec.warmup.seconds())
        .with("seed", spec.seed as f64)
        .with("flow_count", names::flow_count(spec) as f64)
        .with("link_count", names::link_count(spec) as f64)
        .with("has_probes", spec.probes.is_some())
        .with("python_classes", texts(python_classes(spec).iter().map(String::as_str)))
        .with("memory_bytes", memory_estimate(&scenario))
        .with("pins", list(pins))
        .with("plan", plan(&scenario));
    Ok(facts.into())
}

/// The numbers and quantities in the text of a valid scenario, with their places. Throws the fault of another text.
#[wasm_bindgen]
pub fn numbers(text: &str, files: &JsValue) -> Result<JsValue, JsValue> {
    let scenario = load(text, &Array::new(), files)?;
    let mut placed: Vec<_> =
        scenario.numbers().into_iter().filter_map(|number| Some((number.span.clone()?, number))).collect();
    placed.sort_by_key(|(span, _)| span.start);
    let mut positions = Utf16::new(text);
    Ok(list(placed.iter().map(|(span, number)| {
        let from = positions.position(span.start);
        Entries::new()
            .with("path", &*number.path)
            .with("from", from)
            .with("to", positions.position(span.end))
            .with("text", &text[span.clone()])
            .with("number", number.value)
            .with("unit", &*number.unit)
    })))
}

/// The plan of a network that is not too large.
fn plan(scenario: &Scenario) -> JsValue {
    if names::link_count(scenario.spec()) > MOST_LINKS {
        return JsValue::UNDEFINED;
    }
    let PlanData { nodes, links, queues, groups, .. } = plan_data(scenario);
    let name = |node: u32| &*nodes[node as usize].0;
    let links = links.iter().map(|link| {
        Entries::new()
            .with("name", &*link.name)
            .with("source", name(link.ends[0]))
            .with("destination", name(link.ends[1]))
            .with("rate_bps", link.rate.bits_per_second() as f64)
            .with("delay_s", link.delay.seconds())
    });
    let queues = queues.into_iter().map(|queue| {
        let QueueData { name, paths, role, is_back, discipline, limit_path: _, limit, queues, links, .. } = queue;
        Entries::new()
            .with("name", name)
            .with("path", paths.map(|[_, named]| named))
            .with("role", role)
            .with("is_back", is_back)
            .with("discipline", discipline)
            .with("limit", limit)
            .with("queues", texts(queues.iter().map(String::as_str)))
            .with("links", texts(links.iter().map(String::as_str)))
    });
    let groups = groups.into_iter().map(|GroupData { name: group, ends: [from, to], rtt_s }| {
        Entries::new()
            .with("name", group)
            .with("sources", texts(from.into_iter().map(name)))
            .with("destinations", texts(to.into_iter().map(name)))
            .with("rtt_s", rtt_s)
    });
    let kinds = nodes.iter().map(|(name, kind)| Entries::new().with("name", &**name).with("kind", *kind));
    Entries::new()
        .with("topology", scenario.spec().topology.name())
        .with("nodes", list(kinds))
        .with("links", list(links))
        .with("queues", list(queues))
        .with("groups", list(groups))
        .into()
}
