//! `assay plan`: the trials an experiment resolves to, and the time it will take.

use std::{io::Write, process::ExitCode};

use assay_experiment::{Cell, Extent, Mode, Plan, Repeats, extent::show_duration};
use assay_model::Figure;

use super::resolve;
use crate::{
    args::{Format, RunArguments},
    speech::{out, say},
};

/// Prints the plan.
pub fn plan(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    let RunArguments { experiment, overrides, properties, output } = arguments;
    let format = output.format();
    let (plan, notes) = resolve::plan(experiment, overrides, properties)?;
    let mut out = out();
    if format == Format::Json {
        writeln!(out, "{}", serde_json::to_string_pretty(&plan)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    for note in notes {
        say!("assay: {note}");
    }
    writeln!(out, "{}", plan.title)?;
    if let Some(question) = &plan.question {
        writeln!(out, "{question}")?;
    }
    writeln!(out)?;
    for (number, cell) in plan.cells.iter().enumerate() {
        let mode = match cell.mode {
            Mode::Closed => "closed loop".to_owned(),
            Mode::Open { rate_per_s, arrivals } => {
                format!("{rate_per_s}/s, {arrivals:?} arrivals").to_lowercase()
            }
        };
        let measure = match cell.measure {
            Extent::Time(time) => show_duration(time),
            Extent::Operations(count) => format!("{count} operations"),
        };
        writeln!(
            out,
            "{:>3}  {} on {}: {} records, {} client{}, {mode}, {measure} after {} of warm-up, \
             durability {}",
            number + 1,
            cell.system.label,
            cell.workload,
            cell.parameters.record_count,
            cell.clients,
            if cell.clients == 1 { "" } else { "s" },
            cell.warmup,
            cell.durability,
        )?;
        if !cell.system.settings.is_empty() {
            let given: Vec<_> = cell
                .system
                .settings
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            writeln!(out, "     with {}", given.join(", "))?;
        }
        if let Some(why) = &cell.unsupported {
            writeln!(out, "     not supported: {why}")?;
        }
    }
    if plan.cells.iter().any(|cell| cell.ram_disk) {
        writeln!(out, "\nStores keep their data on a RAM disk.")?;
    }
    if !plan.figures.is_empty() {
        writeln!(out)?;
    }
    for figure in &plan.figures {
        writeln!(out, "{}", figure_line(figure))?;
    }
    let round = plan.round_estimate();
    let count = plan.cells.iter().filter(|cell| cell.unsupported.is_none()).count();
    let trials = format!("{count} trial{}", if count == 1 { "" } else { "s" });
    writeln!(out)?;
    match plan.repeats {
        Repeats::Count(count) => writeln!(
            out,
            "{trials}, {} each: about {}",
            if count == 1 { "once".to_owned() } else { format!("{count} times") },
            rough(round.saturating_mul(count))
        )?,
        Repeats::Auto { least, most, precision, budget } => writeln!(
            out,
            "{trials}, {least} to {most} times each until {} known to ±{:.1} %, at most {}: about \
             {} a round",
            aim(&plan),
            precision * 100.0,
            show_duration(budget.0),
            rough(round),
        )?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What automatic repeats go on for, as the runner decides it: systems on the same load are known by
/// how they compare with the fastest, a system alone by itself.
fn aim(plan: &Plan) -> &'static str {
    let (mut alone, mut several) = (false, false);
    for load in plan.cells.chunk_by(Cell::same_load) {
        let running = || load.iter().filter(|cell| cell.unsupported.is_none());
        let only = running().count() == 1;
        match running().filter(|cell| only || !cell.stores_nothing()).count() {
            0 => {}
            1 => alone = true,
            _ => several = true,
        }
    }
    match (alone, several) {
        (_, false) => "every throughput is",
        (false, true) => "every system's ratio to the fastest is",
        (true, true) => "every system's ratio to the fastest, and the throughput of one alone, is",
    }
}

/// What will be drawn, and beside what.
fn figure_line(figure: &Figure) -> String {
    let (y, x, unit) = (figure.y.title(), figure.x.name(), figure.unit);
    let of = figure.operation.map(|kind| format!(" of {}", kind.name())).unwrap_or_default();
    let names: Vec<&str> = figure.published.iter().map(|one| one.name.as_str()).collect();
    match names.as_slice() {
        [] => format!("figure: {y}{of} in {unit} by {x}"),
        names => format!(
            "figure: {y}{of} in {unit} by {x}, beside what is published of {}",
            names.join(", ")
        ),
    }
}

/// A time in whole seconds.
fn rough(time: std::time::Duration) -> String {
    show_duration(std::time::Duration::from_secs(time.as_secs().max(1)))
}
