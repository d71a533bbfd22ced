//! Transports and disciplines for networks that take any.

use std::sync::Arc;

use forebay_engine::{
    Application, ApplicationKind, Distribution, Packet, Role, SharedKind, Socket, TcpData, Transport, UdpPattern,
};
use forebay_qdisc::{
    Cbq, CbqClass, CbqConfig, Codel, CodelConfig, FqCodel, FqCodelConfig, Queue, Rate, Red, RedConfig, Span, Time,
};
use forebay_tcp::TcpConfig;
use forebay_units::{Bytes, QueueSize};
use rand_pcg::Pcg64Mcg;

use super::drop_tail;

/// Questions of one size, answers of another, and a pause. The connections take turns.
#[derive(Debug)]
struct Questions {
    question_bytes: u64,
    answer_bytes: u64,
    /// In picoseconds.
    pause: Distribution,
    connections: u32,
}

pub fn questions(question_bytes: u64, answer_bytes: u64, pause: Distribution, connections: u32) -> TcpData {
    TcpData::BothWays(SharedKind(Arc::new(Questions { question_bytes, answer_bytes, pause, connections })))
}

impl ApplicationKind for Questions {
    fn end(&self, role: Role, stream: &dyn Fn(&str) -> Pcg64Mcg, _stop: Time) -> Box<dyn Application> {
        let &Self { question_bytes, answer_bytes, ref pause, connections } = self;
        let (writes, awaits, pause) = match role {
            Role::Client => (question_bytes, answer_bytes, pause.clone()),
            Role::Server => (answer_bytes, question_bytes, Distribution::ZERO),
        };
        Box::new(Talker {
            writes,
            awaits,
            heard: vec![0; connections as usize],
            turn: 0,
            wrote: Time::ZERO,
            pause,
            rng: stream("pause"),
            next: Time::NEVER,
        })
    }

    fn connections(&self) -> u32 {
        self.connections
    }
}

/// An end that writes again a pause after it has heard enough.
struct Talker {
    writes: u64,
    awaits: u64,
    /// By connection.
    heard: Vec<u64>,
    /// The connection for what it writes next.
    turn: usize,
    wrote: Time,
    pause: Distribution,
    rng: Pcg64Mcg,
    next: Time,
}

impl Application for Talker {
    fn on_start(&mut self, socket: &mut Socket<'_, '_>) {
        self.on_timer(socket);
    }

    fn on_delivered(&mut self, socket: &mut Socket<'_, '_>) {
        let heard = &mut self.heard[socket.connection()];
        if socket.delivered_bytes() >= *heard + self.awaits {
            *heard += self.awaits;
            socket.complete_transfer(self.wrote);
            self.next = socket.now().saturating_add(self.pause.draw_span(&mut self.rng));
        }
    }

    fn on_timer(&mut self, socket: &mut Socket<'_, '_>) {
        self.next = Time::NEVER;
        self.wrote = socket.now();
        socket.turn_to(self.turn);
        socket.write(self.writes);
        self.turn = (self.turn + 1) % self.heard.len();
    }

    fn next(&self) -> Time {
        self.next
    }
}

/// TCP in bulk and with data both ways, and UDP.
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
    let pattern = UdpPattern::Poisson { rate_bps: 1e8 };
    vec![
        Transport::Tcp { config: config.clone(), data: TcpData::Unlimited },
        Transport::Tcp { config: config.clone(), data: questions(300, 20_000, Distribution::Exponential(1e8), 1) },
        Transport::Tcp { config, data: questions(300, 20_000, Distribution::Exponential(1e8), 3) },
        Transport::Tcp { config: without_sack, data: TcpData::Fixed { bytes: 300_000 } },
        Transport::Udp {
            pattern,
            length: Distribution::Uniform(40.0, 1500.0),
            header_bytes: 28,
            ecn: forebay_qdisc::Ecn::Capable0,
            call: None,
        },
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
    Queue::Discipline(Box::new(Cbq::new(&config, rate, vec![drop_tail(20).into_discipline()]).unwrap()))
}

/// One of each kind that behaves otherwise: marks, drops what it has let in, keeps flows apart, holds back.
pub const DISCIPLINES: [fn(Rate) -> Queue<Packet>; 4] = [red, codel, fq_codel, shaper];
