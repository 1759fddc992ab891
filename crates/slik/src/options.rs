//! What can be chosen when a store is made.

use crate::mutant::Switches;

/// Where the entries of an index are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// By key range, apart from the objects: a lookup touches only the indexlets of its range.
    Ranges,
    /// In this many parts by hash of the primary key, as if beside the tablets: every lookup asks
    /// all parts and merges. The baseline that [`Placement::Ranges`] is compared with.
    Colocated {
        /// Number of parts, at least one.
        parts: usize,
    },
}

/// What has happened to a write when it is acknowledged. Of no meaning for a store in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The operating system has it: it survives the end of the process, but perhaps not the
    /// machine's.
    Buffered,
    /// The disk has it: it survives both.
    Synced,
}

/// What to do when a store's log is damaged before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamagedLog {
    /// Refuse to open it.
    Refuse,
    /// Lose the damaged write and all that were logged after it. For when there is no copy, and
    /// for [`Durability::Buffered`] after the machine failed.
    DropRest,
}

/// Settings of a store.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// An indexlet with more entries than this is split in its middle.
    pub indexlet_entries: usize,
    /// A tablet with more objects than this is split in two.
    pub tablet_objects: usize,
    /// Number of locks per table that writers of different primary keys share, rounded up to a
    /// power of two.
    pub stripes: usize,
    /// Where index entries are kept.
    pub placement: Placement,
    /// Writes that would take the store over this are refused; `None` for no limit.
    pub memory_limit_bytes: Option<u64>,
    /// What has happened to a write when it is acknowledged.
    pub durability: Durability,
    /// What to do when the log is damaged.
    pub damaged_log: DamagedLog,
    /// Wrong behaviour to turn on.
    #[cfg(feature = "mutants")]
    pub mutant: Option<crate::mutant::Mutant>,
    #[cfg(test)]
    pub(crate) switches: Switches,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            indexlet_entries: 65_536,
            // A split visits every object of the tablet while its writers wait.
            tablet_objects: 14_000,
            stripes: 16_384,
            placement: Placement::Ranges,
            memory_limit_bytes: None,
            durability: Durability::Buffered,
            damaged_log: DamagedLog::Refuse,
            #[cfg(feature = "mutants")]
            mutant: None,
            #[cfg(test)]
            switches: Switches::default(),
        }
    }
}

impl Options {
    pub(crate) fn switches(&self) -> Switches {
        #[cfg(test)]
        return self.switches;
        #[cfg(all(feature = "mutants", not(test)))]
        return Switches { mutant: self.mutant };
        #[cfg(not(any(test, feature = "mutants")))]
        Switches {}
    }
}
