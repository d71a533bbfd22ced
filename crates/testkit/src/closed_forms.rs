//! Closed forms of queueing theory and of TCP under random loss.

/// Mean wait in the queue of M/D/1 (Poisson arrivals, one length): rho / (2 (1 - rho)) services, without the service
/// itself. `rho`, the load, is below 1.
#[must_use]
pub fn md1_mean_wait_s(rho: f64, service_s: f64) -> f64 {
    rho / (2.0 * (1.0 - rho)) * service_s
}

/// The distribution of M/M/1/K: the probability of `n` packets in a system of `k` places (the one in service included).
fn mm1k(rho: f64, k: u32, n: u32) -> f64 {
    // Summed rather than by the quotient, which is 0/0 at a load of 1.
    let sum: f64 = (0..=k).map(|n| libm::pow(rho, f64::from(n))).sum();
    libm::pow(rho, f64::from(n)) / sum
}

/// Share of arrivals that M/M/1/K turns away: a system of `k` places, the one in service included.
#[must_use]
pub fn mm1k_blocking(rho: f64, k: u32) -> f64 {
    mm1k(rho, k, k)
}

/// Mean number of packets in an M/M/1/K system, the one in service included.
#[must_use]
pub fn mm1k_mean_packets(rho: f64, k: u32) -> f64 {
    (0..=k).map(|n| f64::from(n) * mm1k(rho, k, n)).sum()
}

/// The square-root law: rate of a TCP flow in congestion avoidance under random loss of probability `p`, with `b`
/// segments for each ACK (M. Mathis et al., "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", CCR
/// 1997).
#[must_use]
pub fn square_root_bps(segment_bytes: f64, rtt_s: f64, p: f64, b: f64) -> f64 {
    8.0 * segment_bytes / rtt_s * libm::sqrt(3.0 / (2.0 * b * p))
}

/// The PFTK law: the square-root law with timeouts of `rto_s` (J. Padhye et al., "Modeling TCP Throughput", SIGCOMM
/// 1998, equation 30, without a maximum window).
#[must_use]
pub fn pftk_bps(segment_bytes: f64, rtt_s: f64, rto_s: f64, p: f64, b: f64) -> f64 {
    let recovery = rtt_s * libm::sqrt(2.0 * b * p / 3.0);
    let timeouts = rto_s * (3.0 * libm::sqrt(3.0 * b * p / 8.0)).min(1.0) * p * (1.0 + 32.0 * p * p);
    8.0 * segment_bytes / (recovery + timeouts)
}

/// The cycle of DCTCP flows in step with each other at a queue that marks from a threshold on (Alizadeh et al. 2010,
/// section 3.3). Alpha is constant within a cycle, and windows are real numbers.
#[derive(Clone, Copy, Debug)]
pub struct DctcpCycle {
    /// The window of each flow at which the queue reaches the threshold, in packets (W*).
    pub window: f64,
    /// The average share of marked packets.
    pub alpha: f64,
    /// The longest queue less the shortest one, in packets (A).
    pub amplitude: f64,
    /// The longest queue, in packets.
    pub longest_queue: f64,
}

/// The cycle of `flows` flows at a queue that marks from `threshold` packets on, on a path of `product` packets without
/// the queue.
#[must_use]
pub fn dctcp_cycle(product: f64, threshold: f64, flows: f64) -> DctcpCycle {
    let window = (product + threshold) / flows;
    DctcpCycle {
        window,
        alpha: libm::sqrt(2.0 / window),
        amplitude: libm::sqrt(2.0 * flows * (product + threshold)) / 2.0,
        longest_queue: threshold + flows,
    }
}

/// Probability that a flow hashes to the entry of at least one of `flows` others in a table of `entries` (DBL paper,
/// section 5), multiplied out.
#[must_use]
pub fn collision_probability(entries: u64, flows: u64) -> f64 {
    1.0 - libm::pow(1.0 - 1.0 / entries as f64, flows as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64, relative: f64) -> bool {
        (value / expected - 1.0).abs() < relative
    }

    #[test]
    fn queues() {
        assert!(close(md1_mean_wait_s(0.5, 2.0), 1.0, 1e-12));
        assert!(close(md1_mean_wait_s(0.9, 1.0), 4.5, 1e-12));
        // By the quotient: (1 - rho) rho^K / (1 - rho^(K+1)); and by symmetry at a load of 1.
        assert!(close(mm1k_blocking(0.8, 10), 0.2 * libm::pow(0.8, 10.0) / (1.0 - libm::pow(0.8, 11.0)), 1e-12));
        assert!(close(mm1k_blocking(1.0, 9), 0.1, 1e-12));
        assert!(close(mm1k_mean_packets(1.0, 9), 4.5, 1e-12));
        assert!(close(mm1k_mean_packets(0.5, 200), 1.0, 1e-12));
    }

    #[test]
    fn tcp_under_random_loss() {
        // 1000 B, 50.2 ms, RTO 0.2 s, an ACK for each segment, as quoted with ns-2's results.
        for (p, square_root, pftk) in [(0.001, 6.17e6, 6.12e6), (0.03, 1.127e6, 0.883e6)] {
            assert!(close(square_root_bps(1000.0, 0.0502, p, 1.0), square_root, 1e-3));
            assert!(close(pftk_bps(1000.0, 0.0502, 0.2, p, 1.0), pftk, 1e-3));
        }
    }

    #[test]
    fn dctcp() {
        // 10 Gb/s, 100 us, 1500 B, two flows, 40 packets.
        let cycle = dctcp_cycle(1e6 / 12_000.0, 40.0, 2.0);
        assert!(close(cycle.window, 61.67, 1e-3) && close(cycle.alpha, 0.1801, 1e-3));
        assert!(close(cycle.amplitude, 11.1, 1e-3) && cycle.longest_queue == 42.0);
    }

    #[test]
    fn collisions() {
        assert!(close(collision_probability(4096, 200), 0.047_66, 1e-3));
        assert_eq!(collision_probability(4096, 0), 0.0);
    }
}
