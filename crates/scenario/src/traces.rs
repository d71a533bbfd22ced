//! Files with the rate of a link over time.
//!
//! Two formats are read. mahimahi's has a time in milliseconds in each line, at which 1504 bytes may leave. CSV has a
//! line of names and a line for each step, with the columns `duration_ms` and `bandwidth_kbps`; other columns are
//! skipped.

use forebay_document::{Invalid, Node, Path};

use crate::schema::MAHIMAHI_BYTES;

/// A trace as it is in a file.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceFile {
    /// Times in milliseconds, not decreasing, the last one above 0.
    Opportunities(Vec<u32>),
    /// Steps: how long each lasts in milliseconds, and its rate in kb/s.
    Steps(Vec<(f64, f64)>),
}

/// The longest step, in milliseconds.
const LONGEST_STEP_MS: f64 = 86_400_000.0;
/// The fastest rate, in kb/s.
const FASTEST_KBPS: f64 = 1e10;

impl TraceFile {
    /// Reads the text of a file: CSV if its first line has letters, else mahimahi's format.
    ///
    /// # Errors
    /// The first line that is wrong, with the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_csv = text.lines().next().is_some_and(|line| line.contains(|letter: char| letter.is_alphabetic()));
        if is_csv { Self::csv(text) } else { Self::mahimahi(text) }
    }

    fn mahimahi(text: &str) -> Result<Self, String> {
        let (mut times, mut last) = (Vec::new(), 0);
        for (line, number) in text.lines().zip(1_u64..) {
            let time: u32 = line
                .trim()
                .parse()
                .map_err(|_| format!("line {number} is {line:?}: expected a time in milliseconds, a whole number"))?;
            if time < last {
                return Err(format!("line {number} is {time}, after {last}: times must not decrease"));
            }
            last = time;
            times.push(time);
        }
        if last == 0 {
            return Err("it has no opportunity after 0 ms".to_owned());
        }
        Ok(Self::Opportunities(times))
    }

    fn csv(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().zip(1_u64..);
        let names = lines.next().map_or("", |(line, _)| line);
        let column = |name: &str| {
            let place = names.split(',').position(|column| column.trim() == name);
            place.ok_or_else(|| {
                format!(
                    "line 1 is {names:?}: expected a time in milliseconds (mahimahi's format) or the columns \
                     `duration_ms` and `bandwidth_kbps` (CSV)"
                )
            })
        };
        let columns = [column("duration_ms")?, column("bandwidth_kbps")?];
        let mut steps = Vec::new();
        for (line, number) in lines.filter(|(line, _)| !line.trim().is_empty()) {
            let value = |place: usize, most: f64| {
                let value = line.split(',').nth(place).and_then(|value| value.trim().parse().ok());
                value.filter(|value: &f64| (0.0..=most).contains(value))
            };
            let step = value(columns[0], LONGEST_STEP_MS).filter(|duration| *duration > 0.0);
            let step = step.zip(value(columns[1], FASTEST_KBPS)).ok_or_else(|| {
                format!(
                    "line {number} is {line:?}: expected a duration above 0 and up to a day, and a rate from 0 to 10 \
                     Tb/s"
                )
            })?;
            steps.push(step);
        }
        if steps.iter().all(|&(_, rate)| rate == 0.0) {
            return Err("it has no step with a rate above 0".to_owned());
        }
        Ok(Self::Steps(steps))
    }
}

/// More intervals are a slip of the finger.
const MOST_INTERVALS: f64 = 1e7;

/// Bits of an opportunity of mahimahi.
const OPPORTUNITY_BITS: f64 = 8.0 * MAHIMAHI_BYTES as f64;

/// A time in which a trace carries nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceOutage {
    /// Start, in seconds.
    pub from_s: f64,
    /// Length, in seconds.
    pub length_s: f64,
}

impl TraceFile {
    /// Seconds until the trace repeats.
    #[must_use]
    pub fn period_s(&self) -> f64 {
        match self {
            Self::Opportunities(times_ms) => times_ms.last().map_or(0.0, |&last| f64::from(last) / 1e3),
            Self::Steps(steps) => steps.iter().map(|(duration_ms, _)| duration_ms / 1e3).sum(),
        }
    }

