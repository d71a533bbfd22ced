//! The length of a packet on a link: with the overhead, the minimum and the cells of the link layer.

use crate::{ParameterError, require};

/// Presets of `overhead`, `mpu` and `framing`, by the keywords of `tc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum LinkLayer {
    /// Ethernet with preamble, frame check sequence and gap: 38 B, at least 84 B.
    Ethernet,
    /// DOCSIS: 18 B, at least 64 B.
    Docsis,
    /// More than any link needs: 48 B, ATM.
    Conservative,
    /// IPoA, VC-MUX: 8 B, ATM.
    IpoaVcmux,
    /// IPoA, LLC/SNAP: 16 B, ATM.
    IpoaLlcsnap,
    /// Bridged Ethernet, VC-MUX: 24 B, ATM.
    BridgedVcmux,
    /// Bridged Ethernet, LLC/SNAP: 32 B, ATM.
    BridgedLlcsnap,
    /// PPPoA, VC-MUX: 10 B, ATM.
    PppoaVcmux,
    /// PPPoA, LLC: 14 B, ATM.
    PppoaLlc,
    /// PPPoE, VC-MUX: 32 B, ATM.
    PppoeVcmux,
    /// PPPoE, LLC/SNAP: 40 B, ATM.
    PppoeLlcsnap,
    /// PPPoE on VDSL2: 30 B, PTM.
    PppoePtm,
    /// Bridged Ethernet on VDSL2: 22 B, PTM.
    BridgedPtm,
}

impl LinkLayer {
    /// Overhead and minimum in bytes, and framing (iproute2, `q_cake.c`).
    const fn preset(self) -> (i32, u32, CellFraming) {
        use CellFraming::{Atm, None, Ptm};
        match self {
            Self::Ethernet => (38, 84, None),
            Self::Docsis => (18, 64, None),
            Self::Conservative => (48, 0, Atm),
            Self::IpoaVcmux => (8, 0, Atm),
            Self::IpoaLlcsnap => (16, 0, Atm),
            Self::BridgedVcmux => (24, 0, Atm),
            Self::BridgedLlcsnap => (32, 0, Atm),
            Self::PppoaVcmux => (10, 0, Atm),
            Self::PppoaLlc => (14, 0, Atm),
            Self::PppoeVcmux => (32, 0, Atm),
            Self::PppoeLlcsnap => (40, 0, Atm),
            Self::PppoePtm => (30, 0, Ptm),
            Self::BridgedPtm => (22, 0, Ptm),
        }
    }
}

/// How a link layer carries packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum CellFraming {
    /// As they are.
    None,
    /// In cells of 53 B that carry 48 B each, the last one padded (ADSL).
    Atm,
    /// With a byte for each 64 B or part of them (VDSL2).
    Ptm,
}

/// Bytes that a VLAN tag adds (`ether-vlan`).
const VLAN_TAG_BYTES: i32 = 4;

/// The framing of a link, as configured.
#[derive(Clone, Copy, Debug)]
pub struct Framing {
    /// Bytes added to the IP packet; without them a packet counts as it is (`raw`).
    overhead: Option<i64>,
    mpu: i64,
    framing: CellFraming,
}

impl Framing {
    /// The preset of a link layer, with what is given instead of it, and so many VLAN tags.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(
        link_layer: Option<LinkLayer>,
        vlan_tags: u32,
        overhead: Option<i32>,
        mpu: Option<u32>,
        framing: Option<CellFraming>,
    ) -> Result<Self, ParameterError> {
        require(vlan_tags <= 8, "vlan_tags", "be at most 8")?;
        let preset = link_layer.map(LinkLayer::preset);
        let (of_preset, least, cells) = preset.unwrap_or((0, 0, CellFraming::None));
        let is_raw = preset.is_none() && vlan_tags == 0 && overhead.is_none();
        let total = overhead.unwrap_or(of_preset).saturating_add(VLAN_TAG_BYTES * vlan_tags as i32);
        require((-64..=256).contains(&total), "overhead", "be between -64 and 256 bytes, VLAN tags included")?;
        let mpu = mpu.unwrap_or(least);
        require(mpu <= 256, "mpu", "be at most 256 bytes")?;
        Ok(Self {
            overhead: (!is_raw).then_some(i64::from(total)),
            mpu: i64::from(mpu),
            framing: framing.unwrap_or(cells),
        })
    }

    /// The bytes of a packet that the overhead is added to, as in Linux's `cake_calc_overhead`. `framing_bytes` are
    /// those of its length that are not IP.
    pub fn network_bytes(&self, len_bytes: u32, framing_bytes: impl FnOnce() -> u32) -> u32 {
        if self.overhead.is_none() { len_bytes } else { len_bytes.saturating_sub(framing_bytes()) }
    }

    /// The bytes that a packet of so many takes on the link, as in Linux's `cake_calc_overhead`.
    #[must_use]
    pub fn adjusted_bytes(&self, network_bytes: u32) -> u32 {
        let bytes = (i64::from(network_bytes) + self.overhead.unwrap_or(0)).max(self.mpu).max(0) as u64;
        let on_link = match self.framing {
            CellFraming::None => bytes,
            CellFraming::Atm => bytes.div_ceil(48) * 53,
            CellFraming::Ptm => bytes + bytes.div_ceil(64),
        };
        u32::try_from(on_link).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
