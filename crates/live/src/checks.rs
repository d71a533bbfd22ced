//! Conditions that must hold before any change.
//!
//! Every check only reads, except for the [`claim`] on both interfaces, which ends with the process.

mod claim;
mod error;

use std::fs;
use std::io;

use forebay_units::Rate;

pub use claim::Claim;
pub use error::{CheckError, Side};

use crate::sys::ethtool::Ethtool;
use crate::sys::identity::{self, CapabilitySet};
use crate::sys::netlink::{Address, Link, Netlink};

/// A way to receive and send frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Packet sockets.
    AfPacket,
    /// AF_XDP sockets.
    AfXdp,
}

/// The requested setup.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The interface `interfaces.inside`.
    pub inside: String,
    /// The interface `interfaces.outside`.
    pub outside: String,
    /// The rate from inside to outside.
    pub outbound: Option<Rate>,
    /// The rate from outside to inside.
    pub inbound: Option<Rate>,
    pub method: Method,
    /// The name of the bridge that takes over when this process dies; see [`bridge_name`].
    pub fail_open: Option<String>,
    /// A thread is to have a real-time priority.
    pub realtime: bool,
    /// Whether to lock memory.
    pub lock_memory: bool,
}

/// The longest name of an interface.
const LONGEST_NAME: usize = libc::IFNAMSIZ - 1;

/// The default name of the bridge: `fb-` and the name of the inside interface, cut to the longest name.
pub fn bridge_name(inside: &str) -> String {
    format!("fb-{inside}").chars().take(LONGEST_NAME).collect()
}

/// The mark of our bridges, so that no other is ever changed.
pub fn bridge_mark(inside: &str, outside: &str) -> String {
    format!("{BRIDGE_MARK}{inside} and {outside}")
}

/// The beginning of the mark of each bridge that this program makes.
pub const BRIDGE_MARK: &str = "forebay-live: fail-open of ";

/// An interface that may be used.
#[derive(Debug)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// The longest payload of a frame.
    pub mtu: u32,
    /// Its address.
    pub address: [u8; 6],
    /// Its speed in Mb/s, if available.
    pub speed: Option<u32>,
    /// Keeps other Forebays from the interface while it is held.
    _claim: Claim,
}

/// The findings, for the setup.
#[derive(Debug)]
pub struct Checked {
    /// The inside interface.
    pub inside: Port,
    /// The outside interface.
    pub outside: Port,
    pub method: Method,
    /// The name of the bridge that takes over.
    pub fail_open: Option<String>,
}

impl Checked {
    pub const fn ports(&self) -> [&Port; 2] {
        [&self.inside, &self.outside]
    }
}

/// The kernel's answers, before any judgement.
struct Machine {
    links: Vec<Link>,
    addresses: Vec<Address>,
    kernel: (u32, u32),
    capabilities: CapabilitySet,
    root: bool,
}

/// Whether all holds that is needed.
///
/// # Errors
/// The first thing that does not hold.
pub fn check(wanted: &Wanted) -> Result<Checked, CheckError> {
    let machine = Machine::read().map_err(|source| CheckError::Unreadable { source })?;
    let [inside, outside] = machine.judge(wanted)?;
    let ethtool = Ethtool::open().map_err(|source| CheckError::Unreadable { source })?;
    let speeds = [inside, outside].map(|link| has_real_speed(link).then(|| ethtool.speed(&link.name)).flatten());
    check_speed("outbound.rate", wanted.outbound, outside, speeds[1])?;
    check_speed("inbound.rate", wanted.inbound, inside, speeds[0])?;
    if wanted.method == Method::AfXdp {
        for link in [inside, outside] {
            let queues = ethtool.receive_queues(link);
            if queues > 1 {
                return Err(CheckError::ReceiveQueues { interface: link.name.clone(), queues });
            }
        }
    }
    let port = |link: &Link, speed| -> Result<Port, CheckError> {
        Ok(Port {
            name: link.name.clone(),
            index: link.index,
            mtu: link.mtu,
            address: link.address.unwrap_or_default(),
            speed,
            _claim: Claim::of(&link.name, link.index)?,
        })
    };
    let (inside, outside) = (port(inside, speeds[0])?, port(outside, speeds[1])?);
    Ok(Checked { inside, outside, method: wanted.method, fail_open: wanted.fail_open.clone() })
}

