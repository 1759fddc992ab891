//! The studies in the binary: each a folder of experiments, with what was published beside them.

use assay_model::{Durability, Study};

use crate::{
    Spec,
    plan::{PlanError, SystemPlan},
    resolve_system::{check_durability, label_of, resolve_system},
    spec::{OneOrMany, SpecError, SystemSpec, WorkloadSpec},
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
pub const STUDIES: [Shipped; 3] = [
    shipped!("slik": "lookup-by-index-size", "lookup-by-range-size", "lookup-latency-distribution",
        "overwrite-by-index-count", "overwrite-by-index-size"),
    shipped!("kvdb2024": "workloads"),
    shipped!("nosql-postgres": "ten-fields", "long-documents", "durable", "quick", "quick-durable"),
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

    /// Each experiment as written, by its name.
    ///
    /// # Errors
    /// Where a text is no experiment: never for one that is [`STUDIES`]', which a test reads.
    pub fn specs(&self) -> Result<Vec<(&'static str, Spec)>, SpecError> {
        let read = |(name, text): &(&'static str, &str)| {
            Ok((*name, Spec::parse(text, &format!("studies/{}/{name}.toml", self.name))?))
        };
        self.experiments.iter().map(read).collect()
    }
}

/// The experiments of a study at one of its scales: those that stand for all at a quick one, or the
/// others; all of a study that names none.
pub fn at_scale(
    study: &Study,
    specs: Vec<(&'static str, Spec)>,
    is_quick: bool,
) -> Vec<(&'static str, Spec)> {
    let named = |name: &str| study.quick_experiments.iter().any(|quick| quick == name);
    let belongs = |name: &str| study.quick_experiments.is_empty() || named(name) == is_quick;
    specs.into_iter().filter(|(name, _)| belongs(name)).collect()
}

/// Those of a study's experiments that have workloads of these names, with these only. `None` if a
/// name is none of the study's own.
pub fn with_workloads(
    specs: &[(&'static str, Spec)],
    named: &[WorkloadSpec],
) -> Option<Vec<(&'static str, Spec)>> {
    let own = |spec: &Spec, name: &str| {
        spec.workloads
            .iter()
            .flatten()
            .any(|own| matches!(own, WorkloadSpec::Table(table) if table.name == name))
    };
    let mut names = Vec::new();
    for workload in named {
        let WorkloadSpec::Name(name) = workload else { return None };
        if !specs.iter().any(|(_, spec)| own(spec, name)) {
            return None;
        }
        names.push(name);
    }
    let mut specs = specs.to_vec();
    for (_, spec) in &mut specs {
        spec.workloads.iter_mut().for_each(|workloads| {
            workloads.retain(
                |own| matches!(own, WorkloadSpec::Table(table) if names.contains(&&table.name)),
            );
        });
    }
    specs.retain(|(_, spec)| spec.workloads.as_ref().is_some_and(|of| !of.is_empty()));
    Some(specs)
}

/// What the study asks of one of its experiments: without the claims that others decide.
pub fn asked_of(study: &Study, experiment: &str) -> Study {
    let mut study = study.clone();
    study.claims.retain(|claim| {
        claim.experiments.is_empty() || claim.experiments.iter().any(|name| name == experiment)
    });
    study
}

/// The experiment at a quick scale, where the study has none of its own for that: over `records`
/// where it sweeps over records, otherwise with no more than the most of these, and a short time for
/// repeats.
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

    use assay_model::{Between, Check};

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
                .flat_map(|(_, spec)| spec.systems.iter().flatten().map(label))
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
    fn what_a_study_claims_is_of_its_experiments_workloads_and_systems() {
        let mut checks = 0;
        for study in STUDIES {
            let facts = study.study().unwrap();
            let specs = study.specs().unwrap();
            let names: BTreeSet<&str> = study.experiments().collect();
            assert!(facts.quick_experiments.iter().all(|name| names.contains(name.as_str())));
            for claim in &facts.claims {
                let of: Vec<&Spec> = specs
                    .iter()
                    .filter(|(name, _)| claim.experiments.iter().any(|of| of == name))
                    .map(|(_, spec)| spec)
                    .collect();
                let text = &claim.text;
                assert_eq!(of.len(), claim.experiments.len(), "{text}: no such experiment");
                assert!(!claim.checks.is_empty() && !claim.source.is_empty(), "{text}");
                for (spec, check) in
                    of.iter().flat_map(|spec| claim.checks.iter().map(move |check| (*spec, check)))
                {
                    checks += 1;
                    assert_names(&facts, spec, check);
                }
            }
        }
        assert!(checks > 20, "{checks}");
    }

    /// Every system and workload of a check is in the experiment, and its conditions are in step.
    fn assert_names(facts: &Study, spec: &Spec, check: &Check) {
        let workloads: BTreeSet<&str> = spec
            .workloads
            .iter()
            .flatten()
            .map(|workload| match workload {
                WorkloadSpec::Name(name) => name.as_str(),
                WorkloadSpec::Table(table) => table.name.as_str(),
            })
            .collect();
        let labels: BTreeSet<String> = spec.systems.iter().flatten().map(label).collect();
        let in_step = |between: &Between| {
            assert!(between.from.is_empty() || between.from.len() == between.to.len());
            between.from.iter().chain(&between.to).cloned().collect::<Vec<String>>()
        };
        let (systems, named): (Vec<&String>, Vec<String>) = match check {
            Check::Ahead { system, of, workloads, .. } => {
                ([system].into_iter().chain(of).collect(), workloads.clone())
            }
            Check::Grows { systems, workloads, by } => {
                assert!(*by > 1.0);
                (systems.iter().collect(), workloads.clone())
            }
            Check::Falls { systems, change, than, than_systems, to } => {
                assert!(*to < 1.0 && (than.is_none() || than_systems.is_empty()));
                let than = than.iter().flat_map(in_step);
                let workloads = in_step(change).into_iter().chain(than).collect();
                (systems.iter().chain(than_systems).collect(), workloads)
            }
            Check::Keeps { systems, change, share } => {
                assert!(*share < 1.0);
                (systems.iter().collect(), in_step(change))
            }
        };
        assert!(!systems.is_empty() && !named.is_empty());
        for workload in &named {
            assert!(workloads.contains(workload.as_str()), "{workload} is none of {workloads:?}");
        }
        for system in systems {
            let called = facts.called.iter().find(|called| called.name == *system).unwrap();
            for label in [Some(&called.system), called.in_place.as_ref()].into_iter().flatten() {
                assert!(labels.contains(label), "{label} is none of {labels:?}");
            }
        }
    }

    #[test]
    fn a_study_with_experiments_of_its_own_for_the_quick_scale_has_them_there_only() {
        let names = |name: &str, is_quick: bool| {
            let shipped = find(name).unwrap();
            let specs = at_scale(&shipped.study().unwrap(), shipped.specs().unwrap(), is_quick);
            specs.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names("kvdb2024", true), names("kvdb2024", false));
        assert_eq!(names("nosql-postgres", true), ["quick", "quick-durable"]);
        let full = ["ten-fields", "long-documents", "durable"];
        assert_eq!(names("nosql-postgres", false), full);
        let study = find("nosql-postgres").unwrap().study().unwrap();
        let durable = asked_of(&study, "durable").claims;
        assert!(durable.len() == 1 && durable[0].text.contains("durability enabled"));
        assert!(asked_of(&study, "quick").claims.len() > 5);
    }

    #[test]
    fn a_study_may_be_narrowed_to_some_of_its_own_workloads() {
        let shipped = find("nosql-postgres").unwrap();
        let specs = at_scale(&shipped.study().unwrap(), shipped.specs().unwrap(), true);
        let narrowed = |names: &[&str]| {
            let named: Vec<_> =
                names.iter().map(|name| WorkloadSpec::Name((*name).to_owned())).collect();
            let told = |(name, spec): (&'static str, Spec)| {
                (name, spec.workloads.map_or(0, |workloads| workloads.len()))
            };
            with_workloads(&specs, &named)
                .map(|some| some.into_iter().map(told).collect::<Vec<_>>())
        };
        let both = Some(vec![("quick", 2), ("quick-durable", 1)]);
        assert_eq!(narrowed(&["A one of 10", "E one of 200"]), both);
        assert_eq!(narrowed(&["E one of 200"]), Some(vec![("quick", 1)]));
        assert_eq!(narrowed(&["E one of 200", "ycsb/a"]), None);
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
