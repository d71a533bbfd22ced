//! The little of bpf(2) that redirecting frames to an AF_XDP socket takes: a map, a program of six instructions, a
//! link.
#![allow(unsafe_code, reason = "bpf with a structure of arguments")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
/// What the program answers for a frame that no socket takes: the kernel goes on with it.
const XDP_PASS: i32 = 2;

/// An instruction: `struct bpf_insn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Instruction {
    code: u8,
    /// Destination in the low half, source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers: destination | source << 4, offset, immediate }
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
        // return r0
        instruction(0x95, 0, 0, 0, 0),
    ]
}

/// A map of sockets by the queue whose frames they take, for queue 0 alone.
pub(crate) fn socket_map() -> io::Result<OwnedFd> {
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
pub(crate) fn put_socket(map: BorrowedFd<'_>, socket: BorrowedFd<'_>) -> io::Result<()> {
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
pub(crate) fn redirect_program(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
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
        name: [u8; 16],
        interface: u32,
        attach_type: u32,
    }
    let instructions = redirect_instructions(map);
    let arguments = Arguments {
        kind: BPF_PROG_TYPE_XDP,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: c"MIT".as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        // Zero at the end is asked for.
        name: *b"forebay\0\0\0\0\0\0\0\0\0",
        interface: 0,
        attach_type: BPF_XDP,
    };
    // SAFETY: the structure of this command; the instructions and the license live until the call is over.
    unsafe { call_for_fd(BPF_PROG_LOAD, &arguments) }
}

/// Attaches an XDP program to the interface `index`, in the mode that every driver has, as long as the link is open:
/// the kernel closes it when the process dies.
pub(crate) fn attach(program: BorrowedFd<'_>, index: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Arguments {
        program: u32,
        interface: u32,
        attach_type: u32,
        flags: u32,
    }
    let program = program.as_raw_fd().cast_unsigned();
    let arguments = Arguments { program, interface: index, attach_type: BPF_XDP, flags: XDP_FLAGS_SKB_MODE };
    // SAFETY: the structure of this command, without an address.
    unsafe { call_for_fd(BPF_LINK_CREATE, &arguments) }
}

/// Calls bpf(2).
///
/// # Safety
/// `T` is the beginning of the union's member for `command`, and the addresses in it are valid for it.
unsafe fn call<T>(command: libc::c_long, arguments: &T) -> io::Result<libc::c_int> {
    // SAFETY: the pointer and the length are those of `arguments`, which these commands only read; what is behind it
    // counts as zero.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(arguments), size_of::<T>()) };
    // A file descriptor, zero or -1.
    super::checked(result as libc::c_int)
}

/// As [`call`], for a command that opens something.
///
/// # Safety
/// As [`call`]; the command returns a new file descriptor.
unsafe fn call_for_fd<T>(command: libc::c_long, arguments: &T) -> io::Result<OwnedFd> {
    // SAFETY: by the caller's promise.
    let fd = unsafe { call(command, arguments) }?;
    // SAFETY: just opened, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

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
