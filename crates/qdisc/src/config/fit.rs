//! Parameters that fit a discipline to its link, for a comparison in which only the disciplines differ.
//!
//! The defaults of a discipline are those of its paper, for the link and the buffer of that paper. RED's thresholds of
//! 5 and 15 packets are a delay of 10 and 30 ms at 6 Mb/s, and less than 1 ms at 200 Mb/s. `compare`, `sweep --queues`
//! and `replay` therefore fit each parameter that is not given:
//!
//! - **Limit**: the same for all, that of the queue that is replaced. If that states none, it is what the link sends in
//!   100 ms, at least 100 packets: the longest usual round trip, for which CoDel is configured too.
//! - **Target length**: the bytes that the link sends in 5 ms, at least 10 packets, at most a third of the limit. This
//!   is the average queue for which adaptive RED configures itself (S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED:
//!   An Algorithm for Increasing the Robustness of RED's Active Queue Management", 2001, section 5), and CoDel's
//!   target.
//! - **Thresholds** of an average queue: half of the target length and three times that (the same report). A single
//!   threshold, above which the link counts as congested, is the target length. The queues of `sfq_red` keep the
//!   proportion of their paper, 2/9 and 8/9 of a queue's part of the limit.
//! - **Packet size**: 1500 B, an Ethernet's MTU, for the mean or the largest packet.
//! - **Gains** for each queued packet: scaled so that they stay the same for each second of delay.
//!
//! Delays, rates, probabilities and averaging weights are not changed.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Rate};
use schemars::SchemaGenerator;

use super::{NoCustomDiscipline, QueueSpec};
use crate::{PiConfig, SfqRedConfig};

/// Bytes of a packet where packets express a delay.
const PACKET_BYTES: u64 = 1500;

const BUFFER_S: f64 = 0.1;
const LEAST_BUFFER: u64 = 100;

const TARGET_S: f64 = 0.005;
const LEAST_TARGET: u64 = 10;

/// The link of PI's default gains, in packets a second: 15 Mb/s with packets of 500 B.
const PI_PACKETS_PER_SECOND: f64 = 3750.0;

/// Disciplines whose packet size has 1500 B by default.
const OF_FULL_PACKETS: [&str; 5] = ["codel", "fq_codel", "cobalt", "pie", "fq_pie"];

/// Value of a fitted parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum FittedValue {
    /// A size, as a file has it: `"42 packets"`.
    Size(String),
    /// A number.
    Number(f64),
}

/// The parameters of `discipline` that depend on its link and its buffer, by name. `limit` is that of the queue that it
/// replaces. Empty for a discipline without a limit of its own, and for a name that is none.
#[must_use]
pub fn fitted(discipline: &str, link_rate: Rate, limit: Option<QueueSize>) -> Vec<(&'static str, FittedValue)> {
    let Some(manual) = QueueSpec::<NoCustomDiscipline>::DISCIPLINES.iter().find(|manual| manual.name == discipline)
    else {
        return Vec::new();
    };
    let schema = (manual.parameters)(&mut SchemaGenerator::default());
    let properties = schema.get("properties").and_then(|it| it.as_object());
    let has = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
    fitted_among(discipline, &has, link_rate, limit)
}

/// As [`fitted`], for a caller that has the parameters of the discipline: `has` answers whether a name is one of them.
#[must_use]
pub fn fitted_among(
    discipline: &str,
    has: &dyn Fn(&str) -> bool,
    link_rate: Rate,
    limit: Option<QueueSize>,
) -> Vec<(&'static str, FittedValue)> {
    let mut found = Vec::new();
    if !has("limit") {
        return found;
    }
    let fit = Fit::new(link_rate, limit);
    let size = |size: QueueSize| FittedValue::Size(size.to_string());
    found.push(("limit", size(fit.limit)));
    if has("min_threshold") && has("max_threshold") {
        let (min, max) = if discipline == "sfq_red" { fit.thresholds_of_a_bucket() } else { fit.thresholds() };
        found.extend([("min_threshold", size(min)), ("max_threshold", size(max))]);
    }
    let target = size(QueueSize::Packets(fit.target));
    match discipline {
        "pi" => {
            let defaults = PiConfig::default();
            // No gain exceeds 1.
            let scale = (PI_PACKETS_PER_SECOND / fit.packets_per_second).min(1.0 / defaults.a);
            found.push(("reference", target));
            found.push(("a", FittedValue::Number(defaults.a * scale)));
            found.push(("b", FittedValue::Number(defaults.b * scale)));
        }
        "afd" | "rem" => found.push(("target", target)),
        "csfq" => found.push(("threshold", target)),
        _ => {}
    }
    for name in ["mean_packet_size", "max_packet_size"] {
        if has(name) && !OF_FULL_PACKETS.contains(&discipline) {
            found.push((name, FittedValue::Size(Bytes(PACKET_BYTES).to_string())));
        }
    }
    found
}

/// The lengths that follow from a link and a limit.
struct Fit {
    packets_per_second: f64,
    limit: QueueSize,
    limit_packets: u64,
    /// The target length, in packets.
    target: u64,
}

impl Fit {
    fn new(link_rate: Rate, limit: Option<QueueSize>) -> Self {
        let packets_per_second = link_rate.bytes_per_second() / PACKET_BYTES as f64;
        let sent_in = |seconds: f64| libm::round(packets_per_second * seconds) as u64;
        let limit = limit.unwrap_or(QueueSize::Packets(sent_in(BUFFER_S).max(LEAST_BUFFER)));
        let limit_packets = match limit {
            QueueSize::Packets(packets) => packets,
            QueueSize::Bytes(bytes) => bytes / PACKET_BYTES,
        };
        let target = sent_in(TARGET_S).max(LEAST_TARGET).min(limit_packets / 3).max(1);
        Self { packets_per_second, limit, limit_packets, target }
    }

