//! PAUSE at a port: its orders to its neighbour, and those that it obeys.

use forebay_qdisc::{Rate, Span, Time};
use forebay_switching::{PauseConfig, PauseLevel, PauseReceiver, PauseSender, SharedMemory};

use crate::driver::ring::Ring;
use crate::ethernet::class_turns::Classes;
use crate::ethernet::control::PauseFrame;
use crate::observe::deadlock::Stops;
use crate::observe::pause_recorder::PauseRecorder;
use crate::observe::watched::PauseLog;
use crate::spec::{FlowControl, Watch};

/// The classes of IEEE 802.1Q, one bit each.
pub(crate) const EVERY_CLASS: Classes = 0xff;

/// Decides when the feeder of a buffer must stop and may continue.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct PauseTx {
    /// Below this use of the buffer nothing is stopped.
    high: u64,
    /// The time at which to repeat a PAUSE frame. [`Time::NEVER`] while nothing is stopped.
    poll_at: Time,
    any_pending: bool,
    /// `None` without them: [`PauseTx::decide`] is called in place of [`PauseTx::watch`].
    watermarks: Option<PauseConfig>,
    /// Classes of which memory has been released while a feeder was stopped, since [`PauseTx::take_released`].
    released: Classes,
    /// One for all classes, or one per class. Empty without flow control.
    senders: Vec<PauseSender>,
    /// For each sender, the pause time to be sent.
    pending: Vec<Option<u16>>,
}

impl PauseTx {
    /// The buffer is fed by a link of this rate.
    pub fn new(flow_control: FlowControl, rate: Rate) -> Self {
        let (watermarks, high) = match flow_control {
            FlowControl::None => (None, u64::MAX),
            FlowControl::Pause(config) | FlowControl::Priority(config) => (Some(config), config.high.0),
            FlowControl::OfBuffer { .. } => (None, 0),
        };
        let senders = match flow_control {
            FlowControl::None => 0,
            _ if flow_control.is_by_class() => SharedMemory::CLASSES,
            _ => 1,
        };
        Self {
            high,
            poll_at: Time::NEVER,
            any_pending: false,
            watermarks,
            released: 0,
            senders: vec![PauseSender::new(rate); senders],
            pending: vec![None; senders],
        }
    }

