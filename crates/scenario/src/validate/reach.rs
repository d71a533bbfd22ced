//! The hosts that flows name, and which of them can be reached from which.

use forebay_document::{Invalid, Path, did_you_mean};

use std::collections::BTreeSet;

use petgraph::unionfind::UnionFind;

use super::check::Validity;
use crate::plan::outline::Outline;

/// How many hosts a message names.
const HOSTS_LISTED: usize = 12;

/// Which host can reach which, hosts passing nothing on.
pub(super) struct Reach<'a> {
    outline: &'a Outline<'a>,
    neighbours: Vec<Vec<u32>>,
    routers: UnionFind<u32>,
}

impl<'a> Reach<'a> {
    /// `None` if flows name no nodes.
    pub fn new(outline: &'a Outline<'a>) -> Option<Self> {
        if outline.nodes.is_empty() {
            return None;
        }
        let mut neighbours = vec![Vec::new(); outline.nodes.len()];
        let mut routers = UnionFind::new(outline.nodes.len());
        for ([from, to], _) in outline.ways() {
            neighbours[from as usize].push(to);
            if outline.kind(from).forwards() && outline.kind(to).forwards() {
                routers.union(from, to);
            }
        }
        Some(Self { outline, neighbours, routers })
    }

    /// Whether there is a way from host `from` to host `to`.
    pub fn reaches(&self, from: &str, to: &str) -> bool {
        let (Some(from), Some(to)) = (self.outline.node(from), self.outline.node(to)) else { return false };
        self.neighbours[from as usize].contains(&to) || !self.regions(from).is_disjoint(&self.regions(to))
    }

    /// The parts of the network behind a host; the routers of each reach each other.
    fn regions(&self, host: u32) -> BTreeSet<u32> {
        let neighbours = self.neighbours[host as usize].iter();
        let routers = neighbours.filter(|&&node| self.outline.kind(node).forwards());
        routers.map(|&router| self.routers.find(router)).collect()
    }

    /// The first of these hosts that does not reach another one, and that one.
    pub fn apart<'n>(&self, hosts: &[&'n str]) -> Option<[&'n str; 2]> {
        let mut regions = hosts.iter().filter_map(|host| Some(self.regions(self.outline.node(host)?)));
        let first = regions.next()?;
        let common = regions.fold(first, |common, regions| common.intersection(&regions).copied().collect());
        if !common.is_empty() {
            return None;
        }
        let pairs = hosts.iter().flat_map(|from| hosts.iter().map(move |to| [*from, *to]));
        pairs.into_iter().find(|[from, to]| from != to && !self.reaches(from, to))
    }

    /// Checks that `name` is that of a host.
    pub fn check_host(&self, name: &str, path: &Path) -> Validity {
        if let Some(node) = self.outline.node(name) {
            if !self.outline.kind(node).forwards() {
                return Ok(());
            }
            let label = "expected a host: only hosts carry flows";
            return Err(Invalid::new(path.clone(), format!("`{name}` is not a host"), label)
                .with_help(format!("connect a host to `{name}`, and name that host")));
        }
        let hosts = || self.outline.nodes.iter().filter(|node| !node.kind.forwards()).map(|node| &*node.name);
        let help = did_you_mean(name, hosts()).unwrap_or_else(|| {
            let first: Vec<&str> = hosts().take(HOSTS_LISTED).collect();
            let more = if hosts().nth(HOSTS_LISTED).is_some() { ", …" } else { "" };
            format!("hosts here: {}{more}", first.join(", "))
        });
        let message = format!("there is no host `{name}`");
        Err(Invalid::new(path.clone(), message, "expected the name of a host").with_help(help))
    }
}
