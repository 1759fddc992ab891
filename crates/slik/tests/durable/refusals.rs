//! Stores that cannot be opened, or not be written to.

use std::fs;
use std::io::ErrorKind;
use std::process::{Command, Stdio};

use slik::{DamagedLog, Durability, Error, Options, Query, Store};

use crate::power::Mount;

const OPENED: &str = "SLIK_OPENED_ELSEWHERE";

#[test]
fn a_folder_that_holds_something_else_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("documents");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("thesis.txt"), "years of work").unwrap();
    let refused = Store::open(&path).map(drop).unwrap_err();
    assert_eq!(refused, Error::NotAStore { path: path.clone(), found: "thesis.txt".into() });
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "nothing was made there");
    fs::remove_file(path.join("thesis.txt")).unwrap();
    // The root of a file system.
    fs::create_dir(path.join("lost+found")).unwrap();
    Store::open(&path).unwrap().close().unwrap();
    // What is put beside a store later is no reason to refuse it.
    fs::write(path.join("notes"), "").unwrap();
    Store::open(&path).unwrap();
}

#[test]
#[ignore = "started by the test of a second opener"]
fn a_process_that_opens_a_store() {
    let Ok(folder) = std::env::var(OPENED) else { return };
    println!("@{}", Store::open(folder).err().map_or("opened".into(), |e| e.to_string()));
}

#[test]
fn a_second_opener_is_told_that_the_store_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let locked = Error::Locked { path: folder.path().into() };
    assert_eq!(Store::open(folder.path()).err(), Some(locked.clone()));
    let elsewhere = || {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "refusals::a_process_that_opens_a_store", "--ignored", "--nocapture"])
            .env(OPENED, folder.path())
            .stderr(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(elsewhere().contains(&format!("@{locked}")));
    // A table keeps it open as well.
    let table = store.create_table("t").unwrap();
    drop(store);
    assert_eq!(Store::open(folder.path()).err(), Some(locked));
    drop(table);
    assert!(elsewhere().contains("@opened"));
    assert!(Store::open(folder.path()).unwrap().table("t").is_ok());
}

#[test]
fn a_newer_format_is_refused_by_its_number_and_no_format_as_damage() {
    let folder = tempfile::tempdir().unwrap();
    drop(Store::open(folder.path()).unwrap());
    let path = folder.path().join("data/format");
    let known = fs::read_to_string(&path).unwrap();
    // "slik 2" with its checksum.
    let newer = "slik 2 0d7b6a9a9b0d6a55\n";
    let with_checksum =
        |line: &str| format!("{line} {:016x}\n", xxhash_rust::xxh3::xxh3_64(line.as_bytes()));
    assert_eq!(known, with_checksum("slik 1"));
    fs::write(&path, with_checksum("slik 2")).unwrap();
    let refused = Store::open(folder.path()).err().unwrap();
    assert_eq!(refused, Error::NewerFormat { path: folder.path().into(), found: 2, known: 1 });
    assert!(refused.to_string().contains("has format 2"));
    for wrong in [newer, "", "slik 1\n", "something else"] {
        fs::write(&path, wrong).unwrap();
        assert!(
            matches!(Store::open(folder.path()), Err(Error::Damaged { path: p, .. }) if p == path)
        );
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(Store::open(folder.path()), Err(Error::Io { path: p, .. }) if p == path));
    fs::write(&path, known).unwrap();
    assert!(Store::open(folder.path()).is_ok());
}

#[test]
fn a_path_that_is_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "text").unwrap();
    let refused = Store::open(&path).err().unwrap();
    assert!(matches!(refused, Error::Io { .. }));
    assert!(refused.to_string().contains("a store is a folder"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), b"text");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    let Some(mount) = Mount::new(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"], &path) else {
        println!("skipped: it needs root, to mount a file system");
        return;
    };
    let store = Store::open(mount.0.join("store")).unwrap();
    store.create_table("t").unwrap().write(b"p", &[], b"v").unwrap();
    store.close().unwrap();
    let read_only = Mount::new(&["-o", "remount,ro"], &path).unwrap();
    let refused = Store::open(mount.0.join("store")).err().unwrap();
    assert!(matches!(&refused, Error::Io { kind: ErrorKind::ReadOnlyFilesystem, .. }), "{refused}");
    assert!(refused.to_string().contains("must be able to write"));
    std::mem::forget(read_only);
    let writable = Mount::new(&["-o", "remount,rw"], &path).unwrap();
    let store = Store::open(mount.0.join("store")).unwrap();
    assert!(store.table("t").unwrap().read(b"p").unwrap().is_some());
    std::mem::forget(writable);
}

