//! Priorities: bands with a queue of any kind each, of which the first one that has packets sends.
//!
//! # What it does
//! Each packet belongs to the band of its traffic class. The link sends from a band only while no band before it has a
//! packet to send. Nothing is limited: a band that keeps the link busy starves those after it.
//!
//! # When to use it
//! Use it for a little traffic that should never wait behind the rest, such as voice or control. Where the first bands
//! can have much traffic, give them a limit: `cbq`, `htb`, or a `tbf` as the queue of the band.
//!
//! # Example
//! ```toml
//! queue.prio.bands = [
//!     { name = "voice", classes = [46], queue.tbf = { rate = "2 Mbps" } },
//!     { name = "rest", queue = "fq_codel" },
//! ]
//! ```
//!
//! The `class` of a group of flows is its traffic class. The order of the bands is their priority. The bare name has
//! Linux's three bands.
//!
//! # Source
//! Linux, `net/sched/sch_prio.c`; its map of priorities is in `net/sched/sch_generic.c`.
//!
//! # Where we differ
//! - Bands list the traffic classes; Linux has a map of 16 priorities, and filters. Without `bands`, the last four bits
//!   of the traffic class are the priority in Linux's map. 0, 4 and 8 to 15 go to the second band, 6 and 7 to the
//!   first, the others to the third.
//! - At most 256 bands, in Linux 16.
//!
//! # Cost
//! Less than 1 KB, and the queue of each band. O(b) a packet with b bands, in addition to the work of the queue of its
//! band. A band that has refused is not asked again before the time that it gave, unless a packet of it arrives. No
//! random numbers.
//!
//! # Parameters
//! See [`PrioConfig`] and [`PrioBand`].

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use forebay_units::{QueueSize, Rate};

use crate::inner_queues::{BANDS, FIFO_LIMIT, InnerQueue, InnerQueues, PlacedError, band_map, band_queues};
use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::require;
use crate::{Backlog, ClassQueues, Cx, Discipline, Packet, ParameterError, Served};

/// Parameters of prio. `Q` describes the queue of a band.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct PrioConfig<Q> {
    /// The bands, the first priority first. Default: three bands, as in Linux.
    pub bands: Vec<PrioBand<Q>>,
    /// Name of the band for packets whose traffic class none of them lists. Default: the last.
    pub default_band: Option<String>,
    /// Limit of the FIFO queue of each band that has no other `queue`, in packets or bytes. Default: 1000 packets.
    pub limit: QueueSize,
}

impl<Q> Default for PrioConfig<Q> {
    fn default() -> Self {
        Self { bands: Vec::new(), default_band: None, limit: FIFO_LIMIT }
    }
}

/// A band of prio.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct PrioBand<Q> {
    /// Name of the band.
    pub name: String,
    /// The traffic classes whose packets belong to it. Default: none, which is useful for the default band only.
    #[cfg_attr(feature = "config", serde(default))]
    pub classes: Vec<u8>,
    /// The queue of the band. Default: a FIFO queue of `limit`.
    pub queue: Option<Q>,
}

impl<Q> PrioBand<Q> {
    /// A band with a FIFO queue.
    #[must_use]
    pub fn new(name: &str, classes: &[u8]) -> Self {
        Self { name: name.into(), classes: classes.to_vec(), queue: None }
    }
}

impl<Q> PrioConfig<Q> {
    fn band_map(&self) -> Result<Vec<u8>, PlacedError> {
        Limit::new(self.limit, "limit")?;
        let bands: Vec<_> = self.bands.iter().map(|band| (band.name.as_str(), &band.classes[..])).collect();
        band_map(&bands, self.default_band.as_deref())
    }
}

impl<Q> InnerQueues<Q> for PrioConfig<Q> {
    fn inner_queues(&self) -> Vec<InnerQueue<'_, Q>> {
        band_queues(self.bands.iter().map(|band| band.queue.as_ref()), self.limit)
    }

    fn inner_rate(&self, _index: usize, link_rate: Rate) -> Rate {
        link_rate
    }

    fn check(&self, _link_rate: Rate) -> Result<(), PlacedError> {
        self.band_map().map(drop)
    }
}

/// Prio: bands by priority.
pub struct Prio<P> {
    queues: ClassQueues<P>,
    band_of: Vec<u8>,
}

impl<P: Packet + 'static> Prio<P> {
    /// A prio over `queues`, which were built from the `queue` of each band in order. The link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new<Q>(
        config: &PrioConfig<Q>,
        _link_rate: Rate,
        queues: Vec<Box<dyn Discipline<P>>>,
    ) -> Result<Self, ParameterError> {
        let band_of = config.band_map()?;
        require(queues.len() == config.inner_queues().len(), BANDS.key, "have a queue each")?;
        Ok(Self { queues: ClassQueues::new(queues), band_of })
    }
}

impl<P: Packet + 'static> Discipline<P> for Prio<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let band = self.band_of[usize::from(packet.class())];
        self.queues.enqueue(usize::from(band), packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        self.queues.serve_in_order(cx)
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.band_of) + self.queues.state_bytes()
    }

    fn children(&self, visit: &mut dyn FnMut(&dyn Discipline<P>)) {
        self.queues.disciplines().for_each(visit);
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("backlogged_bands", self.queues.backlogged() as f64);
    }
}

#[cfg(test)]
#[path = "prio_tests.rs"]
mod tests;
