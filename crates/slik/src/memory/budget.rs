//! The bytes a store holds, against the limit it was given.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::substrate::Refused;

/// Counts bytes only where there is a limit, so that without one writers share nothing.
pub(crate) struct Budget {
    used_bytes: CachePadded<AtomicU64>,
    limit_bytes: Option<u64>,
}

impl Budget {
    pub(crate) fn new(limit_bytes: Option<u64>) -> Budget {
        Budget { used_bytes: CachePadded::new(AtomicU64::new(0)), limit_bytes }
    }

    /// Refuses what would go over the limit. Writers that ask at the same moment may exceed it
    /// together, by one object or node each.
    #[inline]
    pub(crate) fn admit(&self, more_bytes: usize) -> Result<(), Refused> {
        let Some(limit_bytes) = self.limit_bytes else { return Ok(()) };
        let used_bytes = self.used_bytes.load(Ordering::Relaxed);
        if used_bytes + more_bytes as u64 > limit_bytes {
            return Err(Refused::Memory { used_bytes, limit_bytes });
        }
        Ok(())
    }

    /// Counts a part's change of size.
    #[inline]
    pub(crate) fn count(&self, before_bytes: usize, after_bytes: usize) {
        if self.limit_bytes.is_some() && before_bytes != after_bytes {
            let change = (after_bytes as u64).wrapping_sub(before_bytes as u64);
            self.used_bytes.fetch_add(change, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::memory::Memory;
    use crate::options::{Options, Placement};
    use crate::protocol::{schema, write};
    use crate::scratch::WriteScratch;
    use crate::substrate::Expected;

    const OBJECTS: u32 = 2_000;

    fn check(memory: &Memory, budget: &Budget) {
        let used_bytes = budget.used_bytes.load(Ordering::Relaxed);
        assert_eq!(used_bytes, memory.stats().memory_bytes as u64);
    }

    /// Objects of many sizes come, move, change their keys and go; everything is split on the way.
    fn churn(memory: &Memory, round: u32) {
        let mut scratch = WriteScratch::default();
        for number in 0..OBJECTS {
            let (primary, key) = (number.to_be_bytes(), (7 * number + round).to_be_bytes());
            let size = ((number * 7919) ^ (round * 104_729)) as usize % 900;
            let value = vec![1; if number % 100 == 0 { size * 20 } else { size }];
            let (keys, any) = ([(1, &key[..]), (2, &key[..])], Expected::Any);
            write::write(memory, &primary, &keys, &value, any, &mut scratch).unwrap();
            if (number + round).is_multiple_of(3) {
                write::remove(memory, &primary, any, &mut scratch).unwrap();
            }
        }
    }

    #[test]
    fn what_is_counted_is_what_is_held() {
        for placement in [Placement::Ranges, Placement::Colocated { parts: 3 }] {
            let small = Options { tablet_objects: 20, indexlet_entries: 100, ..Options::default() };
            let options = Options { placement, ..small };
            let budget = Arc::new(Budget::new(Some(1 << 40)));
            let memory = Memory::new("counted", &options, Arc::clone(&budget), None);
            for round in 0..3 {
                let mut scratch = WriteScratch::default();
                schema::create_index(&memory, 1, &mut scratch).unwrap();
                check(&memory, &budget);
                std::thread::scope(|scope| {
                    scope.spawn(|| churn(&memory, round));
                    scope.spawn(|| churn(&memory, round + 1));
                });
                schema::create_index(&memory, 2, &mut scratch).unwrap();
                check(&memory, &budget);
                churn(&memory, round + 2);
                check(&memory, &budget);
                schema::drop_index(&memory, 1).unwrap();
                schema::drop_index(&memory, 2).unwrap();
                check(&memory, &budget);
            }
            memory.close();
            assert_eq!(budget.used_bytes.load(Ordering::Relaxed), 0);
        }
    }
}
