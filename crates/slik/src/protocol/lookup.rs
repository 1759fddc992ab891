//! The lookup: scan some entries, then read the objects they point at, and give those that bear
//! them out; then the next entries.
//!
//! Objects are read after the scan and no latch of the index is held meanwhile. An object is given
//! if it has the entry's key when it is read, whatever its version: a blind overwrite of the same
//! keys must not hide it.

use std::ops::{Bound, ControlFlow};

use crate::entry;
use crate::error::Error;
use crate::mutant::Mutant;
use crate::object::ObjectRef;
use crate::query::Query;
use crate::scan::Cursor;
use crate::schema::IndexId;
use crate::scratch::LookScratch;
use crate::substrate::Substrate;
use crate::tree::Direction;

/// Most entries scanned at once: the time that an indexlet's writers may have to wait.
const BATCH: usize = 64;
/// How many objects are asked for before they are needed.
const AHEAD: usize = 6;

/// An object found, and the key it was found under.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The secondary key, one of the object's.
    pub key: &'a [u8],
    /// The object as it was during the lookup.
    pub object: ObjectRef<'a>,
}

/// A lookup under way.
pub(crate) struct Search {
    index: IndexId,
    incarnation: Option<u64>,
    cursor: Cursor,
    remaining: usize,
    /// The entry and primary key behind which an earlier lookup is continued.
    after: Option<(Vec<u8>, Vec<u8>)>,
}

impl Search {
    /// Begins at the start of the query's range, in the memory of `cursor`.
    #[inline]
    pub(crate) fn new<S: Substrate>(
        substrate: &S,
        index: IndexId,
        query: &Query<'_>,
        mut cursor: Cursor,
    ) -> Search {
        cursor.reset(query.direction);
        match query.from {
            Bound::Included(key) => entry::before(key, &mut cursor.from),
            Bound::Excluded(key) => entry::after(key, &mut cursor.from),
            Bound::Unbounded => {}
        }
        cursor.to_end = false;
        match query.to {
            Bound::Included(key) => entry::after(key, &mut cursor.to),
            Bound::Excluded(key) => entry::before(key, &mut cursor.to),
            Bound::Unbounded => cursor.to_end = true,
        }
        let after = query.after.map(|after| resume(substrate, &mut cursor, after));
        cursor.done = cursor.upper().is_some_and(|to| cursor.from.as_slice() >= to);
        Search { index, incarnation: None, cursor, remaining: query.limit, after }
    }

    /// Whether there is nothing more to be found.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.cursor.done || self.remaining == 0
    }

    /// Gives the cursor's memory back.
    pub(crate) fn into_cursor(self) -> Cursor {
        self.cursor
    }

    /// Makes sure the index can be looked up, even where the query is of an empty range.
    pub(crate) fn open<S: Substrate>(
        &mut self,
        substrate: &S,
        scratch: &mut LookScratch,
    ) -> Result<(), Error> {
        let mut nowhere = Cursor { done: true, ..Cursor::default() };
        scratch.batch.clear(0);
        let opened = substrate.scan(
            &mut substrate.view(),
            self.index,
            None,
            &mut nowhere,
            &mut scratch.batch,
        )?;
        self.incarnation = Some(opened);
        Ok(())
    }

    /// Scans a batch of entries and emits their objects in order.
    #[inline]
    pub(crate) fn step<S: Substrate>(
        &mut self,
        substrate: &S,
        scratch: &mut LookScratch,
        mut emit: impl FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let switches = substrate.switches();
        scratch.batch.clear(switches.batch(BATCH).min(self.remaining.max(1)));
        let LookScratch { batch, key, objects, spans, .. } = scratch;
        let mut view = substrate.view();
        let opened =
            substrate.scan(&mut view, self.index, self.incarnation, &mut self.cursor, batch)?;
        self.incarnation = Some(opened);
        let as_scanned = switches
            .on(Mutant::FilterOnExactReference)
            .then(|| versions(substrate, self.index, batch));
        if switches.on(Mutant::NoDeduplication) {
            self.cursor.from_seen = false;
            // An unbroken repetition would never end.
            self.cursor.done |= batch.len() < batch.limit || batch.len() < 2;
        }
        // The scan has asked for the first.
        for hint in batch.hints_from(1).iter().take(AHEAD) {
            substrate.prefetch(*hint);
        }
        for i in 0..batch.len() {
            if let Some(hint) = batch.hints_from(i + 1 + AHEAD).first() {
                substrate.prefetch(*hint);
            }
            let found = batch.get(i);
            let hash = entry::hash(found);
            let key = entry::key(found, key);
            objects.clear();
            spans.clear();
            let better = substrate.read_hinted(&mut view, hash, batch.hint(i), |object| {
                let borne = object.bears(self.index, key) || switches.on(Mutant::NoFilter);
                let exact = as_scanned.as_ref().is_none_or(|v| v.contains(&object.version()));
                if borne && exact && self.is_behind(found, object.primary()) {
                    let start = objects.len();
                    objects.extend_from_slice(object.bytes());
                    spans.push((start, objects.len()));
                }
            });
            if let Some(hint) = better {
                substrate.mend(self.index, found, hint);
            }
            if spans.len() > 1 {
                self.order(objects, spans);
            }
            for &(start, end) in &spans[..] {
                let object = ObjectRef::new(&objects[start..end]);
                self.remaining -= 1;
                let flow = emit(Found { key, object });
                if self.remaining == 0 || flow.is_break() {
                    self.remaining = 0;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Whether an object is behind the one after which this lookup goes on.
    #[inline]
    fn is_behind(&self, found: &[u8], primary: &[u8]) -> bool {
        match &self.after {
            Some((entry, last)) if entry == found => match self.cursor.direction {
                Direction::Forward => primary > last.as_slice(),
                Direction::Backward => primary < last.as_slice(),
            },
            _ => true,
        }
    }

    /// Sorts the objects of one entry by primary key.
    fn order(&self, objects: &[u8], spans: &mut [(usize, usize)]) {
        spans.sort_by_key(|&(start, end)| ObjectRef::new(&objects[start..end]).primary());
        if self.cursor.direction == Direction::Backward {
            spans.reverse();
        }
    }
}

/// Narrows the cursor to what is behind `after`, or shares its entry.
fn resume<S: Substrate>(
    substrate: &S,
    cursor: &mut Cursor,
    (key, primary): (&[u8], &[u8]),
) -> (Vec<u8>, Vec<u8>) {
    let mut last = Vec::new();
    entry::encode(key, substrate.switches().hash(primary), &mut last);
    match cursor.direction {
        Direction::Forward => {
            if last > cursor.from {
                cursor.from.clone_from(&last);
            }
        }
        Direction::Backward => {
            // The least bound that leaves the entry itself in.
            let bound = [&last[..], &[0]].concat();
            if cursor.upper().is_none_or(|to| bound.as_slice() < to) {
                cursor.to = bound;
                cursor.to_end = false;
            }
        }
    }
    (last, primary.to_vec())
}

/// The versions that the objects of a batch have now.
#[cold]
fn versions<S: Substrate>(substrate: &S, index: IndexId, batch: &crate::scan::Batch) -> Vec<u64> {
    let mut versions = Vec::new();
    let mut unescaped = Vec::new();
    for i in 0..batch.len() {
        let key = entry::key(batch.get(i), &mut unescaped);
        substrate.read(&mut substrate.view(), entry::hash(batch.get(i)), |object| {
            if object.bears(index, key) {
                versions.push(object.version());
            }
            ControlFlow::Continue(())
        });
    }
    versions
}
