//! Switches that turn on wrong behaviour, to see that the tests notice it. Without `cfg(test)` or
//! the feature `mutants` none of them exists, and asking for one is a constant `false`.

/// One way to break the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(any(test, feature = "mutants")), allow(dead_code))]
#[allow(missing_docs, reason = "the names say what is done wrong")]
pub enum Mutant {
    CommitBeforeInsert,
    RemoveBeforeCommit,
    /// Taking back the entries of a refused write without looking which of them are live.
    RefusedWriteRemovesLiveEntries,
    /// Copying the upper half of an indexlet before inserts to it are stopped.
    CopyBeforeFreeze,
    /// Scanning an indexlet as far as the map says, not as far as it owns.
    ScanNotBoundedByOwnership,
    /// The entry equal to the split key stays below.
    GreaterForGreaterOrEqual,
    /// Emitting an object only at the very version it had when its entry was scanned.
    FilterOnExactReference,
    NoDeduplication,
    NoSchemaBarrier,
    RemovalWithoutKeyLock,
    /// Not looking whether another object of the same hash needs the entry.
    RemovalIgnoresCollisions,
    /// Emitting whatever the entries point at.
    NoFilter,
    /// A version counter that forgets removed objects.
    VersionsStartAnew,
    /// Filling a new index without taking the keys' locks.
    BackfillWithoutKeyLock,
}

/// The switches of one table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Switches {
    #[cfg(any(test, feature = "mutants"))]
    pub(crate) mutant: Option<Mutant>,
    /// Fewer bits of hash, so that primary keys collide.
    #[cfg(test)]
    pub(crate) hash_bits: Option<u32>,
    /// Fewer entries a batch, so that small lookups take several.
    #[cfg(test)]
    pub(crate) batch: Option<usize>,
    /// Fewer tablets to begin with, so that fewer steps have to be explored.
    #[cfg(test)]
    pub(crate) tablet_bits: Option<u32>,
}

impl Switches {
    #[inline(always)]
    pub(crate) fn on(&self, mutant: Mutant) -> bool {
        #[cfg(any(test, feature = "mutants"))]
        return self.mutant == Some(mutant);
        #[cfg(not(any(test, feature = "mutants")))]
        {
            let _ = mutant;
            false
        }
    }

    #[inline(always)]
    pub(crate) fn hash(&self, primary: &[u8]) -> u64 {
        let hash = crate::hash::of(primary);
        #[cfg(test)]
        if let Some(bits) = self.hash_bits {
            return hash & (((1 << bits) - 1) << 32);
        }
        hash
    }

    #[inline(always)]
    pub(crate) fn batch(&self, usual: usize) -> usize {
        #[cfg(test)]
        if let Some(batch) = self.batch {
            return batch;
        }
        usual
    }

    #[inline(always)]
    pub(crate) fn tablet_bits(&self, usual: u32) -> u32 {
        #[cfg(test)]
        if let Some(bits) = self.tablet_bits {
            return bits;
        }
        usual
    }
}
