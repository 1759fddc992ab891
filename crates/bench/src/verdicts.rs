//! Can the verdicts be trusted? Two copies of one system must tie, and a copy that is 5 % slower
//! must be found slower, each 19 times in 20, at the defaults of `assay run`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};
use assay_results::{Across, Run, Verdict, compare};

use crate::table::heading;

const SYSTEMS: &str = "memory@a,memory@b,memory@slow+slowdown=0.05";

/// Runs the experiment `runs` times and counts the verdicts.
pub fn run(runs: u32) -> anyhow::Result<()> {
    heading(&format!("{runs} runs of `assay run ycsb/a --systems {SYSTEMS}`"));
    let assay = assay()?;
    let results = tempfile::tempdir()?;
    let (mut ties, mut slower) = (0, 0);
    for number in 1..=runs {
        let run = one(&assay, results.path(), number)?;
        let verdict = |a: &str, b: &str| -> anyhow::Result<_> {
            let compared = compare(&run, &run, Across::Systems { a, b });
            let matched = compared.matched.first().context("the systems were both measured")?;
            let ratio = matched.throughput.context("both did something")?;
            Ok((matched.verdict, ratio.ratio))
        };
        let (same, same_ratio) = verdict("a", "b")?;
        let (injected, injected_ratio) = verdict("a", "slow")?;
        ties += u32::from(same == Verdict::Tie);
        slower += u32::from(injected == Verdict::Slower);
        println!(
            "{number:>3}: a/a {} ({same_ratio:.3}); 5 % slower: {} ({injected_ratio:.3}); \
             {} repeats",
            same.name(),
            injected.name(),
            run.trials.len() / 3
        );
    }
    let of_twenty = |count: u32| f64::from(count) * 20.0 / f64::from(runs);
    for (what, count) in [("two copies tied", ties), ("5 % slower was found slower", slower)] {
        let kept = if of_twenty(count) >= 19.0 { "kept" } else { "MISSED" };
        println!("{what}: {count} of {runs}; at least 19 of 20: {kept}");
    }
    Ok(())
}

fn one(assay: &Path, results: &Path, number: u32) -> anyhow::Result<Run> {
    let status = Command::new(assay)
        .args(["run", "ycsb/a", "--quiet", "--systems", SYSTEMS])
        .args(["--seed", &number.to_string()])
        .arg("--results")
        .arg(results)
        .stdout(std::process::Stdio::null())
        .status()
        .with_context(|| format!("cannot run {}", assay.display()))?;
    if !status.success() {
        bail!("assay ended with {status}");
    }
    Ok(Run::open(&results.join("latest"))?)
}

/// The binary built beside this one.
fn assay() -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("assay");
    if !path.is_file() {
        bail!("{} is not there: build it with `cargo build --release`", path.display());
    }
    Ok(path)
}
