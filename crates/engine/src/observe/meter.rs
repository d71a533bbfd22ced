//! CPU time and memory of a run. Only this part reads a clock, and no result depends on it.

use cpu_time::ThreadTime;

use crate::observe::machine::kibibytes;

pub(crate) struct Meter {
    since: ThreadTime,
}

impl Meter {
    pub fn start() -> Self {
        Self { since: ThreadTime::now() }
    }

    /// CPU seconds of this thread since the start.
    pub fn cpu_s(&self) -> f64 {
        self.since.elapsed().as_secs_f64()
    }
}

/// The largest resident set of the process so far in bytes; 0 where the system does not tell.
pub(crate) fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    kibibytes(&status, "VmHWM:").unwrap_or(0)
}
