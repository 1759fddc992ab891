//! `assay show`: the tables of a run, or its figure, again.

use std::process::ExitCode;

use assay_results::Run;

use super::{
    run::{self, Tables},
    unfinished,
};
use crate::{
    args::{Format, ShowArguments},
    mistake::OrMistake,
};

/// Shows a run.
pub fn show(arguments: ShowArguments) -> anyhow::Result<ExitCode> {
    let run = Run::open(&arguments.run).or_mistake()?;
    if run.trials.is_empty() {
        // No figure has it as its caveat.
        unfinished::say_of(&run);
    }
    let format = if arguments.json { Format::Json } else { Format::Table };
    run::show(&run, format, if arguments.tables { Tables::Always } else { Tables::IfNoFigure })?;
    Ok(ExitCode::SUCCESS)
}
