//! Each host sends to another one, and each receives from one.

use forebay_document::Path;
use forebay_qdisc::uniform;
use schemars::JsonSchema;

use super::seam::{Message, Setting, TrafficPattern};
use crate::schema::SizeDistribution;
use crate::validate::check::{Validity, check_transfer};

/// Each host sends to another one, and each receives from one: a permutation without fixed points, drawn from all of
/// them.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permutation {
    /// Payload bytes; a distribution is drawn for each flow.
    pub size: SizeDistribution,
}

impl TrafficPattern for Permutation {
    fn check(&self, setting: &Setting<'_>, at: &Path, group: &Path) -> Validity {
        check_transfer(&self.size, &at.key("size"))?;
        setting.needs_no_stop("permutation", group)
    }

    fn count(&self, setting: &Setting<'_>) -> f64 {
        setting.hosts.len() as f64
    }

    fn size(&self) -> Option<&SizeDistribution> {
        Some(&self.size)
    }

    fn messages(&self, setting: &Setting<'_>, seed: u64) -> Vec<Message> {
        let mut rng = setting.stream(seed, "permutation");
        let mut to: Vec<usize> = (0..setting.hosts.len()).collect();
        // About one permutation in e has no fixed point.
        loop {
            for place in (1..to.len()).rev() {
                to.swap(place, (uniform(&mut rng) * (place + 1) as f64) as usize);
            }
            if to.iter().enumerate().all(|(from, to)| from != *to) {
                break;
            }
        }
        setting.one_each(seed, &self.size, &to.into_iter().map(|to| vec![to]).collect::<Vec<_>>())
    }
}
