//! Feeds a sender the input of a table, and compares its output.
//!
//! Times are in milliseconds after the handshake, positions in segments after the first byte of data: `new(0, 10)` is
//! the first ten segments, `again(0, 1)` the first of them sent a second time. Like packetdrill, the driver compares
//! only the values in a row: the segments since the last row that lists them, the window and the threshold.

use core::fmt;
use core::mem::take;

use forebay_tcp::{Ack, SackBlocks, Segment, SegmentOut, Sender, Span, TcpConfig, Time};

use crate::why::Why;

/// One of packetdrill's scripts, as a table.
pub struct Script {
    /// Its path in packetdrill's `gtests/net/tcp`, without the extension; a name of our own under `rules/…`.
    pub path: &'static str,
    /// Its subject.
    pub about: &'static str,
    pub config: TcpConfig,
    /// The time of the handshake: the first round-trip sample.
    pub round_trip: f64,
    pub rows: Vec<Row>,
}

/// The event.
#[derive(Clone, Copy, Debug, Default)]
enum Event {
    #[default]
    Nothing,
    /// The application writes this many segments.
    Write(f64),
    Close,
    Ack(Ack),
    /// A timer expires, this late at the latest.
    Timer(f64),
}

/// An event at a time, and Linux's response.
#[derive(Clone, Default)]
pub struct Row {
    at: f64,
    event: Event,
    linux: Expected,
    ours: Option<(Why, Expected)>,
}

/// The values of a row; `None` leaves a value open.
#[derive(Clone, Default)]
pub struct Expected {
    sends: Option<Sends>,
    window: Option<u64>,
    /// The slow-start threshold, or that there is none yet.
    threshold: Option<Option<u64>>,
    ect: Option<bool>,
}

/// The segments sent, all or the first of them.
#[derive(Clone, Debug)]
enum Sends {
    All(Vec<Sent>),
    First(Vec<Sent>),
}

/// A stretch of segments sent at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    kind: Kind,
    from: f64,
    to: f64,
    by_timer: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    New,
    Again,
    Fin,
}

/// Segments `from..to` for the first time.
pub fn new(from: impl Into<f64>, to: impl Into<f64>) -> Sent {
    Sent { kind: Kind::New, from: from.into(), to: to.into(), by_timer: false }
}

/// Segments `from..to` again.
pub fn again(from: impl Into<f64>, to: impl Into<f64>) -> Sent {
    Sent { kind: Kind::Again, from: from.into(), to: to.into(), by_timer: false }
}

/// The end of the data.
pub const FIN: Sent = Sent { kind: Kind::Fin, from: 0.0, to: 0.0, by_timer: false };

/// A row in which only time has passed.
pub fn at(ms: impl Into<f64>) -> Row {
    Row { at: ms.into(), ..Row::default() }
}

/// A row in which a timer expires between two times, and something leaves.
pub fn timer(earliest: impl Into<f64>, latest: impl Into<f64>) -> Row {
    Row { at: earliest.into(), event: Event::Timer(latest.into()), ..Row::default() }
}

impl Row {
    pub fn write(mut self, segments: impl Into<f64>) -> Self {
        self.event = Event::Write(segments.into());
        self
    }

    pub fn close(mut self) -> Self {
        self.event = Event::Close;
        self
    }

    /// An ACK of all segments before `segment`.
    pub fn ack(self, segment: impl Into<f64>) -> Self {
        self.sack::<f64>(segment, &[])
    }

    /// An ACK of all segments before `segment` that reports some beyond. In thousandths of a segment until the script
    /// gives the segment's size.
    pub fn sack<Position: Into<f64> + Copy>(
        mut self,
        segment: impl Into<f64>,
        blocks: &[(Position, Position)],
    ) -> Self {
        let mut sack = SackBlocks::default();
        for &(left, right) in blocks {
            assert!(sack.push(thousandths(left), thousandths(right)), "more SACK blocks than fit an ACK");
        }
        self.event = Event::Ack(Ack { ack: thousandths(segment), sack, ..Ack::default() });
        self
    }

