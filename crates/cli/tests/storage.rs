//! Where stores keep their data, and what is said if that is in memory.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use assay_measure::file_system;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Place, installed, readable};

const TINY: &str = "--records 100 --operations 200 --repeats 1 --clients 1";

/// An empty folder in memory, if this machine has one.
pub fn in_memory() -> Option<TempDir> {
    let folder = tempfile::tempdir_in("/dev/shm").ok()?;
    // When Assay is root, its servers run as somebody who must be able to pass.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).ok()?;
    let found = file_system::in_memory(folder.path()).ok().flatten();
    if found.is_none() {
        eprintln!("skipped: /dev/shm is not in memory");
    }
    found.map(|_| folder)
}

/// What a record says of its data folder.
fn said(record: &Value) -> Option<&str> {
    let caveats = record["caveats"].as_array().unwrap();
    let of_storage = caveats.iter().find(|caveat| caveat["code"] == "not_on_storage")?;
    of_storage["text"].as_str()
}

#[test]
fn what_is_synced_to_memory_is_not_called_stored() {
    let Some(folder) = in_memory() else { return };
    let named = folder.path().display();
    let systems: Vec<&str> = ["null", "slik", "sqlite"]
        .into_iter()
        .chain(installed("redis").then_some("redis"))
        .collect();
    for level in ["buffered", "synced"] {
        let place = Place::new();
        let systems: Vec<&str> = match level {
            "synced" => systems.clone(),
            _ => vec!["slik"],
        };
        place.succeeds(&format!(
            "run ycsb/a -s {} --durability {level} --data-folder {named} {TINY}",
            systems.join(",")
        ));
        for record in place.records() {
            let told = said(&record);
            if record["system"] == "null" {
                assert_eq!(told, None, "it stores nothing anywhere");
            } else {
                assert!(told.unwrap().contains("tmpfs"), "{record}");
            }
        }
        let report = readable(place.succeeds("report --json").stdout.as_bytes());
        let first = &report["caveats"][0];
        assert_eq!((&first["code"], &first["kind"]), (&"not_on_storage".into(), &"severe".into()));
    }
    let place = Place::new();
    place.succeeds(&format!("run ycsb/a -s sqlite --data-folder {named} {TINY}"));
    assert_eq!(said(&place.records()[0]), None, "nothing was promised");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_temporary_folder_in_memory_is_left_for_one_on_a_disk_where_storage_is_promised() {
    let Some(folder) = in_memory() else { return };
    if !matches!(file_system::in_memory(Path::new("/var/tmp")), Ok(None)) {
        eprintln!("skipped: /var/tmp is not on a disk");
        return;
    }
    for (words, moved, is_told) in [
        ("-s sqlite --durability synced", true, true),
        ("-s sqlite --durability synced --quiet", true, false),
        ("-s sqlite --durability none", false, false),
        ("-s null --durability synced", false, false),
    ] {
        let place = Place::new();
        let mut command = place.assay(&format!("run ycsb/a {TINY} {words}"));
        let finished = place.end({
            command.env("TMPDIR", folder.path());
            command
        });
        assert_eq!(finished.code, Some(0), "{finished}");
        let told = "stores keep their data in /var/tmp";
        assert_eq!(finished.stderr.contains(told), is_told, "{finished}");
        let header = readable(&fs::read(place.only_run().join("run.json")).unwrap());
        let kept = &header["plan"]["data_folder"];
        assert_eq!(*kept, if moved { Value::from("/var/tmp") } else { Value::Null });
        assert_eq!(said(&place.records()[0]), None, "{finished}");
    }
}
