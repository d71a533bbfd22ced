//! The synchronization types of the barrier, from the standard library.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
