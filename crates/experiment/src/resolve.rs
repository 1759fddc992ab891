//! From an experiment to its plan: the defaults applied, the sweeps expanded, everything checked.

use std::{path::PathBuf, time::Duration};

use assay_measure::pacing::Arrivals;
use assay_model::{Feature, OperationKind, Support};
use assay_workload::{CoreWorkload, LookupRange};

use crate::{
    extent::{Extent, Time},
    figure,
    plan::{Cell, Extras, Mode, Plan, PlanError, Repeats, SystemPlan, TargetPlan},
    resolve_cache::size_cache,
    resolve_system::{check_durability, resolve_systems},
    resolve_workload::{Group, resolve_workloads},
    spec::{
        AutoWord, FiguresSpec, OneOrMany, OperationsSpec, Placement, RepeatsSpec, Spec, SystemSpec,
        Transport,
    },
};

/// What runs if the experiment does not say.
mod default {
    use std::time::Duration;

    pub const RECORDS: u64 = 100_000;
    pub const CLIENTS: u32 = 2;
    pub const DURATION: Duration = Duration::from_millis(500);
    pub const COOLDOWN: Duration = Duration::from_millis(50);
    pub const WARMUP: Duration = Duration::from_millis(300);
    pub const PRECISION: f64 = 0.02;
    pub const BUDGET: Duration = Duration::from_secs(300);
    pub const TIMEOUT: Duration = Duration::from_secs(10);
    pub const SEED: u64 = 42;
    /// Many short repeats in turns tell more than a few long ones: what drifts on the machine
    /// falls on both of a pair. Ten pairs tell 5 % from noise (see `assay_measure::statistics`).
    pub const LEAST_REPEATS: u32 = 10;
    pub const MOST_REPEATS: u32 = 50;
}

impl Plan {
    /// Applies the defaults, expands the sweeps, checks capabilities.
    pub fn resolve(mut spec: Spec, extras: Extras) -> Result<Plan, PlanError> {
        let title = spec.title.clone().unwrap_or_else(|| "Experiment".into());
        let question = spec.question.clone();
        let repeats = resolve_repeats(&spec)?;
        let data_folder = spec.data_folder.clone().map(PathBuf::from);
        let figures = spec.figure.take().map(FiguresSpec::into_vec).unwrap_or_default();
        let groups = resolve_workloads(spec.workloads.take(), extras)?;
        let parts: Vec<_> = groups.iter().map(Group::part).collect();
        let cells = expand(spec, groups)?;
        let figures = figures
            .into_iter()
            .map(|spec| figure::resolve(spec, &cells, parts.clone()))
            .collect::<Result<_, _>>()?;
        let (study, absent) = (None, Vec::new());
        Ok(Plan { title, question, cells, repeats, data_folder, figures, study, absent })
    }
}

fn resolve_repeats(spec: &Spec) -> Result<Repeats, PlanError> {
    match spec.repeats.unwrap_or(RepeatsSpec::Auto(AutoWord::Auto)) {
        RepeatsSpec::Count(0) => Err(bad("repeats", "0 repeats measure nothing; use at least 1")),
        RepeatsSpec::Count(count) => Ok(Repeats::Count(count)),
        RepeatsSpec::Auto(_) => {
            let precision = spec.precision.unwrap_or(default::PRECISION);
            if !(precision > 0.0 && precision < 1.0) {
                return Err(bad("precision", "a relative half-width between 0 and 1, as in 0.02"));
            }
            let budget = spec.budget.unwrap_or(Time(default::BUDGET));
            Ok(Repeats::Auto {
                least: default::LEAST_REPEATS,
                most: default::MOST_REPEATS,
                precision,
                budget,
            })
        }
    }
}

