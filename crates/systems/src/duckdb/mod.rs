//! `duckdb`: DuckDB in Assay's own process, from its shared library, by its C interface. Each client
//! is a connection of its own to one database.
//!
//! A record is a row of BLOB columns, which keep any bytes and compare by them, with an ART index on
//! the key as PRIMARY KEY and one on each field with a secondary index. DuckDB finds single keys and
//! values by these; for a range it looks through the table. Each operation is a transaction of its
//! own. Of two that write one row at the same time DuckDB refuses the second, which is counted as a
//! conflict and not tried again, as is an insert of a key that exists.

mod api;
mod loader;
mod session;
mod statements;
mod system;

use std::fmt;

use assay_model::{Capabilities, Durability, FailureKind, Outcome, Support};

use self::{
    api::{Error, Library},
    statements::Table,
    system::Duckdb,
};
use crate::{
    Driver, Layout, Opening, Place, SettingDoc, Settings, System, SystemError, Verified,
    cache::Cache, registry,
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "duckdb",
    summary: "DuckDB in Assay's own process, from its shared library, one connection a client",
    layouts: &[Layout { name: "row", summary: "one BLOB column a field" }],
    settings: &[
        SettingDoc {
            name: "threads",
            default: "1",
            summary: "threads that work on one operation together, the client's own among them; \
                      with one, single records take the least time",
        },
        SettingDoc {
            name: "memory_limit",
            default: "",
            summary: "the most memory, as in 512MiB or 4GB; 80 % of the machine's if not given",
        },
    ],
    place: Place::Library { library: "duckdb" },
    // Threads of its own give memory back half a second after their last work, and the kernel
    // writes back what it wrote.
    verified: Verified::ByTests,
    cache: Some(Cache::Sized {
        setting: "memory_limit",
        value: |mib| format!("{mib}MiB"),
        least_mib: 128,
        reason: "all that it takes: its buffer pool has no size of its own, and queries share it; with \
                     less than 128 MiB a load may fail",
    }),
    rests: |_| false,
    capabilities: |_| Capabilities {
        lookup: Support::Native,
        durability: &[
            (Durability::None, "database in memory, nothing spilled to disk"),
            (Durability::Synced, "database file, its log synced at each commit"),
        ],
        ..Capabilities::IN_MEMORY
    },
    open,
};

fn open(opening: Opening) -> Result<Box<dyn System>, SystemError> {
    let (library, data_dir) = opening.target.library(DRIVER.name)?;
    let mut options = vec![
        ("threads", threads(&opening.settings)?.to_string()),
        // Nothing is fetched from the network in the middle of a measurement.
        ("autoinstall_known_extensions", "false".to_owned()),
        ("autoload_known_extensions", "false".to_owned()),
    ];
    options.extend(memory_limit(&opening.settings)?.map(|limit| ("memory_limit", limit)));
    let opened = Library::open(&library)
        .map_err(|why| failed(&format!("open its library {}", library.display()), why))?;
    let persistent = opening.durability != Durability::None;
    Ok(Box::new(Duckdb::new(opened, data_dir, persistent, options, Table::new(&opening.schema))))
}

fn threads(settings: &Settings) -> Result<u64, SystemError> {
    registry::whole_number(DRIVER.name, settings, "threads", 1, 1..=4096)
}

fn memory_limit(settings: &Settings) -> Result<Option<String>, SystemError> {
    let Some(text) = settings.get("memory_limit") else { return Ok(None) };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let units = ["KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"];
    let known = units.iter().any(|known| unit.trim_start().eq_ignore_ascii_case(known));
    match known && number.parse::<u32>().is_ok_and(|number| number > 0) {
        true => Ok(Some(text.clone())),
        false => Err(SystemError::BadSetting {
            system: DRIVER.name.into(),
            setting: "memory_limit".into(),
            why: format!("'{text}' is not a size such as 512MiB or 4GB ({})", units.join(", ")),
        }),
    }
}

fn failed(action: &str, why: impl fmt::Display) -> SystemError {
    SystemError::Failed { system: DRIVER.name.into(), action: action.into(), why: why.to_string() }
}

/// `DUCKDB_ERROR_TRANSACTION`: another transaction was there first.
const TRANSACTION: i32 = 10;
/// `DUCKDB_ERROR_CONSTRAINT`: the key exists.
const CONSTRAINT: i32 = 18;
/// `DUCKDB_ERROR_IO`.
const IO: i32 = 28;
/// `DUCKDB_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: i32 = 33;

/// The outcome of an operation that ended in `error`.
fn outcome(error: &Error) -> Outcome {
    let kind = match error.kind {
        TRANSACTION | CONSTRAINT => FailureKind::Conflict,
        OUT_OF_MEMORY => FailureKind::Full,
        IO if error.message.contains("No space left on device") => FailureKind::Full,
        _ => FailureKind::Rejected,
    };
    Outcome::failed(kind, error.message.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_apart() {
        let no_space = "IO Error: Could not write file \"x\": No space left on device";
        for (code, message, kind) in [
            (TRANSACTION, "TransactionContext Error: Conflict on update!", FailureKind::Conflict),
            (CONSTRAINT, "Constraint Error: Duplicate key", FailureKind::Conflict),
            (OUT_OF_MEMORY, "Out of Memory Error", FailureKind::Full),
            (IO, no_space, FailureKind::Full),
            (IO, "IO Error: Input/output error", FailureKind::Rejected),
            (0, "no parameter 9", FailureKind::Rejected),
        ] {
            let error = Error { kind: code, message: message.into() };
            assert_eq!(outcome(&error).failure_kind(), Some(kind), "{message}");
        }
    }

    #[test]
    fn a_bad_setting_is_named_and_what_it_should_be() {
        let with = |name: &str, value: &str| Settings::from([(name.into(), value.into())]);
        for text in ["0", "-1", "all", "1.5", "", "99999"] {
            let message = threads(&with("threads", text)).unwrap_err().to_string();
            assert!(message.contains("'threads'") && message.contains("from 1"), "{message}");
        }
        for text in ["lots", "", "0MB", "12", "-5GB", "80%", "1GB; DROP TABLE t"] {
            let message = memory_limit(&with("memory_limit", text)).unwrap_err().to_string();
            assert!(message.contains("'memory_limit'") && message.contains("512MiB"), "{message}");
        }
        assert_eq!(threads(&with("threads", "4")).unwrap(), 4);
        for text in ["512MiB", "4GB", "2 GB", "1gib"] {
            let given = memory_limit(&with("memory_limit", text)).unwrap();
            assert_eq!(given.as_deref(), Some(text));
        }
    }
}
