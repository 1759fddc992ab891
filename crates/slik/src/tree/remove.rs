//! Removal, and the merges it causes.
//!
//! A leaf that gets below three eighths of its limit of entries (its page keeps the room of all), and an
//! inner node below a quarter of its limits, is merged with a neighbor under the same parent
//! if the two fit in three quarters, so that a merge is not followed by a split. An empty node
//! always goes.

use super::Tree;
use super::inners::NONE;
use super::node::{Leaf, Step};
use super::page::Page;

impl Tree {
    /// Takes an entry out; `false` if it was not there. O(log n).
    #[cfg(test)]
    pub(crate) fn remove(&mut self, entry: &[u8]) -> bool {
        self.remove_near(NONE, entry)
    }

    /// Takes out an entry that [`Tree::approach`] has found in leaf `near`, which may be true no
    /// longer; `false` if it was not there. O(1) if it is true and the leaf does not become sparse.
    pub(crate) fn remove_near(&mut self, near: u32, entry: &[u8]) -> bool {
        let (leaf, Ok(at)) = self.find(near, entry) else { return false };
        self.leaves.change(leaf, |leaf| leaf.page.remove(at));
        self.len -= 1;
        if self.len == 0 {
            // Inner nodes give their memory back too.
            *self = Tree::with_limits(self.limits);
            return true;
        }
        let page = &self.leaves[leaf].page;
        let sparse = page.len() < self.limits.leaf_entries * 3 / 8
            && page.used_bytes() < self.limits.leaf_bytes / 4;
        if self.height > 0 && (sparse || page.len() == 0) {
            self.merge_leaf(entry);
        }
        true
    }

    /// Merges the leaf of the entry, which is sparse, if it can.
    fn merge_leaf(&mut self, entry: &[u8]) {
        let (mut path, number) = self.path_to(entry);
        let Some(step) = path.pop() else { return };
        let place = if self.leaves[number].page.len() == 0 {
            self.unlink(number);
            step.child
        } else if let Some(left) = self.joinable_leaves(&step) {
            let children = &self.inners[step.inner].children;
            let (into, from) = (children[left], children[left + 1]);
            let joined = self.leaves[into].page.joined(&self.leaves[from].page);
            self.leaves.change(into, |leaf| leaf.page = joined);
            self.unlink(from);
            left + 1
        } else {
            return;
        };
        self.remove_child(path, Step { inner: step.inner, child: place });
    }

    /// The left one of two neighbors, one of which is the child of the step, that may merge.
    fn joinable_leaves(&self, step: &Step) -> Option<usize> {
        let children = self.inners[step.inner].children();
        neighbors(step.child, children.len()).find(|left| {
            let left_page = &self.leaves[children[*left]].page;
            let right_page = &self.leaves[children[left + 1]].page;
            left_page.len() + right_page.len() <= self.limits.leaf_entries * 3 / 4
                && joined_bytes(left_page, right_page) <= self.limits.leaf_bytes * 3 / 4
        })
    }

    /// Frees a leaf and links its neighbors.
    fn unlink(&mut self, number: u32) {
        let Leaf { previous, next, .. } = self.leaves[number];
        self.link(previous, next);
        self.leaves.remove(number);
        if self.leaves.len() > number as usize {
            self.renumber(number);
        }
    }

    /// Makes two leaves neighbors.
    fn link(&mut self, left: u32, right: u32) {
        if left != NONE {
            self.leaves.change(left, |left| left.next = right);
        }
        if right != NONE {
            self.leaves.change(right, |right| right.previous = left);
        }
    }

    /// Tells those who know a leaf by its old number its new one.
    fn renumber(&mut self, number: u32) {
        let Leaf { page, previous, next } = &self.leaves[number];
        let (previous, next, entry) = (*previous, *next, page.entry(0));
        self.link(previous, number);
        self.link(number, next);
        if let Some(Step { inner, child }) = self.path_to(&entry).0.pop() {
            self.inners.change(inner, |inner| inner.children[child] = number);
        }
    }

    /// Takes a child, which is gone, out of its parent, and merges or frees inner nodes upwards.
    fn remove_child(&mut self, mut path: Vec<Step>, mut step: Step) {
        loop {
            let emptied = self.inners[step.inner].separators.len() == 0;
            if emptied {
                self.inners.take(step.inner);
            } else {
                self.inners.change(step.inner, |inner| inner.remove_child(step.child));
            }
            let Some(parent) = path.pop() else { break };
            let gone = if emptied { Some(parent.child) } else { self.merge_inner(&parent) };
            match gone {
                Some(child) => step = Step { inner: parent.inner, child },
                None => return,
            }
        }
        while self.height > 0 && self.inners[self.root].separators.len() == 0 {
            self.root = self.inners.take(self.root).children[0];
            self.height -= 1;
        }
    }

    /// Merges the inner node that the step leads to with a neighbor if it is sparse and it can;
    /// returns the place of the one that is gone.
    fn merge_inner(&mut self, step: &Step) -> Option<usize> {
        let parent = &self.inners[step.inner];
        let child = &self.inners[parent.children[step.child]].separators;
        if child.len() >= self.limits.inner_children / 4
            || child.used_bytes() >= self.limits.inner_bytes / 4
        {
            return None;
        }
        let children = parent.children();
        let left = neighbors(step.child, children.len()).find(|left| {
            let left_page = &self.inners[children[*left]].separators;
            let right_page = &self.inners[children[left + 1]].separators;
            let bytes = joined_bytes(left_page, right_page) + parent.separators.entry_len(*left);
            left_page.len() + right_page.len() + 2 <= self.limits.inner_children * 3 / 4
                && bytes <= self.limits.inner_bytes * 3 / 4
        })?;
        let (into, from) = (children[left], children[left + 1]);
        let separator = parent.separators.entry(left);
        let right = self.inners.take(from);
        self.inners.change(into, |inner| inner.append(&separator, &right));
        Some(left + 1)
    }
}

/// The left places of the pairs of neighbors that the child at `place` is in.
fn neighbors(place: usize, children: usize) -> impl Iterator<Item = usize> {
    place.saturating_sub(1)..(place + 1).min(children - 1)
}

/// The bytes of the union of two pages, an upper bound: as if neither had a prefix.
fn joined_bytes<const N: usize, const W: usize>(left: &Page<N, W>, right: &Page<N, W>) -> usize {
    [left, right].iter().map(|page| page.used_bytes() + page.len() * page.prefix_len()).sum()
}
