//! How far a run has come, and whether it is to go on.

use forebay_qdisc::Time;

use crate::error::RunError;

/// How much work passes between two calls of the run's control function, in packets or turns of nodes: some
/// milliseconds.
pub(crate) const WORK_PER_CHECK: u64 = 1 << 14;

/// How far a run has come.
pub(crate) struct Progress<'a> {
    /// Called from time to time with the part of the run that is done; answers whether to continue.
    control: &'a mut dyn FnMut(f64) -> bool,
    end: Time,
    /// Turns of nodes.
    pub events: u64,
    /// Work until the next call of `control`.
    until_check: u64,
}

impl<'a> Progress<'a> {
    pub fn new(control: &'a mut dyn FnMut(f64) -> bool, end: Time) -> Self {
        Self { control, end, events: 0, until_check: WORK_PER_CHECK }
    }

    /// Counts work, and asks from time to time whether to continue. An event is no measure of it: with few flows it may
    /// bring thousands of packets.
    ///
    /// # Errors
    /// If the answer is no.
    #[inline]
    pub fn count_work(&mut self, now: Time, work: u64) -> Result<(), RunError> {
        if let Some(left) = self.until_check.checked_sub(work) {
            self.until_check = left;
            return Ok(());
        }
        self.check(now)
    }

    #[cold]
    #[inline(never)]
    fn check(&mut self, now: Time) -> Result<(), RunError> {
        self.until_check = WORK_PER_CHECK;
        if (self.control)(now.seconds() / self.end.seconds()) { Ok(()) } else { Err(RunError::Stopped) }
    }
}
