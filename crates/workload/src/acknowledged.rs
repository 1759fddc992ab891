//! Which inserts have ended: the bound of what the `latest` distribution may ask for.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
};

/// How many key numbers beyond the first outstanding insert are kept in the ring of bits.
pub const WINDOW: u64 = 1 << 20;
const WORD_BITS: u64 = u64::BITS as u64;

/// The inserts that have ended, shared by all clients.
///
/// Key numbers may be acknowledged in any order and from any thread; [`limit`](Self::limit) is the
/// first one that has not been. Those beyond it are kept in a ring of [`WINDOW`] bits. A bit is not
/// cleared when the limit passes it: on odd laps around the ring a 0 means acknowledged. So the
/// limit moves by one compare-and-swap, and no thread waits for another.
///
/// An insert that runs ahead of an outstanding one by more than the window is set aside in an
/// ordered set behind a lock, and moves to the ring when the limit has come near: nothing is lost,
/// however long one insert takes.
#[derive(Debug)]
pub struct Acknowledged {
    first: u64,
    /// The limit, counted from `first`.
    passed: AtomicU64,
    ring: Box<[AtomicU64]>,
    aside_count: AtomicUsize,
    aside: Mutex<BTreeSet<u64>>,
}

impl Acknowledged {
    /// All key numbers below `first` are acknowledged, and no other.
    pub fn new(first: u64) -> Acknowledged {
        Acknowledged {
            first,
            passed: AtomicU64::new(0),
            ring: (0..WINDOW / WORD_BITS).map(|_| AtomicU64::new(0)).collect(),
            aside_count: AtomicUsize::new(0),
            aside: Mutex::new(BTreeSet::new()),
        }
    }

