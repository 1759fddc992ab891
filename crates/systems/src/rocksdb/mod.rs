//! `rocksdb`: RocksDB in Assay's own process, from its shared library, by its C interface:
//! log-structured merge trees, and transactions that lock the keys they touch (`TransactionDB`).

mod api;

use std::{
    ops::ControlFlow,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use assay_model::{Capabilities, Durability, FailureKind, Support};

use self::api::{Database, Error, Reading};
use crate::{
    Driver, Layout, Opening, Place, SettingDoc, Settings, System, SystemError, Verified,
    cache::{Cache, in_mib},
    ordered::{self, Library, Ordered, Refusal, Table, TableNames},
    registry::whole_number,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "rocksdb",
    summary: "RocksDB in Assay's own process, from its shared library, log-structured merge trees",
    layouts: &[Layout { name: "record", summary: "a key and its record in one string" }],
    settings: &[
        SettingDoc {
            name: "cache_mib",
            default: "1024",
            summary: "block cache, in MiB; RocksDB's own default would be small beside the others'",
        },
        SettingDoc {
            name: "compression",
            default: "snappy",
            summary: "compression of blocks: none, snappy, lz4 or zstd; RocksDB's own default",
        },
    ],
    place: Place::Library { library: "rocksdb" },
    verified: Verified::ByTests,
    // It flushes and compacts behind.
    cache: Some(Cache::Sized {
        setting: "cache_mib",
        value: in_mib,
        least_mib: 1,
        reason: "the block cache, which holds what was read of tables; what was written last lies in \
                     memtables beside it",
    }),
    rests: |_| false,
    capabilities: |_| Capabilities {
        lookup: Support::Native,
        durability: &[
            (Durability::None, "no write-ahead log: what is in no file yet is in memory only"),
            (Durability::Buffered, "write-ahead log, written at each commit, never synced"),
            (Durability::Synced, "write-ahead log, synced at each commit, of many clients at once"),
        ],
        max_value_bytes: Some(u32::MAX as u64),
        max_key_bytes: Some(8 << 20),
        ..Capabilities::IN_MEMORY
    },
    open,
};

/// The Bloom filters' bits a key that RocksDB's tuning guide starts from.
const FILTER_BITS: f64 = 10.0;
/// The name that the first column family must have.
const FIRST_FAMILY: &str = "default";
/// The compressions that a block may have, and RocksDB's numbers for them.
const COMPRESSIONS: [(&str, i32); 4] = [("none", 0), ("snappy", 1), ("lz4", 4), ("zstd", 7)];
/// How long the store may take to come to rest.
const SETTLE_LIMIT: Duration = Duration::from_secs(3600);

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let (path, data_dir) = opening.target.library(DRIVER.name)?;
    let cache_mib = whole_number(DRIVER.name, &opening.settings, "cache_mib", 1_024, 1..=1 << 24)?;
    let compression = compression(&opening.settings)?;
    let library = api::Library::open(&path).map_err(|why| SystemError::Failed {
        system: DRIVER.name.into(),
        action: format!("open its library {}", path.display()),
        why,
    })?;
    let version = version_of(&path);
    let settings = api::Settings {
        cache_bytes: (cache_mib << 20) as usize,
        filter_bits: FILTER_BITS,
        compression: compression.1,
        log: opening.durability != Durability::None,
        sync: opening.durability == Durability::Synced,
    };
    let told = vec![
        ("block_cache".to_owned(), settings.cache_bytes.to_string()),
        ("bloom_filter".to_owned(), format!("{FILTER_BITS} bits a key")),
        ("compression".to_owned(), compression.0.to_owned()),
        ("WriteOptions.disableWAL".to_owned(), (!settings.log).to_string()),
        ("WriteOptions.sync".to_owned(), settings.sync.to_string()),
    ];
    let open = move |folder: &Path, tables: &TableNames| {
        let mut families: Vec<&str> = tables.all().collect();
        families[0] = FIRST_FAMILY;
        let database = Database::open(library, folder, &families, &settings)?;
        Ok(Rocks { database, version: version.clone(), settings: told.clone() })
    };
    Ok(Box::new(Ordered::new(DRIVER.name, &data_dir, &opening.schema, Box::new(open))))
}

fn compression(settings: &Settings) -> Result<(&'static str, i32), SystemError> {
    let wanted = settings.get("compression").map_or("snappy", String::as_str);
    COMPRESSIONS.into_iter().find(|(name, _)| *name == wanted).ok_or_else(|| {
        SystemError::BadSetting {
            system: DRIVER.name.into(),
            setting: "compression".into(),
            why: format!("'{wanted}' is none: use none, snappy, lz4 or zstd"),
        }
    })
}

