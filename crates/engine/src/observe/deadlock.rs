//! Deadlock by PAUSE: links that stop each other in a ring, so that none sends again.
//!
//! A buffer that stopped its link empties by other links. It never lets the link continue if too many of its frames are
//! for links that wait forever themselves. Priority flow control stops single classes: then each class of a link waits
//! for itself, whatever the others do.

use std::collections::{BTreeMap, BTreeSet};

use forebay_qdisc::Time;
use forebay_switching::SharedMemory;

use crate::spec::LinkId;

/// A class of the frames on a link. 0 where a switch does not distinguish classes.
pub(crate) type LinkClass = (LinkId, u8);

/// A port at the end of a run.
#[derive(Clone, Debug)]
pub(crate) struct PortWait {
    /// Where it receives.
    pub incoming: LinkId,
    /// How it stops that link: as a whole, or each class for itself.
    pub stops: Stops,
    /// Bytes that its buffer holds, for each link and class on which they leave.
    pub held: BTreeMap<LinkClass, u64>,
    /// Where it sends.
    pub out: LinkId,
    /// The classes that have frames there and may send none.
    pub blocked: u8,
    /// When the last frame of each class began there.
    pub last_sent: [Time; SharedMemory::CLASSES],
}

/// The classes that a buffer has stopped, and the bytes that it must release before they may continue.
#[derive(Clone, Debug)]
pub(crate) enum Stops {
    Link(Option<u64>),
    Classes([Option<u64>; SharedMemory::CLASSES]),
}

/// Links that wait for each other in a ring.
#[derive(Clone, Debug, PartialEq)]
pub struct Deadlock {
    /// Names of links, each waiting for the next, the last for the first.
    pub links: Vec<String>,
    /// When the last frame that takes part in it began on any of them, in seconds.
    pub since_s: f64,
}

/// A buffer that has stopped a class of a link.
struct Buffer<'a> {
    excess_bytes: u64,
    /// The frames that must leave: all of them, or those of one class.
    class: Option<u8>,
    held: &'a BTreeMap<LinkClass, u64>,
}

impl Buffer<'_> {
    /// The bytes to release, with the link and class on which they leave.
    fn leaves(&self) -> impl Iterator<Item = (LinkClass, u64)> {
        let is_meant = |out: &LinkClass| self.class.is_none_or(|class| out.1 == class);
        self.held.iter().filter(move |(out, bytes)| is_meant(out) && **bytes > 0).map(|(&out, &bytes)| (out, bytes))
    }
}

struct Waits<'a>(BTreeMap<LinkId, &'a PortWait>);

impl<'a> Waits<'a> {
    fn new(ports: &'a [PortWait]) -> Self {
        Self(ports.iter().map(|port| (port.incoming, port)).collect())
    }

    /// The buffer that stops the link.
    fn buffer(&self, (link, class): LinkClass) -> Option<Buffer<'a>> {
        let port = self.0.get(&link)?;
        let (excess_bytes, class) = match &port.stops {
            Stops::Link(excess) => ((*excess)?, None),
            Stops::Classes(excess) => (excess[usize::from(class)]?, Some(class)),
        };
        Some(Buffer { excess_bytes, class, held: &port.held })
    }
}

/// Links and classes that will never send again.
fn stuck(ports: &[PortWait], waits: &Waits<'_>) -> BTreeSet<LinkClass> {
    let blocked = |port: &PortWait| {
        let (out, blocked) = (port.out, port.blocked);
        (0..SharedMemory::CLASSES as u8).filter(move |class| blocked & 1 << class != 0).map(move |class| (out, class))
    };
    let mut stuck: BTreeSet<LinkClass> = ports.iter().flat_map(blocked).collect();
    // Strikes out links that may continue until all that are left wait for each other.
    loop {
        let remaining = stuck.clone();
        stuck.retain(|&link| {
            waits.buffer(link).is_some_and(|buffer| {
                let leaves = buffer.leaves().filter(|(out, _)| !remaining.contains(out));
                leaves.map(|(_, bytes)| bytes).sum::<u64>() < buffer.excess_bytes
            })
        });
        if stuck.len() == remaining.len() {
            return stuck;
        }
    }
}

