//! Shares, shaping and priorities of class-based queueing.

use alloc::vec::Vec;

use super::*;
use crate::test_support::{Bench, LINK, Labelled};
use crate::{Admission, DropTail, DropTailConfig, Drr, DrrConfig, Fifo, Red, RedConfig, Span, Time};

type Classes = Vec<CbqClass<()>>;

fn fifo() -> Box<dyn Discipline<Labelled>> {
    let law: Box<dyn Admission> = Box::new(DropTail::new(&DropTailConfig::default(), LINK, 0).unwrap());
    Box::new(Fifo::new(law))
}

fn bench(classes: Classes) -> Bench<Cbq<Labelled>> {
    let queues = classes.iter().map(|_| fifo()).collect();
    Bench::new(Cbq::new(&CbqConfig { classes, default_class: None }, LINK, queues).unwrap())
}

fn class(number: u8) -> CbqClass<()> {
    CbqClass::new(["a", "b", "c"][usize::from(number)], &[number], ())
}

/// Sends for `duration` on [`LINK`], keeping each class in `busy` backlogged with packets of its size; bytes by class.
fn send(bench: &mut Bench<Cbq<Labelled>>, busy: &[(u8, u32)], duration: Span) -> [u64; 3] {
    let mut sent = [0; 3];
    let end = bench.now + duration;
    let mut queued = [0_u32; 3];
    while bench.now < end {
        for (class, size) in busy {
            while queued[usize::from(*class)] < 5 {
                bench.enqueue(Labelled::new(0, u64::from(*class), *size, *class));
                queued[usize::from(*class)] += 1;
            }
        }
        match bench.serve() {
            Served::Packet(packet) => {
                queued[usize::from(packet.arrival.class)] -= 1;
                sent[usize::from(packet.arrival.class)] += u64::from(packet.len_bytes());
                bench.now += LINK.transmission_time(u64::from(packet.len_bytes()));
            }
            Served::PollAt(at) => {
                assert!(at > bench.now);
                bench.now = at;
            }
            Served::Idle => panic!("packets are queued"),
        }
    }
    sent
}

#[test]
fn shares_divide_the_link_by_bytes() {
    let mut bench = bench(vec![CbqClass { share: 70.0, ..class(0) }, CbqClass { share: 30.0, ..class(1) }]);
    let sent = send(&mut bench, &[(0, 200), (1, 1500)], Span::from_seconds(1));
    // Start-time fair queueing: one packet of each class, over its share.
    assert!((sent[0] as f64 / 70.0 - sent[1] as f64 / 30.0).abs() <= 200.0 / 70.0 + 1500.0 / 30.0, "{sent:?}");
    assert!((sent[0] as f64 / 8.75e6 - 1.0).abs() < 0.001, "{sent:?}");
}

#[test]
fn what_a_class_leaves_goes_to_the_others() {
    let mut bench = bench(vec![CbqClass { share: 99.0, ..class(0) }, class(1)]);
    assert_eq!(send(&mut bench, &[(1, 1000)], Span::from_milliseconds(80)), [0, 1_000_000, 0]);
    // The class that slept has no claim on the past.
    let sent = send(&mut bench, &[(0, 1000), (1, 1000)], Span::from_milliseconds(80));
    assert!((980_000..=1_000_000).contains(&sent[0]), "{sent:?}");
}

#[test]
fn a_shaping_rate_holds_and_the_link_waits_for_it() {
    let rate = Some(Rate::megabits(10));
    let mut bench = bench(vec![CbqClass { rate, burst: Bytes(3000), ..class(0) }]);
    let sent = send(&mut bench, &[(0, 1000)], Span::from_seconds(1));
    assert!((1_250_000..=1_253_000).contains(&sent[0]), "{sent:?}");
}

#[test]
fn a_shaped_class_leaves_the_rest_and_does_not_catch_up() {
    let rate = Some(Rate::megabits(10));
    let mut bench = bench(vec![CbqClass { rate, share: 50.0, ..class(0) }, class(1)]);
    let sent = send(&mut bench, &[(0, 1000), (1, 1500)], Span::from_seconds(1));
    assert!((1_250_000..=1_253_000).contains(&sent[0]), "{sent:?}");
    assert!((sent[0] + sent[1] - 12_500_000) <= 1500, "{sent:?}");
}

