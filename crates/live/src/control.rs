//! The control socket: one thread that answers JSON lines on a UNIX socket.
//!
//! A request is an object on a line of at most 64 KB; its reply is a line, too: `{"ok":true,"result":…}` or
//! `{"ok":false,"error":"…"}`. `request.rs` has the requests, `changes.rs` what changes and comes back unless it is
//! confirmed. After the reply to `capture` or `record` the connection carries the bytes of a file, until either side
//! ends it (`stream.rs`): the client writes the file, with its rights and not with ours. To end one, a client closes
//! its half of the connection and reads the rest.
//!
//! Nothing here needs a privilege once the socket is [bound](Control::bind).

mod changes;
mod client_buffer;
mod request;
mod stream;

use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, mem};

use forebay_qdisc::{Rate, Span, Time};
use serde_json::{Value, json};

use crate::command::{Answer, Command, Commands};
use crate::snapshot::PortSnapshot;
use crate::sys::unix_listener;
use crate::taps;

pub use changes::{Configurer, Plan, PlannedChange, Undo};
pub use client_buffer::MOST_LINE_BYTES;
pub use request::{ControlRequest, Direction, parse_request};
pub use stream::{StreamSnapshot, Streams};

use changes::{Changes, Directions};
use client_buffer::{Client, Line};
use stream::StreamClient;

/// Permissions of the socket: who can connect can change the queues.
const MODE: u32 = 0o660;
/// Connections at a time.
const MOST_CLIENTS: usize = 8;
/// A client that asks for nothing is sent away after this.
const IDLE: Span = Span::from_seconds(60);
/// The interval of the next attempt with a client that has not taken its reply.
const LOOK_AGAIN: Span = Span::from_milliseconds(20);

/// The time, and a way to wait.
pub trait Clock: Send + Sync {
    /// Now, by the clock by which packets are stamped.
    fn now(&self) -> Time;

