//! An AF_XDP socket in copy mode: its memory, its four rings, and the program that redirects an interface's frames to
//! it.
#![allow(unsafe_code, reason = "memory that the kernel writes, and its registration")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use forebay_units::Span;
use rustix::io::Errno;
use rustix::net::xdp::{SocketAddrXdp, SocketAddrXdpFlags, XdpUmemReg, XdpUmemRegFlags};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketType, sockopt};

use super::mapping::Mapping;
use super::xdp_ring::{Consumer, Producer};
use super::{bpf, clock, socket};

/// The space that the kernel keeps free in front of a received frame.
const HEADROOM: u32 = 256;
/// The longest time that the kernel takes to release a queue.
const RELEASE: Span = Span::from_milliseconds(500);
/// Frames that one call sends in copy mode.
const MOST_AT_ONCE: usize = 32;

/// A call that failed, and how.
pub(crate) type Failed = (&'static str, io::Error);

/// The division of the memory: first the chunks to receive into, then those to send from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Frames in memory, in the fill ring and in the receive ring: a power of two.
    pub(crate) receive_frames: u32,
    /// The same for sending.
    pub(crate) send_frames: u32,
    /// 2048, or a page.
    pub(crate) chunk_bytes: u32,
}

impl Plan {
    /// The plan with chunks that hold frames of `frame_bytes`; none where a page does not.
    pub(crate) fn new(receive_frames: u32, send_frames: u32, frame_bytes: usize) -> Option<Self> {
        let power = |frames: u32| frames.clamp(64, 1 << 20).next_power_of_two();
        let chunk_bytes = [2048, 4096].into_iter().find(|chunk| (chunk - HEADROOM) as usize >= frame_bytes)?;
        Some(Self { receive_frames: power(receive_frames), send_frames: power(send_frames), chunk_bytes })
    }

    const fn bytes(self) -> usize {
        (self.receive_frames as usize + self.send_frames as usize) * self.chunk_bytes as usize
    }

    /// The offset of the part for sending.
    const fn send_start(self) -> u64 {
        self.receive_frames as u64 * self.chunk_bytes as u64
    }
}

/// The half that receives: the only one to touch the first part of the memory and the fill and receive rings.
pub(crate) struct Receiving {
    /// Detaches the program when closed.
    link: Option<OwnedFd>,
    fill: Producer<u64>,
    received: Consumer<libc::xdp_desc>,
    memory: Arc<Mapping>,
    socket: Arc<OwnedFd>,
    plan: Plan,
}

/// The half that sends: the only one to touch the second part and the send and completion rings.
pub(crate) struct Sending {
    send: Producer<libc::xdp_desc>,
    completed: Consumer<u64>,
    /// Unused chunks.
    free: Vec<u64>,
    memory: Arc<Mapping>,
    socket: Arc<OwnedFd>,
    plan: Plan,
}

/// Opens a socket for queue 0 of the interface `index`. Nothing comes to it before [`Receiving::attach`].
pub(crate) fn open(plan: Plan, index: u32) -> Result<(Receiving, Sending), Failed> {
    let socket = socket::open(AddressFamily::XDP, SocketType::RAW).map_err(|error| ("socket(AF_XDP)", error))?;
    let memory = Mapping::anonymous(plan.bytes()).map_err(|error| ("mmap", error))?;
    register(socket.as_fd(), &memory, plan).map_err(|error| ("setsockopt(XDP_UMEM_REG)", error))?;
    size_rings(&socket, plan).map_err(|error| ("setsockopt(XDP rings)", error.into()))?;
    // Chunks on their way to be sent count against this: it may be all of them.
    let bytes = plan.send_frames.saturating_mul(plan.chunk_bytes * 2).min(i32::MAX as u32).cast_signed();
    socket::set_number(socket.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes)
        .map_err(|error| ("setsockopt(SO_SNDBUFFORCE)", error))?;
    let halves = map(socket, memory, plan).map_err(|error| ("mmap(XDP rings)", error))?;
    bind(halves.0.socket.as_fd(), index).map_err(|error| ("bind(AF_XDP)", error))?;
    Ok(halves)
}

fn size_rings(socket: &OwnedFd, plan: Plan) -> Result<(), Errno> {
    sockopt::set_xdp_umem_fill_ring_size(socket, plan.receive_frames)?;
    sockopt::set_xdp_umem_completion_ring_size(socket, plan.send_frames)?;
    sockopt::set_xdp_rx_ring_size(socket, plan.receive_frames)?;
    sockopt::set_xdp_tx_ring_size(socket, plan.send_frames)
}