    /// The ACK of this row echoes a mark.
    pub fn ece(mut self) -> Self {
        let Event::Ack(ack) = &mut self.event else { panic!("only an ACK can echo a mark") };
        ack.ece = true;
        self
    }

    /// The segments sent.
    pub fn sends(mut self, sent: &[Sent]) -> Self {
        self.linux = self.linux.sends(sent);
        self
    }

    /// The first segments sent; the script leaves the rest open.
    pub fn first(mut self, sent: &[Sent]) -> Self {
        self.linux.sends = Some(Sends::First(sent.to_vec()));
        self
    }

    /// The segments sent are ECN-capable.
    pub fn ect(mut self) -> Self {
        self.linux.ect = Some(true);
        self
    }

    /// The congestion window in whole segments.
    pub fn window(mut self, segments: u64) -> Self {
        self.linux = self.linux.window(segments);
        self
    }

    /// The slow-start threshold in whole segments.
    pub fn threshold(mut self, segments: u64) -> Self {
        self.linux = self.linux.threshold(segments);
        self
    }

    /// There is no slow-start threshold yet.
    pub fn no_threshold(mut self) -> Self {
        self.linux.threshold = Some(None);
        self
    }

    /// Our sender's behaviour instead, which must differ in all listed values.
    pub fn but(mut self, why: Why, ours: Expected) -> Self {
        self.ours = Some((why, ours));
        self
    }
}

/// Our sender's behaviour instead of Linux's: begins a statement for [`Row::but`].
pub fn ours() -> Expected {
    Expected::default()
}

impl Expected {
    pub fn sends(mut self, sent: &[Sent]) -> Self {
        self.sends = Some(Sends::All(sent.to_vec()));
        self
    }

    pub fn window(mut self, segments: u64) -> Self {
        self.window = Some(segments);
        self
    }

    pub fn threshold(mut self, segments: u64) -> Self {
        self.threshold = Some(Some(segments));
        self
    }
}

fn thousandths(segments: impl Into<f64>) -> u64 {
    (segments.into() * 1000.0).round() as u64
}

/// The tolerance of timers: packetdrill's on a slow machine.
const TOLERANCE_MS: f64 = 4.0;

/// The result of a script.
pub struct Outcome {
    /// Values that are neither Linux's nor the table's for us.
    pub failures: Vec<String>,
    /// Differences that the table lists.
    pub differences: Vec<Why>,
}

impl Outcome {
    pub fn verdict(&self) -> &'static str {
        match (self.failures.is_empty(), self.differences.is_empty()) {
            (true, true) => "as Linux",
            (true, false) => "differs as stated",
            _ => "differs",
        }
    }

    /// Each difference and each failure, in words.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.differences.iter().map(|why| why.text()).chain(self.failures.iter().map(String::as_str))
    }
}

impl Script {
    /// Whether the table lists a different behaviour of our sender for a row.
    pub fn differs(&self) -> bool {
        self.rows.iter().any(|row| row.ours.is_some())
    }
}

/// A running script.
struct Run {
    sender: Sender,
    segment: f64,
    established: Time,
    /// The segments sent since the last row that lists them.
    sent: Vec<Sent>,
    ect: bool,
}

/// The segments that one call to the sender emitted.
#[derive(Default)]
struct Emitted(Vec<Segment>);