fn judge_capabilities(mut has: CapabilitySet, needed: &[CapabilitySet]) -> Result<(), CheckError> {
    // The older, wider capability includes the newer one.
    if has.contains(CapabilitySet::SYS_ADMIN) {
        has |= CapabilitySet::BPF;
    }
    let missing: Vec<CapabilitySet> = needed.iter().copied().filter(|wanted| !has.contains(*wanted)).collect();
    if missing.is_empty() { Ok(()) } else { Err(CheckError::Capabilities { missing }) }
}

/// Whether the speed that an interface states is a real one: a veth pair says 10 Gb/s and a TAP 10 Mb/s, and neither
/// is.
fn has_real_speed(link: &Link) -> bool {
    !matches!(link.kind.as_deref(), Some("veth" | "tun" | "dummy" | "bridge"))
}

fn check_speed(key: &'static str, rate: Option<Rate>, link: &Link, speed: Option<u32>) -> Result<(), CheckError> {
    match (rate, speed.map(|megabits| Rate::megabits(megabits.into()))) {
        (Some(rate), Some(speed)) if rate > speed => {
            Err(CheckError::AboveSpeed { key, rate, interface: link.name.clone(), speed })
        }
        _ => Ok(()),
    }
}

impl Machine {
    fn read() -> io::Result<Self> {
        let mut netlink = Netlink::open()?;
        let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        Ok(Self {
            links: netlink.links()?,
            addresses: netlink.addresses()?,
            kernel: kernel_version(&release).unwrap_or_default(),
            capabilities: identity::effective()?,
            root: identity::geteuid().is_root(),
        })
    }

    /// Everything that can be said from what was read: both interfaces, inside first.
    fn judge(&self, wanted: &Wanted) -> Result<[&Link; 2], CheckError> {
        if wanted.inside == wanted.outside {
            return Err(CheckError::Same { interface: wanted.inside.clone() });
        }
        let inside = self.judge_interface(Side::Inside, &wanted.inside, wanted)?;
        let outside = self.judge_interface(Side::Outside, &wanted.outside, wanted)?;
        if inside.mtu != outside.mtu {
            let of = |link: &Link| (link.name.clone(), link.mtu);
            return Err(CheckError::DifferentMtu { inside: of(inside), outside: of(outside) });
        }
        if let Some(name) = &wanted.fail_open {
            self.judge_bridge(name, wanted)?;
        }
        self.judge_kernel(wanted)?;
        judge_capabilities(self.capabilities, &self.needed(wanted))?;
        Ok([inside, outside])
    }

    fn judge_interface(&self, side: Side, name: &str, wanted: &Wanted) -> Result<&Link, CheckError> {
        let interface = name.to_owned();
        let Some(link) = self.links.iter().find(|link| link.name == name) else {
            return Err(CheckError::NoSuchInterface { side, interface, nearest: self.nearest(name) });
        };
        if link.is_loopback() {
            return Err(CheckError::Loopback { side, interface });
        }
        if link.address.is_none() {
            return Err(CheckError::NotEthernet { side, interface });
        }
        if let Some(master) = link.master {
            self.judge_master(side, name, master, wanted)?;
        }
        if !link.is_up() {
            return Err(CheckError::Down { side, interface });
        }
        // The kernel assigns link-local IPv6 addresses, and no host is cut off without them.
        let cut_off = |address: &&Address| match address.ip {
            std::net::IpAddr::V4(_) => true,
            std::net::IpAddr::V6(ip) => !ip.is_unicast_link_local(),
        };
        let own = self.addresses.iter().filter(|address| address.interface == link.index).find(cut_off);
        if let Some(Address { ip, prefix, .. }) = own {
            return Err(CheckError::HasAddress { side, interface, address: format!("{ip}/{prefix}") });
        }
        Ok(link)
    }

