//! Rules of rate adaptation: which bitrate the next segment has.
//!
//! - BOLA: Spiteri, Urgaonkar, Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online Videos", as the simulator
//!   sabre by the same authors has it with the option "basic", with its rule against overshooting (BOLA-U).
//! - Throughput rule, with the rules for a buffer that does not suffice and for downloads that take too long, and the
//!   choice between it and BOLA ("dynamic"), as in sabre, which follows dash.js. A segment after an abandoned one has
//!   the lower bitrate. sabre means to do so, but sets another variable than it reads, and chooses again with the
//!   estimate of before.
//! - Buffer-based: Huang, Johari, McKeown, Trunnell, Watson, "A Buffer-Based Approach to Rate Adaptation", BBA-0.

use forebay_units::{Rate, Span};

use super::VideoRule;

/// The weight of stalls against bitrate, gamma p, of BOLA.
const GAMMA_P: f64 = 5.0;
/// Shares of the estimated throughput that the throughput rule uses.
const SAFETY: f64 = 0.9;
/// Bounds and decay of the share that the rule for an insufficient buffer uses.
const BUFFER_SAFETY: f64 = 0.5;
/// Below this buffer, in seconds, the dynamic rule leaves BOLA if the throughput allows more; above, it may enter.
const LOW_BUFFER_S: f64 = 10.0;
/// A download is judged from this time after its request, and abandoned if it would take more than so many times the
/// playing time of a segment.
const GRACE_S: f64 = 0.5;
const MOST_SEGMENT_TIMES: f64 = 1.8;
/// Half-lives of the estimates in seconds.
const HALF_LIVES_S: [f64; 2] = [8.0, 3.0];

/// The state of a rule.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    kind: VideoRule,
    /// In bit/s, ascending.
    bitrates_bps: Vec<f64>,
    segment_s: f64,
    buffer_s: f64,
    estimate: Estimate,
    bola_level: usize,
    buffer_safety: f64,
    in_bola: bool,
}

/// A segment that has arrived in part.
pub(super) struct Download {
    /// The whole segment.
    pub bits: f64,
    pub received_bits: f64,
    pub since_request_s: f64,
    pub since_first_byte_s: f64,
}

impl Rule {
    pub fn new(kind: VideoRule, bitrates: &[Rate], segment: Span, buffer: Span) -> Self {
        Self {
            kind,
            bitrates_bps: bitrates.iter().map(|rate| rate.bits_per_second() as f64).collect(),
            segment_s: segment.seconds(),
            buffer_s: buffer.seconds(),
            estimate: Estimate::new(segment.seconds()),
            bola_level: 0,
            buffer_safety: SAFETY,
            in_bola: false,
        }
    }

    /// A segment took `time_s` to arrive after its first byte, which took `latency_s`.
    pub fn received(&mut self, bits: f64, time_s: f64, latency_s: f64) {
        self.estimate.add(bits, time_s, latency_s);
    }

    /// The bitrate of the next segment, by its number, when `level_s` seconds are buffered. `last` is the number of the
    /// segment before; the first segment has the lowest.
    pub fn choose(&mut self, level_s: f64, last: usize) -> usize {
        match self.kind {
            VideoRule::Bola => self.bola(level_s),
            VideoRule::Throughput => self.by_throughput(level_s),
            VideoRule::Dynamic => self.dynamic(level_s),
            VideoRule::BufferBased(bounds) => {
                let (reservoir, cushion) = bounds.spans(Span::from_seconds_f64(self.buffer_s - self.segment_s));
                self.by_buffer(level_s, last, reservoir.seconds(), cushion.seconds())
            }
        }
    }

    /// The lower bitrate for which a download is abandoned, if it is.
    pub fn abandons(&self, level: usize, download: &Download) -> Option<usize> {
        let Download { bits, received_bits, since_request_s, since_first_byte_s } = *download;
        let rule_abandons = matches!(self.kind, VideoRule::Throughput | VideoRule::Dynamic);
        if !rule_abandons || since_request_s < GRACE_S || since_first_byte_s <= 0.0 {
            return None;
        }
        let (bps, left_bits) = (received_bits / since_first_byte_s, bits - received_bits);
        if since_request_s + left_bits / bps <= MOST_SEGMENT_TIMES * self.segment_s {
            return None;
        }
        let lower = self.sustained_at(SAFETY * bps);
        let is_less = || bits * self.bitrates_bps[lower] / self.bitrates_bps[level] < left_bits;
        (lower < level && is_less()).then_some(lower)
    }

    fn top(&self) -> usize {
        self.bitrates_bps.len() - 1
    }

    fn utility(&self, level: usize) -> f64 {
        libm::log(self.bitrates_bps[level] / self.bitrates_bps[0])
    }

