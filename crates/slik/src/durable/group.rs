//! Group commit: writers queue their records up, one of them writes and syncs for all that have
//! queued up by then, the others sleep until theirs is done.
//!
//! While one batch is written the next queues up. Left at that, two halves of the writers would
//! take turns, each batch having one of them. So the leader waits for those whose write has just
//! been done, who are on their way back, for as long as a write takes: one batch then has all
//! writers. Where they come too slowly for that to pay, it is left off for a while.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crossbeam_utils::sync::{Parker, Unparker};
use fjall::{UserKey, UserValue};
use parking_lot::Mutex;

use crate::error::Error;

/// A record to be logged: a value, or the removal of one.
pub(super) struct Record {
    pub(super) key: UserKey,
    pub(super) value: Option<UserValue>,
}

/// Batches written without waiting for followers, once too few of them came.
const HURRIES: u32 = 64;

/// The records that wait for the disk.
#[derive(Default)]
pub(super) struct Group {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// The records that are queueing up.
    records: Vec<Record>,
    batch: Arc<Batch>,
    /// The batch before is being written, and this one has no leader yet but `next`.
    writing: bool,
    /// The first of its writers, who leads when the batch before is written.
    next: Option<Unparker>,
    /// Somebody writes, or is about to.
    led: bool,
    /// The leader, while it waits for followers.
    lingers: Option<Unparker>,
    /// How many writers are likely to come: those of the last batch and those that came meanwhile.
    expected: usize,
    /// How long the last batch took to write.
    took: Duration,
    /// Batches to be written without waiting for followers.
    hurries: u32,
    failed: Option<Error>,
}

/// What becomes of the records that were queued up together.
#[derive(Default)]
struct Batch {
    /// All but the first writer wait for this: they are woken by one call.
    outcome: OnceLock<Result<(), Error>>,
    /// Its first writer may write it.
    lead: AtomicBool,
}

thread_local! {
    static PARKER: Parker = Parker::new();
}

impl Group {
    /// Returns when the record is on disk. `write` writes a batch, and returns when it is there.
    pub(super) fn commit(
        &self,
        record: Record,
        write: impl FnOnce(Vec<Record>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        PARKER.with(|parker| {
            let mut queue = self.queue.lock();
            if let Some(error) = &queue.failed {
                return Err(error.clone());
            }
            queue.records.push(record);
            if queue.led {
                let batch = Arc::clone(&queue.batch);
                if queue.records.len() >= queue.expected
                    && let Some(leader) = queue.lingers.take()
                {
                    leader.unpark();
                }
                if !queue.writing || queue.next.is_some() {
                    drop(queue);
                    return batch.outcome.wait().clone();
                }
                queue.next = Some(parker.unparker().clone());
                drop(queue);
                while !batch.lead.load(Ordering::Acquire) {
                    if let Some(outcome) = batch.outcome.get() {
                        return outcome.clone();
                    }
                    parker.park();
                }
            } else {
                queue.led = true;
                drop(queue);
            }
            self.lead(parker, write)
        })
    }

    /// Writes what has queued up.
    fn lead(
        &self,
        parker: &Parker,
        write: impl FnOnce(Vec<Record>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut queue = self.queue.lock();
        if queue.hurries > 0 {
            queue.hurries -= 1;
        } else if queue.records.len() < queue.expected {
            let before = queue.records.len();
            let until = Instant::now() + queue.took;
            while queue.records.len() < queue.expected && Instant::now() < until {
                queue.lingers = Some(parker.unparker().clone());
                drop(queue);
                parker.park_deadline(until);
                queue = self.queue.lock();
            }
            queue.lingers = None;
            // It does not pay if most of those that were missing still are.
            let missing = queue.expected.saturating_sub(queue.records.len());
            if missing > (queue.expected - before) / 2 {
                queue.hurries = HURRIES;
            }
        }
        let records = std::mem::take(&mut queue.records);
        let batch = std::mem::take(&mut queue.batch);
        queue.writing = true;
        drop(queue);

        let (writers, begun) = (records.len(), Instant::now());
        let outcome = write(records);
        let took = begun.elapsed();

        let mut queue = self.queue.lock();
        queue.expected = writers + queue.records.len();
        queue.took = took;
        queue.writing = false;
        let next = queue.next.take();
        queue.led = next.is_some();
        let following = Arc::clone(&queue.batch);
        if let Err(error) = &outcome {
            queue.records.clear();
            queue.failed = Some(error.clone());
            // Those that have queued up meanwhile are told the same.
            let _ = following.outcome.set(outcome.clone());
        } else {
            following.lead.store(next.is_some(), Ordering::Release);
        }
        drop(queue);
        // First those that are done: a woken thread takes the core of the one that wakes it.
        let _ = batch.outcome.set(outcome.clone());
        if let Some(next) = next {
            next.unpark();
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    fn record(writer: u64, number: u64) -> Record {
        Record { key: [writer.to_be_bytes(), number.to_be_bytes()].concat().into(), value: None }
    }

    #[test]
    fn writers_share_batches_and_each_record_is_written_once_before_its_writer_goes_on() {
        for micros in [0, 10, 100, 1_000] {
            let batches = share_batches(Duration::from_micros(micros));
            // One by one there would be 800.
            assert!(micros < 1_000 || batches < 400, "{batches} batches");
        }
    }

    fn share_batches(took: Duration) -> usize {
        const WRITERS: u64 = 16;
        const EACH: u64 = 50;
        let (group, batches) = (Group::default(), AtomicUsize::new(0));
        let written = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (group, batches, written) = (&group, &batches, &written);
                scope.spawn(move || {
                    for number in 0..EACH {
                        let mine = record(writer, number);
                        let key = mine.key.clone();
                        let write = |records: Vec<Record>| {
                            batches.fetch_add(1, Ordering::Relaxed);
                            thread::sleep(took);
                            written.lock().extend(records.into_iter().map(|record| record.key));
                            Ok(())
                        };
                        group.commit(mine, write).unwrap();
                        assert!(written.lock().contains(&key));
                    }
                });
            }
        });
        let mut written = written.into_inner();
        let total = written.len();
        written.sort();
        written.dedup();
        assert_eq!((total, written.len() as u64), (written.len(), WRITERS * EACH));
        batches.into_inner()
    }

    #[test]
    fn all_writers_of_a_batch_that_fails_and_all_later_ones_are_told() {
        let group = Group::default();
        let failed = Error::WritesStopped { reason: "no disk".into() };
        let before = AtomicUsize::new(0);
        thread::scope(|scope| {
            for writer in 0..8 {
                let (group, failed, before) = (&group, &failed, &before);
                scope.spawn(move || {
                    for number in 0..20 {
                        let write = |_| match before.load(Ordering::Relaxed) {
                            0..30 => Ok(()),
                            _ => Err(failed.clone()),
                        };
                        match group.commit(record(writer, number), write) {
                            Ok(()) => drop(before.fetch_add(1, Ordering::Relaxed)),
                            Err(error) => {
                                assert_eq!(error, *failed);
                                return;
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(group.commit(record(9, 9), |_| Ok(())), Err(failed));
        assert!((30..160).contains(&before.into_inner()));
    }
}
