//! Division of a set in two, by moving whole pages.

use super::inners::NONE;
use super::node::{Entries, Inner, Leaf, Separators};
use super::{Limits, Tree, separator};

impl Tree {
    /// Takes out the entries at or above `at`, as a set of their own. Pages move whole, except
    /// the one that `at` is in. O(n / page).
    pub(crate) fn split_off(&mut self, at: &[u8]) -> Tree {
        let boundary = self.leaf_of(at);
        let mut number = self.first_leaf();
        let mut leaves = std::mem::take(&mut self.leaves);
        let mut below = Builder::new(self.limits);
        let mut above = Builder::new(self.limits);
        let mut is_below = true;
        while number != NONE {
            let page = leaves.change(number, |leaf| std::mem::take(&mut leaf.page));
            if number == boundary {
                let cut = page.find(at).unwrap_or_else(|place| place);
                below.push(page.copy(0..cut));
                above.push(page.copy(cut..page.len()));
                is_below = false;
            } else if is_below {
                below.push(page);
            } else {
                above.push(page);
            }
            number = leaves[number].next;
        }
        *self = below.finish();
        above.finish()
    }
}

/// A set that is made of pages in order.
struct Builder {
    tree: Tree,
    leaves: Vec<Bounded>,
    /// The last entry of the page before.
    last: Vec<u8>,
}

impl Builder {
    fn new(limits: Limits) -> Builder {
        Builder { tree: Tree::with_limits(limits), leaves: Vec::new(), last: Vec::new() }
    }

    fn push(&mut self, page: Entries) {
        if page.len() == 0 {
            return;
        }
        let tree = &mut self.tree;
        tree.len += page.len();
        let last = page.entry(page.len() - 1);
        let bounded = match self.leaves.last() {
            None => {
                tree.leaves.change(tree.root, |leaf| leaf.page = page);
                Bounded { from: Vec::new(), number: tree.root }
            }
            Some(Bounded { number: previous, .. }) => {
                let from = separator(&self.last, &page.entry(0));
                let leaf = Leaf { page, previous: *previous, next: NONE };
                let number = tree.leaves.add(leaf);
                tree.leaves.change(*previous, |leaf| leaf.next = number);
                Bounded { from, number }
            }
        };
        self.leaves.push(bounded);
        self.last = last;
    }

    fn finish(self) -> Tree {
        let Builder { mut tree, leaves: mut nodes, .. } = self;
        while nodes.len() > 1 {
            nodes = tree.parents_of(nodes);
            tree.height += 1;
        }
        tree.root = nodes.first().map_or(tree.root, |root| root.number);
        tree
    }
}

impl Tree {
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
                bytes += Separators::FIXED + from.len();
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
