//! Division of a set in two, by moving whole pages.

use super::arena::NONE;
use super::node::{Inner, Leaf};
use super::page::{Page, WORD};
use super::{Limits, Tree, separator};

impl Tree {
    /// Takes out the entries at or above `at`, as a set of their own. Pages move whole, except
    /// the one that `at` is in. O(n / page).
    pub(crate) fn split_off(&mut self, at: &[u8]) -> Tree {
        let boundary = self.leaf_of(at);
        let mut below = Vec::new();
        let mut above = Vec::new();
        let mut number = self.first_leaf();
        let mut pages = &mut below;
        while number != NONE {
            let page = self.leaves.change(number, |leaf| std::mem::take(&mut leaf.page));
            if number == boundary {
                let cut = page.find(at).unwrap_or_else(|place| place);
                pages.push(page.copy(0..cut));
                pages = &mut above;
                pages.push(page.copy(cut..page.len()));
            } else {
                pages.push(page);
            }
            number = self.leaves[number].next;
        }
        *self = Tree::from_pages(below, self.limits);
        Tree::from_pages(above, self.limits)
    }

    /// A set with the entries of the pages, which are in order.
    fn from_pages(mut pages: Vec<Page<WORD>>, limits: Limits) -> Tree {
        pages.retain(|page| page.len() > 0);
        let mut tree = Tree::with_limits(limits);
        let mut nodes: Vec<Bounded> = Vec::with_capacity(pages.len());
        let mut last = Vec::new();
        for page in pages {
            let from = if nodes.is_empty() { Vec::new() } else { separator(&last, &page.entry(0)) };
            last = page.entry(page.len() - 1);
            tree.len += page.len();
            let number = if nodes.is_empty() {
                tree.leaves.change(tree.root, |leaf| leaf.page = page);
                tree.root
            } else {
                let previous = nodes[nodes.len() - 1].number;
                let number = tree.leaves.add(Leaf { page, previous, next: NONE });
                tree.leaves.change(previous, |leaf| leaf.next = number);
                number
            };
            nodes.push(Bounded { from, number });
        }
        while nodes.len() > 1 {
            nodes = tree.parents_of(nodes);
            tree.height += 1;
        }
        tree.root = nodes.first().map_or(tree.root, |root| root.number);
        tree
    }

    /// Makes the level of inner nodes above a level of nodes, a little room left in each.
    fn parents_of(&mut self, nodes: Vec<Bounded>) -> Vec<Bounded> {
        let most = (self.limits.inner_children * 7 / 8).max(2);
        let mut parents = Vec::with_capacity(nodes.len() / most + 1);
        let mut parent = Inner::default();
        let mut parent_from = Vec::new();
        let mut children = 0;
        let mut bytes = 0;
        for Bounded { from, number } in nodes {
            let full = children >= most || bytes + from.len() > self.limits.inner_bytes;
            if children == 0 || (full && children >= 2) {
                if children > 0 {
                    let number = self.inners.add(std::mem::take(&mut parent));
                    parents.push(Bounded { from: parent_from, number });
                }
                parent.children[0] = number;
                parent_from = from;
                children = 1;
                bytes = 0;
            } else {
                bytes += Page::<0>::FIXED + from.len();
                parent.insert_after(children - 1, &from, number);
                children += 1;
            }
        }
        parents.push(Bounded { from: parent_from, number: self.inners.add(parent) });
        parents
    }
}

/// A node and a string that is not above any of its entries, and above all entries before them.
struct Bounded {
    from: Vec<u8>,
    number: u32,
}