    /// Bits that the trace carries in each interval of so many seconds. A shorter rest at its end counts in no
    /// interval.
    ///
    /// # Errors
    /// If the trace has no interval, or too many.
    pub fn bits(&self, interval_s: f64) -> Result<Vec<f64>, String> {
        // A rest that is a whole interval but for a rounding error counts.
        let intervals = self.period_s() / interval_s + 1e-9;
        if !(1.0..=MOST_INTERVALS).contains(&intervals) {
            let period_s = self.period_s();
            return Err(format!(
                "it lasts {period_s} s, and an interval {interval_s} s: expected 1 to {MOST_INTERVALS} of them"
            ));
        }
        let mut bits = vec![0.0; intervals as usize];
        match self {
            Self::Opportunities(times_ms) => {
                for &time_ms in times_ms {
                    // The bits at the end of an interval have been carried in it.
                    let interval = (f64::from(time_ms) / 1e3 / interval_s - 1e-9).max(0.0) as usize;
                    if let Some(bits) = bits.get_mut(interval) {
                        *bits += OPPORTUNITY_BITS;
                    }
                }
            }
            Self::Steps(steps) => {
                let mut from_s = 0.0;
                for (duration_ms, kbps) in steps {
                    let to_s = from_s + duration_ms / 1e3;
                    let (first, last) = ((from_s / interval_s) as usize, (to_s / interval_s) as usize);
                    for (interval, bits) in bits.iter_mut().enumerate().take(last + 1).skip(first) {
                        let (begin, end) = (interval as f64 * interval_s, (interval + 1) as f64 * interval_s);
                        *bits += (to_s.min(end) - from_s.max(begin)).max(0.0) * kbps * 1e3;
                    }
                    from_s = to_s;
                }
            }
        }
        Ok(bits)
    }

    /// The mean rate in bits per second.
    #[must_use]
    pub fn mean_bps(&self) -> f64 {
        let bits = match self {
            Self::Opportunities(times_ms) => OPPORTUNITY_BITS * times_ms.len() as f64,
            Self::Steps(steps) => steps.iter().map(|(duration_ms, kbps)| duration_ms * kbps).sum(),
        };
        bits / self.period_s()
    }

    /// The times without any capacity of at least so many seconds.
    #[must_use]
    pub fn outages(&self, least_s: f64) -> Vec<TraceOutage> {
        let mut outages = Vec::new();
        let mut end = |from_s: f64, to_s: f64| {
            if to_s - from_s >= least_s {
                outages.push(TraceOutage { from_s, length_s: to_s - from_s });
            }
        };
        match self {
            Self::Opportunities(times_ms) => {
                let mut before_s = 0.0;
                for &time_ms in times_ms {
                    let time_s = f64::from(time_ms) / 1e3;
                    end(before_s, time_s);
                    before_s = time_s;
                }
            }
            Self::Steps(steps) => {
                let (mut now_s, mut since_s) = (0.0, None);
                for (duration_ms, kbps) in steps {
                    if *kbps > 0.0 {
                        since_s.take().into_iter().for_each(|since_s| end(since_s, now_s));
                    } else {
                        since_s.get_or_insert(now_s);
                    }
                    now_s += duration_ms / 1e3;
                }
                since_s.into_iter().for_each(|since_s| end(since_s, now_s));
            }
        }
        outages
    }
}

