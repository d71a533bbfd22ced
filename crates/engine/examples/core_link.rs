use forebay_engine::*;
use forebay_qdisc::*;
use forebay_tcp::TcpConfig;
struct Limit(u64);
impl Admission for Limit {
    fn admit(&mut self, _a: &Arrival, o: &mut Offer<'_>) -> Verdict {
        if o.backlog.packets >= self.0 { Verdict::Drop(DropReason::Overflow) } else { Verdict::Enqueue(Ticket(0)) }
    }
}
fn main() {
    let mut args = std::env::args().skip(1);
    let flows: u64 = args.next().unwrap().parse().unwrap();
    let core: u64 = args.next().unwrap().parse().unwrap();
    let access: u64 = args.next().unwrap().parse().unwrap();
    let seconds: u64 = args.next().unwrap().parse().unwrap();
    let limit: u64 = args.next().unwrap().parse().unwrap();
    let delay_us: u64 = args.next().unwrap().parse().unwrap();
    let udp: u64 = args.next().unwrap().parse().unwrap();
    let nofuse = args.next().is_some();
    let mut b = NetworkBuilder::new(1, Time::ZERO, Time::ZERO + Span::from_seconds(seconds), Probes::default());
    let link = |name: String, rate: u64, prop: Span, q: Option<u64>| LinkSpec {
        name, rate: Rate::megabits(rate), propagation: prop,
        queue: q.map(|l| ("drop_tail".to_string(), Queue::Law(Box::new(Limit(l)) as Box<dyn Admission>))),
        loss: 0.0, far_input_port: 0, trace: None, watched_flows: vec![],
    };
    let d = Span::from_microseconds(delay_us);
    let bott = b.add_link(link("b".into(), core, d, Some(limit)));
    let rev = b.add_link(link("r".into(), core, d, None));
    for i in 0..flows + udp {
        let dd = Span::from_microseconds(delay_us / 2 + i * delay_us / flows / 2);
        let a = b.add_link(link(format!("a{i}"), access, dd, None));
        let ab = b.add_link(link(format!("ab{i}"), access, dd, None));
        let s = b.add_link(link(format!("s{i}"), access, dd, None));
        let sb = b.add_link(link(format!("sb{i}"), access, dd, None));
        let transport = if i < flows {
            Transport::Tcp { config: TcpConfig::ns2(64), application: Application::Unlimited }
        } else {
            Transport::Udp { pattern: UdpPattern::Constant { rate_bps: access as f64 * 1e6, jitter: 0.0, random_phase: false }, length: Distribution::Constant(1000.0), header_bytes: 0, ecn: false }
        };
        b.add_flow(FlowSpec { name: format!("f{i}"), group: "f".into(), transport, forward: vec![a, bott, s], backward: vec![sb, rev, ab],
            start: Time::from_picoseconds(i * 1_000_000_000_000 / (flows + udp)), stop: Time::NEVER, class: 0 });
    }
    let mut n = b.build().unwrap();
    if nofuse { n.without_fusion(); }
    let r = n.run(&mut |_| true).unwrap();
    let e = r.engine;
    println!("hops {} events {} cpu {:.3} Mhops/s {:.2} rss {:.1} MB util {:.3} drops {} digest {}", e.packet_hops, e.events, e.cpu_s, e.packet_hops as f64 / e.cpu_s / 1e6, e.peak_rss_bytes as f64 / 1e6, r.links.floats("utilization")[0], r.queues.counts("packets_dropped")[0], r.digest);
}
