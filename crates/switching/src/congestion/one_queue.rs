//! A closed loop for tests: greedy sources that share one output queue.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use forebay_units::{Rate, Span, Time};

use super::{Arrival, CongestionManagement, CongestionPointId, Context, Message, ReactionPoint, Verdict};
use crate::RateLimiter;
use crate::test_support::rng;

const FRAME_BYTES: u32 = 1500;
/// The delay from the queue to a source, and to the destination and back to it.
const FEEDBACK_DELAY: Span = Span::from_microseconds(3);

/// The results of the second half of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Mean queue that arriving frames met.
    pub mean_queue_bytes: f64,
    /// The share of the output's rate that is in use.
    pub utilization: f64,
    /// Bits per second sent by each source.
    pub rates_bps: Vec<f64>,
}

/// Runs this many greedy sources with frames of 1500 B at one output, all of the same rate. There are no links: frames
/// reach the queue at once, and messages take 3 us. A probe is no frame of its own: it goes with the one before it.
pub(crate) fn run(scheme: &CongestionManagement, line: Rate, sources: usize, duration: Span) -> Outcome {
    let frame_time = line.transmission_time(u64::from(FRAME_BYTES));
    let mut rng = rng(11);
    let (mut point, mut sampler) = (scheme.congestion_point(CongestionPointId(0), line), scheme.sampler());
    let mut flows: Vec<(Box<dyn ReactionPoint>, RateLimiter, Time)> =
        (0..sources).map(|_| (scheme.reaction_point(line, Time::ZERO), RateLimiter::default(), Time::ZERO)).collect();
    let mut reflectors: Vec<_> = (0..sources).map(|_| scheme.reflector(line)).collect();
    let mut queue: VecDeque<(usize, bool, Option<Message>)> = VecDeque::new();
    let mut messages: VecDeque<(Time, usize, Message)> = VecDeque::new();
    let [mut sent, mut delivered_bytes] = [(); 2].map(|()| alloc::vec![0_u64; sources]);
    let (mut delivered, mut seen, mut sum) = (0_u64, 0_u64, 0_u64);

    // Time goes by in frames of the output.
    let frames = duration.picoseconds() / frame_time.picoseconds();
    for tick in 0..frames {
        let now = Time::ZERO + frame_time * tick;
        let last_tick = Time::ZERO + frame_time * tick.saturating_sub(1);
        let counts = tick >= frames / 2;
        let mut context = Context { now, capacity: line, rng: &mut rng };
        if let Some((flow, marked, probe)) = queue.pop_front() {
            delivered += u64::from(counts);
            delivered_bytes[flow] += u64::from(FRAME_BYTES);
            if let Some(to) = &mut reflectors[flow] {
                let answer = to.delivered(marked, &mut context);
                let report = probe.and_then(|probe| to.reflect(&probe, delivered_bytes[flow], &mut context));
                messages.extend([answer, report].into_iter().flatten().map(|it| (now + FEEDBACK_DELAY, flow, it)));
            }
        }
        for (flow, reflector) in reflectors.iter_mut().enumerate() {
            let Some(reflector) = reflector.as_mut().filter(|reflector| reflector.poll_at() <= now) else { continue };
            messages.extend(reflector.expire(&mut context).map(|message| (now + FEEDBACK_DELAY, flow, message)));
        }
        while let Some((_, flow, message)) = messages.pop_front_if(|(at, ..)| *at <= now) {
            flows[flow].0.receive(&message, &mut context);
        }
        for (flow, (reaction, limiter, free_at)) in flows.iter_mut().enumerate() {
            if reaction.poll_at() <= now {
                reaction.expire(&mut context);
            }
            let rate_bps = reaction.rate_bps().unwrap_or(line.bits_per_second() as f64);
            let due = limiter.eligible_at(rate_bps).max(*free_at);
            if due > now {
                continue;
            }
            // Since the last tick; to send only at ticks would take up to half of a rate.
            let sent_at = due.max(last_tick);
            limiter.sent(FRAME_BYTES, sent_at);
            *free_at = sent_at + frame_time;
            let probe = reaction.sent(u64::from(FRAME_BYTES), &mut context);
            let queue_bytes = (queue.len() as u64 + 1) * u64::from(FRAME_BYTES);
            let frame = Arrival { len_bytes: FRAME_BYTES, queue_bytes, limited_by: reaction.associated() };
            let verdict = sampler.sample(FRAME_BYTES, context.rng).then(|| point.arrived(frame, &mut context));
            queue.push_back((flow, verdict == Some(Verdict::Mark), probe));
            if let Some(Verdict::Tell(message)) = verdict {
                messages.push_back((now + FEEDBACK_DELAY, flow, message));
            }
            if counts {
                (sent[flow], seen, sum) = (sent[flow] + 1, seen + 1, sum + queue_bytes);
            }
        }
    }
    let half_s = duration.seconds() / 2.0;
    Outcome {
        mean_queue_bytes: sum as f64 / seen as f64,
        utilization: delivered as f64 / (frames - frames / 2) as f64,
        rates_bps: sent.iter().map(|frames| (frames * u64::from(FRAME_BYTES) * 8) as f64 / half_s).collect(),
    }
}
