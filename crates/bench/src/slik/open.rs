//! Opening stores, beside what it takes to read slik's files and to build the standard library's
//! maps of the objects by hand.
//!
//! slik has all of its objects in memory and its indexes built when it is open. The peers leave
//! them on disk, all but fjall's journals. All files are in the operating system's cache.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    hint::black_box,
    io::Read,
    path::Path,
    time::Instant,
};

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::{
    Setting,
    disk::{self, Disk},
    objects::{INDEX, KEY_BYTES, VALUE_BYTES, digest, primary, secondary, value},
    on_disk::{KINDS, Kind, OnDisk, Purpose},
    turns,
};
use crate::table::{Promise, heading, median};

/// Most that opening slik may take, to reading the files and building the maps.
const MOST: f64 = 2.0;
/// Every how manieth object is looked up after opening.
const LOOKED_AT: usize = 997;
/// Bytes of an object: keys and value.
const OBJECT_BYTES: usize = 2 * KEY_BYTES + VALUE_BYTES;

/// Prints the figures.
pub fn run(setting: &Setting, disk: &Disk) -> anyhow::Result<()> {
    heading(&format!("Opening a store of {} objects, one index", setting.objects));
    println!("files are in {}", disk.place().display());
    let kinds = KINDS.iter().filter(|kind| setting.compares(kind.id));
    let stores = kinds
        .map(|kind| Stored::load(kind, setting.objects, disk))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(slik) = stores.first() else { return Ok(()) };
    let objects = flat(setting.objects);

    let mut opening = vec![Vec::new(); stores.len()];
    let (mut reading, mut building) = (Vec::new(), Vec::new());
    let turns = stores.len() + 1;
    for round in 0..setting.rounds {
        for turn in 0..turns {
            let at = (round + turn) % turns;
            if let Some(store) = stores.get(at) {
                opening[at].push(store.open_s(setting.objects)?);
            } else {
                reading.push(read_s(slik.folder.path())?);
                building.push(build_s(&objects)?);
            }
        }
    }

    println!("{:<30} {:>8} {:>10}", "", "seconds", "MB on disk");
    for (store, opening) in stores.iter().zip(&opening) {
        println!("{:<30} {:>8.3} {:>10.0}", store.kind.name, median(opening), store.megabytes()?);
    }
    println!("{:<30} {:>8.3}", "reading slik's files", median(&reading));
    println!("{:<30} {:>8.3}", "building BTreeMap and HashMap", median(&building));
    let by_hand: Vec<f64> =
        reading.iter().zip(&building).map(|(read, build)| read + build).collect();
    turns::line(
        "opening slik to reading and building",
        &turns::ratios(&opening[0], &by_hand),
        Some(Promise::AtMost(MOST)),
    );
    Ok(())
}

/// A store that is closed.
struct Stored {
    kind: &'static Kind,
    folder: TempDir,
}

impl Stored {
    fn load(kind: &'static Kind, objects: u32, disk: &Disk) -> anyhow::Result<Stored> {
        let folder = disk.folder()?;
        let store = (kind.open)(folder.path(), Purpose::Load)?;
        store.load(objects).with_context(|| format!("cannot load {}", kind.name))?;
        store.close()?;
        Ok(Stored { kind, folder })
    }

    /// Seconds until the store is open and its first object is found.
    fn open_s(&self, objects: u32) -> anyhow::Result<f64> {
        let look_up = |store: &dyn OnDisk, number| -> anyhow::Result<()> {
            let found = store.look_up(&secondary(INDEX, number, 0))?;
            let expected = digest(&primary(number), &value(number, 0));
            ensure!(found == Some(expected), "{} has lost object {number}", self.kind.name);
            Ok(())
        };
        let began = Instant::now();
        let store = (self.kind.open)(self.folder.path(), Purpose::Write)?;
        look_up(&*store, 0)?;
        let spent = began.elapsed();
        (0..objects).step_by(LOOKED_AT).try_for_each(|number| look_up(&*store, number))?;
        store.close()?;
        Ok(spent.as_secs_f64())
    }

    fn megabytes(&self) -> anyhow::Result<f64> {
        Ok(disk::file_bytes(self.folder.path())? as f64 / 1e6)
    }
}

/// Seconds that it takes to read all files of a folder, once.
fn read_s(folder: &Path) -> anyhow::Result<f64> {
    let mut buffer = vec![0; 1 << 20];
    let began = Instant::now();
    for (path, _) in disk::files(folder)? {
        let mut file = File::open(path)?;
        while file.read(&mut buffer)? > 0 {
            black_box(&buffer);
        }
    }
    Ok(began.elapsed().as_secs_f64())
}

/// The objects one after the other. Their keys are random, so this is no order.
fn flat(objects: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(objects as usize * OBJECT_BYTES);
    for number in 0..objects {
        bytes.extend_from_slice(&primary(number));
        bytes.extend_from_slice(&secondary(INDEX, number, 0));
        bytes.extend_from_slice(&value(number, 0));
    }
    bytes
}

/// Seconds that it takes to build the maps of objects in memory.
fn build_s(objects: &[u8]) -> anyhow::Result<f64> {
    let began = Instant::now();
    let mut by_primary: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    let mut by_secondary: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for object in objects.chunks_exact(OBJECT_BYTES) {
        let (primary, object) = object.split_at(KEY_BYTES);
        by_primary.insert(primary.to_vec(), object.to_vec());
        by_secondary.insert(object[..KEY_BYTES].to_vec(), primary.to_vec());
    }
    let spent = began.elapsed();
    let count = objects.len() / OBJECT_BYTES;
    ensure!(by_primary.len() == count && by_secondary.len() == count, "keys must differ");
    Ok(spent.as_secs_f64())
}
