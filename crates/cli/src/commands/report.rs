//! `assay report`: one HTML file that shows runs.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use assay_report::page::{self, Report};
use assay_results::{Run, RunStatus, write_file};

use crate::args::ReportArguments;

/// The report of one run, in its folder.
const IN_A_RUN: &str = "report.html";
/// The report of several runs, in the working folder.
const OF_SEVERAL: &str = "assay-report.html";

/// Writes the report of runs.
pub fn report(arguments: ReportArguments) -> anyhow::Result<ExitCode> {
    let mut runs: Vec<Run> = Vec::new();
    for path in &arguments.runs {
        let run = Run::open(path)?;
        if runs.iter().any(|other| other.header.id == run.header.id) {
            bail!("{} was named before: name each run once", path.display());
        }
        if run.trials.is_empty() && run.header.failures.is_empty() {
            bail!("{} has no trial that ended: there is nothing to report yet", run.path.display());
        }
        runs.push(run);
    }
    for run in runs.iter().filter(|run| run.header.status != RunStatus::Finished) {
        let how = match run.header.status {
            RunStatus::Interrupted => "was interrupted",
            _ => "is not over, or ended without a chance to say so",
        };
        eprintln!("assay: {} {how}: the report has what there is", run.path.display());
    }
    if arguments.json {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", page::json(&Report::of(&runs)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = match (arguments.output, runs.as_slice()) {
        (Some(file), _) if file == Path::new("-") => {
            let html = page::render(&Report::of(&runs));
            std::io::stdout().lock().write_all(html.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        (Some(file), _) => file,
        (None, [run]) => place_in(run),
        (None, _) => PathBuf::from(OF_SEVERAL),
    };
    write(&runs, &file)?;
    println!("{}", file.display());
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