/// Binds the socket to queue 0 of the interface `index`. The kernel lets go of a queue some time after the socket that
/// had it was closed; so that a program can be started again at once, that is waited for.
fn bind(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let address = SocketAddrXdp::new(SocketAddrXdpFlags::XDP_COPY, index, 0);
    let end = clock::now() + RELEASE;
    loop {
        match net::bind(socket, &address) {
            Err(Errno::BUSY) if clock::now() < end => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            result => return Ok(result?),
        }
    }
}

/// Tells the kernel the memory for frames. It writes to this memory, which nothing but `Receiving` and `Sending` use,
/// each only those chunks that the rings say are its own; it holds the pages beyond an unmapping.
fn register(socket: BorrowedFd<'_>, memory: &Mapping, plan: Plan) -> io::Result<()> {
    let registration = XdpUmemReg {
        addr: memory.address(),
        len: memory.bytes() as u64,
        chunk_size: plan.chunk_bytes,
        headroom: 0,
        flags: XdpUmemRegFlags::empty(),
        tx_metadata_len: 0,
    };
    Ok(sockopt::set_xdp_umem_reg(socket, registration)?)
}

/// Maps the rings, and gives the kernel all chunks to receive into.
fn map(socket: OwnedFd, memory: Mapping, plan: Plan) -> io::Result<(Receiving, Sending)> {
    let at = sockopt::xdp_mmap_offsets(&socket)?;
    let fd = socket.as_fd();
    let (receive, send) = (plan.receive_frames, plan.send_frames);
    let mut fill = Producer::map(fd, receive, at.fr, libc::XDP_UMEM_PGOFF_FILL_RING)?;
    let received = Consumer::map(fd, receive, at.rx, libc::XDP_PGOFF_RX_RING.cast_unsigned())?;
    let completed = Consumer::map(fd, send, at.cr, libc::XDP_UMEM_PGOFF_COMPLETION_RING)?;
    let transmit = Producer::map(fd, send, at.tx, libc::XDP_PGOFF_TX_RING.cast_unsigned())?;
    for frame in 0..receive {
        fill.write(frame, u64::from(frame) * u64::from(plan.chunk_bytes));
    }
    fill.submit(receive);
    let free = (0..send).map(|frame| plan.send_start() + u64::from(frame) * u64::from(plan.chunk_bytes)).collect();
    let (memory, socket) = (Arc::new(memory), Arc::new(socket));
    let receiving = Receiving { link: None, fill, received, memory: memory.clone(), socket: socket.clone(), plan };
    Ok((receiving, Sending { send: transmit, completed, free, memory, socket, plan }))
}