#[test]
fn priorities_are_strict() {
    let low = CbqClass { priority: 9, ..class(0) };
    let rate = Some(Rate::megabits(60));
    let mut bench = bench(vec![low, class(1), CbqClass { priority: 3, rate, ..class(2) }]);
    let all = [(0, 1000), (1, 1000), (2, 1000)];
    assert_eq!(send(&mut bench, &all, Span::from_milliseconds(80)), [0, 1_000_000, 0]);
    while bench.discipline.queues.holds(1) {
        bench.dequeue();
    }
    let sent = send(&mut bench, &[(0, 1000), (2, 1000)], Span::from_milliseconds(80));
    assert!((sent[2] as f64 / 600_000.0 - 1.0).abs() < 0.02 && sent[0] > 380_000, "{sent:?}");
}

#[test]
fn packets_of_unlisted_classes_go_to_the_default() {
    let classes = vec![class(0), class(1)];
    let config = CbqConfig { classes, default_class: Some("a".into()) };
    let mut bench = Bench::new(Cbq::new(&config, LINK, vec![fifo(), fifo()]).unwrap());
    bench.enqueue(Labelled::new(7, 1, 100, 77));
    assert!(bench.discipline.queues.holds(0) && !bench.discipline.queues.holds(1));
    assert_eq!(bench.drain(), [7]);
}

/// RED of weight 0.5 in the only class: its average before it sends what it has, and after an idle millisecond.
fn averages_about_an_idle_time(class: CbqClass<()>) -> [f64; 2] {
    let config = RedConfig { weight: 0.5, ..RedConfig::default() };
    let red: Box<dyn Admission> = Box::new(Red::new(&config, LINK, 0).unwrap());
    let fifo: Box<dyn Discipline<Labelled>> = Box::new(Fifo::new(red));
    let config = CbqConfig { classes: vec![class], default_class: None };
    let mut bench = Bench::new(Cbq::new(&config, LINK, vec![fifo]).unwrap());
    let average = |bench: &Bench<Cbq<Labelled>>| {
        let mut average = f64::NAN;
        let mut read = |name, value| {
            if name == "avg" {
                average = value;
            }
        };
        // A shaped class has its queue within.
        bench.discipline.children(&mut |queue| {
            queue.gauges(&mut read);
            queue.children(&mut |queue| queue.gauges(&mut read));
        });
        average
    };
    for label in 0..4 {
        bench.enqueue(Labelled::new(label, 1, 500, 0));
    }
    let before = average(&bench);
    assert_eq!(bench.drain(), [0, 1, 2, 3]);
    bench.now += Span::from_milliseconds(1);
    bench.enqueue(Labelled::new(4, 1, 500, 0));
    [before, average(&bench)]
}

#[test]
fn an_inner_queue_learns_of_its_idle_time() {
    // The second is a class that may send nothing more for a while when its last packet leaves.
    let shaped = CbqClass { rate: Some(Rate::megabits(1)), burst: Bytes(2000), ..class(0) };
    for class in [class(0), shaped] {
        let [before, after] = averages_about_an_idle_time(class);
        assert!(before > 2.0 && after < 1e-6, "{before} {after}");
    }
}

#[test]
fn disciplines_of_any_kind_fit_in() {
    for busy in [&[(0, 1000), (1, 1000)][..], &[(0, 1000)]] {
        let shaped = CbqClass { rate: Some(Rate::megabits(1)), ..class(0) };
        let inner = Cbq::new(&CbqConfig { classes: vec![shaped], default_class: None }, LINK, vec![fifo()]).unwrap();
        let drr = Drr::new(&DrrConfig::default(), LINK, 0).unwrap();
        let config = CbqConfig { classes: vec![class(0), class(1)], default_class: None };
        let mut bench = Bench::new(Cbq::new(&config, LINK, vec![Box::new(inner), Box::new(drr)]).unwrap());
        let sent = send(&mut bench, busy, Span::from_seconds(1));
        assert!((125_000..=128_000).contains(&sent[0]), "{sent:?}");
        assert_eq!(sent[0] + sent[1] >= 12_500_000, busy.len() == 2);
    }
}

