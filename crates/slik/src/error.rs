//! What can go wrong, and what to do about it. After any of these the store is as it was before
//! the call, and usable; but after [`Error::Io`] from a write a durable store only answers reads,
//! and whether that write is there when it is opened again is not known.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::object::{MAX_KEY_BYTES, MAX_KEYS, MAX_VALUE_BYTES};
use crate::schema::IndexId;
use crate::store::MAX_NAME_BYTES;

/// Why a call was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The name is not that of a table.
    #[error("there is no table \"{name}\": create it with create_table")]
    NoTable {
        /// The name asked for.
        name: String,
    },
    /// The name is already that of a table.
    #[error("there is a table \"{name}\" already: open it with table, or drop it first")]
    TableExists {
        /// The name asked for.
        name: String,
    },
    /// No table can have this name.
    #[error(
        "a table cannot be called {name:?}: its name is a text of 1 to {MAX_NAME_BYTES} bytes \
         without control characters"
    )]
    BadTableName {
        /// The name asked for.
        name: String,
    },
    /// The table was dropped while this handle of it was still in use.
    #[error("the table \"{name}\" was dropped: open or create one with Store and use its handle")]
    TableDropped {
        /// The table's name.
        name: String,
    },
    /// The table has no such index.
    #[error("index {index} does not exist: create it with create_index({index})")]
    NoIndex {
        /// The index asked for.
        index: IndexId,
    },
    /// The table has such an index already.
    #[error("index {index} exists already: use it, or drop it first with drop_index({index})")]
    IndexExists {
        /// The index asked for.
        index: IndexId,
    },
    /// The index is still being filled from the objects that were there before it.
    #[error("index {index} is still being built: look it up once create_index has returned")]
    IndexBuilding {
        /// The index asked for.
        index: IndexId,
    },
    /// The index was dropped after this call, or this stream of a lookup, began.
    #[error(
        "index {index} was dropped in the meantime: what was returned so far holds; start again \
         if it has been created anew"
    )]
    IndexDropped {
        /// The index that was dropped.
        index: IndexId,
    },
    /// A primary or secondary key is over the limit.
    #[error("a key of {bytes} bytes is over the limit of {MAX_KEY_BYTES}: use a shorter key")]
    KeyTooLong {
        /// Its length.
        bytes: usize,
    },
    /// An object has more secondary keys than can be counted.
    #[error("{keys} secondary keys are over the limit of {MAX_KEYS} per object: split the object")]
    TooManyKeys {
        /// How many it has.
        keys: usize,
    },
    /// A value is over the limit.
    #[error("a value of {bytes} bytes is over the limit of {MAX_VALUE_BYTES}: split it")]
    ValueTooLong {
        /// Its length.
        bytes: usize,
    },
    /// A conditional write or removal expected another version; nothing was changed.
    #[error(
        "the object {}, not {}: read it again and decide anew",
        match .current {
            Some(version) => format!("is at version {version}"),
            None => "is absent".to_owned(),
        },
        match .expected {
            Some(version) => format!("at version {version} as expected"),
            None => "absent as expected".to_owned(),
        },
    )]
    VersionMismatch {
        /// What the caller expected; `None` for no object.
        expected: Option<u64>,
        /// What there is; `None` for no object.
        current: Option<u64>,
    },
    /// The write would take the store over its memory limit; nothing was changed.
    #[error(
        "the store holds {used_bytes} bytes and may not grow over {limit_bytes}: remove objects, \
         drop an index, or raise Options::memory_limit_bytes"
    )]
    MemoryLimit {
        /// Bytes held now.
        used_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// The key at which an indexlet should be split is at the edge of its range already, or the
    /// index has nothing to split.
    #[error("index {index} has no indexlet to split there: choose a key between others")]
    NothingToSplit {
        /// The index asked for.
        index: IndexId,
    },
    /// The operating system refused something that a durable store asked for.
    #[error("cannot {action} {}: {reason}; {}", .path.display(), advice(*.kind))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// The kind of failure.
        kind: io::ErrorKind,
        /// The operating system's words.
        reason: String,
    },
    /// The store is open already, in this process or another.
    #[error(
        "the store at {} is open already: use that handle of it, or close it there first",
        .path.display()
    )]
    Locked {
        /// The store's folder.
        path: PathBuf,
    },
    /// The folder has no store, but something else.
    #[error(
        "{} holds {found} and no store: name an empty folder, or one that is not there yet",
        .path.display()
    )]
    NotAStore {
        /// The folder.
        path: PathBuf,
        /// The name of something in it.
        found: String,
    },
    /// The store was written by a later version of this crate.
    #[error(
        "the store at {} has format {found} and this version of slik reads up to format {known}: \
         open it with a newer one",
        .path.display()
    )]
    NewerFormat {
        /// The store's folder.
        path: PathBuf,
        /// The format found.
        found: u32,
        /// The latest format known.
        known: u32,
    },
    /// What is on disk is not what was written. Nothing of the store can be used by this handle.
    #[error("{} is damaged: {what}; {now}", .path.display())]
    Damaged {
        /// The file, or the folder where no file can be named.
        path: PathBuf,
        /// What was found.
        what: String,
        /// What to do.
        now: &'static str,
    },
    /// An earlier write could not be logged, so that nothing after it may be.
    #[error(
        "writes are refused since one failed ({reason}): reads go on; close the store, see to the \
         disk, and open it again"
    )]
    WritesStopped {
        /// What failed then.
        reason: String,
    },
    /// The store was closed while this handle of it was still in use. Reads go on.
    #[error("the store at {} was closed: open it again to write", .path.display())]
    Closed {
        /// The store's folder.
        path: PathBuf,
    },
}

/// What to do where a file is damaged.
pub(crate) const RESTORE: &str = "restore the store's folder from a copy";

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path, error: &io::Error) -> Error {
        Error::Io { action, path: path.into(), kind: error.kind(), reason: error.to_string() }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Error {
        Error::Damaged { path: path.into(), what: what.into(), now: RESTORE }
    }
}

fn advice(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space there, then open the store again"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "a store must be able to write there: grant that, or open a copy elsewhere"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a store is a folder: give another path"
        }
        _ => "see that the disk is well, then open the store again",
    }
}
