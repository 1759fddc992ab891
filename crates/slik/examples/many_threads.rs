//! Accounts whose scores are changed by many threads, while others read the list of the best and
//! the index is split under way.
//!
//! Run with `cargo run --release --package slik --example many_threads`.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use slik::{Error, IndexId, Query, Store, Table, keys};

const SCORE: IndexId = 1;
const ACCOUNTS: u64 = 10_000;
const THREADS: u64 = 4;
const TIME: Duration = Duration::from_secs(2);

fn main() -> Result<(), Error> {
    let accounts = Store::in_memory().create_table("accounts")?;
    accounts.create_index(SCORE)?;
    for id in 0..ACCOUNTS {
        accounts.write(&id.to_be_bytes(), &[(SCORE, &keys::integer(0))], b"0")?;
    }

    let (raised, conflicts, lists) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let end = Instant::now() + TIME;
    std::thread::scope(|scope| {
        let raisers = (0..THREADS).map(|thread| {
            let (accounts, raised, conflicts) = (&accounts, &raised, &conflicts);
            scope.spawn(move || {
                let mut id = thread;
                while Instant::now() < end {
                    // Neighbors visit the same accounts, so that they meet now and then.
                    id = (id + 7) % ACCOUNTS;
                    match raise(accounts, id) {
                        Ok(()) => raised.fetch_add(1, Ordering::Relaxed),
                        Err(Error::VersionMismatch { .. }) => {
                            conflicts.fetch_add(1, Ordering::Relaxed)
                        }
                        Err(other) => return Err(other),
                    };
                }
                Ok(())
            })
        });
        let raisers: Vec<_> = raisers.collect();
        while Instant::now() < end {
            best(&accounts, 10)?;
            lists.fetch_add(1, Ordering::Relaxed);
            match accounts.split_indexlet(SCORE, None) {
                Ok(()) | Err(Error::NothingToSplit { .. }) => {}
                Err(other) => return Err(other),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        raisers.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;

    println!("scores raised:    {}", raised.load(Ordering::Relaxed));
    println!("lost to another:  {}", conflicts.load(Ordering::Relaxed));
    println!("lists of the best: {}", lists.load(Ordering::Relaxed));
    let index = &accounts.stats().indexes[0];
    println!("index: {} entries in {} indexlets", index.entries, index.indexlets);
    let total = accounts
        .lookup(SCORE, &Query::all())?
        .try_fold(0, |sum, found| found.map(|found| sum + score(found.object.value())))?;
    println!("sum of scores:    {total}, as many as were raised");
    assert_eq!(total, raised.load(Ordering::Relaxed));
    Ok(())
}

/// Adds one to an account's score if nobody else does so at the same time.
fn raise(accounts: &Table, id: u64) -> Result<(), Error> {
    let primary = id.to_be_bytes();
    let read = accounts.read_with(&primary, |object| (object.version(), score(object.value())))?;
    let (version, score) = read.expect("no account is ever removed");
    let raised = score + 1;
    let key = keys::integer(raised as i64);
    let value = raised.to_string();
    accounts.write_if_version(&primary, Some(version), &[(SCORE, &key)], value.as_bytes())?;
    Ok(())
}

/// The accounts with the best scores, best first.
fn best(accounts: &Table, count: usize) -> Result<Vec<(u64, u64)>, Error> {
    let mut best = Vec::with_capacity(count);
    accounts.lookup_with(SCORE, &Query::all().backward().limit(count), |found| {
        let id = found.object.primary().try_into().map(u64::from_be_bytes).unwrap_or_default();
        best.push((id, score(found.object.value())));
        ControlFlow::Continue(())
    })?;
    Ok(best)
}

fn score(value: &[u8]) -> u64 {
    String::from_utf8_lossy(value).parse().unwrap_or_default()
}