    /// Whether the interface that ours is a port of is our own bridge.
    fn judge_master(&self, side: Side, name: &str, master: u32, wanted: &Wanted) -> Result<(), CheckError> {
        let interface = name.to_owned();
        let master = self.links.iter().find(|link| link.index == master);
        let Some(master) = master else {
            return Err(CheckError::ForeignPort { side, interface, master: "another interface".into() });
        };
        let bridge = master.name.clone();
        let ours = master.alias.as_deref().is_some_and(|alias| alias.starts_with(BRIDGE_MARK));
        match (ours, &wanted.fail_open) {
            (true, Some(expected)) if *expected == bridge => Ok(()),
            (true, Some(expected)) => {
                Err(CheckError::OtherBridge { side, interface, bridge, expected: expected.clone() })
            }
            (true, None) => Err(CheckError::BridgeLeft { side, interface, bridge }),
            (false, _) => Err(CheckError::ForeignPort { side, interface, master: bridge }),
        }
    }

    /// Whether the bridge's name can be had, or is that of the one that we made before.
    fn judge_bridge(&self, name: &str, wanted: &Wanted) -> Result<(), CheckError> {
        let valid = !name.is_empty()
            && name.len() <= LONGEST_NAME
            && !matches!(name, "." | "..")
            && !name.contains(|c: char| c == '/' || c == ':' || c.is_whitespace());
        if !valid {
            return Err(CheckError::BridgeName { bridge: name.into() });
        }
        let mark = bridge_mark(&wanted.inside, &wanted.outside);
        match self.links.iter().find(|link| link.name == name) {
            Some(link) if link.alias.as_ref() != Some(&mark) => {
                let other = link.alias.as_deref().and_then(|alias| alias.strip_prefix(BRIDGE_MARK));
                Err(CheckError::BridgeTaken { bridge: name.into(), of: other.map(str::to_owned) })
            }
            _ => Ok(()),
        }
    }

    fn judge_kernel(&self, wanted: &Wanted) -> Result<(), CheckError> {
        let (what, least) = match (wanted.method, &wanted.fail_open) {
            (Method::AfXdp, _) => ("`io.method = \"af_xdp\"`", (5, 9)),
            (Method::AfPacket, Some(_)) => ("`io.fail_open` with `io.method = \"af_packet\"`", (6, 6)),
            (Method::AfPacket, None) => return Ok(()),
        };
        if self.kernel >= least { Ok(()) } else { Err(CheckError::OldKernel { what, least, found: self.kernel }) }
    }

    fn needed(&self, wanted: &Wanted) -> Vec<CapabilitySet> {
        let mut needed = vec![CapabilitySet::NET_RAW, CapabilitySet::NET_ADMIN];
        if wanted.method == Method::AfXdp || wanted.fail_open.is_some() {
            needed.push(CapabilitySet::BPF);
        }
        if wanted.realtime {
            needed.push(CapabilitySet::SYS_NICE);
        }
        if wanted.lock_memory {
            needed.push(CapabilitySet::IPC_LOCK);
        }
        // To be root no longer.
        if self.root {
            needed.extend([CapabilitySet::SETGID, CapabilitySet::SETUID]);
        }
        needed
    }

    /// The interface whose name is most like `name`, if it is like it at all.
    fn nearest(&self, name: &str) -> Option<String> {
        let usable = self.links.iter().filter(|link| !link.is_loopback());
        let likeness = usable.map(|link| (strsim::jaro_winkler(&link.name, name), &link.name));
        let best = likeness.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        (best.0 > 0.7).then(|| best.1.clone())
    }
}

/// The first two numbers of a release such as `6.18.44-generic`.
fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.trim().split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests;
