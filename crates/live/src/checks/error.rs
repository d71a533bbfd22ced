//! Failed checks, with their keys and remedies.

use std::fmt;
use std::io;

use forebay_units::Rate;
use thiserror::Error;

use crate::sys::identity::CapabilitySet;

/// Which interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `interfaces.inside`.
    Inside,
    /// `interfaces.outside`.
    Outside,
}

impl fmt::Display for Side {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Inside => "interfaces.inside",
            Self::Outside => "interfaces.outside",
        })
    }
}

/// Something does not hold. Nothing has been changed.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the message describes each field")]
pub enum CheckError {
    #[error("{side}: there is no interface `{interface}`{}", suggestion(nearest.as_deref()))]
    NoSuchInterface { side: Side, interface: String, nearest: Option<String> },
    #[error(
        "interfaces.inside and interfaces.outside are both `{interface}`: name two different interfaces, since frames \
         go in at one and out at the other"
    )]
    Same { interface: String },
    #[error("{side}: `{interface}` is down: switch it on with `ip link set {interface} up`")]
    Down { side: Side, interface: String },
    #[error("{side}: `{interface}` is the loopback interface, which cannot forward frames: name a network interface")]
    Loopback { side: Side, interface: String },
    #[error(
        "{side}: `{interface}` is not an Ethernet interface: use an Ethernet interface, or put a veth pair in between"
    )]
    NotEthernet { side: Side, interface: String },
    #[error(
        "{side}: `{interface}` has the address {address}, which this machine would lose: use another \
         interface, or remove the address with `ip addr flush dev {interface}`"
    )]
    HasAddress { side: Side, interface: String, address: String },
    #[error(
        "{side}: `{interface}` is a port of `{master}`, which already forwards its frames: release it with `ip link \
         set {interface} nomaster`, or use another interface"
    )]
    ForeignPort { side: Side, interface: String, master: String },
    #[error(
        "{side}: `{interface}` is still a port of the fail-open bridge `{bridge}`, and `io.fail_open` is off: remove \
         the bridge with `forebay-live teardown {bridge}`, or set `io.fail_open = true`"
    )]
    BridgeLeft { side: Side, interface: String, bridge: String },
    #[error(
        "{side}: `{interface}` is a port of the fail-open bridge `{bridge}`, not of `{expected}`: remove that one with \
         `forebay-live teardown {bridge}`"
    )]
    OtherBridge { side: Side, interface: String, bridge: String, expected: String },
    #[error(
        "io.fail_open: `{bridge}` is not a valid name of a bridge: use 1 to 15 characters without `/`, `:` and spaces"
    )]
    BridgeName { bridge: String },
    #[error(
        "io.fail_open: {}: choose another name for the bridge, or remove that interface",
        taken(bridge, of.as_deref())
    )]
    BridgeTaken { bridge: String, of: Option<String> },
    #[error(
        "interfaces: the MTUs of `{}` ({}) and `{}` ({}) differ, so longer frames would be lost: set both to the \
         same value with `ip link set {} mtu {}`",
        inside.0, inside.1, outside.0, outside.1, longer(inside, outside).0, inside.1.min(outside.1)
    )]
    DifferentMtu { inside: (String, u32), outside: (String, u32) },
    #[error(
        "interfaces: another Forebay uses `{interface}`: stop that one (`ss -xap | grep forebay-live` shows it), or \
         use another interface"
    )]
    InUse { interface: String },
    #[error(
        "{key}: {rate} is above the {speed} of `{interface}`, so the queue would build up outside of Forebay: set a \
         rate slightly below that of the link"
    )]
    AboveSpeed { key: &'static str, rate: Rate, interface: String, speed: Rate },
    #[error(
        "io.method: `{interface}` receives into {queues} queues, but AF_XDP reads only one of them: reduce \
         them to one with `ethtool -L {interface} combined 1`, or use `io.method = \"af_packet\"`"
    )]
    ReceiveQueues { interface: String, queues: u32 },
    #[error(
        "{what} needs Linux {}.{}, but this is {}.{}: run a newer kernel, or remove that setting",
        least.0, least.1, found.0, found.1
    )]
    OldKernel { what: &'static str, least: (u32, u32), found: (u32, u32) },
    #[error(
        "the process lacks {0}: run it as root, or add {0} to `AmbientCapabilities=` of its systemd unit, or give it \
         to the program with `setcap {1}+ep`",
        listed(missing, " "), listed(missing, ",").to_lowercase()
    )]
    Capabilities { missing: Vec<CapabilitySet> },
    #[error("cannot ask the kernel about interfaces: {source}; are /proc and netlink allowed to this process?")]
    Unreadable { source: io::Error },
}

fn suggestion(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!(": did you mean `{nearest}`? `ip link` lists all interfaces"),
        None => ": `ip link` lists all interfaces".into(),
    }
}

fn taken(bridge: &str, of: Option<&str>) -> String {
    match of {
        Some(of) => format!("`{bridge}` is the fail-open bridge of {of}"),
        None => format!("an interface `{bridge}` exists that Forebay did not create"),
    }
}

fn longer<'a>(one: &'a (String, u32), other: &'a (String, u32)) -> &'a (String, u32) {
    if one.1 > other.1 { one } else { other }
}

fn listed(capabilities: &[CapabilitySet], between: &str) -> String {
    let names = capabilities.iter().flat_map(CapabilitySet::iter_names).map(|(name, _)| format!("CAP_{name}"));
    names.collect::<Vec<_>>().join(between)
}
