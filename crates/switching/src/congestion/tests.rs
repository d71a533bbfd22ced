//! Tests of what all schemes of congestion management promise.

use alloc::format;

use proptest::prelude::*;

use super::*;
use crate::test_support::rng;

const LINE: Rate = Rate::megabits(10_000);

fn messages() -> impl Strategy<Value = Option<Message>> {
    let from = CongestionPointId(3);
    prop_oneof![
        20 => Just(None),
        1 => (-60_000..30_000, -9000..9000).prop_map(move |(offset_bytes, delta_bytes)| {
            Some(Message::Bcn { offset_bytes, delta_bytes, from })
        }),
        1 => (1_u8..64).prop_map(move |feedback| {
            Some(Message::Cnm { feedback, offset_bytes: -9000, delta_bytes: 0, from })
        }),
        1 => (10_u64..500).prop_map(|microseconds| {
            let latency = Span::from_microseconds(microseconds);
            Some(Message::ProbeReport { latency, throughput: Some(1e8) })
        }),
        1 => (1e8..2e10).prop_map(|rate_bps| Some(Message::RateReport { rate_bps })),
        1 => Just(Some(Message::Cnp)),
    ]
}

fn context(now: Time, rng: &mut dyn Rng) -> Context<'_> {
    Context { now, capacity: LINE, rng }
}

fn find(name: &str) -> CongestionManagement {
    CongestionManagement::every().into_iter().find(|scheme| scheme.name() == name).unwrap()
}

#[test]
fn the_schemes_whose_switches_mark_frames_say_so() {
    for scheme in CongestionManagement::every() {
        let mut point = scheme.congestion_point(CongestionPointId(0), LINE);
        let mut rng = rng(1);
        let marks = (1..=1000).any(|frame| {
            let mut context = Context { now: Time::ZERO, capacity: LINE, rng: &mut rng };
            let arrival = Arrival { len_bytes: 1500, queue_bytes: 1500 * frame, limited_by: None };
            point.arrived(arrival, &mut context) == Verdict::Mark
        });
        assert_eq!(scheme.marks_frames(), marks, "{scheme:?}");
    }
}

#[test]
fn what_is_sent_by_the_clock_is_what_was_asked_for() {
    let [five, seven] = [5, 7].map(Span::from_milliseconds);
    let fecn = fecn::FecnConfig { interval: Some(five), ..Default::default() };
    let discovery = CongestionManagement::Fecn(fecn::FecnConfig { discovery_period: Some(seven), ..fecn.clone() });
    let dbp = CongestionManagement::Dbp(DbpConfig { interval: Some(five), ..Default::default() });
    for (scheme, field, interval, to_destination) in [
        (CongestionManagement::Fecn(fecn), "interval", five, true),
        (discovery, "discovery_period", seven, true),
        (dbp, "interval", five, false),
    ] {
        let expected = PeriodicMessages { field, interval, to_destination };
        assert_eq!(scheme.periodic_messages(LINE), Some(expected), "{scheme:?}");
    }
    for name in ["ecm", "e2cm", "qcn", "dcqcn"] {
        assert_eq!(find(name).periodic_messages(LINE), None, "{name}");
    }
}

/// Checks that a part is due later than now whenever it has been called: `due` calls it at a time, if given one, and
/// says when it is due next.
fn assert_timer_moves_on(what: &str, mut due: impl FnMut(Option<Time>) -> Time) {
    let mut at = due(None);
    for _ in 0..5 {
        if at == Time::NEVER {
            return;
        }
        let next = due(Some(at));
        assert!(next > at, "{what}: due at {at:?} and again at {next:?}");
        at = next;
    }
}

#[test]
fn a_part_that_has_been_called_is_due_later_or_never() {
    for scheme in CongestionManagement::every() {
        let mut rng = rng(1);
        let mut point = scheme.congestion_point(CongestionPointId(0), LINE);
        assert_timer_moves_on(&format!("port of {}", scheme.name()), |now| {
            if let Some(now) = now {
                point.expire(0, &mut context(now, &mut rng));
            }
            point.poll_at()
        });
        let mut source = scheme.reaction_point(LINE, Time::ZERO);
        assert_timer_moves_on(&format!("source of {}", scheme.name()), |now| {
            now.and_then(|now| source.expire(&mut context(now, &mut rng)));
            source.poll_at()
        });
        let Some(mut reflector) = scheme.reflector(LINE) else { continue };
        assert_timer_moves_on(&format!("destination of {}", scheme.name()), |now| {
            now.and_then(|now| reflector.expire(&mut context(now, &mut rng)));
            reflector.poll_at()
        });
    }
}

#[test]
fn the_schemes_whose_destinations_answer_data_say_so() {
    for scheme in CongestionManagement::every() {
        let answers = scheme.reflector(LINE).is_some_and(|mut reflector| {
            let (polled_at, mut rng) = (reflector.poll_at(), rng(1));
            let answer = reflector.delivered(true, &mut context(Time::ZERO, &mut rng));
            answer.is_some() || reflector.poll_at() != polled_at
        });
        assert_eq!(scheme.answers_data(), answers, "{scheme:?}");
    }
}

#[test]
fn ecm_sees_what_its_sampling_takes_and_the_others_see_all() {
    for scheme in CongestionManagement::every() {
        let (mut sampler, mut rng) = (scheme.sampler(), rng(1));
        let seen = (0..1000).filter(|_| sampler.sample(1500, &mut rng)).count();
        // Binomial: 20 with a standard deviation of 4.4.
        let expected = if matches!(scheme.name(), "ecm" | "e2cm") { 3..=37 } else { 1000..=1000 };
        assert!(expected.contains(&seen), "{scheme:?}: {seen}");
    }
}

proptest! {
    /// The contract of [`ReactionPoint::byte_counter`].
    #[test]
    fn between_expiries_of_the_byte_counter_sent_bytes_may_be_told_as_one(
        steps in prop::collection::vec((1_u64..200, 64_u64..9000, messages()), 1..400)
    ) {
        for scheme in CongestionManagement::every() {
            let mut prompt = (scheme.reaction_point(LINE, Time::ZERO), rng(7));
            let mut late = (scheme.reaction_point(LINE, Time::ZERO), rng(7));
            let (mut now, mut untold) = (Time::ZERO, 0);
            for (microseconds, len_bytes, message) in &steps {
                now = now.saturating_add(Span::from_microseconds(*microseconds));
                let told = prompt.0.sent(*len_bytes, &mut Context { now, capacity: LINE, rng: &mut prompt.1 });
                untold += len_bytes;
                let is_due = prompt.0.poll_at() <= now;
                if untold > late.0.byte_counter() || message.is_some() || is_due {
                    let mut context = Context { now, capacity: LINE, rng: &mut late.1 };
                    prop_assert_eq!(late.0.sent(core::mem::take(&mut untold), &mut context), told, "{:?}", scheme);
                } else {
                    prop_assert_eq!(told, None, "{:?}", scheme);
                }
                for (point, rng) in [&mut prompt, &mut late] {
                    let mut context = Context { now, capacity: LINE, rng };
                    if let Some(message) = message {
                        point.receive(message, &mut context);
                    }
                    if is_due {
                        point.expire(&mut context);
                    }
                }
                let state = |point: &dyn ReactionPoint| (point.rate_bps(), point.associated(), point.poll_at());
                prop_assert_eq!(state(&*prompt.0), state(&*late.0), "{:?}", scheme);
            }
        }
    }
}