/// Replaces the name of each link's trace file by its content, so that a scenario needs no other file from then on.
/// `read` returns the text of the file of that name, or the reason why it cannot be read.
///
/// # Errors
/// A file that cannot be read, or is no trace.
pub(crate) fn inline(root: &mut Node, read: &dyn Fn(&str) -> Result<String, String>) -> Result<(), Invalid> {
    let Some(topology) = root.at_mut(&["topology"]) else { return Ok(()) };
    topology.walk(&Path::default().key("topology"), &mut |table, path| {
        let Some(trace) = table.at_mut(&["trace"]) else { return Ok(()) };
        let Some(name) = trace.text("file").map(str::to_owned) else { return Ok(()) };
        let refused = |message: String, label: &str| Err(Invalid::new(path.key("trace.file"), message, label));
        let text = match read(&name) {
            Ok(text) => text,
            Err(error) => {
                let label = "expected a file, relative to the folder of the scenario";
                return refused(format!("cannot read `{name}`: {error}"), label);
            }
        };
        match TraceFile::parse(&text) {
            Ok(TraceFile::Opportunities(times)) => {
                let times = trace.list_of(times.into_iter().map(|time| trace.with_integer(i128::from(time))));
                let opportunities = trace.table_of([("times_ms", times)]);
                *trace = trace.table_of([("opportunities", opportunities)]);
            }
            Ok(TraceFile::Steps(steps)) => {
                let step = |(duration_ms, rate_kbps): (f64, f64)| {
                    let duration = trace.with_text(format!("{duration_ms} ms"));
                    trace.table_of([("duration", duration), ("rate", trace.with_text(format!("{rate_kbps} kbps")))])
                };
                let steps = trace.list_of(steps.into_iter().map(step));
                *trace = trace.table_of([("steps", steps)]);
            }
            Err(reason) => return refused(format!("`{name}` is no trace: {reason}"), "this file"),
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read() {
        assert_eq!(TraceFile::parse("0\n3\n3\n10\n"), Ok(TraceFile::Opportunities(vec![0, 3, 3, 10])));
        let csv = "latency_ms,duration_ms, bandwidth_kbps\n100,1013,1285\n100,8.5,0\n";
        assert_eq!(TraceFile::parse(csv), Ok(TraceFile::Steps(vec![(1013.0, 1285.0), (8.5, 0.0)])));
    }

    #[test]
    fn rates_and_outages_of_steps() {
        let trace = TraceFile::Steps(vec![(1500.0, 1000.0), (1000.0, 0.0), (200.0, 0.0), (1300.0, 3000.0)]);
        assert_eq!(trace.period_s(), 4.0);
        assert_eq!(trace.mean_bps(), (1500.0 * 1000.0 + 1300.0 * 3000.0) / 4.0);
        let bits = trace.bits(1.0).unwrap();
        let expected = [1e6, 0.5e6, 0.3 * 3e6, 3e6];
        assert!(bits.iter().zip(expected).all(|(bits, expected)| (bits - expected).abs() < 1e-3), "{bits:?}");
        assert_eq!(trace.bits(3.0).unwrap().len(), 1);
        assert!(trace.bits(4.1).is_err() && trace.bits(1e-9).is_err());
        let outage = TraceOutage { from_s: 1.5, length_s: 1.2 };
        let close =
            |one: &TraceOutage| (one.from_s - 1.5).abs() < 1e-9 && (one.length_s - outage.length_s).abs() < 1e-9;
        assert!(trace.outages(1.0).len() == 1 && close(&trace.outages(1.0)[0]));
        assert_eq!(trace.outages(1.3), []);
        let ends_down = TraceFile::Steps(vec![(500.0, 1.0), (700.0, 0.0)]);
        assert_eq!(ends_down.outages(0.7).len(), 1);
    }

    #[test]
    fn rates_and_outages_of_opportunities() {
        let trace = TraceFile::Opportunities(vec![500, 1000, 1000, 2000]);
        assert_eq!((trace.period_s(), trace.mean_bps()), (2.0, 4.0 * 1504.0 * 8.0 / 2.0));
        // Those at 1000 ms end the first second.
        assert_eq!(trace.bits(1.0), Ok(vec![3.0 * 12_032.0, 12_032.0]));
        assert_eq!(trace.outages(0.6), [TraceOutage { from_s: 1.0, length_s: 1.0 }]);
        assert_eq!(trace.outages(0.5).len(), 3);
    }

    #[test]
    fn what_is_no_trace_is_refused_by_its_line() {
        for (text, message) in [
            ("", "no opportunity after 0 ms"),
            ("0\n0\n", "no opportunity after 0 ms"),
            ("1\n\n2\n", "line 2 is \"\": expected a time"),
            ("5\n4\n", "line 2 is 4, after 5"),
            ("1\n-2\n", "line 2 is \"-2\""),
            ("time,rate\n1,2\n", "or the columns `duration_ms` and `bandwidth_kbps` (CSV)"),
            ("duration_ms,bandwidth_kbps\n0,5\n", "line 2 is \"0,5\": expected a duration above 0"),
            ("duration_ms,bandwidth_kbps\n1000\n", "line 2 is \"1000\""),
            ("duration_ms,bandwidth_kbps\n1000,NaN\n", "line 2"),
            ("duration_ms,bandwidth_kbps\n1000,0\n", "no step with a rate above 0"),
        ] {
            let error = TraceFile::parse(text).unwrap_err();
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }
}
