//! What slik promises of its speed and memory, against embedded stores that do the same: lookups
//! through an index, overwrites, and how both grow; and of its durable side, on a disk: synced
//! writes and opening.
//!
//! Contenders take turns in pieces of some 60 ms ([`turns`]), get the same objects in the same
//! order, and every answer is checked ([`entrant`]), so that none is fast by being wrong. The
//! checking costs each of them the same few nanoseconds.

mod disk;
mod entrant;
mod growth;
mod indexes;
mod latency;
mod logged;
mod lookup;
mod memory;
mod objects;
mod on_disk;
mod open;
mod overwrite;
mod peers;
mod ranges;
mod size;
mod synced;
mod threads;

use std::path::PathBuf;

use anyhow::{Context, bail};
use disk::Disk;
use entrant::Entrant;

use crate::turns;

/// How it is called, for the usage line.
pub const USAGE: &str = "slik [--objects N] [--rounds N] [--peers none|NAME,…] [--folder ON_DISK] \
                         [lookup|overwrite|size|indexes|threads|memory|ranges|synced|open|logged]…";

const PARTS: [&str; 10] = [
    "lookup",
    "overwrite",
    "size",
    "indexes",
    "threads",
    "memory",
    "ranges",
    "synced",
    "open",
    "logged",
];
/// Those that need a disk.
const ON_DISK: [&str; 3] = ["synced", "open", "logged"];

/// What is measured.
#[derive(Debug, PartialEq, Eq)]
struct Setting {
    /// Objects in the large tables.
    objects: u32,
    /// How often the contenders take turns.
    rounds: usize,
    /// The stores that slik is compared with where it is compared with several; `None` means all.
    peers: Option<Vec<&'static str>>,
    /// Where the parts that are about a disk have their files.
    folder: PathBuf,
    /// The parts asked for; none means all.
    parts: Vec<String>,
}

/// Measures what the arguments ask for and prints the figures.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    if let [part, kind, objects] = arguments
        && part == memory::CHILD
    {
        return memory::child(kind, objects.parse()?);
    }
    let setting = Setting::parse(arguments)?;
    // Before the others, which take minutes: the folder may be in memory.
    let disk = ON_DISK.iter().any(|part| setting.wants(part)).then(|| Disk::of(&setting.folder));
    let disk = disk.transpose()?;
    if setting.wants("lookup") || setting.wants("overwrite") {
        stores(&setting)?;
    }
    if setting.wants("size") {
        size::run(&setting)?;
    }
    if setting.wants("indexes") {
        indexes::run(&setting)?;
    }
    if setting.wants("threads") {
        threads::run(&setting)?;
    }
    if setting.wants("memory") {
        memory::run(&setting)?;
    }
    if setting.wants("ranges") {
        ranges::run(&setting)?;
    }
    let Some(disk) = disk else { return Ok(()) };
    if setting.wants("synced") {
        synced::run(&setting, &disk)?;
    }
    if setting.wants("open") {
        open::run(&setting, &disk)?;
    }
    if setting.wants("logged") {
        logged::run(&setting, &disk)?;
    }
    Ok(())
}

/// The parts that need every store loaded.
fn stores(setting: &Setting) -> anyhow::Result<()> {
    println!("files are in {}", entrant::place().display());
    let sequence = objects::shuffled(setting.objects);
    let mut entrants = peers::KINDS
        .iter()
        .filter(|kind| setting.compares(kind.id))
        .map(|kind| Entrant::load(kind, setting.objects))
        .collect::<Result<Vec<_>, _>>()?;
    if setting.wants("lookup") {
        lookup::run(setting, &sequence, &mut entrants)?;
    }
    if setting.wants("overwrite") {
        overwrite::run(setting, &sequence, &mut entrants)?;
    }
    Ok(())
}

impl Setting {
    fn parse(arguments: &[String]) -> anyhow::Result<Setting> {
        let mut setting = Setting {
            objects: 1_000_000,
            rounds: 11,
            peers: None,
            folder: std::env::temp_dir(),
            parts: Vec::new(),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut after = |what| words.next().with_context(|| format!("{word} needs {what}"));
            let mut number = || -> anyhow::Result<u32> {
                let number = after("a number")?;
                match number.parse() {
                    Ok(number) if number > 0 => Ok(number),
                    _ => bail!("{word} needs a number from 1 up, not '{number}'"),
                }
            };
            match word.as_str() {
                "--objects" => setting.objects = number()?,
                "--rounds" => setting.rounds = number()? as usize,
                "--peers" => setting.peers = Some(peers_of(after("names of stores, or none")?)?),
                "--folder" => setting.folder = after("a folder on a disk")?.into(),
                part if PARTS.contains(&part) => setting.parts.push(part.to_owned()),
                other => bail!("there is no part '{other}'; usage: assay-bench {USAGE}"),
            }
        }
        Ok(setting)
    }

    /// Whether a store takes part; slik always does.
    fn compares(&self, id: &str) -> bool {
        let is_slik = id == peers::KINDS[0].id;
        is_slik || self.peers.as_ref().is_none_or(|peers| peers.contains(&id))
    }

    fn wants(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|wanted| wanted == part)
    }
}

fn peers_of(list: &str) -> anyhow::Result<Vec<&'static str>> {
    let named = list.split(',').filter(|id| *id != "none");
    named.map(|id| Ok(peers::kind(id)?.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> anyhow::Result<Setting> {
        Setting::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn no_part_named_means_all() {
        let setting = parse("--objects 20000").unwrap();
        assert_eq!((setting.objects, setting.rounds), (20_000, 11));
        assert!(PARTS.iter().all(|part| setting.wants(part)));
        let setting = parse("size --rounds 3 lookup").unwrap();
        assert!(setting.wants("size") && setting.wants("lookup") && !setting.wants("memory"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let says = |line| parse(line).unwrap_err().to_string();
        assert!(says("lookups").contains("'lookups'"));
        assert!(says("--objects").contains("--objects needs a number"));
        assert!(says("--objects 0").contains("from 1 up"));
        assert!(says("--rounds few").contains("'few'"));
        assert!(says("--folder").contains("a folder on a disk"));
        assert!(says("--peers lmdb,rocksdb").contains("'rocksdb'"));
    }

    #[test]
    fn slik_takes_part_beside_the_peers_that_are_named() {
        let setting = parse("--peers lmdb,redb lookup").unwrap();
        assert!(setting.compares("slik") && setting.compares("lmdb") && setting.compares("redb"));
        assert!(!setting.compares("maps") && !setting.compares("sqlite"));
        let alone = parse("--peers none").unwrap();
        assert!(alone.compares("slik") && !alone.compares("lmdb"));
    }
}
