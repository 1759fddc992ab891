//! Search in a page.

use std::cmp::Ordering;

use super::page::{BLOCK, Page, Piece};

impl<const N: usize, const W: usize> Page<N, W> {
    /// Where the string is, or else where it would be inserted.
    #[inline]
    pub(super) fn find(&self, string: &[u8]) -> Result<usize, usize> {
        match self.without_prefix(string) {
            Some(rest) => self.find_rest(Piece::of(rest)),
            None if string < self.prefix() => Err(0),
            None => Err(self.len()),
        }
    }

    /// [`Page::find`], which calls `soon` with where the string most likely is or would be inserted,
    /// known by heads alone, before it compares tails. That place may be the page's end.
    #[inline]
    pub(super) fn find_soon(
        &self,
        string: &[u8],
        soon: impl FnOnce(usize),
    ) -> Result<usize, usize> {
        match self.without_prefix(string) {
            Some(rest) => {
                let sought = Piece::of(rest);
                let first = heads_below(self.heads(), sought.head);
                self.prefetch_tail(first);
                soon(first);
                self.find_from(first, sought)
            }
            None if string < self.prefix() => Err(0),
            None => Err(self.len()),
        }
    }

    /// How many of the strings from `at` on are below `string`, or also are it if it `counts`.
    #[inline]
    pub(super) fn count_to(&self, at: usize, string: &[u8], counts: bool) -> usize {
        let end = match self.without_prefix(string) {
            // Mostly only the first few of a page are asked for.
            Some(rest) if at + 1 < self.len() && self.head(at + 1) > Piece::of(rest).head => {
                let order = self.piece(at).cmp(&Piece::of(rest));
                at + usize::from(order.is_lt() || (order.is_eq() && counts))
            }
            Some(rest) => match self.find_rest(Piece::of(rest)) {
                Ok(place) => place + usize::from(counts),
                Err(place) => place,
            },
            None if string < self.prefix() => 0,
            None => self.len(),
        };
        end.saturating_sub(at)
    }

    #[inline]
    fn find_rest(&self, sought: Piece) -> Result<usize, usize> {
        self.find_from(heads_below(self.heads(), sought.head), sought)
    }

    /// The search goes on where `first` heads are below the sought one.
    #[inline]
    fn find_from(&self, first: usize, sought: Piece) -> Result<usize, usize> {
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
            match piece.cmp(&sought) {
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
fn heads_below<const N: usize>(heads: &[u64; N], head: u64) -> usize {
    let blocks = heads.as_chunks::<BLOCK>().0;
    let is_below = |other: &u64| usize::from(*other < head);
    let whole: usize = blocks.iter().map(|block| is_below(&block[BLOCK - 1])).sum();
    let in_block: usize = blocks.get(whole).map_or(0, |block| block.iter().map(is_below).sum());
    whole * BLOCK + in_block
}
