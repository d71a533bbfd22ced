//! What decides in which order the parts of a network run.

pub(crate) mod agenda;
pub(crate) mod deadlines;
pub(crate) mod feeders;
pub(crate) mod granules;
pub(crate) mod inbox;
pub(crate) mod node;
pub(crate) mod order;
pub(crate) mod pool;
pub(crate) mod prefetch;
pub(crate) mod progress;
pub(crate) mod ring;
pub(crate) mod routes;
pub(crate) mod stages;
pub(crate) mod windows;
