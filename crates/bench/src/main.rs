//! What Assay promises of its own speed, measured: our code and its peer in turns, in one run, as
//! ratios. `just bench-harness`, `just bench-verdicts`, `just bench-slik` and `just bench-drivers` run it;
//! `docs/performance.md` holds the figures.

mod drivers;
mod memcached;
mod no_db;
mod peers;
mod postgres;
mod redis;
mod slik;
mod stand;
mod table;
mod turns;
mod verdicts;
mod ycsb;

use std::process::ExitCode;

use anyhow::bail;
use stand::Stand;

const USAGE: &str = "usage: assay-bench harness [no-db|redis|memcached|postgres]… | verdicts [RUNS] | slik … | drivers [NAME]…";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == stand::WARDEN) {
        return assay_provision::warden::run(words);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("assay-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<()> {
    match arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("harness", parts)) => harness(parts),
        Some(("verdicts", [])) => verdicts::run(20),
        Some(("verdicts", [runs])) => verdicts::run(runs.parse()?),
        Some(("slik", arguments)) => slik::run(arguments),
        Some(("drivers", names)) => drivers::run(names),
        _ => bail!(USAGE),
    }
}

fn harness(parts: &[String]) -> anyhow::Result<()> {
    let stand = Stand::new();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    if let Some(unknown) = parts
        .iter()
        .find(|part| !["no-db", "redis", "memcached", "postgres"].contains(&part.as_str()))
    {
        bail!("there is no part '{unknown}'; {USAGE}");
    }
    if wanted("no-db") {
        no_db::run(&stand)?;
    }
    if wanted("redis") {
        redis::run(&stand)?;
        ycsb::run(&stand)?;
    }
    if wanted("memcached") {
        memcached::run(&stand)?;
    }
    if wanted("postgres") {
        postgres::run(&stand)?;
    }
    Ok(())
}
