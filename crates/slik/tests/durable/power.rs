//! Power cuts: the store is on a file system of its own, in a file, and the file is copied as it
//! is when the process is killed, without what the file system has not written to it yet.
//!
//! Needs root and loop devices; without them the test says that it was skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use slik::{DamagedLog, Durability, Error, Options, Store};

use crate::kill::kill_at_random;
use crate::world::{self, Left, Work, World};

fn run(program: &str, words: &[&str]) -> bool {
    let output = Command::new(program).args(words).output();
    output.is_ok_and(|output| output.status.success())
}

/// Unmounts when dropped.
pub struct Mount(pub PathBuf);

impl Mount {
    pub fn new(words: &[&str], at: &Path) -> Option<Mount> {
        std::fs::create_dir_all(at).unwrap();
        let at_text = at.to_str().unwrap();
        let mounted = run("mount", &[words, &[at_text]].concat());
        mounted.then(|| Mount(at.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &[self.0.to_str().unwrap()]);
    }
}

/// A file system in a file.
struct Disk {
    folder: tempfile::TempDir,
    mount: Mount,
}

impl Disk {
    fn new() -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("disk");
        let disk_text = disk.to_str().unwrap();
        std::fs::File::create(&disk).unwrap().set_len(200 << 20).unwrap();
        if !run("mkfs.ext4", &["-q", "-F", disk_text]) {
            return None;
        }
        let mount = Mount::new(&["-o", "loop", disk_text], &folder.path().join("mounted"))?;
        Some(Disk { folder, mount })
    }

    /// As it is if the power fails now.
    fn after_a_cut(&self) -> Option<Mount> {
        let path = |name| self.folder.path().join(name);
        let (disk, image) = (path("disk"), path("image"));
        let image = image.to_str().unwrap();
        assert!(run("cp", &["--sparse=always", disk.to_str().unwrap(), image]));
        Mount::new(&["-o", "loop", image], &path("after"))
    }
}

fn one_cut(durability: Durability, seed: u64) -> Option<usize> {
    let disk = Disk::new()?;
    let store = disk.mount.0.join("store");
    world::make(&store, durability);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let said = kill_at_random(&store, durability, Work::Objects, seed, &mut random);
    let after = disk.after_a_cut()?;
    let store = after.0.join("store");
    let options = world::options(Durability::Synced);
    let left = match durability {
        Durability::Synced => Left::Everything,
        Durability::Buffered => Left::Beginning,
    };
    let mut opened = Store::open_with(&store, &options);
    if let (Durability::Buffered, Err(Error::Damaged { now, .. })) = (durability, &opened) {
        // Parts of the log may have been written in another order.
        assert!(now.contains("DropRest"));
        let drop_rest = Options { damaged_log: DamagedLog::DropRest, ..options };
        opened = Store::open_with(&store, &drop_rest);
    }
    let opened = opened.unwrap_or_else(|error| panic!("{durability:?}, seed {seed}: {error}"));
    World::default().check(&opened, seed, &said, left);
    drop(opened);
    Some(said.steps.iter().sum())
}

#[test]
fn what_was_synced_is_there_after_a_power_cut() {
    let mut steps = 0;
    for seed in 0..crate::number("SLIK_POWER_CUTS", 6) {
        let durability =
            if seed.is_multiple_of(3) { Durability::Buffered } else { Durability::Synced };
        let Some(acknowledged) = one_cut(durability, seed) else {
            println!("skipped: it needs root, mkfs.ext4 and loop devices");
            return;
        };
        steps += acknowledged;
    }
    println!("{steps} acknowledged steps");
    assert!(steps > 0);
}

#[test]
fn raising_the_level_syncs_what_was_acknowledged_before() {
    let Some(disk) = Disk::new() else {
        println!("skipped: it needs root, mkfs.ext4 and loop devices");
        return;
    };
    let store = Store::open(disk.mount.0.join("store")).unwrap();
    let table = store.create_table("t").unwrap();
    let write = |numbers: std::ops::Range<u32>| {
        for number in numbers {
            table.write(&number.to_be_bytes(), &[], &[7; 100]).unwrap();
        }
    };
    write(0..1_000);
    store.set_durability(Durability::Synced).unwrap();
    write(1_000..1_010);
    let after = disk.after_a_cut().expect("the copy is mounted as the original was");
    let left = Store::open(after.0.join("store")).unwrap().table("t").unwrap();
    for number in 0..1_010u32 {
        assert!(left.read(&number.to_be_bytes()).unwrap().is_some(), "{number} is lost");
    }
}
