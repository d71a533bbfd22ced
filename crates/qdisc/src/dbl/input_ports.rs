//! Input ports and the belligerent flows that came by them (paper, section 5, "One possible extension").

use alloc::vec::Vec;

use super::config::{DblInputPorts, InputPortAction};
use crate::token_bucket::TokenBucket;
use crate::{Rate, Span, Time};

/// The input ports of one output queue.
#[derive(Clone, Debug)]
pub(super) struct InputPorts {
    limit: u32,
    action: InputPortAction,
    hold: Span,
    /// The bucket with which a throttle begins.
    bucket: TokenBucket,
    ports: Vec<InputPort>,
}

#[derive(Clone, Debug)]
struct InputPort {
    belligerent_flows: u32,
    /// Counts how often the list of belligerents was cleared; a flow blamed in an earlier round no longer counts.
    round: u32,
    /// The last time that anything was held against the port.
    last_offence: Time,
    restricted: bool,
    bucket: TokenBucket,
}

impl InputPorts {
    /// Ports of a queue on a link of `link_rate`; `burst_bytes` may pass a throttle at once.
    pub fn new(config: &DblInputPorts, link_rate: Rate, burst_bytes: u64) -> Self {
        let bucket = TokenBucket::new(link_rate.scaled(config.share), burst_bytes);
        Self { limit: config.limit, action: config.action, hold: config.hold, bucket, ports: Vec::new() }
    }

    /// Whether a packet of `port` may proceed to the queue.
    pub fn admits(&mut self, port: u16, len_bytes: u32, now: Time) -> bool {
        let (action, hold) = (self.action, self.hold);
        let port = self.port(port);
        let shut = port.restricted && action == InputPortAction::Shutdown;
        let listed = port.restricted || port.belligerent_flows > 0;
        if listed && !shut && now.since(port.last_offence) > hold {
            port.clear();
        }
        if !port.restricted {
            return true;
        }
        if action == InputPortAction::Throttle && port.bucket.try_take(len_bytes, now) {
            return true;
        }
        port.last_offence = now;
        false
    }

    /// Holds a belligerent flow against `port`; returns the round for [`InputPorts::absolve`].
    pub fn blame(&mut self, port: u16, now: Time) -> u32 {
        let (limit, fresh) = (self.limit, self.bucket);
        let port = self.port(port);
        port.belligerent_flows += 1;
        port.last_offence = now;
        if port.belligerent_flows > limit && !port.restricted {
            port.restricted = true;
            port.bucket = fresh;
        }
        port.round
    }

    /// Whether a flow blamed in `round` still counts against `port`; if so, it has just been seen again.
    pub fn recalls(&mut self, port: u16, round: u32, now: Time) -> bool {
        let port = self.port(port);
        let recalled = port.round == round;
        if recalled {
            port.last_offence = now;
        }
        recalled
    }

    /// Takes back the blame of `round`.
    pub fn absolve(&mut self, port: u16, round: u32) {
        let port = self.port(port);
        if port.round == round {
            port.belligerent_flows = port.belligerent_flows.saturating_sub(1);
        }
    }

    /// Frees `port` and forgets what was held against it.
    pub fn reopen(&mut self, port: u16) {
        self.port(port).clear();
    }

    /// Number of ports that are throttled or shut.
    pub fn restricted(&self) -> usize {
        self.ports.iter().filter(|port| port.restricted).count()
    }

    fn port(&mut self, port: u16) -> &mut InputPort {
        let index = usize::from(port);
        if index >= self.ports.len() {
            let unknown = InputPort {
                belligerent_flows: 0,
                round: 0,
                last_offence: Time::ZERO,
                restricted: false,
                bucket: self.bucket,
            };
            self.ports.resize(index + 1, unknown);
        }
        &mut self.ports[index]
    }
}

impl InputPort {
    fn clear(&mut self) {
        self.belligerent_flows = 0;
        self.round = self.round.wrapping_add(1);
        self.restricted = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Rate = Rate::megabits(100);

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(milliseconds)
    }

    #[test]
    fn one_belligerent_too_many_throttles_the_port_and_no_other() {
        let mut ports = InputPorts::new(&DblInputPorts { limit: 2, ..DblInputPorts::default() }, LINK, 1000);
        let rounds = [(); 3].map(|()| ports.blame(7, at(0)));
        assert_eq!((rounds, ports.restricted()), ([0; 3], 1));
        // 1 % of 100 Mb/s is 125 packets of 1000 B a second, with one more in the first burst; another port is free.
        let passed = (0..1000).filter(|ms| ports.admits(7, 1000, at(*ms))).count();
        assert!((125..=126).contains(&passed), "{passed}");
        assert!((0..1000).all(|ms| ports.admits(8, 1000, at(ms))));
        // Silent for longer than the hold time: free again, and the old blame is void.
        assert!(ports.admits(7, 1000, at(2500)) && ports.admits(7, 1000, at(2500)));
        assert!(!ports.recalls(7, 0, at(2500)));
    }

