//! Where the stores of a run keep their data: as asked for, on a RAM disk, or on a disk if that is promised.

use std::path::{Path, PathBuf};

use assay_experiment::{Plan, TargetPlan};
use assay_measure::file_system;

use crate::mistake::mistaken;

/// The RAM disk that nearly every Linux has.
const RAM_DISK: &str = "/dev/shm";

/// The folder for a plan, `None` for that of temporary files, and what the user should know of the choice.
pub fn choose(plan: &Plan) -> anyhow::Result<(Option<PathBuf>, Option<String>)> {
    if plan.cells.iter().any(|cell| cell.ram_disk) {
        let folder = plan.data_folder.clone().unwrap_or_else(|| RAM_DISK.into());
        check_folder(&folder)?;
        check_ram_disk(plan, &folder)?;
        return Ok((Some(folder), None));
    }
    if let Some(given) = &plan.data_folder {
        check_folder(given)?;
        return Ok((Some(given.clone()), None));
    }
    check_folder(&std::env::temp_dir())?;
    Ok(on_disk_if_promised(plan).map(|(folder, why)| (Some(folder), Some(why))).unwrap_or_default())
}

fn check_folder(folder: &Path) -> anyhow::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    mistaken!("{} is no folder: choose another with --data-folder", folder.display())
}

/// Whether the folder is on a RAM disk with room for the stores that are up at once. The room is an estimate:
/// a disk that fills up all the same is an error of its own.
fn check_ram_disk(plan: &Plan, folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    let next =
        "name a RAM disk with --data-folder, as made by mount -t tmpfs -o size=8g tmpfs /mnt/ram";
    match file_system::in_memory(folder) {
        Ok(Some(_)) => {}
        Ok(None) => mistaken!("{shown} is on no RAM disk (tmpfs or ramfs): {next}"),
        Err(error) => mistaken!("{shown} cannot be looked at: {error}; {next}"),
    }
    let of = |entry: &Vec<usize>| {
        entry.iter().map(|cell| plan.cells[*cell].file_bytes()).fold(0, u64::saturating_add)
    };
    let needed = plan.round(0).iter().map(of).max().unwrap_or(0);
    match file_system::free_bytes(folder) {
        Ok(free) if free >= needed => Ok(()),
        Ok(free) => mistaken!(
            "the RAM disk {shown} has room for {}, and the stores that are up at once need about {}: load \
             fewer records, or {next}",
            gigabytes(free),
            gigabytes(needed),
        ),
        Err(error) => mistaken!("how much room {shown} has cannot be told: {error}; {next}"),
    }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Where files outlast a restart, and so are on a disk nearly everywhere (FHS 3.0, 5.15).
const LASTING: &str = "/var/tmp";

/// Another data folder than the default one, and why, if that is in memory although a store that is
/// to keep its data there promises storage.
fn on_disk_if_promised(plan: &Plan) -> Option<(PathBuf, String)> {
    let promised = plan.cells.iter().any(|cell| {
        let here = !matches!(cell.system.target, TargetPlan::Attach { .. });
        here && cell.unsupported.is_none() && cell.promises_storage()
    });
    if !promised {
        return None;
    }
    let (usual, lasting) = (std::env::temp_dir(), Path::new(LASTING));
    let name = file_system::in_memory(&usual).ok()??;
    let better = matches!(file_system::in_memory(lasting), Ok(None));
    better.then(|| {
        let usual = usual.display();
        let why = format!(
            "stores keep their data in {LASTING}: {usual} is on {name}, where nothing is on \
             stable storage (--data-folder names another)"
        );
        (lasting.to_owned(), why)
    })
}
