//! The qdiscs with bands, prio and ETS: their bands, the filters, and the queues of the bands.

use forebay_qdisc::{EtsConfig, InnerQueues, PrioConfig};
use forebay_units::QueueSize;

use super::command::Qdisc;
use super::port::Port;
use super::qdisc::fifo;
use super::script::{Place, Script, may_wait};
use crate::schema::QueueSpec;

/// Bands of prio and of ETS are at most so many (`TCQ_PRIO_BANDS`, `TCQ_ETS_MAX_BANDS`).
const MOST_BANDS: usize = 16;
/// Prio has at least two (`TCQ_MIN_PRIO_BANDS`).
const LEAST_BANDS: usize = 2;
/// The band of each priority without a list (`sch_default_prio2band`): that of Linux and of the discipline here.
const PRIORITY_MAP: [usize; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
/// The number of bands without a list.
const DEFAULT_BANDS: usize = 3;
/// Quantum of a band in bytes unless another one is given.
const DEFAULT_QUANTUM: u64 = 1514;
/// The most that `tc` reads as a quantum.
const MOST_QUANTUM: u64 = u32::MAX as u64;

/// A band: its name, its traffic classes, its queue.
type Band<'c> = (&'c str, &'c [u8], Option<&'c QueueSpec>);

/// The bands of a discipline, without its own parameters.
struct Bands<'c> {
    kind: &'static str,
    bands: Vec<Band<'c>>,
    default: Option<&'c String>,
    limit: QueueSize,
}

pub(super) fn prio(script: &mut Script<'_>, config: &PrioConfig<QueueSpec>, port: Port, place: Place) {
    let bands = config.bands.iter().map(|band| (band.name.as_str(), &band.classes[..], band.queue.as_ref()));
    let bands =
        Bands { kind: "prio", bands: bands.collect(), default: config.default_band.as_ref(), limit: config.limit };
    let count = bands.count().max(LEAST_BANDS);
    let qdisc = Qdisc::new("prio").with("bands", count).with("priomap", bands.priority_map()).note_if(
        bands.count() < LEAST_BANDS,
        format!("Linux has at least {LEAST_BANDS} bands; the second one stays empty."),
    );
    bands.commands(script, qdisc, |_| port, place);
}

pub(super) fn ets(script: &mut Script<'_>, config: &EtsConfig<QueueSpec>, port: Port, place: Place) {
    let bands = config.bands.iter().map(|band| (band.name.as_str(), &band.classes[..], band.queue.as_ref()));
    let bands =
        Bands { kind: "ets", bands: bands.collect(), default: config.default_band.as_ref(), limit: config.limit };
    let strict = config.strict.map_or(usize::from(config.bands.is_empty()), |strict| strict as usize);
    let given = |index: usize| config.bands.get(index).and_then(|band| band.quantum);
    let quanta = (strict..bands.count()).map(|band| given(band).map_or(DEFAULT_QUANTUM, |quantum| quantum.0));
    let quanta: Vec<_> = quanta.map(|quantum| quantum.min(MOST_QUANTUM).to_string()).collect();
    let mut qdisc = Qdisc::new("ets").with("bands", bands.count());
    if strict > 0 {
        qdisc = qdisc.with("strict", strict);
    }
    if !quanta.is_empty() {
        qdisc = qdisc.with("quanta", quanta.join(" "));
    }
    let qdisc = qdisc.with("priomap", bands.priority_map()).note_if(
        bands.bands.iter().any(|(_, _, queue)| may_wait(*queue)),
        "While the queue of a band holds its packets back, Linux's ets sends nothing of the other bands that share.",
    );
    bands.commands(script, qdisc, |index| Port { rate: config.inner_rate(index, port.rate), ..port }, place);
}

impl Bands<'_> {
    fn count(&self) -> usize {
        if self.bands.is_empty() { DEFAULT_BANDS } else { self.bands.len() }
    }

    /// The band of each of Linux's 16 priorities. With a list, filters choose, and the map has the default.
    fn priority_map(&self) -> String {
        let default = self.bands.iter().position(|(name, ..)| Some(*name) == self.default.map(String::as_str));
        let default = default.unwrap_or(self.count() - 1);
        let map = if self.bands.is_empty() { PRIORITY_MAP } else { [default; 16] };
        map.map(|band| band.to_string()).join(" ")
    }

    fn commands(&self, script: &mut Script<'_>, qdisc: Qdisc, port: impl Fn(usize) -> Port, place: Place) {
        if self.count() > MOST_BANDS {
            let note = format!("{}: Linux has at most {MOST_BANDS} bands. A FIFO takes its place.", self.kind);
            script.qdisc(place, fifo(self.limit).note(note));
            return;
        }
        if self.bands.is_empty() {
            script.comment(
                "Linux takes the priority of a packet, by default that of its TOS, where the scenario takes the last \
                 four bits of the traffic class.",
            );
        } else if self.bands.iter().any(|(_, classes, _)| !classes.is_empty()) {
            script.explain_marks();
        }
        let handle = script.qdisc(place, qdisc);
        let no_band = ("", &[][..], None);
        for index in 0..self.count() {
            let (name, classes, queue) = self.bands.get(index).copied().unwrap_or(no_band);
            if !self.bands.is_empty() {
                script.comment(format!("Band {}", name.escape_debug()));
            }
            let place = Place::Class(handle, index + 1);
            match queue {
                Some(queue) => script.queue(queue, port(index), place),
                None => drop(script.qdisc(place, fifo(self.limit))),
            }
            script.filters(handle, index + 1, classes);
        }
    }
}
