//! The memory cost of DBL and of the designs that it is compared with (paper, sections 3 and 5).

/// Bits of a flow-table entry: `buffersUsed`, `credits` and one of parity. The paper's is 13 + 4 + 1 = 18 (section 3).
#[must_use]
pub const fn entry_bits(buffers_used_bits: u32, credit_bits: u32) -> u32 {
    buffers_used_bits + credit_bits + 1
}

/// Bits of flow-table memory for each flow when the table is filled to `load` (0 to 1): at 25 %, the paper's 18-bit
/// entries come to 72 (section 3).
#[must_use]
pub fn bits_per_flow(entry_bits: u32, load: f64) -> f64 {
    f64::from(entry_bits) / load
}

/// Memory of per-flow queueing with as many queues as a DBL table has entries (paper, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerFlowQueueing {
    /// Queues, one for each entry of the hash table: 512K in the paper.
    pub queues: u64,
    /// Packets that the queue memory holds: 256K in the paper, addressed by 18 bits.
    pub packets: u64,
    /// Bits of a queue's length: 13 in the paper.
    pub length_bits: u32,
    /// Share of the hash table that is in use: 0.25 in the paper.
    pub load: f64,
}

impl PerFlowQueueing {
    /// The paper's switch.
    pub const PAPER: Self = Self { queues: 512 * 1024, packets: 256 * 1024, length_bits: 13, load: 0.25 };

    /// Bits that address a packet.
    #[must_use]
    pub const fn address_bits(&self) -> u32 {
        u64::BITS - (self.packets - 1).leading_zeros()
    }

    /// Bits of the head and tail pointers: 18 Mbit in the paper.
    #[must_use]
    pub const fn pointer_memory_bits(&self) -> u64 {
        self.queues * 2 * self.address_bits() as u64
    }

    /// Bits of the links between packets: 4.5 Mbit in the paper.
    #[must_use]
    pub const fn link_memory_bits(&self) -> u64 {
        self.packets * self.address_bits() as u64
    }

    /// Bits of the queue lengths: 6.5 Mbit, which the paper gives as 6.6.
    #[must_use]
    pub const fn length_memory_bits(&self) -> u64 {
        self.queues * self.length_bits as u64
    }

    /// All of it.
    #[must_use]
    pub const fn memory_bits(&self) -> u64 {
        self.pointer_memory_bits() + self.link_memory_bits() + self.length_memory_bits()
    }

    /// Bits for each flow: 232. The paper has 227, having divided 29.1 million bits by 128,000 flows, where its sums
    /// are in units of 2^20 bits and its flows in units of 2^10. Either is 3.2 times DBL's 72.
    #[must_use]
    pub fn bits_per_flow(&self) -> f64 {
        self.memory_bits() as f64 / (self.queues as f64 * self.load)
    }
}

/// Probability that a flow shares its entry with at least one of `belligerent_flows` in a table of `entries`:
/// 1 - (1 - 1/b)^n (paper, section 5).
#[must_use]
pub fn collision_probability(entries: u64, belligerent_flows: u64) -> f64 {
    -libm::expm1(belligerent_flows as f64 * libm::log1p(-1.0 / entries as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_sums_come_out() {
        assert_eq!(entry_bits(13, 4), 18);
        assert_eq!(bits_per_flow(18, 0.25), 72.0);
        let paper = PerFlowQueueing::PAPER;
        let mebibit = 1 << 20;
        assert_eq!(paper.address_bits(), 18);
        assert_eq!(paper.pointer_memory_bits(), 18 * mebibit);
        assert_eq!(2 * paper.link_memory_bits(), 9 * mebibit);
        assert_eq!(2 * paper.length_memory_bits(), 13 * mebibit);
        assert_eq!(paper.bits_per_flow(), 232.0);
        assert!((paper.bits_per_flow() / 72.0 - 3.2).abs() < 0.05);
        assert!((29.1e6_f64 / 128e3 - 227.0).abs() < 0.5, "the paper's own division");
    }

    #[test]
    fn collisions_are_as_rare_as_figure_9_says() {
        for (entries, flows, percent) in [(4096, 40, 0.9719), (4096, 200, 4.766), (524_288, 200, 0.0381)] {
            assert!((100.0 * collision_probability(entries, flows) - percent).abs() < 1e-3, "{entries} {flows}");
        }
    }
}
