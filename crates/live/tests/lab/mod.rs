//! Two network namespaces with two pairs of interfaces between them: isolated traffic.
//!
//! ```text
//! ends:   a0           b0        what sends and what counts
//!         |            |
//! middle: a1           b1        what is tested forwards between these
//! ```
#![allow(dead_code, reason = "each of the programs that share this uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use forebay_live::io::{Halves, Interface, OpenError, ReceivedFrame, af_packet};
use forebay_live::sys::namespace;

/// Ethernet's number for experiments: nothing else in a namespace sends it.
pub const EXPERIMENT: [u8; 2] = [0x88, 0xb5];

/// The namespaces; deleted when dropped.
pub struct Lab {
    pub ends: String,
    pub middle: String,
}

impl Lab {
    /// New namespaces, with pairs of interfaces of that MTU; nothing, and a line printed, where that is not allowed.
    pub fn new(mtu: u32) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let suffix = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let lab = Self { ends: format!("fb-ends-{suffix}"), middle: format!("fb-middle-{suffix}") };
        if let Err(reason) = lab.build(mtu) {
            println!("skipped: no network namespaces here: {reason}");
            return None;
        }
        Some(lab)
    }

    fn build(&self, mtu: u32) -> Result<(), String> {
        for name in [&self.ends, &self.middle] {
            ip(&["netns", "add", name])?;
            // Without it every interface sends router solicitations of its own.
            let quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6";
            run(&["netns", "exec", name, "sh", "-c", quiet]).ok();
        }
        for pair in ["a", "b"] {
            let (end, middle, mtu) = (format!("{pair}0"), format!("{pair}1"), mtu.to_string());
            let add =
                ["-n", &self.ends, "link", "add", "name", &end, "mtu", &mtu, "type", "veth", "peer", "name", &middle];
            ip(&[&add[..], &["mtu", &mtu, "netns", &self.middle]].concat())?;
            ip(&["-n", &self.ends, "link", "set", &end, "up"])?;
            ip(&["-n", &self.middle, "link", "set", &middle, "up"])?;
        }
        Ok(())
    }

    /// Packet sockets at the far end called `name`.
    pub fn end(&self, name: &str) -> Halves {
        open_packet(&self.ends, name)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for name in [&self.ends, &self.middle] {
            ip(&["netns", "delete", name]).ok();
        }
    }
}

/// Packet sockets with a large ring on the interface `name` of `namespace`.
pub fn open_packet(namespace: &str, name: &str) -> Halves {
    let options = af_packet::Options { ring_frames: 1 << 15, ..af_packet::Options::default() };
    within(namespace, || af_packet::open(&Interface::find(name)?, options)).expect("the interface was just made")
}

/// The result of `work` in a thread that is in `namespace`.
pub fn within<T: Send>(namespace: &str, work: impl FnOnce() -> T + Send) -> T {
    let path = path(namespace);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            namespace::enter(&path).expect("the namespace was just made");
            work()
        });
        thread.join().expect("the work of the test")
    })
}

/// Opens the interface `name` of `namespace`.
pub fn open<T: Send>(
    namespace: &str,
    name: &str,
    how: impl FnOnce(&Interface) -> Result<T, OpenError> + Send,
) -> Result<T, OpenError> {
    within(namespace, || how(&Interface::find(name)?))
}

/// The path of the namespace.
pub fn path(namespace: &str) -> PathBuf {
    Path::new("/run/netns").join(namespace)
}

/// Runs `ip` with these arguments.
pub fn ip(arguments: &[&str]) -> Result<(), String> {
    run(arguments)
}

fn run(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}

/// A frame of `bytes` bytes with the number `number`; with a VLAN tag in it where one is given.
pub fn frame(number: u32, bytes: usize, vlan: Option<[u8; 4]>) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2];
    frame.extend(vlan.into_iter().flatten());
    frame.extend(EXPERIMENT);
    frame.extend(number.to_be_bytes());
    let filling = (frame.len()..bytes).map(|at| (at as u32 ^ number) as u8);
    frame.extend(filling.collect::<Vec<u8>>());
    frame
}

/// The frame as it was on the wire, its tag back in its place.
pub fn whole(frame: &ReceivedFrame<'_>) -> Vec<u8> {
    let mut bytes = frame.bytes.to_vec();
    if let Some(tag) = frame.vlan {
        bytes.splice(12..12, tag.bytes());
    }
    bytes
}

/// Number `column` behind the interface's name in the table of this thread's network namespace: 1 received, 9 sent.
pub fn counter(name: &str, column: usize) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.split_ascii_whitespace().nth(column)?.parse().ok()).unwrap_or(0)
}
