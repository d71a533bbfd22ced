//! The physical limit of a queue, in packets or bytes, and the small checks that every configuration needs.

use forebay_units::QueueSize;

use crate::{Backlog, ParameterError, require};

/// The shortest packet that any network here carries: an IPv4 and a TCP header without options or data.
pub(crate) const SHORTEST_PACKET_BYTES: u64 = 40;

/// A limit in packets or bytes, kept as both so that the test on the way in has no branch on the unit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    packets: u64,
    bytes: u64,
}

impl Limit {
    /// The limit `size`; `field` names it in the error when it has no room for the shortest packet.
    pub(crate) fn new(size: QueueSize, field: &'static str) -> Result<Self, ParameterError> {
        match size {
            QueueSize::Packets(0) => Err(ParameterError { field, bound: "be at least 1 packet" }),
            QueueSize::Packets(packets) => Ok(Self { packets, bytes: u64::MAX }),
            QueueSize::Bytes(bytes) if bytes < SHORTEST_PACKET_BYTES => {
                Err(ParameterError { field, bound: "hold at least one packet (40 B)" })
            }
            QueueSize::Bytes(bytes) => Ok(Self { packets: u64::MAX, bytes }),
        }
    }

    /// This limit, and not more than `bytes`.
    pub(crate) fn and_bytes(self, bytes: u64) -> Self {
        Self { bytes: self.bytes.min(bytes), ..self }
    }

    /// Whether a packet of `len_bytes` fits behind `backlog`.
    #[inline]
    #[must_use]
    pub fn fits(self, backlog: Backlog, len_bytes: u32) -> bool {
        backlog.packets < self.packets && backlog.bytes + u64::from(len_bytes) <= self.bytes
    }

    /// Whether `backlog` is past the limit.
    pub(crate) fn is_exceeded_by(self, backlog: Backlog) -> bool {
        backlog.packets > self.packets || backlog.bytes > self.bytes
    }
}

/// Checks that a probability is in [0, 1]; NaN is not.
pub(crate) fn check_probability(value: f64, field: &'static str) -> Result<(), ParameterError> {
    require((0.0..=1.0).contains(&value), field, "be between 0 and 1")
}

/// Checks that the weight of a moving average is in (0, 1]; NaN is not.
pub(crate) fn check_averaging_weight(value: f64, field: &'static str) -> Result<(), ParameterError> {
    require(value > 0.0 && value <= 1.0, field, "be more than 0 and at most 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_without_room_for_a_packet_is_refused() {
        assert!(Limit::new(QueueSize::Packets(0), "limit").is_err());
        assert!(Limit::new(QueueSize::Bytes(39), "limit").is_err());
        assert!(Limit::new(QueueSize::Bytes(40), "limit").is_ok());
    }

    #[test]
    fn a_limit_may_be_reached_and_not_passed() {
        let backlog = |packets, bytes| Backlog { packets, bytes };
        let bytes = Limit::new(QueueSize::Bytes(1000), "limit").unwrap();
        assert_eq!([400, 401].map(|len_bytes| bytes.fits(backlog(1, 600), len_bytes)), [true, false]);
        assert_eq!([1000, 1001].map(|held| bytes.is_exceeded_by(backlog(1, held))), [false, true]);
        let both = bytes.and_bytes(900);
        assert_eq!([300, 301].map(|len_bytes| both.fits(backlog(1, 600), len_bytes)), [true, false]);
        assert_eq!([400, 401].map(|len_bytes| bytes.and_bytes(2000).fits(backlog(1, 600), len_bytes)), [true, false]);
        let packets = Limit::new(QueueSize::Packets(2), "limit").unwrap();
        assert_eq!([1, 2].map(|held| packets.fits(backlog(held, 0), 1000)), [true, false]);
        assert_eq!([2, 3].map(|held| packets.is_exceeded_by(backlog(held, 0))), [false, true]);
    }

    #[test]
    fn probabilities_and_weights_have_bounds() {
        for (value, probability, weight) in [
            (0.0, true, false),
            (f64::MIN_POSITIVE, true, true),
            (1.0, true, true),
            (1.0 + f64::EPSILON, false, false),
            (-f64::MIN_POSITIVE, false, false),
            (f64::NAN, false, false),
        ] {
            assert_eq!(check_probability(value, "p").is_ok(), probability, "{value}");
            assert_eq!(check_averaging_weight(value, "w").is_ok(), weight, "{value}");
        }
    }
}
