//! Bitrates against those of sabre, and the experience of a viewer.

#![allow(clippy::float_cmp, reason = "values are equal to the last bit or not at all")]

use forebay_engine::OutcomeValue;

use super::*;
use crate::applications::video::{BufferBounds, VideoRule};

fn video(rule: VideoRule) -> Video {
    Video { rule, length: Some(Span::from_seconds(597)), ..toml::from_str("").expect("all have defaults") }
}

fn at(seconds: f64) -> Time {
    Time::ZERO + Span::from_seconds_f64(seconds)
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    match outcome.values.iter().find(|(column, _)| *column == name).expect("a column").1 {
        OutcomeValue::Count(count) => count as f64,
        OutcomeValue::Float(value) => value,
    }
}

/// Plays over a link with this rate at each second, without TCP: after 100 ms the bits arrive at the rate.
fn over(rule: VideoRule, kbps: impl Fn(f64) -> f64) -> Outcome {
    over_with(rule, kbps, |_, level, _| level)
}

/// The same with the bitrate that `replace` gives for a segment whose download the rule abandons.
fn over_with(
    rule: VideoRule,
    kbps: impl Fn(f64) -> f64,
    replace: impl Fn(&mut Player, usize, Time) -> usize,
) -> Outcome {
    let video = video(rule);
    let mut player = Player::new(&video);
    let mut now = 0.0;
    while let Some(next) = player.next_request(at(now)) {
        now = next.since(Time::ZERO).seconds();
        let mut replacement = Some(player.request(next));
        while let Some(level) = replacement {
            now += 0.1;
            player.arrived(at(now));
            let bytes = video.bytes(level);
            let mut left = 8.0 * bytes as f64;
            while left > 0.0 {
                let to_next = (1.0 - now.fract()).clamp(1e-6, 0.05);
                let time = (left / (1e3 * kbps(now))).min(to_next);
                left -= 1e3 * kbps(now) * time + 1e-6;
                now += time;
                let received = bytes - (left.max(0.0) / 8.0) as u64;
                let lower = player.abandon(received, bytes, at(now));
                replacement = lower.map(|level| replace(&mut player, level, at(now)));
                if replacement.is_some() {
                    break;
                }
            }
            if replacement.is_none() {
                player.received(bytes, at(now));
            }
        }
    }
    player.outcome(at(now + 60.0))
}

/// sabre played 199 segments whose sizes vary. A viewer's mean counts start-up and stalls there.
fn mean_kbps(outcome: &Outcome) -> f64 {
    let watched = value(outcome, "played_s") + value(outcome, "startup_s") + value(outcome, "stalled_s");
    1e-3 * value(outcome, "bitrate_mean_bps") * value(outcome, "played_s") / watched
}

#[test]
fn bitrates_are_those_of_sabre() {
    for (rule, kbps, expected) in [
        (VideoRule::Bola, 1000.0, 937.5),
        (VideoRule::Throughput, 1000.0, 684.6),
        (VideoRule::Dynamic, 1000.0, 940.9),
        (VideoRule::Bola, 1600.0, 1479.9),
        (VideoRule::Throughput, 1600.0, 986.1),
        (VideoRule::Dynamic, 1600.0, 1516.0),
    ] {
        let outcome = over(rule, |_| kbps);
        let mean = mean_kbps(&outcome);
        assert!((mean / expected - 1.0).abs() < 0.03, "{rule:?} at {kbps}: {mean} instead of {expected}");
        assert_eq!(value(&outcome, "stalls"), 0.0, "{rule:?}");
        assert_eq!(value(&outcome, "segments"), 199.0);
    }
}

/// A minute at 4000 kb/s, a minute at 800.
fn in_turns(now: f64) -> f64 {
    if now % 120.0 < 60.0 { 4000.0 } else { 800.0 }
}

#[test]
fn a_link_that_varies_gives_bolas_bitrate_of_sabre() {
    let outcome = over(VideoRule::Bola, in_turns);
    let mean = mean_kbps(&outcome);
    assert!((mean / 2171.8 - 1.0).abs() < 0.03, "{mean}");
    assert_eq!(value(&outcome, "stalls"), 0.0);
    assert_eq!(value(&outcome, "segments_abandoned"), 0.0);
}

