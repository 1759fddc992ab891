//! `assay run`: plans, walks the trials, shows the table.

use std::{
    io::Write,
    path::PathBuf,
    process::ExitCode,
    slice,
    sync::{Arc, atomic::AtomicBool},
    thread,
};

use anyhow::Context;
use assay_experiment::Plan;
use assay_provision::{Folders, Warden};
use assay_report::escape;
use assay_results::{Cell, Run, RunFolder, RunHeader, export, json_line};
use assay_runner::{deploy::Ground, run as runner};

use super::{data_folder, resolve, unfinished};
use crate::{
    args::{Format, Output, RunArguments},
    mistake::mistaken,
    progress::Progress,
    speech::{out, say, told},
};

/// The exit status of an interrupted run, as shells have it for SIGINT.
const INTERRUPTED: u8 = 130;

/// Runs an experiment.
pub fn run(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    let RunArguments { experiment, overrides, properties, output } = arguments;
    let (plan, notes) = resolve::plan(experiment, overrides, properties)?;
    if !output.quiet {
        notes.iter().for_each(|note| say!("assay: {note}"));
    }
    carry_out(&plan, &output)
}

/// Carries a plan out and shows its results.
pub fn carry_out(plan: &Plan, output: &Output) -> anyhow::Result<ExitCode> {
    let interrupt = interruptible()?;
    let carried = carry_out_until(plan, output, command_line(), &interrupt)?;
    Ok(carried.ended.code())
}

/// The words by which this process was started.
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
}

/// A run that was carried out.
pub struct Carried {
    /// Its folder.
    pub path: PathBuf,
    /// How it ended.
    pub ended: Ended,
}

/// How a run ended.
pub enum Ended {
    /// Every trial went well.
    Well,
    /// A trial failed, or an answer was wrong.
    Badly,
    /// The user stopped it.
    Interrupted,
}

impl Ended {
    /// The exit status that says so.
    pub fn code(&self) -> ExitCode {
        match self {
            Ended::Well => ExitCode::SUCCESS,
            Ended::Badly => ExitCode::FAILURE,
            Ended::Interrupted => ExitCode::from(INTERRUPTED),
        }
    }
}

/// Carries a plan out until `interrupt` is set, and shows its results. `command_line` is what the
/// record says of how to do the same.
pub fn carry_out_until(
    plan: &Plan,
    output: &Output,
    command_line: Vec<String>,
    interrupt: &AtomicBool,
) -> anyhow::Result<Carried> {
    check_something_can_run(plan)?;
    let (data_folder, why) = data_folder::choose(plan)?;
    if let Some(why) = why.filter(|_| !output.quiet) {
        say!("assay: {why}");
    }
    let plan = &Plan { data_folder, ..plan.clone() };
    let ground = ground(plan);
    runner::check_servers(plan, &ground)?;
    let mut header = RunHeader::starting(command_line, serde_json::to_value(plan)?);
    header.git_revision = option_env!("ASSAY_GIT_REVISION").map(str::to_owned);
    let mut folder = RunFolder::create(&output.results, header)?;
    let path = folder.path().to_owned();

    let progress = Progress::new(output.quiet);
    let report = runner::run(plan, &ground, &mut folder, interrupt, &progress);
    progress.finish();
    // Nothing is written any more, also where the run ended for an error: its readers see that.
    drop(folder);

    let run = Run::open(&path)?;
    // What cannot be printed stands in the report all the same.
    let shown = show(&run, output.format(), Tables::IfNoFigure);
    let page = leave_report(&run);
    if !output.quiet {
        say!("records: {}", path.display());
        page.iter().for_each(|page| say!("report: {}", page.display()));
    }
    let report = report?;
    for (cell, error) in &report.failures {
        // Whoever saw the progress has seen why.
        match output.quiet {
            true => say!("assay: {cell}: {error}"),
            false => say!("assay: failed, as said above: {}", escape(cell)),
        }
    }
    for disagreement in &report.disagreements {
        say!("assay: wrong answers: {disagreement}");
    }
    if report.interrupted {
        let (kept, are) = (run.trials.len(), if run.trials.len() == 1 { " is" } else { "s are" });
        say!("assay: interrupted; {kept} trial{are} kept");
        return Ok(Carried { path, ended: Ended::Interrupted });
    }
    shown?;
    let ended = match report.failures.is_empty() && report.disagreements.is_empty() {
        true => Ended::Well,
        false => Ended::Badly,
    };
    Ok(Carried { path, ended })
}