#[test]
fn what_an_idle_class_leaves_goes_to_the_others_by_their_shares() {
    let share = |number, share| CbqClass { share, ..class(number) };
    let mut bench = bench(vec![share(0, 0.5), share(1, 0.1), share(2, 0.4)]);
    let sent = send(&mut bench, &[(1, 1000), (2, 1000)], Span::from_seconds(1));
    // A fifth and four fifths of the link.
    assert!((sent[1] as f64 / 2.5e6 - 1.0).abs() < 0.001, "{sent:?}");
    assert!((sent[2] as f64 / 10.0e6 - 1.0).abs() < 0.001, "{sent:?}");
}

#[test]
fn the_smallest_share_is_served() {
    let mut bench = bench(vec![CbqClass { share: 1e-3, ..class(0) }, class(1)]);
    let sent = send(&mut bench, &[(0, 1000), (1, 1000)], Span::from_seconds(1));
    assert!((12_000..=14_000).contains(&sent[0]), "{sent:?}");
}

#[test]
fn the_rate_of_a_class_follows_from_its_share() {
    let shaped = CbqClass { share: 3.0, rate: Some(Rate::megabits(5)), ..class(1) };
    let config =
        CbqConfig { classes: vec![class(0), shaped, CbqClass { priority: 1, ..class(2) }], default_class: None };
    let rates = [0, 1, 2].map(|index| config.class_rate(index, LINK));
    assert_eq!(rates, [25, 5, 100].map(Rate::megabits));
    // A tenth of a bit per second: not the rate of the link.
    let classes = vec![CbqClass { share: 1e-9, ..class(0) }, class(1)];
    assert_eq!(CbqConfig { classes, default_class: None }.class_rate(0, LINK), Rate::new(1).unwrap());
}

#[test]
fn without_a_default_the_last_class_takes_what_is_unlisted() {
    let mut bench = bench(vec![class(0), class(1), class(2)]);
    bench.enqueue(Labelled::new(7, 1, 100, 77));
    assert_eq!([0, 1, 2].map(|index| bench.discipline.queues.holds(index)), [false, false, true]);
}

#[test]
fn a_class_that_slept_shares_from_now_on() {
    let mut bench = bench(vec![class(0), class(1)]);
    assert_eq!(send(&mut bench, &[(1, 1000)], Span::from_milliseconds(80)), [0, 1_000_000, 0]);
    let sent = send(&mut bench, &[(0, 1000), (1, 1000)], Span::from_milliseconds(80));
    assert!((499_000..=501_000).contains(&sent[0]), "{sent:?}");
}

#[test]
fn the_link_wakes_for_the_class_that_may_send_first() {
    // 1000 B take 0.8 ms at 10 Mb/s and 8 ms at 1 Mb/s.
    for (first, second) in [(10, 1), (1, 10)] {
        let shaped =
            |number, megabits| CbqClass { rate: Some(Rate::megabits(megabits)), burst: Bytes(0), ..class(number) };
        let inner = |number, megabits| -> Box<dyn Discipline<Labelled>> {
            let config = CbqConfig { classes: vec![shaped(number, megabits)], default_class: None };
            Box::new(Cbq::new(&config, LINK, vec![fifo()]).unwrap())
        };
        let config = CbqConfig { classes: vec![class(0), class(1)], default_class: None };
        let nested = Bench::new(Cbq::new(&config, LINK, vec![inner(0, first), inner(1, second)]).unwrap());
        for mut bench in [bench(vec![shaped(0, first), shaped(1, second)]), nested] {
            for label in 0..4 {
                bench.enqueue(Labelled::new(label, 1, 1000, label as u8 % 2));
            }
            assert!(bench.dequeue().is_some() && bench.dequeue().is_some());
            assert_eq!(bench.serve(), Served::PollAt(Time::ZERO + Span::from_microseconds(800)));
        }
    }
}

