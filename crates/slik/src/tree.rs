//! An ordered set of byte strings, each with a word: what an indexlet keeps its entries in.
//!
//! A B+tree with the entries inline. Every node has a page, in which a sorted run of strings lies
//! without a pointer per string (see `page`); leaves hold entries and are linked to both neighbors,
//! inner nodes hold the shortest strings that tell their children apart. Nodes are found by number.
//! Nothing here locks: the owner does.
//!
//! `n` in the complexities below is the number of entries, and an entry's bytes count as
//! constant; a page holds at most [`Limits::leaf_entries`] entries.

#[cfg(test)]
mod check;
mod divide;
mod edit;
mod inners;
mod insert;
mod leaves;
mod node;
mod page;
mod remove;
mod scan;
mod search;
#[cfg(test)]
mod tests;

use inners::{Inners, NONE};
use leaves::Leaves;
use node::{Leaf, Step};

/// The longest entry a tree takes, in bytes. The sum of a page's bytes must fit a slot (see
/// `page`), and [`MOST_CHILDREN`] entries of this length do.
pub(crate) const LONGEST_ENTRY: usize = 512 * 1024;

/// The most entries a leaf has room for.
const MOST_ENTRIES: usize = 32;

/// The most children an inner node has room for.
const MOST_CHILDREN: usize = 128;

const _: () = {
    assert!(Limits::STANDARD.leaf_entries <= MOST_ENTRIES);
    assert!(Limits::STANDARD.inner_children <= MOST_CHILDREN);
    assert!((MOST_CHILDREN + 1) * LONGEST_ENTRY <= page::MOST_TAILS);
    assert!((Limits::STANDARD.leaf_entries + 1) * LONGEST_ENTRY <= page::MOST_TAILS);
};

/// Which way a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the lower bound up.
    Forward,
    /// From the upper bound down.
    Backward,
}

/// When a node splits. A node of a single string may be longer than its byte limit.
#[derive(Clone, Copy, Debug)]
struct Limits {
    leaf_entries: usize,
    leaf_bytes: usize,
    inner_children: usize,
    inner_bytes: usize,
}

impl Limits {
    /// Chosen by measurement on 40-byte entries: larger leaves make insertion move more bytes,
    /// smaller ones are so many that what leads to them leaves the cache.
    const STANDARD: Limits = Limits {
        leaf_entries: MOST_ENTRIES,
        leaf_bytes: 16 * 1024,
        inner_children: MOST_CHILDREN,
        inner_bytes: 16 * 1024,
    };
}

/// An ordered set of byte strings of at most [`LONGEST_ENTRY`] bytes, in `memcmp` order with a
/// prefix before the strings it begins.
pub(crate) struct Tree {
    leaves: Leaves,
    inners: Inners,
    /// A leaf's number if `height` is 0, else an inner node's.
    root: u32,
    /// Levels of inner nodes above the leaves.
    height: u32,
    len: usize,
    limits: Limits,
}

impl Tree {
    /// An empty set. O(1).
    pub(crate) fn new() -> Tree {
        Tree::with_limits(Limits::STANDARD)
    }

    fn with_limits(limits: Limits) -> Tree {
        let mut leaves = Leaves::default();
        let root = leaves.add(Leaf::default());
        Tree { leaves, inners: Inners::default(), root, height: 0, len: 0, limits }
    }

    /// How many entries there are. O(1).
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether the entry is there. O(log n).
    #[cfg(test)]
    pub(crate) fn contains(&self, entry: &[u8]) -> bool {
        self.leaves[self.leaf_of(entry)].page.find(entry).is_ok()
    }

    /// The word of an entry. O(log n).
    #[cfg(test)]
    pub(crate) fn word(&self, entry: &[u8]) -> Option<u64> {
        let page = &self.leaves[self.leaf_of(entry)].page;
        page.find(entry).ok().map(|at| page.word(at))
    }

    /// The entry with as many before it as after it, or one more: where to split the set in
    /// two. Never the first entry, hence `None` for fewer than two. O(n / page).
    pub(crate) fn middle(&self) -> Option<Vec<u8>> {
        if self.len < 2 {
            return None;
        }
        let mut before = self.len / 2;
        let mut leaf = &self.leaves[self.first_leaf()];
        while before >= leaf.page.len() {
            before -= leaf.page.len();
            leaf = &self.leaves[leaf.next];
        }
        Some(leaf.page.entry(before))
    }

    /// The bytes of heap held, without the allocator's own overhead. O(1).
    pub(crate) fn memory_bytes(&self) -> usize {
        self.leaves.memory_bytes() + self.inners.memory_bytes()
    }

    /// The leaf where the entry is, or would be.
    #[inline]
    fn leaf_of(&self, entry: &[u8]) -> u32 {
        let mut node = self.root;
        for _ in 0..self.height {
            let inner = &self.inners[node];
            node = inner.children[inner.child_for(entry)];
        }
        self.leaves[node].page.prefetch();
        node
    }

    /// The number of the leaf where the entry is, or would be. Asks for what a search in it needs
    /// first. O(log n).
    pub(crate) fn approach(&self, entry: &[u8]) -> u32 {
        self.leaf_of(entry)
    }

    /// Asks for what a change of a leaf needs besides, if there is a leaf of that number. O(1).
    pub(crate) fn prefetch_text(&self, near: u32) {
        if let Some(leaf) = self.leaves.get(near) {
            leaf.page.prefetch_text();
        }
    }

    /// The leaf where the entry is, or would be, and the place in it; found in the leaf of number
    /// `near`, if there is one and the entry is between its others or at an end of all, without a way
    /// from the root.
    #[inline]
    fn find(&self, near: u32, entry: &[u8]) -> (u32, Result<usize, usize>) {
        if let Some(leaf) = self.leaves.get(near) {
            let place = leaf.page.find(entry);
            let is_its_own = match place {
                Ok(_) => true,
                Err(0) => leaf.previous == NONE,
                Err(at) => at < leaf.page.len() || leaf.next == NONE,
            };
            if is_its_own {
                return (near, place);
            }
        }
        let leaf = self.leaf_of(entry);
        (leaf, self.leaves[leaf].page.find(entry))
    }

    /// The way from the root to [`Tree::leaf_of`], and that leaf.
    fn path_to(&self, entry: &[u8]) -> (Vec<Step>, u32) {
        let mut path = Vec::with_capacity(self.height as usize);
        let mut node = self.root;
        for _ in 0..self.height {
            let inner = &self.inners[node];
            let child = inner.child_for(entry);
            path.push(Step { inner: node, child });
            node = inner.children[child];
        }
        (path, node)
    }

    fn first_leaf(&self) -> u32 {
        let mut node = self.root;
        for _ in 0..self.height {
            node = self.inners[node].children[0];
        }
        node
    }

    fn last_leaf(&self) -> u32 {
        let mut node = self.root;
        for _ in 0..self.height {
            let inner = &self.inners[node];
            node = inner.children[inner.separators.len()];
        }
        node
    }
}

/// The shortest string that is above `left` and not above `right`, given `left < right`.
fn separator(left: &[u8], right: &[u8]) -> Vec<u8> {
    let shared = page::shared_len(left, right);
    right[..=shared].to_vec()
}