fn expand(spec: Spec, groups: Vec<Group>) -> Result<Vec<Cell>, PlanError> {
    let systems = match spec.systems {
        None => vec![SystemSpec::Name("null".into()), SystemSpec::Name("slik".into())],
        Some(systems) => systems,
    };
    let mut systems = resolve_systems(systems)?;
    if let Some(cache) = spec.cache {
        systems.iter_mut().try_for_each(|system| size_cache(system, cache.0))?;
    }
    let workloads: Vec<_> = groups.into_iter().flat_map(|group| group.workloads).collect();
    let clients = spec.clients.unwrap_or(OneOrMany(vec![default::CLIENTS])).0;
    let records: Vec<Option<u64>> = match spec.records {
        None => vec![None],
        Some(many) => many.0.into_iter().map(Some).collect(),
    };
    let modes = resolve_modes(spec.rate, spec.arrivals)?;
    let measured = Measured::of(spec.operations, spec.duration)?;
    for (field, empty) in [
        ("systems", systems.is_empty()),
        ("workloads", workloads.is_empty()),
        ("clients", clients.is_empty()),
        ("records", records.is_empty()),
        ("rate", modes.is_empty()),
    ] {
        if empty {
            return Err(bad(field, "the list is empty"));
        }
    }
    let timeout = spec.timeout.unwrap_or(Time(default::TIMEOUT));
    if timeout.0.is_zero() {
        return Err(bad("timeout", "an operation takes some time, as in \"10s\""));
    }
    if clients.contains(&0) {
        return Err(bad("clients", "0 clients do nothing; use at least 1"));
    }
    if spec.threads == Some(0) {
        return Err(bad("threads", "0 threads do nothing; use at least 1"));
    }
    let durability = spec.durability.unwrap_or_default();
    for system in &systems {
        check_durability(system, durability)?;
    }

    let ram_disk = spec.ram_disk.unwrap_or(false);
    let attached = |system: &&SystemPlan| matches!(system.target, TargetPlan::Attach { .. });
    if let Some(system) = systems.iter().find(attached).filter(|_| ram_disk) {
        let why = format!(
            "{} runs already and keeps its data where it does: leave the URL out and Assay starts one",
            system.label
        );
        return Err(bad("ram_disk", why));
    }

    let mut cells = Vec::new();
    for (name, workload) in &workloads {
        for record_count in &records {
            let mut parameters = workload.clone();
            parameters.record_count = record_count
                .or((parameters.record_count > 0).then_some(parameters.record_count))
                .unwrap_or(if is_insert_only(&parameters) { 0 } else { default::RECORDS });
            if parameters.record_count == 0 && !is_insert_only(&parameters) {
                return Err(bad(
                    "records",
                    format!(
                        "workload '{name}' reads, and with 0 records there is nothing to read; use \
                         at least 1, or the insert-only workload ycsb/load"
                    ),
                ));
            }
            let measure = measured.extent(&mut parameters)?;
            let warmup = spec.warmup.unwrap_or(match measure {
                Extent::Operations(count) => Extent::Operations(count / 10),
                Extent::Time(_) => Extent::Time(default::WARMUP),
            });
            if let Some(table) = &spec.table {
                parameters.table.clone_from(table);
            }
            validate(name, &parameters)?;
            for &clients in &clients {
                for &mode in &modes {
                    for system in &systems {
                        let mut cell = Cell {
                            system: system.clone(),
                            workload: name.clone(),
                            parameters: parameters.clone(),
                            clients,
                            threads: spec.threads,
                            mode,
                            warmup,
                            measure,
                            cooldown: spec.cooldown.unwrap_or(Time(default::COOLDOWN)),
                            durability,
                            placement: spec.placement.unwrap_or(Placement::Split),
                            turns: spec.turns.unwrap_or_default(),
                            transport: spec.transport.unwrap_or(Transport::Tcp),
                            ram_disk,
                            cache: spec.cache,
                            timeout,
                            seed: spec.seed.unwrap_or(default::SEED),
                            verify: spec.verify.unwrap_or(false),
                            unsupported: None,
                        };
                        cell.unsupported = why_unsupported(&cell);
                        cells.push(cell);
                    }
                }
            }
        }
    }
    Ok(cells)
}

/// How long cells are measured.
enum Measured {
    /// All as long.
    Extent(Extent),
    /// Each for as many operations as it has records.
    AsRecords,
}

impl Measured {
    fn of(
        operations: Option<OperationsSpec>,
        duration: Option<Time>,
    ) -> Result<Measured, PlanError> {
        match (operations, duration) {
            (Some(_), Some(_)) => Err(bad("operations", "give operations or duration, not both")),
            (Some(OperationsSpec::Count(0)), None) => {
                Err(bad("operations", "0 operations measure nothing"))
            }
            (Some(OperationsSpec::Count(count)), None) => {
                Ok(Measured::Extent(Extent::Operations(count)))
            }
            (Some(OperationsSpec::AsRecords(_)), None) => Ok(Measured::AsRecords),
            (None, Some(Time(Duration::ZERO))) => {
                Err(bad("duration", "a measurement takes some time, as in \"2s\""))
            }
            (None, time) => {
                Ok(Measured::Extent(Extent::Time(time.map_or(default::DURATION, |time| time.0))))
            }
        }
    }

    /// How long a cell with these parameters is measured. A workload that only inserts begins with
    /// an empty table where its operations are its records: then there are as many of these in the
    /// end as other workloads have from the start.
    fn extent(&self, parameters: &mut CoreWorkload) -> Result<Extent, PlanError> {
        match self {
            Measured::Extent(extent) => Ok(*extent),
            Measured::AsRecords => {
                let count = parameters.record_count;
                if count == 0 {
                    return Err(bad(
                        "operations",
                        "as many as there are records, and there are none: give records, as in \
                         records = 1000",
                    ));
                }
                parameters.operation_count = count;
                if is_insert_only(parameters) {
                    parameters.record_count = 0;
                }
                Ok(Extent::Operations(count))
            }
        }
    }
}