    /// To be called after each change of the buffer and at [`PauseTx::poll_at`]. The buffer holds `used` bytes, of
    /// these `of_class` of `class`.
    #[inline]
    pub fn watch(&mut self, class: usize, used: u64, of_class: u64, now: Time) {
        if used >= self.high || self.poll_at < Time::NEVER {
            self.order(class, used, of_class, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn order(&mut self, class: usize, used: u64, of_class: u64, now: Time) {
        let used = if self.senders.len() == 1 { used } else { of_class };
        if let Some(watermarks) = self.watermarks {
            self.decide(class, watermarks.level(used), now);
        }
    }

    /// The buffer is at this level in `class`.
    pub fn decide(&mut self, class: usize, level: PauseLevel, now: Time) {
        let index = if self.senders.len() == 1 { 0 } else { class };
        if let Some(sender) = self.senders.get_mut(index)
            && let Some(quanta) = sender.update(level, now)
        {
            self.pending[index] = Some(quanta);
            self.any_pending = true;
            self.poll_at = self.senders.iter().map(PauseSender::poll_at).min().unwrap_or(Time::NEVER);
        }
    }

    /// Memory of a class has been released. Returns whether the feeder may wait for that.
    pub fn note_release(&mut self, class: usize) -> bool {
        self.released |= u8::from(self.has_stopped()) << class;
        self.has_stopped()
    }

    /// Whether a feeder may wait for a look at [`PauseTx::take_released`].
    pub fn has_released(&self) -> bool {
        self.released != 0
    }

    /// The classes for which to decide whether the feeder may continue.
    pub fn take_released(&mut self) -> Classes {
        std::mem::take(&mut self.released)
    }

    /// Below this use of the buffer [`PauseTx::watch`] does nothing.
    pub fn watches_from(&self) -> u64 {
        if self.has_stopped() { 0 } else { self.high }
    }

    #[inline]
    pub fn is_pending(&self) -> bool {
        self.any_pending
    }

    /// Takes the next PAUSE frame. One frame serves all classes with the same pause time.
    #[cold]
    #[inline(never)]
    pub fn take(&mut self) -> Option<PauseFrame> {
        // Stop goes before continue: a late continue loses no frame.
        let quanta = self.pending.iter().flatten().copied().max()?;
        let mut classes = 0;
        for (class, order) in self.pending.iter_mut().enumerate() {
            if *order == Some(quanta) {
                *order = None;
                classes |= 1 << class;
            }
        }
        self.any_pending = self.pending.iter().any(Option::is_some);
        Some(PauseFrame { classes: if self.pending.len() == 1 { EVERY_CLASS } else { classes }, quanta })
    }

    /// Whether any class of the feeder is stopped.
    #[inline]
    pub fn has_stopped(&self) -> bool {
        self.poll_at < Time::NEVER
    }

    /// The stopped classes, with the bytes that the buffer must release before they continue.
    pub fn stops(&self, excess: u64, excess_of_class: impl Fn(usize) -> u64) -> Stops {
        let is_stopped = |class: usize| self.senders[class].is_pausing();
        if self.senders.len() < SharedMemory::CLASSES {
            return Stops::Link(self.has_stopped().then_some(excess));
        }
        Stops::Classes(std::array::from_fn(|class| is_stopped(class).then(|| excess_of_class(class))))
    }

    #[inline]
    pub fn poll_at(&self) -> Time {
        self.poll_at
    }
}

/// The state of a port that its neighbour can pause.
#[derive(Debug)]
pub(crate) struct PauseRx {
    /// One for all classes, or one per class.
    receivers: Vec<PauseReceiver>,
    /// When the last pause of any class ends.
    stopped_until: Time,
    /// Delay from the arrival of a PAUSE frame to its effect.
    reaction: Span,
    /// Classes that are not stopped, whatever PAUSE frames say.
    ignored: Classes,
    /// Classes that PAUSE frames have stopped since [`PauseRx::take_heard`].
    heard: Classes,
    /// PAUSE frames that have no effect yet, with the time of their effect.
    coming: Ring<(Time, PauseFrame)>,
    /// Records the pauses, if that is asked for.
    recorder: Option<Box<PauseRecorder>>,
}

impl PauseRx {
    /// The port sends at this rate. `by_class`: its neighbour may stop single classes.
    pub fn new(by_class: bool, rate: Rate, reaction: Span) -> Self {
        let receivers = if by_class { SharedMemory::CLASSES } else { 1 };
        Self {
            receivers: vec![PauseReceiver::new(rate); receivers],
            stopped_until: Time::ZERO,
            reaction,
            ignored: 0,
            heard: 0,
            coming: Ring::default(),
            recorder: None,
        }
    }

    /// The same, with a record of its pauses if there is a watch.
    pub fn watched(mut self, watch: Option<&Watch>) -> Self {
        let receivers = self.receivers.len();
        self.recorder = watch.map(|watch| Box::new(PauseRecorder::new(watch, receivers)));
        self
    }

    /// The record of the pauses of `link` at the end of the run.
    pub fn take_log(&mut self, link: &str, end: Time) -> Option<PauseLog> {
        self.recorder.take()?.close(link, self.receivers.iter().map(PauseReceiver::until), end)
    }

    pub fn receive(&mut self, order: PauseFrame, now: Time) {
        self.coming.push((now + self.reaction, order));
        self.obey(now);
    }

    /// When the next PAUSE frame takes effect.
    #[inline]
    pub fn next_order(&self) -> Time {
        self.coming.front().map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Applies the PAUSE frames that take effect by `now`.
    #[cold]
    pub fn obey(&mut self, now: Time) {
        while let Some(&(at, order)) = self.coming.front()
            && at <= now
        {
            self.coming.pop();
            let classes = if self.receivers.len() == 1 { EVERY_CLASS } else { order.classes };
            self.heard |= if order.quanta > 0 { classes } else { 0 };
            self.apply(classes & !self.ignored, order.quanta, now);
        }
    }

    /// A pause time holds for `classes` from `now` on.
    fn apply(&mut self, classes: Classes, quanta: u16, now: Time) {
        for (class, receiver) in self.receivers.iter_mut().enumerate() {
            if classes & 1 << class != 0 {
                let before = receiver.until();
                receiver.receive(quanta, now);
                if let Some(recorder) = &mut self.recorder {
                    recorder.order(class, before, receiver.until(), now);
                }
            }
        }
        self.stopped_until = self.receivers.iter().map(PauseReceiver::until).max().unwrap_or(now);
    }

    /// From `now` on only these classes send whatever PAUSE frames say.
    pub fn ignore(&mut self, classes: Classes, now: Time) {
        let classes = if self.receivers.len() == 1 && classes != 0 { EVERY_CLASS } else { classes };
        let more = classes & !std::mem::replace(&mut self.ignored, classes);
        if more != 0 {
            self.apply(more, PauseSender::GO, now);
        }
    }

    /// The classes that PAUSE frames have stopped since the call before.
    pub fn take_heard(&mut self) -> Classes {
        std::mem::take(&mut self.heard)
    }

    /// Whether every class may send.
    #[inline]
    pub fn is_free(&self, now: Time) -> bool {
        now >= self.stopped_until
    }

    /// When every class may send, unless another PAUSE frame arrives.
    #[inline]
    pub fn free_from(&self) -> Time {
        self.stopped_until
    }

    #[inline]
    pub fn free_classes(&self, now: Time) -> u8 {
        if now >= self.stopped_until { EVERY_CLASS } else { self.free_while_stopped(now) }
    }

    #[cold]
    fn free_while_stopped(&self, now: Time) -> u8 {
        if let [receiver] = &self.receivers[..] {
            return if receiver.may_send(now) { EVERY_CLASS } else { 0 };
        }
        let receivers = self.receivers.iter().enumerate();
        receivers.fold(0, |classes, (class, receiver)| classes | u8::from(receiver.may_send(now)) << class)
    }

    /// When the next stopped class may send, unless another PAUSE frame arrives.
    #[inline(never)]
    pub fn next_freedom(&self, now: Time) -> Time {
        let stopped = self.receivers.iter().map(PauseReceiver::until).filter(|&until| until > now);
        stopped.min().unwrap_or(Time::NEVER)
    }

    /// Total pause time up to `now`.
    pub fn stopped(&mut self, now: Time) -> Stopped {
        let mut stopped = Stopped::default();
        for (of_class, receiver) in stopped.0.iter_mut().zip(&mut self.receivers) {
            *of_class = receiver.stopped(now);
        }
        stopped
    }
}

/// Pause time of each class; without classes only that of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stopped([Span; SharedMemory::CLASSES]);

impl Stopped {
    /// The pause time since then of the class that has been stopped longest since then.
    pub fn longest_since(self, before: Self) -> Span {
        let since = self.0.iter().zip(before.0).map(|(now, before)| now.saturating_sub(before));
        since.max().unwrap_or(Span::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use forebay_switching::PauseConfig;
    use forebay_units::Bytes;

    use super::*;

    const CONFIG: PauseConfig = PauseConfig { high: Bytes(10_000), low: Bytes(5000) };
    const RATE: Rate = Rate::megabits(10_000);

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Span::from_nanoseconds(nanoseconds)
    }

    #[test]
    fn one_buffer_stops_every_class_at_the_high_mark_and_frees_it_at_the_low_one() {
        let mut orders = PauseTx::new(FlowControl::Pause(CONFIG), RATE);
        orders.watch(3, 9999, 0, at(0));
        assert!(!orders.is_pending());
        orders.watch(3, 10_000, 0, at(1));
        assert_eq!(orders.take(), Some(PauseFrame { classes: 0xff, quanta: PauseSender::STOP }));
        assert!(!orders.is_pending() && orders.poll_at() > at(1));
        orders.watch(3, 5001, 0, at(2));
        assert!(!orders.is_pending());
        orders.watch(3, 5000, 0, at(3));
        assert_eq!(orders.take(), Some(PauseFrame { classes: 0xff, quanta: PauseSender::GO }));
        assert_eq!(orders.poll_at(), Time::NEVER);
    }

    #[test]
    fn classes_stop_alone_and_are_told_together() {
        let mut orders = PauseTx::new(FlowControl::Priority(CONFIG), RATE);
        orders.watch(1, 30_000, 10_000, at(0));
        orders.watch(2, 30_000, 9000, at(0));
        orders.watch(5, 30_000, 11_000, at(0));
        assert_eq!(orders.take(), Some(PauseFrame { classes: 0b10_0010, quanta: PauseSender::STOP }));
        orders.watch(5, 20_000, 1000, at(0));
        assert_eq!(orders.take(), Some(PauseFrame { classes: 0b10_0000, quanta: PauseSender::GO }));
        assert_eq!(orders.take(), None);
    }

    #[test]
    fn an_order_holds_after_the_time_of_reaction() {
        let mut obeyed = PauseRx::new(true, RATE, Span::from_nanoseconds(100));
        // Two quanta are 102.4 ns.
        obeyed.receive(PauseFrame { classes: 0b10, quanta: 2 }, at(1000));
        assert_eq!((obeyed.free_classes(at(1099)), obeyed.next_order()), (0xff, at(1100)));
        obeyed.obey(at(1100));
        assert_eq!((obeyed.free_classes(at(1100)), obeyed.next_order()), (0b1111_1101, Time::NEVER));
        assert_eq!(obeyed.next_freedom(at(1100)), at(1202) + Span::from_picoseconds(400));
        assert_eq!(obeyed.free_classes(at(1203)), 0xff);
        let stopped = obeyed.stopped(at(2000));
        assert_eq!(stopped.longest_since(Stopped::default()), Span::from_picoseconds(102_400));
        // Another class for less time; since the first measurement it is the only one.
        obeyed.receive(PauseFrame { classes: 0b1000, quanta: 1 }, at(3000));
        obeyed.obey(at(3100));
        let later = obeyed.stopped(at(4000));
        assert_eq!(later.longest_since(stopped), Span::from_picoseconds(51_200));
        assert_eq!(later.longest_since(Stopped::default()), Span::from_picoseconds(102_400));
    }
}
