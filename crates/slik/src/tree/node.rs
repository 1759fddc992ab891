//! The two kinds of node: a page of entries with its neighbors, and a page of separators with
//! its children.

use super::inners::NONE;
use super::page::Page;
use super::{MOST_CHILDREN, MOST_ENTRIES};
use crate::prefetch;

/// The entries of a leaf.
pub(super) type Entries = Page<MOST_ENTRIES, MOST_ENTRIES>;
/// The separators of an inner node. One place more than they are, for the one that makes it split.
pub(super) type Separators = Page<MOST_CHILDREN, 0>;

/// Entries in order. Only the root may be an empty leaf.
#[repr(C, align(64))]
pub(super) struct Leaf {
    pub(super) page: Entries,
    pub(super) previous: u32,
    pub(super) next: u32,
}

impl Default for Leaf {
    fn default() -> Leaf {
        Leaf { page: Page::default(), previous: NONE, next: NONE }
    }
}

/// One child more than separators; the entries under child `i` are at or above separator
/// `i - 1` and below separator `i`.
#[repr(C, align(64))]
pub(super) struct Inner {
    pub(super) separators: Separators,
    /// One place more than children, for the one that makes the node split.
    pub(super) children: [u32; MOST_CHILDREN + 1],
}

impl Default for Inner {
    fn default() -> Inner {
        Inner { separators: Page::default(), children: [NONE; MOST_CHILDREN + 1] }
    }
}

impl Inner {
    /// The place of the child that has the entry, or would have it.
    #[inline]
    pub(super) fn child_for(&self, entry: &[u8]) -> usize {
        // On every visit, so that they stay in the cache as the heads do.
        prefetch::elements(&self.children);
        match self.separators.find(entry) {
            Ok(equal) => equal + 1,
            Err(above) => above,
        }
    }

    /// The children in use.
    pub(super) fn children(&self) -> &[u32] {
        &self.children[..=self.separators.len()]
    }

    /// Puts a child right of the one at `place`, with the separator between them.
    pub(super) fn insert_after(&mut self, place: usize, separator: &[u8], child: u32) {
        let end = self.separators.len() + 1;
        self.children.copy_within(place + 1..end, place + 2);
        self.children[place + 1] = child;
        self.separators.insert(place, separator, 0);
    }

    /// Forgets the child at `place` and the separator beside it (the one on its left, for the
    /// first child the one on its right). There must be two children at least.
    pub(super) fn remove_child(&mut self, place: usize) {
        let end = self.separators.len() + 1;
        self.children.copy_within(place + 1..end, place);
        self.separators.remove(place.saturating_sub(1));
    }

    /// Keeps the separators before `at`, gives those after it to a new right neighbor, and
    /// returns the one at it, which now tells the two nodes apart.
    pub(super) fn split(&mut self, at: usize) -> (Vec<u8>, Inner) {
        let count = self.separators.len();
        let middle = self.separators.entry(at);
        let mut right =
            Inner { separators: self.separators.copy(at + 1..count), ..Inner::default() };
        right.children[..count - at].copy_from_slice(&self.children[at + 1..=count]);
        self.separators = self.separators.copy(0..at);
        (middle, right)
    }

    /// Takes over the children of the right neighbor, from which `separator` told it apart.
    pub(super) fn append(&mut self, separator: &[u8], right: &Inner) {
        let end = self.separators.len() + 1;
        let taken = right.children();
        self.children[end..end + taken.len()].copy_from_slice(taken);
        self.separators.insert(end - 1, separator, 0);
        self.separators = self.separators.joined(&right.separators);
    }
}

/// A turn on the way down: the child taken at an inner node.
pub(super) struct Step {
    pub(super) inner: u32,
    pub(super) child: usize,
}
