//! The quality of a call: the E-model of ITU-T G.107 for G.711, with its default values.
//!
//! Delay and loss decide; the rest of the model is constant. As in flent, the delay from mouth to ear is the mean delay
//! of the network plus twice the mean jitter, which a jitter buffer adds. Losses are independent, and nothing conceals
//! them.
//!
//! With a fixed jitter buffer, each packet is played when its age is the least delay of the call plus the buffer. That
//! is the delay from mouth to ear. A packet that comes later is as good as lost, and a copy of one that came in time is
//! not.
//!
//! The least delay is the reference because it is that of the packet delay variation by which jitter buffers are sized:
//! the PDV of RFC 5481 (section 4.2) and the delay variation of ITU-T Y.1540. A phone has not seen the least delay when
//! the call begins. One that takes the first packet for reference plays later by the time that this packet waited, and
//! the result would depend on the state of the queue at one instant.

use std::collections::BTreeMap;

use forebay_qdisc::{Span, Time};
use forebay_records::{Column, Table};

use crate::observe::digest::JITTER_S;

/// The kind of flows that have a quality.
pub(crate) const VOICE: &str = "voice";

/// The signal-to-noise ratio without impairments, Ro, and the simultaneous impairments, Is.
const RO: f64 = 94.7688;
const IS: f64 = 1.4136;
/// Robustness of G.711 against loss, Bpl, without concealment.
const BPL: f64 = 4.3;

/// The transmission rating R for a one-way delay in milliseconds and a share of lost packets.
fn rating(delay_ms: f64, loss: f64) -> f64 {
    let percent = 100.0 * loss;
    let loss_impairment = 95.0 * percent / (percent + BPL);
    RO - IS - delay_impairment(delay_ms) - loss_impairment
}

/// Id: of talker echo, listener echo, and delay itself.
fn delay_impairment(ms: f64) -> f64 {
    const LISTENER: f64 = 169.0;
    let listener_rating = 10.5 * 117.0 * libm::pow(2.0 * ms + 1.0, -0.25);
    let half = (RO - listener_rating) / 2.0;
    let listener_echo = half + libm::sqrt(half * half + LISTENER);
    talker_echo(ms) + listener_echo + absolute_delay(ms)
}

/// Idte.
fn talker_echo(ms: f64) -> f64 {
    if ms < 1.0 {
        return 0.0;
    }
    let loudness = 65.0 - 40.0 * libm::log10((1.0 + ms / 10.0) / (1.0 + ms / 150.0)) + 6.0 * libm::exp(-0.3 * ms * ms);
    let rating = 80.0 + 2.5 * (loudness - 14.0);
    let half = (RO - rating) / 2.0;
    (half + libm::sqrt(half * half + 100.0) - 1.0) * (1.0 - libm::exp(-ms))
}

/// Idd.
fn absolute_delay(ms: f64) -> f64 {
    if ms <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(ms / 100.0);
    let sixth_root = |x: f64| libm::pow(1.0 + libm::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (sixth_root(x) - 3.0 * sixth_root(x / 3.0) + 2.0)
}

/// The mean opinion score of a rating, from 1 (bad) to 4.5.
fn score(rating: f64) -> f64 {
    match rating {
        ..0.0 => 1.0,
        100.0.. => 4.5,
        _ => 1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6,
    }
}

/// The playout of a call with a fixed jitter buffer, in the measured interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Playout {
    /// Age of a packet when it is played; `None` if none arrived.
    delay: Option<Span>,
    /// Packets that were older when they arrived.
    late: u64,
}

impl Playout {
    /// The playout of packets with these times of sending and delays. The first copy of a packet counts.
    pub fn new(packets: &[(Time, Span)], jitter_buffer: Span) -> Self {
        let mut first: BTreeMap<Time, Span> = BTreeMap::new();
        for &(sent, delay) in packets {
            first.entry(sent).and_modify(|first| *first = delay.min(*first)).or_insert(delay);
        }
        let delay = first.values().min().map(|&least| least + jitter_buffer);
        let late = first.values().filter(|&&arrival| Some(arrival) > delay).count() as u64;
        Self { delay, late }
    }
}

