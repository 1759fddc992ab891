//! `assay rerun`: repeats the trial of a record, from the plan that the record holds.

use std::process::ExitCode;

use anyhow::{Context, bail};
use assay_experiment::{Cell, Plan, Repeats, TargetPlan, system_name};
use assay_model::redact;
use assay_runner::run as runner;

use super::run::carry_out;
use crate::{args::RerunArguments, mistake::OrMistake};

/// Repeats a trial: the same cell, the same seed.
pub fn rerun(arguments: RerunArguments) -> anyhow::Result<ExitCode> {
    let plan = plan(&arguments).or_mistake()?;
    carry_out(&plan, &arguments.output)
}

fn plan(arguments: &RerunArguments) -> anyhow::Result<Plan> {
    let record = assay_results::read_trial(&arguments.record)?;
    let shown = arguments.record.display();
    let mut cell: Cell = serde_json::from_value(record.plan)
        .with_context(|| format!("the record {shown} holds no plan that this Assay can read"))?;
    cell.check().with_context(|| format!("the record {shown} cannot be repeated"))?;
    if let Some(why) = &cell.unsupported {
        bail!("the record {shown} is of a trial that {} cannot do: {why}", cell.system.label);
    }
    // The record's seed is that of its own round; a repeat begins with it.
    cell.seed = record.seed;
    if let TargetPlan::Attach { url, default_port, password } = &mut cell.system.target {
        match &arguments.url {
            Some(given) => {
                let endpoint =
                    system_name::endpoint(given, *default_port).map_err(anyhow::Error::msg)?;
                *url = redact(given);
                *password = endpoint.password;
            }
            None if url.contains(":***@") => {
                bail!("passwords are not stored: give the whole URL with --url (it was {url})")
            }
            None => {}
        }
    }
    let title = format!("Trial {} again", record.trial);
    let plan = Plan {
        title,
        question: None,
        cells: vec![cell],
        repeats: Repeats::Count(arguments.repeats.max(1)),
        data_folder: None,
        figures: Vec::new(),
        study: None,
        absent: Vec::new(),
    };
    runner::check_settings(&plan)?;
    Ok(plan)
}