impl Receiving {
    /// Lets the frames of the interface `index` come here, until this is dropped or the process dies.
    pub(crate) fn attach(&mut self, index: u32) -> Result<(), Failed> {
        let map = bpf::socket_map().map_err(|error| ("bpf(BPF_MAP_CREATE)", error))?;
        bpf::put_socket(map.as_fd(), self.socket.as_fd()).map_err(|error| ("bpf(BPF_MAP_UPDATE_ELEM)", error))?;
        let program = bpf::redirect_program(map.as_fd()).map_err(|error| ("bpf(BPF_PROG_LOAD)", error))?;
        let link =
            bpf::attach(bpf::Place::Xdp, program.as_fd(), index).map_err(|error| ("bpf(BPF_LINK_CREATE)", error))?;
        // The link holds the program, and the program the map.
        self.link = Some(link);
        Ok(())
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Shows up to `most` frames that are there, in order, and gives their chunks back. Returns how many.
    pub(crate) fn show(&mut self, most: usize, mut take: impl FnMut(&[u8])) -> usize {
        let count = self.received.filled().min(u32::try_from(most).unwrap_or(u32::MAX));
        // As many entries as chunks: there is always room for those that are here.
        let count = count.min(self.fill.room(count));
        for ahead in 0..count {
            let descriptor = self.received.read(ahead);
            // Prefetches the next frame while this one is forwarded.
            if ahead + 1 < count {
                let next = self.received.read(ahead + 1);
                self.memory.prefetch(next.addr as usize, next.len as usize);
            }
            if descriptor.addr + u64::from(descriptor.len) <= self.plan.send_start() {
                // SAFETY: the kernel has given us this chunk, gets it back after the slice's end, and the other half
                // does not use this part.
                take(unsafe { self.memory.slice(descriptor.addr as usize, descriptor.len as usize) });
            }
            self.fill.write(ahead, descriptor.addr - descriptor.addr % u64::from(self.plan.chunk_bytes));
        }
        if count > 0 {
            self.received.give_back(count);
            self.fill.submit(count);
        }
        count as usize
    }

    /// An error where the interface is gone or down.
    pub(crate) fn check(&self) -> io::Result<()> {
        match net::recv(&*self.socket, &mut [0_u8; 0], RecvFlags::DONTWAIT) {
            // Kernels before 5.11 do not answer.
            Err(Errno::OPNOTSUPP) | Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Frames that came and found no room, since the start.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        let statistics = sockopt::xdp_statistics(&*self.socket)?;
        Ok(statistics.rx_dropped + statistics.rx_ring_full.unwrap_or(0))
    }
}

impl Sending {
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends frames of at most a chunk's length, in order; returns how many were taken. Those of them that the kernel
    /// had no room for yet go with the next call, or when the socket is polled.
    pub(crate) fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        if self.send.waiting() > 0 {
            self.push()?;
            if self.send.waiting() > 0 {
                return Ok(0);
            }
        }
        let mut taken = 0;
        for batch in frames.chunks(MOST_AT_ONCE) {
            let count = self.put(batch);
            taken += count;
            // The next call returns the error, as these frames are taken already.
            if count > 0 && self.push().is_err() || count < batch.len() || self.send.waiting() > 0 {
                break;
            }
        }
        Ok(taken)
    }

    /// Copies frames into free chunks and hands them to the kernel; returns how many.
    fn put(&mut self, frames: &[&[u8]]) -> usize {
        // Each time, so that the same few chunks are used again and again, which the processor's cache still has.
        self.reclaim();
        let room = self.send.room(MOST_AT_ONCE as u32);
        let mut count = 0;
        for frame in frames.iter().take(room as usize) {
            debug_assert!(frame.len() <= self.plan.chunk_bytes as usize, "the caller refuses it");
            let Some(chunk) = self.free.pop() else { break };
            // SAFETY: a free chunk of this half's part: the kernel has completed it or never had it.
            unsafe { self.memory.write(chunk as usize, frame) };
            self.send.write(count, libc::xdp_desc { addr: chunk, len: frame.len() as u32, options: 0 });
            count += 1;
        }
        self.send.submit(count);
        count as usize
    }

    /// Takes back the chunks whose frames have gone.
    fn reclaim(&mut self) {
        let count = self.completed.filled();
        for ahead in 0..count {
            self.free.push(self.completed.read(ahead));
        }
        self.completed.give_back(count);
    }

    /// Lets the kernel send what is in the ring, until it is empty or the kernel has no room.
    fn push(&mut self) -> io::Result<()> {
        let mut before = u32::MAX;
        loop {
            let result = self.wake();
            let waiting = self.send.waiting();
            match result {
                Err(error) if !is_busy(error) => return Err(error.into()),
                _ if waiting == 0 || waiting == before => return Ok(()),
                _ => before = waiting,
            }
        }
    }

    fn wake(&self) -> Result<(), Errno> {
        net::send(&*self.socket, &[], SendFlags::DONTWAIT)?;
        Ok(())
    }
}

/// Whether the kernel has no room now, and nothing worse.
fn is_busy(error: Errno) -> bool {
    matches!(error, Errno::AGAIN | Errno::BUSY | Errno::NOBUFS | Errno::INTR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_hold_the_frames_of_an_interface() {
        let plan = Plan::new(4000, 10, 1518).unwrap();
        assert_eq!((plan.receive_frames, plan.send_frames, plan.chunk_bytes), (4096, 64, 2048));
        assert_eq!(plan.send_start(), 4096 * 2048);
        assert_eq!(plan.bytes(), (4096 + 64) * 2048);
        assert_eq!(Plan::new(64, 64, 1793).unwrap().chunk_bytes, 4096);
        assert_eq!(Plan::new(64, 64, 3840).unwrap().chunk_bytes, 4096);
        assert!(Plan::new(64, 64, 3841).is_none());
    }
}
