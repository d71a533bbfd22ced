//! The watchdog of PAUSE at a switch: finds classes that are stopped at an output without end.
//!
//! It looks at all outputs at regular times. A class that is stopped, has frames, and has sent none since the look
//! before is stuck; stuck for the time of detection it is in a storm. The storm is over when no PAUSE has stopped the
//! class for the time of restoration. This is the rule of SONiC's watchdog. There, packets that arrive by the port in
//! the class are dropped as well; here only those that would leave by it.

use forebay_qdisc::{Span, Time};
use forebay_switching::SharedMemory;

use crate::ethernet::class_turns::Classes;
use crate::ethernet::port::SwitchPort;
use crate::spec::WatchdogSpec;

#[derive(Debug)]
pub(crate) struct Watchdog {
    spec: WatchdogSpec,
    /// The time of the next look.
    next: Time,
    /// By output and class.
    queues: Vec<[State; SharedMemory::CLASSES]>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Stuck for so long.
    Usual(Span),
    /// In a storm, and without PAUSE for so long.
    Storm(Span),
}

impl Watchdog {
    pub fn new(spec: WatchdogSpec, ports: usize) -> Self {
        let queues = vec![[State::Usual(Span::ZERO); SharedMemory::CLASSES]; ports];
        Self { spec, next: Time::ZERO + spec.poll, queues }
    }

    pub fn next_look(&self) -> Time {
        self.next
    }

    /// Looks at all outputs, whose departures up to `now` must have been released, and sets their classes in a storm.
    /// Returns the outputs where these have changed.
    pub fn look(&mut self, ports: &mut [SwitchPort], now: Time) -> Vec<usize> {
        let spec = self.spec;
        self.next = now + spec.poll;
        let mut changed = Vec::new();
        for ((number, port), states) in ports.iter_mut().enumerate().zip(&mut self.queues) {
            let (stopped, heard) = (!port.control.obeyed.free_classes(now), port.control.obeyed.take_heard());
            let stuck = stopped & port.occupied() & !port.classes_sent(now, spec.poll);
            let before = port.control.storms;
            for (class, state) in (0..SharedMemory::CLASSES as u8).zip(states) {
                let has = |classes: Classes| classes & 1 << class != 0;
                *state = match *state {
                    State::Usual(_) if !has(stuck) => State::Usual(Span::ZERO),
                    State::Usual(time) if time + spec.poll < spec.detection => State::Usual(time + spec.poll),
                    State::Usual(_) => State::Storm(Span::ZERO),
                    State::Storm(_) if has(stopped | heard) => State::Storm(Span::ZERO),
                    State::Storm(time) if time + spec.poll < spec.restoration => State::Storm(time + spec.poll),
                    State::Storm(_) => State::Usual(Span::ZERO),
                };
                port.control.set_storm(class, matches!(state, State::Storm(_)), now);
            }
            if !spec.drops {
                port.control.obeyed.ignore(port.control.storms, now);
            }
            changed.extend((port.control.storms != before).then_some(number));
        }
        changed
    }

    /// Whether frames of a class in a storm are dropped.
    pub fn drops(&self) -> bool {
        self.spec.drops
    }
}
