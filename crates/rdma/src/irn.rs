//! IRN's selective repeat: the receiver keeps packets out of order, the sender repeats what is missing.
//!
//! Source: Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, in the form of ConWeave's simulator.
//! There a recovery repeats everything that no NACK has reported yet, not only what precedes a reported packet as in
//! the paper.
//!
//! # Where we differ
//! The sender keeps the ranges that NACKs reported until the cumulative ACK passes them. The source drops a range when
//! it skips it, and repeats its data after a timeout.

use forebay_units::{Ranges, Time};

use crate::go_back_n::Notifier;
use crate::roce::{Acknowledgement, Reply, ReplyKind, RoceConfig};

/// The receiver of a queue pair with IRN.
#[derive(Clone, Debug, Default)]
pub struct IrnReceiver {
    expected: u64,
    held: Ranges,
    /// Ends the interval in which no range that is held is reported again.
    next_nack: Time,
    notifier: Notifier,
}

impl IrnReceiver {
    /// The first byte that is missing.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// A data packet has arrived.
    pub fn on_data(&mut self, sequence: u64, bytes: u32, is_marked: bool, now: Time, config: &RoceConfig) -> Reply {
        let end = sequence + u64::from(bytes);
        let (mut new_bytes, mut is_out_of_order, mut is_silent) = (0, false, false);
        if sequence > self.expected {
            is_silent = self.held.contains(sequence, end) && now < self.next_nack;
            if !is_silent {
                self.next_nack = now.saturating_add(config.nack_interval);
                new_bytes = self.held.insert(sequence, end);
                is_out_of_order = true;
            }
        } else if end > self.expected {
            new_bytes = self.held.insert(self.expected, end);
            self.expected = self.held.end_of(self.expected).unwrap_or(end);
            self.held.remove_below(self.expected);
        }
        // While ranges are held, every reply is a NACK with the range of its packet.
        let is_nack = !self.held.is_empty();
        let kind = match (is_silent, is_nack) {
            (true, _) => ReplyKind::None,
            (false, true) => ReplyKind::Nack,
            (false, false) => ReplyKind::Ack,
        };
        let has_reply = kind != ReplyKind::None || config.notification_interval > forebay_units::Span::ZERO;
        let is_notified = has_reply && self.notifier.notifies(is_marked, now, config.notification_interval);
        Reply {
            kind,
            cumulative: self.expected,
            selective: (kind == ReplyKind::Nack).then_some((sequence, bytes)),
            notifies: is_notified || is_out_of_order && config.notifies_out_of_order,
            new_bytes,
        }
    }
}

/// The part of a sender that IRN adds.
#[derive(Clone, Debug, Default)]
pub(crate) struct IrnSender {
    sacked: Ranges,
    /// The highest cumulative ACK.
    highest_ack: u64,
    /// The first byte of the highest packet that was sent.
    highest_sent: u64,
    /// The end of the recovery, during one.
    recovery: Option<u64>,
}

impl IrnSender {
    /// The window, which does not deduct the ranges of NACKs, allows a packet of `bytes` at `next`. Retransmissions are
    /// inside of it.
    pub fn allows(&self, next: u64, bytes: u64, window: u64) -> bool {
        self.highest_sent.saturating_sub(self.highest_ack) + bytes < window || self.highest_ack + window > next
    }

    /// Bytes in flight, as far as the timeout depends on them.
    pub fn in_flight(&self) -> u64 {
        self.highest_sent.saturating_sub(self.highest_ack)
    }

    pub fn on_sent(&mut self, sequence: u64) {
        self.highest_sent = self.highest_sent.max(sequence);
    }

    /// Bytes from `next` to the first one that no NACK reported.
    pub fn skip(&self, next: u64) -> u64 {
        self.sacked.end_of(next).unwrap_or(next)
    }

    /// The end of a packet from `next` that would end at `end`: it stops where a reported range begins.
    pub fn clip(&self, next: u64, end: u64) -> u64 {
        self.sacked.start_after(next).map_or(end, |start| start.min(end))
    }

