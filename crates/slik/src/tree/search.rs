//! Search in a page.

use std::cmp::Ordering;

use super::page::{BLOCK, HEAD, Page, Piece};

impl<const WORDS: usize> Page<WORDS> {
    /// Where the string is, or else where it would be inserted.
    #[inline]
    pub(super) fn find(&self, string: &[u8]) -> Result<usize, usize> {
        match self.without_prefix(string) {
            Some(rest) => self.find_rest(Piece::of(rest)),
            None if string < self.prefix() => Err(0),
            None => Err(self.len()),
        }
    }

    /// Where a string that is there most likely is, by heads alone.
    #[inline]
    pub(super) fn guess(&self, string: &[u8]) -> Option<usize> {
        let sought = Piece::of(self.without_prefix(string)?);
        Some(heads_below(self.heads(), sought.head)).filter(|at| *at < self.len())
    }

    #[inline]
    fn find_rest(&self, sought: Piece) -> Result<usize, usize> {
        let first = heads_below(self.heads(), sought.head);
        if first >= self.len() || self.head(first) != sought.head {
            return Err(first);
        }
        self.find_among_equal_heads(first, sought)
    }

    /// The search goes on in the run of strings, from `first` on, that have the sought head.
    fn find_among_equal_heads(&self, first: usize, sought: Piece) -> Result<usize, usize> {
        let mut low = first;
        let mut high = first + 1;
        if high < self.len() && self.head(high) == sought.head {
            high = match sought.head.checked_add(1) {
                Some(above) => heads_below(self.heads(), above),
                None => self.len(),
            };
        }
        while low < high {
            let middle = low.midpoint(high);
            let piece = self.piece(middle);
            match piece.head_len.cmp(&sought.head_len).then_with(|| piece.tail.cmp(sought.tail)) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }
}

/// How many heads are below the given one. First the last head of every block, then the heads
/// of one block: no comparison waits for another within the two steps, so that the cache misses
/// of the first overlap, and the second finds its line in the cache.
#[inline]
fn heads_below(heads: &[[u8; HEAD]], head: u64) -> usize {
    let blocks = heads.as_chunks::<BLOCK>().0;
    let is_below = |other: &[u8; HEAD]| usize::from(u64::from_ne_bytes(*other) < head);
    let whole: usize = blocks.iter().map(|block| is_below(&block[BLOCK - 1])).sum();
    let in_block: usize = blocks.get(whole).map_or(0, |block| block.iter().map(is_below).sum());
    whole * BLOCK + in_block
}
