//! Over which links packets go, and through which processes.

use crate::error::RunError;
use crate::spec::{FabricId, FlowSpec, LinkId};

/// The way of one flow in one direction: from an endpoint through links to the other endpoint.
#[derive(Clone)]
pub(crate) struct Path {
    pub source: u32,
    pub processes: Vec<u32>,
    pub destination: u32,
}

/// Which processes packets pass.
pub(crate) struct Ways {
    /// The process of each link.
    pub process_of: Vec<u32>,
    /// The fabric that packets cross to each link.
    pub outputs: Vec<Option<(FabricId, u8)>>,
    pub first_fabric: u32,
}

impl Ways {
    /// The links, and the fabrics between them.
    fn processes(&self, links: &[LinkId]) -> Vec<u32> {
        let mut processes = Vec::with_capacity(links.len());
        for &link in links {
            if let Some((fabric, _)) = self.outputs[link as usize].filter(|_| !processes.is_empty()) {
                processes.push(self.first_fabric + fabric);
            }
            processes.push(self.process_of[link as usize]);
        }
        processes
    }

    /// The forward and the backward path of each flow, alternately, between its ends.
    ///
    /// # Errors
    /// If a path has more processes than a packet can count.
    pub fn of_flows(&self, flows: &[FlowSpec], ends: &[(u32, u32)]) -> Result<Vec<Path>, RunError> {
        let mut paths = Vec::with_capacity(2 * flows.len());
        for (flow, &(source, destination)) in flows.iter().zip(ends) {
            for (links, source, destination) in
                [(&flow.forward, source, destination), (&flow.backward, destination, source)]
            {
                let processes = self.processes(links);
                // The end is one more.
                if processes.len() >= usize::from(u8::MAX) {
                    return Err(RunError::PathTooLong { flow: flow.name.clone(), processes: processes.len() });
                }
                paths.push(Path { source, processes, destination });
            }
        }
        Ok(paths)
    }
}
