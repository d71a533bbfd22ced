//! Offloads off while we run, and exactly as they were afterwards.
//!
//! An interface with offloads hands over several packets as one, with checksums still to be filled in: a queue would
//! see one packet for forty. After set-up the process has no privilege left with which to turn them on again, so
//! another one, which is started before and can do nothing else, does it when this one has ended.

use std::io::{BufRead, BufReader, Write};
use std::mem;
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use super::SetupError;
use crate::checks::{Checked, Method};
use crate::privileges::{self, CapabilitySet, Otherwise};
use crate::sys::ethtool::{Ethtool, Feature};
use crate::sys::netlink::Netlink;
use crate::sys::signals::Signals;

/// The restorer's message when it is ready.
const READY: &str = "ready\n";

/// Features that put several packets together at the entrance: with one of these on, Forebay refuses to run.
fn merges(feature: &str) -> bool {
    feature.starts_with("rx-gro") || feature.starts_with("rx-lro") || feature == "rx-udp-gro-forwarding"
}

/// Features that are turned off while we run.
pub(super) fn goes_off(feature: &str, method: Method) -> bool {
    // An XDP program never sees a tag that was taken out of its frame; a packet socket receives it separately.
    let takes_tags = matches!(feature, "rx-vlan-hw-parse" | "rx-vlan-stag-hw-parse");
    merges(feature)
        || feature.starts_with("tx-checksum-")
        || feature.starts_with("tx-gso-")
        || feature.starts_with("tx-") && feature.ends_with("-segmentation")
        || method == Method::AfXdp && takes_tags
}

/// The features of an interface that were changed, with what they were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Change {
    /// Its name at the start, for messages.
    interface: String,
    /// Its number, by which it is found again under another name.
    index: u32,
    before: Vec<(u32, bool)>,
}

impl Change {
    /// The changes to an interface.
    fn of(interface: &str, index: u32, features: &[Feature], method: Method) -> Self {
        let changed = features.iter().filter(|feature| {
            feature.changeable && (feature.requested || feature.active) && goes_off(&feature.name, method)
        });
        let before = changed.map(|feature| (feature.bit, feature.requested)).collect();
        Self { interface: interface.into(), index, before }
    }

    fn restore(&self, kernel: &mut Kernel) -> Result<(), SetupError> {
        if self.before.is_empty() {
            return Ok(());
        }
        let failed = failed("restore the offloads", &self.interface);
        let Some(link) = kernel.netlink.link(self.index).map_err(&failed)? else {
            return Err(SetupError::Gone { interface: self.interface.clone() });
        };
        kernel.ethtool.set_features(&link.name, &self.before).map_err(failed)
    }
}

/// The sockets that restoring needs, opened before privileges are dropped.
#[derive(Debug)]
struct Kernel {
    ethtool: Ethtool,
    netlink: Netlink,
}

impl Kernel {
    fn open() -> std::io::Result<Self> {
        Ok(Self { ethtool: Ethtool::open()?, netlink: Netlink::open()? })
    }

    /// Restores every interface, even if the first one fails.
    fn restore(&mut self, changes: &[Change]) -> Result<(), SetupError> {
        let results: Vec<_> = changes.iter().map(|change| change.restore(self)).collect();
        results.into_iter().collect()
    }
}

fn failed(what: &'static str, interface: &str) -> impl Fn(std::io::Error) -> SetupError {
    move |source| SetupError::Offloads { interface: interface.into(), what, source }
}

/// The process that turns the offloads on again.
#[derive(Debug)]
enum Restorer {
    /// This process, which keeps its privileges.
    Here(Kernel),
    /// Another one, when its input ends.
    Other(Child),
}

/// Offloads are off while this is held.
#[derive(Debug)]
pub struct Offloads {
    changes: Vec<Change>,
    restorer: Option<Restorer>,
}

impl Offloads {
    /// Turns them off at both interfaces.
    ///
    /// With a `restorer`, a command that calls [`run_restorer`], they are restored at any end of this process. Without
    /// one they are when this is dropped, at a panic too, but neither at kill -9 nor after privileges were dropped.
    ///
    /// # Errors
    /// The process lacks `CAP_NET_ADMIN`, or an interface does not turn off what puts packets together.
    pub fn turn_off(checked: &Checked, restorer: Option<Command>) -> Result<Self, SetupError> {
        let ethtool = Ethtool::open().map_err(failed("ask for the offloads", &checked.inside.name))?;
        let mut changes = Vec::new();
        for port in checked.ports() {
            let features = ethtool.features(&port.name).map_err(failed("read the offloads", &port.name))?;
            changes.push(Change::of(&port.name, port.index, &features, checked.method));
        }
        // Before anything is changed: from here on it is restored in any case.
        let restorer = match restorer {
            Some(command) => Restorer::Other(start(command, &changes)?),
            None => Restorer::Here(Kernel::open().map_err(|source| SetupError::Restorer { source })?),
        };
        let offloads = Self { changes, restorer: Some(restorer) };
        for change in &offloads.changes {
            let off: Vec<_> = change.before.iter().map(|(bit, _)| (*bit, false)).collect();
            let set = ethtool.set_features(&change.interface, &off);
            set.map_err(failed("turn off the offloads", &change.interface))?;
            let now = ethtool.features(&change.interface).map_err(failed("read the offloads", &change.interface))?;
            if let Some(on) = now.iter().find(|feature| feature.active && merges(&feature.name)) {
                return Err(SetupError::StillOn { interface: change.interface.clone(), feature: on.name.clone() });
            }
        }
        Ok(offloads)
    }

