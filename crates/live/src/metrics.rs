//! All counters in Prometheus' text format, over HTTP on a loopback address.
//!
//! The server speaks as much HTTP as a scraper needs: `GET` and `HEAD` of `/metrics` (and `/`), one request per
//! connection, with limits on the bytes read and the time taken. There is no TLS and no login. The address is therefore
//! a loopback address; other machines reach it through an exporter's proxy.

mod connection;
mod exposition;
mod request;

use std::io::{self, ErrorKind, Write};
use std::mem;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_qdisc::{Span, Time};

use crate::command::{Answer, Command, Commands};
use crate::control::Clock;
use crate::snapshot::PortSnapshot;

use connection::Connection;
pub use exposition::render;
pub use request::{MOST_REQUEST_BYTES, MetricsRequest, parse_head};

/// Connections at a time: together with the listener and the waker, as many as one wait can watch.
const MOST_CONNECTIONS: usize = crate::sys::clock::MOST_WATCHED - 2;
/// The interval of the next attempt with a scraper that has not taken its response.
const LOOK_AGAIN: Span = Span::from_milliseconds(20);

/// The server of metrics.
pub struct Metrics {
    listener: TcpListener,
    woken: UnixStream,
    stop: Arc<AtomicBool>,
    directions: Vec<Commands>,
    clock: Arc<dyn Clock>,
    connections: Vec<Connection>,
}

/// The server of metrics from another thread.
pub struct MetricsHandle {
    waker: UnixStream,
    stop: Arc<AtomicBool>,
    address: SocketAddr,
}

impl MetricsHandle {
    /// Returns the address on which it listens.
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
                "metrics {address}: not a loopback address, which is required because there is no login; use \
                 127.0.0.1:{} or [::1]:{0}",
                address.port()
            ));
        }
        let refused = |error: io::Error| match error.kind() {
            ErrorKind::AddrInUse => format!("metrics {address}: another program is listening; choose another port"),
            _ => format!("metrics {address}: {error}"),
        };
        let listener = TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let (waker, woken) = UnixStream::pair().map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let stop = Arc::new(AtomicBool::new(false));
        let handle = MetricsHandle { waker, stop: Arc::clone(&stop), address };
        Ok((Self { listener, woken, stop, directions, clock, connections: Vec::new() }, handle))
    }

    /// Serves scrapers, several at a time, until [`MetricsHandle::stop`].
    pub fn run(mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            self.accept(now);
            self.serve(now);
            self.wait();
        }
    }

    /// Takes new connections. If there are too many, the oldest one that has not asked yet makes room: connections
    /// that stay idle cannot keep a scraper out.
    fn accept(&mut self, now: Time) {
        for _ in 0..MOST_CONNECTIONS {
            let Ok((socket, _)) = self.listener.accept() else { return };
            if socket.set_nonblocking(true).is_err() {
                continue;
            }
            if self.connections.len() >= MOST_CONNECTIONS {
                let oldest = self.connections.iter().position(Connection::is_asking).unwrap_or(0);
                self.connections.remove(oldest);
            }
            self.connections.push(Connection::new(socket, now));
        }
    }

    fn serve(&mut self, now: Time) {
        let mut connections = mem::take(&mut self.connections);
        connections.retain_mut(|connection| connection.advance(now, &mut |request| self.respond(request)));
        self.connections = connections;
    }

    fn wait(&self) {
        let writes = self.connections.iter().any(|connection| !connection.is_asking());
        let again = writes.then(|| self.clock.now().saturating_add(LOOK_AGAIN));
        let until = self.connections.iter().map(|connection| connection.until).chain(again).min();
        let asking = self.connections.iter().filter(|connection| connection.is_asking());
        let readable = [self.listener.as_fd(), self.woken.as_fd()].into_iter();
        let readable: Vec<_> = readable.chain(asking.map(|connection| connection.socket.as_fd())).collect();
        self.clock.wait(&readable, until);
    }

    fn respond(&self, request: MetricsRequest) -> String {
        match request {
            MetricsRequest::TooLong => {
                response("431 Request Header Fields Too Large", PLAIN, "the request is too long\n", true)
            }
            MetricsRequest::NotHttp => response("400 Bad Request", PLAIN, "expected HTTP/1.1\n", true),
            MetricsRequest::OtherMethod => response("405 Method Not Allowed", PLAIN, "expected GET\n", true),
            MetricsRequest::OtherPath { with_body } => {
                response("404 Not Found", PLAIN, "expected /metrics\n", with_body)
            }
            MetricsRequest::Metrics { with_body } => match self.snapshots() {
                Ok(snapshots) => response("200 OK", EXPOSITION, &render(&snapshots), with_body),
                Err(error) => response("503 Service Unavailable", PLAIN, &format!("{error}\n"), with_body),
            },
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
