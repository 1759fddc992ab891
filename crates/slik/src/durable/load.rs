//! Reading a store from disk: the objects one after the other on one thread, their checksums,
//! copies and index entries on the others; then each table's tablets and indexes are built.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use fjall::{Keyspace, KvPair};
use parking_lot::Mutex;

use super::folder::{Closed, Folder};
use super::journal::{self, First};
use super::log::{Catalog, Disk, Log, TableLog, open_database, opening_error};
use super::record::{self, CATALOG, Definition, Entry};
use super::trees;
use crate::error::Error;
use crate::memory::Contents;
use crate::mutant::Switches;
use crate::object::ObjectRef;
use crate::options::Options;

/// Records given to a worker at once.
const CHUNK: usize = 1_024;

/// A table as it is on disk.
pub(crate) struct Loaded {
    pub(crate) definition: Definition,
    pub(crate) log: TableLog,
    pub(crate) contents: Contents,
}

/// Opens the store in a folder, or makes an empty one.
pub(crate) fn open(path: &Path, options: &Options) -> Result<(Arc<Log>, Vec<Loaded>), Error> {
    let folder = Folder::lock(path)?;
    let log_path = folder.log();
    // fjall trusts what it reads of its own in some places, and panics where it is wrong.
    let opened = catch_unwind(AssertUnwindSafe(|| open_locked(folder, options)));
    opened.unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|m| (*m).to_owned()));
        Err(Error::damaged(&log_path, message.unwrap_or_else(|| "it cannot be read".into())))
    })
}

fn open_locked(folder: Folder, options: &Options) -> Result<(Arc<Log>, Vec<Loaded>), Error> {
    folder.create(|log| open_database(log).map(drop).map_err(|e| opening_error(log, e)))?;
    folder.check_format()?;
    let log = folder.log();
    let closed = folder.closed()?;
    if let Some(closed) = &closed {
        check_journals(&log, closed)?;
    }
    trees::check(&log)?;
    let first = journal::check(&log, closed.is_some(), options.damaged_log)?;
    let (db, records) = open_database(&log).map_err(|e| opening_error(&log, e))?;
    check_first(&log, &records, first)?;
    let mut catalog = read_catalog(&log, &records)?;
    let mut contents = read_objects(&log, &records, &catalog, options)?;
    for (&table, contents) in &contents {
        catalog.tables.objects.insert(table, Arc::new((contents.objects() as u64).into()));
    }
    if let Some(closed) = &closed {
        check_closed(&log, closed, &catalog.tables)?;
        folder.forget_closed()?;
    }
    let disk = Disk { records, db, folder };
    let log = Arc::new(Log::new(options.durability, disk, catalog.tables));
    for &table in &catalog.dropped {
        log.purge(table)?;
    }
    let tables = log.tables().into_iter().map(|(definition, log)| {
        let contents = contents.remove(&log.number()).unwrap_or_default();
        Loaded { definition, log, contents }
    });
    let tables = tables.collect();
    Ok((log, tables))
}

/// All journals that a closed store had are there, and no others.
fn check_journals(log: &Path, closed: &Closed) -> Result<(), Error> {
    let names = journal::names(log)?;
    if names != closed.journals {
        let what =
            format!("its journals are {names:?}, and were {:?} when closed", closed.journals);
        return Err(Error::damaged(log, what));
    }
    Ok(())
}

/// The first batch of all has had its effect: see [`journal`].
fn check_first(log: &Path, records: &Keyspace, first: First) -> Result<(), Error> {
    for (key, logged) in first {
        let found = records.get(&key).map_err(|e| opening_error(log, e))?;
        if found.as_deref() != logged.as_deref() {
            return Err(Error::damaged(log, "the first write of its first journal has no effect"));
        }
    }
    Ok(())
}

fn check_closed(log: &Path, closed: &Closed, catalog: &Catalog) -> Result<(), Error> {
    if catalog.closings != closed.closing {
        let what = format!(
            "it ends with closing {}, and the store was closed {} times",
            catalog.closings, closed.closing
        );
        return Err(Error::damaged(log, what));
    }
    for (&table, definition) in &catalog.tables {
        let found = catalog.objects(table);
        let were = closed.objects.get(&table).copied();
        if were != Some(found) {
            let what = format!(
                "table \"{}\" has {found} objects, and had {} when closed",
                definition.name,
                were.unwrap_or_default()
            );
            return Err(Error::damaged(log, what));
        }
    }
    Ok(())
}

struct Definitions {
    tables: Catalog,
    dropped: BTreeSet<u32>,
}

