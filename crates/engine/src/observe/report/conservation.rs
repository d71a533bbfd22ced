//! At the end of a run every packet must be accounted for.

use super::{PACKETS, Report};
use crate::error::RunError;
use crate::observe::flow_table::Passed;
use crate::observe::reported::ControlCount;

impl Report {
    /// Every packet sent, and every copy of one, must be received, dropped, lost, on a channel, or held by a queue or a
    /// node.
    pub(super) fn check_conservation(&self) -> Result<(), RunError> {
        if let Some(violation) = &self.violation {
            return Err(RunError::Invariant(violation.clone()));
        }
        self.check_control()?;
        let mut missing_in_all = 0;
        if self.links.missing > 0 {
            return Err(RunError::Invariant(format!("{} links have reported nothing", self.links.missing)));
        }
        for flow in 0..self.labels.len() {
            let passed = PACKETS.into_iter().zip(self.flows.passed(flow));
            for ((what, Passed { sent, received }), fate) in passed.zip(&self.fates[flow * 2..]) {
                let known = received + fate.dropped + fate.lost + fate.in_flight;
                let Some(missing) = (sent + fate.duplicated).checked_sub(known) else {
                    return Err(RunError::Invariant(format!(
                        "flow `{}`: {sent} {what} were sent and {} duplicated, but {known} are accounted for",
                        self.labels.name(flow),
                        fate.duplicated
                    )));
                };
                missing_in_all += missing;
            }
        }
        if missing_in_all == self.held {
            Ok(())
        } else {
            Err(RunError::Invariant(format!(
                "{missing_in_all} packets are neither received, dropped nor in flight, but the queues hold {}",
                self.held
            )))
        }
    }

    /// Every control frame must be received, lost, or on its way at the end.
    fn check_control(&self) -> Result<(), RunError> {
        let ControlCount { created, consumed, lost, held } = self.control;
        if created == consumed + lost + held {
            return Ok(());
        }
        Err(RunError::Invariant(format!(
            "{created} control frames were sent, but {consumed} came to their end, {lost} were lost and {held} are on \
             their way"
        )))
    }
}
