//! Requests to a network card over `SIOCETHTOOL`: its features by name, its speed, its receive queues.
//!
//! Features are set by their bits (`ETHTOOL_SFEATURES`), not by the older calls for groups of them: `ETHTOOL_STSO`
//! would turn on at restoring what had been off before.

#![allow(unsafe_code, reason = "ioctl(2) takes a pointer")]

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

use super::netlink::Link;
use super::{checked, interface_request};

const GSTRINGS: u32 = 0x1b;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const SFEATURES: u32 = 0x3b;
const GCHANNELS: u32 = 0x3c;
const GLINKSETTINGS: u32 = 0x4c;
/// The set of strings that names the features.
const SS_FEATURES: u32 = 4;
/// Bytes of a name.
const NAME_BYTES: usize = 32;
/// No more features than this are believed.
const MOST_FEATURES: u32 = 1024;

/// A socket for requests. Without privileges it still reads, but does not change anything.
#[derive(Debug)]
pub struct Ethtool {
    socket: UnixDatagram,
}

/// A feature of an interface, such as `rx-gro`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its number.
    pub bit: u32,
    /// The name that `ethtool -k` shows.
    pub name: String,
    /// The interface can have it and lets it be changed.
    pub changeable: bool,
    /// Whether it was requested, which is the state to restore.
    pub requested: bool,
    pub active: bool,
}

impl Ethtool {
    /// Opens the socket.
    ///
    /// # Errors
    /// No more files may be open.
    pub fn open() -> io::Result<Self> {
        // The call is for any kind of socket: this one needs no address family beyond what a hardened unit has anyway.
        Ok(Self { socket: UnixDatagram::unbound()? })
    }

    /// All features of the interface.
    ///
    /// # Errors
    /// The interface is gone, or its driver has no features.
    pub fn features(&self, interface: &str) -> io::Result<Vec<Feature>> {
        let features = self.feature_count(interface)?;
        let mut names = vec![0; 3 + features as usize * NAME_BYTES / 4];
        names[..3].copy_from_slice(&[GSTRINGS, SS_FEATURES, features]);
        self.call(interface, &mut names)?;
        let blocks = features.div_ceil(32);
        let mut state = vec![0; 2 + blocks as usize * 4];
        state[..2].copy_from_slice(&[GFEATURES, blocks]);
        self.call(interface, &mut state)?;
        Ok(named_features(&names[3..], &state[2..], features))
    }

    /// Asks for features to be on or off: pairs of their number and that. Others are left alone.
    ///
    /// # Errors
    /// The interface is gone, or the process lacks `CAP_NET_ADMIN`. That a feature did not follow is none: read it
    /// back.
    pub fn set_features(&self, interface: &str, wanted: &[(u32, bool)]) -> io::Result<()> {
        let Some(blocks) = wanted.iter().map(|(bit, _)| bit / 32 + 1).max() else { return Ok(()) };
        // The kernel requires as many blocks as its features need.
        let blocks = blocks.max(self.feature_count(interface)?.div_ceil(32));
        let mut request = vec![0; 2 + blocks as usize * 2];
        request[..2].copy_from_slice(&[SFEATURES, blocks]);
        for (bit, on) in wanted {
            let block = 2 + (bit / 32) as usize * 2;
            request[block] |= 1 << (bit % 32);
            request[block + 1] |= u32::from(*on) << (bit % 32);
        }
        self.call(interface, &mut request)
    }

    /// Its speed in Mb/s; none if the interface has none, as without a cable.
    pub fn speed(&self, interface: &str) -> Option<u32> {
        // Without room for link modes, the kernel only returns the number of their words.
        let mut settings = vec![0_u32; 12];
        settings[0] = GLINKSETTINGS;
        self.call(interface, &mut settings).ok()?;
        let words = i8::from_ne_bytes([settings[3].to_ne_bytes()[3]]);
        if words < 0 {
            let room = usize::from(words.unsigned_abs());
            settings = vec![0; 12 + 3 * room];
            settings[0] = GLINKSETTINGS;
            settings[3] = u32::from_ne_bytes([0, 0, 0, words.unsigned_abs()]);
            self.call(interface, &mut settings).ok()?;
        }
        match settings[1] {
            0 | u32::MAX => None,
            speed => Some(speed),
        }
    }

