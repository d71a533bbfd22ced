//! CPU time and memory of a run. Only this part reads a clock, and no result depends on it.

use std::time::Duration;

#[cfg(not(target_family = "wasm"))]
use cpu_time::ThreadTime as Clock;
/// WebAssembly has no clock of CPU time: it is the time that passes.
#[cfg(target_family = "wasm")]
use web_time::Instant as Clock;

use crate::observe::machine::kibibytes;

/// Measures the CPU time of a thread.
pub struct Meter {
    since: Clock,
}

impl Meter {
    /// Starts at zero.
    #[must_use]
    pub fn start() -> Self {
        Self { since: Clock::now() }
    }

    /// The CPU time of this thread since the start. In a browser it is the time that has passed.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }
}

/// The largest resident set of the process so far in bytes; 0 where the system does not tell.
pub(crate) fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    kibibytes(&status, "VmHWM:").unwrap_or(0)
}
