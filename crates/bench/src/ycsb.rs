//! YCSB and go-ycsb on the same Redis server, when they are found on PATH: reads of a hash with one
//! field of 1 KB, keys uniform. They are in no registry.

use std::{ffi::OsString, time::Duration};

use anyhow::{Context, bail};
use assay_model::Address;

use crate::{
    peers,
    redis::compare,
    stand::{Measured, Stand, Store},
    table::heading,
};

const RECORDS: u64 = 100_000;
const OPERATIONS: u64 = 150_000;
const TIME: Duration = Duration::from_secs(3);

/// A tool that reads CoreWorkload properties.
struct Tool {
    name: &'static str,
    /// What it may be called on PATH.
    programs: &'static [&'static str],
    /// The properties that say where the server is.
    server: fn(host: &str, port: u16) -> Vec<String>,
    /// The arguments for a number of clients.
    clients: fn(u32) -> Vec<String>,
    /// The throughput in operations a second, from what it prints.
    rate: fn(&str) -> Option<f64>,
}

const TOOLS: [Tool; 2] = [
    Tool {
        name: "YCSB",
        programs: &["ycsb.sh", "ycsb"],
        server: |host, port| {
            vec![
                "workload=site.ycsb.workloads.CoreWorkload".into(),
                format!("redis.host={host}"),
                format!("redis.port={port}"),
            ]
        },
        clients: |clients| vec!["-threads".into(), clients.to_string()],
        rate: |output| {
            let line = output.lines().find(|line| line.starts_with("[OVERALL], Throughput"))?;
            line.rsplit(',').next()?.trim().parse().ok()
        },
    },
    Tool {
        name: "go-ycsb",
        programs: &["go-ycsb"],
        server: |host, port| vec!["workload=core".into(), format!("redis.addr={host}:{port}")],
        clients: |clients| vec!["-p".into(), format!("threadcount={clients}")],
        rate: |output| {
            let line = output.lines().rfind(|line| line.starts_with("READ "))?;
            line.split("OPS: ").nth(1)?.split(',').next()?.trim().parse().ok()
        },
    },
];

/// Prints the ratios to each tool that is found.
pub fn run(stand: &Stand) -> anyhow::Result<()> {
    let found: Vec<(&Tool, OsString)> = TOOLS
        .iter()
        .filter_map(|tool| {
            let program = tool.programs.iter().find_map(|program| peers::on_path(program))?;
            Some((tool, program.into_os_string()))
        })
        .collect();
    if found.is_empty() {
        println!("YCSB and go-ycsb: not on PATH");
        return Ok(());
    }
    heading("Redis, a hash with one field of 1 KB a record, reads, beside other YCSB clients");
    let store = stand.open(stand.cell(&format!(
        "systems = [\"redis:hash-noindex\"]\nrecords = {RECORDS}\n\
         workloads = [{{ name = \"reads\", base = \"ycsb/c\", with = {{ field_count = 1, \
         field_length = {{ distribution = \"constant\", bytes = 1000 }}, \
         request_distribution = {{ distribution = \"uniform\" }} }} }}]"
    ))?)?;
    let reads = store.workload().clone();
    for (tool, program) in &found {
        tool.execute(program, "load", &store, 16)?;
        for clients in [4, 16] {
            let (ours, theirs) = peers::in_turns(
                || store.measure(&reads, clients, TIME),
                || tool.measure(program, &store, clients),
            )?;
            compare(&format!("{clients} clients"), &ours, &theirs, tool.name, 1.0, 1.0);
        }
    }
    Ok(())
}

impl Tool {
    fn measure(
        &self,
        program: &OsString,
        store: &Store<'_>,
        clients: u32,
    ) -> anyhow::Result<Measured> {
        let finished = self.execute(program, "run", store, clients)?;
        let rate = (self.rate)(&finished.output)
            .with_context(|| format!("{} printed no rate:\n{}", self.name, finished.output))?;
        Ok(finished.measured(rate, OPERATIONS as f64))
    }

    fn execute(
        &self,
        program: &OsString,
        command: &str,
        store: &Store<'_>,
        clients: u32,
    ) -> anyhow::Result<peers::Finished> {
        let Address::Tcp { host, port } = &store.endpoint()?.address else {
            bail!("the server was to listen on TCP");
        };
        let mut properties = (self.server)(host, *port);
        properties.extend([
            format!("recordcount={RECORDS}"),
            format!("operationcount={OPERATIONS}"),
            "fieldcount=1".into(),
            "fieldlength=1000".into(),
            "readproportion=1".into(),
            "updateproportion=0".into(),
            "requestdistribution=uniform".into(),
        ]);
        let mut arguments = vec![command.to_owned(), "redis".into()];
        arguments.extend((self.clients)(clients));
        arguments.extend(properties.into_iter().flat_map(|property| ["-p".into(), property]));
        peers::run(program, &arguments, store.client_core())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_throughput_is_taken_from_what_each_prints() {
        let [ycsb, go] = TOOLS;
        let printed = "[OVERALL], RunTime(ms), 2846\n[OVERALL], Throughput(ops/sec), 52705.5\n";
        assert_eq!((ycsb.rate)(printed), Some(52705.5));
        let printed = "READ   - Takes(s): 9.9, Count: 10, OPS: 1.0, Avg(us): 5\nRun finished\n\
                       READ   - Takes(s): 3.0, Count: 150000, OPS: 50123.4, Avg(us): 79\n";
        assert_eq!((go.rate)(printed), Some(50123.4));
        assert_eq!((go.rate)("Run finished"), None);
    }
}
