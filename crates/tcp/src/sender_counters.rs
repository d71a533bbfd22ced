//! The counters of a sender.

/// The counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Segments sent: SYN, FIN and retransmissions included.
    pub segments_sent: u64,
    /// Segments sent again.
    pub segments_retransmitted: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// Reductions of the window because of an ECN echo.
    pub ecn_reductions: u64,
    /// Reductions that were undone, because nothing had been lost.
    pub spurious_reductions: u64,
    /// Tail loss probes sent.
    pub probes: u64,
}
