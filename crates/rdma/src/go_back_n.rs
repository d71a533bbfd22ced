//! The receiver of go-back-N: keeps nothing out of order, and asks once for what is missing.
//!
//! Source: ReceiverCheckSeq of HPCC's and ConWeave's simulators; InfiniBand, volume 1, C9-110.

use forebay_units::{Span, Time};

use crate::roce::{Reply, ReplyKind, RoceConfig};

/// Notifies of marks, at most once in an interval (the notification point of DCQCN).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Notifier(Option<Time>);

impl Notifier {
    pub fn notifies(&mut self, is_marked: bool, now: Time, interval: Span) -> bool {
        let is_due = self.0.is_none_or(|last| now.since(last) >= interval);
        if is_marked && is_due {
            self.0 = Some(now);
        }
        is_marked && is_due
    }
}

/// The receiver of a queue pair with go-back-N.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoBackNReceiver {
    expected: u64,
    /// The last NACK: the byte that it asked for, and the end of the interval without another.
    nack: Option<(u64, Time)>,
    notifier: Notifier,
}

impl GoBackNReceiver {
    /// The first byte that is missing.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// A data packet has arrived.
    pub fn on_data(&mut self, sequence: u64, bytes: u32, is_marked: bool, now: Time, config: &RoceConfig) -> Reply {
        let end = sequence + u64::from(bytes);
        let mut reply =
            Reply { kind: ReplyKind::None, cumulative: self.expected, selective: None, notifies: false, new_bytes: 0 };
        if sequence > self.expected {
            let is_repeated = self.nack.is_some_and(|(asked, until)| asked == self.expected && now < until);
            if !is_repeated {
                self.nack = Some((self.expected, now.saturating_add(config.nack_interval)));
                reply.kind = ReplyKind::Nack;
                reply.notifies = config.notifies_out_of_order;
            }
        } else if end > self.expected {
            reply.kind = ReplyKind::Ack;
            reply.new_bytes = end - self.expected;
            self.expected = end;
            reply.cumulative = end;
        } else if config.acknowledges_duplicates {
            reply.kind = ReplyKind::Ack;
        }
        // Without an interval, the notification is a bit of the reply.
        if reply.kind != ReplyKind::None || config.notification_interval > Span::ZERO {
            reply.notifies |= self.notifier.notifies(is_marked, now, config.notification_interval);
        }
        reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    #[test]
    fn a_gap_is_reported_once_in_an_interval() {
        let (mut receiver, config) = (GoBackNReceiver::default(), RoceConfig::default());
        let mut kinds = |sequence, microseconds| {
            let reply = receiver.on_data(sequence, 1_000, false, at(microseconds), &config);
            (reply.kind, reply.cumulative, reply.notifies)
        };
        assert_eq!(kinds(0, 0), (ReplyKind::Ack, 1_000, false));
        assert_eq!(kinds(2_000, 1), (ReplyKind::Nack, 1_000, true));
        assert_eq!(kinds(3_000, 500), (ReplyKind::None, 1_000, false));
        assert_eq!(kinds(3_000, 501), (ReplyKind::Nack, 1_000, true));
        assert_eq!(kinds(1_000, 502), (ReplyKind::Ack, 2_000, false));
        // Another gap is reported at once; data that is known is acknowledged.
        assert_eq!(kinds(3_000, 503), (ReplyKind::Nack, 2_000, true));
        assert_eq!(kinds(0, 504), (ReplyKind::Ack, 2_000, false));
    }

    #[test]
    fn hpccs_simulator_drops_duplicates_and_notifies_of_marks_only() {
        let config =
            RoceConfig { acknowledges_duplicates: false, notifies_out_of_order: false, ..RoceConfig::default() };
        let mut receiver = GoBackNReceiver::default();
        assert!(receiver.on_data(0, 1_000, true, at(0), &config).notifies);
        let duplicate = receiver.on_data(0, 1_000, true, at(1), &config);
        assert_eq!((duplicate.kind, duplicate.notifies, duplicate.new_bytes), (ReplyKind::None, false, 0));
        assert!(!receiver.on_data(5_000, 1_000, false, at(1), &config).notifies);
    }

    #[test]
    fn an_interval_limits_notifications() {
        let config = RoceConfig { notification_interval: Span::from_microseconds(50), ..RoceConfig::default() };
        let mut receiver = GoBackNReceiver::default();
        let notified = [(0, true), (49, true), (50, false), (51, true), (52, true), (101, true)]
            .map(|(microseconds, mark)| receiver.on_data(0, 1_000, mark, at(microseconds), &config).notifies);
        assert_eq!(notified, [true, false, false, true, false, true]);
    }
}
