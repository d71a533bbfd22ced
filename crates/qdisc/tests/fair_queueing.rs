//! Bounds of fair queueing against the fluid server.

use forebay_qdisc::{ClassWeight, Cx, Discipline, Drr, DrrConfig, FlowKey, Rate, Served, Span, Time, Wfq, WfqConfig};
use forebay_testkit::{FluidArrival, Recorder, TestPacket, gps_finish_times_s};
use forebay_units::{Bytes, QueueSize};
use proptest::prelude::*;
use rand_pcg::Pcg64Mcg;

const WEIGHTS: [f64; 4] = [1.0, 2.0, 0.5, 4.0];
const LONGEST: u32 = 1500;

/// 8 Mb/s: a byte a microsecond.
const LINK: Rate = Rate::megabits(8);

/// A packet of `flow`, whose class is its flow.
fn packet(id: u64, flow: usize, len_bytes: u32) -> TestPacket {
    TestPacket { id, flow: FlowKey(flow as u64), len_bytes, class: flow as u8, ..TestPacket::default() }
}

fn weights() -> Vec<ClassWeight> {
    (0_u8..).zip(WEIGHTS).map(|(class, weight)| ClassWeight { class, weight }).collect()
}

/// When each packet's last bit has left a link of [`LINK`] behind `discipline`; arrivals are (time in us, flow, bytes).
fn finish_times_s(discipline: &mut dyn Discipline<TestPacket>, arrivals: &[(u64, usize, u32)]) -> Vec<f64> {
    let mut rng = Pcg64Mcg::new(1);
    let mut recorder = Recorder::default();
    let mut finish = vec![f64::NAN; arrivals.len()];
    let mut pending = arrivals.iter().enumerate().peekable();
    let mut free_at = Time::ZERO;
    loop {
        let due = pending.peek().map(|(_, (at_us, ..))| Time::ZERO + Span::from_microseconds(*at_us));
        match due {
            Some(at) if at <= free_at || discipline.backlog().packets == 0 => {
                let Some((id, (_, flow, len_bytes))) = pending.next() else { return finish };
                let mut cx = Cx { now: at, rng: &mut rng, sink: &mut recorder };
                discipline.enqueue(packet(id as u64, *flow, *len_bytes), &mut cx);
                free_at = free_at.max(at);
            }
            _ => {
                let mut cx = Cx { now: free_at, rng: &mut rng, sink: &mut recorder };
                let Some(packet) = discipline.dequeue(&mut cx).packet() else { return finish };
                free_at += LINK.transmission_time(u64::from(packet.len_bytes));
                finish[packet.id as usize] = free_at.seconds();
                // A link that finds nothing more goes idle at the end of this transmission.
                let next = pending.peek().map(|(_, (at_us, ..))| Time::ZERO + Span::from_microseconds(*at_us));
                if discipline.backlog().packets == 0 && next.is_none_or(|at| at > free_at) {
                    let mut cx = Cx { now: free_at, rng: &mut rng, sink: &mut recorder };
                    assert_eq!(discipline.dequeue(&mut cx), Served::Idle);
                }
            }
        }
    }
}

proptest! {
    /// Parekh and Gallager, theorem 1: no packet leaves later than in the fluid server by more than Lmax / C.
    #[test]
    fn wfq_is_never_a_packet_behind_the_fluid_server(
        gaps in prop::collection::vec((0_u64..3000, 0_usize..4, 40..=LONGEST), 1..120),
    ) {
        let mut at_us = 0;
        let arrivals: Vec<(u64, usize, u32)> = gaps.into_iter().map(|(gap, flow, bytes)| {
            at_us += gap;
            (at_us, flow, bytes)
        }).collect();
        let fluid: Vec<FluidArrival> = arrivals
            .iter()
            .map(|&(at_us, flow, bytes)| FluidArrival { at_s: at_us as f64 / 1e6, flow, bytes: f64::from(bytes) })
            .collect();
        let ideal = gps_finish_times_s(&fluid, &WEIGHTS, LINK.bytes_per_second());
        let config = WfqConfig { limit: QueueSize::Packets(1000), weights: weights() };
        let real = finish_times_s(&mut Wfq::new(&config, LINK, 3).unwrap(), &arrivals);
        let bound = f64::from(LONGEST) / LINK.bytes_per_second();
        for (packet, (real, ideal)) in real.iter().zip(&ideal).enumerate() {
            prop_assert!(real - ideal <= bound + 1e-9, "packet {packet}: {real} s, in the fluid {ideal} s");
        }
    }

    /// Shreedhar and Varghese, theorem 2. Over any interval in which two flows are busy throughout, their bytes divided
    /// by their weights differ by at most a quantum and a longest packet of each (over its weight).
    #[test]
    fn drr_is_fair_to_within_its_bound(
        sizes in prop::collection::vec(prop::array::uniform4(40..=LONGEST), 2..60),
        half_quantum in 1_u64..4000,
    ) {
        // Even, so that half of it, for the weight of 0.5, is exact.
        let quantum = 2 * half_quantum;
        let config = DrrConfig { quantum: Bytes(quantum), weights: weights(), ..DrrConfig::default() };
        let mut drr = Drr::new(&config, LINK, 3).unwrap();
        let mut rng = Pcg64Mcg::new(1);
        let mut recorder = Recorder::default();
        let mut cx = Cx { now: Time::ZERO, rng: &mut rng, sink: &mut recorder };
        for (id, sizes) in sizes.iter().enumerate() {
            for (flow, len_bytes) in sizes.iter().enumerate() {
                drr.enqueue(packet(id as u64, flow, *len_bytes), &mut cx);
            }
        }
        // The lead of each flow over each other, at least and at most so far; the range bounds that of any interval.
        let mut left = [sizes.len(); 4];
        let mut shares = [0.0; 4];
        let mut ahead = [[(0.0_f64, 0.0_f64); 4]; 4];
        while left.iter().all(|packets| *packets > 0) {
            let packet = drr.dequeue(&mut cx).packet().unwrap();
            let served = usize::from(packet.class);
            left[served] -= 1;
            shares[served] += f64::from(packet.len_bytes) / WEIGHTS[served];
            for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
                let (least, most) = &mut ahead[i][j];
                *least = least.min(shares[i] - shares[j]);
                *most = most.max(shares[i] - shares[j]);
                let bound = quantum as f64 + f64::from(LONGEST) * (1.0 / WEIGHTS[i] + 1.0 / WEIGHTS[j]);
                prop_assert!(*most - *least <= bound + 1e-6, "flows {i} and {j}: {least} to {most}, bound {bound}");
            }
        }
    }
}