/// Adds rating and score to the table of flows if any of them is voice, and late packets if any call has a playout. The
/// others have none.
pub(crate) fn add_scores(table: &mut Table, playouts: &BTreeMap<usize, Playout>) {
    let is_voice: Vec<bool> = table.texts("kind").iter().map(|kind| kind == VOICE).collect();
    if !is_voice.contains(&true) {
        return;
    }
    let (delays, jitters) = (table.floats("delay_mean_s"), table.floats(JITTER_S));
    let (sent, dropped) = (table.counts("packets_sent"), table.counts("packets_dropped"));
    let rating = |row: usize| {
        if !is_voice[row] {
            return f64::NAN;
        }
        let share = |packets: u64| packets as f64 / sent[row].max(1) as f64;
        if let Some(Playout { delay, late }) = playouts.get(&row) {
            return rating(1e3 * delay.map_or(f64::NAN, Span::seconds), share(dropped[row] + late));
        }
        // A single packet has no jitter.
        let jitter_s = if jitters[row].is_nan() { 0.0 } else { jitters[row] };
        rating(1e3 * (delays[row] + 2.0 * jitter_s), share(dropped[row]))
    };
    let ratings: Vec<f64> = (0..is_voice.len()).map(rating).collect();
    let scores = ratings.iter().map(|&rating| if rating.is_nan() { rating } else { score(rating) }).collect();
    if !playouts.is_empty() {
        let late = |row| playouts.get(&row).map_or(0, |playout| playout.late);
        table.push("packets_late", Column::Count((0..is_voice.len()).map(late).collect()));
    }
    table.push("r_factor", Column::Float(ratings));
    table.push("mos", Column::Float(scores));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_and_scores_are_those_of_the_itus_calculator() {
        for (delay_ms, loss, expected, mos) in [
            (0.0, 0.0, 93.21, 4.409),
            (50.0, 0.0, 91.76, 4.380),
            (150.0, 0.0, 89.54, 4.328),
            (200.0, 0.0, 85.80, 4.223),
            (300.0, 0.0, 72.67, 3.719),
            (20.0, 0.01, 74.61, 3.805),
            (150.0, 0.05, 38.46, 1.989),
        ] {
            let rating = rating(delay_ms, loss);
            assert!((rating - expected).abs() < 0.005, "{delay_ms} ms, {loss}: {rating} instead of {expected}");
            assert!((score(rating) - mos).abs() < 5e-4, "{delay_ms} ms, {loss}: {} instead of {mos}", score(rating));
        }
        assert_eq!([score(-1.0), score(0.0), score(100.0), score(101.0)], [1.0, 1.0, 4.5, 4.5]);
    }

    #[test]
    fn only_voice_has_a_score() {
        let mut table = Table::default();
        table.push("kind", Column::Text(["udp", VOICE, VOICE].into_iter().collect()));
        table.push("delay_mean_s", Column::Float(vec![0.02, 0.01, 0.05]));
        table.push(JITTER_S, Column::Float(vec![0.0, 0.005, f64::NAN]));
        table.push("packets_sent", Column::Count(vec![5, 100, 0]));
        table.push("packets_dropped", Column::Count(vec![0, 1, 0]));
        let mut without = Table::default();
        without.push("kind", Column::Text(["udp"].into_iter().collect()));
        add_scores(&mut without, &BTreeMap::new());
        add_scores(&mut table, &BTreeMap::new());
        let ratings = table.floats("r_factor");
        assert!(ratings[0].is_nan() && table.floats("mos")[0].is_nan());
        assert!((ratings[1] - 74.61).abs() < 0.005 && (ratings[2] - 91.76).abs() < 0.005, "{ratings:?}");
        assert!(table.column("packets_late").is_none());
    }

    #[test]
    fn a_packet_is_late_if_it_is_older_than_the_least_delay_plus_the_buffer() {
        let ms = Span::from_milliseconds;
        let of = |delays: &[u64], buffer| {
            let sent = (0..).map(|number| Time::ZERO + ms(20 * number));
            let packets: Vec<(Time, Span)> = sent.zip(delays.iter().map(|&delay| ms(delay))).collect();
            Playout::new(&packets, ms(buffer))
        };
        assert_eq!(of(&[], 60), Playout { delay: None, late: 0 });
        // The least delay comes last. A packet that arrives when it is played is not late.
        assert_eq!(of(&[70, 80, 81, 200, 20], 60), Playout { delay: Some(ms(80)), late: 2 });
    }

    #[test]
    fn a_late_copy_of_a_packet_is_not_late() {
        let packets = [(0, 200), (0, 30), (20, 20), (20, 300), (40, 90), (40, 100)];
        let ms = Span::from_milliseconds;
        let packets = packets.map(|(sent, delay)| (Time::ZERO + ms(sent), ms(delay)));
        assert_eq!(Playout::new(&packets, ms(60)), Playout { delay: Some(ms(80)), late: 1 });
    }

    #[test]
    fn a_call_with_a_jitter_buffer_has_the_rating_of_its_playout() {
        let mut table = Table::default();
        table.push("kind", Column::Text([VOICE, VOICE].into_iter().collect()));
        table.push("delay_mean_s", Column::Float(vec![0.05, 0.05]));
        table.push(JITTER_S, Column::Float(vec![0.0, 0.0]));
        table.push("packets_sent", Column::Count(vec![100, 100]));
        table.push("packets_dropped", Column::Count(vec![2, 0]));
        let playout = Playout { delay: Some(Span::from_milliseconds(150)), late: 3 };
        add_scores(&mut table, &BTreeMap::from([(0, playout)]));
        assert_eq!(table.counts("packets_late"), [3, 0]);
        let (ratings, scores) = (table.floats("r_factor"), table.floats("mos"));
        // 150 ms and 5 %; the other call is without a buffer.
        assert!((ratings[0] - 38.46).abs() < 0.005 && (ratings[1] - 91.76).abs() < 0.005, "{ratings:?}");
        assert!((scores[0] - 1.989).abs() < 5e-4 && (scores[1] - 4.38).abs() < 5e-4, "{scores:?}");
    }
}
