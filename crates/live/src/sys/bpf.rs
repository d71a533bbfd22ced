//! The little of bpf(2) that is used here: programs of a few instructions, links that attach them to an interface, and
//! the map by which a program finds an AF_XDP socket.
#![allow(unsafe_code, reason = "bpf with a structure of arguments")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
/// The program's return value for a frame that no socket takes: the kernel continues with it.
const XDP_PASS: i32 = 2;

/// An instruction: `struct bpf_insn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Instruction {
    code: u8,
    /// Destination in the low half, source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

impl Instruction {
    /// `r0 = value`
    pub(super) const fn result(value: i32) -> Self {
        instruction(0xb7, 0, 0, 0, value)
    }

    /// `return r0`
    pub(super) const EXIT: Self = instruction(0x95, 0, 0, 0, 0);
}

const fn instruction(code: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers: destination | source << 4, offset, immediate }
}

/// The place where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the rest of the kernel sees a frame, in the mode that every driver has.
    Xdp,
    /// The interface's entrance, behind packet sockets. Linux 6.6.
    TcxIngress,
}

impl Place {
    /// BPF_PROG_TYPE_XDP or BPF_PROG_TYPE_SCHED_CLS.
    const fn program_type(self) -> u32 {
        match self {
            Self::Xdp => 6,
            Self::TcxIngress => 3,
        }
    }

    /// BPF_XDP or BPF_TCX_INGRESS.
    const fn attach_type(self) -> u32 {
        match self {
            Self::Xdp => 37,
            Self::TcxIngress => 46,
        }
    }

    const fn flags(self) -> u32 {
        match self {
            Self::Xdp => XDP_FLAGS_SKB_MODE,
            Self::TcxIngress => 0,
        }
    }
}

/// `return bpf_redirect_map(&sockets, frame->rx_queue_index, XDP_PASS);`
fn redirect_instructions(sockets: BorrowedFd<'_>) -> [Instruction; 6] {
    const RX_QUEUE_INDEX: i16 = 16;
    const MAP_BY_FD: u8 = 1;
    const REDIRECT_MAP: i32 = 51;
    [
        // r2 = *(u32 *)(r1 + rx_queue_index)
        instruction(0x61, 2, 1, RX_QUEUE_INDEX, 0),
        // r1 = the map: a constant of two instructions' length
        instruction(0x18, 1, MAP_BY_FD, 0, sockets.as_raw_fd()),
        instruction(0, 0, 0, 0, 0),
        // r3 = XDP_PASS
        instruction(0xb7, 3, 0, 0, XDP_PASS),
        // r0 = bpf_redirect_map(r1, r2, r3)
        instruction(0x85, 0, 0, 0, REDIRECT_MAP),
        Instruction::EXIT,
    ]
}

/// A map of sockets by the queue whose frames they take, for queue 0 alone.
pub(super) fn socket_map() -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Arguments {
        kind: u32,
        key_bytes: u32,
        value_bytes: u32,
        entries: u32,
        flags: u32,
    }
    let arguments = Arguments { kind: BPF_MAP_TYPE_XSKMAP, key_bytes: 4, value_bytes: 4, entries: 1, flags: 0 };
    // SAFETY: the structure of this command, without an address.
    unsafe { call_for_fd(BPF_MAP_CREATE, &arguments) }
}

/// Lets `map` send the frames of queue 0 to `socket`.
pub(super) fn put_socket(map: BorrowedFd<'_>, socket: BorrowedFd<'_>) -> io::Result<()> {
    #[repr(C)]
    struct Arguments {
        map: u32,
        unused: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let queue: u32 = 0;
    let value: u32 = socket.as_raw_fd().cast_unsigned();
    let arguments = Arguments {
        map: map.as_raw_fd().cast_unsigned(),
        unused: 0,
        key: (&raw const queue) as u64,
        value: (&raw const value) as u64,
        flags: 0,
    };
    // SAFETY: the structure of this command; key and value have the four bytes that the map was made for.
    unsafe { call(BPF_MAP_UPDATE_ELEM, &arguments) }?;
    Ok(())
}

/// Loads the program that sends frames to the sockets of `map`.
pub(super) fn redirect_program(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    load(Place::Xdp, b"forebay", &redirect_instructions(map))
}

/// Loads a program for `place`. `name` is shown by the kernel's tools.
pub(super) fn load(place: Place, name: &[u8], instructions: &[Instruction]) -> io::Result<OwnedFd> {
    const NAME_BYTES: usize = 16;
    #[repr(C)]
    struct Arguments {
        kind: u32,
        instruction_count: u32,
        instructions: u64,
        license: u64,
        log_level: u32,
        log_bytes: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: [u8; NAME_BYTES],
        interface: u32,
        attach_type: u32,
    }
    // The kernel requires a zero at the end.
    let mut padded = [0; NAME_BYTES];
    let shown = name.len().min(NAME_BYTES - 1);
    padded[..shown].copy_from_slice(&name[..shown]);
    let arguments = Arguments {
        kind: place.program_type(),
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: c"MIT".as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        name: padded,
        interface: 0,
        attach_type: place.attach_type(),
    };
    // SAFETY: the structure of this command; the instructions and the license live until the call is over.
    unsafe { call_for_fd(BPF_PROG_LOAD, &arguments) }
}

/// Attaches a program that was loaded for `place` to the interface `index`, as long as the link is open: the kernel
/// closes it at any end of the process, kill -9 included. The link holds the program.
pub(super) fn attach(place: Place, program: BorrowedFd<'_>, index: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Arguments {
        program: u32,
        interface: u32,
        attach_type: u32,
        flags: u32,
    }
    let program = program.as_raw_fd().cast_unsigned();
    let arguments = Arguments { program, interface: index, attach_type: place.attach_type(), flags: place.flags() };
    // SAFETY: the structure of this command, without an address.
    unsafe { call_for_fd(BPF_LINK_CREATE, &arguments) }
}

/// Calls bpf(2).
///
/// # Safety
/// `T` is the beginning of the union's member for `command`, and the addresses in it are valid for it.
unsafe fn call<T>(command: libc::c_long, arguments: &T) -> io::Result<libc::c_int> {
    // SAFETY: the pointer and the length are those of `arguments`, which these commands only read; bytes behind it
    // count as zero.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(arguments), size_of::<T>()) };
    // A file descriptor, zero or -1.
    super::checked(result as libc::c_int)
}

/// As [`call`], for a command that opens something. bpf(2) sets close-on-exec, so that no other program keeps it open.
///
/// # Safety
/// As [`call`]; the command returns a new file descriptor.
unsafe fn call_for_fd<T>(command: libc::c_long, arguments: &T) -> io::Result<OwnedFd> {
    // SAFETY: by the caller's promise.
    let fd = unsafe { call(command, arguments) }?;
    // SAFETY: just opened, and not shared.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_result_is_its_value_and_the_exit() {
        assert_eq!(Instruction::result(2), Instruction { code: 0xb7, registers: 0, offset: 0, immediate: 2 });
        assert_eq!(Instruction::EXIT, Instruction { code: 0x95, registers: 0, offset: 0, immediate: 0 });
    }

    #[test]
    fn an_instruction_is_eight_bytes_and_the_map_is_named_in_the_second() {
        assert_eq!(size_of::<Instruction>(), 8);
        let (reader, _writer) = io::pipe().unwrap();
        let program = redirect_instructions(reader.as_fd());
        assert_eq!(program[0].registers, 0x12, "from r1 to r2");
        assert_eq!((program[1].registers, program[1].immediate), (0x11, reader.as_raw_fd()));
        assert_eq!(program[5].code, 0x95);
    }
}
