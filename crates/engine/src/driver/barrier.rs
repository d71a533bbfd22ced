//! The barrier between the rounds of several threads.
//!
//! A test compiles this file a second time, over loom's types in place of those of the standard library.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;

use super::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, spin_loop};

/// Spins before a thread sleeps: some tens of microseconds, in which most rounds end. Waking it takes as long.
const SPINS: u32 = 2000;

/// A barrier for a fixed number of threads. A thread that leaves breaks it.
pub(crate) struct Barrier {
    expected: usize,
    arrived: Mutex<Arrived>,
    released: Condvar,
    /// Counts the releases.
    generation: AtomicU64,
    is_broken: AtomicBool,
    spins: u32,
}

#[derive(Default)]
struct Arrived {
    count: usize,
    asleep: usize,
}

/// A thread has left, so the barrier releases no more.
#[derive(Debug)]
pub(crate) struct Broken;

impl Barrier {
    /// Threads spin only if there is a core for each.
    pub fn new(expected: usize) -> Self {
        let has_cores = available_parallelism().is_ok_and(|cores| cores.get() >= expected);
        Self::spinning(expected, if has_cores { SPINS } else { 0 })
    }

    pub(super) fn spinning(expected: usize, spins: u32) -> Self {
        Self {
            expected,
            arrived: Mutex::default(),
            released: Condvar::new(),
            generation: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
            spins,
        }
    }

    /// Waits until all threads have arrived. Earlier writes of each are visible to all afterwards.
    ///
    /// # Errors
    /// If a thread has left.
    pub fn wait(&self) -> Result<(), Broken> {
        let generation = self.generation.load(Ordering::Acquire);
        let mut arrived = self.lock();
        arrived.count += 1;
        if arrived.count == self.expected {
            arrived.count = 0;
            self.generation.store(generation + 1, Ordering::Release);
            if arrived.asleep > 0 {
                self.released.notify_all();
            }
            return Ok(());
        }
        drop(arrived);
        let is_over = || self.generation.load(Ordering::Acquire) != generation;
        for _ in 0..self.spins {
            if is_over() {
                return Ok(());
            }
            if self.is_broken() {
                // Another thread may have released the barrier and left since the generation was read.
                return if is_over() { Ok(()) } else { Err(Broken) };
            }
            spin_loop();
        }
        let mut arrived = self.lock();
        arrived.asleep += 1;
        while !is_over() && !self.is_broken() {
            arrived = self.released.wait(arrived).unwrap_or_else(PoisonError::into_inner);
        }
        arrived.asleep -= 1;
        if is_over() { Ok(()) } else { Err(Broken) }
    }

    /// Acquires, so that a thread which sees the break also sees the releases before it.
    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    fn break_it(&self) {
        let arrived = self.lock();
        self.is_broken.store(true, Ordering::Release);
        drop(arrived);
        self.released.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Breaks the barrier when its thread ends, even by a panic.
pub(crate) struct Participant<'a>(pub &'a Barrier);

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        self.0.break_it();
    }
}