#[test]
fn each_parameter_is_checked() {
    let refused = |classes: Classes, default_class: Option<&str>| {
        let queues = classes.iter().map(|_| fifo()).collect();
        let config = CbqConfig { classes, default_class: default_class.map(Into::into) };
        Cbq::<Labelled>::new(&config, LINK, queues).err().map(|error| error.field)
    };
    assert_eq!(refused(vec![], None), Some("classes"));
    assert_eq!(refused(vec![class(0), CbqClass { classes: vec![0], ..class(1) }], None), Some("classes"));
    assert_eq!(refused(vec![class(0), class(0)], None), Some("name"));
    assert_eq!(refused(vec![CbqClass { share: 0.0, ..class(0) }], None), Some("share"));
    for (share, field) in [
        (1e-3, None),
        (1e-3 - 1e-9, Some("share")),
        // A share this small would starve its class.
        (1e-308, Some("share")),
        (1e6, None),
        (1e6 + 1e-9, Some("share")),
        (-1.0, Some("share")),
        (f64::NAN, Some("share")),
    ] {
        assert_eq!(refused(vec![class(0), CbqClass { share, ..class(1) }], None), field, "{share}");
    }
    assert_eq!(refused(vec![class(0), class(1), CbqClass { classes: vec![], ..class(0) }], None), Some("name"));
    assert_eq!(refused(vec![class(0), CbqClass { classes: vec![2, 1, 2], ..class(1) }], None), Some("classes"));
    assert_eq!(refused(vec![class(0)], Some("none")), Some("default_class"));
    // As many as there are traffic classes.
    let each = |count: u16| (0..count).map(|number| CbqClass::new(&alloc::format!("{number}"), &[], ())).collect();
    assert_eq!((refused(each(1), None), refused(each(256), None)), (None, None));
    assert_eq!((refused(each(257), None), refused(each(257), Some("0"))), (Some("classes"), Some("classes")));
}

#[test]
fn each_class_has_a_queue() {
    for (queues, field) in [(0, Some("classes")), (1, Some("classes")), (2, None), (3, Some("classes"))] {
        let config = CbqConfig { classes: vec![class(0), class(1)], default_class: None };
        let queues = (0..queues).map(|_| fifo()).collect();
        assert_eq!(Cbq::<Labelled>::new(&config, LINK, queues).err().map(|error| error.field), field);
    }
}

#[test]
fn the_last_of_256_classes_takes_its_packets() {
    let mut classes: Classes =
        (0..=255_u8).map(|number| CbqClass::new(&alloc::format!("{number}"), &[number], ())).collect();
    classes.rotate_left(1);
    let mut bench = bench(classes);
    for (traffic_class, index) in [(0, 255), (1, 0), (255, 254)] {
        bench.enqueue(Labelled::new(1, 1, 100, traffic_class));
        assert!(bench.discipline.queues.holds(index));
        assert_eq!(bench.drain(), [1]);
    }
}

/// The closed form of a shaped class, whose packets are longer and shorter.
#[test]
fn over_any_time_a_shaped_class_sends_at_most_its_burst_and_its_rate() {
    let rate = Rate::megabits(10);
    let shaped = CbqClass { rate: Some(rate), burst: Bytes(4000), ..class(0) };
    let mut bench = bench(vec![shaped]);
    let mut sent: Vec<(Time, u64)> = Vec::new();
    for label in 0..600_u32 {
        bench.enqueue(Labelled::new(label, 1, [1500, 40, 700][label as usize % 3], 0));
    }
    while sent.len() < 600 {
        match bench.serve() {
            Served::Packet(packet) => {
                let len_bytes = u64::from(packet.len_bytes());
                sent.push((bench.now, len_bytes));
                // The link is ten times faster; a pause fills the bucket again.
                let pause = if sent.len().is_multiple_of(100) { Span::from_milliseconds(5) } else { Span::ZERO };
                bench.now += LINK.transmission_time(len_bytes) + pause;
            }
            Served::PollAt(at) => bench.now = at,
            Served::Idle => panic!("packets are queued"),
        }
    }
    let mut most = 0;
    for (first, &(from, _)) in sent.iter().enumerate() {
        let mut bytes = 0;
        for &(to, len_bytes) in &sent[first..] {
            bytes += len_bytes;
            let bound = 4000 + rate.bytes_in(to.since(from));
            assert!(bytes <= bound, "{bytes} bytes, of at most {bound}, from {from:?} to {to:?}");
            most = most.max((4000 + bytes).saturating_sub(bound));
        }
    }
    // The burst is used to within a packet.
    assert!(most > 4000 - 1500, "{most}");
}
