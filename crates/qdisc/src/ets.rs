//! ETS, enhanced transmission selection: bands by priority, then bands that share the link by deficit round robin.
//!
//! # What it does
//! Each packet belongs to the band of its traffic class. The first bands are strict: the link sends from a strict band
//! while no band before it has a packet to send. While no strict band has one, the other bands share the link. They
//! take turns: a band sends while its deficit covers its next packet. Its `quantum` raises the deficit in each round,
//! so that busy bands divide the link by their quanta.
//!
//! # When to use it
//! Use it to divide a link between classes of traffic in fixed proportions, after a little traffic that never waits, as
//! data-center switches do. It limits no band: use `htb` for rates in bits per second.
//!
//! # Example
//! ```toml
//! queue.ets.strict = 1
//! queue.ets.bands = [
//!     { name = "control", classes = [48] },
//!     { name = "storage", classes = [8], quantum = "6000 B" },
//!     { name = "rest", quantum = "3000 B", queue = "fq_codel" },
//! ]
//! ```
//!
//! The `class` of a group of flows is its traffic class. The quanta decide the shares: here storage gets two thirds of
//! what control leaves. Set them to at least the longest packet.
//!
//! # Source
//! Linux, `net/sched/sch_ets.c`; the bands of IEEE 802.1Qaz. Deficit round robin: M. Shreedhar and G. Varghese,
//! "Efficient Fair Queueing Using Deficit Round Robin", SIGCOMM 1995.
//!
//! # Where we differ
//! - Linux needs the number of bands. The bare name here has three, for the traffic classes of `prio`'s, the first of
//!   which is strict; the other two have equal quanta.
//! - Bands list the traffic classes; Linux has a map of 16 priorities, and filters.
//! - A band whose queue holds its packets back is passed over, and keeps its place and its deficit. Linux sends nothing
//!   then.
//! - The length of a packet is known when the queue of its band has released it, as in Linux for a queue without
//!   `peek`. The limit of the queue does not count this packet.
//!
//! # Cost
//! Less than 1 KB, and the queue of each band. O(b) a packet with b bands, in addition to the work of the queue of its
//! band, if each quantum is at least a packet. Otherwise a band takes a turn for each quantum that its packet is long.
//! No random numbers.
//!
//! # Parameters
//! See [`EtsConfig`] and [`EtsBand`].

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Rate};

use crate::inner_queues::{
    BANDS, DEFAULT_BANDS, FIFO_LIMIT, InnerQueue, InnerQueues, PlacedError, band_map, band_queues,
};
use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::require;
use crate::{Backlog, ClassQueues, Cx, Discipline, Packet, ParameterError, Served};

/// Parameters of ETS. `Q` describes the queue of a band.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct EtsConfig<Q> {
    /// The bands: the strict ones, the first priority first, then those that share. Default: three bands.
    pub bands: Vec<EtsBand<Q>>,
    /// How many of the bands are strict. Default: none of `bands` (Linux); without `bands` the first of the three.
    pub strict: Option<u32>,
    /// Name of the band for packets whose traffic class none of them lists. Default: the last.
    pub default_band: Option<String>,
    /// Limit of the FIFO queue of each band that has no other `queue`, in packets or bytes. Default: 1000 packets.
    pub limit: QueueSize,
}

impl<Q> Default for EtsConfig<Q> {
    fn default() -> Self {
        Self { bands: Vec::new(), strict: None, default_band: None, limit: FIFO_LIMIT }
    }
}

/// A band of ETS.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct EtsBand<Q> {
    /// Name of the band.
    pub name: String,
    /// The traffic classes whose packets belong to it. Default: none, which is useful for the default band only.
    #[cfg_attr(feature = "config", serde(default))]
    pub classes: Vec<u8>,
    /// Bytes that the band may send in each round. Not for a strict band. Default: 1514 B, a packet of an Ethernet
    /// (Linux).
    #[cfg_attr(feature = "config", serde(default))]
    pub quantum: Option<Bytes>,
    /// The queue of the band. Default: a FIFO queue of `limit`.
    pub queue: Option<Q>,
}

const DEFAULT_QUANTUM: Bytes = Bytes(1514);

impl<Q> EtsBand<Q> {
    /// A band with a FIFO queue.
    #[must_use]
    pub fn new(name: &str, classes: &[u8]) -> Self {
        Self { name: name.into(), classes: classes.to_vec(), quantum: None, queue: None }
    }
}

impl<Q> EtsConfig<Q> {
    fn strict(&self) -> usize {
        self.strict.map_or(usize::from(self.bands.is_empty()), |strict| strict as usize)
    }

    /// The quantum of each band, also of strict ones, which do not use it.
    fn quanta(&self) -> Vec<u64> {
        if self.bands.is_empty() {
            return [DEFAULT_QUANTUM.0; DEFAULT_BANDS].to_vec();
        }
        self.bands.iter().map(|band| band.quantum.unwrap_or(DEFAULT_QUANTUM).0).collect()
    }

