//! `assay report`: one HTML file that shows runs.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use assay_report::page::{self, Report};
use assay_results::{Run, write_file};

use super::unfinished;
use crate::{
    args::ReportArguments,
    mistake::{OrMistake, mistaken},
    speech::out,
};

/// The report of one run, in its folder.
const IN_A_RUN: &str = "report.html";
/// The report of several runs, in the working folder.
const OF_SEVERAL: &str = "assay-report.html";

/// Writes the report of runs.
pub fn report(arguments: ReportArguments) -> anyhow::Result<ExitCode> {
    let mut runs: Vec<Run> = Vec::new();
    for path in &arguments.runs {
        let run = Run::open(path).or_mistake()?;
        if runs.iter().any(|other| other.header.id == run.header.id) {
            mistaken!("{} was named before: name each run once", path.display());
        }
        if run.trials.is_empty() && run.header.failures.is_empty() {
            mistaken!(
                "{} has no trial that ended: there is nothing to report yet",
                run.path.display()
            );
        }
        runs.push(run);
    }
    runs.iter().for_each(unfinished::say_of);
    if arguments.json {
        writeln!(out(), "{}", page::json(&Report::of(&runs)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = match (arguments.output, runs.as_slice()) {
        (Some(file), _) if file == Path::new("-") => {
            let html = page::render(&Report::of(&runs));
            let mut out = out();
            out.write_all(html.as_bytes())?;
            out.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
        (Some(file), _) => file,
        (None, [run]) => place_in(run),
        (None, _) => PathBuf::from(OF_SEVERAL),
    };
    write(&runs, &file)?;
    writeln!(out(), "{}", file.display())?;
    Ok(ExitCode::SUCCESS)
}

/// Where the report of a run stands if nothing else is said.
pub fn place_in(run: &Run) -> PathBuf {
    run.path.join(IN_A_RUN)
}

/// Writes the report of runs to a file, whole or not at all.
pub fn write(runs: &[Run], file: &Path) -> anyhow::Result<()> {
    let html = page::render(&Report::of(runs));
    if let Err(error) = write_file(file, html.as_bytes()) {
        bail!(
            "cannot write the report {}: {error}; name another file with 'assay report --output'",
            file.display()
        );
    }
    Ok(())
}
