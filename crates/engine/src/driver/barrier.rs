//! The barrier between the rounds of several threads.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

/// Spins before a thread sleeps: some tens of microseconds, in which most rounds end. Waking it takes as long.
const SPINS: u32 = 2000;

/// For a fixed number of threads. One that leaves breaks it.
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
        Self {
            expected,
            arrived: Mutex::default(),
            released: Condvar::new(),
            generation: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
            spins: if has_cores { SPINS } else { 0 },
        }
    }

    /// Waits until all threads have arrived. What each did before is visible to all afterwards.
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
                return Err(Broken);
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

    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    fn break_it(&self) {
        let arrived = self.lock();
        self.is_broken.store(true, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    #[test]
    fn no_thread_passes_before_all_have_arrived() {
        for threads in [1, 2, 3, 8] {
            let (barrier, sum) = (Barrier::new(threads), AtomicUsize::new(0));
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        for round in 1..=200 {
                            sum.fetch_add(1, Ordering::Relaxed);
                            barrier.wait().unwrap();
                            assert_eq!(sum.load(Ordering::Relaxed), round * threads);
                            barrier.wait().unwrap();
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn a_thread_that_ends_releases_the_others() {
        let barrier = Barrier::new(3);
        thread::scope(|scope| {
            let others = [(); 2].map(|()| {
                scope.spawn(|| {
                    let _participant = Participant(&barrier);
                    barrier.wait()
                })
            });
            let panicking = scope.spawn(|| {
                let _participant = Participant(&barrier);
                panic!("on purpose");
            });
            assert!(panicking.join().is_err());
            assert!(others.into_iter().all(|other| other.join().unwrap().is_err()));
        });
    }
}
