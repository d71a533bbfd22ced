//! Tests of the barrier, with threads of the system and under loom. Loom runs a test in every order of its threads that
//! the memory model allows.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::driver::barrier::{Barrier, Participant};

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

mod sync {
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
}

#[path = "barrier.rs"]
#[allow(clippy::duplicate_mod, reason = "this copy is made of loom's types")]
#[expect(dead_code, reason = "the model chooses the number of spins")]
mod barrier;

mod model {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::barrier::{Barrier, Broken, Participant};

    /// Spins before a thread sleeps. Each multiplies the number of orders.
    const SPINS: [u32; 2] = [0, 2];

    /// Runs `body` on this many threads, each of which leaves the barrier afterwards, in every order.
    fn check(threads: usize, spins: u32, body: impl Fn(&Barrier, usize) + Copy + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let barrier = Arc::new(Barrier::spinning(threads, spins));
            let run = move |barrier: Arc<Barrier>, number| {
                let _participant = Participant(&barrier);
                body(&barrier, number);
            };
            let others: Vec<_> = (1..threads)
                .map(|number| {
                    let barrier = barrier.clone();
                    thread::spawn(move || run(barrier, number))
                })
                .collect();
            run(barrier, 0);
            for other in others {
                other.join().unwrap();
            }
        });
    }

    #[test]
    fn a_thread_that_leaves_after_the_last_round_stops_none_in_it() {
        for spins in SPINS {
            check(2, spins, |barrier, _| {
                for _ in 0..2 {
                    assert!(barrier.wait().is_ok());
                }
            });
        }
    }

    #[test]
    fn what_each_thread_did_before_is_visible_to_all_afterwards() {
        for spins in SPINS {
            loom::model(move || {
                let shared = Arc::new((Barrier::spinning(2, spins), [UnsafeCell::new(0), UnsafeCell::new(0)]));
                let run = |shared: &(Barrier, [UnsafeCell<u32>; 2]), number: usize| {
                    let (barrier, cells) = shared;
                    // Loom reports an access that is not ordered after the one before it.
                    cells[number].with_mut(|_| ());
                    barrier.wait().unwrap();
                    cells[1 - number].with(|_| ());
                };
                let other = thread::spawn({
                    let shared = shared.clone();
                    move || run(&shared, 1)
                });
                run(&shared, 0);
                other.join().unwrap();
            });
        }
    }

    #[test]
    fn a_thread_that_leaves_early_stops_all_that_wait() {
        for spins in SPINS {
            check(3, spins, |barrier, number| {
                let early = number == 1;
                assert!(early || matches!(barrier.wait(), Err(Broken)));
            });
        }
    }
}
