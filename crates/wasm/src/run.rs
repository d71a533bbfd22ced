//! Running a scenario.

use js_sys::{Array, Function};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::check::load;
use crate::fault;
use crate::results::result;

/// Runs a scenario under `seed`, or under its own seed. `progress` is called every few milliseconds with the part that
/// is done; a run ends without a result when it returns false.
///
/// Throws a fault, or null for a run that `progress` ended.
#[wasm_bindgen]
pub fn run(
    text: &str,
    overrides: &Array,
    files: &JsValue,
    seed: Option<u64>,
    progress: &Function,
) -> Result<JsValue, JsValue> {
    let scenario = load(text, overrides, files)?;
    let mut control = |fraction: f64| {
        let answer = progress.call1(&JsValue::NULL, &JsValue::from_f64(fraction));
        answer.is_ok_and(|answer| answer.is_truthy())
    };
    let run = forebay_scenario::run(&scenario, seed, None, &mut control).map_err(|error| fault::run(&error))?;
    Ok(result(run))
}
