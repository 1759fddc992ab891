//! Inner nodes by number: a vector whose freed places are used again. It counts what their pages hold
//! as they change, so they are changed through it.

use std::ops::Index;

use super::node::Inner;

/// No node: the end of a chain of leaves.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Default)]
pub(super) struct Inners {
    nodes: Vec<Inner>,
    free: Vec<u32>,
    text_bytes: usize,
}

impl Inners {
    pub(super) fn add(&mut self, node: Inner) -> u32 {
        if let Some(number) = self.free.pop() {
            self.change(number, |freed| *freed = node);
            return number;
        }
        self.text_bytes += node.separators.text_bytes();
        let number = u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes fit in memory");
        if self.nodes.len() == self.nodes.capacity() {
            // A quarter at a time: doubling would leave up to half of it unused.
            self.nodes.reserve_exact((self.nodes.len() / 4).max(1));
        }
        self.nodes.push(node);
        number
    }

    /// Takes the node out; its number is given to a later one.
    pub(super) fn take(&mut self, number: u32) -> Inner {
        self.free.push(number);
        self.change(number, std::mem::take)
    }

    /// Changes a node.
    #[inline]
    pub(super) fn change<R>(&mut self, number: u32, change: impl FnOnce(&mut Inner) -> R) -> R {
        let node = &mut self.nodes[number as usize];
        let before = node.separators.text_bytes();
        let result = change(node);
        self.text_bytes = self.text_bytes - before + node.separators.text_bytes();
        result
    }

    /// Every node, freed ones as empty.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Inner> {
        self.nodes.iter()
    }

    /// The bytes of prefixes and tails, as counted.
    #[cfg(test)]
    pub(super) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// How many nodes are in use.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// The bytes of the nodes and what they hold.
    pub(super) fn memory_bytes(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<Inner>();
        nodes + self.free.capacity() * size_of::<u32>() + self.text_bytes
    }
}

impl Index<u32> for Inners {
    type Output = Inner;

    #[inline]
    fn index(&self, number: u32) -> &Inner {
        &self.nodes[number as usize]
    }
}
