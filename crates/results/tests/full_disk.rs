//! What happens when the disk fills up: a clear error, whole records before it, no half one.
//!
//! A small tmpfs stands for the disk. Mounting one takes privileges; without them the test says
//! that it was left out.

use std::{fs, path::Path, process::Command};

use assay_results::{Run, RunFolder, RunHeader, RunStatus, TrialRecord};

/// A mounted tmpfs, unmounted when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(kib: u32) -> Option<SmallDisk> {
        let place = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"])
            .arg(place.path())
            .status()
            .is_ok_and(|status| status.success());
        mounted.then(|| SmallDisk(place))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

fn header() -> RunHeader {
    RunHeader::starting(vec![], serde_json::Value::Null)
}

#[test]
fn a_disk_that_fills_up_keeps_the_records_so_far() {
    let Some(disk) = SmallDisk::mount(128) else {
        eprintln!("left out: a tmpfs cannot be mounted here");
        return;
    };
    let mut folder = RunFolder::create(disk.path(), header()).unwrap();
    let log = "#".repeat(20_000);
    let mut written = 0;
    let error = loop {
        let record = TrialRecord { trial: written + 1, ..TrialRecord::default() };
        match folder.write_trial(&record, Some(log.as_bytes())) {
            Ok(_) => written += 1,
            Err(error) => break error.to_string(),
        }
        assert!(written < 100, "the disk never filled up");
    };
    assert!(error.contains("free some space") && error.contains("--results"), "{error}");
    let finished = folder.finish(RunStatus::Interrupted);
    let run = Run::open(folder.path()).unwrap();
    assert_eq!(run.trials.len() as u32, written);
    let wanted = if finished.is_ok() { RunStatus::Interrupted } else { RunStatus::Running };
    assert_eq!(run.header.status, wanted);
    for trial in &run.trials {
        assert_eq!(fs::read_to_string(run.interval_log_path(trial).unwrap()).unwrap(), log);
    }
    let files = fs::read_dir(folder.path().join("trials")).unwrap().count() as u32;
    assert_eq!(files, 2 * written, "nothing half-written is left");
}

#[test]
fn a_full_disk_leaves_no_empty_run_behind() {
    let Some(disk) = SmallDisk::mount(16) else {
        eprintln!("left out: a tmpfs cannot be mounted here");
        return;
    };
    // The rest of a page may stay free; it is less than a header takes.
    let _ = fs::write(disk.path().join("filler"), vec![0; 64 * 1024]);
    let error = RunFolder::create(disk.path(), header()).unwrap_err().to_string();
    assert!(error.contains("free some space"), "{error}");
    let folders =
        fs::read_dir(disk.path()).unwrap().filter(|e| e.as_ref().unwrap().path().is_dir());
    assert_eq!(folders.count(), 0);
}
