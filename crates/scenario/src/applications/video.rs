//! Video with rate adaptation: the player requests segments one after another, each at a bitrate that its rule chooses.

mod player;
mod rules;

use forebay_document::Path;
use forebay_engine::{Application, ApplicationKind, Checkpoint, Outcome, Role, Socket};
use forebay_qdisc::Time;
use forebay_units::{Bytes, Rate, Span};
use rand_pcg::Pcg64Mcg;
use schemars::{JsonSchema, Schema};

use self::player::Player;
use super::BothWays;
use crate::schema::tagged;
use crate::validate::check::{DAY, Validity, require};

/// A player requests segments of a video over one connection, each at a bitrate of the ladder that its rule chooses. It
/// plays while it receives. All segments of a bitrate have the same size. The table `videos` has the bitrate and the
/// stalls that the viewer sees.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// The bitrates that the video has, in ascending order: 1 to 64. Default: 230, 331, 477, 688, 991, 1427, 2056,
    /// 2962, 5027 and 6000 kbps.
    #[serde(default = "default_bitrates")]
    pub bitrates: Vec<Rate>,
    /// The rule that chooses the bitrate of a segment.
    #[serde(default)]
    pub rule: VideoRule,
    /// Playing time of a segment.
    #[serde(default = "default_segment")]
    pub segment: Span,
    /// The most video that is buffered: the next segment is requested when there is room for it.
    #[serde(default = "default_buffer")]
    pub buffer: Span,
    /// Playing time of the video, in whole segments. Default: it does not end.
    #[serde(default)]
    pub length: Option<Span>,
    /// Payload bytes of a request for the lowest bitrate. For each bitrate above it has a byte more, by which the
    /// server recognizes the bitrate.
    #[serde(default = "default_request")]
    pub request: Bytes,
}

/// A rule of rate adaptation. The first segment has the lowest bitrate.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = bare_rules)]
pub enum VideoRule {
    /// BOLA (Spiteri, Urgaonkar, Sitaraman, 2016): by the buffer, and not far above the throughput.
    #[default]
    Bola,
    /// The highest bitrate that nine tenths of the estimated throughput allow, or less where the buffer is short. A
    /// download that would take too long is abandoned for a lower bitrate.
    Throughput,
    /// BOLA where the buffer is above 10 s, otherwise `throughput`, which also abandons downloads, as in dash.js.
    Dynamic,
    /// BBA-0 (Huang and others, 2014): by the buffer alone.
    BufferBased(BufferBounds),
}

fn bare_rules(schema: &mut Schema) {
    tagged::allow_bare(schema, &["buffer_based"]);
}

/// The buffer at which the bitrate begins to rise, and where it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferBounds {
    /// Up to this buffer the bitrate is the lowest. Default: 37.5 % of `buffer` less a segment.
    #[serde(default)]
    pub reservoir: Option<Span>,
    /// The buffer above the reservoir over which the bitrate rises to the highest. Default: 52.5 % of `buffer` less a
    /// segment.
    #[serde(default)]
    pub cushion: Option<Span>,
}

impl BufferBounds {
    /// Reservoir and cushion; their defaults are parts of `most`. They are those of the paper, 90 and 126 of 240 s.
    fn spans(self, most: Span) -> (Span, Span) {
        let part = |share: f64| Span::from_seconds_f64(share * most.seconds());
        (self.reservoir.unwrap_or_else(|| part(0.375)), self.cushion.unwrap_or_else(|| part(0.525)))
    }
}

const MOST_BITRATES: usize = 64;

fn default_bitrates() -> Vec<Rate> {
    const LADDER_KBPS: [u64; 10] = [230, 331, 477, 688, 991, 1427, 2056, 2962, 5027, 6000];
    LADDER_KBPS.iter().filter_map(|kbps| Rate::new(1000 * kbps)).collect()
}

fn default_segment() -> Span {
    Span::from_seconds(3)
}

fn default_buffer() -> Span {
    Span::from_seconds(25)
}

fn default_request() -> Bytes {
    Bytes(300)
}