fn is_insert_only(workload: &CoreWorkload) -> bool {
    workload.operation_kinds() == [OperationKind::Insert]
}

fn why_unsupported(cell: &Cell) -> Option<String> {
    let capabilities = cell.capabilities();
    for kind in cell.parameters.operation_kinds() {
        if let Support::Unsupported(why) = capabilities.support(Feature::Operation(kind)) {
            return Some(format!("{}: {why}", kind.name()));
        }
    }
    if cell.parameters.operation_kinds().contains(&OperationKind::Lookup)
        && cell.parameters.lookup_range != LookupRange::Point
        && let Support::Unsupported(why) = capabilities.support(Feature::LookupRanges)
    {
        return Some(format!("lookups of a range: {why}"));
    }
    if cell.parameters.index_count > 0
        && let Support::Unsupported(why) = capabilities.support(Feature::Indexes)
    {
        return Some(format!("secondary indexes: {why}"));
    }
    let longest = cell.parameters.greatest_value() as u64 * u64::from(cell.parameters.field_count);
    match capabilities.max_value_bytes {
        Some(limit) if longest > limit => {
            Some(format!("records of up to {longest} bytes: the limit is {limit}"))
        }
        _ => None,
    }
}

fn resolve_modes(
    rates: Option<OneOrMany<f64>>,
    arrivals: Option<Arrivals>,
) -> Result<Vec<Mode>, PlanError> {
    let Some(rates) = rates else {
        return match arrivals {
            None => Ok(vec![Mode::Closed]),
            Some(_) => Err(bad("arrivals", "only an open loop has arrivals: give a rate too")),
        };
    };
    let arrivals = arrivals.unwrap_or(Arrivals::Uniform);
    rates
        .0
        .into_iter()
        .map(|rate_per_s| {
            if rate_per_s.is_finite() && rate_per_s > 0.0 {
                Ok(Mode::Open { rate_per_s, arrivals })
            } else {
                Err(bad("rate", "operations a second, greater than 0"))
            }
        })
        .collect()
}

pub(crate) fn validate(name: &str, parameters: &CoreWorkload) -> Result<(), PlanError> {
    parameters
        .validate()
        .map_err(|why| PlanError::BadWorkload { workload: name.to_owned(), why: why.to_string() })
}

