//! Path policies, and what they do not go together with.

use forebay_document::Invalid;
use forebay_switching::paths::CongaConfig;
use forebay_switching::{NodePolicy, PathPolicyConfig};

use super::check::{Validity, require};
use crate::plan::outline::Outline;
use crate::schema::Topology;

/// Checks the path policy of a topology that has one.
pub(super) fn validate(outline: &Outline<'_>) -> Validity {
    let Some(paths) = outline.paths.filter(|paths| matches!(paths.build(0), NodePolicy::Stateful(_))) else {
        return Ok(());
    };
    let is_conga = matches!(paths, PathPolicyConfig::Conga(_));
    if is_conga {
        leaf_spine(outline)?;
    }
    let name = paths.name();
    for (_, direction) in outline.ways() {
        let (Some(queue), Some(path)) = (&direction.spec.queue, &direction.path) else { continue };
        let at = || path.key("queue").key(queue.name());
        let shares = || format!("{}: `flow_table = \"shared\"` with `paths = \"{name}\"`", queue.name());
        let label = "expected `flow_table = \"per_queue\"`: a router chooses the path before its queues see the packet";
        require(!queue.shares_state(), || at().key("flow_table"), shares, label)?;
        let labels = || format!("`{}` with `paths = \"{name}\"`", queue.name());
        let label = "expected another discipline: both write into packets, which have room for one of them";
        require(!(is_conga && queue.labels_packets()), at, labels, label)?;
    }
    Ok(())
}

/// Checks the network of CONGA.
fn leaf_spine(outline: &Outline<'_>) -> Validity {
    let path = &outline.path;
    let Topology::LeafSpine(topology) = &outline.spec.topology else {
        let message = format!("`conga` in the topology `{}`", outline.spec.topology.name());
        let label = "expected `ecmp`, `spray` or `flowlet`: CONGA chooses among the spines between two leaves";
        return Err(Invalid::new(path.key("paths"), message, label).with_help("use it with `leaf_spine`".to_owned()));
    };
    let message = || format!("{} spines with `paths = \"conga\"`", topology.spines);
    let most = CongaConfig::MOST_SPINES;
    require(topology.spines <= most, || path.key("spines"), message, "expected at most 16, which packets tell apart")
}
