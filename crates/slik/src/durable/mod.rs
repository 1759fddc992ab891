//! The durable side of a store: every object on disk in a log, all of them read back when the
//! store is opened, and the indexes built anew from them.
//!
//! # What each level promises
//! | | the process ends | the machine stops |
//! | --- | --- | --- |
//! | [`Buffered`](crate::Durability::Buffered) | every acknowledged write is there | the writes are there up to some moment, in the order of the log |
//! | [`Synced`](crate::Durability::Synced) | the same | every acknowledged write is there |
//!
//! Besides, at both levels: a write that was under way is there as a whole or not at all; the
//! indexes are the image of the objects; tables and indexes that were created or dropped stay so,
//! a dropped table with all of its objects; and versions of a primary key rise as if nothing had
//! happened. The last two are synced whatever the level.
//!
//! Nobody reads what could still be lost at the store's level: the order of a write is lock of the
//! key, check, entries into the indexes, version, log, for `Synced` the wait for the disk, object
//! into memory, old entries out, reply. A write that cannot be logged is taken back, and no other
//! is logged after it: what a failed write or sync has left on disk is not known, and a later
//! sync that succeeds says nothing about it. Reads go on. Whether that one write is there when the
//! store is opened again is not known either.
//!
//! # Files
//! ```text
//! lock                        held while the store is open
//! data/                       renamed from new/ when it was complete
//!   format                    "slik 1" and its checksum
//!   closed                    only while the store is closed: what it held, for comparison
//!   log/                      a fjall database
//!     0.jnl, 1.jnl, ...       its journals: see [`journal`]
//!     keyspaces/*/            its trees: see [`trees`]
//! ```
//! One keyspace has everything: see [`record`] for keys and values. The catalog, which is table 0,
//! defines the tables and their indexes, and says up to which version a table may have given
//! versions: they are taken a million at a time, and opening a store goes on behind the last.
//! Table numbers are never used again. A dropped table leaves a mark in the same batch that takes
//! it out of the catalog, until its objects are purged; opening goes on with a purge that was
//! interrupted.
//!
//! # Damage
//! Every byte is compared with a checksum when the store is opened: journals and trees before
//! fjall reads them, because it would cut a damaged journal off in silence and panic at a damaged
//! tree, and each object once more by a checksum of its own that also covers its key. The end of
//! the last journal may be torn, and is cut off. In a store that was closed nothing is torn; it
//! also has to end with the record of its closing and have the objects it had. What cannot be told
//! apart from a torn write is damage to the very last batch of a store that was not closed, where
//! it hides its end, or where a sector was not written.
//!
//! # Group commit
//! Writers at `Synced` queue their records up; one of them writes and syncs the batch while the
//! next queues up, and all of a batch sleep until then (see [`group`]). What that gains depends on
//! how long a sync takes beside the switches of threads (`just bench-slik synced`; figures in
//! `docs/performance.md`).
//!
//! # Why indexes are rebuilt
//! The other way is to keep entries in a second keyspace, written in the batch of their object.
//! Measured side by side (`just bench-slik logged`), an insert then takes about twice the time and
//! an overwrite that changes the key about three times, the files are larger, and opening and
//! reading them takes longer. Entries from disk would be sorted already, and that is all they would
//! save: sorting the entries takes less than reading them. So the objects alone are logged.
//!
//! # Not covered
//! A disk that acknowledges a sync and does not keep what was written; a copy of the folder made
//! while the store is open; somebody who changes files and their checksums.

mod folder;
mod group;
mod journal;
mod load;
mod log;
mod record;
mod trees;

pub(crate) use load::{Loaded, open};
pub(crate) use log::{Log, TableLog};
