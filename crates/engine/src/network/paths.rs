//! The check of the paths of flows.

use crate::error::RunError;
use crate::spec::flows::Flows;
use crate::spec::links::LinkParameters;
use crate::spec::{LinkId, Transport};

/// A packet counts the links and switches that it has crossed; and frames have adapters for ends.
pub(super) fn check_paths(flows: &Flows, links: &[LinkParameters]) -> Result<(), RunError> {
    let crossed = |path: &[LinkId]| {
        let fabrics = path.iter().skip(1).filter(|&&link| links[link as usize].fabric.is_some()).count();
        path.len() + fabrics
    };
    for flow in flows.iter() {
        let processes = crossed(flow.forward).max(crossed(flow.backward));
        if matches!(flow.transport, Transport::Frames { .. }) {
            return Err(RunError::Invariant(format!("`{}`: frames without adapters", flow.name)));
        }
        if processes >= usize::from(u8::MAX) {
            return Err(RunError::PathTooLong { flow: flow.name.to_owned(), processes });
        }
    }
    Ok(())
}
