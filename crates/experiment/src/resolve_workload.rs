//! From a workload's name or table to its parameters, and from a sweep to a workload each step.

use std::collections::BTreeMap;

use assay_model::Part;
use assay_workload::CoreWorkload;

use crate::{
    builtin,
    plan::{Extras, PlanError},
    spec::{WorkloadSpec, WorkloadTable},
    unknown_field::with_nearest,
};

/// The workloads of one entry of an experiment: several if it sweeps.
pub(crate) struct Group {
    /// What the entry calls itself.
    name: String,
    /// The workloads by their own names.
    pub workloads: Vec<(String, CoreWorkload)>,
}

impl Group {
    fn of_one(name: String, workload: CoreWorkload) -> Group {
        Group { workloads: vec![(name.clone(), workload)], name }
    }

    /// As what a figure draws together.
    pub(crate) fn part(&self) -> Part {
        let workloads = self.workloads.iter().map(|(name, _)| name.clone()).collect();
        Part { name: self.name.clone(), workloads }
    }
}

/// The workloads of an experiment, in order.
pub(crate) fn resolve_workloads(
    specs: Option<Vec<WorkloadSpec>>,
    extras: Extras,
) -> Result<Vec<Group>, PlanError> {
    if !extras.workloads.is_empty() {
        let given = extras.workloads.into_iter();
        return Ok(given.map(|(name, workload)| Group::of_one(name, workload)).collect());
    }
    let specs = specs.unwrap_or_else(|| vec![WorkloadSpec::Name("ycsb/a".into())]);
    specs.into_iter().map(resolve_workload).collect()
}

fn resolve_workload(spec: WorkloadSpec) -> Result<Group, PlanError> {
    match spec {
        WorkloadSpec::Name(name) => {
            find_workload(&name).map(|workload| Group::of_one(name, workload))
        }
        WorkloadSpec::Table(table) => {
            let base = find_workload(table.base.as_deref().unwrap_or("ycsb/c"))?;
            let bad = |why: String| PlanError::BadWorkload { workload: table.name.clone(), why };
            let mut common = toml::Table::try_from(base).map_err(|error| bad(error.to_string()))?;
            common.extend(table.with.clone());
            let mut workloads = Vec::new();
            for step in steps(&table).map_err(bad)? {
                let mut parameters = common.clone();
                parameters
                    .extend(step.values.into_iter().map(|(name, v)| (name.clone(), v.clone())));
                let workload = parameters.try_into().map_err(|error: toml::de::Error| {
                    bad(with_nearest(error.to_string().trim_end()))
                })?;
                workloads.push((step.name, workload));
            }
            Ok(Group { name: table.name, workloads })
        }
    }
}

/// One step of a sweep.
struct Step<'a> {
    /// What the workload is called there.
    name: String,
    /// The parameters that differ from step to step.
    values: BTreeMap<&'a String, &'a toml::Value>,
}

/// The steps of a table's sweep; without one a single step that changes nothing.
fn steps(table: &WorkloadTable) -> Result<Vec<Step<'_>>, String> {
    let Some((first, longest)) = table.sweep.iter().max_by_key(|(_, values)| values.len()) else {
        return Ok(vec![Step { name: table.name.clone(), values: BTreeMap::new() }]);
    };
    if longest.is_empty() {
        return Err(format!("sweep: the list of {first} is empty"));
    }
    for (name, values) in &table.sweep {
        if table.with.contains_key(name) {
            return Err(format!("{name} stands in both with and sweep: leave one out"));
        }
        if values.len() != longest.len() {
            let (one, other) = (values.len(), longest.len());
            return Err(format!(
                "sweep: all lists go in step, and {name} has a length of {one}, {first} of {other}"
            ));
        }
    }
    let step = |index: usize| {
        let values: BTreeMap<_, _> =
            table.sweep.iter().map(|(name, values)| (name, &values[index])).collect();
        let told: Vec<String> =
            values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Step { name: format!("{} {}", table.name, told.join(" ")), values }
    };
    Ok((0..longest.len()).map(step).collect())
}

fn find_workload(name: &str) -> Result<CoreWorkload, PlanError> {
    builtin::workload(name).ok_or_else(|| PlanError::UnknownWorkload {
        name: name.to_owned(),
        nearest: builtin::nearest_workload(name),
        known: builtin::WORKLOADS.join(", "),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::plan;

    #[test]
    fn a_sweep_is_a_workload_each_step_with_a_name_that_tells() {
        let plan = plan(
            r#"
            systems = ["slik", "null"]
            records = 10
            [[workloads]]
            name = "wide"
            with = { read_all_fields = false }
            sweep = { field_count = [1, 5], index_count = [0, 2] }
            "#,
        )
        .unwrap();
        let told: Vec<(&str, u32, u32)> = plan
            .cells
            .iter()
            .map(|cell| {
                let workload = &cell.parameters;
                assert!(!workload.read_all_fields);
                (cell.workload.as_str(), workload.field_count, workload.index_count)
            })
            .collect();
        let (one, five) = ("wide field_count=1 index_count=0", "wide field_count=5 index_count=2");
        assert_eq!(told, [(one, 1, 0), (one, 1, 0), (five, 5, 2), (five, 5, 2)]);
        assert_eq!(plan.round(1), [[1, 0], [3, 2]], "each step is a load of its own");
    }

    #[test]
    fn a_sweep_that_makes_no_steps_is_refused() {
        for (sweep, named) in [
            (
                "{ field_count = [1, 2], index_count = [0] }",
                "index_count has a length of 1, field_count of 2",
            ),
            ("{ field_count = [] }", "field_count is empty"),
            ("{ zero_padding = [1, 2] }", "both with and sweep"),
            ("{ field_cuont = [1, 2] }", "field_cuont"),
            ("{ field_count = [1, 0] }", "field_count"),
            ("{ field_count = 1 }", "sequence"),
        ] {
            let toml = format!(
                "systems = [\"memory\"]\n[[workloads]]\nname = \"w\"\nwith = {{ zero_padding = 9 }}\n\
                 sweep = {sweep}"
            );
            let error = plan(&toml).unwrap_err();
            assert!(error.contains(named), "{sweep}: {error}");
        }
    }
}
