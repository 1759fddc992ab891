//! Nodes by number: a vector whose freed places are used again.

use std::ops::{Index, IndexMut};

/// No node: the end of a chain of leaves.
pub(super) const NONE: u32 = u32::MAX;

pub(super) struct Arena<T> {
    nodes: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Arena<T> {
        Arena { nodes: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> Arena<T> {
    pub(super) fn add(&mut self, node: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self[number] = node;
            return number;
        }
        let number = u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes fit in memory");
        if self.nodes.len() == self.nodes.capacity() {
            // A quarter at a time: doubling would leave up to half of the arena unused.
            self.nodes.reserve_exact((self.nodes.len() / 4).max(4));
        }
        self.nodes.push(node);
        number
    }

    /// Takes the node out; its number is given to a later one.
    pub(super) fn take(&mut self, number: u32) -> T {
        self.free.push(number);
        std::mem::take(&mut self[number])
    }

    /// Every node, freed ones as empty.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.nodes.iter()
    }

    /// How many nodes are in use.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// The bytes of the arena itself, not what its nodes point to.
    pub(super) fn memory_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<T>() + self.free.capacity() * size_of::<u32>()
    }
}

impl<T> Index<u32> for Arena<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.nodes[number as usize]
    }
}

impl<T> IndexMut<u32> for Arena<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.nodes[number as usize]
    }
}
