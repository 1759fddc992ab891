//! The leaves of a tree by number, in chunks: a leaf is found without a pointer of its own, and a table
//! that grows copies one chunk at most. Numbers are dense: the last leaf takes the place of one that
//! goes, so that the memory of a set that shrinks is given back. What the pages hold is counted as it
//! changes, so leaves are changed through here.

use std::ops::Index;

use super::node::Leaf;

const CHUNK_BITS: u32 = 6;
/// Leaves of a chunk.
const CHUNK: usize = 1 << CHUNK_BITS;

#[derive(Default)]
pub(super) struct Leaves {
    /// Every one full but the last, none empty.
    chunks: Vec<Vec<Leaf>>,
    text_bytes: usize,
}

impl Leaves {
    /// How many leaves there are.
    pub(super) fn len(&self) -> usize {
        let last = self.chunks.last().map_or(0, Vec::len);
        self.chunks.len().saturating_sub(1) * CHUNK + last
    }

    pub(super) fn add(&mut self, leaf: Leaf) -> u32 {
        let number = u32::try_from(self.len()).expect("fewer than 2^32 leaves fit in memory");
        self.text_bytes += leaf.page.text_bytes();
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => {
                if chunk.len() == chunk.capacity() {
                    // A quarter at a time: doubling would leave up to half of the chunk unused.
                    chunk.reserve_exact((chunk.len() / 4).clamp(1, CHUNK - chunk.len()));
                }
                chunk.push(leaf);
            }
            _ => self.chunks.push(vec![leaf]),
        }
        number
    }

    /// Frees a leaf. The last one, unless it is that, has its number from now on.
    pub(super) fn remove(&mut self, number: u32) {
        let Some(chunk) = self.chunks.last_mut() else { return };
        let Some(last) = chunk.pop() else { return };
        if chunk.is_empty() {
            self.chunks.pop();
        } else if chunk.len() * 2 < chunk.capacity() {
            chunk.shrink_to(chunk.len() * 5 / 4);
        }
        let removed = if self.len() == number as usize {
            last
        } else {
            std::mem::replace(self.get_mut(number), last)
        };
        self.text_bytes -= removed.page.text_bytes();
    }

    /// Changes a leaf.
    #[inline]
    pub(super) fn change<R>(&mut self, number: u32, change: impl FnOnce(&mut Leaf) -> R) -> R {
        let leaf = self.get_mut(number);
        let before = leaf.page.text_bytes();
        let result = change(leaf);
        let after = leaf.page.text_bytes();
        self.text_bytes = self.text_bytes - before + after;
        result
    }

    /// The leaf of a number, if there is one.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&Leaf> {
        self.chunks.get((number >> CHUNK_BITS) as usize)?.get(number as usize & (CHUNK - 1))
    }

    #[inline]
    fn get_mut(&mut self, number: u32) -> &mut Leaf {
        &mut self.chunks[(number >> CHUNK_BITS) as usize][number as usize & (CHUNK - 1)]
    }

    /// Every leaf.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Leaf> {
        self.chunks.iter().flatten()
    }

    /// The bytes of prefixes and tails, as counted.
    #[cfg(test)]
    pub(super) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// The bytes of the leaves and what they hold.
    pub(super) fn memory_bytes(&self) -> usize {
        let last = self.chunks.last().map_or(0, Vec::capacity);
        let leaves = self.chunks.len().saturating_sub(1) * CHUNK + last;
        leaves * size_of::<Leaf>()
            + self.chunks.capacity() * size_of::<Vec<Leaf>>()
            + self.text_bytes
    }
}

impl Index<u32> for Leaves {
    type Output = Leaf;

    #[inline]
    fn index(&self, number: u32) -> &Leaf {
        &self.chunks[(number >> CHUNK_BITS) as usize][number as usize & (CHUNK - 1)]
    }
}
