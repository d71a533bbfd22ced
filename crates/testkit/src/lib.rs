//! For tests only: a conformance suite for any queue discipline, oracles that compute an answer another way, and the
//! closed forms that a simulation must meet.
//!
//! | file | contents |
//! |---|---|
//! | `conformance.rs`, `work.rs`, `packet.rs` | tests for every queue discipline |
//! | `oracle.rs` | the fluid server that fair queueing is measured by |
//! | `cell_switch.rs` | a whole switch in slots, that crossbar schedulers and the simulator's switch are measured by |
//! | `closed_forms.rs` | formulas of queueing theory and of TCP |

mod cell_switch;
mod closed_forms;
mod conformance;
mod oracle;
mod packet;
mod work;

pub use cell_switch::{
    BurstyCells, CellArrivals, CellFabric, CellSwitch, CellSwitchConfig, CellSwitchReport, CellSwitchRngs, Estimate,
};
pub use closed_forms::{
    DctcpCycle, collision_probability, dctcp_cycle, md1_mean_wait_s, mm1k_blocking, mm1k_mean_packets, pftk_bps,
    square_root_bps,
};
pub use conformance::{Operation, Order, bounded_memory, conformance, conformance_in_order, conformance_law};
pub use oracle::{FluidArrival, gps_finish_times_s};
pub use packet::{Recorder, TestPacket};
pub use work::{Call, Work, worst_case};
