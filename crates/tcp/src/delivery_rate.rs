//! The rate at which the network delivers, measured at each ACK, for controllers that need it.
//!
//! # What it does
//! Each transmission notes how much was delivered so far, and when. The ACK of a segment then shows how much was
//! delivered between, and in what time. The longer one of the times between departures and between deliveries counts,
//! so that neither a burst of departures nor compressed ACKs yield more than the path carries. A sample is marked where
//! the application, not the network, was the limit.
//!
//! # Source
//! draft-cheng-iccrg-delivery-rate-estimation, section 3; the counting is by segments, as in Linux (`tcp_rate.c`).
//!
//! # Where we differ
//! A transmission that was repeated is not evaluated any more, as in Linux.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use forebay_units::control::{DeliveredSegment, Delivery};

use crate::{Span, Time};

/// The number of a transmission. Repeated data has a new one. Wraps.
pub(crate) type TransmissionNumber = u32;

#[derive(Clone, Copy, Debug)]
struct Transmission {
    sent: Time,
    /// The departure of the last segment delivered before this one was sent (P.first_sent_time).
    first_sent: Time,
    /// The time of that delivery (P.delivered_time).
    delivered_at: Time,
    state: DeliveredSegment,
    /// Its data has arrived or was sent again.
    is_over: bool,
}

/// The state of a connection's measurement; the names in parentheses are the draft's.
#[derive(Debug, Default)]
pub(crate) struct DeliveryRate {
    transmissions: VecDeque<Transmission>,
    /// The number of the first of them.
    first: TransmissionNumber,
    /// Segments delivered, lost and marked (C.delivered, C.lost).
    delivered: u64,
    lost: u64,
    marked: u64,
    /// The time of the last delivery (C.delivered_time).
    delivered_at: Time,
    /// The departure of the segment sent last among those delivered (C.first_sent_time).
    first_sent: Time,
    /// Samples are limited by the application until more than this is delivered; 0 if they are not (C.app_limited).
    limited_until: u64,
    /// The latest transmission that the ACK reports, and whether it repeats data.
    latest: Option<(Transmission, bool)>,
    newly_delivered: u64,
    newly_lost: u64,
    in_flight_before: u64,
    /// Segments and time of the last valid sample.
    last_valid: Option<(u64, Span)>,
    /// Segments found lost since the last ACK was evaluated, each with the number of segments lost by then.
    pub losses: Vec<(DeliveredSegment, u64)>,
}

impl DeliveryRate {
    /// Notes a transmission that makes `in_flight` segments in flight. Returns its number.
    pub fn note_sent(&mut self, in_flight: u64, now: Time) -> TransmissionNumber {
        if in_flight <= 1 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let number = self.first.wrapping_add(self.transmissions.len() as u32);
        self.transmissions.push_back(Transmission {
            sent: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            state: DeliveredSegment {
                delivered_before: self.delivered,
                lost_before: self.lost,
                marked_before: self.marked,
                in_flight,
                is_application_limited: self.limited_until > 0,
                interval: None,
            },
            is_over: false,
        });
        number
    }

    /// Begins the evaluation of an ACK that comes while so many segments are in flight.
    pub fn begin(&mut self, in_flight: u64) {
        (self.latest, self.newly_delivered, self.newly_lost, self.in_flight_before) = (None, 0, 0, in_flight);
    }

    fn get(&self, number: TransmissionNumber) -> Option<&Transmission> {
        self.transmissions.get(number.wrapping_sub(self.first) as usize)
    }

    /// A segment has arrived, whose last transmission this was.
    pub fn on_arrival(&mut self, number: TransmissionNumber, is_retransmitted: bool, now: Time) {
        let Some(&transmission) = self.get(number) else { return };
        self.delivered += 1;
        self.newly_delivered += 1;
        self.delivered_at = now;
        if self.latest.is_none_or(|(latest, _)| latest.sent <= transmission.sent) {
            self.latest = Some((transmission, is_retransmitted));
            self.first_sent = transmission.sent;
        }
        self.end(number);
    }

    /// A segment was found lost.
    pub fn on_loss(&mut self, number: TransmissionNumber) {
        self.lost += 1;
        self.newly_lost += 1;
        if let Some(transmission) = self.get(number) {
            self.losses.push((transmission.state, self.lost));
        }
    }

