//! The forwarding table of a switch.

/// An entry for a (flow, direction), in 32 bits: output (8), row in the output's counters (22), whether a table
/// has its outputs (1), whether a generator makes them (1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForwardingEntry(u32);

impl ForwardingEntry {
    /// Row numbers are below this.
    pub const ROWS: u32 = 1 << 22;
    const IN_TABLE: u32 = 1 << 30;

    pub fn new(output: u8, row: u32, is_generated: bool) -> Self {
        Self(u32::from(output) | row << 8 | u32::from(is_generated) << 31)
    }

    /// The same for frames whose outputs are in a table, with the same row at each.
    pub fn in_table(self) -> Self {
        Self(self.0 | Self::IN_TABLE)
    }

    #[inline]
    pub fn is_in_table(self) -> bool {
        self.0 & Self::IN_TABLE != 0
    }

    /// The output; one of them if a table has several.
    #[inline]
    pub fn output(self) -> usize {
        self.0 as usize & 0xff
    }

    #[inline]
    pub fn row(self) -> u32 {
        self.0 >> 8 & (Self::ROWS - 1)
    }

    pub fn is_generated(self) -> bool {
        self.0 >> 31 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_numbers_fit_side_by_side() {
        for (output, row, is_generated) in [(0, 0, true), (255, 0, false), (3, ForwardingEntry::ROWS - 1, false)] {
            let entry = ForwardingEntry::new(output, row, is_generated);
            for (entry, is_in_table) in [(entry, false), (entry.in_table(), true)] {
                let fields = (entry.output(), entry.row(), entry.is_generated(), entry.is_in_table());
                assert_eq!(fields, (usize::from(output), row, is_generated, is_in_table));
            }
        }
    }
}
