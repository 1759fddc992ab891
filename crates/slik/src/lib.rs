//! An indexed key-value store: objects with a primary key, any number of secondary keys, and
//! lookups by secondary key that agree with the objects.
//!
//! ```
//! use slik::{Query, Store, keys};
//!
//! const AGE: slik::IndexId = 1;
//! const TOWN: slik::IndexId = 2;
//!
//! let store = Store::in_memory();
//! let people = store.create_table("people")?;
//! people.create_index(AGE)?;
//!
//! people.write(b"ada", &[(AGE, &keys::integer(36)), (TOWN, b"London")], b"analyst")?;
//! people.write(b"alan", &[(AGE, &keys::integer(41)), (TOWN, b"London")], b"logician")?;
//!
//! // In order of age, from 40 up.
//! let forty = keys::integer(40);
//! for found in people.lookup(AGE, &Query::range(&forty[..]..))? {
//!     assert_eq!(found?.object.value(), b"logician");
//! }
//!
//! // An index on a table with data; it feeds on the keys that the objects have.
//! people.create_index(TOWN)?;
//! let londoners = people.lookup(TOWN, &Query::key(b"London").limit(10))?;
//! assert_eq!(londoners.count(), 2);
//!
//! // Only if nobody has changed it since it was read.
//! let ada = people.read(b"ada")?.expect("written above");
//! let keys: Vec<_> = ada.keys().collect(); // a write replaces the keys, too
//! people.write_if_version(b"ada", Some(ada.version()), &keys, b"countess")?;
//! # Ok::<(), slik::Error>(())
//! ```
//!
//! A store that is to outlast the process is opened in a folder:
//!
//! ```
//! use slik::{Durability, Options, Store};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("people");
//! let options = Options { durability: Durability::Synced, ..Options::default() };
//! let store = Store::open_with(&path, &options)?;
//! let people = store.create_table("people")?;
//! people.create_index(1)?;
//! people.write(b"ada", &[(1, b"London")], b"analyst")?; // on disk when it returns
//! store.close()?;
//!
//! let store = Store::open_with(&path, &options)?;
//! assert_eq!(store.table("people")?.lookup(1, &slik::Query::all())?.count(), 1);
//! # Ok::<(), slik::Error>(())
//! ```
//!
//! # Data
//! A [`Store`] has named [tables](Table). An object has a primary key, a value and secondary keys,
//! each of which feeds one index of its table, named by number. An index may get several keys of
//! one object, or none. All are byte strings, compared as bytes, a prefix before what continues
//! it; [`keys`] and [`tuple`](mod@tuple) encode numbers, strings, moments and tuples so that they compare as
//! such.
//!
//! Each write gives its object a version. The versions of a primary key only rise, also across
//! removals.
//!
//! # What each call promises, and costs
//! With `n` objects in the table, `k` keys that change, `m` objects found:
//!
//! | call | consistency | time |
//! | --- | --- | --- |
//! | [`write`](Table::write), [`remove`](Table::remove) | linearizable per primary key; takes effect at one moment | O(1 + k log n) |
//! | [`write_if_version`](Table::write_if_version) | as above; of several that expect the same, one succeeds; the others change nothing | the same |
//! | [`read`](Table::read), [`read_with`](Table::read_with) | linearizable per primary key | O(1) |
//! | [`multi_read`](Table::multi_read) | each object as if read alone | O(1) each |
//! | [`lookup`](Table::lookup), [`lookup_with`](Table::lookup_with) | see below | O(log n + m) |
//! | [`create_index`](Table::create_index) | readable, and complete, when it returns; reads and writes go on | O(n log n) |
//! | [`drop_index`](Table::drop_index) | lookups under way end with an error; reads and writes go on | O(entries) |
//! | [`split_indexlet`](Table::split_indexlet), [`split_tablet`](Table::split_tablet) | not noticeable but by the time | O(size of the part) |
//!
//! A lookup of one key is linearizable with the reads and writes of each object: once a write has
//! returned, or its effect has been read, every lookup finds the object under its new keys and
//! under no other. A lookup of a range is not a snapshot. It gives every object whose key stayed
//! in the range from its start to its end, nothing that did not have the key it is given for at
//! some moment in between, in the order of the keys, and no (key, primary key) twice.
//!
//! # On disk
//! All objects of a [durable store](Store::open) are in memory as well, and reads and lookups are
//! those of memory. Each write is logged before anybody sees it, and acknowledged when the
//! operating system has it ([`Durability::Buffered`]: it survives the process) or when the disk has
//! it ([`Durability::Synced`]: it survives the machine too; writers that wait for the disk at the
//! same time share one sync). Indexes are not stored: opening builds them from the objects. Every
//! byte is compared with a checksum then, and what is damaged is an error that names the file.
//!
//! # How
//! Objects are kept in tablets by hash of the primary key, index entries in indexlets by range of
//! the secondary key, and both split as they grow. Objects are the truth and entries are hints: a
//! write inserts its new entries, then commits the object, then removes the old entries; a lookup
//! reads the objects after the entries and drops what they do not bear out. Writers of one primary
//! key take turns; readers wait for no writer's entries, and one latch of one part is all they
//! hold at a time, for as long as it takes to copy an object or a batch of entries out of it.

#![forbid(unsafe_code)]

mod durable;
mod entry;
mod error;
#[cfg(test)]
mod explore;
mod hash;
pub mod keys;
mod memory;
mod mutant;
mod object;
mod options;
mod parallel;
mod prefetch;
mod protocol;
mod query;
mod scan;
mod schema;
mod scratch;
mod stats;
mod store;
mod stream;
mod substrate;
mod sync;
mod table;
mod tree;
pub mod tuple;

pub use error::Error;
#[cfg(feature = "mutants")]
pub use mutant::Mutant;
pub use object::{Key, MAX_KEY_BYTES, MAX_KEYS, MAX_VALUE_BYTES, Object, ObjectRef};
pub use options::{DamagedLog, Durability, Options, Placement};
pub use protocol::lookup::Found;
pub use query::Query;
pub use schema::IndexId;
pub use stats::{IndexStats, Stats, TableStats};
pub use store::{MAX_NAME_BYTES, Store};
pub use stream::{Lookup, Match};
pub use table::Table;
