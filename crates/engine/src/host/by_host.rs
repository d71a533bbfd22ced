//! The packets of a window, host by host.

use crate::host::hosts::NONE;

/// The packets of a window as a chain for each host, whose memory is then fetched once for all of them.
#[derive(Default)]
pub(crate) struct ByHost {
    /// First packet of each host; [`NONE`] between windows.
    first: Vec<u32>,
    next: Vec<u32>,
    due: Vec<u32>,
}

impl ByHost {
    pub fn new(hosts: usize) -> Self {
        Self { first: vec![NONE; hosts], next: Vec::new(), due: Vec::new() }
    }

    /// Chains packets, given as their hosts in the order of time.
    #[inline]
    pub fn chain(&mut self, hosts: impl ExactSizeIterator<Item = u32> + DoubleEndedIterator) {
        let Self { first, next, due } = self;
        due.clear();
        next.clear();
        next.resize(hosts.len(), NONE);
        for (packet, host) in hosts.enumerate().rev() {
            let first = &mut first[host as usize];
            if *first == NONE {
                due.push(host);
            }
            next[packet] = std::mem::replace(first, packet as u32);
        }
    }

    /// One of the hosts that have packets.
    #[inline]
    pub fn host(&self, place: usize) -> Option<u32> {
        self.due.get(place).copied()
    }

    /// The first packet of a host that has not been begun with.
    #[inline]
    pub fn first(&self, host: u32) -> usize {
        self.first[host as usize] as usize
    }

    /// Begins with a host: returns its first packet.
    #[inline]
    pub fn begin(&mut self, host: u32) -> u32 {
        std::mem::replace(&mut self.first[host as usize], NONE)
    }

    /// The next packet of the same host; [`NONE`] after the last.
    #[inline]
    pub fn next(&self, packet: u32) -> u32 {
        self.next[packet as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_host_has_its_packets_in_their_order(
            windows in prop::collection::vec(prop::collection::vec(0_u32..10, 0..50), 0..5),
        ) {
            let mut by_host = ByHost::new(10);
            for hosts in windows {
                by_host.chain(hosts.iter().copied());
                let mut seen = vec![Vec::new(); 10];
                let mut place = 0;
                while let Some(host) = by_host.host(place) {
                    prop_assert_eq!(hosts[by_host.first(host)], host);
                    let mut packet = by_host.begin(host);
                    while packet != NONE {
                        seen[host as usize].push(packet);
                        packet = by_host.next(packet);
                    }
                    place += 1;
                }
                for (host, seen) in (0..).zip(seen) {
                    let expected: Vec<u32> =
                        (0..).zip(&hosts).filter(|&(_, &other)| other == host).map(|(packet, _)| packet).collect();
                    prop_assert_eq!(seen, expected);
                }
            }
        }
    }
}
