//! Setup and restoration.
//!
//! | setup | put back |
//! |---|---|
//! | [offloads](Offloads) off at both interfaces | at any end of the process; at kill -9 by a restorer only |
//! | the [bridge](Bridge) that takes over | when set-up fails; else it stays, until [`teardown`] |
//! | the [entrances](Entrances) of both interfaces shut to the bridge | by the kernel, at any end of the process |
//!
//! The bridge stays at a clean end: a daemon that is restarted, or fails to start, must not stop the traffic. A user
//! who wants the two interfaces apart again runs `forebay-live teardown`.
//!
//! The order at a start: [`crate::checks::check`], [`Offloads::turn_off`], sockets and rings, [`Entrances::shut`] (for
//! AF_XDP its own program is what shuts them), [`Bridge::ensure`], [`Reader::open`], [`Bridge::keep`],
//! [`crate::privileges::drop`], threads. Frames that arrive after an entrance was shut wait in the ring for its thread.
//!
//! At the end, of each direction in turn: it takes in what has come, its entrance is opened, and its socket is closed,
//! which takes the kernel tens of milliseconds. Queued frames are sent meanwhile.

mod bridge;
mod offloads;
mod read_back;

use std::io;
use std::process::ExitStatus;

use thiserror::Error;

pub use bridge::{Bridge, Teardown, teardown};
pub use offloads::{Offloads, run_restorer};
pub use read_back::{InForce, PortInForce, Reader};

use crate::checks::{CheckError, Checked, Port};
use crate::io::Receive;
use crate::privileges::PrivilegeError;
use crate::sys::tcx::TcxDrop;

/// Something could not be set up. The previous state is restored.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the message describes each field")]
pub enum SetupError {
    #[error("cannot {what} of `{interface}`: {source}")]
    Offloads { interface: String, what: &'static str, source: io::Error },
    #[error("`{interface}` does not allow turning off `{feature}`, which merges packets: use another interface")]
    StillOn { interface: String, feature: String },
    #[error(
        "`{interface}` was deleted or moved to another network namespace, so its offloads were not restored: check a \
         moved interface with `ethtool -k`"
    )]
    Gone { interface: String },
    #[error("cannot start the process that restores the offloads: {source}")]
    Restorer { source: io::Error },
    #[error("the process that restores the offloads did not start: {said}")]
    RestorerNotReady { said: String },
    #[error("not all offloads were restored: the process that restores them ended with {status}")]
    NotRestored { status: ExitStatus },
    #[error("cannot {what} the bridge `{bridge}`: {source}")]
    Bridge { what: &'static str, bridge: String, source: io::Error },
    #[error("there is no fail-open bridge `{bridge}`: `ip -d link show type bridge` lists the bridges")]
    NoBridge { bridge: String },
    #[error("`{bridge}` was not created by Forebay and was not removed: if it is yours, run `ip link del {bridge}`")]
    ForeignBridge { bridge: String },
    #[error(
        "cannot hide the frames of `{interface}` from the bridge with a BPF program: {source}; this requires Linux \
         6.6,          CAP_BPF and CAP_NET_ADMIN, or set `io.fail_open = false`"
    )]
    Entrance { interface: String, source: io::Error },
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    Privileges(#[from] PrivilegeError),
}

/// More than a ring holds.
const MOST_DISCARDED: usize = 1 << 16;

/// The entrances of both interfaces are shut to the bridge while this is held; packet sockets go on seeing every frame.
#[derive(Debug)]
pub struct Entrances {
    inside: Option<TcxDrop>,
    outside: Option<TcxDrop>,
}

fn shut(port: &Port, ring: &mut dyn Receive) -> Result<TcxDrop, SetupError> {
    let at_port = |source| SetupError::Entrance { interface: port.name.clone(), source };
    let shut = TcxDrop::attach(port.index).map_err(at_port)?;
    // An interface that has just gone down is waited for later.
    let _ = ring.receive(MOST_DISCARDED, &mut |_| {});
    Ok(shut)
}

impl Entrances {
    /// Shuts the inside's and then the outside's. `rings`, in this order, throw away what they hold then: it has gone
    /// over the bridge of an earlier start as well.
    ///
    /// # Errors
    /// The kernel is older than 6.6, or a capability is missing.
    pub fn shut(checked: &Checked, rings: [&mut dyn Receive; 2]) -> Result<Self, SetupError> {
        let [inside, outside] = rings;
        Ok(Self { inside: Some(shut(&checked.inside, inside)?), outside: Some(shut(&checked.outside, outside)?) })
    }

    /// Opens the inside's. The bridge has the frames from then on, and the kernel then takes some tens of milliseconds
    /// to let go of the program.
    pub fn open_inside(&mut self) {
        self.inside = None;
    }

    /// Opens the outside's, in the same way.
    pub fn open_outside(&mut self) {
        self.outside = None;
    }

    /// Whether both are shut according to the kernel.
    pub fn are_shut(&self, checked: &Checked) -> bool {
        [&self.inside, &self.outside]
            .into_iter()
            .zip(checked.ports())
            .all(|(shut, port)| shut.as_ref().and_then(TcxDrop::attached_to) == Some(port.index))
    }
}
