//! Each host sends to every other one.

use forebay_document::Path;
use schemars::JsonSchema;

use super::seam::{Message, Setting, TrafficPattern};
use crate::schema::SizeDistribution;
use crate::validate::check::{Validity, check_transfer};

/// Each host sends to every other one, all at once. The flows of a host are numbered from that to the next host on.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllToAll {
    /// Payload bytes from one host to another; a distribution is drawn for each flow.
    pub size: SizeDistribution,
}

impl TrafficPattern for AllToAll {
    fn check(&self, setting: &Setting<'_>, at: &Path, group: &Path) -> Validity {
        check_transfer(&self.size, &at.key("size"))?;
        setting.needs_no_stop("all_to_all", group)
    }

    fn count(&self, setting: &Setting<'_>) -> f64 {
        let hosts = setting.hosts.len() as f64;
        hosts * (hosts - 1.0)
    }

    fn size(&self) -> Option<&SizeDistribution> {
        Some(&self.size)
    }

    fn messages(&self, setting: &Setting<'_>, seed: u64) -> Vec<Message> {
        let hosts = setting.hosts.len();
        let others = |from: usize| (1..hosts).map(|step| (from + step) % hosts).collect();
        setting.one_each(seed, &self.size, &(0..hosts).map(others).collect::<Vec<_>>())
    }
}
