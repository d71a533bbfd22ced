//! Running a scenario.

use std::collections::BTreeMap;

use forebay_engine::RunSoFar;
use js_sys::{Array, Function};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

use crate::check::load;
use crate::convert::{Entries, numbers, texts};
use crate::fault;
use crate::results::result;
use crate::watched;

/// Runs a scenario under `seed`, or under its own seed, and records the events that `watch` asks for, if it is defined.
///
/// `progress` is called every few milliseconds with the part that is done. It returns whether to continue, or a
/// function that takes the values of time series that are new since the last such function. The run ends without a
/// result when it returns false.
///
/// Throws a fault, or null for a run that `progress` ended.
#[wasm_bindgen]
pub fn run(
    text: &str,
    overrides: &Array,
    files: &JsValue,
    seed: Option<u64>,
    watch: &JsValue,
    progress: &Function,
) -> Result<JsValue, JsValue> {
    let scenario = load(text, overrides, files)?;
    let mut shown = Shown::default();
    let mut control = |fraction: f64, so_far: Option<&RunSoFar<'_>>| {
        let wants = progress.call1(&JsValue::NULL, &JsValue::from_f64(fraction)).unwrap_or(JsValue::FALSE);
        if let (Some(take), Some(so_far)) = (wants.dyn_ref::<Function>(), so_far) {
            let _ = take.call1(&JsValue::NULL, &shown.new_values(so_far));
        }
        wants.is_truthy()
    };
    let watch = watched::watch(watch);
    let run = forebay_scenario::run_shown(&scenario, seed, watch.as_ref(), &mut control);
    Ok(result(run.map_err(|error| fault::run(&error))?))
}

/// How many values of each series the page has.
#[derive(Default)]
struct Shown(BTreeMap<String, usize>);

impl Shown {
    /// The values that the page does not have.
    fn new_values(&mut self, so_far: &RunSoFar<'_>) -> JsValue {
        let parts = Array::new();
        so_far.series(&mut |series| {
            let key = format!("{}\0{}\0{}", series.kind, series.name, series.quantity);
            let shown = self.0.entry(key).or_default();
            let first = std::mem::replace(shown, series.values.len());
            if first < series.values.len() {
                let part = Entries::new()
                    .with("kind", series.kind)
                    .with("name", series.name)
                    .with("quantity", series.quantity)
                    .with("start_s", series.interval_s)
                    .with("interval_s", series.interval_s)
                    .with("first", first as f64)
                    .with("values", numbers(&series.values[first..]))
                    .with("states", texts(series.states.iter().copied()));
                parts.push(&part.into());
            }
        });
        parts.into()
    }
}