    /// Waits until one of these is readable, or until then. May return early.
    fn wait(&self, readable: &[BorrowedFd<'_>], until: Option<Time>);

    /// The time of day at [`Time::ZERO`], in nanoseconds since the Unix epoch.
    fn unix_ns_at_zero(&self) -> u64;
}

/// The parts of the control side.
pub struct ControlParts {
    /// Path of the socket.
    pub socket: PathBuf,
    /// The directions that run.
    pub directions: Vec<(Direction, Commands)>,
    /// The keeper of the configuration.
    pub configurer: Box<dyn Configurer>,
    /// The answer of `show` in addition to the directions: interfaces, method, wait, and grants of the system. Asked
    /// each time.
    pub system: Box<dyn FnMut() -> Value + Send>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Reports changes and automatic undoing.
    pub log: Box<dyn FnMut(&str) + Send>,
}

/// The control socket.
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    woken: UnixStream,
    asked: Arc<Asked>,
    clients: Vec<Client>,
    server: Server,
}

#[derive(Default)]
struct Asked {
    reload: AtomicBool,
    stop: AtomicBool,
    streams: Streams,
}

/// The control socket from another thread.
#[derive(Clone)]
pub struct ControlHandle {
    asked: Arc<Asked>,
    waker: Arc<UnixStream>,
}

impl ControlHandle {
    /// Reads the configuration again, as `reload` does.
    pub fn reload(&self) {
        self.asked.reload.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Ends [`Control::run`].
    pub fn stop(&self) {
        self.asked.stop.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// The requested captures and records.
    #[must_use]
    pub fn streams(&self) -> Vec<StreamSnapshot> {
        self.asked.streams.snapshot()
    }

    fn wake(&self) {
        // A full pipe wakes as well.
        let _ = (&*self.waker).write(&[1]);
    }
}

impl Control {
    /// Opens the socket, for its owner and group. A stale socket is replaced.
    ///
    /// # Errors
    /// Another Forebay answers there, the path is no socket, or the system refuses; with the remedy.
    pub fn bind(parts: ControlParts) -> Result<(Self, ControlHandle), String> {
        let ControlParts { socket: path, directions, configurer, system, clock, log } = parts;
        let refused = |error: io::Error| format!("control socket {}: {error}", path.display());
        make_way(&path)?;
        let listener = unix_listener::listen(&path, MODE).map_err(refused)?;
        // Adds the bits that the umask took away.
        fs::set_permissions(&path, fs::Permissions::from_mode(MODE)).map_err(refused)?;
        let (waker, woken) = UnixStream::pair().map_err(refused)?;
        waker.set_nonblocking(true).map_err(refused)?;
        woken.set_nonblocking(true).map_err(refused)?;
        let asked = Arc::new(Asked::default());
        let handle = ControlHandle { asked: Arc::clone(&asked), waker: Arc::new(waker) };
        let server = Server {
            directions: Directions(directions),
            changes: Changes::new(configurer),
            system,
            clock,
            log,
            asked: Arc::clone(&asked),
        };
        Ok((Self { listener, path, woken, asked, clients: Vec::new(), server }, handle))
    }

    /// Answers until [`ControlHandle::stop`]. Removes the socket if it still may.
    pub fn run(mut self) {
        while !self.asked.stop.load(Ordering::Relaxed) {
            let now = self.server.clock.now();
            self.server.keep_time(now);
            if self.asked.reload.swap(false, Ordering::Relaxed) {
                self.server.reload_by_signal(now);
            }
            self.accept(now);
            self.serve(now);
            self.wait();
        }
        self.asked.streams.end();
        // The socket is closed. Without permission to remove the file, the next start removes it.
        let _ = fs::remove_file(&self.path);
    }

    fn accept(&mut self, now: Time) {
        // The others wait for the next turn, so that no client can hold this thread by connecting without end.
        for _ in 0..MOST_CLIENTS {
            let Ok((socket, _)) = self.listener.accept() else { return };
            if socket.set_nonblocking(true).is_err() {
                continue;
            }
            let mut client = Client::new(socket, now);
            if self.clients.len() >= MOST_CLIENTS {
                client.reply(&refusal(&format!("{MOST_CLIENTS} clients are connected already; end one of them")));
                client.flush();
                continue;
            }
            self.clients.push(client);
        }
    }

    fn serve(&mut self, now: Time) {
        for client in mem::take(&mut self.clients) {
            if now.since(client.heard_at) < IDLE
                && let Some(client) = self.server.serve(client, now)
            {
                self.clients.push(client);
            }
        }
    }

    fn wait(&mut self) {
        let mut woken = [0; 64];
        let _ = io::Read::read(&mut self.woken, &mut woken);
        let now = self.server.clock.now();
        let blocked = self.clients.iter().any(|client| !client.may_ask());
        let idle = self.clients.iter().map(|client| client.heard_at.saturating_add(IDLE)).min();
        let asked = self.clients.iter().any(|client| client.may_ask() && client.has_line());
        let again = blocked.then(|| now.saturating_add(LOOK_AGAIN)).into_iter().chain(asked.then_some(now));
        let until = idle.into_iter().chain(again).chain(self.server.changes.next()).min();
        let clients = self.clients.iter().filter(|client| client.may_ask()).map(|client| client.socket.as_fd());
        let readable: Vec<_> = [self.listener.as_fd(), self.woken.as_fd()].into_iter().chain(clients).collect();
        self.server.clock.wait(&readable, until);
    }
}

/// Removes a stale socket.
fn make_way(path: &Path) -> Result<(), String> {
    let name = path.display();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("control socket {name}: {error}")),
        Ok(what) if !what.file_type().is_socket() => {
            return Err(format!(
                "control socket {name}: the path exists and is not a socket; remove it, or choose another path"
            ));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Ok(_) => {
            Err(format!("control socket {name}: another forebay-live is listening; stop it, or choose another path"))
        }
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path)
            .map_err(|error| format!("control socket {name}: cannot remove the stale socket: {error}")),
        Err(error) => Err(format!("control socket {name}: {error}")),
    }
}

/// The part that answers.
struct Server {
    directions: Directions,
    changes: Changes,
    system: Box<dyn FnMut() -> Value + Send>,
    clock: Arc<dyn Clock>,
    log: Box<dyn FnMut(&str) + Send>,
    asked: Arc<Asked>,
}

/// The result of a request.
enum Reply {
    Line(Value),
    Stream(AskedStream),
}

struct AskedStream {
    kind: &'static str,
    directions: Vec<Direction>,
    duration: Option<Span>,
}

fn refusal(error: &str) -> Value {
    json!({ "ok": false, "error": error })
}

impl Server {
    /// Answers one request of the client: then the others have their turn. Returns it if it stays.
    fn serve(&mut self, mut client: Client, now: Time) -> Option<Client> {
        if !client.flush() {
            return None;
        }
        if !client.may_ask() {
            return Some(client);
        }
        match client.line() {
            Line::None => return Some(client),
            Line::Ended => return None,
            Line::TooLong => {
                client.reply(&refusal(&format!("a line is longer than {MOST_LINE_BYTES} bytes")));
                client.flush();
                return None;
            }
            Line::Is(line) => {
                client.heard_at = now;
                match self.answer(&line, now) {
                    Reply::Line(reply) => client.reply(&reply),
                    Reply::Stream(stream) => match self.stream(&client, &stream, now) {
                        Ok(()) => return None,
                        Err(error) => client.reply(&refusal(&error)),
                    },
                }
            }
        }
        client.flush().then_some(client)
    }

