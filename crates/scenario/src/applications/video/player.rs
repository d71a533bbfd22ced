//! A player of video: its requests, its buffer, and the experience of a viewer.

use std::collections::VecDeque;

use forebay_engine::{Outcome, OutcomeKind, OutcomeValue};
use forebay_qdisc::Time;
use forebay_units::{Rate, Span};

use super::Video;
use super::rules::{Download, Rule};

/// It plays while anything is buffered: from the first segment on, and after a stall from the next one.
#[derive(Clone, Debug)]
pub(super) struct Player {
    rule: Rule,
    bitrates: Vec<Rate>,
    segment: Span,
    buffer: Span,
    /// Segments that have not been requested.
    left: u64,
    /// The bitrate of the last request.
    level: usize,
    /// The segments that are not played to their end, by bitrate; of the first, `rest` is left.
    queued: VecDeque<usize>,
    rest: Span,
    /// Up to when everything is played and counted.
    at: Time,
    request: Option<Request>,
    seen: Seen,
    series: [Vec<f64>; 2],
}

/// A segment on its way.
#[derive(Clone, Copy, Debug)]
struct Request {
    at: Time,
    first_byte: Option<Time>,
    /// When the rule was last asked whether to abandon it.
    judged: Time,
}

/// The rule judges a download at most so often, as in sabre.
const PROGRESS: Span = Span::from_milliseconds(50);

/// The experience of the viewer in the measured interval.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The time from the request of the first segment to its end.
    startup: Span,
    segments: u64,
    played: Span,
    /// Bits of the played video.
    bits: f64,
    last: Option<usize>,
    changes: u64,
    stalls: u64,
    stalled: Span,
    abandoned: u64,
}

impl Player {
    pub fn new(video: &Video) -> Self {
        let Video { ref bitrates, segment, buffer, rule, length, .. } = *video;
        let segments = length.map_or(u64::MAX, |length| length.picoseconds().div_ceil(segment.picoseconds()));
        Self {
            rule: Rule::new(rule, bitrates, segment, buffer),
            bitrates: bitrates.clone(),
            segment,
            buffer,
            left: segments,
            level: 0,
            queued: VecDeque::new(),
            rest: Span::ZERO,
            at: Time::ZERO,
            request: None,
            seen: Seen::default(),
            series: [Vec::new(), Vec::new()],
        }
    }

    /// The video that is buffered.
    fn buffered(&self) -> Span {
        match self.queued.len() as u64 {
            0 => Span::ZERO,
            segments => self.segment * (segments - 1) + self.rest,
        }
    }

    /// When the next segment is requested: at `now`, or when the buffer has room; `None` after the last.
    pub fn next_request(&self, now: Time) -> Option<Time> {
        let full = self.buffered() + self.segment;
        (self.left > 0).then(|| if full > self.buffer { now + (full - self.buffer) } else { now })
    }

    /// Requests the next segment: its bitrate.
    pub fn request(&mut self, now: Time) -> usize {
        self.play_until(now);
        // The first segment has the lowest bitrate, and was not received yet.
        if self.seen.last.is_some() {
            self.level = self.rule.choose(self.buffered().seconds(), self.level);
        }
        self.left -= 1;
        self.request = Some(Request { at: now, first_byte: None, judged: now });
        self.level
    }

    /// Some bytes of the segment have arrived.
    pub fn arrived(&mut self, now: Time) {
        if let Some(request) = &mut self.request {
            request.first_byte.get_or_insert(now);
        }
    }

    /// Whether the player abandons the download, of which so many bytes have arrived: the bitrate that it requests in
    /// its place.
    pub fn abandon(&mut self, received_bytes: u64, bytes: u64, now: Time) -> Option<usize> {
        let Some(Request { at, first_byte: Some(first_byte), judged }) = &mut self.request else { return None };
        if received_bytes >= bytes || now.since(*judged) < PROGRESS {
            return None;
        }
        *judged = now;
        let level = self.rule.abandons(
            self.level,
            &Download {
                bits: 8.0 * bytes as f64,
                received_bits: 8.0 * received_bytes as f64,
                since_request_s: now.since(*at).seconds(),
                since_first_byte_s: now.since(*first_byte).seconds(),
            },
        )?;
        self.level = level;
        self.request = Some(Request { at: now, first_byte: None, judged: now });
        self.seen.abandoned += 1;
        Some(level)
    }