impl SegmentOut for Emitted {
    fn segment(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

/// Runs a script.
pub fn run(script: &Script) -> Outcome {
    script.config.validate().expect("a valid configuration");
    let mut run = Run::establish(script);
    let mut outcome = Outcome { failures: Vec::new(), differences: Vec::new() };
    for row in &script.rows {
        let time_error = run.step(row);
        if let Some(error) = time_error.filter(|_| row.ours.is_none()) {
            outcome.failures.push(format!("at {} ms: {error}", row.at));
        }
        run.compare(row, &mut outcome);
    }
    outcome
}

impl Run {
    fn establish(script: &Script) -> Self {
        let round_trip = span(script.round_trip);
        let mut run = Self {
            sender: Sender::new(&script.config),
            segment: f64::from(script.config.payload_bytes()),
            established: Time::ZERO + round_trip,
            sent: Vec::new(),
            ect: true,
        };
        run.drive(false, |sender, out| sender.open(Time::ZERO, out));
        let syn_ack = Ack { ack: 1, syn: true, ece: script.config.ecn, ..Ack::default() };
        let established = run.established;
        run.drive(false, |sender, out| sender.on_ack(&syn_ack, established, out));
        run.sent.clear();
        run.ect = true;
        run
    }

    fn drive(&mut self, by_timer: bool, call: impl FnOnce(&mut Sender, &mut Emitted)) {
        let mut emitted = Emitted::default();
        call(&mut self.sender, &mut emitted);
        for segment in emitted.0 {
            let position = |seq: u64| (seq as f64 - 1.0) / self.segment;
            let (mut from, mut to) = (position(segment.seq), position(segment.seq + u64::from(segment.payload_bytes)));
            let kind = match segment {
                Segment { fin: true, .. } => Kind::Fin,
                Segment { retransmission: true, .. } => Kind::Again,
                _ => Kind::New,
            };
            if kind == Kind::Fin {
                (from, to) = (FIN.from, FIN.to);
            }
            self.ect &= segment.ect;
            match self.sent.last_mut() {
                Some(last) if last.kind == kind && last.by_timer == by_timer && last.to == from => last.to = to,
                _ => self.sent.push(Sent { kind, from, to, by_timer }),
            }
        }
    }

    /// Lets timers expire before `end`, until one sends something if `only_one` is set; returns that time.
    fn run_timers(&mut self, end: Time, only_one: bool) -> Option<Time> {
        while self.sender.deadline() < end {
            let now = self.sender.deadline();
            let before = self.sent.clone();
            self.drive(true, |sender, out| sender.on_timer(now, out));
            assert!(self.sender.deadline() > now, "the timer has been served");
            if only_one && self.sent != before {
                return Some(now);
            }
        }
        None
    }

    /// Lets the row happen; returns a complaint if a timer expired at another time than it states.
    fn step(&mut self, row: &Row) -> Option<String> {
        let now = self.established + span(row.at);
        if let Event::Timer(latest) = row.event {
            let end = self.established + span(latest + TOLERANCE_MS);
            let Some(expired) = self.run_timers(end, true) else { return Some("no timer sends anything".into()) };
            let expired_ms = expired.since(self.established).seconds() * 1000.0;
            let is_early = expired_ms < row.at - TOLERANCE_MS;
            return is_early.then(|| format!("the timer expires at {expired_ms} ms already"));
        }
        self.run_timers(now, false);
        match row.event {
            Event::Nothing | Event::Timer(_) => {}
            Event::Write(segments) => {
                let bytes = (segments * self.segment).round() as u64;
                self.drive(false, |sender, out| sender.write(bytes, now, out));
            }
            Event::Close => self.drive(false, |sender, out| sender.close(now, out)),
            Event::Ack(ack) => {
                let ack = self.in_bytes(&ack);
                self.drive(false, |sender, out| sender.on_ack(&ack, now, out));
            }
        }
        None
    }

    /// An ACK in bytes, from one in thousandths of segments.
    fn in_bytes(&self, ack: &Ack) -> Ack {
        let seq = |thousandths: u64| 1 + (thousandths as f64 / 1000.0 * self.segment).round() as u64;
        let mut sack = SackBlocks::default();
        for (left, right) in ack.sack.iter() {
            sack.push(seq(left), seq(right));
        }
        Ack { ack: seq(ack.ack), sack, ..*ack }
    }

    fn compare(&mut self, row: &Row, outcome: &mut Outcome) {
        let none = Expected::default();
        let (why, ours) = match &row.ours {
            Some((why, ours)) => (Some(*why), ours),
            None => (None, &none),
        };
        let is_timer = matches!(row.event, Event::Timer(_));
        let mut check =
            |what: &str, linux: String, said_of_us: Option<String>, got: String, agrees: &dyn Fn(bool) -> bool| {
                let expected = said_of_us.clone().unwrap_or(linux.clone());
                if !agrees(said_of_us.is_some()) {
                    outcome.failures.push(format!("at {} ms: {what} {got}, expected {expected}", row.at));
                } else if said_of_us.is_some() && agrees(false) {
                    outcome.failures.push(format!("at {} ms: {what} {got} as Linux: no longer a difference", row.at));
                } else if said_of_us.is_some() {
                    outcome.differences.extend(why.filter(|why| !outcome.differences.contains(why)));
                }
            };
        let window = (self.sender.congestion_window_bytes() as f64 / self.segment) as u64;
        if let Some(linux) = row.linux.window {
            let agrees = |us: bool| window == if us { ours.window.unwrap_or(linux) } else { linux };
            check("window", linux.to_string(), ours.window.map(|w| w.to_string()), window.to_string(), &agrees);
        }
        let threshold = self.sender.slow_start_threshold_bytes().map(|bytes| (bytes as f64 / self.segment) as u64);
        if let Some(linux) = row.linux.threshold {
            let agrees = |us: bool| threshold == if us { ours.threshold.unwrap_or(linux) } else { linux };
            let said = ours.threshold.map(|t| format!("{t:?}"));
            check("threshold", format!("{linux:?}"), said, format!("{threshold:?}"), &agrees);
        }
        if let Some(linux) = &row.linux.sends {
            let sent = take(&mut self.sent);
            let agrees = |us: bool| if us { ours.sends.as_ref() } else { None }.unwrap_or(linux).is(&sent, is_timer);
            let said = ours.sends.as_ref().map(ToString::to_string);
            check("sends", linux.to_string(), said, Sends::All(sent.clone()).to_string(), &agrees);
            let ect = core::mem::replace(&mut self.ect, true);
            if row.linux.ect.is_some_and(|expected| expected != ect) {
                outcome.failures.push(format!("at {} ms: what is sent is ECN-capable: {ect}", row.at));
            }
        }
    }
}

impl Sends {
    /// Whether this was sent, by a timer or not.
    fn is(&self, sent: &[Sent], by_timer: bool) -> bool {
        let is_one = |expected: &Sent, sent: &Sent| *sent == Sent { by_timer, ..*expected };
        match self {
            Self::All(expected) => {
                expected.len() == sent.len() && expected.iter().zip(sent).all(|(expected, sent)| is_one(expected, sent))
            }
            Self::First(expected) => {
                // The last stretch may continue.
                let last = expected.len() - 1;
                sent.len() > last
                    && expected[..last].iter().zip(sent).all(|(expected, sent)| is_one(expected, sent))
                    && sent[last].to >= expected[last].to
                    && is_one(&expected[last], &Sent { to: expected[last].to, ..sent[last] })
            }
        }
    }
}

impl fmt::Display for Sends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sent, rest) = match self {
            Self::All(sent) => (sent, ""),
            Self::First(sent) => (sent, ", ..."),
        };
        if sent.is_empty() {
            return write!(f, "nothing");
        }
        for (index, sent) in sent.iter().enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            let by_timer = if sent.by_timer { " by timer" } else { "" };
            match sent.kind {
                Kind::New => write!(f, "{separator}new {}..{}{by_timer}", sent.from, sent.to)?,
                Kind::Again => write!(f, "{separator}again {}..{}{by_timer}", sent.from, sent.to)?,
                Kind::Fin => write!(f, "{separator}FIN{by_timer}")?,
            }
        }
        write!(f, "{rest}")
    }
}

fn span(ms: f64) -> Span {
    Span::from_picoseconds((ms * 1e9).round() as u64)
}
