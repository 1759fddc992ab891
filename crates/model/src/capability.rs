//! What a system can do, declared before a server starts.

use serde::Serialize;

use crate::{Durability, OperationKind};

/// Whether and how a system does something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "support", content = "why")]
pub enum Support {
    /// The system does it itself.
    Native,
    /// The driver does it with other commands; the text says how, and stands in every report.
    Emulated(&'static str),
    /// The system does the simplest of it itself, and no more: the text says what it cannot, and why.
    InPart(&'static str),
    /// The system cannot; the text says why, and stands in every report.
    Unsupported(&'static str),
}

/// Why a system without secondary indexes does no lookups.
pub const NO_INDEXES: &str = "it has no secondary indexes";

/// Something that a workload or a plan may need of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// An operation of this kind.
    Operation(OperationKind),
    /// Secondary indexes, kept up with every write.
    Indexes,
    /// Lookups of more than one value: of a range, or from a value on.
    LookupRanges,
    /// Counting the records, for the check after a run.
    Count,
    /// A durability level.
    Durability(Durability),
}

/// What a system, in one layout, can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Range scans in key order.
    pub scan: Support,
    /// Secondary indexes on fields, kept up with every write, and lookups in their order; in part: lookups
    /// of one value.
    pub lookup: Support,
    /// Counting all records.
    pub count: Support,
    /// Removing records.
    pub delete: Support,
    /// The durability levels, each with the setting it maps to; a level not listed is refused.
    pub durability: &'static [(Durability, &'static str)],
    /// The largest value the system takes, in bytes, if it has a limit worth checking.
    pub max_value_bytes: Option<u64>,
    /// The largest key the system takes, in bytes, if it has a limit worth checking.
    pub max_key_bytes: Option<u64>,
}

impl Capabilities {
    /// Everything but secondary indexes natively, at durability level none only: the start for an
    /// embedded system.
    pub const IN_MEMORY: Capabilities = Capabilities {
        scan: Support::Native,
        lookup: Support::Unsupported(NO_INDEXES),
        count: Support::Native,
        delete: Support::Native,
        durability: &[(Durability::None, "memory only")],
        max_value_bytes: None,
        max_key_bytes: None,
    };

    /// How the system does `feature`.
    pub fn support(&self, feature: Feature) -> Support {
        match feature {
            Feature::Operation(OperationKind::Scan) => self.scan.clone(),
            Feature::Operation(OperationKind::Lookup) | Feature::Indexes => self.lookup.clone(),
            Feature::LookupRanges => match self.lookup.clone() {
                Support::InPart(why) => Support::Unsupported(why),
                other => other,
            },
            Feature::Operation(OperationKind::Delete) => self.delete.clone(),
            Feature::Operation(_) => Support::Native,
            Feature::Count => self.count.clone(),
            Feature::Durability(level) => match self.durability_setting(level) {
                Some(_) => Support::Native,
                None => Support::Unsupported("the system has no such durability level"),
            },
        }
    }

    /// The system's own setting for a durability level, or `None` if it has no such level.
    pub fn durability_setting(&self, level: Durability) -> Option<&'static str> {
        self.durability.iter().find(|(have, _)| *have == level).map(|(_, setting)| *setting)
    }

    /// The supported level nearest to `wanted`: the weakest one at least as strong, otherwise the
    /// strongest there is.
    pub fn nearest_durability(&self, wanted: Durability) -> Durability {
        let mut levels: Vec<Durability> = self.durability.iter().map(|(level, _)| *level).collect();
        levels.sort();
        let stronger = levels.iter().copied().find(|level| *level >= wanted);
        stronger.or(levels.last().copied()).unwrap_or(Durability::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_level_is_the_next_stronger_else_the_strongest() {
        let memory = Capabilities::IN_MEMORY;
        assert_eq!(memory.nearest_durability(Durability::Synced), Durability::None);
        let logged = Capabilities {
            durability: &[(Durability::Buffered, "log"), (Durability::Synced, "fsync")],
            ..Capabilities::IN_MEMORY
        };
        assert_eq!(logged.nearest_durability(Durability::None), Durability::Buffered);
        assert_eq!(logged.support(Feature::Durability(Durability::Synced)), Support::Native);
    }

    #[test]
    fn who_looks_up_one_value_need_not_look_up_ranges() {
        let lookup = Support::InPart("hashes have no order");
        let hashed = Capabilities { lookup: lookup.clone(), ..Capabilities::IN_MEMORY };
        assert_eq!(hashed.support(Feature::Operation(OperationKind::Lookup)), lookup);
        assert_eq!(hashed.support(Feature::Indexes), lookup);
        let refused = Support::Unsupported("hashes have no order");
        assert_eq!(hashed.support(Feature::LookupRanges), refused);
        let sorted = Capabilities { lookup: Support::Native, ..Capabilities::IN_MEMORY };
        assert_eq!(sorted.support(Feature::LookupRanges), Support::Native);
    }
}