/// The version in the name of the library's file, as in `librocksdb.so.7.8.3`: its C interface does not
/// tell it.
fn version_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.split_once(".so.") {
        Some((_, version)) => format!("RocksDB {version}"),
        None => "RocksDB".to_owned(),
    }
}

struct Rocks {
    database: Database,
    version: String,
    settings: Vec<(String, String)>,
}

impl Library for Rocks {
    type Snapshot<'l> = Reading<'l>;
    type Transaction<'l> = api::Transaction<'l>;

    fn read(&self) -> Result<Reading<'_>, Refusal> {
        Ok(self.database.reading())
    }

    fn write(&self) -> Result<api::Transaction<'_>, Refusal> {
        Ok(self.database.begin())
    }

    /// By looking at each: RocksDB keeps an estimate only.
    fn count(&self) -> Result<u64, Refusal> {
        let mut count = 0;
        self.database.reading().range(Table::Records.place(), &[], |_, _| {
            count += 1;
            Ok::<_, Refusal>(ControlFlow::Continue(()))
        })?;
        Ok(count)
    }

    /// What was loaded goes to files, and the compactions that follow from it are waited for.
    fn settle(&self) -> Result<(), Refusal> {
        self.database.flush()?;
        let until = Instant::now() + SETTLE_LIMIT;
        let busy = || {
            [c"rocksdb.compaction-pending", c"rocksdb.num-running-compactions"]
                .into_iter()
                .chain([c"rocksdb.num-running-flushes"])
                .any(|property| self.database.property(property).is_some_and(|count| count > 0))
        };
        while busy() {
            if Instant::now() > until {
                let why = format!("it was still compacting after {SETTLE_LIMIT:?}");
                return Err(Refusal::new(FailureKind::Timeout, why));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn settings(&self) -> Vec<(String, String)> {
        self.settings.clone()
    }
}

impl ordered::Snapshot for Reading<'_> {
    fn get(&self, table: Table, key: &[u8], found: impl FnOnce(&[u8])) -> Result<bool, Refusal> {
        Ok(Reading::get(self, table.place(), key, found)?)
    }

    fn range(
        &self,
        table: Table,
        from: &[u8],
        limit: u32,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, Refusal>,
    ) -> Result<(), Refusal> {
        let mut left = limit;
        if left == 0 {
            return Ok(());
        }
        Reading::range(self, table.place(), from, |key, value| {
            left -= 1;
            let flow = each(key, value)?;
            Ok(if left == 0 { ControlFlow::Break(()) } else { flow })
        })
    }
}

impl ordered::Transaction for api::Transaction<'_> {
    fn get(
        &mut self,
        table: Table,
        key: &[u8],
        found: impl FnOnce(&[u8]),
    ) -> Result<bool, Refusal> {
        Ok(api::Transaction::get(self, table.place(), key, found)?)
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        Ok(api::Transaction::put(self, table.place(), key, value)?)
    }

    fn remove(&mut self, table: Table, key: &[u8]) -> Result<(), Refusal> {
        Ok(api::Transaction::remove(self, table.place(), key)?)
    }

    fn commit(self) -> Result<(), Refusal> {
        Ok(api::Transaction::commit(self)?)
    }
}

impl From<Error> for Refusal {
    fn from(Error(why): Error) -> Refusal {
        let kind = match () {
            () if why.contains("No space left") || why.contains("Memory limit") => {
                FailureKind::Full
            }
            () if why.starts_with("Resource busy") || why.starts_with("Operation timed out") => {
                FailureKind::Conflict
            }
            () if why.starts_with("Corruption") => FailureKind::Protocol,
            () => FailureKind::Rejected,
        };
        Refusal::new(kind, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_in_the_name_of_the_file() {
        assert_eq!(version_of(Path::new("/usr/lib/librocksdb.so.7.8.3")), "RocksDB 7.8.3");
        assert_eq!(version_of(Path::new("/usr/lib/librocksdb.so")), "RocksDB");
    }

    #[test]
    fn what_it_says_has_a_kind() {
        let kind = |text: &str| Refusal::from(Error(text.to_owned())).kind;
        assert_eq!(kind("IO error: No space left on device: x"), FailureKind::Full);
        assert_eq!(kind("Operation timed out: Timeout waiting to lock key"), FailureKind::Conflict);
        assert_eq!(kind("Resource busy: "), FailureKind::Conflict);
        assert_eq!(kind("Corruption: block checksum mismatch"), FailureKind::Protocol);
        assert_eq!(kind("Invalid argument: x"), FailureKind::Rejected);
    }
}
