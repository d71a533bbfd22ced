//! Messages to the service manager: ready, stopping, still alive.

use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The service manager's socket; none if no messages are requested.
#[derive(Debug, Default)]
pub struct Notifier {
    socket: Option<UnixDatagram>,
}

impl Notifier {
    /// Connects to the socket that the environment names. To be called before privileges are dropped: no socket can be
    /// opened after it.
    ///
    /// # Errors
    /// It names one that does not answer.
    pub fn from_environment() -> io::Result<Self> {
        match env::var("NOTIFY_SOCKET") {
            Ok(name) if !name.is_empty() => Self::connect(&name),
            _ => Ok(Self::default()),
        }
    }

    /// Connects to a socket by its path or, after an `@`, its abstract name.
    ///
    /// # Errors
    /// No process listens there.
    pub fn connect(name: &str) -> io::Result<Self> {
        let address = match name.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        // A service manager that does not read must not hold up the packets.
        socket.set_nonblocking(true)?;
        Ok(Self { socket: Some(socket) })
    }

    /// Set-up is over.
    ///
    /// # Errors
    /// The service manager is gone or does not read.
    pub fn ready(&self, status: &str) -> io::Result<()> {
        self.send(&format!("READY=1\nSTATUS={}", status.replace('\n', " ")))
    }

    /// The end has begun.
    ///
    /// # Errors
    /// The service manager is gone or does not read.
    pub fn stopping(&self) -> io::Result<()> {
        self.send("STOPPING=1")
    }

    /// Reports that both directions are alive.
    ///
    /// # Errors
    /// The service manager is gone or does not read.
    pub fn alive(&self) -> io::Result<()> {
        self.send("WATCHDOG=1")
    }

    fn send(&self, message: &str) -> io::Result<()> {
        self.socket.as_ref().map_or(Ok(()), |socket| socket.send(message.as_bytes()).map(|_| ()))
    }
}

/// After how long a silence the service manager ends this process; none where it does not watch. [`Notifier::alive`]
/// must be sent twice as often.
pub fn watchdog() -> Option<Duration> {
    let variable = |name| env::var(name).ok();
    watchdog_of(variable("WATCHDOG_USEC").as_deref(), variable("WATCHDOG_PID").as_deref(), std::process::id())
}

fn watchdog_of(microseconds: Option<&str>, watched: Option<&str>, own: u32) -> Option<Duration> {
    let microseconds: u64 = microseconds?.parse().ok()?;
    let for_us = watched.is_none_or(|watched| watched.parse() == Ok(own));
    (for_us && microseconds > 0).then(|| Duration::from_micros(microseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_at_an_abstract_socket() {
        let name = format!("forebay-notify-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let manager = UnixDatagram::bind_addr(&address).expect("a socket");
        let notifier = Notifier::connect(&format!("@{name}")).expect("it listens");
        notifier.ready("two\nlines").expect("sent");
        notifier.alive().expect("sent");
        notifier.stopping().expect("sent");
        let next = || {
            let mut buffer = [0; 200];
            let length = manager.recv(&mut buffer).expect("a message");
            String::from_utf8_lossy(&buffer[..length]).into_owned()
        };
        assert_eq!([next(), next(), next()], ["READY=1\nSTATUS=two lines", "WATCHDOG=1", "STOPPING=1"]);
    }

    #[test]
    fn nobody_asked_is_no_error_and_nobody_there_is_one() {
        Notifier::default().alive().expect("nothing to do");
        assert!(Notifier::connect("@forebay-nobody-listens-here").is_err());
        assert!(Notifier::connect("/no/such/socket").is_err());
    }

    #[test]
    fn the_watchdog_is_ours_only_when_it_names_us() {
        let two_seconds = Some(Duration::from_secs(2));
        assert_eq!(watchdog_of(Some("2000000"), Some("7"), 7), two_seconds);
        assert_eq!(watchdog_of(Some("2000000"), None, 7), two_seconds);
        assert_eq!(watchdog_of(Some("2000000"), Some("8"), 7), None);
        assert_eq!(watchdog_of(Some("0"), None, 7), None);
        assert_eq!(watchdog_of(Some("soon"), None, 7), None);
        assert_eq!(watchdog_of(None, None, 7), None);
    }
}
