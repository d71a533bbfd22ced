//! The nodes that flows name, and which of them can be reached from which.

use forebay_document::{Invalid, Path, did_you_mean};

use std::collections::{BTreeMap, BTreeSet};

use petgraph::unionfind::UnionFind;

use super::check::Validity;
use crate::plan::outline::Outline;

/// Which host can reach which, hosts passing nothing on.
pub(super) struct Reach<'a> {
    nodes: &'a [(&'a str, bool)],
    numbers: BTreeMap<&'a str, usize>,
    neighbours: Vec<Vec<usize>>,
    routers: UnionFind<usize>,
}

impl<'a> Reach<'a> {
    /// `None` if flows name no nodes.
    pub fn new(outline: &'a Outline<'_>) -> Option<Self> {
        let nodes = &outline.named_nodes[..];
        if nodes.is_empty() {
            return None;
        }
        let numbers: BTreeMap<_, _> = nodes.iter().enumerate().map(|(index, node)| (node.0, index)).collect();
        let mut neighbours = vec![Vec::new(); nodes.len()];
        let mut routers = UnionFind::new(nodes.len());
        for [from, to] in outline.links.iter().filter_map(|links| links.ends) {
            let (Some(&from), Some(&to)) = (numbers.get(from), numbers.get(to)) else { continue };
            neighbours[from].push(to);
            neighbours[to].push(from);
            if nodes[from].1 && nodes[to].1 {
                routers.union(from, to);
            }
        }
        Some(Self { nodes, numbers, neighbours, routers })
    }

    fn forwards(&self, node: usize) -> bool {
        self.nodes[node].1
    }

    /// Whether there is a way from host `from` to host `to`.
    pub fn reaches(&self, from: &str, to: &str) -> bool {
        let (Some(&from), Some(&to)) = (self.numbers.get(from), self.numbers.get(to)) else { return false };
        if self.neighbours[from].contains(&to) {
            return true;
        }
        let regions = |host: usize| -> BTreeSet<usize> {
            let routers = self.neighbours[host].iter().filter(|&&node| self.forwards(node));
            routers.map(|&router| self.routers.find(router)).collect()
        };
        !regions(from).is_disjoint(&regions(to))
    }

    /// Checks that `name` is that of a host.
    pub fn check_host(&self, name: &str, path: &Path) -> Validity {
        let hosts = || self.nodes.iter().filter(|node| !node.1).map(|node| node.0);
        match self.numbers.get(name) {
            Some(&index) if !self.forwards(index) => Ok(()),
            Some(_) => Err(Invalid::new(
                path.clone(),
                format!("`{name}` is not a host"),
                "expected a host: only hosts carry flows",
            )
            .with_help(format!("connect a host to `{name}` by a link, or make it a host: kind = \"host\""))),
            None => {
                Err(Invalid::new(path.clone(), format!("there is no host `{name}`"), "expected the name of a host")
                    .with_help(did_you_mean(name, hosts())))
            }
        }
    }
}
