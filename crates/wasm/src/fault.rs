//! Refusals, as the page shows them.

use forebay_engine::RunError;
use forebay_replay::ReplayError;
use forebay_scenario::ScenarioError;
use wasm_bindgen::JsValue;

use crate::convert::{Entries, Utf16};

/// The name of an override in place of that of a file.
const OVERRIDE: &str = "--set";

/// The refusal of a scenario's text, or of an override.
pub(crate) fn scenario(error: &ScenarioError, text: &str) -> JsValue {
    let span = (error.file != OVERRIDE).then(|| {
        let (span, mut positions) = (error.span(), Utf16::new(text));
        let from = positions.position(span.start);
        JsValue::from(Entries::new().with("from", from).with("to", positions.position(span.end)))
    });
    Entries::new()
        .with("kind", "scenario")
        .with("message", &*error.message)
        .with("label", &*error.label)
        .with("help", error.help.as_deref())
        .with("span", span.unwrap_or(JsValue::UNDEFINED))
        .with("rendered", error.render(false).trim_end())
        .into()
}

/// The end of a run without a result. A run that the page stopped has no fault: null.
pub(crate) fn run(error: &RunError) -> JsValue {
    match error {
        RunError::Stopped => JsValue::NULL,
        RunError::TooLarge(_) | RunError::Custom(_) | RunError::Watch(_) | RunError::Write { .. } => {
            of_kind("run", &error.to_string())
        }
        RunError::Thread(_) | RunError::Invariant(_) => of_kind("internal", &error.to_string()),
    }
}

/// A capture that cannot be replayed.
pub(crate) fn replay(error: &ReplayError) -> JsValue {
    match error {
        ReplayError::Stopped => JsValue::NULL,
        ReplayError::Invariant(_) => of_kind("internal", &error.to_string()),
        _ => of_kind("capture", &error.to_string()),
    }
}

/// A fault without a place. Its message may have a last line with a hint.
pub(crate) fn of_kind(kind: &str, text: &str) -> JsValue {
    let (message, help) = match text.split_once("\nhint: ") {
        Some((message, help)) => (message, Some(help)),
        None => (text, None),
    };
    Entries::new()
        .with("kind", kind)
        .with("message", message)
        .with("label", "")
        .with("help", help)
        .with("span", JsValue::UNDEFINED)
        .with("rendered", text)
        .into()
}
