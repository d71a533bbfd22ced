//! Replaying a capture that the page passes in.

use std::cell::Cell;
use std::io::{Cursor, Read};
use std::net::IpAddr;

use forebay_qdisc::{Rate, Span};
use forebay_replay::{ReplayError, ReplayOptions, ReplayResult, ReplayedQueue};
use forebay_scenario::PortSpec;
use forebay_scenario::schema::Switch;
use js_sys::{Array, Function};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::convert::{Entries, list, pairs, property};
use crate::fault;
use crate::results::{series, table, warnings};

/// Replays a capture into ports, one for each of the queues of `options`. `progress` is called now and then with the
/// part that has been read; the replay ends without a result when it returns false.
///
/// Throws a fault, or null for a replay that `progress` ended.
#[wasm_bindgen]
pub fn replay(capture: &[u8], options: &JsValue, progress: &Function) -> Result<JsValue, JsValue> {
    let text = |key: &str| property(options, key).as_string();
    let refused = |message: String| fault::of_kind("scenario", &message);
    let rate = text("rate").unwrap_or_default();
    let queues = Array::from(&property(options, "queues"));
    let ports = queues.iter().map(|queue| Port::new(&rate, &queue)).collect::<Result<Vec<_>, _>>()?;
    let Some(line) = ports.first().map(|port| port.spec.rate) else {
        return Err(refused("there is no queue to replay through".into()));
    };
    let destination = match text("destination") {
        Some(address) => {
            let message = format!("{address} is not an address\nhint: give an IPv4 or IPv6 address of the capture");
            Some(address.parse::<IpAddr>().map_err(|_| refused(message))?)
        }
        None => None,
    };
    let interval = match text("interval") {
        Some(interval) => Some(interval_of(&interval).map_err(refused)?),
        None => None,
    };
    let seed = property(options, "seed").as_f64().map_or(1, |seed| seed as u64);
    let replayed = ports.iter().map(|port| port.queue(line, seed)).collect::<Result<Vec<_>, _>>()?;
    let (read, size) = (Cell::new(0), capture.len() as f64);
    let reader = Counting { inner: Cursor::new(capture), read: &read };
    let mut control = || {
        let answer = progress.call1(&JsValue::NULL, &JsValue::from_f64(read.get() as f64 / size));
        answer.is_ok_and(|answer| answer.is_truthy())
    };
    let options = ReplayOptions { destination, seed, interval };
    let replayed = forebay_replay::replay(reader, line, replayed, &options, &mut control);
    replayed.map(entries).map_err(|error: ReplayError| fault::replay(&error))
}

fn interval_of(text: &str) -> Result<Span, String> {
    let interval: Span = text.parse().map_err(|error| format!("the interval: {error}"))?;
    if interval == Span::ZERO { Err("an interval must be longer than 0 s".into()) } else { Ok(interval) }
}

/// A queue of the options.
struct Port {
    label: String,
    discipline: String,
    spec: PortSpec,
}

impl Port {
    fn new(rate: &str, queue: &JsValue) -> Result<Self, JsValue> {
        let text = |key: &str| property(queue, key).as_string().unwrap_or_default();
        let discipline = text("discipline");
        let parameters = pairs(&Array::from(&property(queue, "parameters")));
        let spec = PortSpec::load(rate, &discipline, &parameters);
        // The text of a port is made here: its places are nowhere on the page.
        let refused = |error: &forebay_scenario::ScenarioError| {
            let help = error.help.iter().map(|help| format!("\nhint: {help}"));
            fault::of_kind("scenario", &format!("{discipline}: {}{}", error.message, help.collect::<String>()))
        };
        let spec = spec.map_err(|error| refused(&error))?;
        Ok(Self { label: text("label"), discipline, spec })
    }

    fn queue(&self, rate: Rate, seed: u64) -> Result<ReplayedQueue<'static>, JsValue> {
        let built = self.spec.queue.build_in(&mut Switch::default(), rate, forebay_replay::salt(seed));
        let queue = built.map_err(|error| fault::of_kind("scenario", &format!("{}: {error}", self.discipline)))?;
        Ok(ReplayedQueue {
            name: self.label.clone(),
            discipline: self.discipline.clone(),
            queue: queue.into_discipline(),
            delivered_to: None,
            dropped_to: None,
        })
    }
}

/// Counts what is read.
struct Counting<'c, R> {
    inner: R,
    read: &'c Cell<u64>,
}

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.read.set(self.read.get() + bytes as u64);
        Ok(bytes)
    }
}

fn entries(result: ReplayResult) -> JsValue {
    Entries::new()
        .with("rate_bps", result.rate_bps as f64)
        .with("seed", result.seed.to_string())
        .with("duration_s", result.duration_s)
        .with("packets", result.packets as f64)
        .with("bytes", result.bytes as f64)
        .with("packets_unselected", result.packets_unselected as f64)
        .with("packets_unaddressed", result.packets_unaddressed as f64)
        .with("packets_out_of_order", result.packets_out_of_order as f64)
        .with("packets_missed", result.packets_missed as f64)
        .with("packets_cut", result.packets_cut as f64)
        .with("packets_opaque", result.packets_opaque as f64)
        .with("warnings", warnings(result.warnings))
        .with("flows", table(result.flows))
        .with("queues", table(result.queues))
        .with("delays", table(result.delays))
        .with("series", list(result.series.into_iter().map(series)))
        .into()
}
