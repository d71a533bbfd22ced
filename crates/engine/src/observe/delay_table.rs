//! The delays of each group of flows, as counted by their histograms.

use std::collections::BTreeMap;

use forebay_records::{Column, DelayHistogram, StringColumn, Table};

use crate::observe::reported::FlowLabels;

/// Histograms of flows are added up as they are reported: of a million flows, they take several times the memory.
#[derive(Default)]
pub(crate) struct DelayTable {
    groups: BTreeMap<u32, GroupDelays>,
}

#[derive(Default)]
struct GroupDelays {
    /// Packets by the end of their bucket in picoseconds.
    packets: BTreeMap<u64, u64>,
    max_s: f64,
}

impl DelayTable {
    pub fn add(&mut self, group: u32, delays: &DelayHistogram) {
        let of_group = self.groups.entry(group).or_default();
        of_group.max_s = of_group.max_s.max(delays.max_s());
        for (end_ps, packets) in delays.buckets() {
            *of_group.packets.entry(end_ps).or_default() += u64::from(packets);
        }
    }

    pub fn table(self, labels: &FlowLabels) -> Table {
        let (mut names, mut kinds) = (StringColumn::new(), StringColumn::new());
        let (mut delays, mut packets) = (Vec::new(), Vec::new());
        for (group, of_group) in self.groups {
            let (name, kind) = labels.name_of_group(group);
            for (end_ps, count) in of_group.packets {
                names.push(name);
                kinds.push(kind);
                // No bucket ends after the greatest delay.
                delays.push((end_ps as f64 / 1e12).min(of_group.max_s));
                packets.push(count);
            }
        }
        let mut table = Table::default();
        table.push("group", Column::Text(names));
        table.push("kind", Column::Text(kinds));
        table.push("delay_s", Column::Float(delays));
        table.push("packets", Column::Count(packets));
        table
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::Span;

    use super::*;

    #[test]
    fn the_delays_of_a_group_are_those_of_its_flows() {
        let mut labels = FlowLabels::default();
        for (flow, group) in [("a-0", "a"), ("a-1", "a"), ("b", "b")] {
            labels.push(flow, group, "udp", [0, 1], 1);
        }
        let mut table = DelayTable::default();
        for (flow, milliseconds) in [(0, vec![1, 1, 50]), (1, vec![2]), (2, vec![7])] {
            let mut delays = DelayHistogram::default();
            milliseconds.iter().for_each(|&delay| delays.record(Span::from_milliseconds(delay)));
            table.add(labels.group_number(flow), &delays);
        }
        let table = table.table(&labels);
        assert_eq!(table.texts("group").iter().collect::<Vec<_>>(), ["a", "a", "a", "b"]);
        assert_eq!(table.counts("packets"), [2, 1, 1, 1]);
        for (found, exact) in table.floats("delay_s").iter().zip([0.001, 0.002, 0.050, 0.007]) {
            assert!((exact * (1.0 - 1e-12)..1.033 * exact).contains(found), "{found} for {exact}");
        }
    }
}
