//! Interfaces and addresses over rtnetlink: those that exist, and the bridge that takes over.
//!
//! The kernel is asked, not `/sys`: that shows the interfaces of the namespace in which it was mounted.

#![allow(unsafe_code, reason = "std opens no netlink socket")]

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};

use super::netlink_message::{Attributes, Message, u16_at, u32_at};

const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_GETLINK: u16 = 18;
const RTM_SETLINK: u16 = 19;
const RTM_NEWADDR: u16 = 20;
const RTM_GETADDR: u16 = 22;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_EXCLUSIVE_CREATE: u16 = 0x600;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_IFALIAS: u16 = 20;
const IFLA_STATS64: u16 = 23;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_NUM_RX_QUEUES: u16 = 32;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const ADDR_GEN_MODE_NONE: u8 = 1;
const IFLA_BR_FORWARD_DELAY: u16 = 1;
const IFLA_BR_STP_STATE: u16 = 5;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;
const IFLA_BRPORT_MODE: u16 = 4;
const IFLA_BRPORT_LEARNING: u16 = 8;
const IFLA_BRPORT_UNICAST_FLOOD: u16 = 9;
const IFLA_BRPORT_MCAST_FLOOD: u16 = 27;
const IFLA_BRPORT_BCAST_FLOOD: u16 = 30;
const IFLA_BRPORT_GROUP_FWD_MASK: u16 = 31;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

/// Offset of `tx_dropped` in the kernel's `struct rtnl_link_stats64`.
const TX_DROPPED_AT: usize = 7 * 8;

/// The multicast groups of a single link that a bridge passes on: all of them but PAUSE, which ends at the next port.
const LINK_LOCAL_GROUPS: u16 = !(1 << 1);

/// A connection to the kernel.
#[derive(Debug)]
pub struct Netlink {
    socket: File,
    sequence: u32,
    buffer: Vec<u8>,
}

/// The kernel fills at most 32 KB at a time if the reader has that much room.
const BUFFER_BYTES: usize = 1 << 16;

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// `IFF_UP` and its like.
    pub flags: u32,
    /// The longest payload that it sends.
    pub mtu: u32,
    /// Its Ethernet address; none where its addresses are of another kind.
    pub address: Option<[u8; 6]>,
    /// The interface that it is a port of.
    pub master: Option<u32>,
    /// The kind of virtual interface, such as `veth`; none for hardware.
    pub kind: Option<String>,
    /// A comment on it.
    pub alias: Option<String>,
    /// Its receive queues, in use or not.
    pub receive_queues: u32,
    /// Frames that the kernel dropped instead of sending them.
    pub transmit_dropped: u64,
}

impl Link {
    /// It is switched on.
    pub const fn is_up(&self) -> bool {
        self.flags & libc::IFF_UP.cast_unsigned() != 0
    }

    /// It leads back to this machine.
    pub const fn is_loopback(&self) -> bool {
        self.flags & libc::IFF_LOOPBACK.cast_unsigned() != 0
    }
}

/// An IP address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The interface's number.
    pub interface: u32,
    /// The address.
    pub ip: std::net::IpAddr,
    /// How many bits of it name the network.
    pub prefix: u8,
}

impl Netlink {
    /// Connects to the kernel of the network namespace that this thread is in.
    ///
    /// # Errors
    /// The kernel lets the process have no such socket.
    pub fn open() -> io::Result<Self> {
        // SAFETY: socket(2) takes three numbers and touches no memory.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor, and it is not shared.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { socket: File::from(socket), sequence: 0, buffer: vec![0; BUFFER_BYTES] })
    }

