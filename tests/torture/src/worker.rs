//! One process of a campaign: case after case until its time is over. A fault that it survives, a panic included, it
//! saves itself; of one that ends it (memory, time, stack) its case is left behind in its folder.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use serde_json::Value;

use crate::captures;
use crate::dice::Dice;
use crate::findings::{Finding, signature};
use crate::generate::{Generator, Reached};
use crate::guidance::Guidance;
use crate::judge::{self, Verdict};
use crate::mend::valid_scenario;
use crate::mutate;
use crate::schema::Schema;
use crate::text::{Text, remove};

/// No case takes more CPU time.
const LONGEST_CASE: Duration = Duration::from_secs(60);
/// A fault is made smaller for so long.
const LONGEST_SHRINKING: Duration = Duration::from_secs(20);
/// Faults of one kind that are saved.
const MOST_ALIKE: u64 = 2;
/// Valid scenarios and traces that are kept, to be damaged.
const KEPT: usize = 64;

/// The counters for each kind of case: one line of the report.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, serde::Serialize)]
pub struct Count {
    pub cases: u64,
    pub valid: u64,
    pub refused: u64,
    pub stopped: u64,
    pub faults: u64,
}

/// The report of a worker at its end, and at times before.
#[derive(Debug, Default, serde::Deserialize, serde::Serialize)]
pub struct Tally {
    pub counts: BTreeMap<String, Count>,
    /// Scenarios that were valid as they were drawn.
    pub valid_at_once: u64,
    /// Refusals until the others were.
    pub refusals: u64,
    pub reached: Reached,
}

/// The case.
pub struct Case {
    pub kind: &'static str,
    pub text: String,
    pub capture: Option<Vec<u8>>,
    /// The source of the text, if it may be made smaller.
    document: Option<Value>,
}

/// CPU time of the process in milliseconds when the case began.
static CASE_BEGAN: AtomicU64 = AtomicU64::new(0);
static PANIC: Mutex<String> = Mutex::new(String::new());

struct Worker<'s> {
    schema: &'s Schema,
    guidance: Guidance,
    tally: Tally,
    folder: PathBuf,
    alike: BTreeMap<String, u64>,
    valid: Vec<String>,
    traced: Vec<Vec<u8>>,
}

/// Works for so long, in a folder of its own within `out`.
pub fn work(seed: u64, seconds: u64, out: &Path, folder: PathBuf) -> std::io::Result<()> {
    let started = Instant::now();
    watch();
    fs::create_dir_all(&folder)?;
    let schema = Schema::of_scenarios();
    let mut worker = Worker {
        schema: &schema,
        guidance: Guidance::read(),
        tally: Tally::default(),
        folder,
        alike: BTreeMap::new(),
        valid: Vec::new(),
        traced: Vec::new(),
    };
    let mut told = Instant::now();
    for number in 0_u64.. {
        if started.elapsed() >= Duration::from_secs(seconds) {
            break;
        }
        worker.case(Dice::of_case(seed, number), out)?;
        if told.elapsed() > Duration::from_secs(2) {
            worker.tell()?;
            told = Instant::now();
        }
    }
    worker.tell()
}

fn cpu_time() -> Duration {
    ProcessTime::try_now().map_or(Duration::ZERO, |now| now.as_duration())
}

fn begin_case() {
    CASE_BEGAN.store(cpu_time().as_millis() as u64, Ordering::Relaxed);
}

/// Ends the process when a case takes too long, and keeps what a panic says.
pub fn watch() {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let began = Duration::from_millis(CASE_BEGAN.load(Ordering::Relaxed));
            if cpu_time() > began + LONGEST_CASE {
                eprintln!("no end after {} s", LONGEST_CASE.as_secs());
                std::process::exit(1);
            }
        }
    });
    std::panic::set_hook(Box::new(|panic| {
        if let Ok(mut kept) = PANIC.lock() {
            *kept = panic.to_string();
        }
        eprintln!("{panic}");
    }));
}

/// Judges a case; a panic is a fault like others.
pub fn judged(case: &Case, traces: &Path) -> Result<Verdict, String> {
    let verdict = caught(|| match &case.capture {
        Some(bytes) => captures::capture(&case.text, bytes),
        None => judge::scenario(&case.text, (case.kind == "scenario").then_some(traces)),
    });
    verdict.unwrap_or_else(Err)
}

/// The result, or the message of the panic.
pub fn caught<T>(it: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(it)).map_err(|_| PANIC.lock().map(|kept| kept.clone()).unwrap_or_default())
}

impl Case {
    pub fn new(kind: &'static str, text: String, capture: Option<Vec<u8>>) -> Self {
        Self { kind, text, capture, document: None }
    }
}

