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
    /// [`Time::NEVER`] if it lasts until the end of the run.
    pub to: Time,
    /// The first link of the usual path that is down then.
    pub link: u32,
}

/// From each time on, the links that are down, or avoided.
type LinksOverTime = Vec<(Time, BTreeSet<u32>)>;

impl Plan<'_> {
    /// The changes of the routes during the run, which follow outages `after` this time.
    pub fn route_changes(&self, after: Span) -> Vec<RouteChange> {
        let change = |(from, avoided)| RouteChange { from, avoided };
        self.over_time(|link| avoided_times(&link.down, after)).into_iter().map(change).collect()
    }

    /// The pairs of hosts that cannot be reached for a time while they have flows, as often as that begins, in the
    /// order of time.
    pub fn cut_off(&self) -> Vec<CutOff> {
        let down_links = self.over_time(|link| merged(&link.down));
        let (usual, edges) = self.forwarding();
        let forwards: Vec<bool> = self.nodes.iter().map(|node| node.kind.forwards()).collect();
        let pairs = self.talking();
        let destinations = || pairs.keys().map(|&(_, to)| to);
        let mut cut_off: Vec<CutOff> = Vec::new();
        let mut open: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for (from, down) in &down_links {
            let routes = Forwarding::avoiding(down, &forwards, &edges, destinations());
            let is_lost = |link: &u32| down.contains(link);
            for (&ends, stop) in &pairs {
                if routes.path(&edges, ends.0, ends.1).is_some_and(|path| !path.iter().any(is_lost)) {
                    if let Some(place) = open.remove(&ends) {
                        cut_off[place].to = *from;
                    }
                } else if from < stop && !open.contains_key(&ends) {
                    let path = usual.path(&edges, ends.0, ends.1).unwrap_or_default();
                    let Some(link) = path.into_iter().find(is_lost) else { continue };
                    open.insert(ends, cut_off.len());
                    cut_off.push(CutOff { ends, from: *from, to: Time::NEVER, link });
                }
            }
        }
        cut_off
    }

    /// The pairs of hosts between which packets go, each with the time when the last of its flows stops.
    fn talking(&self) -> BTreeMap<(u32, u32), Time> {
        let mut pairs: BTreeMap<(u32, u32), Time> = BTreeMap::new();
        for flow in &self.flows {
            let group = &self.outline.spec.flows[flow.group];
            let is_one_way = matches!(&group.transport, Transport::Udp(udp) if !udp.is_ping());
            let there = (flow.source, flow.destination);
            // A message ends with its last byte.
            let stop = group.stop.filter(|_| group.pattern.is_none()).map_or(Time::NEVER, |stop| Time::ZERO + stop);
            for pair in [Some(there), (!is_one_way).then_some((there.1, there.0))].into_iter().flatten() {
                pairs.entry(pair).and_modify(|last| *last = stop.max(*last)).or_insert(stop);
            }
        }
        pairs
    }

    /// The links for which times begin and end, from each such time of the run on.
    fn over_time(&self, times: impl Fn(&LinkSpec) -> Vec<(Time, Time)>) -> LinksOverTime {
        let mut changes: BTreeMap<Time, Vec<(u32, bool)>> = BTreeMap::new();
        for (link, number) in self.links.iter().zip(0..) {
            for (from, to) in times(self.spec(link)) {
                changes.entry(from).or_default().push((number, true));
                changes.entry(to).or_default().push((number, false));
            }
        }
        changes.split_off(&(Time::ZERO + self.outline.spec.duration));
        let mut now = BTreeSet::new();
        let change = |(from, links): (Time, Vec<(u32, bool)>)| {
            for (link, begins) in links {
                if begins {
                    now.insert(link)
                } else {
                    now.remove(&link)
                };
            }
            (from, now.clone())
        };
        changes.into_iter().map(change).collect()
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
pub(crate) fn avoided_times(outages: &[Outage], after: Span) -> Vec<(Time, Time)> {
    let later = |time: Time| time.saturating_add(after);
    let mut avoided: Vec<(Time, Time)> = Vec::new();
    for (from, to) in merged(outages) {
        match avoided.last_mut() {
            Some(last) if from <= last.1 => last.1 = later(to),
            _ if to.since(from) > after => avoided.push((later(from), later(to))),
            _ => {}
        }
    }
    avoided
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
        let after_five = |times| avoided_times(&outages(times), Span::from_milliseconds(5));
        assert_eq!(after_five(&[(10, 20)]), [(ms(15), ms(25))]);
        assert_eq!(after_five(&[(10, 15)]), []);
        // The link comes back for 5 ms, and for 6 ms.
        assert_eq!(after_five(&[(10, 20), (25, 30)]), [(ms(15), ms(35))]);
        assert_eq!(after_five(&[(10, 20), (26, 36)]), [(ms(15), ms(25)), (ms(31), ms(41))]);
        assert_eq!(
            avoided_times(&[Outage { from: Span::from_milliseconds(1), to: None }], Span::ZERO),
            [(ms(1), Time::NEVER)]
        );
    }
}
