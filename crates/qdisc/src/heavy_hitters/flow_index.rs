//! From a flow to its member's number, in at most 65 steps whatever the flows are.
//!
//! A table of roots, indexed by the first bits of the flow's hash, and under each root a digital search tree over the
//! bits that follow. Every node holds a flow. If it is another flow, a bit of the hash selects the subtree in which a
//! search continues. The hash is a bijection of the key, so two flows always differ in some bit, and no path is longer
//! than the hash. With twice as many roots as flows a search meets about one node.

use alloc::vec;
use alloc::vec::Vec;

use super::{NONE, Steps};
use crate::memory::heap_bytes;
use crate::{FlowKey, hash_flow};

/// A flow at its member's number, and the nodes below it.
#[derive(Clone, Copy, Debug)]
struct Node {
    flow: FlowKey,
    children: [u32; 2],
}

/// A pointer to a node.
#[derive(Clone, Copy, Debug)]
enum Link {
    Root(usize),
    Child(u32, usize),
}

/// The numbers of up to as many flows as it was made for.
#[derive(Clone, Debug)]
pub(super) struct FlowIndex {
    roots: Vec<u32>,
    /// Bits of the hash that choose the root.
    root_bits: u32,
    nodes: Vec<Node>,
    salt: u64,
    pub steps: Steps,
}

impl FlowIndex {
    /// Room for `capacity` flows, all of it taken now; `salt` goes into the hash.
    pub fn new(capacity: u32, salt: u64) -> Self {
        let roots = (2 * capacity as usize).next_power_of_two();
        Self {
            roots: vec![NONE; roots],
            root_bits: roots.trailing_zeros(),
            nodes: Vec::with_capacity(capacity as usize),
            salt,
            steps: Steps::default(),
        }
    }

    /// The number of `flow`, if it has one.
    pub fn find(&self, flow: FlowKey) -> Option<u32> {
        let (_, number) = self.walk(flow);
        (number != NONE).then_some(number)
    }

    /// The flow that has `number`.
    pub fn flow(&self, number: u32) -> FlowKey {
        self.nodes[number as usize].flow
    }

    /// Gives `flow`, which has none, the next number.
    pub fn push(&mut self, flow: FlowKey) -> u32 {
        let number = self.nodes.len() as u32;
        let (link, _) = self.walk(flow);
        self.nodes.push(Node { flow, children: [NONE; 2] });
        self.set(link, number);
        number
    }

    /// Takes `number` from the flow that has it and gives it to `flow`, which has none.
    pub fn replace(&mut self, number: u32, flow: FlowKey) {
        self.remove(number);
        let (link, _) = self.walk(flow);
        self.nodes[number as usize] = Node { flow, children: [NONE; 2] };
        self.set(link, number);
    }

    /// Bytes that it holds on the heap.
    pub fn heap_bytes(&self) -> u64 {
        heap_bytes(&self.roots) + heap_bytes(&self.nodes)
    }

    /// The pointer that points, or would point, to `flow`, and its present value.
    fn walk(&self, flow: FlowKey) -> (Link, u32) {
        let hash = hash_flow(flow, self.salt);
        let mut link = Link::Root((hash >> (u64::BITS - self.root_bits)) as usize);
        let mut path = hash << self.root_bits;
        loop {
            let number = self.at(link);
            if number == NONE || self.nodes[number as usize].flow == flow {
                return (link, number);
            }
            link = Link::Child(number, (path >> 63) as usize);
            path <<= 1;
        }
    }

    /// Takes a node out. A leaf from below replaces it: to have come so far, it agrees with every bit on the way.
    fn remove(&mut self, number: u32) {
        let (link, _) = self.walk(self.flow(number));
        let (mut leaf, mut link_of_leaf) = (number, link);
        while let Some(side) = self.nodes[leaf as usize].children.iter().position(|child| *child != NONE) {
            link_of_leaf = Link::Child(leaf, side);
            leaf = self.at(link_of_leaf);
        }
        self.set(link_of_leaf, NONE);
        if leaf != number {
            self.nodes[leaf as usize].children = self.nodes[number as usize].children;
            self.set(link, leaf);
        }
    }

    fn at(&self, link: Link) -> u32 {
        self.steps.take();
        match link {
            Link::Root(root) => self.roots[root],
            Link::Child(parent, side) => self.nodes[parent as usize].children[side],
        }
    }

    fn set(&mut self, link: Link, number: u32) {
        match link {
            Link::Root(root) => self.roots[root] = number,
            Link::Child(parent, side) => self.nodes[parent as usize].children[side] = number,
        }
    }
}
