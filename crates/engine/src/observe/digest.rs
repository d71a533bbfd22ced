//! A hash of the tables and time series of a run.

use std::hash::Hasher;

use forebay_records::Column;
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::observe::results::RunResult;

/// Depends on the width of pointers and on how vectors grow, so the digest leaves it out.
pub(crate) const STATE_BYTES: &str = "state_bytes";

pub(crate) const JITTER_S: &str = "jitter_s";
pub(crate) const PAUSED_SHARE: &str = "paused_share";
pub(crate) const MEMORY_BYTES: &str = "memory_bytes";
pub(crate) const PACKETS_DUPLICATED: &str = "packets_duplicated";
pub(crate) const SOURCE: &str = "source";
pub(crate) const DESTINATION: &str = "destination";
pub(crate) const SIZE_BYTES: &str = "size_bytes";
pub(crate) const FCT_S: &str = "fct_s";

/// Younger than the digests of published results, which they would change.
const YOUNGER: [&str; 8] =
    [JITTER_S, PAUSED_SHARE, MEMORY_BYTES, PACKETS_DUPLICATED, SOURCE, DESTINATION, SIZE_BYTES, FCT_S];

/// Equal digests mean equal tables and series, to the last bit.
pub(crate) fn digest(result: &RunResult) -> String {
    let mut hasher = SipHasher24::new();
    let RunResult { flows, queues, links, queue_flows, adapters, transfers, videos, pages, pings, .. } = result;
    for table in [flows, queues, links, queue_flows, adapters, transfers, videos, pages, pings] {
        for (name, column) in table.columns.iter().filter(|(name, _)| *name != STATE_BYTES && !YOUNGER.contains(name)) {
            hasher.write(name.as_bytes());
            match column {
                Column::Text(values) => values.iter().for_each(|text| hasher.write(text.as_bytes())),
                Column::Float(values) => values.iter().for_each(|value| hasher.write_u64(canonical_bits(*value))),
                Column::Count(values) => values.iter().for_each(|value| hasher.write_u64(*value)),
            }
        }
    }
    for series in result.series.iter().filter(|series| !YOUNGER.contains(&series.quantity.as_str())) {
        hasher.write(series.kind.as_bytes());
        hasher.write(series.name.as_bytes());
        hasher.write(series.quantity.as_bytes());
        series.values.iter().for_each(|value| hasher.write_u64(canonical_bits(*value)));
        series.states.iter().for_each(|state| hasher.write(state.as_bytes()));
    }
    format!("{:032x}", hasher.finish128().as_u128())
}

/// All NaNs are equal.
fn canonical_bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}
