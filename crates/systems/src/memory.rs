//! `memory`: an ordered map in Assay's own process, the simplest store that answers truly.
//!
//! The map is divided by key hash into shards, each behind a lock, so that clients on several
//! threads seldom meet. A scan holds every shard for reading and merges them in key order, so it is
//! a snapshot.
//!
//! It is also the store that is made worse on purpose, to test the workbench itself: see
//! [`handicap`].

mod handicap;

use std::{
    array,
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, btree_map},
    ops::Bound,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use assay_model::{
    Answer, Capabilities, FailureKind, FieldValue, Fields, NO_INDEXES, Operation, Outcome,
};
use handicap::{Handicap, HandicapSettings};

use crate::{
    Client, Driver, Footprint, Identity, Layout, Loader, Opening, Place, Session, SettingDoc,
    System, SystemError, Verified, cache::Cache, framing::given,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "memory",
    summary: "a sharded ordered map in Assay's own process",
    layouts: &[Layout { name: "map", summary: "one BTreeMap entry a record" }],
    settings: &[
        SettingDoc {
            name: "slowdown",
            default: "0",
            summary: "test setting: make each operation, as its client's loop sees it, take this \
                      fraction longer (0.05 is 5 %)",
        },
        SettingDoc {
            name: "stall",
            default: "none",
            summary: "test setting: stand still once in each session, as in 1s@5000: for one \
                      second at its 5,000th operation",
        },
    ],
    place: Place::Embedded,
    verified: Verified::ByTests,
    cache: Some(Cache::Unsized("all its records are in memory")),
    rests: |_| true,
    capabilities: |_| Capabilities::IN_MEMORY,
    open: |opening: Opening| {
        Ok(Box::new(Memory {
            shards: Shards::new(),
            fields: opening.schema.field_count(),
            handicap: HandicapSettings::parse(&opening.settings)?,
            prepared: AtomicBool::new(false),
        }))
    },
};

const SHARDS: usize = 16;

/// The fields of a record, by position.
type Record = Box<[Box<[u8]>]>;
type Map = BTreeMap<Box<[u8]>, Record>;

#[derive(Clone)]
struct Shards(Arc<[RwLock<Map>; SHARDS]>);

impl Shards {
    fn new() -> Shards {
        Shards(Arc::new(array::from_fn(|_| RwLock::default())))
    }

    fn of(&self, key: &[u8]) -> &RwLock<Map> {
        &self.0[shard_of(key)]
    }

    fn read(&self, key: &[u8]) -> RwLockReadGuard<'_, Map> {
        self.of(key).read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, key: &[u8]) -> RwLockWriteGuard<'_, Map> {
        self.of(key).write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every shard for reading. Writers take one shard at a time, so the order does not matter.
    fn read_all(&self) -> [RwLockReadGuard<'_, Map>; SHARDS] {
        array::from_fn(|shard| self.0[shard].read().unwrap_or_else(PoisonError::into_inner))
    }

    fn insert(&self, key: &[u8], values: &[FieldValue<'_>], fields: u16) {
        let value = |position| given(values, position).unwrap_or_default().into();
        let record: Record = (0..fields).map(value).collect();
        self.write(key).insert(key.into(), record);
    }
}

/// A multiplicative hash of eight bytes at a time; its quality only balances the locks.
fn shard_of(key: &[u8]) -> usize {
    let mut hash = key.len() as u64;
    for chunk in key.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    (hash >> 60) as usize % SHARDS
}

struct Memory {
    shards: Shards,
    fields: u16,
    handicap: HandicapSettings,
    prepared: AtomicBool,
}

impl System for Memory {
    fn prepare(&self) -> Result<(), SystemError> {
        if self.prepared.swap(true, Ordering::SeqCst) {
            return Err(SystemError::AlreadyThere {
                system: DRIVER.name.into(),
                what: "the table".into(),
                next: crate::system::REMOVE_OR_RENAME,
            });
        }
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        Ok(Box::new(MemoryLoader(self)))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        Ok(Client::Call(Box::new(MemorySession {
            shards: self.shards.clone(),
            fields: self.fields,
            handicap: Handicap::new(&self.handicap),
        })))
    }

    fn count(&self) -> Result<u64, SystemError> {
        Ok(self.shards.read_all().iter().map(|shard| shard.len() as u64).sum())
    }

