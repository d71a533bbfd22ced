//! Response to an expiry of the retransmission timer.
//!
//! # What it does
//! The RFCs treat each timeout as a sign of congestion of its own, and continue with one segment. Linux differs in five
//! rules. The sender and its recovery apply them.
//!
//! - A timeout after a reduction, before all that was in flight then is acknowledged: the RFCs reduce the threshold
//!   again. Linux keeps it (`tcp_enter_loss`).
//! - Window after a timeout: one segment. In Linux, one segment more than is in the network.
//! - Growth until all that was sent before the timeout is acknowledged: one segment for each ACK. In Linux,
//!   `byte_counting_limit` holds as always (`tcp_slow_start`).
//! - A retransmission lost after a timeout: it is sent again. Linux also reduces the window (`tcp_fastretrans_alert`).
//! - One lost SYN: an initial window of one segment and a timeout of 3 s. In Linux the window stays, and so does the
//!   timeout if timestamps gave a round-trip sample (`tcp_init_transfer`, `tcp_init_metrics`).
//!
//! # Source
//! RFC 5681, sections 3.1 and 4.3; RFC 3465, section 2.3; RFC 6298, section 5.7. Linux 6.12, `tcp_input.c`,
//! `tcp_recovery.c` and `tcp_metrics.c`, read for their rules.
//!
//! # Where we differ
//! From Linux: F-RTO (RFC 5682) is left out, since timestamps show the same. A second lost SYN leaves a window of one
//! segment even if the echoed timestamp shows that the first SYN was only late.
//!
//! # Parameters
//! `timeout_response`.

/// Response to an expiry of the retransmission timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum TimeoutResponse {
    /// RFC 5681, 6298 and 3465: each timeout of another segment reduces the threshold and leaves a window of one
    /// segment. Until all that was sent before is acknowledged, each ACK counts as one segment. A lost SYN leaves a
    /// window of one segment and a timeout of 3 s.
    #[default]
    Rfc,
    /// Linux: a timeout during a recovery leaves the threshold; the window is one segment more than is in the network,
    /// and grows by what each ACK covers. The first lost SYN changes nothing if timestamps measure the round trip.
    Linux,
}

impl TimeoutResponse {
    /// The most segments for which one ACK counts, where `limit` holds without timeouts. `has_gone_back`: not all that
    /// was sent before a timeout is acknowledged.
    pub(crate) fn byte_counting_limit(self, has_gone_back: bool, limit: f64) -> f64 {
        // RFC 3465, section 2.3.
        if has_gone_back && self == Self::Rfc { limit.min(1.0) } else { limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_rfc_counts_one_segment_for_an_ack_after_a_timeout() {
        let limit = |response: TimeoutResponse, has_gone_back| response.byte_counting_limit(has_gone_back, 2.0);
        assert_eq!([false, true].map(|gone| limit(TimeoutResponse::Rfc, gone)), [2.0, 1.0]);
        assert_eq!([false, true].map(|gone| limit(TimeoutResponse::Linux, gone)), [2.0, 2.0]);
    }
}
