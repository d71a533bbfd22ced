//! The ACKs as the controller sees them.

use super::{ConnectionPhase, Sender};
use crate::{AckSample, Delivery, Phase, RoundTrips, Time};

impl Sender {
    /// An ACK outside of recoveries: the controller opens the window by the reported arrivals, if it was in use.
    #[inline(always)]
    pub(super) fn open_window(&mut self, delivered: u64, is_in_use: bool, ece: bool, now: Time) {
        if !is_in_use {
            self.report_measured(delivered, false, ece, now);
            if self.reports_every_ack {
                // Marks may have reduced the window. The larger one would never count as used again.
                self.limit_window();
            }
            if self.validates {
                self.validate_window(now);
            }
        } else {
            if self.validates {
                self.validation.note_use(now);
            }
            self.grow(delivered, ece, now);
        }
    }

    /// An ACK has come while the window was not in use.
    fn validate_window(&mut self, now: Time) {
        let connection = &mut self.connection;
        let (used, timeout) = (connection.most_used_segments(), connection.round_trip.timeout());
        if self.validation.note_disuse(&mut connection.window, used, timeout, now) {
            connection.apply_window();
        }
    }

    #[inline(always)]
    pub(super) fn grow(&mut self, newly: u64, ece: bool, now: Time) {
        if self.measures {
            self.report_measured(newly, true, ece, now);
        } else {
            let ack = self.count(newly, true, ece, now);
            self.controller.on_ack(&ack, &mut self.connection.window);
        }
        self.limit_window();
    }

    /// An ACK with what the controller needs in addition to its bytes.
    #[inline(never)]
    fn report_measured(&mut self, newly: u64, is_window_used: bool, ece: bool, now: Time) {
        let delivery = self.evaluate_delivery(newly, ece, now);
        let ack = self.sample(newly, is_window_used, ece, delivery.as_ref(), now);
        self.controller.on_ack(&ack, &mut self.connection.window);
    }

    #[inline(always)]
    pub(super) fn limit_window(&mut self) {
        let window = &mut self.connection.window;
        window.congestion_window = window.congestion_window.min(self.max_congestion_window);
        self.connection.apply_window();
    }

    /// An ACK of `newly` bytes that comes while no loss is being recovered. Controllers that own recoveries see it
    /// later.
    pub(super) fn report_outside_recovery(&mut self, newly: u64, is_in_use: bool, ece: bool, now: Time) {
        if self.needs.owns_recovery {
            return;
        }
        if !self.recovery.is_coming_down(&self.connection) {
            let delivered = self.recovery.delivered_bytes(newly);
            self.open_window(delivered, is_in_use, ece, now);
        } else if self.reports_every_ack {
            self.report_in_any_phase(newly, is_in_use, ece, now);
        }
    }

    /// An ACK of `newly` bytes, for controllers that see all ACKs.
    pub(super) fn report_in_any_phase(&mut self, newly: u64, is_in_use: bool, ece: bool, now: Time) {
        let delivered = self.recovery.delivered_bytes(newly);
        let delivery = self.evaluate_delivery(delivered, ece, now);
        self.report_losses();
        let phase = self.recovery_phase();
        let ack = self.sample(delivered, is_in_use, ece, delivery.as_ref(), now);
        self.controller.on_ack(&AckSample { phase, ..ack }, &mut self.connection.window);
        self.limit_window();
    }

    pub(super) fn recovery_phase(&self) -> Phase {
        let connection = &self.connection;
        if connection.in_recovery || self.recovery.is_coming_down(connection) {
            Phase::Recovery
        } else if self.timed_out_at.is_some() && connection.unacknowledged < connection.recovery_point {
            Phase::Timeout
        } else {
            Phase::Open
        }
    }

    /// The segments that were found lost, for a controller that measures delivery.
    pub(super) fn report_losses(&mut self) {
        let Some(delivery) = &mut self.connection.delivery else { return };
        for (segment, lost) in delivery.losses.drain(..) {
            self.controller.on_lost_segment(&segment, lost, &mut self.connection.window);
        }
    }

