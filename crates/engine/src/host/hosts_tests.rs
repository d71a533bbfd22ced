//! A group of hosts by itself, with endpoints that write down what happens to them. A packet takes a millisecond.

use std::sync::{Arc, Mutex};

use forebay_qdisc::Rate;

use super::*;
use crate::driver::one_node::{OneNode, at, packet};
use crate::driver::routes::Way;
use crate::host::endpoint::Endpoint;

/// When something happened in microseconds, and a packet's flow or the name of a timer.
type Log = Arc<Mutex<Vec<(u64, String)>>>;

/// Writes down its packets. Sends a packet of its flow when its timer expires.
struct Recorder {
    flow: u32,
    timer: Time,
    log: Log,
}

impl Recorder {
    fn write(&self, time: Time, text: String) {
        self.log.lock().expect("no panic").push((time.picoseconds() / 1_000_000, text));
    }
}

impl Endpoint for Recorder {
    fn next(&self) -> Time {
        self.timer
    }

    fn receive(&mut self, packet: &Packet, _out: &mut Outbox<'_>) {
        self.write(packet.time, format!("packet {}", packet.flow_id()));
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        assert!(self.timer <= now);
        let timer = std::mem::replace(&mut self.timer, Time::NEVER);
        self.write(timer, format!("timer {}", self.flow));
        out.send(packet(timer, self.flow));
    }

    fn finish(&mut self, _end: Time, _report: &mut Report) {}
}

/// Hosts with endpoints of these (flow, time of the timer in microseconds). Flows 0 and 1 end at the first two
/// endpoints of the first host, 2 and 3 at the second host. A first host with a downlink is a millisecond further away.
fn bench(hosts_of: &[&[(u32, u64)]], has_downlink: bool) -> (OneNode, Log) {
    let log = Log::default();
    let plan = |endpoints: &[(u32, u64)], is_far: bool| HostPlan {
        node: 0,
        downlink: is_far.then_some(0),
        uplink: None,
        endpoints: endpoints.iter().map(|&(flow, _)| flow).collect(),
        first_input: 0,
        distance: if is_far { Span::from_milliseconds(1) } else { Span::ZERO },
    };
    let plans = hosts_of.iter().zip(0..).map(|(endpoints, host)| plan(endpoints, has_downlink && host == 0)).collect();
    let timers: Vec<(u32, u64)> = hosts_of.concat();
    let make = |plan: &HostPlan| {
        let endpoint = |flow: &u32| {
            let (_, timer_us) = timers.iter().find(|(of, _)| of == flow).expect("a timer");
            let recorder = Recorder { flow: *flow, timer: at(*timer_us), log: Arc::clone(&log) };
            AnyEndpoint::Other(Box::new(recorder))
        };
        Ok(HostParts {
            downlink: plan.downlink.map(|number| Link::new(number, Rate::megabits(8), Span::ZERO, 0, Way::to(0))),
            uplink: None,
            ports: NodePorts { way: Way::to(1), first_input: 0 },
            path: None,
            endpoints: plan.endpoints.iter().map(endpoint).collect(),
            salts: plan.endpoints.clone(),
        })
    };
    let first = |host: usize| hosts_of.iter().take(host).map(|endpoints| endpoints.len() as u32).sum::<u32>();
    let place = |(host, endpoint): (usize, u32)| {
        let is_there = hosts_of.get(host).is_some_and(|endpoints| endpoints.len() > endpoint as usize);
        if is_there { first(host) + endpoint } else { NONE }
    };
    let endpoint_of: Arc<[u32]> = [(0, 0), (0, 1), (1, 0), (1, 1)].map(place).iter().flat_map(|&at| [at, at]).collect();
    let node = hosts(plans, make, |_| None, endpoint_of).unwrap_or_else(|error| panic!("{error}"));
    let mut bench = OneNode::new(node, [1, 2], 1);
    bench.node.start(0, &mut bench.channels);
    (bench, log)
}

fn written(log: &Log) -> Vec<(u64, String)> {
    log.lock().expect("no panic").clone()
}

fn texts(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    expected.iter().map(|&(microseconds, text)| (microseconds, text.to_owned())).collect()
}

#[test]
fn the_timers_of_a_host_come_before_a_packet_of_the_same_instant() {
    let (mut bench, log) = bench(&[&[(0, 700), (1, 500)]], false);
    bench.arrive(500, 0, 0);
    bench.arrive(500, 1, 1);
    let sent = bench.run(1000);
    let all = written(&log);
    assert_eq!(all[0], (500, "timer 1".to_owned()));
    assert_eq!(all.len(), 4);
    assert_eq!(all[3], (700, "timer 0".to_owned()));
    assert_eq!(sent, [(1, 500, 1), (1, 700, 0)]);
}

#[test]
fn a_host_behind_a_downlink_is_ahead_of_the_packets_that_enter_it() {
    let (mut bench, log) = bench(&[&[(0, 1200), (1, 900)], &[(2, 150)]], true);
    bench.arrive(0, 0, 0);
    bench.arrive(100, 1, 2);
    // Nothing can come to the first host before 1100 us any more.
    bench.run(101);
    assert_eq!(written(&log), texts(&[(900, "timer 1"), (1000, "packet 0"), (100, "packet 2")]));
    bench.run(400);
    assert_eq!(written(&log)[3..], texts(&[(150, "timer 2"), (1200, "timer 0")]));
}

#[test]
fn a_packet_on_a_downlink_at_the_end_is_in_flight() {
    let (mut bench, log) = bench(&[&[(0, 2_000_000)]], true);
    bench.arrive(999_500, 0, 0);
    bench.run(1_000_000);
    assert_eq!(written(&log), []);
    bench.finish(&["downlink"]).unwrap_or_else(|error| panic!("{error}"));
}