impl Worker<'_> {
    fn case(&mut self, mut dice: Dice, out: &Path) -> std::io::Result<()> {
        begin_case();
        let drawn = caught(|| match dice.below(8) {
            0 if !self.valid.is_empty() => {
                let text = mutate::damaged(&mut dice, &self.valid);
                (Case::new("text", text, None), None)
            }
            1 => {
                let bytes = captures::damaged(&mut dice, &self.traced);
                self.scenario(dice, Some(bytes))
            }
            _ => self.scenario(dice, None),
        });
        let (case, refused) = drawn.unwrap_or_else(|panic| (Case::new("scenario", String::new(), None), Some(panic)));
        if let Some(fault) = refused {
            return self.fault(case, fault, out);
        }
        Finding::of(&case, "the process ended").save(&self.folder, "current")?;
        let traces = self.folder.join("traces");
        fs::create_dir_all(&traces)?;
        match judged(&case, &traces) {
            Ok(verdict) => {
                let count = self.tally.counts.entry(case.kind.to_owned()).or_default();
                count.cases += 1;
                match verdict {
                    Verdict::Valid => count.valid += 1,
                    Verdict::Refused => count.refused += 1,
                    Verdict::Stopped => count.stopped += 1,
                }
                if verdict == Verdict::Valid && case.kind == "scenario" {
                    self.keep(&case, &traces)?;
                }
                fs::remove_dir_all(&traces)
            }
            Err(fault) => self.fault(case, fault, out),
        }
    }

    /// A scenario, or a port with a capture in front of it; and what is wrong with a refusal on the way, if anything
    /// is.
    fn scenario(&mut self, dice: Dice, capture: Option<Vec<u8>>) -> (Case, Option<String>) {
        let mut generator = Generator::new(self.schema, &self.guidance, &self.tally.reached, dice);
        let mended = match capture {
            None => valid_scenario(&mut generator),
            Some(_) => crate::mend::port(&mut generator),
        };
        let kind = if capture.is_some() { "capture" } else { "scenario" };
        if kind == "scenario" {
            self.tally.refusals += mended.refusals as u64;
            self.tally.valid_at_once += u64::from(mended.valid && mended.refusals == 0);
        }
        let case = Case { kind, text: mended.text, capture, document: Some(mended.document) };
        (case, mended.fault)
    }

    /// Remembers what a valid scenario reached, and keeps it and its traces to be damaged.
    fn keep(&mut self, case: &Case, traces: &Path) -> std::io::Result<()> {
        let reached = case.document.as_ref().map(|document| self.schema.walk(document).1);
        for place in reached.into_iter().flatten() {
            *self.tally.reached.entry(place).or_default() += 1;
        }
        let slot = self.tally.counts[case.kind].valid as usize % KEPT;
        put(&mut self.valid, slot, case.text.clone());
        for file in fs::read_dir(traces)? {
            put(&mut self.traced, slot, fs::read(file?.path())?);
        }
        Ok(())
    }

    /// Saves a case that broke a law: as it is, and then as small as it is found to be within some time.
    fn fault(&mut self, case: Case, fault: String, out: &Path) -> std::io::Result<()> {
        let count = self.tally.counts.entry(case.kind.to_owned()).or_default();
        count.cases += 1;
        count.faults += 1;
        let alike = self.alike.entry(signature(&fault)).or_default();
        *alike += 1;
        if *alike > MOST_ALIKE {
            return Ok(());
        }
        let name = Finding::of(&case, &fault).save_by_name(out)?;
        let Case { kind: kind @ "scenario", document: Some(document), .. } = case else { return Ok(()) };
        let traces = self.folder.join("traces");
        let (mut smallest, until) = (fault.clone(), Instant::now() + LONGEST_SHRINKING);
        let document = shrink(document, &mut |smaller| {
            begin_case();
            let case = Case::new(kind, Text::of(smaller).text, None);
            let failed = Instant::now() < until && fs::create_dir_all(&traces).is_ok();
            let fails = if failed { judged(&case, &traces).err() } else { None };
            let alike = fails.filter(|smaller| signature(smaller) == signature(&fault));
            alike.map(|fault| smallest = fault).is_some()
        });
        Finding::of(&Case::new(kind, Text::of(&document).text, None), &smallest).save(out, &name)
    }

    fn tell(&self) -> std::io::Result<()> {
        fs::write(self.folder.join("tally.json"), serde_json::to_string(&self.tally)?)
    }
}

fn put<T>(list: &mut Vec<T>, slot: usize, item: T) {
    match list.get_mut(slot) {
        Some(old) => *old = item,
        None => list.push(item),
    }
}

/// Leaves out all that can be left out while `fails` still reports a failure of the rest.
fn shrink(mut document: Value, fails: &mut dyn FnMut(&Value) -> bool) -> Value {
    loop {
        let mut smaller = false;
        for pointer in pointers(&document, "") {
            let mut candidate = document.clone();
            if remove(&mut candidate, &pointer) && fails(&candidate) {
                document = candidate;
                smaller = true;
            }
        }
        if !smaller {
            return document;
        }
    }
}

/// Pointers to all values within a value, outer ones first and of a list the last first.
fn pointers(value: &Value, pointer: &str) -> Vec<String> {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (format!("{pointer}/{key}"), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().rev().map(|(index, value)| (format!("{pointer}/{index}"), value)).collect()
        }
        _ => Vec::new(),
    };
    let inner = below.iter().flat_map(|(pointer, value)| pointers(value, pointer));
    below.iter().map(|(pointer, _)| pointer.clone()).chain(inner).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let document = json!({ "a": [1, 2, { "b": 3, "c": 4 }], "d": 5 });
        let small = shrink(document, &mut |smaller| smaller.to_string().contains("\"c\":4"));
        assert_eq!(small, json!({ "a": [{ "c": 4 }] }));
    }
}
