//! Insertion, and the splits it causes.

use super::inners::NONE;
use super::node::{Entries, Inner, Leaf, Separators, Step};
use super::{LONGEST_ENTRY, Limits, Tree, separator};

/// Where in the whole set a new string comes: at its ends more of the same are expected, and a
/// node that splits there leaves a nearly full one behind.
#[derive(Clone, Copy)]
enum Arrival {
    First,
    Inside,
    Last,
}

impl Arrival {
    /// How much of `whole` stays in the left node of a split.
    fn left_share(self, whole: usize) -> usize {
        match self {
            Arrival::First => whole / 16,
            Arrival::Inside => whole / 2,
            Arrival::Last => whole - whole / 16,
        }
    }
}

impl Tree {
    /// Puts an entry in with its word; `false` if it was there, and it has the word now. O(log n).
    ///
    /// # Panics
    /// If the entry is longer than [`LONGEST_ENTRY`]: the owner limits its keys.
    pub(crate) fn insert(&mut self, entry: &[u8], word: u64) -> bool {
        self.insert_near(NONE, entry, word)
    }

    /// [`Tree::insert`] of an entry that [`Tree::approach`] has found to belong in leaf `near`, which
    /// may be true no longer. O(1) if it is, the leaf is not full and the entry is not at an end of it.
    pub(crate) fn insert_near(&mut self, near: u32, entry: &[u8], word: u64) -> bool {
        assert!(entry.len() <= LONGEST_ENTRY, "an entry has at most {LONGEST_ENTRY} bytes");
        let (leaf, at) = match self.find(near, entry) {
            (leaf, Ok(at)) => {
                self.leaves.change(leaf, |leaf| leaf.page.set_word(at, word));
                return false;
            }
            (leaf, Err(at)) => (leaf, at),
        };
        let page = &self.leaves[leaf].page;
        if fits(page, entry, &self.limits) {
            self.leaves.change(leaf, |leaf| leaf.page.insert(at, entry, word));
        } else {
            self.insert_by_splitting(entry, word, at);
        }
        self.len += 1;
        true
    }

    /// Gives an entry another word; `false` if it is not there. O(log n).
    pub(crate) fn set_word(&mut self, entry: &[u8], word: u64) -> bool {
        let leaf = self.leaf_of(entry);
        let Ok(at) = self.leaves[leaf].page.find(entry) else { return false };
        self.leaves.change(leaf, |leaf| leaf.page.set_word(at, word));
        true
    }

    /// Splits the entry's leaf in two and puts it in one of them, at `at` of the old leaf.
    fn insert_by_splitting(&mut self, entry: &[u8], word: u64, at: usize) {
        let (path, number) = self.path_to(entry);
        let leaf = &self.leaves[number];
        let arrival = match at {
            _ if at == leaf.page.len() && leaf.next == NONE => Arrival::Last,
            0 if leaf.previous == NONE => Arrival::First,
            _ => Arrival::Inside,
        };
        let (left, right) = split_with(&leaf.page, at, entry, word, arrival);
        let separator = separator(&left.entry(left.len() - 1), &right.entry(0));

        let next = leaf.next;
        let new = self.leaves.add(Leaf { page: right, previous: number, next });
        if next != NONE {
            self.leaves.change(next, |next| next.previous = new);
        }
        self.leaves.change(number, |leaf| {
            leaf.page = left;
            leaf.next = new;
        });
        self.insert_child(path, separator, new, arrival);
    }

    /// Puts a node right of the one that the path leads to, splitting inner nodes upwards as
    /// needed.
    fn insert_child(
        &mut self,
        path: Vec<Step>,
        mut separator: Vec<u8>,
        mut child: u32,
        arrival: Arrival,
    ) {
        for Step { inner: number, child: place } in path.into_iter().rev() {
            let limits = self.limits;
            let split = self.inners.change(number, |inner| {
                inner.insert_after(place, &separator, child);
                let count = inner.separators.len();
                let within = count < limits.inner_children
                    && inner.separators.used_bytes() <= limits.inner_bytes;
                // Three separators make two nodes of one each, and one for their parent.
                let splits = !within && count >= 3;
                splits.then(|| inner.split(middle_of(&inner.separators, arrival)))
            });
            let Some((middle, right)) = split else { return };
            separator = middle;
            child = self.inners.add(right);
        }
        let mut root = Inner::default();
        root.children[0] = self.root;
        root.insert_after(0, &separator, child);
        self.root = self.inners.add(root);
        self.height += 1;
    }
}

/// Whether the page may take the string without a split.
fn fits(page: &Entries, string: &[u8], limits: &Limits) -> bool {
    page.len() < limits.leaf_entries
        && (page.len() == 0 || page.used_bytes_with(string) <= limits.leaf_bytes)
}

/// The strings of a page, and one more that belongs at `at`, in two pages, neither empty.
fn split_with(
    page: &Entries,
    at: usize,
    string: &[u8],
    word: u64,
    arrival: Arrival,
) -> (Entries, Entries) {
    let count = page.len();
    let cut = if page.prefix_shared_with(string) < page.prefix_len() {
        // It is below or above all of the page, whose prefix would get shorter for its sake.
        if at == 0 { 1 } else { count }
    } else {
        cut_with(page, at, string, arrival)
    };
    let mut left = page.copy(0..if at < cut { cut - 1 } else { cut });
    let mut right = page.copy(left.len()..count);
    if at < cut {
        left.insert(at, string, word);
    } else {
        right.insert(at - cut, string, word);
    }
    (left, right)
}

/// How many strings, the new one at `at` counted, go to the left of a split: those with the
/// arrival's share of the bytes, and at least one to either side.
fn cut_with(page: &Entries, at: usize, string: &[u8], arrival: Arrival) -> usize {
    let count = page.len();
    let new = Entries::FIXED + string.len() - page.prefix_len();
    let share = arrival.left_share(page.used_bytes() - page.prefix_len() + new);
    let mut bytes = 0;
    for cut in 0..count {
        bytes += match cut {
            _ if cut < at => Entries::FIXED + page.piece(cut).tail.len(),
            _ if cut == at => new,
            _ => Entries::FIXED + page.piece(cut - 1).tail.len(),
        };
        if bytes >= share {
            return cut + 1;
        }
    }
    count
}

/// The separator of an inner node that goes up when it splits; at least one stays on either side.
fn middle_of(separators: &Separators, arrival: Arrival) -> usize {
    let count = separators.len();
    let share = arrival.left_share(separators.used_bytes() - separators.prefix_len());
    let mut bytes = 0;
    let at = (0..count).find(|at| {
        bytes += Separators::FIXED + separators.piece(*at).tail.len();
        bytes >= share
    });
    at.unwrap_or(count).clamp(1, count - 2)
}
