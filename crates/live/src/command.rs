//! Commands to a running direction, and its answers.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use forebay_qdisc::{Discipline, Rate, Span};

use crate::io::Receive;
use crate::packet::LivePacket;
use crate::port::Tap;
use crate::shadow::Shadow;
use crate::snapshot::{PortSnapshot, RunningQueue};

/// A discipline that was built, and what it is.
pub struct BuiltQueue {
    /// Its configuration.
    pub running: RunningQueue,
    /// Itself.
    pub discipline: Box<dyn Discipline<LivePacket>>,
    /// Packets that it may hold.
    pub most_packets: u64,
}

/// A change of a port. `None` leaves a value unchanged.
#[derive(Default)]
pub struct Change {
    /// Rate of the line.
    pub rate: Option<Rate>,
    /// Framing counted in addition to each frame.
    pub overhead_bytes: Option<u32>,
    /// Time that is caught up after a stall.
    pub burst: Option<Span>,
    /// Another discipline, or the same one with other parameters.
    pub queue: Option<BuiltQueue>,
    /// A second discipline; `Some(None)` removes it.
    pub shadow: Option<Option<(RunningQueue, Shadow)>>,
}

/// The request.
pub enum Command {
    /// Report the state.
    Snapshot,
    /// Change the queue. All changes take effect between two packets, or none does.
    Change(Box<Change>),
    /// Pass packets around the queue, or not.
    Bypass(bool),
    /// Report events to this tap.
    Tap(Box<dyn Tap>),
    /// Take nothing more in, release the interface by which frames come, send what is queued, and end.
    Drain,
}

/// Its answer.
pub enum Answer {
    Done,
    /// Itself.
    Snapshot(Box<PortSnapshot>),
    /// The reason why the command was refused.
    Refused(String),
    /// The half of an interface that it has let go of. To close it takes the kernel tens of milliseconds.
    LetGo(Box<dyn Receive>),
}

/// A command, and where its answer goes.
pub struct Request {
    /// The request.
    pub command: Command,
    pub answer: Sender<Answer>,
}

/// A direction from outside of its thread.
pub struct Commands {
    requests: Sender<Request>,
    waker: UnixStream,
}

/// The end of a [`Commands`] in the thread of the direction.
pub struct CommandsIn {
    /// The request.
    pub requests: Receiver<Request>,
    /// Becomes readable with each request.
    pub waker: UnixStream,
}

/// The time limit of an answer: a direction reads commands after each batch of packets.
const PATIENCE: Duration = Duration::from_secs(2);

/// Creates both ends.
///
/// # Errors
/// If the system has no socket left.
pub fn commands() -> io::Result<(Commands, CommandsIn)> {
    let (waker, woken) = UnixStream::pair()?;
    waker.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    let (requests, asked) = mpsc::channel();
    Ok((Commands { requests, waker }, CommandsIn { requests: asked, waker: woken }))
}

impl Commands {
    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// If the direction has ended or does not answer.
    pub fn ask(&self, command: Command) -> Result<Answer, String> {
        let (answer, answered) = mpsc::channel();
        let ended = || "this direction has ended".to_owned();
        self.requests.send(Request { command, answer }).map_err(|_| ended())?;
        // A full pipe wakes as well.
        let _ = (&self.waker).write(&[1]);
        match answered.recv_timeout(PATIENCE) {
            Ok(answer) => Ok(answer),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(ended()),
            Err(mpsc::RecvTimeoutError::Timeout) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }

    /// A second one.
    ///
    /// # Errors
    /// If the system has no socket left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { requests: self.requests.clone(), waker: self.waker.try_clone()? })
    }
}