    /// An estimate: for each record its key's and values' bytes, the two fat pointers of its map
    /// entry (32 bytes), one for each field (16 bytes), and 16 bytes of allocator's overhead for
    /// each of its `fields + 2` allocations.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        const FAT_POINTER: usize = size_of::<Box<[u8]>>();
        const ALLOCATION: usize = 16;
        let mut bytes = 0;
        for shard in &self.shards.read_all() {
            for (key, record) in shard.iter() {
                let contents = key.len() + record.iter().map(|value| value.len()).sum::<usize>();
                let pointers = FAT_POINTER * (2 + record.len());
                bytes += contents + pointers + ALLOCATION * (2 + record.len());
            }
        }
        Ok(Footprint { disk_bytes: None, memory_bytes: Some(bytes as u64) })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let mut settings = vec![("shards".to_owned(), SHARDS.to_string())];
        settings.extend(self.handicap.shown());
        Ok(Identity {
            version: concat!("Assay memory ", env!("CARGO_PKG_VERSION")).into(),
            settings,
        })
    }

    fn remove(&self) -> Result<(), SystemError> {
        for shard in self.shards.0.iter() {
            shard.write().unwrap_or_else(PoisonError::into_inner).clear();
        }
        self.prepared.store(false, Ordering::SeqCst);
        Ok(())
    }
}

struct MemoryLoader<'a>(&'a Memory);

impl Loader for MemoryLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.0.shards.insert(key, values, self.0.fields);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), SystemError> {
        Ok(())
    }
}

struct MemorySession {
    shards: Shards,
    fields: u16,
    handicap: Option<Box<Handicap>>,
}

impl Session for MemorySession {
    fn execute(&mut self, operation: &Operation<'_>, answer: &mut Answer) -> Outcome {
        match self.handicap.take() {
            None => self.answer(operation, answer),
            Some(mut handicap) => {
                handicap.before();
                let outcome = self.answer(operation, answer);
                handicap.after();
                self.handicap = Some(handicap);
                outcome
            }
        }
    }
}

impl MemorySession {
    fn answer(&self, operation: &Operation<'_>, answer: &mut Answer) -> Outcome {
        match *operation {
            Operation::Read { key, fields } => match self.shards.read(key).get(key) {
                Some(record) => {
                    report(key, record, fields, answer);
                    Outcome::Done
                }
                None => Outcome::Missing,
            },
            Operation::Insert { key, values } => {
                self.shards.insert(key, values, self.fields);
                Outcome::Done
            }
            Operation::Update { key, values } => match self.shards.write(key).get_mut(key) {
                Some(record) => {
                    merge(record, values);
                    Outcome::Done
                }
                None => Outcome::Missing,
            },
            Operation::Scan { start, limit, fields } => {
                self.scan(start, limit, fields, answer);
                Outcome::Done
            }
            Operation::Lookup { .. } => Outcome::failed(FailureKind::Rejected, NO_INDEXES),
            Operation::Delete { key } => match self.shards.write(key).remove(key) {
                Some(_) => Outcome::Done,
                None => Outcome::Missing,
            },
        }
    }

    fn scan(&self, start: &[u8], limit: u32, fields: Fields, answer: &mut Answer) {
        let shards = self.shards.read_all();
        let from = (Bound::Included(start), Bound::Unbounded);
        let mut runs: [btree_map::Range<'_, Box<[u8]>, Record>; SHARDS] =
            array::from_fn(|shard| shards[shard].range::<[u8], _>(from));
        let mut heads = BinaryHeap::with_capacity(SHARDS);
        for (shard, run) in runs.iter_mut().enumerate() {
            heads.extend(run.next().map(|(key, record)| Reverse((key, shard, record))));
        }
        for _ in 0..limit {
            let Some(mut head) = heads.peek_mut() else { return };
            let Reverse((key, shard, record)) = *head;
            report(key, record, fields, answer);
            match runs[shard].next() {
                Some((key, record)) => *head = Reverse((key, shard, record)),
                None => drop(std::collections::binary_heap::PeekMut::pop(head)),
            }
        }
    }
}

fn report(key: &[u8], record: &Record, fields: Fields, answer: &mut Answer) {
    answer.begin_row(key);
    match fields {
        Fields::All => {
            for (position, value) in (0..).zip(record) {
                answer.field(position, value);
            }
        }
        Fields::One(position) => answer.field(position, &record[usize::from(position)]),
    }
}

fn merge(record: &mut Record, values: &[FieldValue<'_>]) {
    for value in values {
        let field = &mut record[usize::from(value.field)];
        if field.len() == value.bytes.len() {
            field.copy_from_slice(value.bytes);
        } else {
            *field = value.bytes.into();
        }
    }
}
