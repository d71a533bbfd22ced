//! In-band network telemetry (INT): the records that switches append to a data packet, as HPCC's simulator packs them.
//!
//! A record has 64 bits: 24 of time in ns, 20 of sent bytes, 17 of queue length, 3 of rate. Time and bytes wrap, so
//! only differences have a meaning. Quantization and wrapping are part of the model (`int-header.h`).

use forebay_units::{Rate, Time};

/// The most records in a packet (`maxHop`).
pub const MAX_HOPS: usize = 5;
/// Bytes that telemetry adds to each data packet: the records and their count.
pub const HEADER_BYTES: u32 = 8 * MAX_HOPS as u32 + 2;

const TIME_BITS: u32 = 24;
const BYTES_BITS: u32 = 20;
const QUEUE_BITS: u32 = 17;
/// Units of the counter of bytes and of the queue length, at a multiplier of 1.
const BYTES_UNIT: u64 = 128;
const QUEUE_UNIT: u64 = 80;
/// The rates that a record can name.
const RATES_GBPS: [u64; 5] = [25, 50, 100, 200, 400];

/// A record: the state of an output port when a packet left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop(u64);

impl Hop {
    /// States that a port of `rate` had sent `sent_bytes` before this packet, and that `queued_bytes` wait behind it.
    /// `multiplier` is the rate of the hosts in units of 25 Gb/s, at least 1 (`INT_MULTI`).
    ///
    /// `None` if no code exists for `rate`.
    #[must_use]
    pub fn record(now: Time, sent_bytes: u64, queued_bytes: u64, rate: Rate, multiplier: u32) -> Option<Self> {
        let code = code(rate)? as u64;
        let multiplier = u64::from(multiplier.max(1));
        let low = |value: u64, bits: u32| value & ((1 << bits) - 1);
        let time = low(now.picoseconds() / 1_000, TIME_BITS);
        let bytes = low(sent_bytes / (BYTES_UNIT * multiplier), BYTES_BITS);
        // The source lets the queue length wrap too; 10 MB at a multiplier of 1.
        let queue = low(queued_bytes / (QUEUE_UNIT * multiplier), QUEUE_BITS);
        Some(Self(((queue << BYTES_BITS | bytes) << TIME_BITS | time) << 3 | code))
    }

    fn field(self, shift: u32, bits: u32) -> u64 {
        self.0 >> shift & ((1 << bits) - 1)
    }

    /// Nanoseconds from `earlier` to this record, modulo 2^24.
    #[must_use]
    pub fn nanoseconds_since(self, earlier: Self) -> u64 {
        self.field(3, TIME_BITS).wrapping_sub(earlier.field(3, TIME_BITS)) & ((1 << TIME_BITS) - 1)
    }

    /// Bytes that the port sent between the two records, modulo the width of the counter.
    #[must_use]
    pub fn bytes_since(self, earlier: Self, multiplier: u32) -> u64 {
        let shift = 3 + TIME_BITS;
        let units = self.field(shift, BYTES_BITS).wrapping_sub(earlier.field(shift, BYTES_BITS));
        (units & ((1 << BYTES_BITS) - 1)) * BYTES_UNIT * u64::from(multiplier.max(1))
    }

    /// Bytes in the queue.
    #[must_use]
    pub fn queued_bytes(self, multiplier: u32) -> u64 {
        self.field(3 + TIME_BITS + BYTES_BITS, QUEUE_BITS) * QUEUE_UNIT * u64::from(multiplier.max(1))
    }

    /// The port's rate in bits per second.
    #[must_use]
    pub fn rate_bps(self) -> u64 {
        RATES_GBPS.get(self.field(0, 3) as usize).map_or(0, |gbps| gbps * 1_000_000_000)
    }
}

/// The multiplier of the units for hosts of this rate: `rate` over 25 Gb/s, at least 1.
pub(crate) fn multiplier(host: Rate) -> u32 {
    (host.bits_per_second() / 25_000_000_000).clamp(1, u64::from(u32::MAX)) as u32
}

