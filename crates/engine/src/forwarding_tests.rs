//! Tests of forwarding.

use super::*;

/// Nodes named by numbers; the first `forwarding` of them forward. Cables in both directions, each of this metric.
fn tables(forwarding: u32, nodes: u32, cables: &[(u32, u32, u32)]) -> (Forwarding, Vec<Edge>) {
    let edges: Vec<Edge> = cables
        .iter()
        .flat_map(|&(from, to, metric)| [Edge { from, to, metric }, Edge { from: to, to: from, metric }])
        .collect();
    let forwards: Vec<bool> = (0..nodes).map(|node| node < forwarding).collect();
    (Forwarding::new(&forwards, &edges, forwarding..nodes), edges)
}

fn nodes_on(forwarding: &Forwarding, edges: &[Edge], from: u32, to: u32) -> Option<Vec<u32>> {
    let path = forwarding.path(edges, from, to)?;
    Some(path.into_iter().map(|link| edges[link as usize].to).collect())
}

#[test]
fn the_path_of_the_least_metric_is_taken() {
    // A square of routers with a host at two opposite corners; one way is longer.
    let (forwarding, edges) = tables(4, 6, &[(0, 1, 1), (1, 2, 5), (0, 3, 2), (3, 2, 3), (4, 0, 1), (5, 2, 1)]);
    assert_eq!(nodes_on(&forwarding, &edges, 4, 5), Some(vec![0, 3, 2, 5]));
    assert_eq!(nodes_on(&forwarding, &edges, 5, 4), Some(vec![2, 3, 0, 4]));
}

#[test]
fn equal_paths_are_a_set_and_both_directions_prefer_the_same() {
    // Around a ring of eight, four links each way.
    let ring: Vec<(u32, u32, u32)> = (0..8).map(|node| (node, (node + 1) % 8, 1)).collect();
    let (forwarding, edges) = tables(8, 10, &[&ring[..], &[(8, 1, 1), (9, 5, 1)]].concat());
    assert_eq!((forwarding.count_paths(&edges, 8, 9), forwarding.count_paths(&edges, 2, 9)), (2, 1));
    let number = forwarding.number(9).unwrap_or(NONE);
    let mut ends: Vec<u32> = forwarding.next_hops(1, number).iter().map(|&link| edges[link as usize].to).collect();
    ends.sort_unstable();
    assert_eq!(ends, [0, 2]);
    assert_eq!(forwarding.next_hops(2, number).len(), 1);
    let there = nodes_on(&forwarding, &edges, 8, 9).unwrap_or_default();
    let mut back = nodes_on(&forwarding, &edges, 9, 8).unwrap_or_default();
    back.reverse();
    assert_eq!(there[..5], back[1..]);
    assert_eq!(there, [1, 2, 3, 4, 5, 9], "its links come first");
}

#[test]
fn both_directions_prefer_the_same_path_if_places_have_equal_sums() {
    // Around a square, over the first and the last cable or over the two between them.
    let square = [(0, 1, 1), (0, 3, 1), (3, 2, 1), (1, 2, 1), (4, 0, 1), (5, 2, 1)];
    let (forwarding, edges) = tables(4, 6, &square);
    let there = nodes_on(&forwarding, &edges, 4, 5).unwrap_or_default();
    let back = nodes_on(&forwarding, &edges, 5, 4).unwrap_or_default();
    assert_eq!((there.len(), back.len(), there[1]), (4, 4, back[1]));
}

#[test]
fn parallel_links_are_equal_paths() {
    let (forwarding, _) = tables(2, 4, &[(0, 1, 1), (0, 1, 1), (0, 1, 2), (2, 0, 1), (3, 1, 1)]);
    assert_eq!(forwarding.next_hops(0, forwarding.number(3).unwrap_or(NONE)), [0, 2]);
    assert_eq!(forwarding.next_hops(1, forwarding.number(2).unwrap_or(NONE)), [1, 3]);
}

#[test]
fn hosts_forward_nothing() {
    let (forwarding, edges) = tables(2, 5, &[(2, 0, 1), (2, 1, 1), (3, 0, 1), (4, 1, 1)]);
    assert_eq!(nodes_on(&forwarding, &edges, 3, 4), None);
    assert_eq!(nodes_on(&forwarding, &edges, 2, 4), Some(vec![1, 4]), "with two links");
    assert_eq!(nodes_on(&forwarding, &edges, 4, 2), Some(vec![1, 2]));
}

#[test]
fn hosts_may_be_joined_without_anything_between_them() {
    let edges = [Edge { from: 0, to: 1, metric: 1 }, Edge { from: 1, to: 0, metric: 1 }];
    let forwarding = Forwarding::new(&[false; 2], &edges, 0..2);
    assert_eq!((forwarding.path(&edges, 0, 1), forwarding.path(&edges, 1, 0)), (Some(vec![0]), Some(vec![1])));
}
