//! Transports and disciplines for networks that take any.

use forebay_engine::{Application, Distribution, Packet, Transport, UdpPattern};
use forebay_qdisc::{
    Cbq, CbqClass, CbqConfig, Codel, CodelConfig, FqCodel, FqCodelConfig, Queue, Rate, Red, RedConfig, Span,
};
use forebay_tcp::TcpConfig;
use forebay_units::{Bytes, QueueSize};

use super::drop_tail;

/// TCP in bulk and in conversations, and UDP.
pub fn transports() -> Vec<Transport> {
    let min_rto = Span::from_microseconds(100);
    let config = TcpConfig {
        segment: Bytes(1500),
        ecn: true,
        delayed_ack: true,
        min_rto,
        initial_rto: min_rto,
        ..TcpConfig::default()
    };
    let without_sack = TcpConfig { sack: false, ecn: false, ..config.clone() };
    let conversation = Application::RequestResponse {
        request_bytes: 300,
        response: Distribution::Constant(20_000.0),
        think: Distribution::Exponential(1e8),
    };
    let pattern = UdpPattern::Poisson { rate_bps: 1e8 };
    vec![
        Transport::Tcp { config: config.clone(), application: Application::Unlimited },
        Transport::Tcp { config, application: conversation },
        Transport::Tcp { config: without_sack, application: Application::Fixed { bytes: 300_000 } },
        Transport::Udp { pattern, length: Distribution::Uniform(40.0, 1500.0), header_bytes: 28, ecn: true },
    ]
}

pub fn red(rate: Rate) -> Queue<Packet> {
    let config = RedConfig { ecn: true, ..RedConfig::default() };
    Queue::Law(Box::new(Red::new(&config, rate, 1).unwrap()))
}

pub fn codel(rate: Rate) -> Queue<Packet> {
    let (target, interval) = (Span::from_microseconds(5), Span::from_microseconds(50));
    let config = CodelConfig { target, interval, ..CodelConfig::default() };
    Queue::Discipline(Box::new(Codel::new(&config, rate, 1).unwrap()))
}

pub fn fq_codel(rate: Rate) -> Queue<Packet> {
    let config = FqCodelConfig { limit: QueueSize::Packets(40), flows: 4, ..FqCodelConfig::default() };
    Queue::Discipline(Box::new(FqCodel::new(&config, rate, 1).unwrap()))
}

/// Holds packets back although the link is free.
pub fn shaper(rate: Rate) -> Queue<Packet> {
    let shaped = Rate::megabits((rate.bits_per_second() / 3_000_000).max(1));
    let class = CbqClass { rate: Some(shaped), ..CbqClass::new("all", &[0, 1, 2], ()) };
    let config = CbqConfig { classes: vec![class], default_class: None };
    Queue::Discipline(Box::new(Cbq::new(&config, vec![drop_tail(20).into_discipline()]).unwrap()))
}

/// One of each kind that behaves otherwise: marks, drops what it has let in, keeps flows apart, holds back.
pub const DISCIPLINES: [fn(Rate) -> Queue<Packet>; 4] = [red, codel, fq_codel, shaper];