/// Whether a record can name this rate of a port.
#[must_use]
pub fn can_name(rate: Rate) -> bool {
    code(rate).is_some()
}

fn code(rate: Rate) -> Option<usize> {
    RATES_GBPS.iter().position(|gbps| gbps * 1_000_000_000 == rate.bits_per_second())
}

/// The records of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telemetry {
    hops: [Hop; MAX_HOPS],
    count: u8,
    multiplier: u32,
}

impl Telemetry {
    /// Telemetry of a packet that leaves a host of this rate.
    #[must_use]
    pub fn new(host: Rate) -> Self {
        Self { hops: [Hop::default(); MAX_HOPS], count: 0, multiplier: multiplier(host) }
    }

    /// Appends the record of a port of `rate` that had sent `sent_bytes` before this packet, and in which
    /// `queued_bytes` wait behind it. A packet with all records, and a port whose rate has no code, append none.
    pub fn append(&mut self, now: Time, sent_bytes: u64, queued_bytes: u64, rate: Rate) {
        if let Some(place) = self.hops.get_mut(usize::from(self.count))
            && let Some(hop) = Hop::record(now, sent_bytes, queued_bytes, rate, self.multiplier)
        {
            *place = hop;
            self.count += 1;
        }
    }

    /// The records, from the first port to the last.
    #[must_use]
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(nanoseconds: u64, bytes: u64, queue: u64) -> Hop {
        Hop::record(Time::from_picoseconds(nanoseconds * 1_000), bytes, queue, Rate::megabits(100_000), 4).unwrap()
    }

    #[test]
    fn a_record_keeps_whole_units() {
        let record = hop(1_234, 51_711, 30_000);
        assert_eq!(record.queued_bytes(4), 29_760);
        assert_eq!(record.rate_bps(), 100_000_000_000);
        // 100 units of 512 bytes, and 511 bytes that are lost.
        assert_eq!(record.bytes_since(hop(0, 0, 0), 4), 51_200);
        assert_eq!(record.nanoseconds_since(hop(0, 0, 0)), 1_234);
    }

    #[test]
    fn time_and_bytes_wrap() {
        let (before, after) = (hop((1 << 24) - 10, (512 << 20) - 512, 0), hop((1 << 24) + 20, (512 << 20) + 1024, 0));
        assert_eq!(after.nanoseconds_since(before), 30);
        assert_eq!(after.bytes_since(before, 4), 1_536);
        assert_eq!(hop(0, 0, (320 << 17) + 640).queued_bytes(4), 640);
    }

    #[test]
    fn only_the_sources_rates_have_a_code() {
        let record = |gbps: u64| Hop::record(Time::ZERO, 0, 0, Rate::megabits(gbps * 1_000), 1).map(Hop::rate_bps);
        assert_eq!([25, 400].map(record), [Some(25_000_000_000), Some(400_000_000_000)]);
        assert_eq!([10, 40, 800].map(record), [None; 3]);
        assert_eq!([10, 25, 99, 100].map(|gbps| multiplier(Rate::megabits(gbps * 1_000))), [1, 1, 3, 4]);
        assert_eq!(HEADER_BYTES, 42);
    }

    #[test]
    fn the_first_five_ports_of_a_known_rate_append_their_records() {
        let mut telemetry = Telemetry::new(Rate::megabits(100_000));
        for port in 0..8 {
            let rate = Rate::megabits(if port == 1 { 10_000 } else { 100_000 });
            telemetry.append(Time::ZERO, 0, 320 * port, rate);
        }
        let queued: alloc::vec::Vec<u64> = telemetry.hops().iter().map(|hop| hop.queued_bytes(4) / 320).collect();
        assert_eq!(queued, [0, 2, 3, 4, 5]);
    }
}
