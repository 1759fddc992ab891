//! What a lookup asks for: a range of secondary keys, a direction, a limit, and where to go on.

use std::ops::{Bound, RangeBounds};

use crate::tree::Direction;

/// A range of secondary keys, and which of its objects are wanted.
///
/// ```
/// use slik::Query;
/// let adults = Query::range(&b"18"[..]..).limit(10);
/// let newest_first = Query::all().backward();
/// let smith = Query::key(b"smith");
/// let inside = Query::bounds(std::ops::Bound::Excluded(b"a"), std::ops::Bound::Included(b"b"));
/// # let _ = (adults, newest_first, smith, inside);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    pub(crate) from: Bound<&'a [u8]>,
    pub(crate) to: Bound<&'a [u8]>,
    pub(crate) direction: Direction,
    pub(crate) limit: usize,
    pub(crate) after: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> Query<'a> {
    /// Every object with a key in the index, in ascending order of it.
    pub fn all() -> Query<'a> {
        Query::bounds(Bound::Unbounded, Bound::Unbounded)
    }

    /// The objects that have exactly this key.
    #[inline]
    pub fn key(key: &'a [u8]) -> Query<'a> {
        Query::bounds(Bound::Included(key), Bound::Included(key))
    }

    /// The objects that have a key in a range written the usual way, as in `&a[..]..&b[..]`.
    pub fn range(range: impl RangeBounds<&'a [u8]>) -> Query<'a> {
        Query::bounds(range.start_bound().cloned(), range.end_bound().cloned())
    }

    /// The objects that have a key between two bounds, each inclusive, exclusive or not there.
    #[inline]
    pub fn bounds(from: Bound<&'a [u8]>, to: Bound<&'a [u8]>) -> Query<'a> {
        Query { from, to, direction: Direction::Forward, limit: usize::MAX, after: None }
    }

    /// From the greatest key down.
    #[must_use]
    pub fn backward(self) -> Query<'a> {
        Query { direction: Direction::Backward, ..self }
    }

    /// At most so many objects.
    #[must_use]
    pub fn limit(self, objects: usize) -> Query<'a> {
        Query { limit: objects, ..self }
    }

    /// Only what comes behind the object of primary key `primary` found under `key`, in the
    /// query's direction: how to go on after the last object of an earlier lookup.
    #[must_use]
    pub fn after(self, key: &'a [u8], primary: &'a [u8]) -> Query<'a> {
        Query { after: Some((key, primary)), ..self }
    }
}
