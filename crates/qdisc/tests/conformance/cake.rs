//! CAKE: a small configuration, and the most that a call does.

use forebay_qdisc::*;
use forebay_testkit::{Call, Work};

use super::{LONGEST, SMALL};

/// An arrival may cost this many packets, and an ACK of its flow if there is a filter. COBALT may drop all packets of a
/// queue but the last. A number is drawn for each turn of a queue, which a small part of its host may need often.
pub const fn cake_work(evicted: u64, filtered: u64, packets: u64) -> Work {
    let enqueue = Call::new(5 + 2 * evicted + 4 * filtered, evicted + filtered, 1).at_most();
    Work::new(enqueue, Call::new(3 * packets, packets - 1, 8 * 1024 * LONGEST).at_most())
}

/// A small one.
pub fn cake() -> CakeConfig {
    CakeConfig {
        bandwidth: Some(Rate::megabits(50)),
        tins: CakeTins::Diffserv8,
        rtt: CakeRoundTrip(Span::from_microseconds(100)),
        limit: Some(SMALL),
        ..CakeConfig::default()
    }
}
