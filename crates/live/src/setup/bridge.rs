//! The kernel's bridge between both interfaces, which takes over when this process dies.

use super::SetupError;
use crate::checks::{BRIDGE_MARK, Checked, Claim, bridge_mark};
use crate::sys::netlink::{Link, Netlink};

/// A bridge that this start made is deleted when this is dropped, until it is [kept](Self::keep).
#[derive(Debug)]
pub struct Bridge {
    name: String,
    /// Its number, if it must be deleted.
    made: Option<u32>,
}

impl Bridge {
    /// Makes both interfaces the ports of a bridge; one that was made before is used again. None without
    /// `io.fail_open`.
    ///
    /// The entrances must be shut before, or frames pass twice.
    ///
    /// # Errors
    /// The bridge's name is taken, or the process lacks `CAP_NET_ADMIN`. A bridge that was made is deleted again.
    pub fn ensure(checked: &Checked) -> Result<Option<Self>, SetupError> {
        let Some(name) = &checked.fail_open else { return Ok(None) };
        let failed = |what| move |source| SetupError::Bridge { what, bridge: name.clone(), source };
        let mut netlink = Netlink::open().map_err(failed("ask about"))?;
        let links = netlink.links().map_err(failed("ask about"))?;
        let mark = bridge_mark(&checked.inside.name, &checked.outside.name);
        let (index, made) = match links.iter().find(|link| link.name == *name) {
            Some(link) if link.alias.as_ref() == Some(&mark) => (link.index, None),
            Some(_) => return Err(SetupError::ForeignBridge { bridge: name.clone() }),
            None => {
                let index = netlink.create_bridge(name, &mark).map_err(failed("make"))?.index;
                (index, Some(index))
            }
        };
        let bridge = Self { name: name.clone(), made };
        for port in checked.ports() {
            netlink.enslave(port.index, index).map_err(failed("make the interfaces ports of"))?;
        }
        netlink.set_up(index).map_err(failed("switch on"))?;
        Ok(Some(bridge))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Leaves it there, also when this process ends: set-up has succeeded.
    pub fn keep(&mut self) {
        self.made = None;
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // One that is kept is dropped when no socket may be opened any more.
        let Some(index) = self.made else { return };
        // An error has no recipient here.
        let _ = Netlink::open().and_then(|mut netlink| netlink.delete(index));
    }
}

/// The result of [`teardown`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Teardown {
    /// The bridge that is gone.
    pub bridge: String,
    /// The interfaces that are no longer its ports.
    pub released: Vec<String>,
}

/// Removes a bridge that Forebay made. Its ports pass nothing on any more.
///
/// # Errors
/// There is none, or it is not ours, or a Forebay is using its ports.
pub fn teardown(name: &str) -> Result<Teardown, SetupError> {
    let failed = |what| move |source| SetupError::Bridge { what, bridge: name.into(), source };
    let mut netlink = Netlink::open().map_err(failed("ask about"))?;
    let links = netlink.links().map_err(failed("ask about"))?;
    let Some(bridge) = links.iter().find(|link| link.name == name) else {
        return Err(SetupError::NoBridge { bridge: name.into() });
    };
    if !bridge.alias.as_deref().is_some_and(|alias| alias.starts_with(BRIDGE_MARK)) {
        return Err(SetupError::ForeignBridge { bridge: name.into() });
    }
    let ports: Vec<&Link> = links.iter().filter(|link| link.master == Some(bridge.index)).collect();
    // Held to the end of the function: no Forebay starts meanwhile.
    let _claims = ports.iter().map(|port| Claim::of(&port.name, port.index)).collect::<Result<Vec<_>, _>>()?;
    netlink.delete(bridge.index).map_err(failed("delete"))?;
    Ok(Teardown { bridge: name.into(), released: ports.iter().map(|port| port.name.clone()).collect() })
}
