//! A disk that is full: a small tmpfs stands for it. Mounting one takes privileges; without them
//! the tests are skipped and say so.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::common::{Place, installed};

/// A mounted tmpfs, unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one in `place`, or says that the test is skipped.
    fn mount(place: &Place, kib: u32) -> Option<SmallDisk> {
        let path = place.path().join("disk");
        fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kib}k,mode=755"), "tmpfs"])
            .arg(&path)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            eprintln!("skipped: a tmpfs cannot be mounted here");
        }
        mounted.then_some(SmallDisk(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }

    /// Fills it but for less than a page.
    fn fill(&self) {
        let _ = fs::write(self.path().join("filler"), vec![0; 4 << 20]);
        assert!(fs::write(self.path().join("more"), vec![0; 8192]).is_err(), "it is full");
        fs::remove_file(self.path().join("more")).unwrap();
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

#[test]
fn a_store_that_fills_its_disk_fails_its_trial_only() {
    for system in ["sqlite", "redis", "postgres"] {
        if !installed(system) {
            continue;
        }
        let place = Place::new();
        let Some(disk) = SmallDisk::mount(&place, 3 << 10) else { return };
        let finished = place.fails(
            &format!(
                "run ycsb/a -s null,{system} --durability buffered --records 20000 \
                 --operations 1000 --repeats 1 --clients 1 --data-folder disk"
            ),
            &[&format!("{system} on ycsb/a with 1 client")],
        );
        let told = ["full", "No space left", "no space left"];
        assert!(told.iter().any(|text| finished.stderr.contains(text)), "{finished}");
        assert_eq!(place.recorded_systems(), ["null"]);
        assert_eq!(disk.files(), Vec::<PathBuf>::new(), "{finished}");
    }
}

#[test]
fn a_disk_that_is_full_from_the_start_is_named() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place, 64) else { return };
    disk.fill();
    let words = "run ycsb/a -s sqlite --records 1000 --operations 1000 --repeats 1";
    let finished = place.fails(&format!("{words} --data-folder disk"), &["sqlite on ycsb/a"]);
    let told = ["full", "No space left"];
    assert!(told.iter().any(|text| finished.stderr.contains(text)), "{finished}");
    place.fails(&format!("{words} --results disk"), &["disk", "free some space", "--results"]);
    assert_eq!(disk.files(), [disk.path().join("filler")]);
}

#[test]
fn results_that_fill_their_disk_are_kept_up_to_there() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place, 256) else { return };
    fs::set_permissions(disk.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let finished = place.fails(
        "run ycsb/a -s memory --records 100 --operations 100 --repeats 200 --clients 1 \
         --results disk",
        &["cannot write", "free some space", "--results"],
    );
    let shown = place.succeeds("show disk/latest --json");
    let line: serde_json::Value = serde_json::from_str(shown.stdout.trim()).unwrap();
    let kept = line["repeats"].as_u64().unwrap();
    assert!((2..200).contains(&kept), "{kept}\n{finished}");
    let trials = fs::read_dir(place.path().join("disk/latest")).map(drop);
    assert!(trials.is_err(), "latest is a word, not a folder");
    let run = disk.files().remove(0);
    let names: Vec<String> = fs::read_dir(run.join("trials"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names.len() as u64, 2 * kept, "a record and a log each, and no half one: {names:?}");
    assert!(finished.stdout.contains(&format!("{kept} repeats")), "what is kept is shown");
    assert!(!finished.stdout.contains("is not over"), "{finished}");
}
