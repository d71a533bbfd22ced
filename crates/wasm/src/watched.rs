//! The logs of a run as typed arrays.

use forebay_engine::{CrossbarLog, PacketLog, PauseLog, Watched};
use forebay_scenario::WatchSpec;
use forebay_units::Span;
use js_sys::{Array, Int16Array, Uint8Array, Uint16Array, Uint32Array};
use wasm_bindgen::JsValue;

use crate::convert::{Entries, list, numbers, property, texts};

/// The class of a PAUSE that stops all of them.
const EVERY_CLASS: u8 = 255;

/// Which packets a run records, from an object of the page; `None` for undefined.
pub(crate) fn watch(object: &JsValue) -> Option<WatchSpec> {
    if object.is_undefined() {
        return None;
    }
    let number = |key: &str| property(object, key).as_f64().unwrap_or(0.0);
    let span = |key: &str| Span::from_seconds_f64(number(key).max(0.0));
    let links = Array::from(&property(object, "links")).iter().filter_map(|link| link.as_string()).collect();
    Some(WatchSpec { links, from: span("from_s"), to: span("to_s"), most: number("most") as usize })
}

/// The logs.
pub(crate) fn watched(watched: Watched) -> JsValue {
    Entries::new()
        .with("packets", list(watched.packets.iter().map(packets)))
        .with("crossbars", list(watched.crossbars.iter().map(crossbar)))
        .with("pauses", list(watched.pauses.iter().map(pause)))
        .into()
}

fn packets(log: &PacketLog) -> Entries {
    let events: Vec<u8> = log.events.iter().map(|event| event.event as u8).collect();
    let of = |value: fn(&forebay_engine::LoggedPacket) -> u32| {
        let values: Vec<u32> = log.events.iter().map(value).collect();
        Uint32Array::from(&values[..])
    };
    Entries::new()
        .with("link", &*log.link)
        .with("rate_bps", log.rate.bits_per_second() as f64)
        .with("times_s", times(log.events.iter().map(|event| event.time.seconds())))
        .with("events", Uint8Array::from(&events[..]))
        .with("flows", of(|event| event.flow))
        .with("bytes", of(|event| event.len_bytes))
        .with("packets", of(|event| event.packet))
        .with("flow_names", texts(log.flow_names.iter().map(String::as_str)))
        .with("is_cut", log.is_cut)
}

fn crossbar(log: &CrossbarLog) -> Entries {
    Entries::new()
        .with("node", &*log.node)
        .with("inputs", log.ports as f64)
        .with("outputs", log.ports as f64)
        .with("times_s", times(log.times.iter().map(|time| time.seconds())))
        .with("matchings", Int16Array::from(&log.matchings[..]))
        .with("lengths", Uint16Array::from(&log.lengths[..]))
        .with("is_cut", log.is_cut)
}

fn pause(log: &PauseLog) -> Entries {
    let classes: Vec<u8> = log.events.iter().map(|event| event.class.unwrap_or(EVERY_CLASS)).collect();
    let stopped: Vec<u8> = log.events.iter().map(|event| u8::from(event.is_stopped)).collect();
    Entries::new()
        .with("link", &*log.link)
        .with("times_s", times(log.events.iter().map(|event| event.time.seconds())))
        .with("classes", Uint8Array::from(&classes[..]))
        .with("stopped", Uint8Array::from(&stopped[..]))
        .with("is_cut", log.is_cut)
}

fn times(times: impl Iterator<Item = f64>) -> JsValue {
    numbers(&times.collect::<Vec<f64>>())
}
