//! `assay compare`: ratios with intervals and a verdict, and an exit status for CI.

use std::{io::Write, process::ExitCode};

use anyhow::bail;
use assay_results::{Across, Run, compare as comparisons};

use crate::args::CompareArguments;

/// The exit status when something is slower, or fails.
const WORSE: u8 = 3;

/// Compares two runs, or two systems.
pub fn compare(arguments: CompareArguments) -> anyhow::Result<ExitCode> {
    let run_a = Run::open(&arguments.run_a)?;
    let run_b = match (&arguments.run_b, &arguments.across) {
        (Some(run_b), _) => Run::open(run_b)?,
        (None, Some(_)) => run_a.clone(),
        (None, None) => bail!(
            "one run can only be compared with another, or two of its systems with --across A B"
        ),
    };
    let across = match arguments.across.as_deref() {
        Some([a, b]) => Across::Systems { a, b },
        _ => Across::SameSystem,
    };
    let compared = comparisons(&run_a, &run_b, across);
    if compared.matched.is_empty() {
        bail!(
            "the runs have no trial in common: the first has {}; the second {}; compare different \
             systems with --across A B",
            compared.only_in_a.join(", "),
            compared.only_in_b.join(", ")
        );
    }
    let mut out = std::io::stdout().lock();
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
