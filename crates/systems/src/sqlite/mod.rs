//! `sqlite`: SQLite in Assay's own process, one connection a client, in WAL mode at every
//! durability level.
//!
//! Layout `row` has one column a field; layout `json` one JSON text, whose fields SQLite itself
//! takes out and puts in. Keys are TEXT compared by their bytes, with an index beside the table: in a
//! table WITHOUT ROWID, which is its own index, a record of 1 KB would spill into a page of overflow
//! (sqlite.org/withoutrowid.html, "When To Use WITHOUT ROWID"). An insert of a key that exists is refused as a conflict.

mod session;
mod statements;
mod system;

use std::fmt;

use assay_model::{Capabilities, Durability, FailureKind, Outcome, Support};
use rusqlite::ErrorCode;

use crate::{
    Driver, Layout, Opening, Place, SettingDoc, Settings, System, SystemError, Verified,
    cache::{Cache, in_mib},
    registry::whole_number,
    sqlite::{
        statements::{Shape, Statements},
        system::Sqlite,
    },
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "sqlite",
    summary: "SQLite in Assay's own process, in WAL mode, one connection a client",
    layouts: &[
        Layout { name: "row", summary: "one column a field" },
        Layout {
            name: "json",
            summary: "one JSON text a record, read and changed by SQLite's JSON functions; UTF-8 \
                      text without NUL only",
        },
    ],
    settings: &[
        SettingDoc {
            name: "cache_mib",
            default: "64",
            summary: "page cache of each connection, in MiB",
        },
        SettingDoc {
            name: "mmap_mib",
            default: "0",
            summary: "how much of the file each connection maps into memory, in MiB",
        },
    ],
    place: Place::Embedded,
    // The kernel writes back what it wrote.
    verified: Verified::ByTests,
    cache: Some(Cache::Sized {
        setting: "cache_mib",
        value: in_mib,
        least_mib: 1,
        reason: "the page cache (cache_size), which each connection has for itself: a share for each \
                     would not hold what the others' hold, so each client gets the whole size",
    }),
    rests: |_| false,
    capabilities: |_| Capabilities {
        lookup: Support::Native,
        durability: &[
            (Durability::None, "journal_mode=WAL, synchronous=OFF"),
            (Durability::Buffered, "journal_mode=WAL, synchronous=NORMAL"),
            (Durability::Synced, "journal_mode=WAL, synchronous=FULL"),
        ],
        // SQLITE_MAX_LENGTH bounds a string, and a row with all its fields.
        max_value_bytes: Some(1_000_000_000),
        max_key_bytes: Some(1_000_000_000),
        ..Capabilities::IN_MEMORY
    },
    open,
};

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let data_dir = opening.target.embedded(DRIVER.name)?;
    let shape = if opening.layout == "json" { Shape::Json } else { Shape::Row };
    Ok(Box::new(Sqlite::new(
        data_dir.join("assay.sqlite"),
        Tuning {
            synchronous: match opening.durability {
                Durability::None => "OFF",
                Durability::Buffered => "NORMAL",
                Durability::Synced => "FULL",
            },
            cache_kib: 1024 * mebibytes(&opening.settings, "cache_mib", 64)?,
            mmap_bytes: (1 << 20) * mebibytes(&opening.settings, "mmap_mib", 0)?,
            busy_timeout: opening.timeout,
        },
        Statements::new(&opening.schema, shape),
    )))
}

/// What every connection is set to.
struct Tuning {
    synchronous: &'static str,
    cache_kib: u64,
    mmap_bytes: u64,
    busy_timeout: std::time::Duration,
}

/// The greatest number of MiB a setting takes: 16 TiB.
const MOST_MEBIBYTES: u64 = 1 << 24;

fn mebibytes(settings: &Settings, name: &str, default: u64) -> Result<u64, SystemError> {
    whole_number(DRIVER.name, settings, name, default, 0..=MOST_MEBIBYTES)
}

fn failed(action: &str, why: impl fmt::Display) -> SystemError {
    SystemError::Failed { system: DRIVER.name.into(), action: action.into(), why: why.to_string() }
}

/// The outcome of an operation that ended in `error`.
fn outcome(error: &rusqlite::Error) -> Outcome {
    let kind = match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::ConstraintViolation,
        ) => FailureKind::Conflict,
        Some(ErrorCode::DiskFull | ErrorCode::OutOfMemory) => FailureKind::Full,
        _ => FailureKind::Rejected,
    };
    Outcome::failed(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn errors_are_told_apart() {
        for (code, kind) in [
            (ffi::SQLITE_BUSY, FailureKind::Conflict),
            (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, FailureKind::Conflict),
            (ffi::SQLITE_FULL, FailureKind::Full),
            (ffi::SQLITE_READONLY, FailureKind::Rejected),
        ] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(outcome(&error).failure_kind(), Some(kind));
        }
    }

    #[test]
    fn a_bad_setting_is_named() {
        let settings = Settings::from([("cache_mib".into(), "lots".into())]);
        let message = mebibytes(&settings, "cache_mib", 64).unwrap_err().to_string();
        assert!(message.contains("cache_mib") && message.contains("lots"), "{message}");
    }
}
