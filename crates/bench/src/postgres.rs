//! PostgreSQL, `SELECT` of one row by key, prepared, against `pgbench -M prepared` on the same
//! table and query.

use std::{ffi::OsString, io::Write, path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use assay_model::Address;
use assay_provision::{Folders, recipe, require};

use crate::{
    peers,
    redis::compare,
    stand::{Measured, Stand, Store},
    table::heading,
};

const RECORDS: u64 = 100_000;
const TIME: Duration = Duration::from_secs(3);

/// Prints the ratios.
pub fn run(stand: &Stand) -> anyhow::Result<()> {
    heading("PostgreSQL, SELECT of one 100-byte column by key, prepared, loopback TCP");
    let pgbench = pgbench()?;
    // Ordered keys: pgbench's script can make them, and hashed ones it cannot.
    let store = stand.open(stand.cell(&format!(
        "systems = [\"postgres:row\"]\nrecords = {RECORDS}\n\
         workloads = [{{ name = \"select\", base = \"ycsb/c\", with = {{ field_count = 1, \
         insert_order = \"ordered\", \
         request_distribution = {{ distribution = \"uniform\" }} }} }}]"
    ))?)?;
    let workload = store.workload().clone();
    let mut script = tempfile::NamedTempFile::new()?;
    writeln!(
        script,
        "\\set n random(0, {})\nSELECT field0 FROM usertable WHERE ycsb_key = 'user' || :n;",
        RECORDS - 1
    )?;
    for clients in [4, 16] {
        let (ours, theirs) = peers::in_turns(
            || store.measure(&workload, clients, TIME),
            || run_pgbench(&pgbench, &store, script.path(), clients),
        )?;
        compare(&format!("SELECT {clients} clients"), &ours, &theirs, "pgbench", 0.9, 1.3);
    }
    Ok(())
}

/// The pgbench beside the server, or else the one on PATH.
fn pgbench() -> anyhow::Result<PathBuf> {
    let recipe = recipe("postgres").context("there is a recipe for PostgreSQL")?;
    let installed = require(recipe, &Folders::from_env())?;
    let beside = installed.binary.with_file_name("pgbench");
    if beside.is_file() {
        return Ok(beside);
    }
    peers::on_path("pgbench").context("pgbench is neither beside the server nor on PATH")
}

fn run_pgbench(
    program: &std::path::Path,
    store: &Store<'_>,
    script: &std::path::Path,
    clients: u32,
) -> anyhow::Result<Measured> {
    let endpoint = store.endpoint()?;
    let Address::Tcp { host, port } = &endpoint.address else {
        bail!("the server was to listen on TCP");
    };
    let user = endpoint.user.clone().unwrap_or_else(|| "postgres".into());
    let database = endpoint.database.clone().unwrap_or_else(|| "postgres".into());
    let (port, clients) = (port.to_string(), clients.to_string());
    let seconds = TIME.as_secs().to_string();
    let mut arguments: Vec<OsString> = [
        "-n", "-M", "prepared", "-j", "1", "-c", &clients, "-T", &seconds, "-h", host, "-p", &port,
        "-U", &user, "-f",
    ]
    .map(OsString::from)
    .into();
    arguments.push(script.into());
    arguments.push(database.into());
    let finished = peers::run(program.as_os_str(), &arguments, store.client_core())?;
    let after = |mark: &str| -> Option<f64> {
        let text = &finished.output;
        let from = text.find(mark)? + mark.len();
        text[from..].split_whitespace().next()?.parse().ok()
    };
    let rate = after("tps = ").context("pgbench printed no tps")?;
    let transactions = after("actually processed: ").context("pgbench printed no count")?;
    Ok(finished.measured(rate, transactions))
}
