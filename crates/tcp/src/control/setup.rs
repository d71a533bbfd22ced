//! The properties of a connection that its controller uses.

use crate::{EcnFloor, TimeoutResponse};

/// Growth of the window at the start and after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum SlowStart {
    /// RFC 5681: doubles each round trip until the first loss or the threshold.
    Standard,
    /// Ends also when the delay rises, or when the ACKs of a round come without a gap for half a round trip (Ha & Rhee
    /// 2011, as in Linux).
    #[cfg_attr(feature = "config", serde(rename = "hystart"))]
    HyStart,
    /// Slows down when the delay rises, and ends if it stays high (RFC 9406).
    #[cfg_attr(feature = "config", serde(rename = "hystart_plus_plus"))]
    HyStartPlusPlus,
}

/// The properties of a connection that its controller uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// Payload of a full segment, and the header bytes before it.
    pub payload_bytes: u32,
    pub header_bytes: u64,
    pub initial_window_segments: u32,
    /// The slow-start threshold before the first sign of congestion, in segments.
    pub initial_threshold: f64,
    pub slow_start: SlowStart,
    pub ecn: bool,
    pub ecn_floor: EcnFloor,
    pub whole_segment_reduction: bool,
    pub timeout_response: TimeoutResponse,
}

/// Those of the preset "basic".
impl Default for Setup {
    fn default() -> Self {
        Self {
            payload_bytes: 1460,
            header_bytes: 40,
            initial_window_segments: 10,
            initial_threshold: f64::INFINITY,
            slow_start: SlowStart::Standard,
            ecn: false,
            ecn_floor: EcnFloor::default(),
            whole_segment_reduction: false,
            timeout_response: TimeoutResponse::default(),
        }
    }
}
