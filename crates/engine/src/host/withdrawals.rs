//! Bytes that the server of a connection takes back before they are sent.

use std::sync::{Mutex, PoisonError};

use forebay_tcp::Withdrawn;

/// The withdrawals that the client has not seen yet, in the order of the stream.
///
/// In a real stream the header of the next response says where the one before ended. Packets here have no content, so
/// both ends share this list. The client sees an entry with the first byte that was sent after the withdrawal, and
/// never earlier: results do not depend on which thread runs an end.
#[derive(Debug, Default)]
pub(crate) struct Withdrawals(Mutex<Vec<Withdrawn>>);

impl Withdrawals {
    pub fn add(&self, withdrawn: Withdrawn) {
        if withdrawn.bytes > 0 {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(withdrawn);
        }
    }

    /// Removes the withdrawals that precede the last of these bytes; returns the sum of their bytes.
    pub fn take_before(&self, delivered_bytes: u64) -> u64 {
        let mut withdrawals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = withdrawals.partition_point(|withdrawn| withdrawn.after < delivered_bytes);
        withdrawals.drain(..seen).map(|withdrawn| withdrawn.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_withdrawal_is_seen_with_the_next_byte() {
        let withdrawals = Withdrawals::default();
        withdrawals.add(Withdrawn { after: 1000, bytes: 500 });
        withdrawals.add(Withdrawn { after: 1000, bytes: 200 });
        withdrawals.add(Withdrawn { after: 1300, bytes: 10 });
        assert_eq!([1000, 1001, 1300, 1301].map(|delivered| withdrawals.take_before(delivered)), [0, 700, 0, 10]);
    }
}