    /// The segment is complete.
    pub fn received(&mut self, bytes: u64, now: Time) {
        self.play_until(now);
        let Some(Request { at, first_byte, .. }) = self.request.take() else { return };
        let first_byte = first_byte.filter(|&first| first < now).unwrap_or(at);
        let (time, latency) = (now.since(first_byte), first_byte.since(at));
        self.rule.received(8.0 * bytes as f64, time.seconds(), latency.seconds());
        if self.seen.last.is_none() {
            self.seen.startup = now.since(at);
        }
        self.seen.segments += 1;
        if self.queued.is_empty() {
            self.begin_segment(self.level);
        }
        self.queued.push_back(self.level);
    }

    fn begin_segment(&mut self, level: usize) {
        self.rest = self.segment;
        self.seen.changes += u64::from(self.seen.last.is_some_and(|last| last != level));
        self.seen.last = Some(level);
    }

    /// Plays up to `now`.
    pub fn play_until(&mut self, now: Time) {
        while let Some(&level) = self.queued.front() {
            let played = self.rest.min(now.since(self.at));
            self.seen.played += played;
            self.seen.bits += played.seconds() * self.bitrates[level].bits_per_second() as f64;
            self.at += played;
            self.rest = self.rest - played;
            if self.rest > Span::ZERO {
                return;
            }
            self.queued.pop_front();
            match self.queued.front() {
                Some(&next) => self.begin_segment(next),
                None if self.is_over() => {}
                None => self.seen.stalls += 1,
            }
        }
        if self.seen.last.is_some() && !self.is_over() {
            self.seen.stalled += now.since(self.at);
        }
        self.at = now;
    }

    /// Whether everything has been requested and has arrived.
    fn is_over(&self) -> bool {
        self.left == 0 && self.request.is_none()
    }

    /// The stop of the flow: nothing more is requested.
    pub fn stop(&mut self) {
        self.left = 0;
    }

    /// The warm-up ends.
    pub fn begin_measurement(&mut self, now: Time) {
        self.play_until(now);
        let Seen { startup, last, .. } = self.seen;
        self.seen = Seen { startup, last, ..Seen::default() };
    }

    /// Samples the bitrate that is played, zero while nothing is, and the buffer.
    pub fn sample(&mut self, now: Time) {
        self.play_until(now);
        let playing = self.queued.front().map_or(0.0, |&level| self.bitrates[level].bits_per_second() as f64);
        let values = [playing, self.buffered().seconds()];
        self.series.iter_mut().zip(values).for_each(|(series, value)| series.push(value));
    }

    pub fn outcome(&mut self, end: Time) -> Outcome {
        self.play_until(end);
        let Seen { startup, segments, played, bits, last, changes, stalls, stalled, abandoned } = self.seen;
        let startup_s = if last.is_some() { startup.seconds() } else { f64::NAN };
        let [bitrates, buffers] = std::mem::take(&mut self.series);
        Outcome {
            kind: OutcomeKind::Video,
            values: vec![
                ("segments", OutcomeValue::Count(segments)),
                ("played_s", OutcomeValue::Float(played.seconds())),
                ("bitrate_mean_bps", OutcomeValue::Float(bits / played.seconds())),
                ("bitrate_changes", OutcomeValue::Count(changes)),
                ("startup_s", OutcomeValue::Float(startup_s)),
                ("stalls", OutcomeValue::Count(stalls)),
                ("stalled_s", OutcomeValue::Float(stalled.seconds())),
                ("segments_abandoned", OutcomeValue::Count(abandoned)),
            ],
            series: vec![("video_bitrate_bps", bitrates), ("video_buffer_s", buffers)],
        }
    }
}

#[cfg(test)]
#[path = "player_tests.rs"]
mod tests;
