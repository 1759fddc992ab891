//! Handing out operation numbers to the threads of a phase.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

/// Operation numbers from a first one on, each handed out once.
///
/// Threads claim blocks, so that the shared counter is touched seldom; where every number matters
/// as soon as it is due (an open loop) or must be carried out once claimed (inserts, whose keys
/// are numbered without gaps), the block is one.
pub struct Feed {
    next: AtomicU64,
    end: u64,
    block: u64,
}

/// The block of a closed loop without inserts.
pub const BLOCK: u64 = 256;

impl Feed {
    /// Hands out `first..end`, `block` at a time.
    pub fn new(numbers: Range<u64>, block: u64) -> Feed {
        Feed { next: AtomicU64::new(numbers.start), end: numbers.end, block }
    }

    /// The next number for the thread that holds `held`, or `None` when all are handed out.
    #[inline]
    pub fn claim(&self, held: &mut Range<u64>) -> Option<u64> {
        if held.is_empty() {
            // Reading first keeps the counter from running away once it has reached the end.
            if self.next.load(Ordering::Relaxed) >= self.end {
                return None;
            }
            let start = self.next.fetch_add(self.block, Ordering::Relaxed);
            *held = start..start.saturating_add(self.block).min(self.end);
        }
        held.next()
    }

    /// The first number that no thread has claimed.
    pub fn position(&self) -> u64 {
        self.next.load(Ordering::Relaxed).min(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_together_get_every_number_once() {
        let feed = Feed::new(7..10_007, BLOCK);
        let mut all: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut held = 0..0;
                        std::iter::from_fn(|| feed.claim(&mut held)).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        all.sort_unstable();
        assert_eq!(all, (7..10_007).collect::<Vec<_>>());
        assert_eq!(feed.position(), 10_007);
    }
}
