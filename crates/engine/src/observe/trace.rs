//! Traces of a link: every packet as its transmission ends.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::Arc;

use forebay_qdisc::Time;
use forebay_records::pcapng::{PcapngWriter, TcpFlags, TracePacket, TraceTransport};

use crate::error::RunError;
use crate::packet::side_tables::SideTables;
use crate::packet::{Packet, flags};

/// Where and how a link's packets are recorded.
#[derive(Clone, Debug)]
pub struct TraceSpec {
    /// The pcapng file.
    pub path: PathBuf,
    /// Bytes kept of each packet; 0 keeps all.
    pub snaplen: u32,
}

/// The default is a flow without TCP headers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TracedFlow {
    pub is_tcp: bool,
    /// Header bytes of a data packet in the simulation.
    pub header_bytes: u16,
    /// Length of a packet without payload, of TCP.
    pub bare_len_bytes: u16,
}

pub(crate) struct Tracer {
    path: PathBuf,
    writer: PcapngWriter<BufWriter<File>>,
    flows: Arc<[TracedFlow]>,
    failure: Option<io::Error>,
}

/// Made up: simulated receivers take whatever comes.
const WINDOW_BYTES: u32 = 1 << 20;

/// A SYN of this length has room for the option that scales windows.
const SCALED_LEN_BYTES: u16 = 20 + 20 + 4;

impl Tracer {
    pub fn open(spec: TraceSpec, link: &str, flows: Arc<[TracedFlow]>) -> Result<Self, RunError> {
        let TraceSpec { path, snaplen } = spec;
        let writer = File::create(&path).and_then(|file| PcapngWriter::new(BufWriter::new(file), &[link], snaplen));
        match writer {
            Ok(writer) => Ok(Self { path, writer, flows, failure: None }),
            Err(reason) => Err(trace_error(&path, reason)),
        }
    }

    /// `at` is the end of the transmission.
    pub fn record(&mut self, packet: &Packet, at: Time, tables: &SideTables) {
        let flow = self.flows[packet.flow_id() as usize];
        let (data_host, ack_host) = (packet.flow_id() * 2, packet.flow_id() * 2 + 1);
        let from_source = !packet.is_ack();
        let (source_host, destination_host) = if from_source { (data_host, ack_host) } else { (ack_host, data_host) };
        // Ephemeral at the source, fixed at the destination.
        let ports = (49_152 + (packet.flow_id() % 16_384) as u16, 5_001);
        let (source_port, destination_port) = if from_source { ports } else { (ports.1, ports.0) };
        let blocks: Vec<(u32, u32)> = tables
            .options_of(packet)
            .map(|options| options.sack.iter().map(|(l, r)| (l as u32, r as u32)).collect())
            .unwrap_or_default();
        let transport = if flow.is_tcp { tcp_header(packet, flow, &blocks) } else { TraceTransport::Udp };
        let traced = TracePacket {
            source_host,
            destination_host,
            source_port,
            destination_port,
            traffic_class: packet.class() << 2 | packet.ecn().codepoint(),
            len_bytes: packet.len_bytes() as u16,
            transport,
        };
        if self.failure.is_none() {
            self.failure = self.writer.packet(0, at, &traced).err();
        }
    }

    pub fn close(self) -> Result<(), RunError> {
        let Self { path, writer, failure, .. } = self;
        let written = match failure {
            Some(reason) => Err(reason),
            None => writer.finish().and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error)),
        };
        written.map(drop).map_err(|reason| trace_error(&path, reason))
    }
}

/// The receiver sends no data: its sequence number is that of its SYN, then 1.
fn tcp_header<'a>(packet: &Packet, flow: TracedFlow, sack: &'a [(u32, u32)]) -> TraceTransport<'a> {
    let has = |flag: u8| packet.has(flag);
    let syn = has(flags::SYN);
    let (sequence, acknowledgement) =
        if packet.is_ack() { (u32::from(!syn), packet.number()) } else { (packet.number(), u32::from(!syn)) };
    let header_flags = TcpFlags {
        syn,
        ack: packet.is_ack() || !syn,
        fin: has(flags::FIN),
        ece: has(flags::ECE) || has(flags::ECN_SETUP),
        cwr: has(flags::CWR) || has(flags::ECN_SETUP),
        ae: has(flags::AE),
    };
    let bare = packet.is_ack() || packet.has(flags::SYN | flags::FIN);
    let payload_bytes = if bare { 0 } else { (packet.len_bytes() as u16).saturating_sub(flow.header_bytes) };
    let scaled = flow.bare_len_bytes >= SCALED_LEN_BYTES;
    TraceTransport::Tcp {
        sequence,
        acknowledgement,
        flags: header_flags,
        payload_bytes,
        window_bytes: WINDOW_BYTES,
        scaled,
        sack,
    }
}

fn trace_error(path: &std::path::Path, reason: io::Error) -> RunError {
    RunError::Write { path: path.display().to_string(), reason }
}
