//! Why our sender does something else than Linux.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// HyStart begins a round with the first ACK that opens one, as Linux before 5.16 and since 6.14. The script was
    /// made for those between, which began none below 16 segments.
    HyStartRound,
    /// The script sets `tcp_slow_start_after_idle = 0`; our sender always reduces the window after an idle time.
    IdleRestart,
    /// Linux notes how full the window is when it sends: when all is sent, the ACKs of that window of data still open
    /// it. Ours goes by what is in flight when the ACK comes.
    NothingToSend,
    /// Once reordering was seen, Linux opens the window at SACKs, too, ours at ACKs of new data only.
    SackOpens,
    /// Without SACK, Linux takes a duplicate ACK for the arrival of a segment, which then does not open the window when
    /// it is acknowledged. RFC 5681 counts what an ACK acknowledges.
    DuplicatesCount,
    /// RACK's round trip is that of the segment sent last of those that an ACK reports (RFC 8985, 6.2, step 2), in
    /// Linux of the one with the highest number.
    RackRoundTrip,
    /// The script has the queue `fq` pace what is sent; our sender does not pace.
    Pacing,
    /// While the window comes down by proportional rate reduction, Linux's reads what is in the network and what may be
    /// sent at this ACK, ours the reduced window.
    ReadsTarget,
}

impl Why {
    pub const fn text(self) -> &'static str {
        match self {
            Self::HyStartRound => "HyStart of Linux 5.16 to 6.13 begins no round below 16 segments",
            Self::IdleRestart => "the window is always reduced after an idle time",
            Self::NothingToSend => "the window stops growing when all is sent",
            Self::SackOpens => "SACKs do not open the window after reordering",
            Self::DuplicatesCount => "what duplicate ACKs told of opens the window when it is acknowledged",
            Self::RackRoundTrip => "RACK's round trip is that of the segment sent last",
            Self::Pacing => "nothing is paced",
            Self::ReadsTarget => "the window reads the reduced one while it comes down",
        }
    }
}
