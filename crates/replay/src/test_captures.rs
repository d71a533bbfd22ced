//! Captures made by hand.

use std::io::Write;

use etherparse::PacketBuilder;
use flate2::{Compression, write::GzEncoder};

use crate::{CaptureError, CaptureReader, CapturedFrame};

/// The capture of the examples.
pub const EXAMPLE: &[u8] = include_bytes!("../../../examples/belligerent.pcap.gz");

/// Byte order and timestamps of a pcap file made by hand.
#[derive(Clone, Copy)]
pub struct Form {
    pub big_endian: bool,
    pub nanoseconds: bool,
    pub link_type: u32,
}

pub const ETHERNET: Form = Form { big_endian: false, nanoseconds: false, link_type: 1 };

/// A pcap file: each packet is (seconds, fraction, original length or 0 for the captured one, captured bytes).
pub fn pcap(form: Form, packets: &[(u32, u32, u32, &[u8])]) -> Vec<u8> {
    let mut file = Vec::new();
    let put = |file: &mut Vec<u8>, value: u32| {
        file.extend_from_slice(&if form.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    };
    put(&mut file, if form.nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 });
    file.extend_from_slice(if form.big_endian { &[0, 2, 0, 4] } else { &[2, 0, 4, 0] });
    for value in [0, 0, 65_535, form.link_type] {
        put(&mut file, value);
    }
    for &(seconds, fraction, original, data) in packets {
        let captured = data.len() as u32;
        for value in [seconds, fraction, captured, if original == 0 { captured } else { original }] {
            put(&mut file, value);
        }
        file.extend_from_slice(data);
    }
    file
}

/// Code and value of an option of a pcapng block.
pub type BlockOption<'a> = (u16, &'a [u8]);

/// One pcapng block of that byte order.
pub fn block(big_endian: bool, block_type: u32, body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 12) as u32;
    let [block_type, length] =
        [block_type, length].map(|value| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    [&block_type, &length, body, &length].concat()
}

/// A pcapng file of one interface with those options and one packet.
pub fn pcapng(big_endian: bool, options: &[BlockOption<'_>], timestamp: u64, frame: &[u8]) -> Vec<u8> {
    let u16_bytes = |value: u16| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let u32_bytes = |value: u32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let section = [&u32_bytes(0x1a2b_3c4d)[..], &u16_bytes(1), &u16_bytes(0), &[0xff; 8]].concat();
    let mut interface = [&u16_bytes(1)[..], &[0; 2], &u32_bytes(0)].concat();
    for (code, value) in options.iter().chain([&(0, &[][..])]) {
        interface.extend_from_slice(&u16_bytes(*code));
        interface.extend_from_slice(&u16_bytes(value.len() as u16));
        interface.extend_from_slice(value);
        interface.resize(interface.len().next_multiple_of(4), 0);
    }
    let mut packet = Vec::new();
    for value in [0, (timestamp >> 32) as u32, timestamp as u32, frame.len() as u32, frame.len() as u32] {
        packet.extend_from_slice(&u32_bytes(value));
    }
    packet.extend_from_slice(frame);
    packet.resize(packet.len().next_multiple_of(4), 0);
    [block(big_endian, 0x0a0d_0d0a, &section), block(big_endian, 1, &interface), block(big_endian, 6, &packet)].concat()
}

pub fn udp_frame(source_port: u16, destination_port: u16, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
    let mut frame = Vec::new();
    builder.udp(source_port, destination_port).write(&mut frame, payload).unwrap();
    frame
}

pub fn frames(file: &[u8]) -> Result<Vec<CapturedFrame>, CaptureError> {
    let mut reader = CaptureReader::new(file)?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        frames.push(frame);
    }
    Ok(frames)
}

pub fn gunzip(file: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut plain).unwrap();
    plain
}

pub fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}
