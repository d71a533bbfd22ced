//! Facts that do not depend on a scenario.

use forebay_qdisc::config::{FittedValue, fitted_among};
use forebay_units::{QueueSize, Rate};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::convert::list;
use crate::fault;

/// The version of the engine.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The parameters of a discipline that depend on its link and its buffer: for a link of `rate`, in place of a queue
/// with `limit`. `parameters` are the names of all that it has. Throws a fault for a rate or a limit that cannot be
/// read.
#[wasm_bindgen(js_name = fittedQueue)]
pub fn fitted_queue(
    discipline: &str,
    parameters: Vec<String>,
    rate: &str,
    limit: Option<String>,
) -> Result<JsValue, JsValue> {
    let refused = |error: forebay_units::ParseError| fault::of_kind("scenario", &error.to_string());
    let rate: Rate = rate.parse().map_err(refused)?;
    let limit: Option<QueueSize> = limit.map(|limit| limit.parse()).transpose().map_err(refused)?;
    let has = |name: &str| parameters.iter().any(|parameter| parameter == name);
    Ok(list(fitted_among(discipline, &has, rate, limit).into_iter().map(|(name, value)| {
        let value = match value {
            FittedValue::Size(text) => JsValue::from_str(&text),
            FittedValue::Number(number) => JsValue::from_f64(number),
        };
        list([JsValue::from_str(name), value])
    })))
}