impl BothWays for Video {
    fn check(&self, at: &Path) -> Validity {
        let Self { ref bitrates, rule, segment, buffer, length, request } = *self;
        let ladder = || at.key("bitrates");
        let some = (1..=MOST_BITRATES).contains(&bitrates.len());
        require(some, ladder, || format!("`bitrates` has {} values", bitrates.len()), "expected 1 to 64 bitrates")?;
        let ascending = bitrates.is_sorted_by(|low, high| low < high);
        require(ascending, ladder, || "`bitrates` does not ascend".into(), "expected each above the one before")?;
        let holds = segment >= Span::from_milliseconds(10) && segment <= DAY;
        require(holds, || at.key("segment"), || format!("`segment` is {segment}"), "expected 10 ms to 24 h")?;
        let holds = buffer >= segment * 2 && buffer <= DAY;
        let label = "expected at least two segments and at most 24 h";
        require(holds, || at.key("buffer"), || format!("`buffer` is {buffer}"), label)?;
        let holds = length.is_none_or(|length| length >= segment);
        require(holds, || at.key("length"), || "`length` is shorter than a segment".into(), "expected at least one")?;
        let holds = self.bytes(0) > 0 && self.message_bytes() <= MOST_SEGMENT_BYTES;
        let label = "expected segments of 1 B to 10 GB: bitrate times `segment`";
        require(holds, ladder, || "a segment is out of bounds".into(), label)?;
        let holds = (1..=1000).contains(&request.0);
        require(holds, || at.key("request"), || format!("`request` is {request}"), "expected 1 B to 1000 B")?;
        let VideoRule::BufferBased(bounds) = rule else { return Ok(()) };
        let (reservoir, cushion) = bounds.spans(buffer - segment);
        let room = buffer - segment;
        let holds = cushion > Span::ZERO && reservoir <= room && cushion <= room.saturating_sub(reservoir);
        let message = || format!("reservoir and cushion are {reservoir} and {cushion}");
        let label = "expected a cushion, and both within `buffer` less a segment";
        require(holds, || at.key("rule.buffer_based"), message, label)
    }

    fn message_bytes(&self) -> u64 {
        self.bytes(self.bitrates.len().saturating_sub(1))
    }

    /// After a timeout, two requests may be sent again as one segment: the last one, and the one before whose ACK was
    /// lost. They must not be cut.
    fn least_segment(&self) -> u64 {
        2 * (self.request.0 + self.bitrates.len() as u64)
    }
}

const MOST_SEGMENT_BYTES: u64 = 10_000_000_000;

impl Video {
    /// Payload of a segment at the bitrate of this number.
    fn bytes(&self, level: usize) -> u64 {
        self.bitrates.get(level).map_or(0, |bitrate| bitrate.bytes_in(self.segment))
    }
}

impl ApplicationKind for Video {
    fn withdraws(&self) -> bool {
        true
    }

    fn end(&self, role: Role, _stream: &dyn Fn(&str) -> Pcg64Mcg, stop: Time) -> Box<dyn Application> {
        let video = self.clone();
        match role {
            Role::Client => {
                Box::new(Client { player: Player::new(&video), video, stop, size: 0, expected: 0, next: Time::NEVER })
            }
            Role::Server => Box::new(Server { video, taken: 0 }),
        }
    }
}

struct Client {
    video: Video,
    player: Player,
    /// No request after this time.
    stop: Time,
    /// Payload of the segment on its way.
    size: u64,
    /// Bytes delivered when it is complete.
    expected: u64,
    /// The time of the next request.
    next: Time,
}

impl Client {
    fn request(&mut self, level: usize, socket: &mut Socket<'_, '_>) {
        self.size = self.video.bytes(level);
        self.expected += self.size;
        socket.write(self.video.request.0 + level as u64);
    }
}

impl Application for Client {
    fn on_start(&mut self, socket: &mut Socket<'_, '_>) {
        self.on_timer(socket);
    }

    fn on_timer(&mut self, socket: &mut Socket<'_, '_>) {
        self.next = Time::NEVER;
        if socket.now() >= self.stop {
            return self.player.stop();
        }
        let level = self.player.request(socket.now());
        self.request(level, socket);
    }

    fn on_delivered(&mut self, socket: &mut Socket<'_, '_>) {
        let (now, delivered) = (socket.now(), socket.delivered_bytes());
        // The rest of a segment that was abandoned may still arrive.
        let Some(received) = (delivered + self.size).checked_sub(self.expected).filter(|&received| received > 0) else {
            return;
        };
        self.player.arrived(now);
        if delivered >= self.expected {
            self.player.received(self.size, now);
            self.next = self.player.next_request(now).unwrap_or(Time::NEVER);
        } else if now < self.stop
            && let Some(level) = self.player.abandon(received, self.size, now)
        {
            self.request(level, socket);
        }
    }

    fn next(&self) -> Time {
        self.next
    }

    fn check(&mut self, at: Time, due: Checkpoint) {
        match due {
            Checkpoint::WarmUp => self.player.begin_measurement(at),
            Checkpoint::Sample => self.player.sample(at),
        }
    }

    fn outcome(&mut self, end: Time) -> Option<Outcome> {
        Some(self.player.outcome(end))
    }
}

/// A segment of TCP has all bytes of a request, so they arrive together. Of a request nothing has arrived at the client
/// before it came here, so that the next request follows it. A request during an answer abandons its rest.
struct Server {
    video: Video,
    /// Bytes of the requests that were answered.
    taken: u64,
}

impl Application for Server {
    fn on_start(&mut self, _socket: &mut Socket<'_, '_>) {}

    fn on_delivered(&mut self, socket: &mut Socket<'_, '_>) {
        let request = socket.delivered_bytes() - self.taken;
        self.taken += request;
        let level = request.saturating_sub(self.video.request.0) as usize;
        socket.withdraw();
        socket.write(self.video.bytes(level));
    }
}
