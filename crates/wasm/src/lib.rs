//! The engine in a browser: bindings only. The page in `lab/` is its user; `lab/src/engine/protocol.ts` has the types
//! of all that goes in and out.
//!
//! A call that cannot do what it is asked throws a fault, an object with a message, its place and a remedy. Nothing
//! here waits, starts a thread or reads a file: a page ends a run by ending its worker.

mod catalogue;
mod check;
mod convert;
mod fault;
mod replay;
mod results;
mod run;
mod watched;

pub use catalogue::{fitted_queue, version};
pub use check::{check, numbers};
pub use replay::replay;
pub use run::run;

use wasm_bindgen::prelude::wasm_bindgen;

/// Shows the place of a panic, which is a fault in Forebay, on the console of the browser.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}
