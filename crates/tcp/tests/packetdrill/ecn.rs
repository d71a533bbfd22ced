//! Explicit congestion notification.

use forebay_tcp::TcpConfig;

use crate::driver::{Script, at, new};
use crate::linux;

pub fn scripts() -> Vec<Script> {
    vec![Script {
        path: "ecn/ecn-uses-ect0",
        about: "Data is ECN-capable, ECT(0), once both ends have agreed on it.",
        config: TcpConfig { ecn: true, ..linux() },
        round_trip: 2.0,
        rows: vec![at(2).write(1).sends(&[new(0, 1)]).ect()],
    }]
}
