//! A filter of system calls: those that forwarding, answering and ending need, and no others.
//!
//! A call that is not in the list kills the process, so that the interfaces go to the bridge, or at once to the service
//! manager, and not to the caller.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// The option of `prctl` with which the C library names memory.
const PR_SET_VMA: u32 = 0x5356_4d41;

/// The action at a call that is not in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// The process is killed by SIGSYS: for use.
    Kill,
    /// The call fails with `EPERM`: for finding out which calls a change needs.
    Refuse,
}

/// Calls with any arguments.
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

/// A call that is allowed if its argument of this number, counted from 0, compares so with one of the values. Only the
/// lower half of the argument counts, as in the kernel.
type Condition = (c_long, u8, SeccompCmpOp, &'static [u32]);

const EXECUTABLE: u32 = libc::PROT_EXEC.cast_unsigned();
const THREAD: u32 = libc::CLONE_THREAD.cast_unsigned();

/// Calls with some arguments.
const SOME: &[Condition] = &[
    // No memory that was written to becomes a program.
    (libc::SYS_mmap, 2, MaskedEq(EXECUTABLE as u64), &[0]),
    (libc::SYS_mprotect, 2, MaskedEq(EXECUTABLE as u64), &[0]),
    // A thread, but no process.
    (libc::SYS_clone, 0, MaskedEq(THREAD as u64), &[THREAD]),
    // Features and speeds are read, and with `CAP_NET_ADMIN` written; std makes sockets non-blocking, and asks whether
    // it writes to a terminal.
    (
        libc::SYS_ioctl,
        1,
        Eq,
        &[libc::SIOCETHTOOL as u32, libc::FIONBIO as u32, libc::FIOCLEX as u32, libc::TCGETS as u32],
    ),
    (libc::SYS_prctl, 0, Eq, &[libc::PR_SET_NAME.cast_unsigned(), PR_SET_VMA]),
    // Limits are read, for the size of a stack, and not set: the third argument points to new ones.
    (libc::SYS_prlimit64, 2, Eq, &[0]),
];

/// The filters. If they differ about a call, the kernel takes the stricter answer.
fn programs(otherwise: Otherwise) -> Result<[BpfProgram; 2], BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    // `clone3` hides its flags in memory. Without it, the C library calls `clone`.
    let missing = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let no_such_call = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let first = SeccompFilter::new(missing.clone(), SeccompAction::Allow, no_such_call, architecture)?;
    let always = ANY.iter().chain(ANY_HERE).map(|call| (*call, Vec::new()));
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = always.chain(missing).collect();
    for (call, argument, comparison, values) in SOME {
        let rule = |value: &u32| {
            let condition = SeccompCondition::new(*argument, Dword, comparison.clone(), u64::from(*value))?;
            SeccompRule::new(vec![condition])
        };
        rules.insert(*call, values.iter().map(rule).collect::<Result<_, _>>()?);
    }
    let verdict = match otherwise {
        Otherwise::Kill => SeccompAction::KillProcess,
        Otherwise::Refuse => SeccompAction::Errno(libc::EPERM.cast_unsigned()),
    };
    let second = SeccompFilter::new(rules, verdict, SeccompAction::Allow, architecture)?;
    Ok([first.try_into()?, second.try_into()?])
}

/// Puts the filter on all threads of this process, for good. A call of another architecture kills the process.
///
/// # Errors
/// Another thread has a filter of its own, or the kernel was built without filters.
pub fn install(otherwise: Otherwise) -> io::Result<()> {
    for program in programs(otherwise).map_err(io::Error::other)? {
        seccompiler::apply_filter_all_threads(&program).map_err(|error| match error {
            seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
            seccompiler::Error::ThreadSync(_) => {
                io::Error::other("another thread has a filter of system calls of its own")
            }
            other => io::Error::other(other),
        })?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(unsafe_code, reason = "a raw system call with arguments that no wrapper has")]
mod tests {
    use super::*;

    /// The errors of the calls in a thread that has the filter. A call that is not allowed fails with `EPERM`.
    fn errors<const N: usize>(calls: [(c_long, [u64; 3]); N]) -> [Option<i32>; N] {
        let filtered = move || {
            for program in programs(Otherwise::Refuse).expect("a list of calls") {
                seccompiler::apply_filter(&program).expect("a kernel with filters");
            }
            calls.map(|(call, [a, b, c])| {
                // SAFETY: the filter refuses the call, or it fails or does nothing with these numbers, none of which
                // is an address of this process.
                let result = unsafe { libc::syscall(call, a, b, c, 0, -1, 0) };
                (result < 0).then(|| io::Error::last_os_error().raw_os_error().unwrap_or_default())
            })
        };
        std::thread::spawn(filtered).join().expect("no panic")
    }

    #[test]
    fn a_call_of_the_list_is_allowed_and_another_is_not() {
        let calls = [libc::SYS_getpid, libc::SYS_gettid, libc::SYS_getppid, libc::SYS_execve, libc::SYS_socket];
        let refused = Some(libc::EPERM);
        assert_eq!(errors(calls.map(|call| (call, [0; 3]))), [None, None, refused, refused, refused]);
    }

    #[test]
    fn arguments_decide_about_some_calls() {
        let (read, execute) = (libc::PROT_READ as u64, libc::PROT_EXEC as u64);
        let (refused, invalid) = (Some(libc::EPERM), Some(libc::EINVAL));
        // The kernel has no file to map, and protects no bytes.
        let memory = [libc::SYS_mmap, libc::SYS_mprotect];
        assert_eq!(errors(memory.map(|call| (call, [0, 0, read]))), [Some(libc::EBADF), None]);
        assert_eq!(errors(memory.map(|call| (call, [0, 0, read | execute]))), [refused; 2]);
        // A thread without shared memory is invalid.
        let clone = |flags: u64| (libc::SYS_clone, [flags, 0, 0]);
        assert_eq!(errors([clone(u64::from(THREAD)), clone(0x11)]), [invalid, refused]);
        assert_eq!(errors([(libc::SYS_clone3, [0; 3])]), [Some(libc::ENOSYS)]);
        let ioctl = |request: u64| (libc::SYS_ioctl, [u64::MAX, request, 0]);
        assert_eq!(errors([ioctl(0x8946), ioctl(0x8914)]), [Some(libc::EBADF), refused]);
        let limits = |new: u64| (libc::SYS_prlimit64, [0, 7, new]);
        assert_eq!(errors([limits(0), limits(0x7fff_0010)]), [None, refused]);
    }

    #[test]
    fn a_call_that_is_not_in_the_list_ends_with_the_verdict() {
        let refuse = SeccompAction::Errno(libc::EPERM.cast_unsigned()).into();
        for (otherwise, verdict) in [(Otherwise::Kill, libc::SECCOMP_RET_KILL_PROCESS), (Otherwise::Refuse, refuse)] {
            let [_, program] = programs(otherwise).expect("a list of calls");
            assert_eq!(program.last().map(|last| last.k), Some(verdict));
        }
    }
}