    /// The receive queues of an interface that are in use; all that it has if its driver does not report them.
    pub fn receive_queues(&self, link: &Link) -> u32 {
        let mut channels = [GCHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
        let reported = self.call(&link.name, &mut channels).map_or(0, |()| channels[5].saturating_add(channels[8]));
        if reported > 0 { reported } else { link.receive_queues }
    }

    /// The number of features of this kernel: a constant of its build.
    fn feature_count(&self, interface: &str) -> io::Result<u32> {
        let mut count = [GSSET_INFO, 0, 0, 0, 0];
        let [low, high] = halves(1 << SS_FEATURES);
        count[2..4].copy_from_slice(&[low, high]);
        self.call(interface, &mut count)?;
        if count[4] > MOST_FEATURES { Err(io::Error::other("too many features")) } else { Ok(count[4]) }
    }

    /// One call. The kernel writes no further than `request`. The length of an answer is in the request, or it is the
    /// number of features. This number was requested first and is a constant of the kernel's build.
    fn call(&self, interface: &str, request: &mut [u32]) -> io::Result<()> {
        let data = libc::__c_anonymous_ifr_ifru { ifru_data: request.as_mut_ptr().cast() };
        let mut argument = interface_request(interface, data)?;
        // SAFETY: `argument` is an ifreq that lives through the call, with a name that ends in a zero byte. Its data
        // points to `request`, borrowed mutably, which the caller makes long enough for the answer (see above).
        checked(unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut argument) })?;
        Ok(())
    }
}

/// The two words of a number of 64 bits, in memory order.
fn halves(number: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = number.to_ne_bytes();
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

/// Puts names and state together: `names` has 32 bytes for each, `state` four words for each 32 features.
fn named_features(names: &[u32], state: &[u32], features: u32) -> Vec<Feature> {
    let names: Vec<u8> = names.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let named = names.chunks_exact(NAME_BYTES).zip(0..features);
    let of = |bit: u32, word: usize| state[(bit / 32) as usize * 4 + word] & (1 << (bit % 32)) != 0;
    named
        .map(|(name, bit)| {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
            let (available, requested, active, never_changed) = (of(bit, 0), of(bit, 1), of(bit, 2), of(bit, 3));
            let name = String::from_utf8_lossy(&name[..end]).into_owned();
            Feature { bit, name, changeable: available && !never_changed, requested, active }
        })
        .filter(|feature| !feature.name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_get_their_names_and_their_bits() {
        let mut names = vec![0_u8; 34 * NAME_BYTES];
        names[..2].copy_from_slice(b"sg");
        names[33 * NAME_BYTES..33 * NAME_BYTES + 6].copy_from_slice(b"rx-gro");
        let names: Vec<u32> = names.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
        let state = [1, 0, 1, 1, 2, 2, 0, 0];
        let found = named_features(&names, &state, 34);
        let sg = Feature { bit: 0, name: "sg".into(), changeable: false, requested: false, active: true };
        let gro = Feature { bit: 33, name: "rx-gro".into(), changeable: true, requested: true, active: false };
        assert_eq!(found, [sg, gro]);
    }

    #[test]
    fn a_name_that_no_interface_can_have_is_refused_before_the_kernel_sees_it() {
        let ethtool = Ethtool::open().expect("a socket");
        for name in ["", "sixteen-letters-", "a name that is much too long for an interface"] {
            assert_eq!(ethtool.features(name).expect_err("no such name").raw_os_error(), Some(libc::ENODEV));
        }
    }

    #[test]
    fn the_loopback_interface_tells_its_features_without_privileges() {
        let ethtool = Ethtool::open().expect("a socket");
        let features = ethtool.features("lo").expect("lo is everywhere");
        assert!(features.iter().any(|feature| feature.name == "tx-generic-segmentation"), "{features:?}");
        assert_eq!(ethtool.speed("lo"), None);
    }
}
