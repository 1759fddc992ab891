//! What the protocol asks of the place where objects and index entries are kept.
//!
//! Each method is atomic by itself and nothing is atomic across two of them: the ordered write and
//! the lookup in [`protocol`](crate::protocol) make the consistency out of that. Entries are hints
//! and objects the truth.

use std::ops::ControlFlow;

use crate::error::Error;
use crate::mutant::Switches;
use crate::object::ObjectRef;
use crate::protocol::changes::Changes;
use crate::scan::{Batch, Cursor};
use crate::schema::{IndexId, SchemaView};

/// A partitioned store of objects and index entries.
pub(crate) trait Substrate {
    /// Held by a writer: no other writer of the same primary key runs meanwhile.
    type KeyLock<'a>
    where
        Self: 'a;

    /// A map of the parts, as of one moment. Calls that find it old look again, and keep what they
    /// then saw for the next call: it saves looks, and is never relied upon.
    type View<'a>
    where
        Self: 'a;

    /// Behaviour turned on for tests.
    fn switches(&self) -> &Switches;

    /// Waits for the other writers of primary keys of this hash.
    fn lock_key(&self, hash: u64) -> Self::KeyLock<'_>;

    /// The map as it is now.
    fn view(&self) -> Self::View<'_>;

    /// The indexes that a write must keep up with. If the view is older than the newest of them, the
    /// commit will be refused.
    fn schema(&self, view: &Self::View<'_>, schema: &mut SchemaView) -> Result<(), Error>;

    /// Visits every object whose primary key has this hash, until told to stop.
    fn read<'a>(
        &'a self,
        view: &mut Self::View<'a>,
        hash: u64,
        visit: impl FnMut(ObjectRef<'_>) -> ControlFlow<()>,
    );

    /// Visits every object whose primary key has this hash. If the hint was of no use, and a better
    /// one is known, gives it.
    fn read_hinted<'a>(
        &'a self,
        view: &mut Self::View<'a>,
        hash: u64,
        hint: Hint,
        visit: impl FnMut(ObjectRef<'_>),
    ) -> Option<Hint>;

    /// Visits every object whose primary key has the commit's hash, until told that this one is to be
    /// replaced and nothing else to be changed. A substrate that can then commits under the same
    /// latch; another leaves that to its caller.
    fn read_and_commit<'a>(
        &'a self,
        view: &mut Self::View<'a>,
        commit: &Commit<'_>,
        visit: impl FnMut(ObjectRef<'_>) -> bool,
    ) -> Looked;

    /// The objects of a hash will be asked for soon.
    fn prefetch_hash(&self, view: &Self::View<'_>, hash: u64);

    /// The entries of a write will be inserted and removed soon. Notes where they are.
    fn foresee(&self, view: &Self::View<'_>, changes: &mut Changes);

    /// What a hint leads to will be asked for soon.
    fn prefetch(&self, hint: Hint);

    /// Gives an entry a better hint, if it is still there.
    fn mend(&self, index: IndexId, entry: &[u8], hint: Hint);

    /// Puts, replaces or removes one object, if its version is the expected one and the schema
    /// has not changed since `generation`. The commit point of a write.
    fn commit<'a>(
        &'a self,
        view: &mut Self::View<'a>,
        commit: &Commit<'_>,
    ) -> Result<Committed, Refused>;

    /// Adds an entry to the indexlet that owns it; adding it twice is adding it once, with the later
    /// hint.
    fn insert_entry<'a>(
        &'a self,
        view: &mut Self::View<'a>,
        index: IndexId,
        entry: &[u8],
        near: Near,
        hint: Hint,
    ) -> Result<Grown, Refused>;

    /// Removes an entry from the indexlet that owns it; of no effect if it is not there, or the
    /// index is gone.
    fn remove_entry<'a>(
        &'a self,
        view: &mut Self::View<'a>,
        index: IndexId,
        entry: &[u8],
        near: Near,
    );

