//! Where a scan of index entries is, and the entries that one step of it found.

use crate::substrate::Hint;
use crate::tree::Direction;

/// The part of an index still to be scanned: entries from `from` (or after it) to before `to`.
pub(crate) struct Cursor {
    pub(crate) from: Vec<u8>,
    /// The entry `from` itself has been seen.
    pub(crate) from_seen: bool,
    pub(crate) to: Vec<u8>,
    /// There is no upper bound, and `to` means nothing.
    pub(crate) to_end: bool,
    pub(crate) direction: Direction,
    pub(crate) done: bool,
}

impl Default for Cursor {
    fn default() -> Cursor {
        Cursor {
            from: Vec::new(),
            from_seen: false,
            to: Vec::new(),
            to_end: true,
            direction: Direction::Forward,
            done: false,
        }
    }
}

impl Cursor {
    /// Makes it a cursor over everything, keeping its memory.
    pub(crate) fn reset(&mut self, direction: Direction) {
        self.from.clear();
        self.from_seen = false;
        self.to.clear();
        self.to_end = true;
        self.direction = direction;
        self.done = false;
    }

    /// The upper bound, if there is one.
    #[inline]
    pub(crate) fn upper(&self) -> Option<&[u8]> {
        (!self.to_end).then_some(&self.to[..])
    }

    /// Goes on behind `entry`, the last one seen.
    #[inline]
    pub(crate) fn pass(&mut self, entry: &[u8]) {
        match self.direction {
            Direction::Forward => {
                self.from.clear();
                self.from.extend_from_slice(entry);
                self.from_seen = true;
            }
            Direction::Backward => {
                self.to.clear();
                self.to.extend_from_slice(entry);
                self.to_end = false;
            }
        }
    }

    /// Everything was seen up to the edge of a part that owns `low` to before `high`.
    pub(crate) fn pass_part(&mut self, low: &[u8], high: Option<&[u8]>) {
        match self.direction {
            Direction::Forward => match high {
                Some(high) if self.upper().is_none_or(|to| high < to) => {
                    self.from.clear();
                    self.from.extend_from_slice(high);
                    self.from_seen = false;
                }
                _ => self.done = true,
            },
            Direction::Backward => {
                if !low.is_empty() && low > self.from.as_slice() {
                    self.to.clear();
                    self.to.extend_from_slice(low);
                    self.to_end = false;
                } else {
                    self.done = true;
                }
            }
        }
    }
}

/// Entries found by one step of a scan, in scan order.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    hints: Vec<Hint>,
    /// How many it may hold.
    pub(crate) limit: usize,
}

impl Batch {
    pub(crate) fn clear(&mut self, limit: usize) {
        self.bytes.clear();
        self.ends.clear();
        self.hints.clear();
        self.limit = limit;
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: &[u8], hint: Hint) {
        self.hints.push(hint);
        self.bytes.extend_from_slice(entry);
        self.ends.push(self.bytes.len());
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub(crate) fn hint(&self, i: usize) -> Hint {
        self.hints[i]
    }

    /// The hints from the `i`-th on.
    pub(crate) fn hints_from(&self, i: usize) -> &[Hint] {
        self.hints.get(i..).unwrap_or_default()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    #[inline]
    pub(crate) fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }
}
