//! Path policies, and what they do not go together with.

use forebay_switching::NodePolicy;

use super::check::{Validity, require};
use crate::plan::outline::Outline;

/// Checks the path policy of a topology that has one.
pub(super) fn validate(outline: &Outline<'_>) -> Validity {
    let Some(paths) = outline.paths.filter(|paths| matches!(paths.build(0), NodePolicy::Stateful(_))) else {
        return Ok(());
    };
    for (_, direction) in outline.ways() {
        let (Some(queue), Some(path)) = (&direction.spec.queue, &direction.path) else { continue };
        let at = || path.key("queue").key(queue.name()).key("flow_table");
        let message = || format!("{}: `flow_table = \"shared\"` with `paths = \"{}\"`", queue.name(), paths.name());
        let label = "expected `flow_table = \"per_queue\"`: a router chooses the path before its queues see the packet";
        require(!queue.shares_state(), at, message, label)?;
    }
    Ok(())
}