#[test]
fn a_full_disk_stops_writes_and_nothing_acknowledged_is_lost() {
    for durability in [Durability::Buffered, Durability::Synced] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let Some(mount) = Mount::new(&["-t", "tmpfs", "-o", "size=2m", "tmpfs"], &path) else {
            println!("skipped: it needs root, to mount a file system");
            return;
        };
        let options = Options { durability, ..Options::default() };
        let store = Store::open_with(mount.0.join("store"), &options).unwrap();
        let table = store.create_table("t").unwrap();
        table.create_index(1).unwrap();
        let key = |i: u32| i.to_be_bytes();
        let (written, error) = (0..)
            .find_map(|i| table.write(&key(i), &[(1, &key(i))], &[7; 1000]).err().map(|e| (i, e)))
            .unwrap();
        assert!(matches!(&error, Error::Io { kind: ErrorKind::StorageFull, .. }), "{error}");
        assert!(error.to_string().contains("free some space"));
        assert!(written > 1_000, "full after {written} objects of 1 kB");
        // Not published, and its entry taken back.
        assert_eq!(table.read(&key(written)), Ok(None));
        let count = |table: &slik::Table| table.lookup(1, &Query::all()).unwrap().count();
        assert_eq!(count(&table), written as usize);
        assert_eq!(table.stats().indexes[0].entries, written as usize);
        // Writes are refused, in whatever table, and reads go on.
        for refused in [
            table.write(b"small", &[], b"").map(drop),
            table.remove(&key(0)).map(drop),
            table.create_index(2),
            table.drop_index(1),
            store.create_table("u").map(drop),
            store.drop_table("t"),
        ] {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, Error::WritesStopped { .. }), "{refused}");
            assert!(refused.to_string().contains("reads go on"));
        }
        assert_eq!(count(&table), written as usize);
        assert!(matches!(store.close(), Err(Error::WritesStopped { .. })));
        assert!(matches!(table.write(b"small", &[], b""), Err(Error::WritesStopped { .. })));
        drop((store, table));
        // With more room it goes on.
        std::mem::forget(Mount::new(&["-o", "remount,size=8m"], &path).unwrap());
        let store = Store::open_with(mount.0.join("store"), &options).unwrap();
        let table = store.table("t").unwrap();
        let found = count(&table);
        // The write that failed may have come through after all.
        assert!(found == written as usize || found == written as usize + 1, "{found}");
        table.write(&key(written), &[(1, &key(written))], b"now").unwrap();
        assert_eq!(count(&table), written as usize + 1);
    }
}

#[test]
fn a_closed_store_answers_reads_and_refuses_changes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let table = store.create_table("t").unwrap();
    table.create_index(1).unwrap();
    table.write(b"p", &[(1, b"k")], b"v").unwrap();
    assert!(store.stats().disk_bytes > 0);
    store.close().unwrap();
    store.close().unwrap();
    let again = Store::open(folder.path()).unwrap();
    let closed = Error::Closed { path: folder.path().into() };
    assert_eq!(table.write(b"p", &[], b"").as_ref(), Err(&closed));
    assert_eq!(table.write(b"q", &[(1, b"k")], b"").as_ref(), Err(&closed));
    assert_eq!(table.remove(b"p").as_ref(), Err(&closed));
    assert_eq!(table.create_index(2).as_ref(), Err(&closed));
    assert_eq!(table.drop_index(1).as_ref(), Err(&closed));
    assert_eq!(store.create_table("u").err().as_ref(), Some(&closed));
    assert_eq!(store.drop_table("t").as_ref(), Err(&closed));
    assert_eq!(store.set_durability(Durability::Synced).as_ref(), Err(&closed));
    assert_eq!(table.lookup(1, &Query::key(b"k")).unwrap().count(), 1);
    assert_eq!(table.stats().indexes.len(), 1);
    let other = again.table("t").unwrap();
    assert_eq!(other.read(b"p").unwrap(), table.read(b"p").unwrap());
}

#[test]
fn a_store_over_its_memory_limit_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let table = store.create_table("t").unwrap();
    for i in 0..1_000u32 {
        table.write(&i.to_be_bytes(), &[], &[7; 100]).unwrap();
    }
    drop((store, table));
    let small = Options { memory_limit_bytes: Some(50_000), ..Options::default() };
    let refused = Store::open_with(folder.path(), &small).err();
    assert!(matches!(refused, Some(Error::MemoryLimit { .. })));
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.stats().objects(), 1_000);
}

#[test]
fn a_dropped_table_is_gone_and_its_name_free() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..3u8 {
        let store = Store::open(folder.path()).unwrap();
        assert!(matches!(store.table("t"), Err(Error::NoTable { .. })));
        let table = store.create_table("t").unwrap();
        for i in 0..10_000u32 {
            table.write(&i.to_be_bytes(), &[(1, &[round])], b"v").unwrap();
        }
        if round < 2 {
            store.drop_table("t").unwrap();
            assert!(matches!(table.write(b"p", &[], b""), Err(Error::TableDropped { .. })));
            let again = store.create_table("t").unwrap();
            assert_eq!(again.read(&0u32.to_be_bytes()), Ok(None));
            store.drop_table("t").unwrap();
        }
    }
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.stats().objects(), 10_000);
}

#[test]
fn tables_larger_than_a_memtable_come_back_and_their_versions_rise() {
    let folder = tempfile::tempdir().unwrap();
    let key = |i: u32| i.wrapping_mul(0x9e37_79b9).to_be_bytes();
    let mut last = 0;
    for round in 1..3u8 {
        let options = Options { damaged_log: DamagedLog::Refuse, ..Options::default() };
        let store = Store::open_with(folder.path(), &options).unwrap();
        let table = store.table("t").or_else(|_| store.create_table("t")).unwrap();
        let _ = table.create_index(1);
        // More than two memtables, so that much is in the tables of the log's database.
        for i in 0..30_000 {
            let version = table.write(&key(i), &[(1, &key(i ^ 77))], &[round; 3_000]).unwrap();
            if i == 0 {
                assert!(version > last);
                last = version;
            }
        }
        for i in 0..1_000 {
            assert!(table.remove(&key(i)).unwrap().is_some());
        }
    }
    let store = Store::open(folder.path()).unwrap();
    let table = store.table("t").unwrap();
    assert_eq!(table.stats().objects, 29_000);
    assert_eq!(table.stats().indexes[0].entries, 29_000);
    for i in 0..30_000 {
        let object = table.read(&key(i)).unwrap();
        assert_eq!(object.map(|o| o.value().to_vec()), (i >= 1_000).then(|| vec![2; 3_000]));
    }
    assert!(table.write(&key(0), &[], b"").unwrap() > last);
}
