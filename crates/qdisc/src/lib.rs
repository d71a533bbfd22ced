//! Queue disciplines, one file and one paper each: they decide which packet waits, which goes and which is dropped.
//!
//! Pure state machines: the time, the rng and the place where dropped packets go are arguments. There are two seams,
//! and every discipline implements exactly one:
//!
//! - [`Admission`] is a *law in front of one FIFO*: it decides about a packet on arrival, from the state of the queue
//!   and of the flow, and never reorders (drop-tail, RED, FRED, DBL, BLUE, …). Because the order is settled on arrival,
//!   a simulator can compute the departure at once. [`Fifo`] turns a law into a discipline that holds packets.
//! - [`Discipline`] holds the packets itself and may reorder, evict or delay them (DRR, WFQ, CHOKe, CoDel, shapers,
//!   class-based queueing).
//!
//! [`Queue`] is either of the two, as built from a configuration.
//!
//! | file | contents |
//! |---|---|
//! | `admission.rs` | the seam of a law: the arrival's circumstances in, a verdict out |
//! | `discipline.rs` | the seam of a discipline that holds packets, and the sink of what it drops |
//! | `queue.rs`, `custom.rs` | either of them as built from a configuration; one from outside this crate |
//! | `arrival.rs`, `rate_label.rs`, `backlog.rs` | the input of both: a packet's properties and the queue |
//! | `flow_info.rs` | hosts and headers of a packet, for disciplines that need more |
//! | `server.rs`, `class_queues.rs` | the loop that asks a discipline for packets; the same for one for each class |
//! | `peeked.rs` | a discipline whose next packet is looked at before it leaves |
//! | `fifo.rs`, `line.rs` | the queue behind a law; a link that sends what a discipline gives, without a simulator |
//! | `limited_fifo.rs`, `timed_fifo.rs`, `random_access_fifo.rs` | queues of packets |
//! | `round_robin.rs`, `packet_pool.rs` | other ways to hold packets |
//! | `new_old_lists.rs`, `indexed_heap.rs` | orders of flow queues |
//! | `ranks.rs`, `flow_tags.rs` | ranks of packets, for `pifo`, `sp_pifo`, `aifo`; how far each flow has been served |
//! | `flow_slots.rs`, `heavy_hitters.rs`, `hash.rs`, `bucket_placement.rs` | which state belongs to a flow |
//! | `token_bucket.rs`, `inverse_sqrt.rs`, `class_weight.rs`, `pi2_controller.rs`, `signal.rs` | parts of several |
//! | `departure_marking.rs` | ECN marks by the queue that a packet leaves behind |
//! | `config.rs` | queues as a file describes them, with the table of all disciplines |
//! | `inner_queues.rs` | configurations that have queues inside, and traffic classes |
//! | `parameters.rs` | parameters that several disciplines have: of RED, CoDel, PIE, PI2 |
//! | `limit.rs`, `memory.rs` | the limit of a queue and checks of parameters; how much memory state takes |
//! | all others, with their folders | one discipline each; its tests next to it in `*_tests.rs` or in its folder |
//!
//! # Accounting
//! For every discipline, at any time: received = dropped on arrival + enqueued, and
//! enqueued = dequeued + dropped after + queued. `forebay-testkit` checks it under random operations.
#![no_std]

extern crate alloc;

use forebay_units::require;
pub use forebay_units::{ParameterError, Rate, Span, Time, uniform};
pub use rand_core::Rng;

#[macro_use]
mod parameters;

mod admission;
mod afd;
mod afq;
mod aifo;
mod ared;
mod arrival;
mod backlog;
mod blue;
mod breathe;
mod bucket_placement;
mod cake;
mod cbq;
mod choke;
mod class_queues;
mod class_weight;
mod cobalt;
mod codel;
#[cfg(feature = "config")]
pub mod config;
mod counterparts;
mod csfq;
mod custom;
pub mod dbl;
mod departure_marking;
mod discipline;
mod drop_tail;
mod drr;
mod dualpi2;
mod ecn_threshold;
mod ets;
mod feng_red;
mod fifo;
mod flow_info;
mod flow_slots;
mod flow_tags;
mod fq;
mod fq_codel;
mod fq_pie;
pub mod framing;
mod fred;
mod hash;
mod heavy_hitters;
mod hhf;
mod htb;
mod indexed_heap;
mod inner_queues;
mod inverse_sqrt;
mod limit;
mod limited_fifo;
mod line;
mod memory;
mod new_old_lists;
mod packet_pool;
mod peeked;
mod penalty_box;
mod pi;
mod pi2;
mod pi2_controller;
mod pie;
mod pifo;
mod prio;
mod queue;
mod random_access_fifo;
mod ranks;
mod rate_label;
mod red;
mod red_pd;
mod rem;
mod round_robin;
mod server;
pub mod sfb;
mod sfq;
mod sfq_red;
mod sfred;
mod signal;
mod sp_pifo;
mod sred;
mod taprio;
mod tbf;
#[cfg(test)]
mod test_support;
mod timed_fifo;
mod token_bucket;
mod trimming;
mod wfq;

