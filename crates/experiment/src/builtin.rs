//! The experiments and workloads in the binary.

use assay_workload::CoreWorkload;

/// What `assay run` runs without an argument.
pub const DEFAULT: &str = include_str!("../../../studies/ycsb/default.toml");

/// The names of the workloads in the binary.
pub const WORKLOADS: [&str; 7] =
    ["ycsb/a", "ycsb/b", "ycsb/c", "ycsb/d", "ycsb/e", "ycsb/f", "ycsb/load"];

/// The workload called `name`. How many records it has is the experiment's to say: YCSB's files
/// say 1,000, which fits in any cache.
pub fn workload(name: &str) -> Option<CoreWorkload> {
    let preset = CoreWorkload::preset(name.strip_prefix("ycsb/")?)?;
    Some(CoreWorkload { record_count: 0, operation_count: 0, ..preset })
}

/// The name of a workload nearest to `name`, for a message.
pub fn nearest_workload(name: &str) -> &'static str {
    WORKLOADS
        .into_iter()
        .min_by_key(|known| strsim::levenshtein(known, name))
        .expect("there are workloads")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_workload_exists_and_is_valid() {
        for name in WORKLOADS {
            let mut workload = workload(name).unwrap_or_else(|| panic!("{name}"));
            workload.record_count = 1000;
            workload.validate().unwrap();
        }
        assert!(workload("ycsb/g").is_none() && workload("a").is_none());
        assert_eq!(nearest_workload("ycbs/a"), "ycsb/a");
    }

    #[test]
    fn every_shipped_experiment_can_be_planned() {
        let studies = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
        let (mut seen, mut drawn) = (0, 0);
        for study in std::fs::read_dir(studies).unwrap() {
            for file in std::fs::read_dir(study.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                if path.file_name().is_some_and(|name| name == "study.toml") {
                    continue;
                }
                let mut spec = crate::Spec::read(&path).unwrap();
                // A study names systems that this build may have no driver of.
                let known = |system: &crate::spec::SystemSpec| {
                    crate::study::check_system(system, Default::default()).is_ok()
                };
                spec.systems.iter_mut().for_each(|systems| systems.retain(known));
                let plan = crate::Plan::resolve(spec, Default::default())
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                drawn += plan.figures.len();
                seen += 1;
            }
        }
        assert!(seen >= 8 && drawn >= 5, "{seen} experiments with {drawn} figures");
    }

    #[test]
    fn the_default_experiment_can_be_planned() {
        let spec = crate::Spec::parse(DEFAULT, "default").unwrap();
        let plan = crate::Plan::resolve(spec, Default::default()).unwrap();
        assert_eq!(plan.cells.len(), 16);
        assert!(plan.cells.iter().all(|cell| cell.unsupported.is_none()));
    }
}
