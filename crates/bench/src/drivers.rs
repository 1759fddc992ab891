//! What a driver adds to the library that it drives, or what its codec costs beside the client
//! library that it stands for: its session beside a loop of the same calls, on stores of the same
//! records, one thread each. `libraries` are the stores in this process, `servers` the others.

#[cfg(feature = "aerospike")]
mod aerospike;
mod bare;
#[cfg(feature = "cassandra")]
mod cassandra;
mod clients;
mod cpu;
mod duckdb;
mod libraries;
mod monetdb;
#[cfg(feature = "mongodb")]
mod mongodb;
mod rocksdb;
mod servers;
mod sql;
mod sqlite;
#[cfg(feature = "voltdb")]
mod voltdb;

use std::{hint::black_box, sync::Arc, thread, time::Duration};

use anyhow::{Context, anyhow, bail, ensure};
use assay_experiment::spec::Placement;
use assay_measure::resources::ProcessTree;
use assay_model::{Answer, Durability, FieldValue, Fields, Operation, Outcome, Schema};
use assay_runner::placement::{self, Cores};
use assay_systems::{Client, Opening, Session, System, Target, blocking::Blocking, registry};

use self::{
    bare::{Bare, FIELD_BYTES, FIELDS, TABLE},
    cpu::Cpu,
    monetdb::Monetdb,
};
use crate::{
    table::{self, Promise},
    turns::{self, Piece},
};

const RECORDS: u32 = 100_000;
const ROUNDS: usize = 9;
/// What a driver may add.
const MOST: Promise = Promise::AtMost(1.05);
/// How long a store may take for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Measures the drivers named, or all.
pub fn run(names: &[String]) -> anyhow::Result<()> {
    let known = || libraries::NAMES.iter().chain(servers::NAMES).copied();
    if let Some(unknown) = names.iter().find(|name| !known().any(|known| known == *name)) {
        let known: Vec<_> = known().collect();
        bail!("no driver '{unknown}' is measured; there are {}", known.join(", "));
    }
    let is_wanted = |name: &&&str| names.is_empty() || names.iter().any(|wanted| wanted == **name);
    for name in libraries::NAMES.iter().filter(is_wanted) {
        let folder = tempfile::tempdir()?;
        let (ours, theirs) = (folder.path().join("ours"), folder.path().join("bare"));
        std::fs::create_dir(&ours)?;
        std::fs::create_dir(&theirs)?;
        let file = libraries::file(name)?;
        let target = match file.clone() {
            None => Target::Embedded { data_dir: ours },
            Some(library) => Target::Library { library, data_dir: ours },
        };
        let system = open(name, "", target)?;
        let mut session = loaded(&*system)?;
        let mut bare = libraries::open(name, file.as_deref(), &theirs)?;
        compare(name, &mut *session, &mut *bare, Cpu::Thread)?;
        drop(session);
        system.remove()?;
    }
    let cores = Cores::place(Placement::Split, true);
    for name in servers::NAMES.iter().filter(is_wanted) {
        // What a client library starts besides stays on the client's cores with it.
        let measured = thread::scope(|scope| {
            let client = scope.spawn(|| {
                cores.client.first().copied().into_iter().for_each(placement::pin);
                beside_a_client(name, &cores.server)
            });
            client.join()
        });
        measured.map_err(|_| anyhow!("the client of {name} panicked"))??;
    }
    Ok(())
}

/// Measures the driver of a server, which runs on cores of its own, beside the client library.
fn beside_a_client(name: &str, server_cores: &[usize]) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let server = servers::start(name, server_cores, folder.path())?;
    let endpoint = server.endpoint().clone();
    let system = open(name, servers::layout(name), Target::Server(endpoint.clone()))?;
    let mut session = loaded(&*system)?;
    let (mut bare, cpu): (Box<dyn Bare>, _) = match name {
        // The library of the server that hosts it stands beside it: the rest is what the host adds.
        "monetdb" => {
            let bare = Monetdb::open(&servers::file(name)?, server_cores.len())?;
            (Box::new(bare), Cpu::ProcessAnd(ProcessTree::of(server.pid())))
        }
        _ => (clients::connect(name, &endpoint)?, Cpu::Process),
    };
    compare(name, &mut *session, &mut *bare, cpu)?;
    drop((session, bare));
    system.remove()?;
    Ok(server.stop()?)
}

fn open(name: &str, layout: &str, target: Target) -> anyhow::Result<Box<dyn System>> {
    let driver = registry::find(name).with_context(|| format!("there is no driver {name}"))?;
    let first = driver.layouts.first().context("a driver has a layout")?.name;
    Ok((driver.open)(Opening {
        target,
        layout: if layout.is_empty() { first } else { layout }.into(),
        schema: Arc::new(Schema::new(TABLE, "field", FIELDS)),
        durability: Durability::None,
        settings: Default::default(),
        timeout: TIMEOUT,
    })?)
}