    /// The bitrate with the greatest (V (utility + gamma p) - buffer) / bitrate.
    fn bola_by_buffer(&self, buffered_s: f64) -> usize {
        let weight = (self.buffer_s - self.segment_s) / (self.utility(self.top()) + GAMMA_P);
        let score = |level: usize| (weight * (self.utility(level) + GAMMA_P) - buffered_s) / self.bitrates_bps[level];
        (1..=self.top()).fold(0, |best, level| if score(level) > score(best) { level } else { best })
    }

    fn bola(&mut self, buffered_s: f64) -> usize {
        let mut level = self.bola_by_buffer(buffered_s);
        if level > self.bola_level {
            // At most one above the highest that the throughput sustains, but not lower than before.
            let sustained = self.sustained_at(self.estimate.bps());
            if level > sustained {
                level = if self.bola_level > sustained { self.bola_level } else { sustained + 1 };
            }
        }
        self.bola_level = level;
        level
    }

    /// The highest bitrate of which a segment arrives within its own time.
    fn sustained_at(&self, bps: f64) -> usize {
        let arrives = |&&bitrate: &&f64| self.estimate.latency_s() + self.segment_s * bitrate / bps <= self.segment_s;
        self.bitrates_bps[1..].iter().take_while(arrives).count()
    }

    fn by_throughput(&mut self, buffered_s: f64) -> usize {
        let bps = self.estimate.bps();
        let level = self.sustained_at(SAFETY * bps);
        let safe_bits = self.buffer_safety * (buffered_s - self.estimate.latency_s()) * bps;
        self.buffer_safety = (SAFETY * self.buffer_safety).max(BUFFER_SAFETY);
        self.bitrates_bps[1..=level].iter().take_while(|&&bitrate| bitrate * self.segment_s <= safe_bits).count()
    }

    fn dynamic(&mut self, buffered_s: f64) -> usize {
        let (bola, throughput) = (self.bola(buffered_s), self.by_throughput(buffered_s));
        if self.in_bola {
            self.in_bola = buffered_s >= LOW_BUFFER_S || bola >= throughput;
        } else {
            self.in_bola = buffered_s > LOW_BUFFER_S && bola >= throughput;
        }
        if self.in_bola { bola } else { throughput }
    }

    /// From the lowest at the reservoir linearly to the highest above the cushion. The bitrate stays until the line has
    /// reached the next one.
    fn by_buffer(&self, buffered_s: f64, last: usize, reservoir_s: f64, cushion_s: f64) -> usize {
        let (lowest, highest) = (self.bitrates_bps[0], self.bitrates_bps[self.top()]);
        if buffered_s <= reservoir_s {
            return 0;
        }
        if buffered_s >= reservoir_s + cushion_s {
            return self.top();
        }
        let bps = lowest + (highest - lowest) * (buffered_s - reservoir_s) / cushion_s;
        let above = self.bitrates_bps[(last + 1).min(self.top())];
        let below = self.bitrates_bps[last.saturating_sub(1)];
        if bps >= above {
            self.bitrates_bps.iter().take_while(|&&bitrate| bitrate < bps).count().saturating_sub(1)
        } else if bps <= below {
            self.bitrates_bps.iter().take_while(|&&bitrate| bitrate <= bps).count().min(self.top())
        } else {
            last
        }
    }
}

/// Estimates of throughput and latency: averages with two half-lives, of which the more careful one counts. Their start
/// at zero is taken out.
#[derive(Clone, Debug)]
struct Estimate {
    segment_s: f64,
    bps: [f64; 2],
    latency_s: [f64; 2],
    time_s: f64,
    segments: f64,
}

impl Estimate {
    fn new(segment_s: f64) -> Self {
        Self { segment_s, bps: [0.0; 2], latency_s: [0.0; 2], time_s: 0.0, segments: 0.0 }
    }

    fn add(&mut self, bits: f64, time_s: f64, latency_s: f64) {
        for ((bps, latency), half_life) in self.bps.iter_mut().zip(&mut self.latency_s).zip(HALF_LIVES_S) {
            let keep = halved(time_s / half_life);
            *bps = keep * *bps + (1.0 - keep) * bits / time_s;
            let keep = halved(self.segment_s / half_life);
            *latency = keep * *latency + (1.0 - keep) * latency_s;
        }
        self.time_s += time_s;
        self.segments += 1.0;
    }

    fn bps(&self) -> f64 {
        let unbiased = |(bps, half_life)| bps / (1.0 - halved(self.time_s / half_life));
        self.bps.into_iter().zip(HALF_LIVES_S).map(unbiased).fold(f64::INFINITY, f64::min)
    }

    fn latency_s(&self) -> f64 {
        let unbiased = |(latency, half_life)| latency / (1.0 - halved(self.segments * self.segment_s / half_life));
        self.latency_s.into_iter().zip(HALF_LIVES_S).map(unbiased).fold(0.0, f64::max)
    }
}

fn halved(half_lives: f64) -> f64 {
    libm::exp2(-half_lives)
}
