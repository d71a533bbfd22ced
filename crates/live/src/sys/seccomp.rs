//! A filter of system calls: those that forwarding, answering and ending need, and no others.
//!
//! The list is written as classic BPF by hand. A call that is not in it kills the process, so that the interfaces go to
//! the bridge, or at once to the service manager, and not to the caller.

#![allow(unsafe_code, reason = "seccomp(2) takes a pointer")]

use std::io;

use libc::{BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, c_long, sock_filter};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Where the kernel's `struct seccomp_data` has the call's number, the architecture and the first argument.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;
/// Calls of the x32 interface have this bit.
const X32_BIT: u32 = 0x4000_0000;
/// Of `PR_SET_VMA`, with which the C library names memory.
const PR_SET_VMA: u32 = 0x5356_4d41;

/// The action at a call that is not in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// The process is killed by SIGSYS: for use.
    Kill,
    /// The call fails with `EPERM`: for finding out which calls a change needs.
    Refuse,
}

impl Otherwise {
    const fn verdict(self) -> u32 {
        match self {
            Self::Kill => libc::SECCOMP_RET_KILL_PROCESS,
            Self::Refuse => refuse(libc::EPERM),
        }
    }
}

const fn refuse(error: libc::c_int) -> u32 {
    libc::SECCOMP_RET_ERRNO | error.cast_unsigned()
}

