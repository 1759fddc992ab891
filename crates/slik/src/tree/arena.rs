//! Nodes by number: a vector whose freed places are used again. It counts what the pages of its
//! nodes hold as they change, so nodes are changed through it.

use std::ops::Index;

/// No node: the end of a chain of leaves.
pub(super) const NONE: u32 = u32::MAX;

/// What an arena holds.
pub(super) trait Node: Default {
    fn page_bytes(&self) -> usize;
}

pub(super) struct Arena<T> {
    nodes: Vec<T>,
    free: Vec<u32>,
    page_bytes: usize,
}

impl<T> Default for Arena<T> {
    fn default() -> Arena<T> {
        Arena { nodes: Vec::new(), free: Vec::new(), page_bytes: 0 }
    }
}

impl<T: Node> Arena<T> {
    pub(super) fn add(&mut self, node: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.change(number, |freed| *freed = node);
            return number;
        }
        self.page_bytes += node.page_bytes();
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
        self.change(number, std::mem::take)
    }

    /// Changes a node.
    #[inline]
    pub(super) fn change<R>(&mut self, number: u32, change: impl FnOnce(&mut T) -> R) -> R {
        let node = &mut self.nodes[number as usize];
        let before = node.page_bytes();
        let result = change(node);
        self.page_bytes = self.page_bytes - before + node.page_bytes();
        result
    }

    /// Every node, freed ones as empty.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.nodes.iter()
    }

    /// The bytes of the pages, as counted.
    #[cfg(test)]
    pub(super) fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// How many nodes are in use.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// The bytes of the arena and of the pages of its nodes.
    pub(super) fn memory_bytes(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<T>();
        nodes + self.free.capacity() * size_of::<u32>() + self.page_bytes
    }
}

impl<T> Index<u32> for Arena<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.nodes[number as usize]
    }
}
