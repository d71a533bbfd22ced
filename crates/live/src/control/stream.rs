//! Streams of a capture or a record to a client, each on a thread of its own.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use forebay_qdisc::Time;
use serde::Serialize;

use crate::control::Clock;
use crate::taps::{Encoder, Tally, Tapped};

/// Streams at a time.
pub const MOST_STREAMS: usize = 4;
/// The data encoded before the client has taken it.
const MOST_PENDING_BYTES: usize = 1 << 18;
/// The interval between two looks at the taps and the client.
const ROUND: Duration = Duration::from_millis(5);
/// Rounds that a client has for the rest after the end: 2 s.
const LAST_ROUNDS: u32 = 400;

/// The counters of a stream.
#[derive(Clone, Debug, Serialize)]
pub struct StreamSnapshot {
    /// `capture` or `record`.
    pub kind: &'static str,
    /// Its direction; of a capture there may be both.
    pub direction: &'static str,
    /// Packets taken.
    pub packets: u64,
    /// Packets left out because the client was too slow.
    pub missed: u64,
    /// Whether it still runs.
    pub running: bool,
}

struct Running {
    kind: &'static str,
    directions: Vec<&'static str>,
    tallies: Vec<Arc<Tally>>,
    over: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
}

/// The streams that run, and those that have ended: the last few of them.
#[derive(Default)]
pub struct Streams(Mutex<Vec<Running>>);

/// Streams that are remembered.
const REMEMBERED: usize = 16;

impl Streams {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Running>> {
        // A list is consistent at any time, even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another one may start.
    pub fn has_room(&self) -> bool {
        self.lock().iter().filter(|stream| !stream.ended.load(Ordering::Relaxed)).count() < MOST_STREAMS
    }

    /// The sum of their counters.
    pub fn snapshot(&self) -> Vec<StreamSnapshot> {
        let mut snapshots = Vec::new();
        for stream in &*self.lock() {
            for (direction, tally) in stream.directions.iter().zip(&stream.tallies) {
                snapshots.push(StreamSnapshot {
                    kind: stream.kind,
                    direction,
                    packets: tally.taken.load(Ordering::Relaxed),
                    missed: tally.missed.load(Ordering::Relaxed),
                    running: !stream.ended.load(Ordering::Relaxed),
                });
            }
        }
        snapshots
    }

    /// Ends all of them.
    pub fn end(&self) {
        self.lock().iter().for_each(|stream| stream.over.store(true, Ordering::Relaxed));
    }

    /// Starts one: `reply` goes to the client first. The taps are given away by the caller.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(
        &self,
        kind: &'static str,
        directions: Vec<&'static str>,
        client: StreamClient,
        tapped: Tapped,
    ) -> io::Result<()> {
        let ended = Arc::new(AtomicBool::new(false));
        let (tallies, over) = (tapped.tallies, Arc::clone(&tapped.over));
        let stream = Stream { client, encoder: tapped.encoder, over: tapped.over };
        let told = Arc::clone(&ended);
        // A client that has the reply finds the stream in the statistics: these wait until it is listed.
        let mut streams = self.lock();
        thread::Builder::new().name(kind.to_owned()).spawn(move || {
            let over = Arc::clone(&stream.over);
            // Any error means that the client has gone, which its connection also shows.
            let _ = stream.run();
            over.store(true, Ordering::Relaxed);
            told.store(true, Ordering::Relaxed);
        })?;
        if streams.len() >= REMEMBERED
            && let Some(oldest) = streams.iter().position(|stream| stream.ended.load(Ordering::Relaxed))
        {
            streams.remove(oldest);
        }
        streams.push(Running { kind, directions, tallies, over, ended });
        Ok(())
    }
}

/// The client of a stream.
pub struct StreamClient {
    /// Its connection, which never waits.
    pub socket: UnixStream,
    /// The first line to it.
    pub reply: Vec<u8>,
    /// The latest end of the stream.
    pub until: Option<Time>,
    pub clock: Arc<dyn Clock>,
}

struct Stream {
    client: StreamClient,
    encoder: Box<dyn Encoder>,
    over: Arc<AtomicBool>,
}

impl Stream {
    fn run(mut self) -> io::Result<()> {
        let reply = std::mem::take(&mut self.client.reply);
        self.encoder.bytes().splice(..0, reply);
        while !self.over.load(Ordering::Relaxed) {
            let any = self.encoder.fill(MOST_PENDING_BYTES)? | self.write()?;
            let out_of_time = self.client.until.is_some_and(|until| self.client.clock.now() >= until);
            if out_of_time || self.client_has_ended()? {
                self.over.store(true, Ordering::Relaxed);
            } else if !any {
                thread::sleep(ROUND);
            }
        }
        // Events of the taps before the end.
        let (mut ended, mut without_progress) = (false, 0);
        while without_progress < LAST_ROUNDS {
            // If too much is pending, the rest waits.
            let has_room = self.encoder.bytes().len() < MOST_PENDING_BYTES;
            let any = self.encoder.fill(MOST_PENDING_BYTES)?;
            if has_room && !any && !ended {
                self.encoder.end()?;
                ended = true;
            }
            let wrote = self.write()?;
            if ended && self.encoder.bytes().is_empty() {
                return Ok(());
            }
            if wrote || any {
                without_progress = 0;
            } else {
                without_progress += 1;
                thread::sleep(ROUND);
            }
        }
        Ok(())
    }

    /// Writes what the client takes. Returns whether it took anything.
    fn write(&mut self) -> io::Result<bool> {
        let bytes = self.encoder.bytes();
        if bytes.is_empty() {
            return Ok(false);
        }
        match self.client.socket.write(bytes) {
            Ok(0) => Err(ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes.drain(..written);
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the client has closed its half, which asks for the end.
    fn client_has_ended(&mut self) -> io::Result<bool> {
        match self.client.socket.read(&mut [0; 256]) {
            Ok(bytes) => Ok(bytes == 0),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