/// Puts the records in, and connects a client.
fn loaded(system: &dyn System) -> anyhow::Result<Box<dyn Session>> {
    system.prepare()?;
    let mut loader = system.loader()?;
    for number in 0..RECORDS {
        let (key, record) = (key(number), record(number));
        let fields = (0..).zip(record.chunks(FIELD_BYTES));
        let values: Vec<_> = fields.map(|(field, bytes)| FieldValue { field, bytes }).collect();
        loader.insert(&key, &values)?;
    }
    loader.finish()?;
    system.settle()?;
    Ok(match system.connect()? {
        Client::Call(session) => session,
        Client::Wire(client) => {
            client.socket.set_timeout(Some(TIMEOUT))?;
            Box::new(Blocking::new(client))
        }
    })
}

fn compare(
    name: &str,
    session: &mut dyn Session,
    bare: &mut dyn Bare,
    cpu: Cpu,
) -> anyhow::Result<()> {
    let sequence: Vec<u32> =
        (0..RECORDS).map(|n| (n.wrapping_mul(2_654_435_761)) % RECORDS).collect();
    table::heading(&format!("{name}: CPU an operation, 100,000 records of 1 kB"));
    let keys: Vec<_> = (0..RECORDS).map(key).collect();
    let changed = [b'x'; FIELD_BYTES];
    let mut answer = Answer::counting();
    let read = turns::take(ROUNDS, 2, |contender, piece| match contender {
        0 => timed(cpu, piece, &sequence, |number| {
            read(session, &keys[number as usize], &mut answer)
        }),
        _ => timed(cpu, piece, &sequence, |number| {
            let bytes = bare.read(&keys[number as usize])?;
            ensure!(bytes == FIELDS * FIELD_BYTES, "a record of {bytes} bytes");
            Ok(())
        }),
    })?;
    told("read", &read);
    let update = turns::take(ROUNDS, 2, |contender, piece| match contender {
        0 => timed(cpu, piece, &sequence, |number| {
            update(session, &keys[number as usize], (number % FIELDS as u32) as u16, &changed)
        }),
        _ => timed(cpu, piece, &sequence, |number| {
            bare.update(&keys[number as usize], number as usize % FIELDS, &changed)
        }),
    })?;
    told("update of one field", &update);
    Ok(())
}

fn told(name: &str, costs: &[Vec<f64>]) {
    println!(
        "{name:<22} ours {:>7.0} ns  bare {:>7.0} ns",
        table::median(&costs[0]),
        table::median(&costs[1])
    );
    turns::line("  ours to bare", &turns::ratios(&costs[0], &costs[1]), Some(MOST));
}

fn read(session: &mut dyn Session, key: &[u8], answer: &mut Answer) -> anyhow::Result<()> {
    answer.clear();
    let read = Operation::Read { key, fields: Fields::All };
    let outcome = session.execute(&read, answer);
    let bytes = black_box(answer).value_bytes();
    ensure!(bytes == (FIELDS * FIELD_BYTES) as u64, "{outcome:?}, {bytes} bytes");
    Ok(())
}

fn update(session: &mut dyn Session, key: &[u8], field: u16, bytes: &[u8]) -> anyhow::Result<()> {
    let values = [FieldValue { field, bytes }];
    let update = Operation::Update { key, values: &values };
    let outcome = session.execute(&update, &mut Answer::counting());
    ensure!(outcome == Outcome::Done, "{outcome:?}");
    Ok(())
}

/// CPU in nanoseconds an operation of the piece's timed part.
fn timed(
    cpu: Cpu,
    piece: Piece,
    sequence: &[u32],
    mut run: impl FnMut(u32) -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let mut numbers = piece.of(sequence);
    numbers.by_ref().take(piece.warm_up).try_for_each(&mut run)?;
    let begun = cpu.spent_ns()?;
    numbers.try_for_each(run)?;
    Ok((cpu.spent_ns()? - begun) as f64 / piece.timed as f64)
}

fn key(number: u32) -> Vec<u8> {
    format!("user{:019}", u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes()
}

/// The fields of a record, one behind the other.
fn record(number: u32) -> Vec<u8> {
    (0..FIELDS * FIELD_BYTES).map(|at| b'a' + ((number as usize + at) % 26) as u8).collect()
}

/// Every record as a driver that keeps it in one string does: each field behind its length.
fn framed_records() -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    (0..RECORDS).map(|number| {
        let mut framed = Vec::with_capacity(FIELDS * (1 + FIELD_BYTES));
        for field in record(number).chunks(FIELD_BYTES) {
            framed.push(FIELD_BYTES as u8);
            framed.extend_from_slice(field);
        }
        (key(number), framed)
    })
}