    /// Every key number below this is acknowledged; this one is not yet.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.first + self.passed.load(SeqCst)
    }

    /// The insert of `key_number` has ended. To be said once for each insert, also for one that
    /// failed: otherwise the limit stays below it for good. A number below the limit changes
    /// nothing.
    pub fn acknowledge(&self, key_number: u64) {
        let Some(number) = key_number.checked_sub(self.first) else { return };
        let passed = self.passed.load(SeqCst);
        if number < passed {
            return;
        }
        if number - passed >= WINDOW {
            self.set_aside(number);
        } else {
            self.set(number);
            self.advance();
        }
    }

    /// Marks a number that lies less than [`WINDOW`] above the limit.
    fn set(&self, number: u64) {
        let word = &self.ring[(number % WINDOW / WORD_BITS) as usize];
        let bit = 1 << (number % WORD_BITS);
        if is_even_lap(number) {
            word.fetch_or(bit, SeqCst);
        } else {
            word.fetch_and(!bit, SeqCst);
        }
    }

    /// Moves the limit over the marked numbers.
    ///
    /// A number marked by another thread is not overlooked: either this thread still sees the mark
    /// when it looks at the word again after the swap, or the other thread, whose mark came later,
    /// sees the new limit when it advances in its turn. Both rest on the single order of all these
    /// sequentially consistent accesses; the same holds for numbers set aside.
    fn advance(&self) {
        loop {
            let passed = self.passed.load(SeqCst);
            let word = self.ring[(passed % WINDOW / WORD_BITS) as usize].load(SeqCst);
            let marked = if is_even_lap(passed) { word } else { !word };
            let run = u64::from((marked >> (passed % WORD_BITS)).trailing_ones());
            let run = run.min(WORD_BITS - passed % WORD_BITS);
            if run == 0 {
                return;
            }
            if self.passed.compare_exchange(passed, passed + run, SeqCst, SeqCst).is_ok()
                && self.aside_count.load(SeqCst) > 0
            {
                self.bring_back();
            }
        }
    }

    #[cold]
    fn set_aside(&self, number: u64) {
        {
            let mut aside = self.lock_aside();
            aside.insert(number);
            self.aside_count.store(aside.len(), SeqCst);
        }
        self.bring_back();
        self.advance();
    }

    /// Marks those of the numbers set aside that the window now covers.
    #[cold]
    fn bring_back(&self) {
        let mut aside = self.lock_aside();
        while let Some(&number) = aside.first() {
            let passed = self.passed.load(SeqCst);
            if number >= passed + WINDOW {
                break;
            }
            aside.pop_first();
            if number >= passed {
                self.set(number);
            }
        }
        self.aside_count.store(aside.len(), SeqCst);
    }

    fn lock_aside(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        // The set is whole after every step, so a panic elsewhere cannot have spoiled it.
        self.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_even_lap(number: u64) -> bool {
    (number / WINDOW).is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering::Relaxed},
        thread,
    };

    use super::*;
    use crate::rng::Draws;

    #[test]
    fn the_limit_stops_at_the_first_outstanding_insert() {
        let acknowledged = Acknowledged::new(100);
        assert_eq!(acknowledged.limit(), 100);
        acknowledged.acknowledge(102);
        acknowledged.acknowledge(101);
        assert_eq!(acknowledged.limit(), 100);
        acknowledged.acknowledge(100);
        assert_eq!(acknowledged.limit(), 103);
    }

    #[test]
    fn numbers_below_the_limit_change_nothing() {
        let acknowledged = Acknowledged::new(100);
        for number in [0, 99, 100, 100, 50, 101, 100] {
            acknowledged.acknowledge(number);
        }
        assert_eq!(acknowledged.limit(), 102);
    }

    #[test]
    fn the_ring_goes_round_many_times() {
        let acknowledged = Acknowledged::new(7);
        let count = 5 * WINDOW + 13;
        for number in 7..7 + count {
            acknowledged.acknowledge(number);
            assert_eq!(acknowledged.limit(), number + 1);
        }
        // Nothing of the laps before counts as acknowledged.
        acknowledged.acknowledge(7 + count + 1);
        assert_eq!(acknowledged.limit(), 7 + count);
    }

    #[test]
    fn any_order_within_the_window_ends_at_the_last_number() {
        let acknowledged = Acknowledged::new(0);
        let count = 3 * WINDOW;
        // Each thousand backwards.
        for thousand in (0..count).step_by(1024) {
            for number in (thousand..thousand + 1024).rev() {
                acknowledged.acknowledge(number);
            }
            assert_eq!(acknowledged.limit(), thousand + 1024);
        }
    }

    #[test]
    fn an_insert_that_takes_longer_than_the_window_loses_nothing() {
        let acknowledged = Acknowledged::new(0);
        let count = 3 * WINDOW + 77;
        (1..count).for_each(|number| acknowledged.acknowledge(number));
        assert_eq!(acknowledged.limit(), 0);
        acknowledged.acknowledge(0);
        assert_eq!(acknowledged.limit(), count);
        assert_eq!(acknowledged.aside_count.load(SeqCst), 0);
        acknowledged.acknowledge(count);
        assert_eq!(acknowledged.limit(), count + 1);
    }

    #[test]
    fn threads_lose_no_acknowledgement() {
        const THREADS: u64 = 4;
        const PER_THREAD: u64 = 200_000;
        let acknowledged = Acknowledged::new(10);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..THREADS)
                .map(|worker| {
                    let acknowledged = &acknowledged;
                    scope.spawn(move || {
                        for i in 0..PER_THREAD {
                            acknowledged.acknowledge(10 + i * THREADS + worker);
                        }
                    })
                })
                .collect();
            let watcher = scope.spawn(|| {
                let mut last = 0;
                while !done.load(Relaxed) {
                    let limit = acknowledged.limit();
                    assert!(limit >= last, "the limit went back");
                    last = limit;
                }
            });
            workers.into_iter().for_each(|worker| worker.join().unwrap());
            done.store(true, Relaxed);
            watcher.join().unwrap();
        });
        assert_eq!(acknowledged.limit(), 10 + THREADS * PER_THREAD);
    }

    #[test]
    fn the_limit_never_passes_an_outstanding_insert_of_another_thread() {
        const THREADS: u64 = 3;
        const PER_THREAD: u64 = 50_000;
        let acknowledged = Acknowledged::new(0);
        let started: Vec<_> = (0..THREADS * PER_THREAD).map(|_| AtomicBool::new(false)).collect();
        thread::scope(|scope| {
            for worker in 0..THREADS {
                let (acknowledged, started) = (&acknowledged, &started);
                scope.spawn(move || {
                    for i in 0..PER_THREAD {
                        let number = i * THREADS + worker;
                        started[number as usize].store(true, SeqCst);
                        acknowledged.acknowledge(number);
                        let limit = acknowledged.limit();
                        if limit > 0 {
                            let newest = limit - 1 - Draws::new(1, number, 0).below(limit.min(64));
                            assert!(started[newest as usize].load(SeqCst), "{newest} is not there");
                        }
                    }
                });
            }
        });
        assert_eq!(acknowledged.limit(), THREADS * PER_THREAD);
    }

    #[test]
    fn threads_beyond_the_window_lose_nothing_either() {
        const THREADS: u64 = 4;
        let acknowledged = Acknowledged::new(0);
        let count = 2 * WINDOW;
        thread::scope(|scope| {
            for worker in 0..THREADS {
                let acknowledged = &acknowledged;
                // The first worker holds back its first number, so that the others run ahead.
                scope.spawn(move || {
                    let share = count / THREADS;
                    let numbers = worker * share..(worker + 1) * share;
                    if worker == 0 {
                        numbers.rev().for_each(|number| acknowledged.acknowledge(number));
                    } else {
                        numbers.for_each(|number| acknowledged.acknowledge(number));
                    }
                });
            }
        });
        assert_eq!(acknowledged.limit(), count);
    }
}
