//! The studies in the binary: each a folder of experiments, with what was published beside them.

use assay_model::{Durability, Study};

use crate::{
    Spec,
    plan::{PlanError, SystemPlan},
    resolve_system::{check_durability, label_of, resolve_system},
    spec::{OneOrMany, SpecError, SystemSpec},
};

/// A study in the binary.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Its `study.toml`.
    facts: &'static str,
    /// Its experiments: each the name of its file without the ending, and its text.
    experiments: &'static [(&'static str, &'static str)],
}

macro_rules! shipped {
    ($name:literal: $($experiment:literal),+) => {
        Shipped {
            name: $name,
            facts: include_str!(concat!("../../../studies/", $name, "/study.toml")),
            experiments: &[$((
                $experiment,
                include_str!(concat!("../../../studies/", $name, "/", $experiment, ".toml")),
            )),+],
        }
    };
}

/// Every study in the binary.
pub const STUDIES: [Shipped; 2] = [
    shipped!("slik": "lookup-by-index-size", "lookup-by-range-size", "lookup-latency-distribution",
        "overwrite-by-index-count", "overwrite-by-index-size"),
    shipped!("kvdb2024": "workloads"),
];

/// The study of this name.
pub fn find(name: &str) -> Option<&'static Shipped> {
    STUDIES.iter().find(|study| study.name == name)
}

impl Shipped {
    /// What the study is, and what was published.
    ///
    /// # Errors
    /// Where its text is no study: never for one that is [`STUDIES`]', which a test reads.
    pub fn study(&self) -> Result<Study, SpecError> {
        let malformed = |error: toml::de::Error| SpecError::Malformed {
            path: format!("studies/{}/study.toml", self.name),
            why: error.to_string(),
        };
        let study: Study = toml::from_str(self.facts).map_err(malformed)?;
        Ok(Study { name: self.name.to_owned(), ..study })
    }

    /// The names of the experiments.
    pub fn experiments(&self) -> impl Iterator<Item = &'static str> {
        self.experiments.iter().map(|(name, _)| *name)
    }

    /// Each experiment as written.
    ///
    /// # Errors
    /// Where a text is no experiment: never for one that is [`STUDIES`]', which a test reads.
    pub fn specs(&self) -> Result<Vec<Spec>, SpecError> {
        let read = |(name, text): &(&str, &str)| {
            Spec::parse(text, &format!("studies/{}/{name}.toml", self.name))
        };
        self.experiments.iter().map(read).collect()
    }
}

/// The experiment at a quick scale: over `records` where it sweeps over records, otherwise with no
/// more than the most of these, and a short time for repeats.
pub fn quick(spec: Spec, records: &[u64]) -> Spec {
    const BUDGET: std::time::Duration = std::time::Duration::from_secs(60);
    let most = records.iter().copied().max();
    let fewer = spec.records.map(|own| match (own.0.as_slice(), most) {
        (_, None) => own,
        ([only], Some(most)) => OneOrMany(vec![(*only).min(most)]),
        _ => OneOrMany(records.to_vec()),
    });
    Spec { records: fewer, budget: Some(crate::extent::Time(BUDGET)), ..spec }
}

/// A system on its own, as the plan has it.
///
/// # Errors
/// Why it can be no part of a plan at this durability.
pub fn check_system(spec: &SystemSpec, durability: Durability) -> Result<SystemPlan, PlanError> {
    let system = resolve_system(spec.clone())?;
    check_durability(&system, durability)?;
    Ok(system)
}

/// What a system is called in tables, also one that no driver is known of.
pub fn label(spec: &SystemSpec) -> String {
    label_of(spec)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_a_study_is_in_the_binary() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
        for study in STUDIES {
            let files = std::fs::read_dir(format!("{folder}/{}", study.name)).unwrap();
            let names: BTreeSet<String> = files
                .map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into())
                .collect();
            let known: BTreeSet<String> =
                study.experiments().chain(["study"]).map(str::to_owned).collect();
            assert_eq!(names, known, "{}", study.name);
            let facts = study.study().unwrap();
            assert!(!facts.title.is_empty() && !facts.source.is_empty());
            assert_eq!(study.specs().unwrap().len(), study.experiments().count());
        }
        assert_eq!(find("slik").unwrap().name, "slik");
        assert!(find("silk").is_none());
    }

    #[test]
    fn what_is_published_of_a_study_is_of_its_systems() {
        for study in STUDIES {
            let facts = study.study().unwrap();
            let systems: BTreeSet<String> = study
                .specs()
                .unwrap()
                .iter()
                .flat_map(|spec| spec.systems.iter().flatten().map(label))
                .collect();
            let places = facts.standings.iter().flat_map(|standing| &standing.published);
            let named = places.flat_map(|place| &place.systems);
            let changed = facts.changes.iter().flat_map(|change| [&change.from, &change.to]);
            for system in named.chain(changed) {
                assert!(systems.contains(system), "{system} is none of {systems:?}");
            }
        }
    }

    #[test]
    fn a_quick_scale_has_fewer_records_and_never_more() {
        let records = |text: &str| {
            let spec = Spec::parse(text, "t").unwrap();
            quick(spec, &[10, 100]).records.map(|records| records.0)
        };
        assert_eq!(records("records = [1, 1_000, 10_000]"), Some(vec![10, 100]));
        assert_eq!(records("records = 5_000"), Some(vec![100]));
        assert_eq!(records("records = 5"), Some(vec![5]));
        assert_eq!(records(""), None);
    }

    #[test]
    fn a_label_is_known_without_a_driver() {
        let spec = |text: &str| SystemSpec::Name(text.to_owned());
        assert_eq!(label(&spec("nosuch:x+a=b")), "nosuch:x");
        assert_eq!(label(&spec("nosuch@calm+a=b")), "calm");
        assert!(check_system(&spec("nosuch"), Durability::None).is_err());
        assert!(check_system(&spec("memory"), Durability::Synced).is_err());
        assert_eq!(check_system(&spec("memory"), Durability::None).unwrap().label, "memory");
    }
}