    /// Restores them now, and says how that went.
    ///
    /// # Errors
    /// An interface is gone, or privileges were dropped and there is no restorer.
    pub fn restore(mut self) -> Result<(), SetupError> {
        self.restore_now()
    }

    fn restore_now(&mut self) -> Result<(), SetupError> {
        match self.restorer.take() {
            None => Ok(()),
            Some(Restorer::Here(mut kernel)) => kernel.restore(&self.changes),
            Some(Restorer::Other(child)) => finish(child),
        }
    }
}

impl Drop for Offloads {
    fn drop(&mut self) {
        // An error has no recipient here.
        let _ = self.restore_now();
    }
}

/// Starts the other process and waits until it can do its work.
fn start(mut command: Command, changes: &[Change]) -> Result<Child, SetupError> {
    let failed = |source| SetupError::Restorer { source };
    let mut plan = serde_json::to_string(changes).map_err(|error| failed(error.into()))?;
    plan.push('\n');
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    if let Some(input) = &mut child.stdin {
        // One that has ended already is seen below.
        let _ = input.write_all(plan.as_bytes());
    }
    let mut said = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut said).map_err(failed)?;
    }
    if said == READY {
        return Ok(child);
    }
    // It has changed nothing, and has nothing to restore.
    mem::drop(child.stdin.take());
    let status = child.wait().map_err(failed)?;
    Err(SetupError::RestorerNotReady { said: format!("{}{status}", said.trim_end()) })
}

/// Has the other process do its work, and waits for its end.
fn finish(mut child: Child) -> Result<(), SetupError> {
    mem::drop(child.stdin.take());
    let status = child.wait().map_err(|source| SetupError::Restorer { source })?;
    if status.success() { Ok(()) } else { Err(SetupError::NotRestored { status }) }
}

/// The restorer's work. It reads from `input` the state to restore, drops every privilege except `CAP_NET_ADMIN`, and
/// signals on `output` that it is ready. It restores when `input` ends, as it does when the process at its other end
/// dies. Signals that end a daemon do not end it: it must outlive the one it serves.
///
/// # Errors
/// It cannot give up or keep what it should, or an interface is gone. Both interfaces are tried.
pub fn run_restorer(input: &mut dyn BufRead, output: &mut dyn Write, otherwise: Otherwise) -> Result<(), SetupError> {
    let lost = |source| SetupError::Restorer { source };
    let mut plan = String::new();
    input.read_line(&mut plan).map_err(lost)?;
    let changes: Vec<Change> = serde_json::from_str(&plan).map_err(|error| lost(error.into()))?;
    let mut kernel = Kernel::open().map_err(lost)?;
    let _signals = Signals::block().map_err(lost)?;
    privileges::drop(CapabilitySet::NET_ADMIN, otherwise)?;
    output.write_all(READY.as_bytes()).and_then(|()| output.flush()).map_err(lost)?;
    // Nothing more is said to it: this waits for the end.
    input.read_to_end(&mut Vec::new()).map_err(lost)?;
    kernel.restore(&changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feature(bit: u32, name: &str, [changeable, requested, active]: [bool; 3]) -> Feature {
        Feature { bit, name: name.into(), changeable, requested, active }
    }

    #[test]
    fn only_what_is_on_and_can_be_changed_is_changed() {
        let features = [
            feature(0, "rx-gro", [true, true, true]),
            feature(1, "tx-tcp-segmentation", [true, true, false]),
            feature(2, "tx-checksum-ip-generic", [true, false, false]),
            feature(3, "tx-generic-segmentation", [false, true, true]),
            feature(4, "tx-scatter-gather", [true, true, true]),
            feature(5, "rx-vlan-hw-parse", [true, true, true]),
            feature(6, "rx-gro-hw", [true, false, true]),
        ];
        let change = Change::of("lan0", 4, &features, Method::AfPacket);
        assert_eq!(change.before, [(0, true), (1, true), (6, false)]);
        let change = Change::of("lan0", 4, &features, Method::AfXdp);
        assert_eq!(change.before, [(0, true), (1, true), (5, true), (6, false)]);
    }

    #[test]
    fn the_plan_is_what_was_written() {
        let changes = vec![Change { interface: "lan0".into(), index: 4, before: vec![(14, true), (15, false)] }];
        let text = serde_json::to_string(&changes).expect("it can be written");
        assert!(!text.contains('\n'));
        assert_eq!(serde_json::from_str::<Vec<Change>>(&text).expect("it can be read"), changes);
    }

    #[test]
    fn a_restorer_that_cannot_start_or_says_something_else_is_an_error() {
        let missing = start(Command::new("/no/such/program"), &[]).expect_err("it is not there");
        assert!(matches!(missing, SetupError::Restorer { .. }));
        let mut command = Command::new("echo");
        let other = start(mem::replace(&mut command, Command::new("true")), &[]).expect_err("not ready");
        assert!(matches!(other, SetupError::RestorerNotReady { .. }));
        start(command, &[]).expect_err("it says nothing");
    }

    #[test]
    fn a_plan_that_is_none_changes_nothing() {
        let mut output = Vec::new();
        let result = run_restorer(&mut &b"nonsense\n"[..], &mut output, Otherwise::Kill);
        assert!(result.is_err() && output.is_empty());
    }
}
