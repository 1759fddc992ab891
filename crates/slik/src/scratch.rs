//! Buffers that one thread's calls use again and again, so that a call allocates nothing.

use std::cell::Cell;

use crate::protocol::changes::Changes;
use crate::scan::{Batch, Cursor};
use crate::schema::SchemaView;

/// A larger buffer is given back to the allocator after the call.
const KEPT_BYTES: usize = 1 << 20;

/// The buffers of one call. A call that begins inside another (from a visitor) has its own.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) write: WriteScratch,
    pub(crate) look: LookScratch,
    /// One object copied out of its tablet.
    pub(crate) object: Vec<u8>,
}

/// Buffers of a write.
#[derive(Default)]
pub(crate) struct WriteScratch {
    /// The new object, encoded.
    pub(crate) image: Vec<u8>,
    /// The old object without its value; meaningful if there is one.
    pub(crate) old: Vec<u8>,
    pub(crate) changes: Changes,
    /// The entry of an object that is indexed.
    pub(crate) entry: Vec<u8>,
    /// The key of an entry.
    pub(crate) key: Vec<u8>,
    pub(crate) schema: SchemaView,
}

/// Buffers of a lookup.
#[derive(Default)]
pub(crate) struct LookScratch {
    pub(crate) cursor: Cursor,
    pub(crate) batch: Batch,
    pub(crate) key: Vec<u8>,
    /// The objects of one entry, one after the other.
    pub(crate) objects: Vec<u8>,
    /// Start and end of each.
    pub(crate) spans: Vec<(usize, usize)>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Calls `f` with this thread's buffers.
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = SCRATCH.with(Cell::take).unwrap_or_default();
    let result = f(&mut scratch);
    let Scratch { write, look, object } = &mut *scratch;
    for large in [&mut write.image, &mut write.old, &mut look.objects, object] {
        if large.capacity() > KEPT_BYTES {
            *large = Vec::new();
        }
    }
    if write.changes.capacity() > KEPT_BYTES {
        write.changes = Changes::default();
    }
    SCRATCH.with(|cell| cell.set(Some(scratch)));
    result
}