    #[test]
    fn a_throttled_port_stays_throttled_while_it_floods() {
        let mut ports = InputPorts::new(&DblInputPorts { limit: 0, ..DblInputPorts::default() }, LINK, 1000);
        let round = ports.blame(0, at(0));
        ports.absolve(0, round);
        let passed = (0..10_000).filter(|ms| ports.admits(0, 1000, at(*ms))).count();
        assert!((1245..=1255).contains(&passed), "{passed}");
    }

    #[test]
    fn what_is_absolved_no_longer_counts() {
        let mut ports = InputPorts::new(&DblInputPorts { limit: 1, ..DblInputPorts::default() }, LINK, 1000);
        let round = ports.blame(3, at(0));
        ports.absolve(3, round + 1);
        ports.absolve(3, round);
        ports.blame(3, at(0));
        assert_eq!(ports.restricted(), 0, "one is left, and one is allowed");
        ports.absolve(3, round + 1);
        ports.blame(3, at(0));
        assert_eq!(ports.restricted(), 1, "another round's blame is not taken back");
    }

    #[test]
    fn a_silent_port_is_forgiven_after_the_hold_time() {
        // A port within its limit as well: the blame of its flow is void.
        for (limit, restricted) in [(0, 1), (1, 0)] {
            let config = DblInputPorts { limit, ..DblInputPorts::default() };
            let mut ports = InputPorts::new(&config, LINK, 1000);
            let round = ports.blame(3, at(0));
            assert!(ports.admits(3, 1000, at(1000)));
            assert_eq!((ports.restricted(), ports.ports[3].belligerent_flows), (restricted, 1), "not longer than it");
            assert!(ports.admits(3, 1000, at(1001)));
            assert_eq!((ports.restricted(), ports.ports[3].belligerent_flows), (0, 0));
            assert!(!ports.recalls(3, round, at(1001)));
        }
    }

    #[test]
    fn each_throttle_begins_with_a_full_bucket_and_further_blame_does_not_fill_it() {
        let mut ports = InputPorts::new(&DblInputPorts { limit: 0, ..DblInputPorts::default() }, LINK, 1000);
        let passes = |ports: &mut InputPorts| (0..10).filter(|_| ports.admits(0, 1000, at(0))).count();
        ports.blame(0, at(0));
        assert_eq!(passes(&mut ports), 1);
        ports.blame(0, at(0));
        assert_eq!(passes(&mut ports), 0);
        ports.reopen(0);
        ports.blame(0, at(0));
        assert_eq!(passes(&mut ports), 1);
    }

    #[test]
    fn blame_is_of_the_round_in_which_it_was_laid() {
        let mut ports = InputPorts::new(&DblInputPorts { limit: 2, ..DblInputPorts::default() }, LINK, 1000);
        for round in 0..3 {
            assert_eq!(ports.blame(3, at(0)), round);
            assert!((0..5).all(|earlier| ports.recalls(3, earlier, at(0)) == (earlier == round)));
            ports.reopen(3);
        }
    }

    #[test]
    fn a_flow_that_is_seen_again_puts_off_the_forgiveness_of_its_port() {
        let mut ports = InputPorts::new(&DblInputPorts::default(), LINK, 1000);
        let is_forgiven = |ports: &mut InputPorts, milliseconds| {
            assert!(ports.admits(3, 1000, at(milliseconds)));
            ports.ports[3].belligerent_flows == 0
        };
        let round = ports.blame(3, at(5000));
        assert!(!is_forgiven(&mut ports, 6000));
        assert!(ports.recalls(3, round, at(6500)));
        // One that was blamed in another round does not.
        assert!(!ports.recalls(3, round + 1, at(7000)));
        assert!(!is_forgiven(&mut ports, 7500));
        assert!(is_forgiven(&mut ports, 7501));
    }

    #[test]
    fn a_shut_port_waits_for_the_administrator() {
        let config = DblInputPorts { limit: 0, action: InputPortAction::Shutdown, ..DblInputPorts::default() };
        let mut ports = InputPorts::new(&config, LINK, 1000);
        ports.blame(3, at(0));
        assert!(!ports.admits(3, 1000, at(1)) && !ports.admits(3, 1000, at(1_000_000)));
        ports.reopen(3);
        assert!(ports.admits(3, 1000, at(1_000_001)));
    }
}