    fn answer(&mut self, line: &str, now: Time) -> Reply {
        let result = match parse_request(line) {
            Err(error) => Err(error),
            Ok(ControlRequest::Capture { direction, duration }) => {
                let directions = self.directions.asked(direction);
                return Reply::Stream(AskedStream { kind: "capture", directions, duration });
            }
            Ok(ControlRequest::Record { direction, duration }) => match *self.directions.asked(direction) {
                [direction] => {
                    return Reply::Stream(AskedStream { kind: "record", directions: vec![direction], duration });
                }
                _ => Err("a record needs one direction: add \"direction\":\"outbound\" or \"inbound\"".to_owned()),
            },
            Ok(request) => self.obey(request, now),
        };
        Reply::Line(match result {
            Ok(result) => json!({ "ok": true, "result": result }),
            Err(error) => refusal(&error),
        })
    }

    fn obey(&mut self, request: ControlRequest, now: Time) -> Result<Value, String> {
        let Self { directions, changes, .. } = self;
        match request {
            ControlRequest::Show => self.show(now),
            ControlRequest::Stats => {
                let streams = self.asked.streams.snapshot();
                Ok(json!({ "directions": self.snapshots()?, "streams": streams }))
            }
            ControlRequest::Set { direction, settings, confirm } => {
                let result = changes.apply(|it| it.set(direction, &settings), confirm, directions, now)?;
                let settings: Vec<_> = settings.iter().map(|(key, value)| format!("{key} = {value:?}")).collect();
                (self.log)(&format!("{}: set {}", direction.name(), settings.join(", ")));
                Ok(result)
            }
            ControlRequest::Reload { confirm } => {
                let result = changes.apply(|it| it.reload(), confirm, directions, now)?;
                (self.log)(&format!("configuration read again; changed: {}", result["changed"]));
                Ok(result)
            }
            ControlRequest::Confirm => changes.confirm(),
            ControlRequest::Rollback => {
                let result = changes.roll_back(directions, now)?;
                (self.log)("the last change was undone by `rollback`");
                Ok(result)
            }
            ControlRequest::Bypass { on, direction } => {
                let asked = directions.asked(direction);
                asked.iter().try_for_each(|&it| directions.ask(it, Command::Bypass(on)).map(|_| ()))?;
                (self.log)(&format!("bypass {}", if on { "on" } else { "off" }));
                Ok(json!({ "bypass": on, "directions": asked }))
            }
            ControlRequest::Ping => Ok(json!("pong")),
            // Answered by a stream, before.
            ControlRequest::Capture { .. } | ControlRequest::Record { .. } => Ok(Value::Null),
        }
    }

