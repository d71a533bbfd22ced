//! Records the phases of a crossbar.

use forebay_qdisc::Time;
use forebay_switching::Matching;

use crate::observe::watched::CrossbarLog;
use crate::spec::{Inputs, Watch};

/// The log of a crossbar while it fills.
pub(crate) struct PhaseRecorder {
    from: Time,
    to: Time,
    most_phases: usize,
    log: CrossbarLog,
}

impl PhaseRecorder {
    pub fn new(watch: &Watch, node: &str, ports: usize) -> Self {
        let (times, matchings, lengths) = (Vec::new(), Vec::new(), Vec::new());
        let log = CrossbarLog { node: node.to_owned(), ports, times, matchings, lengths, is_cut: false };
        Self { from: watch.from, to: watch.to, most_phases: watch.most / ports, log }
    }

    /// Inputs have been matched to outputs at `now`; nothing has crossed yet.
    #[cold]
    #[inline(never)]
    pub fn phase(&mut self, now: Time, waiting: &Inputs, matching: &Matching) {
        if now < self.from || now > self.to {
            return;
        }
        let CrossbarLog { ports, times, matchings, lengths, is_cut, .. } = &mut self.log;
        if times.len() >= self.most_phases {
            *is_cut = true;
            return;
        }
        times.push(now);
        for input in 0..*ports {
            let first = lengths.len();
            match waiting {
                Inputs::VirtualOutputQueues(queues, _) => {
                    let length = |output| u16::try_from(queues.occupancy().length(input, output)).unwrap_or(u16::MAX);
                    lengths.extend((0..*ports).map(length));
                }
                Inputs::Fifos(queues) => {
                    lengths.resize(first + *ports, 0);
                    for output in queues.outputs(input) {
                        let length = &mut lengths[first + output];
                        *length = length.saturating_add(1);
                    }
                }
            }
            matchings.push(matching.output_of(input).map_or(-1, |output| output as i16));
        }
    }

    pub fn close(self) -> CrossbarLog {
        self.log
    }
}
