//! Deadlock by PAUSE: links that stop each other in a ring, so that none sends again.
//!
//! A buffer that stopped its link empties by other links. It never lets the link continue if too many of its frames are
//! for links that wait forever themselves.

use forebay_qdisc::Time;

use crate::spec::LinkId;

/// A port at the end of a run.
#[derive(Clone, Debug)]
pub(crate) struct BufferWait {
    /// Where it receives, and whether it has stopped that link.
    pub incoming: LinkId,
    pub stops_incoming: bool,
    /// What it has to release before the link may continue.
    pub excess_bytes: u64,
    /// Bytes held for each link.
    pub held: Vec<(LinkId, u64)>,
    /// Where it sends, whether it has frames and may send none, and since when.
    pub out: LinkId,
    pub blocked: bool,
    pub last_sent: Time,
}

/// Links that wait for each other in a ring.
#[derive(Clone, Debug, PartialEq)]
pub struct Deadlock {
    /// Names of links, each waiting for the next, the last for the first.
    pub links: Vec<String>,
    /// The last transmission on any of them, in seconds.
    pub since_s: f64,
}

/// Links that will never send again.
fn stuck(waits: &[BufferWait]) -> Vec<LinkId> {
    let mut stuck: Vec<LinkId> = waits.iter().filter(|wait| wait.blocked).map(|wait| wait.out).collect();
    // Strikes out links that may continue until all that are left wait for each other.
    loop {
        let before = stuck.len();
        let remaining = stuck.clone();
        stuck.retain(|&link| {
            let buffer = waits.iter().find(|wait| wait.incoming == link && wait.stops_incoming);
            buffer.is_some_and(|buffer| {
                let leaves = buffer.held.iter().filter(|(out, _)| !remaining.contains(out));
                leaves.map(|(_, bytes)| bytes).sum::<u64>() < buffer.excess_bytes
            })
        });
        if stuck.len() == before {
            return stuck;
        }
    }
}

pub(crate) fn find(waits: &[BufferWait], names: &dyn Fn(LinkId) -> String) -> Option<Deadlock> {
    let stuck = stuck(waits);
    // Follows what the buffer of each link waits for, until a link comes again.
    let mut path = vec![*stuck.first()?];
    let ring = loop {
        let last = path[path.len() - 1];
        let buffer = waits.iter().find(|wait| wait.incoming == last && wait.stops_incoming)?;
        let (next, _) = buffer.held.iter().find(|(out, bytes)| *bytes > 0 && stuck.contains(out))?;
        if let Some(start) = path.iter().position(|link| link == next) {
            break path.split_off(start);
        }
        path.push(*next);
    };
    let last_sent = waits.iter().filter(|wait| ring.contains(&wait.out)).map(|wait| wait.last_sent).max()?;
    // A ring has no start: the lowest name begins.
    let mut links: Vec<String> = ring.into_iter().map(names).collect();
    let first = links.iter().enumerate().min_by(|a, b| a.1.cmp(b.1)).map_or(0, |(index, _)| index);
    links.rotate_left(first);
    Some(Deadlock { links, since_s: last_sent.seconds() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(incoming: LinkId, out: LinkId, held: &[(LinkId, u64)]) -> BufferWait {
        BufferWait {
            incoming,
            stops_incoming: true,
            excess_bytes: 10_000,
            held: held.to_vec(),
            out,
            blocked: true,
            last_sent: Time::from_picoseconds(u64::from(out) * 1_000_000_000_000),
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
        // Less than has to be released is no way out.
        let mut waits = waits;
        waits[1].held[1].1 = 9_999;
        assert_eq!(find(&waits, &names).unwrap().links.len(), 3);
    }

    #[test]
    fn a_saturation_tree_is_no_deadlock() {
        // Link 1 waits for link 2, which waits for a slow node.
        let mut waits = vec![wait(0, 1, &[]), wait(1, 2, &[(2, 50_000)])];
        waits[1].blocked = true;
        assert_eq!(find(&waits, &names), None);
        assert_eq!(find(&[], &names), None);
    }
}
