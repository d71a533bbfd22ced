//! For tests only: a conformance suite for any queue discipline, oracles that compute an answer another way, and the
//! closed forms that a simulation has to meet.

mod closed_forms;
mod conformance;
mod oracle;
mod packet;
mod work;

pub use closed_forms::{
    collision_probability, md1_mean_wait_s, mm1k_blocking, mm1k_mean_packets, pftk_bps, square_root_bps,
};
pub use conformance::{Operation, bounded_memory, conformance, conformance_law};
pub use oracle::{FluidArrival, gps_finish_times_s};
pub use packet::{Recorder, TestPacket};
pub use work::{Call, Work, worst_case};