fn bad(field: &'static str, why: impl Into<String>) -> PlanError {
    PlanError::BadValue { field, why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    #[test]
    fn sweeps_expand_with_the_systems_innermost_and_rotate_by_round() {
        let plan = plan(
            r#"
            systems = ["null", "memory"]
            workloads = ["ycsb/a", "ycsb/c"]
            clients = [1, 2]
            "#,
        )
        .unwrap();
        assert_eq!(plan.cells.len(), 8);
        assert_eq!(plan.round(0), [[0, 1], [2, 3], [4, 5], [6, 7]]);
        assert_eq!(plan.round(1), [[1, 0], [3, 2], [5, 4], [7, 6]]);
    }

    #[test]
    fn what_rests_between_calls_takes_turns_and_the_rest_runs_alone() {
        let rounds = |more: &str| {
            let systems = r#"systems = ["memory@a", "sqlite", "redis", "postgres", "memory@b"]"#;
            plan(&format!("{systems}\nworkloads = [\"ycsb/a\"]\n{more}")).unwrap().round(1)
        };
        let alone = [[4], [3], [2], [1], [0]];
        assert_eq!(rounds(""), [vec![4, 2, 0], vec![3], vec![1]]);
        assert_eq!(rounds("durability = \"none\""), rounds(""));
        assert_eq!(rounds("turns = \"never\""), alone);
        assert_eq!(rounds("operations = 100"), alone);
        assert_eq!(rounds("rate = 10.0"), alone);
        // Two of them have less than 2 GiB and 256 clients together, three have not.
        let two = [vec![4, 2], vec![3], vec![1], vec![0]];
        assert_eq!(rounds("records = 700_000"), two);
        assert_eq!(rounds("clients = 100"), two);
    }

    #[test]
    fn bad_values_name_the_field_and_the_next_step() {
        for (toml, named) in [
            ("records = 0", "records"),
            ("clients = 0", "clients"),
            ("clients = []", "clients"),
            ("repeats = 0", "repeats"),
            ("operations = 0", "operations"),
            ("operations = \"all\"", "records"),
            ("operations = \"records\"\nworkloads = [\"ycsb/load\"]", "give records"),
            ("duration = \"0s\"", "2s"),
            ("timeout = \"0s\"", "timeout: an operation takes some time, as in \"10s\""),
            ("operations = 5\nduration = \"1s\"", "operations"),
            ("rate = -1.0", "rate"),
            ("arrivals = \"poisson\"", "rate"),
            ("systems = [\"memry\"]", "memory"),
            ("systems = [\"memory:tree\"]", "layout"),
            ("systems = [\"memory=redis://x\"]", "URL"),
            ("systems = [\"memory+speed=1\"]", "speed"),
            ("systems = [\"memory\", \"memory\"]", "memory@a"),
            ("workloads = [\"ycsb/z\"]", "ycsb/a"),
            ("systems = [\"memory\"]\ndurability = \"synced\"", "none"),
            ("workloads = [{ name = \"w\", with = { field_cuont = 3 } }]", "`field_count`?"),
            ("systems = [\"redis=redis://u:1\", \"2hunter@h\"]", "%2C"),
            ("cache = \"1GB\"", "512MiB"),
            ("systems = [\"redis=redis://h\"]\nram_disk = true", "leave the URL out"),
        ] {
            let error = plan(toml).unwrap_err();
            assert!(error.contains(named), "{toml}: {error}");
            assert!(!error.contains("hunter"), "{toml}: {error}");
        }
    }

    #[test]
    fn the_estimate_of_a_vast_plan_does_not_overflow() {
        for toml in [
            "records = 1_000_000_000_000_000_000\nsystems = [\"memory\"]",
            "operations = 9_000_000_000_000_000_000\nsystems = [\"memory\"]",
            "duration = \"2500000000000000h\"\nwarmup = \"2500000000000000h\"\nclients = [1, 2, 3]",
        ] {
            let estimate = plan(toml).unwrap().round_estimate();
            assert!(estimate > Duration::from_secs(1_000_000_000), "{toml}: {estimate:?}");
        }
    }

    #[test]
    fn as_many_operations_as_records_and_inserts_begin_with_none() {
        let plan = plan(
            r#"
            systems = ["null", "memory"]
            workloads = ["ycsb/a", "ycsb/load"]
            records = [10, 1_000]
            operations = "records"
            [[figure]]
            x = "records"
            y = "throughput"
            [[figure]]
            title = "Inserts"
            workloads = ["ycsb/load"]
            x = "records"
            y = "mean"
            "#,
        )
        .unwrap();
        let told: Vec<(&str, u64, Extent, u64)> = plan
            .cells
            .iter()
            .step_by(2)
            .map(|cell| {
                (&*cell.workload, cell.parameters.record_count, cell.measure, cell.records())
            })
            .collect();
        let many = Extent::Operations;
        assert_eq!(
            told,
            [
                ("ycsb/a", 10, many(10), 10),
                ("ycsb/a", 1000, many(1000), 1000),
                ("ycsb/load", 0, many(10), 10),
                ("ycsb/load", 0, many(1000), 1000),
            ]
        );
        assert_eq!(plan.round(1), [[1], [0], [3], [2], [5], [4], [7], [6]], "loads stay apart");
        let [all, inserts] = plan.figures.as_slice() else { panic!("two: {:?}", plan.figures) };
        assert_eq!((all.parts.len(), inserts.parts.len()), (2, 1));
        assert_eq!(inserts.operation, Some(OperationKind::Insert));
        assert!(all.only.is_empty() && inserts.only.contains("ycsb/load"));
    }

    #[test]
    fn a_workload_table_changes_its_base() {
        let plan = plan(
            "workloads = [{ name = \"wide\", base = \"ycsb/f\", with = { field_count = 200 } }]",
        )
        .unwrap();
        let cell = &plan.cells[0];
        assert_eq!((cell.workload.as_str(), cell.parameters.field_count), ("wide", 200));
        assert!(cell.parameters.operation_kinds().contains(&OperationKind::ReadModifyWrite));
    }

    #[test]
    fn lookups_of_a_range_are_refused_where_there_are_those_of_one_value_only() {
        for (range, refused) in [("point", [false, false]), ("from", [true, false])] {
            let plan = plan(&format!(
                "systems = [\"aerospike\", \"sqlite\"]\n\
                 [[workloads]]\n\
                 name = \"lookup\"\n\
                 [workloads.with]\n\
                 index_count = 1\n\
                 read_proportion = 0.0\n\
                 lookup_proportion = 1.0\n\
                 lookup_range = \"{range}\"\n"
            ))
            .unwrap();
            let why: Vec<_> = plan.cells.iter().map(|cell| cell.unsupported.as_deref()).collect();
            assert_eq!(why.iter().map(Option::is_some).collect::<Vec<_>>(), refused, "{why:?}");
            let told =
                |why: &str| why.starts_with("lookups of a range: ") && why.contains("hashes");
            assert!(why[0].is_none_or(told), "{why:?}");
        }
    }
}