    /// The data of a transmission has arrived, or is sent again.
    pub fn end(&mut self, number: TransmissionNumber) {
        if let Some(transmission) = self.transmissions.get_mut(number.wrapping_sub(self.first) as usize) {
            transmission.is_over = true;
        }
        while self.transmissions.front().is_some_and(|transmission| transmission.is_over) {
            self.transmissions.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// The ACK reports so many segments as marked.
    pub fn note_marks(&mut self, segments: u64) {
        self.marked += segments;
    }

    /// The rate of the last valid sample, in segments per second.
    pub fn last_rate(&self) -> Option<f64> {
        let (segments, interval) = self.last_valid?;
        (interval > Span::ZERO).then(|| segments as f64 / interval.seconds())
    }

    /// Segments that this ACK reports as delivered.
    pub fn newly_delivered(&self) -> u64 {
        self.newly_delivered
    }

    /// The application is the limit of sending, with so many segments in flight.
    pub fn note_application_limit(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// Ends the evaluation of an ACK, after which `in_flight` segments are in flight. No valid interval is below the
    /// `shortest` round trip.
    pub fn evaluate(&mut self, in_flight: u64, shortest: Option<Span>, now: Time) -> Delivery {
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let mut delivery = Delivery {
            delivered: self.delivered,
            lost: self.lost,
            marked: self.marked,
            newly_delivered: self.newly_delivered,
            newly_lost: self.newly_lost,
            in_flight_before: self.in_flight_before,
            in_flight,
            ..Delivery::default()
        };
        let Some((latest, is_retransmitted)) = self.latest else { return delivery };
        let send_elapsed = latest.sent.since(latest.first_sent);
        let ack_elapsed = now.since(latest.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let is_valid = shortest.is_none_or(|shortest| interval >= shortest);
        delivery.segment = Some(DeliveredSegment { interval: is_valid.then_some(interval), ..latest.state });
        if is_valid {
            self.last_valid = Some((self.delivered - latest.state.delivered_before, interval));
        }
        delivery.round_trip = (!is_retransmitted).then(|| now.since(latest.sent));
        delivery
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(time: u64) -> Time {
        Time::from_picoseconds(Span::from_milliseconds(time).picoseconds())
    }

    /// Sends segments at these times, one more in flight with each.
    fn sent(rate: &mut DeliveryRate, times: &[u64]) -> Vec<TransmissionNumber> {
        times.iter().zip(1..).map(|(&time, in_flight)| rate.note_sent(in_flight, ms(time))).collect()
    }

    #[test]
    fn the_rate_is_the_data_between_by_the_longer_of_both_times() {
        // Section 3.1.2: send_rate and ack_rate. Ten segments leave at once and arrive 2 ms apart.
        let mut rate = DeliveryRate::default();
        let numbers = sent(&mut rate, &[0; 10]);
        for (&number, delivered) in numbers.iter().zip(1..) {
            rate.begin(11 - delivered);
            let now = ms(40 + 2 * delivered);
            rate.on_arrival(number, false, now);
            let delivery = rate.evaluate(10 - delivered, Some(Span::from_milliseconds(42)), now);
            assert_eq!(
                (delivery.delivered, delivery.newly_delivered, delivery.in_flight_before),
                (delivered, 1, 11 - delivered)
            );
            assert_eq!(delivery.round_trip, Some(Span::from_milliseconds(40 + 2 * delivered)));
            let interval = 0.04 + 0.002 * delivered as f64;
            assert!((delivery.rate().unwrap() - delivered as f64 / interval).abs() < 1e-9);
        }
        // The next ones leave over 50 ms and their ACKs come at once: the departures are the limit.
        let numbers: Vec<_> = (0..6).map(|index| rate.note_sent(2 + index, ms(60 + 10 * index))).collect();
        rate.begin(6);
        for number in numbers {
            rate.on_arrival(number, false, ms(120));
        }
        let delivery = rate.evaluate(0, Some(Span::from_milliseconds(42)), ms(120));
        // Six segments in the 110 ms between the departures of the last one delivered before and of the last of these.
        assert_eq!(delivery.segment.unwrap().interval, Some(Span::from_milliseconds(110)));
        assert_eq!(delivery.rate(), Some(6.0 / 0.11));
    }

    #[test]
    fn an_interval_below_the_shortest_round_trip_is_no_sample() {
        let mut rate = DeliveryRate::default();
        let numbers = sent(&mut rate, &[0]);
        rate.begin(1);
        rate.on_arrival(numbers[0], false, ms(30));
        let delivery = rate.evaluate(0, Some(Span::from_milliseconds(31)), ms(30));
        assert_eq!((delivery.rate(), delivery.newly_delivered), (None, 1));
    }

    #[test]
    fn what_the_application_limits_is_marked_until_it_is_delivered() {
        let mut rate = DeliveryRate::default();
        let before = rate.note_sent(1, ms(0));
        rate.note_application_limit(1);
        let after = rate.note_sent(2, ms(1));
        let mut limited = |number, now| {
            rate.begin(1);
            rate.on_arrival(number, false, now);
            rate.evaluate(0, None, now).segment.unwrap().is_application_limited
        };
        assert_eq!((limited(before, ms(40)), limited(after, ms(41))), (false, true));
        assert_eq!(rate.limited_until, 0);
        // Section 3.4: until what is in flight is delivered and one more, here five segments.
        let numbers: Vec<_> = (1..=3).map(|in_flight| rate.note_sent(in_flight, ms(50))).collect();
        rate.note_application_limit(3);
        for (number, now) in numbers.into_iter().zip(90..) {
            rate.begin(3);
            rate.on_arrival(number, false, ms(now));
            rate.evaluate(2, None, ms(now));
        }
        let limited = [rate.note_sent(1, ms(95)), rate.note_sent(2, ms(95))];
        assert!(limited.iter().all(|&number| rate.get(number).unwrap().state.is_application_limited));
        rate.on_arrival(limited[0], false, ms(135));
        rate.evaluate(1, None, ms(135));
        let next = rate.note_sent(2, ms(136));
        assert!(!rate.get(next).unwrap().state.is_application_limited);
        // Also before anything is in flight.
        let mut rate = DeliveryRate::default();
        rate.note_application_limit(0);
        let first = rate.note_sent(1, ms(0));
        assert!(rate.get(first).unwrap().state.is_application_limited);
    }

    #[test]
    fn an_idle_time_is_in_no_interval() {
        // Section 3.2: with nothing in flight, both times start with the departure.
        let mut rate = DeliveryRate::default();
        for start in [0, 1000] {
            let number = rate.note_sent(1, ms(start));
            rate.begin(1);
            rate.on_arrival(number, false, ms(start + 40));
            let delivery = rate.evaluate(0, None, ms(start + 40));
            assert_eq!(delivery.segment.unwrap().interval, Some(Span::from_milliseconds(40)));
        }
    }

    #[test]
    fn losses_and_marks_are_counted_by_ack_and_since_the_start() {
        let mut rate = DeliveryRate::default();
        let numbers = sent(&mut rate, &[0, 0, 0, 0]);
        rate.begin(4);
        numbers[..2].iter().for_each(|&number| rate.on_loss(number));
        numbers[2..].iter().for_each(|&number| rate.on_arrival(number, false, ms(40)));
        assert_eq!(rate.newly_delivered(), 2);
        rate.note_marks(1);
        rate.note_marks(2);
        let next = rate.note_sent(1, ms(40));
        let delivery = rate.evaluate(1, None, ms(40));
        assert_eq!((delivery.lost, delivery.newly_lost, delivery.marked), (2, 2, 3));
        assert_eq!(rate.get(next).unwrap().state.marked_before, 3);
        // Of segments sent at one time, the last one sent counts.
        assert_eq!(delivery.segment.unwrap().in_flight, 4);
        rate.begin(1);
        rate.on_loss(next);
        assert_eq!(rate.evaluate(0, None, ms(41)).newly_lost, 1);
    }

    #[test]
    fn the_segment_sent_last_counts_and_repeated_data_has_no_round_trip() {
        let mut rate = DeliveryRate::default();
        let numbers = sent(&mut rate, &[0, 1, 2]);
        rate.on_loss(numbers[0]);
        assert_eq!(rate.losses.pop(), Some((DeliveredSegment { in_flight: 1, ..DeliveredSegment::default() }, 1)));
        rate.end(numbers[0]);
        let again = rate.note_sent(3, ms(50));
        rate.begin(3);
        for (number, is_retransmitted) in [(again, true), (numbers[1], false), (numbers[2], false)] {
            rate.on_arrival(number, is_retransmitted, ms(90));
        }
        let delivery = rate.evaluate(0, None, ms(90));
        assert_eq!((delivery.delivered, delivery.lost, delivery.newly_lost), (3, 1, 0));
        assert_eq!((delivery.round_trip, delivery.segment.unwrap().lost_before), (None, 1));
        // Nothing is kept of what is over.
        assert!(rate.transmissions.is_empty());
    }
}
