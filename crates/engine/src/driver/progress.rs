//! The progress of a run, reported to a control function that may stop it.

use forebay_qdisc::Time;

use crate::driver::node::Node;
use crate::error::RunError;

/// Packets or turns of nodes between two calls of the control function: some milliseconds.
pub(crate) const WORK_PER_CHECK: u64 = 1 << 14;

/// See [`Progress`].
pub(crate) type Control<'a> = dyn FnMut(f64, &[Option<Box<dyn Node>>]) -> bool + 'a;

pub(crate) struct Progress<'a> {
    /// Receives the part of the run that is done, and the nodes where these are on one thread; returns whether to
    /// continue.
    control: &'a mut Control<'a>,
    pub end: Time,
    /// Turns of nodes.
    pub events: u64,
    until_check: u64,
}

impl<'a> Progress<'a> {
    pub fn new(control: &'a mut Control<'a>, end: Time) -> Self {
        Self { control, end, events: 0, until_check: WORK_PER_CHECK }
    }

    /// Counts work and at times asks whether to continue. A turn may bring thousands of packets, so turns are no
    /// measure.
    ///
    /// # Errors
    /// If the answer is no.
    #[inline]
    pub fn count_work(&mut self, now: Time, work: u64, nodes: &[Option<Box<dyn Node>>]) -> Result<(), RunError> {
        if let Some(left) = self.until_check.checked_sub(work) {
            self.until_check = left;
            return Ok(());
        }
        self.check(now, nodes)
    }

    #[cold]
    #[inline(never)]
    fn check(&mut self, now: Time, nodes: &[Option<Box<dyn Node>>]) -> Result<(), RunError> {
        self.until_check = WORK_PER_CHECK;
        if (self.control)(now.seconds() / self.end.seconds(), nodes) { Ok(()) } else { Err(RunError::Stopped) }
    }
}
