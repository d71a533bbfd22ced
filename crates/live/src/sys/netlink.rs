//! Interfaces and addresses over rtnetlink: those that exist, and the bridge that takes over.
//!
//! `/sys` is no substitute: it shows the interfaces of the namespace in which it was mounted.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, BridgeStpState, In6AddrGenMode, InfoBridge, InfoBridgePort, InfoData, InfoKind,
    InfoPortData, InfoPortKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_ROUTE;

/// The multicast groups of a single link that a bridge passes on: all of them but PAUSE, which ends at the next port.
const LINK_LOCAL_GROUPS: u16 = !(1 << 1);

/// A connection to the kernel.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence: u32,
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
    /// Whether it is switched on.
    pub const fn is_up(&self) -> bool {
        self.flags & libc::IFF_UP.cast_unsigned() != 0
    }

    /// Whether it leads back to this machine.
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
    /// The number of bits that name the network.
    pub prefix: u8,
}

impl Netlink {
    /// Connects to the kernel of the network namespace that this thread is in.
    ///
    /// # Errors
    /// The kernel lets the process have no such socket.
    pub fn open() -> io::Result<Self> {
        Ok(Self { socket: Socket::new(NETLINK_ROUTE)?, sequence: 0 })
    }

    /// All interfaces.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn links(&mut self) -> io::Result<Vec<Link>> {
        let mut links = Vec::new();
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        self.exchange(request, NLM_F_DUMP, |answer| links.extend(read_link(answer)))?;
        Ok(links)
    }

    /// The interface with this index, under any name; none if it was deleted or moved to another namespace.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn link(&mut self, index: u32) -> io::Result<Option<Link>> {
        let mut found = None;
        let request = RouteNetlinkMessage::GetLink(link_message(index, Vec::new()));
        match self.exchange(request, NLM_F_ACK, |answer| found = read_link(answer)) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            answered => answered.map(|()| found),
        }
    }

    /// The interface called `name`.
    ///
    /// # Errors
    /// There is none (`ENODEV`), or the kernel does not answer.
    pub fn find(&mut self, name: &str) -> io::Result<Link> {
        let found = self.links()?.into_iter().find(|link| link.name == name);
        found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
    }

    /// All addresses.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn addresses(&mut self) -> io::Result<Vec<Address>> {
        let mut addresses = Vec::new();
        let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
        self.exchange(request, NLM_F_DUMP, |answer| addresses.extend(read_address(answer)))?;
        Ok(addresses)
    }

    /// Makes a bridge that forwards at once and does nothing of its own: no spanning tree, no forwarding delay, no
    /// multicast snooping, no address. It is still down.
    ///
    /// # Errors
    /// An interface of this name exists, or the process lacks `CAP_NET_ADMIN`.
    pub fn create_bridge(&mut self, name: &str, alias: &str) -> io::Result<Link> {
        let bridge = InfoData::Bridge(vec![
            InfoBridge::StpState(BridgeStpState::Disabled),
            InfoBridge::ForwardDelay(0),
            InfoBridge::MulticastSnooping(false),
        ]);
        let info = LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Bridge), LinkInfo::Data(bridge)]);
        let request = RouteNetlinkMessage::NewLink(link_message(0, vec![LinkAttribute::IfName(name.into()), info]));
        self.exchange(request, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, |_| ())?;
        let made = self.find(name)?;
        // The kernel ignores the alias of a new interface.
        self.set(made.index, LinkAttribute::IfAlias(alias.into()))?;
        self.without_ipv6_address(made.index)?;
        Ok(made)
    }

    /// Keeps an interface from giving itself an address, and from speaking because it has one.
    fn without_ipv6_address(&mut self, interface: u32) -> io::Result<()> {
        let inet6 = AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]);
        match self.set(interface, LinkAttribute::AfSpecUnspec(vec![inet6])) {
            // A kernel without IPv6 assigns no such address.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP)) => Ok(()),
            other => other,
        }
    }

    /// Makes an interface a port of a bridge that forwards every frame and learns nothing: with two ports, what
    /// comes in at one goes out at the other.
    ///
    /// # Errors
    /// The interface cannot be a port, or the process lacks `CAP_NET_ADMIN`.
    pub fn enslave(&mut self, interface: u32, bridge: u32) -> io::Result<()> {
        self.set(interface, LinkAttribute::Controller(bridge))?;
        let port = InfoPortData::BridgePort(vec![
            InfoBridgePort::HairpinMode(false),
            InfoBridgePort::Learning(false),
            InfoBridgePort::UnicastFlood(true),
            InfoBridgePort::MulticastFlood(true),
            InfoBridgePort::BroadcastFlood(true),
            InfoBridgePort::GroupFwdMask(LINK_LOCAL_GROUPS),
        ]);
        let info = LinkAttribute::LinkInfo(vec![LinkInfo::PortKind(InfoPortKind::Bridge), LinkInfo::PortData(port)]);
        self.change(RouteNetlinkMessage::NewLink(link_message(interface, vec![info])))
    }

    /// Sets the longest payload of an interface, and the number of frames that wait at most to be sent.
    ///
    /// # Errors
    /// It is gone, does not carry that much, or the process lacks `CAP_NET_ADMIN`.
    pub fn set_sizes(&mut self, interface: u32, mtu: u32, queue_frames: u32) -> io::Result<()> {
        let sizes = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(queue_frames)];
        self.change(RouteNetlinkMessage::SetLink(link_message(interface, sizes)))
    }

    /// Switches an interface on.
    ///
    /// # Errors
    /// It is gone, or the process lacks `CAP_NET_ADMIN`.
    pub fn set_up(&mut self, interface: u32) -> io::Result<()> {
        let mut message = link_message(interface, Vec::new());
        (message.header.flags, message.header.change_mask) = (LinkFlags::Up, LinkFlags::Up);
        self.change(RouteNetlinkMessage::SetLink(message))
    }

    /// Deletes an interface.
    ///
    /// # Errors
    /// It is gone, or the process lacks `CAP_NET_ADMIN`.
    pub fn delete(&mut self, interface: u32) -> io::Result<()> {
        self.change(RouteNetlinkMessage::DelLink(link_message(interface, Vec::new())))
    }

    fn set(&mut self, interface: u32, attribute: LinkAttribute) -> io::Result<()> {
        self.change(RouteNetlinkMessage::SetLink(link_message(interface, vec![attribute])))
    }

    fn change(&mut self, request: RouteNetlinkMessage) -> io::Result<()> {
        self.exchange(request, NLM_F_ACK, |_| ())
    }

    /// Sends a request and passes each message of the answer to `take`. It skips a message that the library cannot
    /// read, so that an interface of an unknown kind hides no other.
    fn exchange(
        &mut self,
        request: RouteNetlinkMessage,
        flags: u16,
        mut take: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        (header.flags, header.sequence_number) = (NLM_F_REQUEST | flags, self.sequence);
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(request));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut answer = Vec::with_capacity(BUFFER_BYTES);
        loop {
            answer.clear();
            self.socket.recv(&mut answer, 0)?;
            let mut rest = answer.as_slice();
            while !rest.is_empty() {
                let message = NetlinkBuffer::new_checked(rest)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                if message.sequence_number() == self.sequence {
                    match NetlinkMessage::deserialize(rest).map(|message| message.payload) {
                        Ok(NetlinkPayload::Done(_)) => return Ok(()),
                        Ok(NetlinkPayload::Error(error)) if error.code.is_none() => return Ok(()),
                        Ok(NetlinkPayload::Error(error)) => return Err(error.to_io()),
                        Ok(NetlinkPayload::InnerMessage(message)) => take(message),
                        _ => (),
                    }
                }
                rest = rest.get((message.length() as usize).next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

/// A message about the interface of this number; 0 for a new one.
fn link_message(interface: u32, attributes: Vec<LinkAttribute>) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = interface;
    message.attributes = attributes;
    message
}

fn read_link(answer: RouteNetlinkMessage) -> Option<Link> {
    let RouteNetlinkMessage::NewLink(LinkMessage { header, attributes, .. }) = answer else { return None };
    let mut link = Link { index: header.index, flags: header.flags.bits(), ..Link::default() };
    for attribute in attributes {
        match attribute {
            LinkAttribute::Address(address) => link.address = address.try_into().ok(),
            LinkAttribute::IfName(name) => link.name = name,
            LinkAttribute::Mtu(mtu) => link.mtu = mtu,
            LinkAttribute::Controller(master) => link.master = Some(master),
            LinkAttribute::IfAlias(alias) => link.alias = Some(alias),
            LinkAttribute::NumRxQueues(queues) => link.receive_queues = queues,
            LinkAttribute::Stats64(statistics) => link.transmit_dropped = statistics.tx_dropped,
            LinkAttribute::LinkInfo(info) => {
                link.kind = info.iter().find_map(|info| match info {
                    LinkInfo::Kind(kind) => Some(kind.to_string()),
                    _ => None,
                });
            }
            _ => (),
        }
    }
    Some(link)
}

fn read_address(answer: RouteNetlinkMessage) -> Option<Address> {
    let RouteNetlinkMessage::NewAddress(AddressMessage { header, attributes, .. }) = answer else { return None };
    // If the interface has a peer, `Address` is the address of the peer.
    let local = attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(ip) => Some(*ip),
        _ => None,
    });
    let any = attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Address(ip) => Some(*ip),
        _ => None,
    });
    Some(Address { interface: header.index, ip: local.or(any)?, prefix: header.prefix_len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found_as_it_is() {
        let mut netlink = Netlink::open().expect("a socket");
        let lo = netlink.find("lo").expect("lo is everywhere");
        assert!(lo.is_loopback() && lo.mtu >= 1500);
        assert_eq!((lo.index, lo.address, lo.master), (1, Some([0; 6]), None));
        for name in ["no-such-one", "a-name-longer-than-the-kernel-has"] {
            assert_eq!(netlink.find(name).expect_err("an invented name").raw_os_error(), Some(libc::ENODEV));
        }
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
    fn of_an_address_with_a_peer_the_own_one_is_taken() {
        let own = AddressAttribute::Local([10, 0, 0, 1].into());
        let peer = AddressAttribute::Address([10, 0, 0, 2].into());
        for attributes in [vec![own.clone(), peer.clone()], vec![peer, own]] {
            let mut message = AddressMessage::default();
            message.header.prefix_len = 24;
            message.attributes = attributes;
            let address = read_address(RouteNetlinkMessage::NewAddress(message)).expect("an address");
            assert_eq!((address.ip, address.prefix), ("10.0.0.1".parse().expect("an address"), 24));
        }
    }
}
