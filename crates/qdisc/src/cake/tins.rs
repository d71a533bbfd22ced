//! Tins: which traffic class goes into which, and their shares of the rate.

use alloc::vec;
use alloc::vec::Vec;

/// Into which tins CAKE sorts traffic classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "lowercase"))]
pub enum CakeTins {
    /// One tin for all.
    Besteffort,
    /// Eight tins, by the upper three bits of the DSCP (RFC 791).
    Precedence,
    /// Bulk, best effort and voice.
    #[default]
    Diffserv3,
    /// Bulk, best effort, video and voice.
    Diffserv4,
    /// Eight tins, after RFC 4594.
    Diffserv8,
}

/// The most tins that there are.
pub(super) const MOST_TINS: usize = 8;

/// The tin of each DSCP.
pub(super) type TinOf = [u8; 64];

const BESTEFFORT: TinOf = [0; 64];

const PRECEDENCE: TinOf = {
    let mut tins = [0; 64];
    let mut dscp = 0;
    while dscp < tins.len() {
        tins[dscp] = (dscp / 8) as u8;
        dscp += 1;
    }
    tins
};

#[rustfmt::skip]
const DIFFSERV3: TinOf = [
    0, 1, 0, 0, 2, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 2, 0, 2, 0,
    2, 0, 0, 0, 0, 0, 0, 0,
    2, 0, 0, 0, 0, 0, 0, 0,
];

#[rustfmt::skip]
const DIFFSERV4: TinOf = [
    0, 1, 0, 0, 2, 0, 0, 0,
    1, 0, 0, 0, 0, 0, 0, 0,
    2, 0, 2, 0, 2, 0, 2, 0,
    2, 0, 2, 0, 2, 0, 2, 0,
    3, 0, 2, 0, 2, 0, 2, 0,
    3, 0, 0, 0, 3, 0, 3, 0,
    3, 0, 0, 0, 0, 0, 0, 0,
    3, 0, 0, 0, 0, 0, 0, 0,
];

#[rustfmt::skip]
const DIFFSERV8: TinOf = [
    2, 0, 1, 2, 4, 2, 2, 2,
    1, 2, 1, 2, 1, 2, 1, 2,
    5, 2, 4, 2, 4, 2, 4, 2,
    3, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 2, 2, 6, 2, 6, 2,
    7, 2, 2, 2, 2, 2, 2, 2,
    7, 2, 2, 2, 2, 2, 2, 2,
];

/// A tin's part of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// The rate up to which its traffic has priority; 0 for no limit.
    pub bytes_per_second: u64,
    /// Bytes in its turn where nothing is shaped.
    pub quantum: i32,
}

impl CakeTins {
    /// The tin of each DSCP.
    pub(super) const fn tin_of(self) -> &'static TinOf {
        match self {
            Self::Besteffort => &BESTEFFORT,
            Self::Precedence => &PRECEDENCE,
            Self::Diffserv3 => &DIFFSERV3,
            Self::Diffserv4 => &DIFFSERV4,
            Self::Diffserv8 => &DIFFSERV8,
        }
    }

    /// The tins in the order in which `tc` shows them: bulk before best effort.
    pub(super) const fn order(self) -> &'static [usize] {
        match self {
            Self::Besteffort => &[0],
            Self::Diffserv3 => &[1, 0, 2],
            Self::Diffserv4 => &[1, 0, 2, 3],
            Self::Precedence | Self::Diffserv8 => &[0, 1, 2, 3, 4, 5, 6, 7],
        }
    }

    /// The shares of the tins at a rate (`cake_config_diffserv3` and its siblings).
    pub(super) fn shares(self, bytes_per_second: u64) -> Vec<Share> {
        let part = |shift: u32| Share { bytes_per_second: bytes_per_second >> shift, quantum: 1024 >> shift };
        match self {
            Self::Besteffort => vec![Share { bytes_per_second, quantum: 65_535 }],
            Self::Diffserv3 => vec![part(0), part(4), part(2)],
            Self::Diffserv4 => vec![part(0), part(4), part(1), part(2)],
            Self::Precedence | Self::Diffserv8 => {
                let first = Share { bytes_per_second, quantum: 256 };
                let seven_eighths = |share: &Share| {
                    let Share { bytes_per_second, quantum } = *share;
                    Some(Share { bytes_per_second: (bytes_per_second * 7) >> 3, quantum: (quantum * 7) >> 3 })
                };
                core::iter::successors(Some(first), seven_eighths).take(MOST_TINS).collect()
            }
        }
    }
}

#[cfg(test)]
#[path = "tins_tests.rs"]
mod tests;