/// When a call of the list may be made.
enum Rule {
    /// Always.
    Any(c_long),
    /// When this argument's lower half, masked, is one of these values.
    Only(c_long, u32, u32, &'static [u32]),
    /// Never, but it fails with this error, on which the C library takes another way.
    Fails(c_long, libc::c_int),
}

/// Calls for any purpose whatever.
const ANY: &[c_long] = &[
    // Frames, and waiting for them.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendmmsg,
    libc::SYS_ppoll,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    // The control socket and the page of metrics, which are listening already.
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    // Files: the configuration at a reload, records, what /proc says of this process.
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_ftruncate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_fcntl,
    libc::SYS_dup,
    // Memory and threads.
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_getparam,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_geteuid,
    libc::SYS_capget,
    libc::SYS_getrusage,
    // Signals, and the end.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_tgkill,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The same, of one architecture only: the older forms that its C library still uses.
#[cfg(target_arch = "x86_64")]
const ANY_HERE: &[c_long] = &[
    libc::SYS_poll,
    libc::SYS_epoll_wait,
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_unlink,
    libc::SYS_arch_prctl,
];
#[cfg(target_arch = "aarch64")]
const ANY_HERE: &[c_long] = &[];

const EXECUTABLE: u32 = libc::PROT_EXEC.cast_unsigned();
const THREAD: u32 = libc::CLONE_THREAD.cast_unsigned();

/// Calls for some purposes.
const SOME: &[Rule] = &[
    // No memory that was written to becomes a program.
    Rule::Only(libc::SYS_mmap, 2, EXECUTABLE, &[0]),
    Rule::Only(libc::SYS_mprotect, 2, EXECUTABLE, &[0]),
    // A thread, but no process. The newer call hides what it is asked for.
    Rule::Only(libc::SYS_clone, 0, THREAD, &[THREAD]),
    Rule::Fails(libc::SYS_clone3, libc::ENOSYS),
    // Features and speeds are read, and with `CAP_NET_ADMIN` written; std makes sockets non-blocking, and asks whether
    // it writes to a terminal.
    Rule::Only(
        libc::SYS_ioctl,
        1,
        u32::MAX,
        &[libc::SIOCETHTOOL as u32, libc::FIONBIO as u32, libc::FIOCLEX as u32, libc::TCGETS as u32],
    ),
    Rule::Only(libc::SYS_prctl, 0, u32::MAX, &[libc::PR_SET_NAME.cast_unsigned(), PR_SET_VMA]),
    // Limits are read, for the size of a stack, and not set: the third argument points to new ones.
    Rule::Only(libc::SYS_prlimit64, 2, u32::MAX, &[0]),
];

/// The filter as the kernel runs it.
#[allow(clippy::cast_possible_truncation, reason = "the codes of BPF fit in 16 bits")]
fn assemble(otherwise: Otherwise) -> Vec<sock_filter> {
    let load = |offset| plain(BPF_LD | BPF_W | BPF_ABS, offset);
    let mut filter = vec![
        load(ARCHITECTURE_AT),
        jump(BPF_JEQ, ARCHITECTURE, 1, 0),
        plain(BPF_RET, otherwise.verdict()),
        load(NUMBER_AT),
        jump(BPF_JGE, X32_BIT, 0, 1),
        plain(BPF_RET, otherwise.verdict()),
    ];
    let always = ANY.iter().chain(ANY_HERE).map(|number| Rule::Any(*number));
    for rule in always {
        append(&mut filter, &rule, otherwise);
    }
    for rule in SOME {
        append(&mut filter, rule, otherwise);
    }
    filter.push(plain(BPF_RET, otherwise.verdict()));
    filter
}

/// Appends what decides about one call, with its number at hand, and goes on behind it with every other.
fn append(filter: &mut Vec<sock_filter>, rule: &Rule, otherwise: Otherwise) {
    let (number, decision) = match *rule {
        Rule::Any(number) => (number, vec![plain(BPF_RET, libc::SECCOMP_RET_ALLOW)]),
        Rule::Fails(number, error) => (number, vec![plain(BPF_RET, refuse(error))]),
        Rule::Only(number, argument, mask, values) => {
            let lower_half = if cfg!(target_endian = "little") { 0 } else { 4 };
            let mut decision = vec![
                plain(BPF_LD | BPF_W | BPF_ABS, ARGUMENTS_AT + 8 * argument + lower_half),
                plain(BPF_ALU | BPF_AND | BPF_K, mask),
            ];
            for value in values {
                decision.extend([jump(BPF_JEQ, *value, 0, 1), plain(BPF_RET, libc::SECCOMP_RET_ALLOW)]);
            }
            decision.push(plain(BPF_RET, otherwise.verdict()));
            (number, decision)
        }
    };
    let (Ok(number), Ok(length)) = (u32::try_from(number), u8::try_from(decision.len())) else { return };
    filter.push(jump(BPF_JEQ, number, 0, length));
    filter.extend(decision);
}

#[allow(clippy::cast_possible_truncation, reason = "the codes of BPF fit in 16 bits")]
const fn plain(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

#[allow(clippy::cast_possible_truncation, reason = "the codes of BPF fit in 16 bits")]
const fn jump(condition: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | condition | BPF_K) as u16, jt, jf, k }
}

/// Puts the filter on all threads of this process, for good.
///
/// # Errors
/// The process may still get new privileges, or another thread has a filter of its own, or the kernel was built without
/// filters.
pub fn install(otherwise: Otherwise) -> io::Result<()> {
    let mut filter = assemble(otherwise);
    let Ok(len) = u16::try_from(filter.len()) else { return Err(io::ErrorKind::InvalidInput.into()) };
    let program = libc::sock_fprog { len, filter: filter.as_mut_ptr() };
    let (mode, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_TSYNC);
    // SAFETY: `program` and the instructions that it points to, as many as its length, live through the call.
    match unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) } {
        0 => Ok(()),
        // The number of a thread that could not get it.
        1.. => Err(io::Error::other("another thread has a filter of system calls of its own")),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel does.
    fn run(filter: &[sock_filter], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let mut data = [number.to_ne_bytes(), architecture.to_ne_bytes()].concat();
        data.extend([0; 8]);
        data.extend(arguments.iter().flat_map(|argument| argument.to_ne_bytes()));
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let instruction = filter[at];
            at += 1;
            let k = instruction.k;
            let mut jump = |holds: bool| at += usize::from(if holds { instruction.jt } else { instruction.jf });
            match u32::from(instruction.code) {
                code if code == BPF_LD | BPF_W | BPF_ABS => {
                    let offset = k as usize;
                    let word = data[offset..offset + 4].try_into().expect("four bytes");
                    accumulator = u32::from_ne_bytes(word);
                }
                code if code == BPF_ALU | BPF_AND | BPF_K => accumulator &= k,
                code if code == BPF_JMP | BPF_JEQ | BPF_K => jump(accumulator == k),
                code if code == BPF_JMP | BPF_JGE | BPF_K => jump(accumulator >= k),
                BPF_RET => return k,
                code => panic!("an instruction with code {code}"),
            }
        }
    }

    fn verdict(otherwise: Otherwise, number: c_long, arguments: [u64; 6]) -> u32 {
        run(&assemble(otherwise), ARCHITECTURE, u32::try_from(number).expect("a number"), arguments)
    }

    #[test]
    fn each_call_of_the_list_is_allowed_and_each_other_is_not() {
        let filter = assemble(Otherwise::Kill);
        let some: Vec<c_long> = SOME
            .iter()
            .map(|rule| match rule {
                Rule::Any(number) | Rule::Only(number, ..) | Rule::Fails(number, _) => *number,
            })
            .collect();
        for number in 0..1024 {
            if some.contains(&number) {
                continue;
            }
            let listed = ANY.iter().chain(ANY_HERE).any(|allowed| *allowed == number);
            let expected = if listed { libc::SECCOMP_RET_ALLOW } else { libc::SECCOMP_RET_KILL_PROCESS };
            let found = run(&filter, ARCHITECTURE, u32::try_from(number).expect("small"), [0; 6]);
            assert_eq!(found, expected, "call {number}");
        }
    }

    #[test]
    fn arguments_decide_about_some_calls() {
        let kill = libc::SECCOMP_RET_KILL_PROCESS;
        let allow = libc::SECCOMP_RET_ALLOW;
        let of = |number, argument: usize, value: u64| {
            let mut arguments = [0; 6];
            arguments[argument] = value;
            verdict(Otherwise::Kill, number, arguments)
        };
        let (read, execute) = (u64::from(libc::PROT_READ.cast_unsigned()), u64::from(EXECUTABLE));
        assert_eq!([of(libc::SYS_mmap, 2, read), of(libc::SYS_mmap, 2, read | execute)], [allow, kill]);
        assert_eq!([of(libc::SYS_mprotect, 2, 0), of(libc::SYS_mprotect, 2, execute)], [allow, kill]);
        assert_eq!([of(libc::SYS_clone, 0, u64::from(THREAD) | 0x100), of(libc::SYS_clone, 0, 0x11)], [allow, kill]);
        assert_eq!(of(libc::SYS_clone3, 0, 0), refuse(libc::ENOSYS));
        assert_eq!([of(libc::SYS_ioctl, 1, 0x8946), of(libc::SYS_ioctl, 1, 0x8914)], [allow, kill]);
        assert_eq!([of(libc::SYS_prlimit64, 2, 0), of(libc::SYS_prlimit64, 2, 0x7fff_0010)], [allow, kill]);
    }

    #[test]
    fn calls_of_another_architecture_are_not_believed() {
        let filter = assemble(Otherwise::Kill);
        let read = u32::try_from(libc::SYS_read).expect("a number");
        assert_eq!(run(&filter, 0x4000_0003, read, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
        assert_eq!(run(&filter, ARCHITECTURE, read | X32_BIT, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
    }

    #[test]
    fn what_is_refused_in_place_of_killed_fails_with_eperm() {
        assert_eq!(verdict(Otherwise::Refuse, libc::SYS_execve, [0; 6]), refuse(libc::EPERM));
        assert_eq!(verdict(Otherwise::Refuse, libc::SYS_read, [0; 6]), libc::SECCOMP_RET_ALLOW);
    }
}