fn read_catalog(log: &Path, records: &Keyspace) -> Result<Definitions, Error> {
    let mut catalog = Catalog { next_table: CATALOG + 1, ..Catalog::default() };
    let mut dropped = BTreeSet::new();
    for guard in records.prefix(CATALOG.to_be_bytes()) {
        let (key, value) = guard.into_inner().map_err(|e| opening_error(log, e))?;
        let damaged = || Error::damaged(log, "a record of its catalog is not what was written");
        let body = record::unseal(&key, &value).ok_or_else(damaged)?;
        let number = || body.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        match Entry::of(&key[4..]).ok_or_else(damaged)? {
            Entry::NextTable => catalog.next_table = number().ok_or_else(damaged)?,
            Entry::Closings => {
                let closings = body.first_chunk().ok_or_else(damaged)?;
                catalog.closings = u64::from_le_bytes(*closings);
            }
            Entry::Table(table) => {
                let definition = Definition::decode(body).ok_or_else(damaged)?;
                catalog.tables.insert(table, definition);
                catalog.objects.insert(table, Arc::default());
            }
            Entry::Dropped(table) => drop(dropped.insert(table)),
        }
    }
    Ok(Definitions { tables: catalog, dropped })
}

type Part = BTreeMap<u32, Contents>;

fn read_objects(
    log: &Path,
    records: &Keyspace,
    catalog: &Definitions,
    options: &Options,
) -> Result<Part, Error> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let (send, receive) = sync_channel::<Vec<KvPair>>(2 * workers);
    let receive = Mutex::new(receive);
    let parts = thread::scope(|scope| {
        let working: Vec<_> = (0..workers)
            .map(|_| scope.spawn(|| take_in(log, &receive, catalog, options.switches())))
            .collect();
        let mut chunk = Vec::with_capacity(CHUNK);
        let mut read = Ok(());
        for guard in records.range((CATALOG + 1).to_be_bytes()..) {
            match guard.into_inner() {
                Ok(pair) => chunk.push(pair),
                Err(error) => {
                    read = Err(opening_error(log, error));
                    break;
                }
            }
            if chunk.len() == CHUNK {
                // A worker that has stopped has an error to tell.
                if send.send(std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK))).is_err() {
                    break;
                }
            }
        }
        let _ = send.send(chunk);
        drop(send);
        let parts = working.into_iter().map(|worker| match worker.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        let parts: Result<Vec<Part>, Error> = parts.collect();
        read.and(parts)
    })?;
    let mut whole = Part::new();
    for part in parts {
        for (table, contents) in part {
            whole.entry(table).or_default().join(contents);
        }
    }
    Ok(whole)
}

/// Takes records in until there are no more, or one is wrong; then lets the others run dry.
fn take_in(
    log: &Path,
    receive: &Mutex<Receiver<Vec<KvPair>>>,
    catalog: &Definitions,
    switches: Switches,
) -> Result<Part, Error> {
    let mut part = Part::new();
    let mut result = Ok(());
    loop {
        let received = receive.lock().recv();
        let Ok(chunk) = received else { break };
        if result.is_ok() {
            result = chunk.iter().try_for_each(|(key, value)| {
                take_in_one(log, key, value, catalog, &switches, &mut part)
            });
        }
    }
    result.map(|()| part)
}

fn take_in_one(
    log: &Path,
    key: &[u8],
    value: &[u8],
    catalog: &Definitions,
    switches: &Switches,
    part: &mut Part,
) -> Result<(), Error> {
    let strange = |what: &str| Error::damaged(log, what.to_owned());
    let (table, primary) =
        record::split_key(key).ok_or_else(|| strange("a record is of no table"))?;
    let Some(definition) = catalog.tables.tables.get(&table) else {
        if catalog.dropped.contains(&table) {
            return Ok(());
        }
        return Err(strange(&format!("there are objects of table number {table}, which is not")));
    };
    let body = record::unseal(key, value);
    let object = body.and_then(ObjectRef::parse).filter(|object| object.primary() == primary);
    let Some(object) = object else {
        return Err(strange(&format!(
            "the object \"{}\" of table \"{}\" is not what was written",
            primary.escape_ascii(),
            definition.name
        )));
    };
    if object.version() > definition.versions {
        return Err(strange(&format!(
            "table \"{}\" has version {} of an object and has given only {}",
            definition.name,
            object.version(),
            definition.versions
        )));
    }
    let contents = part.entry(table).or_default();
    contents.add(switches.hash(primary), object, &definition.indexes);
    Ok(())
}
