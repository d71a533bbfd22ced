//! The qdiscs that have RED in them, and the rounding that `tc` does to its parameters.

use forebay_qdisc::{AredConfig, ChokeConfig, RedConfig, SfqRedConfig};
use forebay_units::QueueSize;

use super::command::Qdisc;
use super::port::{Port, number, rate};
use super::qdisc::{divisor, placement, sfq_buckets};

/// Bits of the kernel's average: a threshold in them leaves no room for a weight of more than 32 bits together.
const AVERAGE_BITS: u32 = 32;

/// Parameters of RED in every qdisc that has it. Sizes are in bytes.
struct Profile {
    min_bytes: u64,
    max_bytes: u64,
    weight: f64,
    max_probability: f64,
    packet_bytes: u64,
}

/// The exponent `Wlog` that `tc` finds for a burst: the largest weight 2^-Wlog with which the average stays below the
/// lower threshold while that many packets arrive in a row. `None` if the burst is shorter than the threshold.
pub(crate) fn weight_exponent(burst: u64, min_packets: f64) -> Option<u32> {
    let burst = burst as f64;
    let beyond = burst + 1.0 - min_packets;
    if beyond < 1.0 {
        return None;
    }
    (1..AVERAGE_BITS).find(|&exponent| {
        let weight = libm::exp2(-f64::from(exponent));
        beyond <= (1.0 - libm::pow(1.0 - weight, burst)) / weight
    })
}

impl Profile {
    fn min_packets(&self) -> f64 {
        self.min_bytes as f64 / self.packet_bytes as f64
    }

    /// The exponent of the weight that Linux can have: a power of two for which the average does not overflow.
    fn wanted_exponent(&self) -> u32 {
        let nearest = libm::round(-libm::log2(self.weight)).clamp(1.0, 31.0) as u32;
        let bits = u64::BITS - self.max_bytes.leading_zeros();
        nearest.min(AVERAGE_BITS.saturating_sub(bits + 1)).max(1)
    }

    /// The shortest burst from which `tc` computes that weight.
    fn burst(&self) -> u64 {
        let wanted = self.wanted_exponent();
        let reaches = |burst| weight_exponent(burst, self.min_packets()).is_none_or(|found| found >= wanted);
        let (mut below, mut above) = (libm::ceil(self.min_packets()).max(1.0) as u64 - 1, 1 << 40);
        while above - below > 1 {
            let middle = below.midpoint(above);
            *(if reaches(middle) { &mut above } else { &mut below }) = middle;
        }
        above
    }

    /// Adds the parameters of the average and of the profile, and what rounding makes of the weight.
    fn add_to(&self, qdisc: Qdisc, bandwidth: Option<String>) -> Qdisc {
        let burst = self.burst();
        let exponent = weight_exponent(burst, self.min_packets()).unwrap_or(AVERAGE_BITS - 1);
        let weight = libm::exp2(-f64::from(exponent));
        let qdisc = qdisc.with("avpkt", self.packet_bytes).with("burst", burst);
        let qdisc = match bandwidth {
            Some(bandwidth) => qdisc.with("bandwidth", bandwidth),
            None => qdisc,
        };
        qdisc.with("probability", number(self.max_probability)).note(format!(
            "weight = {}: tc computes 2^-{exponent} = {} from the burst.",
            number(self.weight),
            number(weight)
        ))
    }
}

fn count_note(qdisc: Qdisc, port: Port, sizes: &[QueueSize]) -> Qdisc {
    let in_packets = sizes.iter().any(|size| matches!(size, QueueSize::Packets(_)));
    qdisc.note_if(
        in_packets,
        format!("limit, thresholds: Linux counts bytes, here {} B for each packet.", port.packet_bytes),
    )
}

/// Ways of RED that Linux does not have.
fn red_notes(qdisc: Qdisc, config: &RedConfig) -> Qdisc {
    qdisc
        .note_if(config.gentle, "gentle = true: Linux drops everything above the upper threshold.")
        .note_if(config.wait, "wait = true: no counterpart; Linux's gaps between drops are 1 to 1/p packets.")
        .note_if(config.small_queue_guard, "small_queue_guard = true: no counterpart.")
        .note_if(config.byte_mode, "byte_mode = true: Linux drops packets of any size alike.")
        .note_if(config.max_marking_probability.is_some(), "max_marking_probability: no counterpart.")
}

fn ecn(qdisc: Qdisc, config: &RedConfig) -> Qdisc {
    qdisc.flag("ecn", config.ecn).flag("harddrop", config.ecn && config.hard_drop)
}

