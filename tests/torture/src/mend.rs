//! From a drawn scenario to a valid one: values that validation refuses, at their places, are drawn again or left out.
//! So a rule of the validation need not be known here, and every refusal on the way is checked.

use forebay_scenario::{Scenario, ScenarioError, names};
use serde_json::{Value, json};

use crate::generate::Generator;
use crate::judge;
use crate::schema;
use crate::text::{Text, remove, split};
use crate::worker::caught;

/// Refusals in a row after which a scenario is given up.
const MOST_REFUSALS: usize = 60;
/// Links and flows of which probes and traces are drawn.
const MOST_NAMES: usize = 200;

/// A scenario that passed validation, or the last text that did not.
pub struct Mended {
    pub document: Value,
    pub text: String,
    pub valid: bool,
    /// The number of refusals on the way.
    pub refusals: usize,
    /// The fault of a refusal, if any.
    pub fault: Option<String>,
}

/// Draws a scenario and corrects it.
pub fn valid_scenario(generator: &mut Generator<'_>) -> Mended {
    let document = generator.scenario();
    let first = mend(generator, document);
    let (true, Ok(scenario)) = (first.valid, Scenario::load(&first.text, judge::FILE, &[])) else { return first };
    let spec = scenario.spec();
    let mut document = first.document;
    let links = names::links(spec).into_iter().take(MOST_NAMES).collect();
    generator.observe(&mut document, links, names::flows(spec).into_iter().take(MOST_NAMES).collect());
    let second = mend(generator, document);
    Mended { refusals: first.refusals + second.refusals, ..second }
}

/// A star whose bottleneck is the port of a replay.
pub fn port(generator: &mut Generator<'_>) -> Mended {
    let link = &generator.schema.definition("Star")["properties"]["bottleneck"];
    let queue = &generator.schema.definition("LinkSpec")["properties"]["queue"];
    let mut bottleneck = generator.draw("Star.bottleneck", link);
    bottleneck["queue"] = generator.draw("LinkSpec.queue", queue);
    let udp = json!({ "packet": "100 B", "constant": { "rate": "1 Mbps" } });
    let document = json!({
        "duration": "1 s",
        "topology": { "star": { "access": { "rate": "1 Gbps", "delay": "1 ms" }, "bottleneck": bottleneck } },
        "flows": [{ "name": "any", "transport": { "udp": udp } }],
    });
    mend(generator, document)
}

fn mend(generator: &mut Generator<'_>, mut document: Value) -> Mended {
    let mut refusals = 0;
    loop {
        let text = Text::of(&document);
        let error = match caught(|| Scenario::load(&text.text, judge::FILE, &[])) {
            Ok(Ok(_)) => return Mended { document, text: text.text, valid: true, refusals, fault: None },
            Ok(Err(error)) => error,
            Err(panic) => return Mended { document, text: text.text, valid: false, refusals, fault: Some(panic) },
        };
        let fault = caught(|| judge::refusal(&text.text, &error)).unwrap_or_else(Err).err();
        if fault.is_some() || refusals == MOST_REFUSALS {
            return Mended { document, text: text.text, valid: false, refusals, fault };
        }
        refusals += 1;
        amend(generator, &mut document, &text, &error);
    }
}

/// Changes what is refused.
fn amend(generator: &mut Generator<'_>, document: &mut Value, text: &Text, error: &ScenarioError) {
    let pointer = text.pointer_at(error.line, error.column);
    let (spots, _) = generator.schema.walk(document);
    if let Some(key) = error.message.strip_prefix("missing key `").and_then(|rest| rest.split('`').next())
        && let Some(spot) = spots.get(pointer)
    {
        // The alternative that the value has.
        let (name, type_schema) = generator.schema.resolve(spot.schema);
        if let Some(property) = type_schema["properties"].get(key) {
            let value = generator.draw(&format!("{}.{key}", name.unwrap_or(&spot.place)), property);
            document.pointer_mut(pointer).and_then(Value::as_object_mut).map(|map| map.insert(key.to_owned(), value));
            return;
        }
    }
    let mut pointer = pointer;
    while generator.dice.chance(0.2) {
        pointer = split(pointer).0;
    }
    let Some(spot) = spots.get(pointer) else { return };
    let (holder, key) = split(pointer);
    let optional = spots.get(holder).is_some_and(|holder| {
        let (_, type_schema) = generator.schema.resolve(holder.schema);
        let known = type_schema["items"].is_object() || type_schema["properties"][key].is_object();
        known && !schema::is_required(type_schema, key)
    });
    if optional && generator.dice.chance(0.4) && remove(document, pointer) {
        return;
    }
    let value = generator.draw(&spot.place, spot.schema);
    if let Some(place) = document.pointer_mut(pointer) {
        *place = value;
    }
    generator.join_again(document);
    if document["flows"].as_array().is_none_or(Vec::is_empty) {
        let property = &generator.schema.root().schema["properties"]["flows"];
        document["flows"] = json!([generator.draw("FlowGroup", &property["items"])]);
    }
}
