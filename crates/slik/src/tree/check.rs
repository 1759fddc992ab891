//! The invariants of a tree, checked node by node.

use super::inners::NONE;
use super::page::Page;
use super::{Tree, page::HEAD};

impl Tree {
    /// Panics where the tree is not as it must be.
    pub(super) fn check(&self) {
        let mut walk = Walk { tree: self, leaves: Vec::new(), inners: 0, entries: 0 };
        walk.node(self.root, self.height, None, None);
        assert_eq!(walk.entries, self.len, "len");
        assert_eq!(walk.leaves.len(), self.leaves.len(), "leaves in use");
        assert_eq!(walk.inners, self.inners.len(), "inner nodes in use");
        let texts: usize = self.leaves.iter().map(|leaf| leaf.page.text_bytes()).sum();
        assert_eq!(self.leaves.text_bytes(), texts, "bytes of the leaves' texts");
        let texts: usize = self.inners.iter().map(|inner| inner.separators.text_bytes()).sum();
        assert_eq!(self.inners.text_bytes(), texts, "bytes of the inner nodes' texts");
        if self.height > 0 {
            assert!(self.inners[self.root].separators.len() > 0, "a root has two children");
        }

        let mut previous = NONE;
        for (place, number) in walk.leaves.iter().enumerate() {
            let leaf = &self.leaves[*number];
            assert_eq!(leaf.previous, previous, "link to the leaf before");
            assert_eq!(leaf.next, walk.leaves.get(place + 1).copied().unwrap_or(NONE), "link");
            previous = *number;
        }
    }

    /// The share of its limit that the mean leaf holds.
    pub(super) fn mean_fill(&self) -> f64 {
        self.len as f64 / (self.leaves.len() * self.limits.leaf_entries) as f64
    }
}

struct Walk<'a> {
    tree: &'a Tree,
    leaves: Vec<u32>,
    inners: usize,
    entries: usize,
}

impl Walk<'_> {
    /// Checks a node whose strings must be at or above `from` and below `to`.
    fn node(&mut self, number: u32, level: u32, from: Option<&[u8]>, to: Option<&[u8]>) {
        let tree = self.tree;
        if level == 0 {
            let page = &tree.leaves[number].page;
            check_page(page, from, to);
            assert!(page.len() > 0 || tree.height == 0, "only a root leaf is empty");
            assert!(page.len() <= tree.limits.leaf_entries, "entries of a leaf");
            self.leaves.push(number);
            self.entries += page.len();
            return;
        }
        let inner = &tree.inners[number];
        check_page(&inner.separators, from, to);
        assert!(inner.separators.len() < tree.limits.inner_children.max(3), "children");
        self.inners += 1;
        let separators: Vec<Vec<u8>> =
            (0..inner.separators.len()).map(|at| inner.separators.entry(at)).collect();
        for (place, child) in inner.children().iter().enumerate() {
            let from = if place == 0 { from } else { Some(&separators[place - 1][..]) };
            let to = separators.get(place).map_or(to, |separator| Some(&separator[..]));
            self.node(*child, level - 1, from, to);
        }
    }
}

fn check_page<const N: usize, const W: usize>(
    page: &Page<N, W>,
    from: Option<&[u8]>,
    to: Option<&[u8]>,
) {
    let strings: Vec<Vec<u8>> = (0..page.len()).map(|at| page.entry(at)).collect();
    assert!(strings.is_sorted_by(|left, right| left < right), "order and distinctness");
    for (at, string) in strings.iter().enumerate() {
        assert!(string.starts_with(page.prefix()), "prefix");
        assert!(from.is_none_or(|from| from <= &string[..]), "lower fence");
        assert!(to.is_none_or(|to| &string[..] < to), "upper fence");
        assert_eq!(page.find(string), Ok(at), "search");
        let piece = page.piece(at);
        assert!(piece.head_len == HEAD || piece.tail.is_empty(), "a short head has no tail");
    }
    let tails: usize = (0..page.len()).map(|at| page.piece(at).tail.len()).sum();
    assert!(page.text_used() <= page.text_bytes(), "room");
    assert_eq!(tails, page.tails_bytes(), "bytes of tails");
    let padding = &page.heads()[page.len()..];
    assert!(padding.iter().all(|head| *head == u64::MAX), "heads beyond the last");
}