    /// All interfaces.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn links(&mut self) -> io::Result<Vec<Link>> {
        let mut links = Vec::new();
        let request = Message::link(RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 0);
        self.exchange(request, &mut |kind, body| {
            if kind == RTM_NEWLINK {
                links.extend(parse_link(body));
            }
        })?;
        Ok(links)
    }

    /// The interface with this index, whatever its name is now; none if it was deleted or moved to another namespace.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn link(&mut self, index: u32) -> io::Result<Option<Link>> {
        let mut found = None;
        let request = Message::link(RTM_GETLINK, NLM_F_REQUEST | NLM_F_ACK, index);
        let answered = self.exchange(request, &mut |kind, body| {
            if kind == RTM_NEWLINK {
                found = parse_link(body);
            }
        });
        match answered {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            answered => answered.map(|()| found),
        }
    }

    /// All addresses.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn addresses(&mut self) -> io::Result<Vec<Address>> {
        let mut addresses = Vec::new();
        let request = Message::new(RTM_GETADDR, NLM_F_REQUEST | NLM_F_DUMP, &[0; 8]);
        self.exchange(request, &mut |kind, body| {
            if kind == RTM_NEWADDR {
                addresses.extend(parse_address(body));
            }
        })?;
        Ok(addresses)
    }

    /// Makes a bridge that forwards at once and does nothing of its own: no spanning tree, no forwarding delay, no
    /// multicast snooping, no address. It is still down.
    ///
    /// # Errors
    /// An interface of this name exists, or the process lacks `CAP_NET_ADMIN`.
    pub fn create_bridge(&mut self, name: &str, alias: &str) -> io::Result<Link> {
        let mut request = Message::link(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_EXCLUSIVE_CREATE, 0);
        request.string(IFLA_IFNAME, name);
        request.nest(IFLA_LINKINFO, |info| {
            info.string(IFLA_INFO_KIND, "bridge");
            info.nest(IFLA_INFO_DATA, |data| {
                data.u32(IFLA_BR_STP_STATE, 0);
                data.u32(IFLA_BR_FORWARD_DELAY, 0);
                data.u8(IFLA_BR_MCAST_SNOOPING, 0);
            });
        });
        self.exchange(request, &mut |_, _| ())?;
        let made = self.links()?.into_iter().find(|link| link.name == name);
        let made = made.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
        let mut request = Message::link(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, made.index);
        // Not at making it: the kernel would not take it then.
        request.string(IFLA_IFALIAS, alias);
        self.exchange(request, &mut |_, _| ())?;
        self.without_ipv6_address(made.index)?;
        Ok(made)
    }

    /// Keeps an interface from giving itself an address, and from speaking because it has one.
    fn without_ipv6_address(&mut self, interface: u32) -> io::Result<()> {
        let mut request = Message::link(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, interface);
        request.nest(IFLA_AF_SPEC, |families| {
            let family = u16::try_from(libc::AF_INET6).unwrap_or_default();
            families.nest(family, |inet6| inet6.u8(IFLA_INET6_ADDR_GEN_MODE, ADDR_GEN_MODE_NONE));
        });
        match self.exchange(request, &mut |_, _| ()) {
            // A kernel without IPv6 assigns no such address.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP)) => Ok(()),
            other => other,
        }
    }

    /// Makes an interface a port of a bridge that passes on whatever comes, and learns nothing: with two ports, what
    /// comes in at one goes out at the other.
    ///
    /// # Errors
    /// The interface cannot be a port, or the process lacks `CAP_NET_ADMIN`.
    pub fn enslave(&mut self, interface: u32, bridge: u32) -> io::Result<()> {
        let mut request = Message::link(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, interface);
        request.u32(IFLA_MASTER, bridge);
        self.exchange(request, &mut |_, _| ())?;
        let mut request = Message::link(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, interface);
        request.nest(IFLA_LINKINFO, |info| {
            info.string(IFLA_INFO_SLAVE_KIND, "bridge");
            info.nest(IFLA_INFO_SLAVE_DATA, |data| {
                data.u8(IFLA_BRPORT_MODE, 0);
                data.u8(IFLA_BRPORT_LEARNING, 0);
                data.u8(IFLA_BRPORT_UNICAST_FLOOD, 1);
                data.u8(IFLA_BRPORT_MCAST_FLOOD, 1);
                data.u8(IFLA_BRPORT_BCAST_FLOOD, 1);
                data.u16(IFLA_BRPORT_GROUP_FWD_MASK, LINK_LOCAL_GROUPS);
            });
        });
        self.exchange(request, &mut |_, _| ())
    }

    /// Switches an interface on.
    ///
    /// # Errors
    /// It is gone, or the process lacks `CAP_NET_ADMIN`.
    pub fn set_up(&mut self, interface: u32) -> io::Result<()> {
        let up = libc::IFF_UP.cast_unsigned();
        let request = Message::link_flags(RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, interface, up);
        self.exchange(request, &mut |_, _| ())
    }

    /// Deletes an interface.
    ///
    /// # Errors
    /// It is gone, or the process lacks `CAP_NET_ADMIN`.
    pub fn delete(&mut self, interface: u32) -> io::Result<()> {
        let request = Message::link(RTM_DELLINK, NLM_F_REQUEST | NLM_F_ACK, interface);
        self.exchange(request, &mut |_, _| ())
    }

    /// Sends a request and shows `take` the kind and the body of each message of the answer, to its end.
    fn exchange(&mut self, request: Message, take: &mut dyn FnMut(u16, &[u8])) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.write_all(&request.finish(self.sequence))?;
        loop {
            let length = self.socket.read(&mut self.buffer)?;
            let mut rest = &self.buffer[..length];
            while let (Some(length), Some(kind)) = (u32_at(rest, 0), u16_at(rest, 4)) {
                let length = length as usize;
                let Some(body) = rest.get(16..length) else { return Err(cut_short()) };
                let ours = u32_at(rest, 8) == Some(self.sequence);
                match kind {
                    _ if !ours => (),
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => return acknowledged(body),
                    kind => take(kind, body),
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a message of the kernel is cut short")
}

/// The error number in an acknowledgement: zero means done.
fn acknowledged(body: &[u8]) -> io::Result<()> {
    match u32_at(body, 0).map(u32::cast_signed) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
        None => Err(cut_short()),
    }
}

fn parse_link(body: &[u8]) -> Option<Link> {
    let mut link = Link { index: u32_at(body, 4)?, flags: u32_at(body, 8)?, ..Link::default() };
    for (kind, value) in Attributes::new(body.get(16..)?) {
        match kind {
            IFLA_ADDRESS => link.address = value.try_into().ok(),
            IFLA_IFNAME => link.name = text(value),
            IFLA_MTU => link.mtu = u32_at(value, 0)?,
            IFLA_MASTER => link.master = u32_at(value, 0),
            IFLA_IFALIAS => link.alias = Some(text(value)),
            IFLA_NUM_RX_QUEUES => link.receive_queues = u32_at(value, 0)?,
            IFLA_STATS64 => {
                let dropped = value.get(TX_DROPPED_AT..TX_DROPPED_AT + 8).and_then(|bytes| bytes.try_into().ok());
                link.transmit_dropped = dropped.map_or(0, u64::from_ne_bytes);
            }
            IFLA_LINKINFO => {
                let kind = Attributes::new(value).find(|(kind, _)| *kind == IFLA_INFO_KIND);
                link.kind = kind.map(|(_, value)| text(value));
            }
            _ => (),
        }
    }
    Some(link)
}

fn parse_address(body: &[u8]) -> Option<Address> {
    let (prefix, interface) = (*body.get(1)?, u32_at(body, 4)?);
    let mut found = None;
    for (kind, value) in Attributes::new(body.get(8..)?) {
        let ip = match value.len() {
            4 => <[u8; 4]>::try_from(value).ok().map(std::net::IpAddr::from),
            16 => <[u8; 16]>::try_from(value).ok().map(std::net::IpAddr::from),
            _ => None,
        };
        // With a peer, `IFA_ADDRESS` is that one's.
        if kind == IFA_LOCAL || kind == IFA_ADDRESS && found.is_none() {
            found = ip;
        }
    }
    Some(Address { interface, ip: found?, prefix })
}

/// A string, which the kernel ends with a zero byte.
fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found_as_it_is() {
        let links = Netlink::open().expect("a socket").links().expect("an answer");
        let lo = links.iter().find(|link| link.name == "lo").expect("lo is everywhere");
        assert!(lo.is_loopback());
        assert_eq!((lo.index, lo.address, lo.master), (1, Some([0; 6]), None));
    }

    #[test]
    fn one_interface_is_found_by_its_index_and_a_missing_one_is_none() {
        let mut netlink = Netlink::open().expect("a socket");
        let lo = netlink.link(1).expect("an answer").expect("lo is everywhere");
        assert_eq!((lo.name.as_str(), lo.index), ("lo", 1));
        assert_eq!(netlink.link(u32::MAX >> 1).expect("an answer"), None);
        // A question that found nothing leaves nothing behind that a later one could take for its answer.
        assert_eq!(netlink.link(1).expect("an answer").map(|link| link.index), Some(1));
    }

    #[test]
    fn a_link_is_read_from_its_attributes() {
        let mut message = Message::link_flags(RTM_NEWLINK, 0, 7, 1);
        message.string(IFLA_IFNAME, "lan0");
        message.u32(IFLA_MTU, 1500);
        message.u32(IFLA_MASTER, 9);
        message.nest(IFLA_LINKINFO, |info| info.string(IFLA_INFO_KIND, "veth"));
        let counters: Vec<u8> = (0..24_u64).flat_map(u64::to_ne_bytes).collect();
        message.bytes(IFLA_STATS64, &counters);
        let bytes = message.finish(1);
        let link = parse_link(&bytes[16..]).expect("a whole link");
        assert_eq!((link.index, link.mtu, link.master, link.transmit_dropped), (7, 1500, Some(9), 7));
        assert_eq!((link.name.as_str(), link.kind.as_deref()), ("lan0", Some("veth")));
        assert!(link.is_up() && !link.is_loopback());
    }

    #[test]
    fn of_an_address_with_a_peer_the_own_one_is_taken() {
        for (first, second) in [(IFA_ADDRESS, IFA_LOCAL), (IFA_LOCAL, IFA_ADDRESS)] {
            let mut message = Message::new(RTM_NEWADDR, 0, &[2, 24, 0, 0, 3, 0, 0, 0]);
            for kind in [first, second] {
                message.bytes(kind, &[10, 0, 0, if kind == IFA_LOCAL { 1 } else { 2 }]);
            }
            let address = parse_address(&message.finish(1)[16..]).expect("an address");
            assert_eq!((address.ip, address.prefix), ("10.0.0.1".parse().expect("an address"), 24));
        }
    }

    #[test]
    fn bytes_that_are_no_message_are_no_link() {
        for length in 0..40 {
            let _ = parse_link(&vec![0xff; length]);
            let _ = parse_address(&vec![0xff; length]);
        }
    }
}