    fn thresholds(&self) -> (QueueSize, QueueSize) {
        let min = self.target.div_ceil(2);
        (QueueSize::Packets(min), QueueSize::Packets((3 * min).min(self.limit_packets).max(min + 1)))
    }

    /// Thresholds of one bucket of `sfq_red`, in the unit of the limit.
    fn thresholds_of_a_bucket(&self) -> (QueueSize, QueueSize) {
        let buckets = u64::from(SfqRedConfig::default().buckets);
        let ninths = |part: u64| {
            let min = (2 * part / 9).max(1);
            (min, (8 * part / 9).max(min + 1))
        };
        match self.limit {
            QueueSize::Packets(packets) => {
                let (min, max) = ninths(packets / buckets);
                (QueueSize::Packets(min), QueueSize::Packets(max))
            }
            QueueSize::Bytes(bytes) => {
                let (min, max) = ninths(bytes / buckets);
                (QueueSize::Bytes(min), QueueSize::Bytes(max))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;

    use super::*;
    use crate::config::Alone;
    use crate::test_support::Labelled;

    fn as_toml(discipline: &str, rate: Rate, limit: Option<QueueSize>) -> String {
        let parameters: Vec<String> = fitted(discipline, rate, limit)
            .into_iter()
            .map(|(name, value)| match value {
                FittedValue::Size(text) => format!("{name} = '{text}'"),
                FittedValue::Number(number) => format!("{name} = {number:e}"),
            })
            .collect();
        format!("{discipline} = {{ {} }}", parameters.join(", "))
    }

    fn size_of(discipline: &str, parameter: &str, rate: Rate, limit: u64) -> String {
        let found = fitted(discipline, rate, Some(QueueSize::Packets(limit)));
        match found.into_iter().find(|(name, _)| *name == parameter) {
            Some((_, FittedValue::Size(text))) => text,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn every_discipline_is_built_with_its_fitted_parameters() {
        for manual in QueueSpec::<NoCustomDiscipline>::DISCIPLINES {
            for rate in [Rate::new(64_000).unwrap(), Rate::megabits(1), Rate::megabits(200), Rate::megabits(400_000)] {
                for limit in [None, Some(QueueSize::Packets(200)), Some(QueueSize::Bytes(300_000))] {
                    let text = as_toml(manual.name, rate, limit);
                    if !manual.has_defaults() {
                        assert_eq!(text, format!("{} = {{  }}", manual.name));
                        continue;
                    }
                    let queue: QueueSpec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                    assert_eq!(queue.check::<Labelled>(&Alone, rate), Ok(()), "{text}");
                }
            }
        }
    }

    #[test]
    fn all_share_the_limit_of_the_queue_that_they_replace() {
        for limit in [QueueSize::Packets(77), QueueSize::Bytes(123_000)] {
            for manual in QueueSpec::<NoCustomDiscipline>::DISCIPLINES.iter().filter(|manual| manual.has_defaults()) {
                let found = fitted(manual.name, Rate::megabits(10), Some(limit));
                assert_eq!(found[0], ("limit", FittedValue::Size(limit.to_string())), "{}", manual.name);
            }
        }
    }

    #[test]
    fn without_one_the_limit_is_what_the_link_sends_in_a_tenth_of_a_second() {
        let limit = |rate| fitted("drop_tail", rate, None);
        let size = |text: &str| [("limit", FittedValue::Size(text.to_string()))];
        assert_eq!(limit(Rate::megabits(120)), size("1000 packets"));
        assert_eq!(limit(Rate::megabits(1)), size("100 packets"));
    }

    #[test]
    fn thresholds_are_those_of_adaptive_red_for_5_ms() {
        // 5 ms at 240 Mb/s are 100 packets of 1500 B.
        let at = |megabits, parameter, limit| size_of("red", parameter, Rate::megabits(megabits), limit);
        assert_eq!([at(240, "min_threshold", 1000), at(240, "max_threshold", 1000)], ["50 packets", "150 packets"]);
        assert_eq!([at(2, "min_threshold", 1000), at(2, "max_threshold", 1000)], ["5 packets", "15 packets"]);
        // A third of a small buffer.
        assert_eq!([at(240, "min_threshold", 20), at(240, "max_threshold", 20)], ["3 packets", "9 packets"]);
        assert_eq!([at(240, "min_threshold", 2), at(240, "max_threshold", 2)], ["1 packets", "2 packets"]);
        assert_eq!(size_of("afd", "target", Rate::megabits(240), 1000), "100 packets");
    }

    #[test]
    fn a_full_packet_is_known_to_those_that_ask_for_one() {
        assert_eq!(size_of("dbl", "max_packet_size", Rate::megabits(1), 100), "1500 B");
        assert_eq!(size_of("red", "mean_packet_size", Rate::megabits(1), 100), "1500 B");
    }

    #[test]
    fn gains_per_packet_stay_the_same_per_delay() {
        let gain = |megabits| match fitted("pi", Rate::megabits(megabits), None).iter().find(|(name, _)| *name == "a") {
            Some((_, FittedValue::Number(a))) => *a,
            other => panic!("{other:?}"),
        };
        // 45 Mb/s of 1500 B are the 3750 packets a second of the paper.
        assert!((gain(45) / 1.822e-5 - 1.0).abs() < 1e-9);
        assert!((gain(90) / gain(45) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_discipline_has_no_parameters() {
        assert!(fitted("python", Rate::megabits(1), None).is_empty());
    }
}