pub use admission::{Admission, Offer, Ticket, Verdict};
pub use afd::{Afd, AfdConfig, AfdForm};
pub use afq::{Afq, AfqConfig};
pub use aifo::{Aifo, AifoConfig};
pub use ared::{Ared, AredConfig};
pub use arrival::{Arrival, DropReason, Ecn, FlowKey, MarkReason, Packet};
pub use backlog::Backlog;
pub use blue::{Blue, BlueConfig};
pub use breathe::{Breathe, BreatheConfig};
pub use bucket_placement::SfqPlacement;
pub use cake::{Cake, CakeAckFilter, CakeConfig, CakeIsolation, CakeRoundTrip, CakeTins};
pub use cbq::{Cbq, CbqClass, CbqConfig};
pub use choke::{Choke, ChokeConfig};
pub use class_queues::ClassQueues;
pub use class_weight::ClassWeight;
pub use cobalt::{Cobalt, CobaltConfig};
pub use codel::{Codel, CodelConfig, SquareRoot};
pub use counterparts::COUNTERPARTS;
pub use csfq::{Csfq, CsfqConfig, CsfqRole};
pub use custom::{CustomDiscipline, CustomFault, CustomQueue, Moment, NumberedDiscipline, Order};
pub use dbl::{Dbl, DblConfig};
pub use discipline::{Cx, Discipline, Served, Sink};
pub use drop_tail::{DropTail, DropTailConfig};
pub use drr::{Drr, DrrConfig};
pub use dualpi2::{DualPi2, DualPi2Config, DualPi2Delay, DualPi2EcnMask, DualPi2L4sAqm, DualPi2Scheduler};
pub use ecn_threshold::{EcnThreshold, EcnThresholdConfig};
pub use ets::{Ets, EtsBand, EtsConfig};
pub use feng_red::{FengRed, FengRedConfig};
pub use fifo::Fifo;
pub use flow_info::{FlowInfo, FlowKeysOnly, Hosts, SackOption, TcpHeader};
pub use fq::{Fq, FqConfig};
pub use fq_codel::{FqCodel, FqCodelConfig, FqCodelPreset};
pub use fq_pie::{FqPie, FqPieConfig};
pub use fred::{Fred, FredConfig};
pub use hash::{hash_flow, table_index};
pub use heavy_hitters::HeavyHitterSet;
pub use hhf::{Hhf, HhfConfig};
pub use htb::{Htb, HtbClass, HtbConfig};
pub use inner_queues::{InnerQueue, InnerQueues, PlacedError};
pub use limit::Limit;
pub use line::{Line, Watcher};
pub use penalty_box::{PenaltyBox, PenaltyBoxConfig};
pub use pi::{Pi, PiConfig, PiDesign, PiGains};
pub use pi2::{Pi2, Pi2Config};
pub use pi2_controller::{Pi2Draw, Pi2Preset};
pub use pie::{Pie, PieConfig, PiePreset};
pub use pifo::{Pifo, PifoConfig};
pub use prio::{Prio, PrioBand, PrioConfig};
pub use queue::Queue;
pub use ranks::drawn::{ExponentialRanks, PoissonRanks, UniformRanks};
pub use ranks::{DeadlineRanks, RankConfig};
pub use rate_label::RateLabel;
pub use red::{Red, RedConfig};
pub use red_pd::{RedPd, RedPdConfig};
pub use rem::{Rem, RemConfig};
pub use server::{Server, Transmitter};
pub use sfb::{Sfb, SfbConfig, SfbDropRule, SfbFairLimit, SfbRateLimitScope};
pub use sfq::{Sfq, SfqConfig};
pub use sfq_red::{SfqRed, SfqRedConfig};
pub use sfred::{Sfred, SfredConfig};
pub use sp_pifo::{SpPifo, SpPifoConfig};
pub use sred::{Sred, SredConfig};
pub use taprio::{Taprio, TaprioClass, TaprioConfig, TaprioInterval};
pub use tbf::{Tbf, TbfConfig};
pub use trimming::{Trimming, TrimmingConfig};
pub use wfq::{Wfq, WfqConfig};
