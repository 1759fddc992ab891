//! `assay compare`: ratios with intervals and a verdict, and an exit status for CI.

use std::{io::Write, process::ExitCode};

use assay_results::{Across, Run, compare as comparisons};

use super::unfinished;
use crate::{
    args::CompareArguments,
    mistake::{OrMistake, mistaken},
    speech::out,
};

/// The exit status when something is slower, or fails.
const WORSE: u8 = 3;

/// Compares two runs, or two systems.
pub fn compare(arguments: CompareArguments) -> anyhow::Result<ExitCode> {
    let run_a = Run::open(&arguments.run_a).or_mistake()?;
    let run_b = match (&arguments.run_b, &arguments.across) {
        (Some(run_b), _) => Run::open(run_b).or_mistake()?,
        (None, Some(_)) => run_a.clone(),
        (None, None) => mistaken!(
            "one run can only be compared with another, or two of its systems with --across A B"
        ),
    };
    let across = match arguments.across.as_deref() {
        Some([a, b]) => Across::Systems { a, b },
        _ => Across::SameSystem,
    };
    if let Across::Systems { a, b } = across {
        check_has(&run_a, a)?;
        check_has(&run_b, b)?;
    }
    let compared = comparisons(&run_a, &run_b, across);
    if compared.matched.is_empty() {
        mistaken!(
            "the runs have no trial in common: the first has {}; the second {}; compare different \
             systems with --across A B",
            listed(&compared.only_in_a),
            listed(&compared.only_in_b)
        );
    }
    unfinished::say_of(&run_a);
    if run_b.header.id != run_a.header.id {
        unfinished::say_of(&run_b);
    }
    let mut out = out();
    if arguments.json {
        for comparison in &compared.matched {
            writeln!(out, "{}", serde_json::to_string(comparison)?)?;
        }
    } else {
        let color = assay_report::color_wanted();
        let width = assay_report::terminal_width();
        write!(out, "{}", assay_report::render_comparisons(&compared, width, color))?;
    }
    Ok(match compared.any_worse() {
        true => ExitCode::from(WORSE),
        false => ExitCode::SUCCESS,
    })
}

/// Refuses a system that the run has no trial of, nor one that failed.
fn check_has(run: &Run, system: &str) -> anyhow::Result<()> {
    let mut has: Vec<&str> = Vec::new();
    let failed = run.header.failures.iter().map(|trial| &trial.system);
    for system in run.trials.iter().map(|trial| &trial.system).chain(failed) {
        if !has.contains(&system.as_str()) {
            has.push(system);
        }
    }
    if has.contains(&system) {
        return Ok(());
    }
    mistaken!("the run {} has no system '{system}': it has {}", run.path.display(), listed(&has))
}

fn listed<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", "),
    }
}