    fn snapshots(&self) -> Result<Vec<PortSnapshot>, String> {
        let mut snapshots = Vec::new();
        for direction in self.directions.asked(None) {
            if let Answer::Snapshot(snapshot) = self.directions.ask(direction, Command::Snapshot)? {
                snapshots.push(*snapshot);
            }
        }
        Ok(snapshots)
    }

    /// The running configuration, as reported by the directions.
    fn show(&mut self, now: Time) -> Result<Value, String> {
        let of = |snapshot: PortSnapshot| {
            json!({
                "direction": snapshot.direction,
                "from": snapshot.from,
                "to": snapshot.to,
                "rate": rate_text(snapshot.rate_bps),
                "overhead": format!("{} B", snapshot.overhead_bytes),
                "burst": Span::from_seconds_f64(snapshot.burst_s).to_string(),
                "queue": snapshot.queue,
                "shadow": snapshot.shadow.map(|shadow| shadow.queue),
                "bypass": snapshot.bypass,
                "buffers": snapshot.buffers,
            })
        };
        let directions: Vec<_> = self.snapshots()?.into_iter().map(of).collect();
        let undone_in_s = self.changes.next().map(|until| until.since(now).seconds());
        Ok(json!({ "system": (self.system)(), "directions": directions, "undone_unless_confirmed_in_s": undone_in_s }))
    }

    /// Gives the connection to a stream.
    fn stream(&mut self, client: &Client, asked: &AskedStream, now: Time) -> Result<(), String> {
        let AskedStream { kind, directions, duration } = asked;
        if !self.asked.streams.has_room() {
            return Err(format!("{} captures and records run already; end one of them", stream::MOST_STREAMS));
        }
        let failed = |error: io::Error| format!("{kind}: {error}");
        let names: Vec<_> = directions.iter().map(|direction| direction.name()).collect();
        let unix_ns = self.clock.unix_ns_at_zero();
        let mut tapped = if *kind == "capture" { taps::capture(&names, unix_ns) } else { taps::record(now, unix_ns) }
            .map_err(failed)?;
        let socket = client.socket.try_clone().map_err(failed)?;
        let over = Arc::clone(&tapped.over);
        for (&direction, tap) in directions.iter().zip(mem::take(&mut tapped.taps)) {
            if let Err(error) = self.directions.ask(direction, Command::Tap(tap)) {
                over.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        let format = if *kind == "capture" { "pcapng" } else { "fbr" };
        let result = json!({ "format": format, "directions": names });
        let reply = format!("{}\n", json!({ "ok": true, "result": result })).into_bytes();
        let until = duration.map(|span| now.saturating_add(span));
        let client = StreamClient { socket, reply, until, clock: Arc::clone(&self.clock) };
        self.asked.streams.start(kind, names, client, tapped).map_err(|error| {
            over.store(true, Ordering::Relaxed);
            failed(error)
        })
    }

    /// Undoes a change that was not confirmed in time.
    fn keep_time(&mut self, now: Time) {
        if self.changes.next().is_some_and(|until| now >= until) {
            match self.changes.roll_back(&self.directions, now) {
                Ok(_) => (self.log)("the last change was not confirmed in time and was undone"),
                Err(error) => (self.log)(&format!("the last change was not confirmed in time: {error}")),
            }
        }
    }

    fn reload_by_signal(&mut self, now: Time) {
        if let Err(error) = self.obey(ControlRequest::Reload { confirm: None }, now) {
            (self.log)(&format!("the configuration is not read again: {error}"));
        }
    }
}

fn rate_text(bits_per_second: u64) -> String {
    Rate::new(bits_per_second).map_or_else(|| "0 bps".to_owned(), |rate| rate.to_string())
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
