//! Over which links packets go, and through which processes.

use crate::driver::Path;
use crate::error::RunError;
use crate::ethernet_network::LinkEnds;
use crate::network::{FabricId, FlowSpec, LinkId};

/// Which processes packets pass.
pub(crate) struct Ways {
    /// The process of each link.
    pub process_of: Vec<u32>,
    /// The fabric that packets cross to each link.
    pub outputs: Vec<Option<(FabricId, u8)>>,
    pub first_fabric: u32,
    pub link_ends: Vec<LinkEnds>,
}

impl Ways {
    /// The links, and the fabrics and switches between them.
    fn processes(&self, links: &[LinkId]) -> Vec<u32> {
        let mut processes = Vec::with_capacity(links.len());
        for &link in links {
            if let Some((fabric, _)) = self.outputs[link as usize].filter(|_| !processes.is_empty()) {
                processes.push(self.first_fabric + fabric);
            }
            let LinkEnds { sender, from_switch, .. } = self.link_ends[link as usize];
            processes.extend(sender.filter(|_| from_switch && !processes.is_empty()));
            processes.push(self.process_of[link as usize]);
        }
        processes
    }

    /// The forward and the backward path of each flow, in turn, between its ends.
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

    /// Adds the paths of control frames, see [`ControlRows`]: those of a flow go its ways, PAUSE goes over one link.
    ///
    /// [`ControlRows`]: crate::ethernet::ControlRows
    pub fn add_control(&self, paths: &mut Vec<Path>) {
        paths.extend(paths.clone());
        for (&process, ends) in self.process_of.iter().zip(&self.link_ends) {
            let (source, destination) = (ends.sender.unwrap_or(process), ends.receiver.unwrap_or(process));
            paths.push(Path { source, processes: vec![process], destination });
        }
        // Rows come in pairs.
        paths.extend((paths.len() % 2 == 1).then(|| paths[0].clone()));
    }
}