    /// Appends to `batch` the next entries at `cursor`, and moves the cursor past them. Gives the
    /// incarnation of the index; given one, refuses to go on in another.
    fn scan<'a>(
        &'a self,
        view: &mut Self::View<'a>,
        index: IndexId,
        incarnation: Option<u64>,
        cursor: &mut Cursor,
        batch: &mut Batch,
    ) -> Result<u64, Error>;

    /// Adds an empty index that writers keep up with and nobody can look up yet. When this
    /// returns its incarnation, no write that does not know of the index can commit any more.
    fn add_index(&self, index: IndexId) -> Result<u64, Error>;

    /// Makes an index readable, if this incarnation of it still exists.
    fn open_index(&self, index: IndexId, incarnation: u64) -> Result<(), Error>;

    /// Takes an index away, with its entries.
    fn delete_index(&self, index: IndexId) -> Result<(), Error>;

    /// Appends the hashes of some of the objects, and moves the cursor; `false` when all that were
    /// there from the first call on have been seen.
    fn hashes(&self, cursor: &mut HashCursor, hashes: &mut Vec<u64>) -> bool;

    /// Splits the tablet or indexlet that a write found too large, unless somebody already did.
    fn split_grown(&self, hash: u64, index: Option<(IndexId, &[u8])>);

    /// Frees some memory after a commit that left much to be freed, or, where memory is short, if
    /// there is any to be freed; false if not. Not for the holder of a key's lock, for whom others
    /// wait.
    fn clean(&self, hash: u64, is_short: bool) -> bool;
}

/// Where the object of an entry was last known to be, in the substrate's own terms: it may be wrong,
/// and is checked whenever it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint(pub(crate) u64);

impl Hint {
    /// Leads nowhere.
    pub(crate) const NONE: Hint = Hint(0);

    /// A hint as it is kept with an entry.
    #[inline]
    pub(crate) fn from_word(word: u64) -> Hint {
        Hint(word)
    }

    #[inline]
    pub(crate) fn word(self) -> u64 {
        self.0
    }
}

/// Where in its index an entry was last known to be, or to belong, in the substrate's own terms: it may
/// be wrong, and is checked whenever it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Near(pub(crate) u32);

impl Near {
    pub(crate) const UNKNOWN: Near = Near(u32::MAX);
}

/// What [`Substrate::read_and_commit`] did.
pub(crate) enum Looked {
    /// It committed, or was refused to.
    Committed(Result<Committed, Refused>),
    /// It only looked. A commit that follows is likely to put its object where this leads.
    Only(Hint),
}

/// What a writer expects to find under its primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Whatever there is.
    Any,
    /// This version, or no object.
    Version(Option<u64>),
}

impl Expected {
    pub(crate) fn check(self, current: Option<u64>) -> Result<(), Refused> {
        match self {
            Expected::Version(expected) if expected != current => {
                Err(Refused::Version { expected, current })
            }
            _ => Ok(()),
        }
    }
}

/// One change of one object.
pub(crate) struct Commit<'a> {
    pub(crate) hash: u64,
    pub(crate) primary: &'a [u8],
    /// The encoded object, of whatever version; `None` to remove what is there.
    pub(crate) object: Option<&'a [u8]>,
    pub(crate) expected: Expected,
    /// The schema generation that the writer's entries are of.
    pub(crate) generation: u64,
    /// The version to give, if one has been reserved.
    pub(crate) version: Option<u64>,
}

/// What a commit did.
pub(crate) struct Committed {
    /// The version given to the object, or, of a removal, the version that was removed.
    pub(crate) version: Option<u64>,
    /// Whether the tablet is now too large.
    pub(crate) grown: Grown,
    /// Whether much memory should be cleaned.
    pub(crate) dirty: bool,
}

/// Whether a part has become larger than the options ask for.
pub(crate) type Grown = bool;

/// Why nothing was done.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The schema is another than the writer took it for: look again.
    Schema,
    /// The object has another version.
    Version { expected: Option<u64>, current: Option<u64> },
    /// There is no memory left for it.
    Memory { used_bytes: u64, limit_bytes: u64 },
    /// It could not be logged.
    Log(Error),
}

/// Where a walk over all objects is: the shares of the hash space still to be visited, each as the
/// low bits of the tablet number and how many bits.
pub(crate) struct HashCursor(pub(crate) Vec<(u32, u32)>);

impl HashCursor {
    pub(crate) fn new() -> HashCursor {
        HashCursor(vec![(0, 0)])
    }
}
