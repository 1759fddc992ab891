//! Processes killed at random points.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use slik::{Durability, Store};

use crate::folders::{copy, last_journal, put_bytes, used};
use crate::world::{self, Left, Said, Work, World};

const FOLDER: &str = "SLIK_KILLED_FOLDER";
const LEVEL: &str = "SLIK_KILLED_LEVEL";
const WORK: &str = "SLIK_KILLED_WORK";
const SEED: &str = "SLIK_KILLED_SEED";
/// Lives of one store.
const LIVES: u64 = 8;

/// Not a test: the process that [`kill_at_random`] starts.
#[test]
#[ignore = "started by the tests that kill it"]
fn a_process_that_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let synced = std::env::var(LEVEL).unwrap() == "synced";
    let durability = if synced { Durability::Synced } else { Durability::Buffered };
    let only_objects = std::env::var(WORK).unwrap() == "objects";
    let work = if only_objects { Work::Objects } else { Work::Everything };
    world::work(folder.as_ref(), durability, work, std::env::var(SEED).unwrap().parse().unwrap());
}

fn start(folder: &Path, durability: Durability, work: Work, seed: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::a_process_that_is_killed", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(LEVEL, if durability == Durability::Synced { "synced" } else { "buffered" })
        .env(WORK, if work == Work::Objects { "objects" } else { "everything" })
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets a process work on a store and kills it; gives what it said.
pub fn kill_at_random(
    folder: &Path,
    durability: Durability,
    work: Work,
    seed: u64,
    random: &mut Xoshiro256PlusPlus,
) -> Said {
    let mut child = start(folder, durability, work, seed);
    let mut out = child.stdout.take().unwrap();
    let (tell, told) = channel();
    let said = std::thread::spawn(move || {
        let mut text = String::new();
        let mut lines = BufReader::new(&mut out);
        while lines.read_line(&mut text).unwrap() > 0 && !text.contains("@ ") {}
        let _ = tell.send(());
        lines.read_to_string(&mut text).map(|_| text).unwrap()
    });
    // Now and then while it opens the store, else up to some thousand writes later.
    if work == Work::Objects || !random.next_u64().is_multiple_of(4) {
        let _ = told.recv();
    }
    std::thread::sleep(Duration::from_micros(random.next_u64() % 30_000));
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!errors.contains("panicked"), "{errors}");
    Said::parse(&said.join().unwrap())
}

fn lives(seed: u64) -> usize {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let durability = if seed.is_multiple_of(2) { Durability::Synced } else { Durability::Buffered };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    world::make(&path, durability);
    let mut world = World::default();
    let mut steps = 0;
    for life in 0..LIVES {
        let journal = last_journal(&path);
        let before = used(&journal).len();
        let seed = seed * LIVES + life;
        let said = kill_at_random(&path, durability, Work::Everything, seed, &mut random);
        steps += said.steps.iter().sum::<usize>();
        // A store that was closed, and not opened since, has no torn end.
        let opened = !path.join("data/closed").exists();
        if life % 2 == 0 && opened && last_journal(&path) == journal {
            torn_copies(&path, before, &world, seed, &said, &mut random);
        }
        let store = Store::open_with(&path, &world::options(durability)).unwrap();
        world = world.check(&store, seed, &said, Left::Everything);
        if random.next_u64().is_multiple_of(2) {
            store.close().unwrap();
        }
    }
    steps
}

/// The end of the journal is torn in copies, behind where it was `before` the process began.
fn torn_copies(
    path: &Path,
    before: usize,
    world: &World,
    seed: u64,
    said: &Said,
    random: &mut Xoshiro256PlusPlus,
) {
    let folder = tempfile::tempdir().unwrap();
    let bytes = used(&last_journal(path));
    for kind in 0..3 {
        let torn = folder.path().join(kind.to_string());
        copy(path, &torn);
        let journal = last_journal(&torn);
        let cut =
            before + (random.next_u64() % (bytes.len().saturating_sub(before) as u64 + 1)) as usize;
        let file = File::options().write(true).open(&journal).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(cut as u64).unwrap();
        match kind {
            // Cut off.
            0 => {}
            // Not written, and the length was.
            1 => file.set_len(length.max(bytes.len() as u64)).unwrap(),
            // Something else written.
            _ => {
                let garbage: Vec<u8> =
                    (0..random.next_u64() % 700).map(|_| random.next_u64() as u8).collect();
                put_bytes(&journal, cut as u64, &garbage);
            }
        }
        let store = Store::open_with(&torn, &world::options(Durability::Buffered));
        let store = store.unwrap_or_else(|error| panic!("kind {kind}, cut at {cut}: {error}"));
        world.check(&store, seed, said, Left::Beginning);
    }
}

#[test]
fn nothing_acknowledged_is_lost_however_often_the_process_is_killed() {
    let stores = crate::number("SLIK_CRASHES", 200).div_ceil(LIVES);
    let first = crate::number("SLIK_CRASH_SEED", 0);
    let next = std::sync::atomic::AtomicU64::new(first);
    let steps: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut steps = 0;
                    loop {
                        let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        if seed >= first + stores {
                            return steps;
                        }
                        steps += lives(seed);
                    }
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{} kills after {steps} acknowledged steps", stores * LIVES);
    assert!(steps as u64 > stores * LIVES, "the processes did next to nothing: {steps} steps");
}
