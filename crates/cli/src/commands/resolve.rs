//! From the command line to a plan: the experiment, what overrides it, YCSB's property files.

use std::{fs, path::Path};

use anyhow::{Context, bail};
use assay_experiment::{
    Plan, Spec, builtin,
    extent::Time,
    plan::Extras,
    spec::{OneOrMany, OperationsSpec, SystemSpec, WorkloadSpec},
};
use assay_provision::Folders;
use assay_runner::run as runner;
use assay_systems::registry::DRIVERS;
use assay_workload::{
    CoreWorkload,
    properties::{Properties as Given, YcsbRun},
};

use super::systems::Found;
use crate::{
    args::{Overrides, Properties},
    mistake::OrMistake,
};

/// The plan of `assay run` and `assay plan`, and what the user should know of how it was read.
pub fn plan(
    experiment: Option<String>,
    overrides: Overrides,
    properties: Properties,
) -> anyhow::Result<(Plan, Vec<String>)> {
    resolve(experiment, overrides, properties).or_mistake()
}

fn resolve(
    experiment: Option<String>,
    mut overrides: Overrides,
    properties: Properties,
) -> anyhow::Result<(Plan, Vec<String>)> {
    let mut spec = experiment_spec(experiment.as_deref(), &overrides, &properties)?;
    let drawn = spec.figure.is_some();
    let mut extras = Extras::default();
    let mut notes = Vec::new();
    if !properties.files.is_empty() || !properties.given.is_empty() {
        let (name, mut parsed) = read_properties(&properties, overrides.records.as_deref())?;
        if parsed.client.transactions == Some(false) {
            parsed.workload = load_phase(parsed.workload);
            overrides.records = None;
        }
        notes.extend(parsed.without_effect.iter().map(ToString::to_string));
        spec = spec.overridden_by(properties_spec(&parsed));
        extras.workloads.push((name, parsed.workload));
    }
    spec = spec.overridden_by(overrides.into_spec());
    if !extras.workloads.is_empty() {
        spec.figure = None;
    }
    if drawn && spec.figure.is_none() {
        notes.push(
            "the experiment's figure is left out: the command line replaces what it goes over"
                .to_owned(),
        );
    }
    spec.systems = spec.systems.map(expand_all);
    let plan = Plan::resolve(spec, extras)?;
    runner::check_settings(&plan)?;
    Ok((plan, notes))
}

fn experiment_spec(
    experiment: Option<&str>,
    overrides: &Overrides,
    properties: &Properties,
) -> anyhow::Result<Spec> {
    let default = Spec::parse(builtin::DEFAULT, "the default experiment")?;
    let Some(name) = experiment else {
        // A choice of systems or workloads is a new question, with measurements of full length.
        let own = overrides.systems.is_some()
            || overrides.workloads.is_some()
            || !properties.files.is_empty()
            || !properties.given.is_empty();
        return Ok(match own {
            true => Spec { systems: default.systems, ..Spec::default() },
            false => default,
        });
    };
    if builtin::workload(name).is_some() {
        return Ok(Spec {
            title: Some(name.to_owned()),
            systems: default.systems,
            workloads: Some(vec![WorkloadSpec::Name(name.to_owned())]),
            ..Spec::default()
        });
    }
    let path = Path::new(name);
    if !path.exists() && path.extension().is_none() {
        bail!(
            "'{name}' is neither an experiment file nor a workload: did you mean '{}'?",
            builtin::nearest_workload(name)
        );
    }
    Ok(Spec::read(path)?)
}

/// `all` stands for every system that can be run here, each in its default layout.
pub fn expand_all(systems: Vec<SystemSpec>) -> Vec<SystemSpec> {
    let folders = Folders::from_env();
    systems
        .into_iter()
        .flat_map(|system| match system {
            SystemSpec::Name(name) if name == "all" => DRIVERS
                .iter()
                .map(|driver| Found::look(driver, &folders))
                .filter(Found::is_ready)
                .map(|found| SystemSpec::Name(found.driver.name.to_owned()))
                .collect(),
            system => vec![system],
        })
        .collect()
}

/// Reads the properties. `records` is what the command line says in place of the record count,
/// without which the properties may make no workload.
fn read_properties(
    properties: &Properties,
    records: Option<&[u64]>,
) -> anyhow::Result<(String, YcsbRun)> {
    let read = |path: &Path| {
        fs::read_to_string(path)
            .with_context(|| format!("cannot read the YCSB properties {}", path.display()))
    };
    let mut name = "ycsb".to_owned();
    let mut given = Given::new();
    for path in &properties.files {
        given.add_file(&path.display().to_string(), &read(path)?)?;
        if let Some(file) = path.file_name() {
            name = file.to_string_lossy().into_owned();
        }
    }
    for assignment in &properties.given {
        given.add_override(assignment)?;
    }
    if let Some(records) = records.and_then(<[u64]>::first) {
        given.add_override(&format!("recordcount={records}"))?;
    }
    let histogram = given.histogram_file().map(|file| read(Path::new(&file))).transpose()?;
    Ok((name, given.resolve(histogram.as_deref())?))
}

/// `dotransactions=false` is YCSB's load phase: what it would load is inserted into an empty table,
/// and that is measured.
fn load_phase(workload: CoreWorkload) -> CoreWorkload {
    let keys = workload.loaded_keys();
    CoreWorkload {
        record_count: keys.start,
        insert_count: None,
        operation_count: keys.end - keys.start,
        read_proportion: 0.0,
        update_proportion: 0.0,
        insert_proportion: 1.0,
        scan_proportion: 0.0,
        lookup_proportion: 0.0,
        read_modify_write_proportion: 0.0,
        ..workload
    }
}

/// What YCSB's client takes from the properties, as an experiment.
fn properties_spec(run: &YcsbRun) -> Spec {
    let client = &run.client;
    let operations = Some(run.workload.operation_count).filter(|count| *count > 0);
    let rate = client.target_ops_per_second.map(|rate| OneOrMany(vec![rate as f64]));
    Spec {
        clients: client.threads.map(|threads| OneOrMany(vec![threads])),
        rate,
        operations: operations.map(OperationsSpec::Count),
        duration: client.max_execution_time.filter(|_| operations.is_none()).map(Time),
        ..Spec::default()
    }
}
