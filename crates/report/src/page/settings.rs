//! The settings in force side by side.

use std::collections::{BTreeMap, BTreeSet};

use super::{data::Setting, measured::Measured};
use crate::text::escape;

/// By setting, the values that each system of a group had in it.
type Values = BTreeMap<String, BTreeMap<u32, BTreeSet<String>>>;

/// A setting that the systems of some groups do not share.
pub struct Difference {
    /// Its name.
    pub name: String,
    /// The systems that have it in these groups, by value.
    pub systems: BTreeMap<String, BTreeSet<u32>>,
    /// The groups.
    pub groups: BTreeSet<u32>,
}

/// A row a setting, those that differ first.
pub fn settings(measured: &Measured<'_>, differences: &[Difference]) -> Vec<Setting> {
    let all = values(measured, 0..measured.cells.len());
    let mut rows: Vec<Setting> = all
        .into_iter()
        .map(|(name, by_system)| Setting {
            differs: differences.iter().any(|difference| difference.name == name),
            values: (0..measured.systems.len() as u32)
                .map(|system| by_system.get(&system).into_iter().flatten().cloned().collect())
                .collect(),
            name,
        })
        .collect();
    rows.sort_by_key(|row| !row.differs);
    rows
}

/// Settings in which systems of one group differ. One that changes between the trials of a system is
/// no choice of anybody and does not count, nor does the No-DB line, which has nothing to set.
pub fn differences(measured: &Measured<'_>) -> Vec<Difference> {
    let mut found: BTreeMap<String, Difference> = BTreeMap::new();
    for (group, places) in (0..).zip(&measured.groups) {
        for (name, by_system) in values(measured, places.iter().copied()) {
            let mut systems: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
            for (system, values) in by_system {
                if values.len() == 1 && !measured.systems[system as usize].no_db {
                    systems.entry(values.into_iter().collect()).or_default().insert(system);
                }
            }
            if systems.len() < 2 {
                continue;
            }
            let difference = found.entry(name.clone()).or_insert_with(|| Difference {
                name,
                systems: BTreeMap::new(),
                groups: BTreeSet::new(),
            });
            difference.groups.insert(group);
            for (value, of_value) in systems {
                difference.systems.entry(value).or_default().extend(of_value);
            }
        }
    }
    found.into_values().collect()
}

fn values(measured: &Measured<'_>, cells: impl Iterator<Item = usize>) -> Values {
    let mut all = Values::new();
    for origin in cells.map(|place| &measured.origins[place]) {
        for trial in origin.repeats.trials.iter().filter(|trial| trial.unsupported.is_none()) {
            for (name, value) in &trial.settings {
                let by_system = all.entry(escape(name)).or_default();
                by_system.entry(origin.system).or_default().insert(escape(value));
            }
        }
    }
    all
}
