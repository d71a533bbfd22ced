//! A campaign: workers in processes of their own, what they leave behind, and the report.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::findings::Finding;
use crate::schema::Schema;
use crate::worker::Tally;

/// The most memory that a worker may ask for.
const MEMORY_KIB: u64 = 4 << 20;

/// The settings of a campaign.
pub struct Campaign {
    pub seconds: u64,
    pub jobs: u64,
    pub seed: u64,
    pub out: PathBuf,
    /// Whether it fails when valid scenarios did not reach every place of the schema.
    pub all_places: bool,
}

impl Default for Campaign {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
        Self { seconds: 300, jobs, seed: 1, out: "out/torture".into(), all_places: false }
    }
}

impl Campaign {
    /// Runs it, and tells whether nothing was found.
    pub fn run(&self) -> io::Result<bool> {
        fs::create_dir_all(&self.out)?;
        for file in fs::read_dir(&self.out)? {
            let path = file?.path();
            let worker = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("worker-"));
            if worker && path.is_dir() {
                fs::remove_dir_all(path)?;
            }
        }
        let before = self.findings()?;
        eprintln!("torture: {} s, {} workers, seed {}", self.seconds, self.jobs, self.seed);
        let tallies: Vec<io::Result<Vec<Tally>>> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs).map(|job| scope.spawn(move || self.job(job))).collect();
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Ok(Vec::new()))).collect()
        });
        let mut all = Tally::default();
        for tallies in tallies {
            tallies?.into_iter().for_each(|tally| all.add(tally));
        }
        let findings: Vec<PathBuf> = self.findings()?.into_iter().filter(|path| !before.contains(path)).collect();
        report(&all, &findings, self.all_places)
    }

    /// One worker after the other until the time is over: the next one when a case has ended the one before it.
    fn job(&self, job: u64) -> io::Result<Vec<Tally>> {
        let until = Instant::now() + Duration::from_secs(self.seconds);
        let program = program()?;
        let mut tallies = Vec::new();
        for life in 0_u64.. {
            let left = until.saturating_duration_since(Instant::now()).as_secs();
            if left == 0 {
                break;
            }
            let folder = self.out.join(format!("worker-{job}-{life}"));
            fs::create_dir_all(&folder)?;
            // Far from the seeds of other jobs and lives.
            let seed = self.seed.wrapping_add((job << 32) + (life << 48));
            let status = Command::new("sh")
                .args(["-c", &format!("ulimit -v {MEMORY_KIB} 2> /dev/null; exec \"$0\" \"$@\"")])
                .arg(&program)
                .args(["--seconds", &left.to_string(), "--seed", &seed.to_string()])
                .arg("--out")
                .arg(&self.out)
                .arg("--worker")
                .arg(&folder)
                .stdin(Stdio::null())
                .stderr(File::create(folder.join("stderr.txt"))?)
                .status()?;
            let tally = fs::read_to_string(folder.join("tally.json")).unwrap_or_default();
            tallies.push(serde_json::from_str(&tally).unwrap_or_default());
            if status.success() {
                break;
            }
            let said = fs::read_to_string(folder.join("stderr.txt"))?;
            let last = said.lines().last().unwrap_or("the process said nothing");
            let case = Finding::read(&folder, "current")?;
            Finding::of(&case, &format!("{last} ({status})")).save_by_name(&self.out)?;
        }
        Ok(tallies)
    }

    fn findings(&self) -> io::Result<Vec<PathBuf>> {
        let files: io::Result<Vec<PathBuf>> = fs::read_dir(&self.out)?.map(|file| Ok(file?.path())).collect();
        let mut findings = files?;
        findings.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
        findings.sort();
        Ok(findings)
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        for (kind, count) in other.counts {
            let sum = self.counts.entry(kind).or_default();
            sum.cases += count.cases;
            sum.valid += count.valid;
            sum.refused += count.refused;
            sum.stopped += count.stopped;
            sum.faults += count.faults;
        }
        self.valid_at_once += other.valid_at_once;
        self.refusals += other.refusals;
        for (place, times) in other.reached {
            *self.reached.entry(place).or_default() += times;
        }
    }
}

/// This very program, even if a build has replaced its file meanwhile.
fn program() -> io::Result<PathBuf> {
    let own = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    if own.exists() { Ok(own) } else { std::env::current_exe() }
}

/// Prints what was done and found; whether that is nothing bad.
fn report(tally: &Tally, findings: &[PathBuf], all_places: bool) -> io::Result<bool> {
    println!("{:<10} {:>9} {:>9} {:>9} {:>9} {:>7}", "", "cases", "valid", "refused", "too long", "faults");
    for (kind, count) in &tally.counts {
        let row = [count.cases, count.valid, count.refused, count.stopped];
        let [cases, valid, refused, stopped] = row.map(|number| format!("{number:>9}"));
        println!("{kind:<10} {cases} {valid} {refused} {stopped} {:>7}", count.faults);
    }
    if let Some(count) = tally.counts.get("scenario") {
        let percent = |part: u64| 100.0 * part as f64 / count.cases.max(1) as f64;
        println!(
            "{:.1} % of the scenarios ran, {:.1} % as they were drawn, the others after {} refusals",
            percent(count.valid),
            percent(tally.valid_at_once),
            tally.refusals
        );
    }
    let schema = Schema::of_scenarios();
    let places = schema.places();
    let missed: Vec<&String> = places.iter().filter(|place| !tally.reached.contains_key(*place)).collect();
    println!("valid scenarios reached {} of the schema's {} places", places.len() - missed.len(), places.len());
    if !missed.is_empty() {
        println!("not reached: {}", missed.iter().map(|place| place.as_str()).collect::<Vec<_>>().join(", "));
    }
    for finding in findings {
        println!("\n{}\n{}", finding.display(), fs::read_to_string(finding)?.trim_end());
    }
    println!("{} findings", findings.len());
    Ok(findings.is_empty() && (missed.is_empty() || !all_places))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guidance::Guidance;

    #[test]
    fn the_guidance_names_places_of_the_schema() {
        let places = Schema::of_scenarios().places();
        let unknown: Vec<String> = Guidance::read()
            .places()
            .filter(|place| !places.contains(place.trim_end_matches("[]")))
            .map(str::to_owned)
            .collect();
        assert_eq!(unknown, Vec::<String>::new());
    }
}
