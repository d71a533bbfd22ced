//! Results as typed arrays.

use forebay_engine::{EngineStats, RunResult};
use forebay_records::{Column, Series, Table, Warning};
use wasm_bindgen::JsValue;

use crate::convert::{Entries, list, numbers, texts};
use crate::watched::watched;

/// The result of a run.
pub(crate) fn result(run: RunResult) -> JsValue {
    let deadlock = run.deadlock.map(|deadlock| {
        let links = texts(deadlock.links.iter().map(String::as_str));
        Entries::new().with("links", links).with("since_s", deadlock.since_s)
    });
    let EngineStats { packet_hops, events, cpu_s, .. } = run.engine;
    let engine =
        Entries::new().with("packet_hops", packet_hops as f64).with("events", events as f64).with("cpu_s", cpu_s);
    Entries::new()
        .with("scenario", run.scenario)
        // A seed may have more bits than a number of JavaScript.
        .with("seed", run.seed.to_string())
        .with("duration_s", run.duration_s)
        .with("warmup_s", run.warmup_s)
        .with("flows", table(run.flows))
        .with("delays", table(run.delays))
        .with("queues", table(run.queues))
        .with("links", table(run.links))
        .with("queue_flows", table(run.queue_flows))
        .with("adapters", table(run.adapters))
        .with("transfers", table(run.transfers))
        .with("completion_times", table(run.completion_times))
        .with("equal_paths", table(run.equal_paths))
        .with("collectives", table(run.collectives))
        .with("ranks", table(run.ranks))
        .with("videos", table(run.videos))
        .with("pages", table(run.pages))
        .with("pings", table(run.pings))
        .with("deadlock", deadlock.map_or(JsValue::UNDEFINED, Into::into))
        .with("warnings", warnings(run.warnings))
        .with("series", list(run.series.into_iter().map(series)))
        .with("engine", engine)
        .with("digest", run.digest)
        .with("watched", run.watched.map_or(JsValue::UNDEFINED, watched))
        .into()
}

/// A table as an object of its columns.
pub(crate) fn table(table: Table) -> JsValue {
    let columns = table.columns.into_iter().fold(Entries::new(), |columns, (name, values)| {
        let values = match values {
            Column::Text(column) => texts(column.iter()),
            Column::Float(values) => numbers(&values),
            Column::Count(counts) => {
                let counts: Vec<f64> = counts.into_iter().map(|count| count as f64).collect();
                numbers(&counts)
            }
        };
        columns.with(name, values)
    });
    columns.into()
}

pub(crate) fn series(series: Series) -> Entries {
    Entries::new()
        .with("kind", series.kind)
        .with("name", series.name)
        .with("quantity", series.quantity)
        .with("start_s", series.start_s)
        .with("interval_s", series.interval_s)
        .with("values", numbers(&series.values))
        .with("states", texts(series.states))
}

pub(crate) fn warnings(warnings: Vec<Warning>) -> JsValue {
    list(warnings.into_iter().map(|Warning { text, remedy }| Entries::new().with("text", text).with("remedy", remedy)))
}
