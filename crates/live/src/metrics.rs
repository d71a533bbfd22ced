//! What a scraper asks for: all counters in Prometheus' text format, over HTTP on a loopback address.
//!
//! HTTP is spoken as far as a scraper needs it: `GET` and `HEAD` of `/metrics` (and `/`), one request a connection,
//! with limits on what is read and how long that may take. There is no TLS and no login, and so no other address than
//! a loopback one: what is to be seen from elsewhere goes through an exporter's proxy.

mod exposition;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_qdisc::{Span, Time};

use crate::command::{Answer, Command, Commands};
use crate::control::Clock;
use crate::snapshot::PortSnapshot;

pub use exposition::render;

/// A request that is longer is refused.
const MOST_REQUEST_BYTES: usize = 8 << 10;
/// How long a request, and its answer, may take.
const PATIENCE: Span = Span::from_seconds(2);
/// How long one call of the kernel waits.
const ROUND: Duration = Duration::from_millis(100);

/// The server of metrics.
pub struct Metrics {
    listener: TcpListener,
    woken: UnixStream,
    stop: Arc<AtomicBool>,
    directions: Vec<Commands>,
    clock: Arc<dyn Clock>,
}

/// The server of metrics from another thread.
pub struct MetricsHandle {
    waker: UnixStream,
    stop: Arc<AtomicBool>,
    address: SocketAddr,
}

impl MetricsHandle {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends [`Metrics::run`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = (&self.waker).write(&[1]);
    }
}

impl Metrics {
    /// Listens.
    ///
    /// # Errors
    /// The address is no loopback address, or is taken; with the remedy.
    pub fn bind(
        address: SocketAddr,
        directions: Vec<Commands>,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, MetricsHandle), String> {
        if !address.ip().is_loopback() {
            return Err(format!(
                "metrics {address}: not a loopback address, and there is no login; write 127.0.0.1:{} or [::1]:{0}",
                address.port()
            ));
        }
        let refused = |error: io::Error| match error.kind() {
            ErrorKind::AddrInUse => format!("metrics {address}: another program listens there; choose another port"),
            _ => format!("metrics {address}: {error}"),
        };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let (waker, woken) = UnixStream::pair().map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let stop = Arc::new(AtomicBool::new(false));
        let handle = MetricsHandle { waker, stop: Arc::clone(&stop), address };
        Ok((Self { listener, woken, stop, directions, clock }, handle))
    }

    /// Answers, one scraper after the other, until [`MetricsHandle::stop`].
    pub fn run(self) {
        while !self.stop.load(Ordering::Relaxed) {
            match self.listener.accept() {
                // A scraper that goes away in between has its reasons.
                Ok((socket, _)) => drop(self.serve(&socket)),
                Err(_) => self.clock.wait(&[self.listener.as_fd(), self.woken.as_fd()], None),
            }
        }
    }

    fn serve(&self, socket: &TcpStream) -> io::Result<()> {
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(ROUND))?;
        socket.set_write_timeout(Some(ROUND))?;
        let until = self.clock.now().saturating_add(PATIENCE);
        let response = match self.request(socket, until)? {
            Some(request) => self.respond(&request),
            None => response("431 Request Header Fields Too Large", PLAIN, "the request is too long\n", true),
        };
        self.write(socket, response.as_bytes(), self.clock.now().saturating_add(PATIENCE))
    }

    /// The first line of a request, when all of it is there; `None` if it is too long.
    fn request(&self, mut socket: &TcpStream, until: Time) -> io::Result<Option<String>> {
        let mut request = Vec::new();
        let mut bytes = [0; 2048];
        loop {
            if request.windows(4).any(|end| end == b"\r\n\r\n") || request.windows(2).any(|end| end == b"\n\n") {
                let first = request.split(|&byte| byte == b'\n').next().unwrap_or_default();
                return Ok(Some(String::from_utf8_lossy(first).trim().to_owned()));
            }
            if request.len() > MOST_REQUEST_BYTES {
                return Ok(None);
            }
            if self.clock.now() >= until {
                return Err(ErrorKind::TimedOut.into());
            }
            match socket.read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => request.extend_from_slice(&bytes[..count]),
                Err(error) if is_to_be_continued(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn respond(&self, request: &str) -> String {
        let mut words = request.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if !words.next().is_some_and(|version| version.starts_with("HTTP/1.")) {
            return response("400 Bad Request", PLAIN, "expected HTTP/1.1\n", true);
        }
        if !matches!(method, "GET" | "HEAD") {
            return response("405 Method Not Allowed", PLAIN, "expected GET\n", true);
        }
        let with_body = method == "GET";
        let path = target.split('?').next().unwrap_or_default();
        if !matches!(path, "/" | "/metrics") {
            return response("404 Not Found", PLAIN, "expected /metrics\n", with_body);
        }
        match self.snapshots() {
            Ok(snapshots) => response("200 OK", EXPOSITION, &render(&snapshots), with_body),
            Err(error) => response("503 Service Unavailable", PLAIN, &format!("{error}\n"), with_body),
        }
    }

    fn snapshots(&self) -> Result<Vec<PortSnapshot>, String> {
        let mut snapshots = Vec::new();
        for commands in &self.directions {
            if let Answer::Snapshot(snapshot) = commands.ask(Command::Snapshot)? {
                snapshots.push(*snapshot);
            }
        }
        Ok(snapshots)
    }

    fn write(&self, mut socket: &TcpStream, mut bytes: &[u8], until: Time) -> io::Result<()> {
        while !bytes.is_empty() {
            match socket.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if is_to_be_continued(&error) && self.clock.now() < until => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_to_be_continued(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

const PLAIN: &str = "text/plain; charset=utf-8";
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

fn response(status: &str, content_type: &str, body: &str, with_body: bool) -> String {
    let length = body.len();
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let body = if with_body { body } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         {allow}Connection: close\r\n\r\n\
         {body}"
    )
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
