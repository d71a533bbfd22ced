//! Buffer policies whose headroom does not hold what arrives before a sender stops.

use forebay_records::Warning;

use crate::plan::outline::Outline;
use crate::validate::headroom::{Input, inputs};

/// A warning where frames may be lost although PAUSE protects them, and that is accepted.
pub(super) fn too_little(outline: &Outline<'_>) -> Option<Warning> {
    outline.ethernet.as_ref()?;
    let short: Vec<_> = inputs(outline).filter(Input::may_lose).collect();
    let worst = short.iter().max_by_key(|input| input.needed_value())?;
    let [from, to] = worst.ends;
    let others = match short.len() - 1 {
        0 => String::new(),
        1 => ", and so has one more input".into(),
        more => format!(", and so have {more} more inputs"),
    };
    Some(Warning {
        text: format!(
            "`{to}` has {} of headroom for frames from `{from}`, and {} may arrive before that stops{others}: frames \
             may be lost",
            worst.headroom, worst.needed
        ),
        remedy: format!("write `headroom = \"{}\"` or more in `buffer.headroom_pool`", worst.needed_value()),
    })
}
