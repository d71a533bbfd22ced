//! Either seam in one type: a queue as its configuration builds it.

use alloc::boxed::Box;

use crate::admission::Admission;
use crate::arrival::Packet;
use crate::discipline::Discipline;
use crate::fifo::Fifo;

/// A queue as built from its configuration.
pub enum Queue<P> {
    /// A law in front of one FIFO.
    Law(Box<dyn Admission>),
    /// A discipline that holds its packets.
    Discipline(Box<dyn Discipline<P>>),
}

impl<P: Packet + 'static> Queue<P> {
    /// The queue as a discipline that holds its packets: a law gets its [`Fifo`].
    #[must_use]
    pub fn into_discipline(self) -> Box<dyn Discipline<P>> {
        match self {
            Self::Law(law) => Box::new(Fifo::new(law)),
            Self::Discipline(discipline) => discipline,
        }
    }
}