    /// The measurements of an ACK that reports `delivered` bytes, if the controller needs them.
    fn evaluate_delivery(&mut self, delivered: u64, ece: bool, now: Time) -> Option<Delivery> {
        if self.needs.delivery { self.measure_delivery(delivered, ece, now) } else { None }
    }

    #[inline(never)]
    fn measure_delivery(&mut self, delivered: u64, ece: bool, now: Time) -> Option<Delivery> {
        let in_flight = self.recovery.in_flight_segments();
        let connection = &mut self.connection;
        let shortest = connection.round_trip.shortest();
        let next_departure = connection.pacer.as_ref().map_or(now, |pacer| pacer.next_departure().max(now));
        let measured = connection.delivery.as_mut()?;
        if ece && connection.ecn {
            measured.note_marks(connection.newly_marked.unwrap_or(measured.newly_delivered()));
        }
        let delivery = measured.evaluate(in_flight, shortest, now);
        let is_lone = delivery.newly_delivered == 1 && delivered < connection.segment_bytes;
        Some(Delivery { next_departure, may_be_delayed: is_lone && !connection.in_recovery, ..delivery })
    }

    /// An ACK of `newly` bytes, without measurements.
    #[inline(always)]
    fn count(&self, newly: u64, is_window_used: bool, ece: bool, now: Time) -> AckSample<'static> {
        let connection = &self.connection;
        let (mut delivered_segments, mut acked_segments) = (1.0, 1.0);
        if newly != connection.segment_bytes {
            let has_gone_back = connection.unacknowledged < connection.recovery_point;
            let limit = self.timeout_response.byte_counting_limit(has_gone_back, self.byte_counting_limit);
            delivered_segments = newly as f64 / connection.segment_bytes as f64;
            acked_segments = delivered_segments.min(limit);
        }
        AckSample {
            now,
            acked_segments,
            delivered_segments,
            acknowledged: connection.unacknowledged,
            next: connection.next,
            is_window_used,
            echoes_mark: ece,
            marked_segments: 0.0,
            phase: Phase::Open,
            round_trips: RoundTrips::default(),
            delivery: None,
        }
    }

    /// An ACK of `newly` bytes as the controller sees it. One that cannot open the window is timed only if the
    /// controller needs every round trip.
    fn sample<'a>(
        &mut self,
        newly: u64,
        is_window_used: bool,
        ece: bool,
        delivery: Option<&'a Delivery>,
        now: Time,
    ) -> AckSample<'a> {
        let counted = self.count(newly, is_window_used, ece, now);
        let connection = &mut self.connection;
        let mut marked_segments = 0.0;
        if self.needs.marks && ece {
            marked_segments = connection.newly_marked.map_or(counted.delivered_segments, |packets| packets as f64);
        }
        let mut round_trips = RoundTrips::default();
        let is_timed = self.needs.latest_round_trip && is_window_used && !ece && connection.is_in_slow_start();
        if is_timed || self.needs.every_round_trip {
            round_trips.latest = connection.sample_round_trip(now);
        }
        if self.needs.round_trip_estimate {
            round_trips.smoothed = connection.round_trip.smoothed();
            round_trips.deviation = connection.round_trip.deviation();
            round_trips.shortest = connection.round_trip.shortest();
        }
        AckSample { marked_segments, round_trips, delivery, ..counted }
    }

    /// More data is about to be written. If everything before has been sent and the window has room, the application is
    /// the limit of sending (draft-cheng-iccrg-delivery-rate-estimation, section 3.4).
    pub(super) fn note_application_limit(&mut self, now: Time) {
        let connection = &mut self.connection;
        let Some(delivery) = &mut connection.delivery else { return };
        let in_flight = self.recovery.in_flight_segments();
        let is_idle_below = connection.pacer.as_mut().is_none_or(|pacer| pacer.queued_bytes(now) == 0);
        let has_room = (in_flight as f64) < connection.window.congestion_window;
        let is_all_sent = connection.data_end.saturating_sub(connection.next) < connection.segment_bytes;
        if self.phase == ConnectionPhase::Established
            && is_all_sent
            && is_idle_below
            && has_room
            && !self.recovery.has_lost()
        {
            delivery.note_application_limit(in_flight);
            if in_flight == 0 {
                self.controller.on_sent_after_idle(now, &mut connection.window);
            }
        }
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
