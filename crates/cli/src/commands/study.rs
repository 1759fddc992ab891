//! `assay study`: the experiments of a published work, its values beside ours.

use std::{io::Write, path::PathBuf, process::ExitCode, sync::atomic::Ordering};

use anyhow::Context;
use assay_experiment::{
    Plan, PlanError, Spec, TargetPlan,
    extent::show_duration,
    plan::Extras,
    spec::SystemSpec,
    study::{self, STUDIES, Shipped},
};
use assay_model::{Absent, AbsentReason, Durability};
use assay_provision::Folders;
use assay_report::{absence, escape};
use assay_results::Run;
use assay_runner::run as runner;

use super::{
    report,
    resolve::expand_all,
    run::{self, Ended},
    systems::Found,
};
use crate::{
    args::{Output, StudyArguments},
    mistake::{OrMistake, mistaken},
    speech::{out, say},
};

/// Lists the studies, or runs the one named.
pub fn study(arguments: StudyArguments) -> anyhow::Result<ExitCode> {
    let StudyArguments { name, quick, overrides, output } = arguments;
    let Some(name) = name else { return list() };
    let Some(shipped) = study::find(&name) else {
        let known: Vec<&str> = STUDIES.iter().map(|study| study.name).collect();
        mistaken!("there is no study '{name}': there are {}", known.join(" and "));
    };
    let plans = plans(shipped, &overrides.into_spec(), quick).or_mistake()?;
    if !output.quiet {
        foretell(&plans);
    }
    let interrupt = run::interruptible()?;
    let mut runs: Vec<PathBuf> = Vec::new();
    let mut status = Ended::Well;
    for plan in &plans {
        let carried = run::carry_out_until(plan, &output, run::command_line(), &interrupt)?;
        runs.push(carried.path);
        match carried.ended {
            Ended::Well => {}
            ended => status = ended,
        }
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
    }
    if runs.len() > 1 {
        report_of_all(shipped, &runs, &output)?;
    }
    Ok(status.code())
}

/// The studies and their experiments.
fn list() -> anyhow::Result<ExitCode> {
    let mut out = out();
    for shipped in STUDIES {
        let study = shipped.study()?;
        let experiments: Vec<&str> = shipped.experiments().collect();
        writeln!(out, "{:<15} {}", shipped.name, study.title)?;
        writeln!(out, "{:<15} {}", "", study.source)?;
        writeln!(out, "{:<15} experiments: {}", "", experiments.join(", "))?;
    }
    writeln!(out, "\n`assay study NAME` runs one, `assay study NAME --quick` at a small scale.")?;
    Ok(ExitCode::SUCCESS)
}

/// The plans of the study's experiments, without the systems that cannot run here.
fn plans(shipped: &Shipped, over: &Spec, quick: bool) -> anyhow::Result<Vec<Plan>> {
    let study = shipped.study()?;
    let folders = Folders::from_env();
    let mut plans = Vec::new();
    let mut over = over.clone();
    let mut specs = study::at_scale(&study, shipped.specs()?, quick);
    // Names of the study's own workloads narrow it, and replace nothing.
    let narrowed = over.workloads.as_ref().and_then(|named| study::with_workloads(&specs, named));
    if let Some(narrowed) = narrowed {
        specs = narrowed;
        over.workloads = None;
    }
    for (name, spec) in specs {
        let own: Vec<String> = spec.systems.iter().flatten().map(study::label).collect();
        let spec = match quick {
            true if study.quick_experiments.is_empty() => study::quick(spec, &study.quick_records),
            _ => spec,
        };
        let drawn = spec.figure.is_some();
        let mut spec = spec.overridden_by(over.clone());
        let left_out = drawn && spec.figure.is_none();
        let durability = spec.durability.unwrap_or_default();
        let systems = expand_all(spec.systems.take().unwrap_or_default());
        let (present, absent) = present(systems, &own, durability, &folders)?;
        if present.is_empty() {
            let why: Vec<String> = absent.iter().map(absence).collect();
            mistaken!("none of the study's systems can run here: {}", why.join("; "));
        }
        spec.systems = Some(present);
        let mut plan = Plan::resolve(spec, Extras::default())?;
        runner::check_settings(&plan)?;
        if quick {
            plan.title = format!("{} (quick: {})", plan.title, scale(&plan));
        }
        plan.study = Some(study::asked_of(&study, name));
        plan.absent = absent;
        if left_out {
            say!(
                "assay: {}: its figures are left out: the command line replaces what they go over",
                escape(&plan.title)
            );
        }
        plans.push(plan);
    }
    Ok(plans)
}

/// The sizes of a plan in words.
fn scale(plan: &Plan) -> String {
    let records = || plan.cells.iter().map(|cell| cell.records());
    match (records().min(), records().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} records"),
        (_, Some(most)) => format!("{most} records"),
        _ => "no records".to_owned(),
    }
}

/// The systems that can run here, and of the study's `own` those that cannot, with the reason. A
/// system that only the command line names is refused as any command refuses it.
fn present(
    systems: Vec<SystemSpec>,
    own: &[String],
    durability: Durability,
    folders: &Folders,
) -> Result<(Vec<SystemSpec>, Vec<Absent>), PlanError> {
    let (mut present, mut absent) = (Vec::new(), Vec::new());
    for spec in systems {
        let system = study::label(&spec);
        let why = match study::check_system(&spec, durability) {
            Ok(plan) => match (&plan.target, assay_systems::registry::find(&plan.driver)) {
                (TargetPlan::Attach { .. }, _) | (_, None) => None,
                (_, Some(driver)) => {
                    let found = Found::look(driver, folders);
                    let too_old = || {
                        let why = found.too_old_for(&plan.layout).filter(|_| own.contains(&system));
                        why.map(|why| (AbsentReason::Cannot, why))
                    };
                    let missing = found.missing();
                    missing.map(|why| (AbsentReason::NotHere, why.to_owned())).or_else(too_old)
                }
            },
            Err(error) if !own.contains(&system) => return Err(error),
            Err(PlanError::UnknownSystem { name, .. }) => {
                let why = format!(
                    "this build of Assay has no driver '{name}' (`assay systems` lists those it has)"
                );
                Some((AbsentReason::NotHere, why))
            }
            Err(error) => Some((AbsentReason::Cannot, error.to_string())),
        };
        match why {
            None => present.push(spec),
            Some((reason, why)) => absent.push(Absent { system, reason, why }),
        }
    }
    Ok((present, absent))
}

/// Says what will not run and how long the rest takes.
fn foretell(plans: &[Plan]) {
    let mut told: Vec<&Absent> = Vec::new();
    for absent in plans.iter().flat_map(|plan| &plan.absent) {
        if !told.contains(&absent) {
            say!("assay: {}", absence(absent));
            told.push(absent);
        }
    }
    for plan in plans {
        let round = std::time::Duration::from_secs(plan.round_estimate().as_secs().max(1));
        say!("assay: {}: about {} a round", escape(&plan.title), show_duration(round));
    }
}

/// The report of all experiments in one file, beside the runs' folders.
fn report_of_all(shipped: &Shipped, runs: &[PathBuf], output: &Output) -> anyhow::Result<()> {
    let runs = runs
        .iter()
        .map(|path| Run::open(path))
        .collect::<Result<Vec<Run>, _>>()
        .context("cannot read what was just written")?;
    let file = output.results.join(format!("study-{}.html", shipped.name));
    report::write(&runs, &file)?;
    if !output.quiet {
        say!("report of the study: {}", file.display());
    }
    Ok(())
}
