//! Events that do not cap the window.

use forebay_tcp::TcpConfig;

use crate::driver::{Script, at, new, ours};
use crate::linux;
use crate::why::Why;

pub fn scripts() -> Vec<Script> {
    vec![disorder(), mark()]
}

fn disorder() -> Script {
    Script {
        path: "cwnd_moderation/cwnd-moderation-disorder-no-moderation",
        about: "A SACK alone leaves the window as it is, though only four of its ten segments are in use.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(4).sends(&[new(0, 4)]),
            at(5).window(10),
            at(100).sack(0, &[(1, 2)]),
            at(105).sends(&[]).window(10),
        ],
    }
}

fn mark() -> Script {
    Script {
        path: "cwnd_moderation/cwnd-moderation-ecn-enter-cwr-no-moderation-700",
        about: "A mark takes the threshold to seven tenths of the window, whatever of it is in use, by proportional \
                rate reduction.",
        config: TcpConfig { ecn: true, ..linux() },
        round_trip: 100.0,
        rows: vec![
            at(0).write(4).sends(&[new(0, 4)]),
            at(5).window(10),
            at(100).ack(1).ece(),
            at(105).sends(&[]).threshold(7).window(5).but(Why::ReadsTarget, ours().window(7)),
        ],
    }
}