/// Leaves the report of a run in which anything happened in its folder. A run without its report is
/// whole: why there is none is said, and no failure.
fn leave_report(run: &Run) -> Option<PathBuf> {
    if run.trials.is_empty() && run.header.failures.is_empty() {
        return None;
    }
    let page = super::report::place_in(run);
    let written = super::report::write(slice::from_ref(run), &page);
    written.inspect_err(|error| say!("assay: {}", told(error))).ok().map(|()| page)
}

/// Whether a run that draws a figure shows its tables, too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// The figure stands for them.
    IfNoFigure,
    /// They come first.
    Always,
}

/// Prints a run in the format asked for.
pub fn show(run: &Run, format: Format, tables: Tables) -> anyhow::Result<()> {
    let mut out = out();
    match format {
        Format::Ycsb => export::export(run, export::Format::Ycsb, &mut out)?,
        Format::Json => {
            for cell in cells_of(run) {
                writeln!(out, "{}", json_line(&cell))?;
            }
        }
        Format::Table => {
            let cells = cells_of(run);
            let (width, color) = (assay_report::terminal_width(), assay_report::color_wanted());
            let figures = run.figures()?;
            let with_tables = figures.is_empty() || tables == Tables::Always;
            if with_tables {
                write!(out, "{}", assay_report::render(&cells, width, color))?;
            }
            let title = run.header.plan["title"].as_str().unwrap_or_default();
            if with_tables && !figures.is_empty() {
                writeln!(out)?;
            }
            let drawn = assay_report::render_figures(title, &figures, &cells, width, color);
            write!(out, "{drawn}")?;
            let beside = assay_report::render_study(run, &cells, width, color)?;
            if !beside.is_empty() {
                write!(out, "\n{beside}")?;
            }
        }
    }
    Ok(())
}

/// The cells of a run, with what must be known of the run itself.
fn cells_of(run: &Run) -> Vec<Cell> {
    let mut cells = run.cells();
    if let Some(caveat) = unfinished::caveat(run) {
        cells.iter_mut().for_each(|cell| cell.caveats.push(caveat.clone()));
    }
    cells
}

fn ground(plan: &Plan) -> Ground {
    // Not by name: the program may be replaced while it runs.
    let program = PathBuf::from("/proc/self/exe");
    let warden = Warden { program, leading_args: vec![crate::WARDEN.into()] };
    let data_folder = plan.data_folder.clone().unwrap_or_else(std::env::temp_dir);
    Ground { folders: Folders::from_env(), warden, data_folder }
}

fn check_something_can_run(plan: &Plan) -> anyhow::Result<()> {
    let mut reasons: Vec<String> = Vec::new();
    for cell in &plan.cells {
        let Some(why) = &cell.unsupported else { return Ok(()) };
        let reason = format!("{} cannot do {}: {why}", cell.system.label, cell.workload);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    mistaken!(
        "there is nothing to run: {}; `assay systems` tells what each system can do",
        reasons.join("; ")
    )
}

/// A flag that SIGINT, SIGTERM and SIGHUP set. A second signal ends the process at once; its
/// wardens still clean up.
pub fn interruptible() -> anyhow::Result<Arc<AtomicBool>> {
    use signal_hook::{consts, flag, iterator::Signals};
    const CAUGHT: [i32; 3] = [consts::SIGINT, consts::SIGTERM, consts::SIGHUP];
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in CAUGHT {
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&interrupt))
            .and_then(|_| flag::register(signal, Arc::clone(&interrupt)))
            .context("cannot catch signals")?;
    }
    let mut signals = Signals::new(CAUGHT).context("cannot catch signals")?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            say!("assay: stopping; once more ends it at once");
        }
    });
    Ok(interrupt)
}
