//! Links that are down for a time: which ones, when, and the routes around them.

use std::collections::{BTreeMap, BTreeSet};

use forebay_engine::RouteChange;
use forebay_engine::forwarding::Forwarding;
use forebay_qdisc::{Span, Time};

use super::Plan;
use crate::schema::{LinkSpec, Outage, Transport};

/// A pair of hosts between which no path leads for a time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CutOff {
    /// The source and the destination of packets, as numbers of nodes.
    pub ends: (u32, u32),
    pub from: Time,
    /// [`Time::NEVER`] if no link comes back.
    pub to: Time,
    /// The first link of the usual path that is down then.
    pub link: u32,
}

/// The links that are down, or avoided, from a time on.
type Sets = Vec<(Time, BTreeSet<u32>)>;

impl Plan<'_> {
    /// The changes of the routes, which follow outages `after` this time.
    pub fn route_changes(&self, after: Span) -> Vec<RouteChange> {
        let change = |(from, avoided)| RouteChange { from, avoided };
        self.sets(|link| noticed(&link.down, after)).into_iter().map(change).collect()
    }

    /// The pairs of hosts that cannot be reached for a time, as often as that begins, in the order of time.
    pub fn cut_off(&self) -> Vec<CutOff> {
        let sets = self.sets(|link| merged(&link.down));
        let (usual, edges) = self.forwarding();
        let forwards: Vec<bool> = self.nodes.iter().map(|node| node.kind.forwards()).collect();
        let pairs: BTreeSet<(u32, u32)> = self
            .flows
            .iter()
            .flat_map(|flow| {
                let is_one_way =
                    matches!(&self.outline.spec.flows[flow.group].transport, Transport::Udp(udp) if !udp.is_ping());
                let there = (flow.source, flow.destination);
                [Some(there), (!is_one_way).then_some((there.1, there.0))]
            })
            .flatten()
            .filter(|&(_, to)| usual.number(to).is_some())
            .collect();
        let ends = || pairs.iter().map(|&(_, to)| to);
        let (mut cut_off, mut before) = (Vec::new(), BTreeSet::new());
        for (index, (from, down)) in sets.iter().enumerate() {
            let routes = Forwarding::avoiding(down, &forwards, &edges, ends());
            let reaches = |&&(from, to): &&(u32, u32)| {
                routes.path(&edges, from, to).is_some_and(|path| path.iter().all(|link| !down.contains(link)))
            };
            let now: BTreeSet<(u32, u32)> = pairs.iter().filter(|pair| !reaches(pair)).copied().collect();
            for &ends in now.difference(&before) {
                let path = usual.path(&edges, ends.0, ends.1).unwrap_or_default();
                let Some(link) = path.into_iter().find(|link| down.contains(link)) else { continue };
                let to = sets.get(index + 1).map_or(Time::NEVER, |&(next, _)| next);
                cut_off.push(CutOff { ends, from: *from, to, link });
            }
            before = now;
        }
        cut_off
    }

    /// The links for which times begin and end, from each such time on.
    fn sets(&self, times: impl Fn(&LinkSpec) -> Vec<(Time, Time)>) -> Sets {
        let mut changes: BTreeMap<Time, Vec<(u32, bool)>> = BTreeMap::new();
        for (link, number) in self.links.iter().zip(0..) {
            for (from, to) in times(self.spec(link)) {
                changes.entry(from).or_default().push((number, true));
                changes.entry(to).or_default().push((number, false));
            }
        }
        changes.remove(&Time::NEVER);
        let mut now = BTreeSet::new();
        let set = |(from, links): (Time, Vec<(u32, bool)>)| {
            for (link, begins) in links {
                if begins {
                    now.insert(link)
                } else {
                    now.remove(&link)
                };
            }
            (from, now.clone())
        };
        changes.into_iter().map(set).collect()
    }
}

/// Outages in the order of time, those that meet as one.
fn merged(outages: &[Outage]) -> Vec<(Time, Time)> {
    let at = |span| Time::ZERO.saturating_add(span);
    let mut sorted: Vec<(Time, Time)> = outages.iter().map(|outage| (at(outage.from), at(outage.until()))).collect();
    sorted.sort_unstable();
    let mut merged: Vec<(Time, Time)> = Vec::new();
    for (from, to) in sorted {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The times in which routes avoid a link. A state that lasts no longer than `after` changes no route.
fn noticed(outages: &[Outage], after: Span) -> Vec<(Time, Time)> {
    let later = |time: Time| time.saturating_add(after);
    let mut noticed: Vec<(Time, Time)> = Vec::new();
    for (from, to) in merged(outages) {
        match noticed.last_mut() {
            Some(last) if from <= last.1 => last.1 = later(to),
            _ if to.since(from) > after => noticed.push((later(from), later(to))),
            _ => {}
        }
    }
    noticed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(ms)
    }

    fn outages(times: &[(u64, u64)]) -> Vec<Outage> {
        times
            .iter()
            .map(|&(from, to)| Outage { from: Span::from_milliseconds(from), to: Some(Span::from_milliseconds(to)) })
            .collect()
    }

    #[test]
    fn outages_that_meet_are_one() {
        assert_eq!(merged(&outages(&[(30, 40), (0, 10), (10, 20), (12, 15)])), [(ms(0), ms(20)), (ms(30), ms(40))]);
    }

    #[test]
    fn routes_follow_after_a_delay_and_do_not_follow_what_is_shorter() {
        let after_five = |times| noticed(&outages(times), Span::from_milliseconds(5));
        assert_eq!(after_five(&[(10, 20)]), [(ms(15), ms(25))]);
        assert_eq!(after_five(&[(10, 15)]), []);
        // The link comes back for 5 ms, and for 6 ms.
        assert_eq!(after_five(&[(10, 20), (25, 30)]), [(ms(15), ms(35))]);
        assert_eq!(after_five(&[(10, 20), (26, 36)]), [(ms(15), ms(25)), (ms(31), ms(41))]);
        assert_eq!(
            noticed(&[Outage { from: Span::from_milliseconds(1), to: None }], Span::ZERO),
            [(ms(1), Time::NEVER)]
        );
    }
}
