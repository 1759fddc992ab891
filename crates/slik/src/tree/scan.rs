//! Scans over a range of entries, both ways.

use std::ops::{Bound, ControlFlow};

use super::inners::NONE;
use super::node::Entries;
use super::page::HEAD;
use super::{Direction, Tree};

/// Entries up to this many bytes are put together on the stack.
const SHORT: usize = 128;

impl Tree {
    /// Calls `visit` with each entry between the bounds and its word, upwards or downwards, until it
    /// says [`ControlFlow::Break`]. Before the first of a scan upwards from a bound, calls `soon`
    /// with what is likely to be its word, known before the entries have been compared. Bounds in
    /// the wrong order have nothing between them. O(log n) to begin, and O(1) for each entry visited.
    pub(crate) fn scan(
        &self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
        direction: Direction,
        soon: impl FnOnce(u64),
        visit: impl FnMut(&[u8], u64) -> ControlFlow<()>,
    ) {
        // A visitor that breaks ends the scan as the last entry does.
        let _ = match direction {
            Direction::Forward => self.scan_up(from, to, soon, visit),
            Direction::Backward => self.scan_down(from, to, visit),
        };
    }

    fn scan_up(
        &self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
        soon: impl FnOnce(u64),
        mut visit: impl FnMut(&[u8], u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut buffer = Buffer::new();
        let mut leaf = match from {
            Bound::Included(entry) | Bound::Excluded(entry) => &self.leaves[self.leaf_of(entry)],
            Bound::Unbounded => &self.leaves[self.first_leaf()],
        };
        let page = &leaf.page;
        let foreseen = |place: usize| {
            if place < page.len() {
                soon(page.word(place));
            }
        };
        let mut at = match from {
            Bound::Included(entry) => page.find_soon(entry, foreseen).unwrap_or_else(|at| at),
            Bound::Excluded(entry) => {
                page.find_soon(entry, foreseen).map_or_else(|at| at, |at| at + 1)
            }
            Bound::Unbounded => 0,
        };
        loop {
            let end = at + count_to_upper(&leaf.page, at, to);
            buffer.begin(&leaf.page);
            for place in at..end {
                visit(buffer.entry(&leaf.page, place), leaf.page.word(place))?;
            }
            if end < leaf.page.len() || leaf.next == NONE {
                return ControlFlow::Continue(());
            }
            leaf = &self.leaves[leaf.next];
            at = 0;
        }
    }

    fn scan_down(
        &self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
        mut visit: impl FnMut(&[u8], u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut buffer = Buffer::new();
        let mut leaf = match to {
            Bound::Included(entry) | Bound::Excluded(entry) => &self.leaves[self.leaf_of(entry)],
            Bound::Unbounded => &self.leaves[self.last_leaf()],
        };
        let mut end = count_to_upper(&leaf.page, 0, to);
        loop {
            let at = before_lower(&leaf.page, from);
            buffer.begin(&leaf.page);
            for place in (at..end).rev() {
                visit(buffer.entry(&leaf.page, place), leaf.page.word(place))?;
            }
            if at > 0 || leaf.previous == NONE {
                return ControlFlow::Continue(());
            }
            leaf = &self.leaves[leaf.previous];
            end = leaf.page.len();
        }
    }
}

/// How many entries of the page are below a range with this lower bound.
#[inline]
fn before_lower(page: &Entries, from: Bound<&[u8]>) -> usize {
    match from {
        Bound::Included(entry) => page.find(entry).unwrap_or_else(|place| place),
        Bound::Excluded(entry) => page.find(entry).map_or_else(|place| place, |place| place + 1),
        Bound::Unbounded => 0,
    }
}

/// How many entries of the page, from one on, are below the end of a range with this upper bound.
#[inline]
fn count_to_upper(page: &Entries, at: usize, to: Bound<&[u8]>) -> usize {
    match to {
        Bound::Included(entry) => page.count_to(at, entry, true),
        Bound::Excluded(entry) => page.count_to(at, entry, false),
        Bound::Unbounded => page.len() - at,
    }
}

/// Where entries are put together from prefix, head and tail.
struct Buffer {
    short: [u8; SHORT],
    long: Vec<u8>,
}

impl Buffer {
    #[inline]
    fn new() -> Buffer {
        Buffer { short: [0; SHORT], long: Vec::new() }
    }

    /// Makes ready for the entries of a page.
    #[inline]
    fn begin(&mut self, page: &Entries) {
        if page.prefix_len() + HEAD <= SHORT {
            self.short[..page.prefix_len()].copy_from_slice(page.prefix());
        }
    }

    /// An entry of the page that the buffer was made ready for.
    #[inline]
    fn entry(&mut self, page: &Entries, at: usize) -> &[u8] {
        let piece = page.piece(at);
        let head_at = page.prefix_len();
        let tail_at = head_at + HEAD;
        let end = tail_at + piece.tail.len();
        if end <= SHORT {
            self.short[head_at..tail_at].copy_from_slice(&piece.head.to_be_bytes());
            self.short[tail_at..end].copy_from_slice(piece.tail);
            // Only an entry without a tail may have a head of less than 8 bytes.
            &self.short[..head_at + piece.head_len + piece.tail.len()]
        } else {
            self.long.clear();
            page.write_entry(at, &mut self.long);
            &self.long
        }
    }
}
