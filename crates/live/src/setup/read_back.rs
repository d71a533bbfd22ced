//! The actual state, read from the kernel at the time of the request.

use std::io;

use serde::Serialize;

use super::Entrances;
use crate::checks::Checked;
use crate::privileges;
use crate::sys::ethtool::Ethtool;
use crate::sys::netlink::{Link, Netlink};

/// Sockets to the kernel, opened before privileges are dropped; they also work later.
#[derive(Debug)]
pub struct Reader {
    netlink: Netlink,
    ethtool: Ethtool,
}

/// The present state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InForce {
    /// The inside interface.
    pub inside: PortInForce,
    /// The outside interface.
    pub outside: PortInForce,
    /// Whether our program keeps frames from the bridge; none if no entrance must be shut.
    pub entrances_shut: Option<bool>,
    /// The privileges of the process.
    pub privileges: privileges::InForce,
}

/// The present state of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortInForce {
    /// Its name now.
    pub name: String,
    /// Whether the bridge exists and is switched on.
    pub up: bool,
    /// The longest payload of a frame.
    pub mtu: u32,
    /// Its speed in Mb/s, if it reports one.
    pub speed: Option<u32>,
    /// The bridge that takes over.
    pub bridge: Option<String>,
    /// Features that are on, of those that put packets together or leave work for later.
    pub offloads_on: Vec<String>,
}

impl Reader {
    /// Opens the sockets.
    ///
    /// # Errors
    /// No more files may be open.
    pub fn open() -> io::Result<Self> {
        Ok(Self { netlink: Netlink::open()?, ethtool: Ethtool::open()? })
    }

    /// The present state, read now.
    ///
    /// # Errors
    /// The kernel does not answer. An interface that is gone is none: it is not up.
    pub fn read(&mut self, checked: &Checked, entrances: Option<&Entrances>) -> io::Result<InForce> {
        let links = self.netlink.links()?;
        let [inside, outside] = checked.ports().map(|port| self.port(&links, port.index, checked));
        Ok(InForce {
            inside,
            outside,
            entrances_shut: entrances.map(|entrances| entrances.are_shut(checked)),
            privileges: privileges::read_back()?,
        })
    }

    fn port(&self, links: &[Link], index: u32, checked: &Checked) -> PortInForce {
        let gone = Link::default();
        let link = links.iter().find(|link| link.index == index).unwrap_or(&gone);
        let bridge = links.iter().find(|other| Some(other.index) == link.master);
        let features = self.ethtool.features(&link.name).unwrap_or_default();
        let on = features.into_iter().filter(|feature| feature.active);
        let offloads = on.filter(|feature| super::offloads::goes_off(&feature.name, checked.method));
        PortInForce {
            name: link.name.clone(),
            up: link.is_up(),
            mtu: link.mtu,
            speed: self.ethtool.speed(&link.name),
            bridge: bridge.map(|bridge| bridge.name.clone()),
            offloads_on: offloads.map(|feature| feature.name).collect(),
        }
    }
}
