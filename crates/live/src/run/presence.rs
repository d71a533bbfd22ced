//! Detects the end of an interface.
//!
//! Nothing else does if no frame is sent to it: a packet socket reports the deletion of its interface once, as it
//! reports an interface that went down, and then stays silent.

use std::io;

use crate::sys::netlink::Netlink;

/// The interfaces in use, and a connection to the network namespace where they were found.
pub(super) struct Presence {
    netlink: Netlink,
    /// Names at the start, and indexes.
    interfaces: [(String, u32); 2],
}

impl Presence {
    /// Opens the connection, for which the process needs a system call that it gives up later.
    pub(super) fn open(interfaces: [(String, u32); 2]) -> io::Result<Self> {
        Ok(Self { netlink: Netlink::open()?, interfaces })
    }

    /// The message about the first interface that is gone. Another interface with the same name has another index.
    pub(super) fn gone(&mut self) -> Option<String> {
        let Self { netlink, interfaces } = self;
        // An error is no proof that an interface is gone. The next call asks again.
        let (name, _) = interfaces.iter().find(|(_, index)| matches!(netlink.link(*index), Ok(None)))?;
        Some(format!(
            "the interface `{name}` was deleted or moved to another network namespace: add it again, then start again"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_no_interface_has_is_reported_with_its_name() {
        let present = ("lo".to_owned(), 1);
        let mut both = Presence::open([present.clone(), ("renamed".to_owned(), 1)]).unwrap();
        assert_eq!(both.gone(), None, "the index counts, not the name");
        // Some interface `lo` exists, but not with this index.
        let mut one = Presence::open([present, ("lo".to_owned(), u32::MAX >> 1)]).unwrap();
        assert!(one.gone().unwrap().starts_with("the interface `lo` was deleted or moved"));
    }
}
