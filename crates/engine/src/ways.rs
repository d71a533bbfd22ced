//! Over which links packets go, and through which processes.

use crate::driver::Path;
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
    pub fn of_flows(&self, flows: &[FlowSpec], ends: &[(u32, u32)]) -> Vec<Path> {
        let paths = flows.iter().zip(ends).flat_map(|(flow, &(source, destination))| {
            let forward = Path { source, processes: self.processes(&flow.forward), destination };
            let backward = Path { source: destination, processes: self.processes(&flow.backward), destination: source };
            [forward, backward]
        });
        paths.collect()
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
