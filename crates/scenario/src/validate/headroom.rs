//! The headroom of buffer policies that decide when PAUSE stops a feeder.

use forebay_document::{Invalid, Path};
use forebay_switching::{BufferPolicyConfig, HeadroomPoolConfig};
use forebay_units::{Bytes, Rate};

use super::buffers::{arriving_after_order, classes, effect_of_order};
use super::check::{Validity, require};
use crate::plan::outline::Outline;
use crate::plan::{PlannedKind, PlannedSwitch};
use crate::schema::{Pause, SharedMemorySwitch};

/// The policy of a switch that decides itself.
pub(super) fn pool(switch: &SharedMemorySwitch) -> Option<HeadroomPoolConfig> {
    match switch.buffer {
        BufferPolicyConfig::HeadroomPool(pool) => Some(pool),
        _ => None,
    }
}

/// An input of a switch whose policy decides when its feeder stops.
pub(crate) struct Input<'a> {
    switch: &'a PlannedSwitch<'a>,
    pool: HeadroomPoolConfig,
    /// The key of PAUSE, and its table.
    key: &'static str,
    pause: Pause,
    /// The ends of the link that feeds it.
    pub ends: [&'a str; 2],
    rate: Rate,
    /// Its headroom, and the bytes that may arrive after it has decided to stop its feeder.
    pub headroom: Bytes,
    pub needed: Bytes,
}

impl Input<'_> {
    /// Whether frames may be lost for want of headroom, and that is accepted.
    pub fn may_lose(&self) -> bool {
        self.pause.allow_loss && self.headroom < self.needed
    }

    /// The value of `headroom` that this input needs.
    pub fn needed_value(&self) -> Bytes {
        let of = u128::from(self.pool.rate.unwrap_or(self.rate).bits_per_second());
        let scaled = (u128::from(self.needed.0) * of).div_ceil(u128::from(self.rate.bits_per_second()));
        Bytes(scaled.try_into().unwrap_or(u64::MAX))
    }
}

/// All such inputs of a network.
pub(crate) fn inputs<'a>(outline: &'a Outline<'_>) -> impl Iterator<Item = Input<'a>> {
    outline.ways().filter_map(|([from, to], direction)| {
        let PlannedKind::EthernetSwitch(switch) = outline.kind(to) else { return None };
        let pool = pool(switch.spec)?;
        let (key, pause) = match (switch.spec.pause, switch.spec.priority_pause) {
            (Some(pause), _) => ("pause", pause),
            (None, Some(pause)) => ("priority_pause", pause),
            (None, None) => return None,
        };
        let rate = direction.spec.rate;
        let reaction = effect_of_order(outline, from, rate) + switch.spec.forwarding_delay;
        // All of the first frame may be in the headroom.
        let needed = Bytes(arriving_after_order(&direction.spec, reaction, outline.spec).0.saturating_add(1));
        let (ends, headroom) = ([from, to].map(|node| outline.name(node)), pool.headroom_at(rate));
        Some(Input { switch, pool, key, pause, ends, rate, headroom, needed })
    })
}

/// Checks that no frame can be lost, unless that is accepted.
pub(super) fn check(outline: &Outline<'_>) -> Validity {
    for input in inputs(outline).filter(|input| !input.pause.allow_loss) {
        let Input { key, pool, headroom, needed, ends: [from, to], .. } = input;
        let at = at_policy(&input.switch.path);
        let classes = if key == "pause" { 1 } else { classes(outline.spec) };
        let few = || format!("headroom for {} of the {classes} classes of flows", pool.classes);
        let more = format!("expected `classes = {classes}` or more: `{key}` stops each class alone");
        require(classes <= u64::from(pool.classes), || at.key("classes"), few, &more)?;
        if headroom < needed {
            let message = format!(
                "too little headroom at `{to}` for frames from `{from}`: {headroom}, and {needed} may arrive before \
                 the sender stops"
            );
            let label = format!("expected at least `headroom = \"{}\"`", input.needed_value());
            let help = format!("`allow_loss = true` in `{key}` accepts lost frames");
            return Err(Invalid::new(at.key("headroom"), message, label).with_help(help));
        }
    }
    Ok(())
}

/// Checks that the headroom of all inputs of a switch, fed by links of these rates, fits into its memory.
pub(super) fn fits(pool: HeadroomPoolConfig, rates: &[Rate], memory: u64, path: &Path) -> Validity {
    let total = Bytes(memory.min(pool.total.map_or(u64::MAX, |total| total.0)));
    let aside = pool.set_aside(rates.iter().copied());
    let large = || format!("reserve and headroom of all ports are {aside}, more than the {total} of the switch");
    require(aside <= total, || at_policy(path).key("headroom"), large, "expected less, or more `memory`")
}

fn at_policy(switch: &Path) -> Path {
    switch.key("buffer").key("headroom_pool")
}