pub(super) fn red(config: &RedConfig, port: Port) -> Qdisc {
    // Below one packet no weight follows from a burst, and `tc` refuses the command.
    let min_bytes = port.bytes(config.min_threshold).max(1);
    let packet_bytes = config.mean_packet_size.0.min(min_bytes);
    let profile = Profile {
        min_bytes,
        max_bytes: port.bytes(config.max_threshold),
        weight: config.weight,
        max_probability: config.max_probability,
        packet_bytes,
    };
    let qdisc = Qdisc::new("red")
        .with("limit", port.bytes(config.limit))
        .with("min", profile.min_bytes)
        .with("max", profile.max_bytes);
    let qdisc = ecn(profile.add_to(qdisc, Some(rate(port.rate))), config).note_if(
        packet_bytes != config.mean_packet_size.0,
        format!("mean_packet_size = \"{}\": tc takes at most the lower threshold.", config.mean_packet_size),
    );
    red_notes(count_note(qdisc, port, &[config.limit, config.min_threshold]), config)
}

pub(super) fn ared(config: &AredConfig, port: Port) -> Qdisc {
    let default = AredConfig::default();
    let steps = |it: &AredConfig| (it.bottom, it.top, it.alpha, it.beta, it.interval);
    red(&config.red_for(port.rate), port)
        .flag("adaptive", true)
        .note_if(
            steps(config) != steps(&default),
            "bottom, top, alpha, beta, interval: 0.01, 0.5, 0.01, 0.9 and 500 ms in Linux.",
        )
        .note_if(config.ns_clock, "ns_clock = true: Linux has a timer.")
}

pub(super) fn choke(config: &ChokeConfig, port: Port) -> Qdisc {
    let (min, max) = (port.packets(config.min_threshold), port.packets(config.max_threshold));
    let avpkt = config.mean_packet_size.0;
    let profile = Profile {
        min_bytes: min.saturating_mul(avpkt),
        max_bytes: max.saturating_mul(avpkt),
        weight: config.weight,
        max_probability: config.max_probability,
        packet_bytes: avpkt,
    };
    let qdisc = Qdisc::new("choke").packet_limit(config.limit, port).with("min", min).with("max", max);
    let draws = config.candidates != 1 || config.regions.is_some();
    profile
        .add_to(qdisc, Some(rate(port.rate)))
        .flag("ecn", config.ecn)
        .note_if(draws, "candidates, regions: Linux draws one packet for each arrival.")
}

pub(super) fn sfq_red(config: &SfqRedConfig, port: Port) -> Qdisc {
    let bucket = config.bucket();
    let profile = Profile {
        min_bytes: port.bytes(bucket.min_threshold),
        max_bytes: port.bytes(bucket.max_threshold),
        weight: bucket.weight,
        max_probability: bucket.max_probability,
        packet_bytes: bucket.mean_packet_size.0,
    };
    let qdisc = Qdisc::new("sfq").packet_limit(config.limit, port);
    let qdisc = match config.quantum {
        Some(quantum) => qdisc.with("quantum", quantum.0),
        None => qdisc.note("quantum: Linux counts bytes, by default the interface's MTU; here a turn is one packet."),
    };
    let qdisc = sfq_buckets(divisor(qdisc, "buckets", config.buckets), config.buckets)
        .with("redflowlimit", port.bytes(bucket.limit))
        .with("min", profile.min_bytes)
        .with("max", profile.max_bytes);
    let qdisc = placement(ecn(profile.add_to(qdisc, None), &bucket), config.placement);
    red_notes(count_note(qdisc, port, &[config.limit, config.min_threshold]), &bucket)
        .note("The average of an idle bucket does not decay in Linux.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exponents that iproute2 6.1 sends to the kernel for these bursts.
    #[test]
    fn tc_computes_the_weight_from_burst_and_lower_threshold() {
        let exponents = [(10, 5.0), (20, 10.0), (55, 30.0), (70, 30.0), (4, 5.0)].map(|(a, b)| weight_exponent(a, b));
        assert_eq!(exponents, [Some(4), Some(4), Some(5), Some(6), None]);
    }

    #[test]
    fn the_burst_gives_the_power_of_two_nearest_to_the_weight() {
        for (weight, exponent) in [(0.5, 1), (0.002, 9), (0.0019, 9), (0.001, 10), (2e-5, 16)] {
            let profile =
                Profile { min_bytes: 7500, max_bytes: 22_500, weight, max_probability: 0.1, packet_bytes: 500 };
            assert_eq!(profile.wanted_exponent(), exponent);
            assert_eq!(weight_exponent(profile.burst(), 15.0), Some(exponent), "{weight}");
        }
    }

    #[test]
    fn a_weight_that_the_average_has_no_room_for_is_raised() {
        let profile =
            Profile { min_bytes: 1 << 20, max_bytes: 1 << 22, weight: 1e-6, max_probability: 0.1, packet_bytes: 500 };
        assert_eq!(profile.wanted_exponent(), 8);
    }
}
