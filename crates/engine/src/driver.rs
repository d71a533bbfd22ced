//! What decides in which order the parts of a network run.

pub(crate) mod deadlines;
pub(crate) mod event_queue;
pub(crate) mod events;
pub(crate) mod prefetch;
pub(crate) mod process;
pub(crate) mod ring;
pub(crate) mod rounds;
pub(crate) mod sides;
pub(crate) mod ways;
