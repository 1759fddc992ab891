//! `assay show`: the table of a run, again.

use std::process::ExitCode;

use assay_results::Run;

use super::run;
use crate::args::{Format, ShowArguments};

/// Shows a run.
pub fn show(arguments: ShowArguments) -> anyhow::Result<ExitCode> {
    let run = Run::open(&arguments.run)?;
    run::show(&run, if arguments.json { Format::Json } else { Format::Table })?;
    Ok(ExitCode::SUCCESS)
}
