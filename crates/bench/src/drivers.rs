//! What a driver adds to the library that it drives: its session beside a loop of the same calls, on
//! stores of the same records, one thread each.

mod bare;

use std::{hint::black_box, path::Path, sync::Arc, time::Duration};

use anyhow::{Context, bail, ensure};
use assay_model::{Answer, Durability, FieldValue, Fields, Operation, Outcome, Schema};
use assay_systems::{Client, Opening, Session, System, Target, registry};
use rustix::time::{ClockId, clock_gettime};

use self::bare::{Bare, FIELD_BYTES, FIELDS};
use crate::{
    table::{self, Promise},
    turns::{self, Piece},
};

const RECORDS: u32 = 100_000;
const ROUNDS: usize = 9;
/// What a driver may add.
const MOST: Promise = Promise::AtMost(1.05);

/// Measures every library's driver.
pub fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let sequence: Vec<u32> =
        (0..RECORDS).map(|n| (n.wrapping_mul(2_654_435_761)) % RECORDS).collect();
    for name in ["lmdb", "redb", "fjall"] {
        let (ours, bare) = (folder.path().join(name), folder.path().join(format!("{name}-bare")));
        std::fs::create_dir(&ours)?;
        std::fs::create_dir(&bare)?;
        one(name, &ours, &*bare::open(name, &bare)?, &sequence)?;
    }
    Ok(())
}

fn one(name: &str, folder: &Path, bare: &dyn Bare, sequence: &[u32]) -> anyhow::Result<()> {
    let system = open(name, folder)?;
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
    bare.load(&mut (0..RECORDS).map(|number| (key(number), framed(&record(number)))))?;
    let Client::Call(mut session) = system.connect()? else { bail!("{name} is a library") };

    table::heading(&format!("{name}: CPU an operation, 100,000 records of 1 kB"));
    let keys: Vec<_> = (0..RECORDS).map(key).collect();
    let changed = [b'x'; FIELD_BYTES];
    let mut answer = Answer::counting();
    let read = turns::take(ROUNDS, 2, |contender, piece| match contender {
        0 => timed(piece, sequence, |number| {
            read(&mut *session, &keys[number as usize], &mut answer)
        }),
        _ => timed(piece, sequence, |number| {
            let bytes = bare.read(&keys[number as usize])?;
            ensure!(bytes == FIELDS * FIELD_BYTES, "a record of {bytes} bytes");
            Ok(())
        }),
    })?;
    told("read", &read);
    let update = turns::take(ROUNDS, 2, |contender, piece| match contender {
        0 => timed(piece, sequence, |number| {
            update(&mut *session, &keys[number as usize], (number % FIELDS as u32) as u16, &changed)
        }),
        _ => timed(piece, sequence, |number| {
            bare.update(&keys[number as usize], number as usize % FIELDS, &changed)
        }),
    })?;
    told("update of one field", &update);
    drop(session);
    Ok(system.remove()?)
}

fn told(name: &str, costs: &[Vec<f64>]) {
    println!(
        "{name:<22} ours {:>7.0} ns  bare {:>7.0} ns",
        table::median(&costs[0]),
        table::median(&costs[1])
    );
    turns::line("  ours to bare", &turns::ratios(&costs[0], &costs[1]), Some(MOST));
}

fn open(name: &str, folder: &Path) -> anyhow::Result<Box<dyn System>> {
    let driver = registry::find(name).with_context(|| format!("there is no driver {name}"))?;
    Ok((driver.open)(Opening {
        target: Target::Embedded { data_dir: folder.into() },
        layout: "record".into(),
        schema: Arc::new(Schema::new("usertable", "field", FIELDS)),
        durability: Durability::None,
        settings: Default::default(),
        timeout: Duration::from_secs(10),
    })?)
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

/// CPU of this thread, in nanoseconds an operation of the piece's timed part.
fn timed(
    piece: Piece,
    sequence: &[u32],
    mut run: impl FnMut(u32) -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let mut numbers = piece.of(sequence);
    numbers.by_ref().take(piece.warm_up).try_for_each(&mut run)?;
    let begun = cpu_ns();
    numbers.try_for_each(run)?;
    Ok((cpu_ns() - begun) / piece.timed as f64)
}

fn cpu_ns() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

fn key(number: u32) -> Vec<u8> {
    format!("user{:019}", u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes()
}

/// The fields of a record, one behind the other.
fn record(number: u32) -> Vec<u8> {
    (0..FIELDS * FIELD_BYTES).map(|at| b'a' + ((number as usize + at) % 26) as u8).collect()
}

/// The record as the driver keeps it: each field behind its length.
fn framed(record: &[u8]) -> Vec<u8> {
    let mut framed = Vec::with_capacity(FIELDS * (1 + FIELD_BYTES));
    for field in record.chunks(FIELD_BYTES) {
        framed.push(FIELD_BYTES as u8);
        framed.extend_from_slice(field);
    }
    framed
}
