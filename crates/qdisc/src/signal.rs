//! The congestion signal for one packet.

/// The decision of an AQM on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Passes it on as it is.
    None,
    /// Marks it with CE.
    Mark,
    /// Drops it.
    Drop,
}
