//! Explicit congestion notification: the choices of a connection.

/// Feedback of marks from the receiver to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum EcnFeedback {
    /// Each ACK echoes a mark until the sender signals its reduction: one sign of congestion in a round trip (RFC
    /// 3168, section 6.1.3).
    #[default]
    Classic,
    /// Each ACK echoes whether the segments that it covers were marked; a change of that is acknowledged at once (RFC
    /// 8257, section 3.2).
    Dctcp,
    /// Each ACK carries a counter of marked packets modulo 8 and an option with a counter of marked bytes (RFC 9768).
    Accurate,
}

/// The ECN codepoint of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum EcnCodepoint {
    /// ECT(0): a mark counts like a loss (RFC 3168).
    #[default]
    Ect0,
    /// ECT(1): L4S, for senders that answer the share of marks (RFC 9331).
    Ect1,
}

/// Lower bound of the window after marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum EcnFloor {
    /// Two segments, as in Linux.
    #[default]
    TwoSegments,
    /// One segment. The sender continues with that window.
    OneSegment,
    /// One segment; when a mark comes at one segment, the next is not sent before the retransmission timer expires (RFC
    /// 3168, section 6.1.2).
    Timer,
    /// None: a mark at a window below two segments leaves less than one, so that only the retransmission timer sends. A
    /// second mark in a row at a window of one doubles the timeout, which stays doubled until an ACK without an echo
    /// arrives. As in ns-2 2.35.
    Ns2,
}