    fn band_map(&self) -> Result<Vec<u8>, PlacedError> {
        Limit::new(self.limit, "limit")?;
        let bands: Vec<_> = self.bands.iter().map(|band| (band.name.as_str(), &band.classes[..])).collect();
        let map = band_map(&bands, self.default_band.as_deref())?;
        require(self.strict() <= self.quanta().len(), "strict", "be at most the number of bands")?;
        for (index, band) in self.bands.iter().enumerate() {
            let Some(quantum) = band.quantum else { continue };
            BANDS.require(index >= self.strict(), index, "quantum", "be left out of a strict band")?;
            let bound = "be between 1 B and 4294967296 B";
            BANDS.require((1..=1 << 32).contains(&quantum.0), index, "quantum", bound)?;
        }
        Ok(map)
    }
}

impl<Q> InnerQueues<Q> for EtsConfig<Q> {
    fn inner_queues(&self) -> Vec<InnerQueue<'_, Q>> {
        band_queues(self.bands.iter().map(|band| band.queue.as_ref()), self.limit)
    }

    /// The link's, or what a band gets of it while all bands that share are busy.
    fn inner_rate(&self, index: usize, link_rate: Rate) -> Rate {
        let Some(shared) = index.checked_sub(self.strict()) else { return link_rate };
        let quanta: Vec<f64> = self.quanta().split_off(self.strict()).iter().map(|quantum| *quantum as f64).collect();
        link_rate.scaled(quanta[shared] / quanta.iter().sum::<f64>())
    }

    fn check(&self, _link_rate: Rate) -> Result<(), PlacedError> {
        self.band_map().map(drop)
    }
}

/// ETS: strict bands, then bands that share.
pub struct Ets<P> {
    queues: ClassQueues<P>,
    band_of: Vec<u8>,
    /// Number of strict bands.
    strict: usize,
    quanta: Vec<u64>,
    deficits: Vec<u64>,
    /// The bands that share and have packets, in the order of their turns.
    active: Vec<u8>,
}

impl<P: Packet + 'static> Ets<P> {
    /// An ETS over `queues`, which were built from the `queue` of each band in order. The link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new<Q>(
        config: &EtsConfig<Q>,
        _link_rate: Rate,
        queues: Vec<Box<dyn Discipline<P>>>,
    ) -> Result<Self, ParameterError> {
        let band_of = config.band_map()?;
        let quanta = config.quanta();
        require(queues.len() == quanta.len(), BANDS.key, "have a queue each")?;
        Ok(Self {
            queues: ClassQueues::new(queues),
            band_of,
            strict: config.strict(),
            deficits: alloc::vec![0; quanta.len()],
            active: Vec::with_capacity(quanta.len()),
            quanta,
        })
    }

    /// The next packet of the bands that share (`ets_qdisc_dequeue`).
    fn dequeue_shared(&mut self, cx: &mut Cx<'_, P>) -> Option<P> {
        loop {
            let now = cx.now;
            let may_send = |&band: &u8| self.queues.may_send(usize::from(band), now);
            let turn = self.active.iter().position(may_send)?;
            let band = usize::from(self.active[turn]);
            match self.queues.peek(band, cx).map(u64::from) {
                Some(len_bytes) if len_bytes <= self.deficits[band] => {
                    self.deficits[band] -= len_bytes;
                    let packet = self.queues.dequeue(cx, |_| Some(band)).map(|(_, packet)| packet);
                    if !self.queues.holds(band) {
                        self.active.remove(turn);
                    }
                    return packet;
                }
                Some(_) => {
                    self.deficits[band] += self.quanta[band];
                    self.active[turn..].rotate_left(1);
                }
                None if self.queues.holds(band) => {}
                None => drop(self.active.remove(turn)),
            }
        }
    }
}

impl<P: Packet + 'static> Discipline<P> for Ets<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let index = self.band_of[usize::from(packet.class())];
        let band = usize::from(index);
        let held = self.queues.holds(band);
        self.queues.enqueue(band, packet, cx);
        match (held, self.queues.holds(band)) {
            (false, true) if band >= self.strict => {
                self.active.push(index);
                self.deficits[band] = self.quanta[band];
            }
            // The queue has dropped all its packets with the one that came.
            (true, false) => self.active.retain(|&other| other != index),
            _ => {}
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        let (now, strict) = (cx.now, self.strict);
        let first = |queues: &ClassQueues<P>| (0..strict).find(|&band| queues.may_send(band, now));
        let packet = self.queues.dequeue(cx, first).map(|(_, packet)| packet);
        let packet = packet.or_else(|| self.dequeue_shared(cx));
        packet.map_or_else(|| self.queues.held(), Served::Packet)
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_bytes(&self) -> u64 {
        let bands = heap_bytes(&self.quanta) + heap_bytes(&self.deficits) + heap_bytes(&self.active);
        inline_bytes(self) + bands + heap_bytes(&self.band_of) + self.queues.state_bytes()
    }

    fn children(&self, visit: &mut dyn FnMut(&dyn Discipline<P>)) {
        self.queues.disciplines().for_each(visit);
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("backlogged_bands", self.queues.backlogged() as f64);
    }
}

#[cfg(test)]
#[path = "ets_tests.rs"]
mod tests;
