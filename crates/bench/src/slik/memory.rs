//! Memory of an object with one index, of each store in a fresh process.

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use procfs::process::Process;

use super::{
    Setting,
    disk::file_bytes,
    entrant,
    objects::{INDEX, KEY_BYTES, VALUE_BYTES, digest, primary, secondary, value},
    peers::{self, KINDS, Kind},
};
use crate::table::{Promise, heading};

/// The part that this program calls itself by, once for each store.
pub const CHILD: &str = "memory-of";

/// Bytes of an object: its keys and its value.
const BYTES: usize = 2 * KEY_BYTES + VALUE_BYTES;
/// Most that slik may take of those, and besides.
const MOST: f64 = 1.5 * BYTES as f64 + 64.0;
/// Every how manieth object the child looks up, so that it measures a store that works.
const LOOKED_AT: usize = 97;

/// What a store takes, in bytes.
struct Taken {
    /// Growth of the resident set.
    resident: u64,
    /// Its files.
    files: u64,
    /// By its own account.
    account: Option<u64>,
}

/// Prints the figures.
pub fn run(setting: &Setting) -> anyhow::Result<()> {
    heading(&format!(
        "Memory, bytes an object ({BYTES} of its own, one index), {} objects",
        setting.objects
    ));
    println!("{:<30} {:>10} {:>10} {:>12}", "", "process", "files", "own account");
    for kind in KINDS.iter().filter(|kind| setting.compares(kind.id)) {
        let taken = in_child(kind, setting.objects)?;
        let each = |bytes: u64| bytes as f64 / f64::from(setting.objects);
        let account = taken.account.map_or("–".into(), |bytes| format!("{:.0}", each(bytes)));
        let files =
            if taken.files > 0 { format!("{:.0}", each(taken.files)) } else { "–".into() };
        let verdict = match kind.id {
            "slik" => Promise::AtMost(MOST).verdict(each(taken.resident)),
            _ => String::new(),
        };
        println!(
            "{:<30} {:>10.0} {files:>10} {account:>12}  {verdict}",
            kind.name,
            each(taken.resident)
        );
    }
    if setting.compares("lmdb") {
        println!("LMDB's file is mapped, and counts in its process as well.");
    }
    Ok(())
}

fn in_child(kind: &Kind, objects: u32) -> anyhow::Result<Taken> {
    let output = Command::new("/proc/self/exe")
        .args(["slik", CHILD, kind.id, &objects.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run this program again")?;
    ensure!(output.status.success(), "measuring {} ended with {}", kind.name, output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<Option<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [Some(resident), Some(files), account] => Ok(Taken { resident, files, account }),
        _ => anyhow::bail!("measuring {} printed '{text}'", kind.name),
    }
}

/// Loads the store named `id` in this process and prints what it takes.
pub fn child(id: &str, objects: u32) -> anyhow::Result<()> {
    let kind = peers::kind(id)?;
    let folder = entrant::folder()?;
    let before = resident_bytes()?;
    let mut store = (kind.open)(folder.path())?;
    store.load(objects)?;
    for number in (0..objects).step_by(LOOKED_AT) {
        let found = store.lookup(&secondary(INDEX, number, 0))?;
        let expected = digest(&primary(number), &value(number, 0));
        ensure!(found == Some(expected), "{} has lost object {number}", kind.name);
    }
    let resident = resident_bytes()?.saturating_sub(before);
    let files = file_bytes(folder.path())?;
    let account = store.account_bytes()?.map_or("-".into(), |bytes| bytes.to_string());
    println!("{resident} {files} {account}");
    Ok(())
}

fn resident_bytes() -> anyhow::Result<u64> {
    let pages = Process::myself()?.statm()?.resident;
    Ok(pages * procfs::page_size())
}