    /// Moves the first unacknowledged byte `una` and the next one to send. True if a recovery begins.
    pub fn on_ack(&mut self, ack: &Acknowledgement<'_>, una: &mut u64, next: &mut u64) -> bool {
        self.highest_ack = self.highest_ack.max(ack.cumulative);
        if let Some((start, bytes)) = ack.selective {
            self.sacked.insert(start, start + u64::from(bytes));
        }
        *una = self.skip(*una);
        self.sacked.remove_below(*una);
        *next = (*next).max(*una);
        if self.recovery.is_some_and(|end| *una >= end) {
            self.recovery = None;
        }
        if ack.selective.is_none() {
            self.recovery = None;
        } else if self.recovery.is_none() {
            self.recovery = Some(*next);
            *next = *una;
            return true;
        }
        false
    }

    pub fn on_timeout(&mut self, next: u64) {
        self.recovery.get_or_insert(next);
    }
}

#[cfg(test)]
mod tests {
    use forebay_units::Span;

    use super::*;

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    #[test]
    fn a_receiver_keeps_and_reports_what_comes_out_of_order() {
        let (mut receiver, config) = (IrnReceiver::default(), RoceConfig::default());
        let mut replies = |sequence, microseconds| {
            let reply = receiver.on_data(sequence, 1_000, false, at(microseconds), &config);
            (reply.kind, reply.cumulative, reply.selective, reply.new_bytes)
        };
        assert_eq!(replies(0, 0), (ReplyKind::Ack, 1_000, None, 1_000));
        assert_eq!(replies(2_000, 1), (ReplyKind::Nack, 1_000, Some((2_000, 1_000)), 1_000));
        assert_eq!(replies(2_000, 2), (ReplyKind::None, 1_000, None, 0));
        assert_eq!(replies(4_000, 3), (ReplyKind::Nack, 1_000, Some((4_000, 1_000)), 1_000));
        assert_eq!(replies(2_000, 503), (ReplyKind::Nack, 1_000, Some((2_000, 1_000)), 0));
        assert_eq!(replies(1_000, 504), (ReplyKind::Nack, 3_000, Some((1_000, 1_000)), 1_000));
        assert_eq!(replies(0, 505), (ReplyKind::Nack, 3_000, Some((0, 1_000)), 0));
        assert_eq!(replies(3_000, 506), (ReplyKind::Ack, 5_000, None, 1_000));
    }

    fn ack(cumulative: u64, selective: Option<(u64, u32)>) -> Acknowledgement<'static> {
        Acknowledgement {
            cumulative,
            is_nack: selective.is_some(),
            selective,
            notifies: false,
            sent_at: None,
            telemetry: &[],
        }
    }

    #[test]
    fn a_sender_goes_back_once_and_skips_reported_ranges() {
        let mut sender = IrnSender::default();
        sender.on_sent(9_000);
        let (mut una, mut next) = (1_000, 10_000);
        assert!(sender.on_ack(&ack(1_000, Some((2_000, 1_000))), &mut una, &mut next));
        assert_eq!((una, next, sender.recovery), (1_000, 1_000, Some(10_000)));
        assert_eq!((sender.skip(1_000), sender.clip(1_000, 2_500), sender.skip(2_000)), (1_000, 2_000, 3_000));
        next = 5_000;
        assert!(!sender.on_ack(&ack(1_000, Some((3_000, 1_000))), &mut una, &mut next));
        assert_eq!((next, sender.skip(2_500)), (5_000, 4_000));
        una = 2_000;
        assert!(!sender.on_ack(&ack(2_000, None), &mut una, &mut next));
        assert_eq!((una, sender.recovery), (4_000, None));
    }

    #[test]
    fn the_window_bounds_new_data_and_lets_retransmissions_pass() {
        let mut sender = IrnSender::default();
        sender.on_sent(9_000);
        assert!(!sender.allows(10_000, 1_000, 10_000));
        assert!(sender.allows(9_000, 1_000, 10_000));
        sender.highest_ack = 1;
        assert!(sender.allows(10_000, 1_000, 10_000));
    }
}