#[test]
fn abandoning_for_the_wrong_bitrate_gives_the_stalls_of_sabre() {
    // sabre chooses again where it means to take the lower bitrate: mostly the one that it has just abandoned.
    let choose_again = |player: &mut Player, _, now| {
        player.play_until(now);
        player.level = player.rule.choose(player.buffered().seconds(), player.level);
        player.level
    };
    let outcome = over_with(VideoRule::Throughput, in_turns, choose_again);
    let mean = mean_kbps(&outcome);
    assert!((mean / 1595.9 - 1.0).abs() < 0.03, "{mean}");
    assert_eq!(value(&outcome, "stalls"), 5.0);
    assert!((5.0..7.0).contains(&value(&outcome, "stalled_s")), "{} s instead of 6.19", value(&outcome, "stalled_s"));
}

#[test]
fn abandoning_for_the_lower_bitrate_prevents_stalls() {
    let outcome = over(VideoRule::Throughput, in_turns);
    assert_eq!(value(&outcome, "stalls"), 0.0);
    // Five falls of the rate, with several bitrates on the way down.
    assert!((5.0..=25.0).contains(&value(&outcome, "segments_abandoned")));
}

#[test]
fn the_buffer_decides_bba() {
    let mut rule = Rule::new(
        VideoRule::BufferBased(BufferBounds {
            reservoir: Some(Span::from_seconds(5)),
            cushion: Some(Span::from_seconds(10)),
        }),
        &[1000, 2000, 4000].map(|kbps| Rate::new(1000 * kbps).expect("a rate")),
        Span::from_seconds(2),
        Span::from_seconds(20),
    );
    // 5 to 15 s are 1 to 4 Mb/s: 2 Mb/s at 8.33 s.
    for (buffered, last, expected) in
        [(4.0, 2, 0), (8.0, 0, 0), (8.4, 0, 1), (8.4, 1, 1), (8.2, 1, 1), (14.9, 1, 1), (15.0, 1, 2), (9.0, 2, 2)]
    {
        assert_eq!(rule.choose(buffered, last), expected, "{buffered} s after {last}");
    }
    assert_eq!(rule.choose(8.3, 2), 1, "the line is at or below the next lower bitrate");
}

#[test]
fn a_viewer_sees_stalls_and_changes() {
    let short = Video {
        bitrates: [1000, 2000].map(|kbps| Rate::new(1000 * kbps).expect("a rate")).to_vec(),
        segment: Span::from_seconds(2),
        buffer: Span::from_seconds(10),
        length: Some(Span::from_seconds(6)),
        ..video(VideoRule::Bola)
    };
    let mut player = Player::new(&short);
    assert_eq!(player.request(at(1.0)), 0);
    player.received(250_000, at(1.5));
    assert_eq!(player.next_request(at(1.5)), Some(at(1.5)));
    // The second segment arrives 1.5 s too late.
    player.request(at(1.5));
    player.received(250_000, at(5.0));
    player.request(at(5.0));
    player.received(250_000, at(5.5));
    assert_eq!(player.next_request(at(5.5)), None);
    let outcome = player.outcome(at(20.0));
    let expected = [("startup_s", 0.5), ("stalls", 1.0), ("stalled_s", 1.5), ("played_s", 6.0), ("segments", 3.0)];
    for (name, expected) in expected {
        assert!((value(&outcome, name) - expected).abs() < 1e-9, "{name}: {}", value(&outcome, name));
    }
}

#[test]
fn a_full_buffer_delays_the_next_request() {
    let mut player = Player::new(&video(VideoRule::Bola));
    let mut now = at(0.0);
    for _ in 0..8 {
        assert_eq!(player.next_request(now), Some(now));
        player.request(now);
        player.received(1000, now + Span::from_picoseconds(1));
    }
    // 24 s of 25 s are buffered.
    now += Span::from_picoseconds(1);
    assert_eq!(player.next_request(now), Some(now + Span::from_seconds(2)));
}