pub(crate) fn find(ports: &[PortWait], names: &dyn Fn(LinkId) -> String) -> Option<Deadlock> {
    let waits = Waits::new(ports);
    let stuck = stuck(ports, &waits);
    // Follows what the buffer of each link waits for, until a link comes again. Where a buffer stops a whole link, it
    // is the same link in any class.
    let mut path: Vec<(LinkId, Option<u8>)> = Vec::new();
    let (mut link, mut ring) = (*stuck.first()?, None);
    while ring.is_none() {
        let buffer = waits.buffer(link)?;
        let key = (link.0, buffer.class);
        ring = path.iter().position(|passed| *passed == key).map(|start| path.split_off(start));
        path.push(key);
        link = buffer.leaves().find(|(out, _)| stuck.contains(out))?.0;
    }
    let ring = ring?;
    let last_sent = |&(link, class): &(LinkId, Option<u8>)| {
        let port = ports.iter().find(|port| port.out == link)?;
        class.map_or_else(|| port.last_sent.iter().max().copied(), |class| Some(port.last_sent[usize::from(class)]))
    };
    let since = ring.iter().filter_map(last_sent).max()?;
    // A ring has no start: the lowest name begins.
    let mut links: Vec<String> = ring.into_iter().map(|(link, _)| names(link)).collect();
    let first = links.iter().enumerate().min_by(|a, b| a.1.cmp(b.1)).map_or(0, |(index, _)| index);
    links.rotate_left(first);
    Some(Deadlock { links, since_s: since.seconds() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one class, which all ports stop as a whole link.
    fn wait(incoming: LinkId, out: LinkId, held: &[(LinkId, u64)]) -> PortWait {
        PortWait {
            incoming,
            stops: Stops::Link(Some(10_000)),
            held: held.iter().map(|&(link, bytes)| ((link, 0), bytes)).collect(),
            out,
            blocked: 1,
            last_sent: [Time::from_picoseconds(u64::from(out) * 1_000_000_000_000); SharedMemory::CLASSES],
        }
    }

    fn names(link: LinkId) -> String {
        format!("link-{link}")
    }

    #[test]
    fn three_links_in_a_ring_are_found() {
        // Link 0 leads into a buffer full of frames for link 1, and so on.
        let waits =
            [wait(0, 10, &[(1, 20_000)]), wait(1, 1, &[(2, 20_000)]), wait(2, 2, &[(0, 20_000)]), wait(11, 0, &[])];
        let deadlock = find(&waits, &names).unwrap();
        assert_eq!(deadlock.links, ["link-0", "link-1", "link-2"]);
        assert_eq!(deadlock.since_s, 2.0);
    }

    #[test]
    fn a_ring_with_a_way_out_is_none() {
        // The buffer behind link 1 also holds enough for link 7, which sends.
        let waits = [
            wait(0, 10, &[(1, 20_000)]),
            wait(1, 1, &[(2, 20_000), (7, 10_000)]),
            wait(2, 2, &[(0, 20_000)]),
            wait(11, 0, &[]),
        ];
        assert_eq!(find(&waits, &names), None);
        // Less than the necessary amount does not resolve it.
        let mut waits = waits;
        waits[1].held.insert((7, 0), 9_999);
        assert_eq!(find(&waits, &names).unwrap().links.len(), 3);
    }

    #[test]
    fn a_saturation_tree_is_no_deadlock() {
        // Link 1 waits for link 2, which waits for a slow node.
        let mut waits = vec![wait(0, 1, &[]), wait(1, 2, &[(2, 50_000)])];
        waits[1].blocked = 1;
        assert_eq!(find(&waits, &names), None);
        assert_eq!(find(&[], &names), None);
    }

    /// A ring of two links in class 3, whose ports also send class 0 until `busy_s`.
    fn ring_in_class_3(busy_s: u64) -> [PortWait; 2] {
        [(0, 1), (1, 0)].map(|(incoming, out)| {
            let mut stops = [None; SharedMemory::CLASSES];
            stops[3] = Some(10_000);
            let mut last_sent = [Time::ZERO; SharedMemory::CLASSES];
            let at = |seconds| Time::ZERO + forebay_qdisc::Span::from_seconds(seconds);
            (last_sent[0], last_sent[3]) = (at(busy_s), at(1 + u64::from(out)));
            let held = BTreeMap::from([((out, 3), 20_000), ((out, 0), 90_000)]);
            PortWait { incoming, stops: Stops::Classes(stops), held, out, blocked: 1 << 3, last_sent }
        })
    }

    #[test]
    fn a_ring_of_one_class_is_found_whatever_other_classes_send() {
        for busy_s in [0, 100] {
            let deadlock = find(&ring_in_class_3(busy_s), &names).unwrap();
            assert_eq!((&deadlock.links[..], deadlock.since_s), (&["link-0".into(), "link-1".into()][..], 2.0));
        }
    }

    #[test]
    fn frames_of_another_class_are_no_way_out_and_no_part_of_the_ring() {
        let mut waits = ring_in_class_3(100);
        // Blocked in a class that the buffer does not stop.
        waits[0].blocked = 1 << 5;
        assert_eq!(find(&waits, &names), None);
        // Enough frames of class 3 for a link that sends.
        let mut waits = ring_in_class_3(100);
        waits[0].held.insert((7, 3), 10_000);
        assert_eq!(find(&waits, &names), None);
    }
}
