//! What decides in which order the parts of a network run.

pub(crate) mod deadlines;
pub(crate) mod inbox;
pub(crate) mod node;
pub(crate) mod order;
pub(crate) mod prefetch;
pub(crate) mod progress;
pub(crate) mod ring;
pub(crate) mod rounds;
pub(crate) mod routes;
pub(crate) mod sides;
pub(crate) mod windows;
