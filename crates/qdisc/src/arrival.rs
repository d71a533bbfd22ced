//! The properties of a packet that a discipline sees.

use crate::RateLabel;

/// The identity of a flow: equal for the packets of one flow, different (with overwhelming probability) for others.
/// Disciplines that use a hash table hash it again with a salt of their own ([`crate::hash_flow`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey(pub u64);

/// The ECN codepoint of a packet (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable: congestion can only be signalled by a drop.
    #[default]
    NotCapable,
    /// ECT(0): ECN-capable.
    Capable0,
    /// ECT(1): ECN-capable; RFC 9331 gives it to L4S.
    Capable1,
    /// CE: congestion experienced.
    CongestionExperienced,
}

impl Ecn {
    /// Whether a queue may mark the packet instead of dropping it; a packet that is already marked counts.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotCapable)
    }

    /// The two bits of the IP header.
    #[must_use]
    pub const fn codepoint(self) -> u8 {
        match self {
            Self::NotCapable => 0b00,
            Self::Capable1 => 0b01,
            Self::Capable0 => 0b10,
            Self::CongestionExperienced => 0b11,
        }
    }

    /// The codepoint in the two low bits of a byte, whose other six are the DSCP (RFC 2474, section 3).
    #[must_use]
    pub const fn of_traffic_class(byte: u8) -> Self {
        match byte & 0b11 {
            0b00 => Self::NotCapable,
            0b01 => Self::Capable1,
            0b10 => Self::Capable0,
            _ => Self::CongestionExperienced,
        }
    }
}

/// A packet as the disciplines see it: a simulated packet of 32 bytes, a captured one, or a live buffer.
pub trait Packet: Send {
    /// The flow it belongs to.
    fn flow(&self) -> FlowKey;
    /// Its length on the wire in bytes.
    fn len_bytes(&self) -> u32;
    /// Its ECN codepoint.
    fn ecn(&self) -> Ecn;
    /// Its traffic class.
    fn class(&self) -> u8;
    /// The input port of the switch by which it came.
    fn input_port(&self) -> u16;
    /// Sets its ECN codepoint to CE.
    fn mark_ce(&mut self);
    /// Sets its traffic class.
    fn set_class(&mut self, class: u8);

    /// The rate that an edge router has written on it, if one has and it can carry one.
    fn rate_label(&self) -> Option<RateLabel> {
        None
    }

    /// Writes a rate on it; without effect on a packet that cannot carry one.
    fn set_rate_label(&mut self, _label: RateLabel) {}

    /// Cuts its payload off, so that it has `len_bytes`, which is less than before. Returns false if it cannot be cut;
    /// then it has not changed.
    fn trim(&mut self, _len_bytes: u32) -> bool {
        false
    }

    /// All of the above in one record.
    fn arrival(&self) -> Arrival {
        Arrival {
            flow: self.flow(),
            len_bytes: self.len_bytes(),
            ecn: self.ecn(),
            class: self.class(),
            input_port: self.input_port(),
        }
    }
}

/// An arriving packet as an admission law sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The flow it belongs to.
    pub flow: FlowKey,
    /// Its length on the wire in bytes.
    pub len_bytes: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its traffic class.
    pub class: u8,
    /// The input port of the switch by which it came.
    pub input_port: u16,
}

/// Declares [`DropReason`]: each reason with the column of the results that counts it.
macro_rules! drop_reasons {
    ($(#[$doc:meta])* { $($(#[$variant_doc:meta])* $variant:ident = $column:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DropReason { $($(#[$variant_doc])* $variant,)* }

        impl DropReason {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The column that counts them in results.
            #[must_use]
            pub const fn column(self) -> &'static str {
                match self { $(Self::$variant => $column,)* }
            }
        }
    };
}

drop_reasons! {
    /// Why a packet was dropped.
    {
        /// The buffer was full.
        Overflow = "dropped_overflow",
        /// A probabilistic or early drop that signals congestion.
        Early = "dropped_early",
        /// The average or the delay was past the upper bound, so that every packet goes.
        Forced = "dropped_forced",
        /// The flow was over its own limit (FRED's strikes, DBL's first drop at `dbl`).
        FlowLimit = "dropped_flow_limit",
        /// The flow is classified belligerent (DBL).
        Belligerent = "dropped_belligerent",
        /// Evicted to make room for another flow's packet.
        Evicted = "dropped_evicted",
        /// The input port is shut or throttled.
        InputPort = "dropped_input_port",
        /// The flow is held to a fixed rate (SFB's limiter, the penalty box), or the packet is longer than any that the
        /// discipline lets through (TBF's bucket, taprio's windows).
        RateLimit = "dropped_rate_limit",
        /// The flow is over its fair share (AFD, CSFQ, RED-PD, BREATHe).
        FairShare = "dropped_fair_share",
        /// It matched a packet drawn from the queue, or was drawn (CHOKe).
        Match = "dropped_match",
    }
}

/// Why a packet was marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkReason {
    /// A probabilistic or early mark.
    Early,
    /// The average or the delay was past the upper bound.
    Forced,
    /// The flow was over its own limit.
    FlowLimit,
    /// The flow is over its fair share (AFD).
    FairShare,
}
