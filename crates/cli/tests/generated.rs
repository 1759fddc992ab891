//! What the binary says of itself: systems, schema, completions, manual.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use assay_experiment::{Plan, Spec, builtin, plan::Extras, spec::SystemSpec, study};
use assay_model::Durability;
use serde_json::Value;

use crate::common::{Place, readable};

const COMMANDS: [&str; 15] = [
    "run",
    "study",
    "start",
    "plan",
    "rerun",
    "show",
    "report",
    "serve",
    "compare",
    "export",
    "systems",
    "fetch",
    "schema",
    "completions",
    "man",
];

#[test]
fn systems_are_listed_with_what_is_found_and_how_to_get_the_others() {
    let place = Place::new();
    let mut command = place.assay("systems");
    command.env("PATH", "").env("ASSAY_HOME", place.path()).env("ASSAY_VALKEY_BINARY", "/nowhere");
    let finished = place.end(command);
    assert_eq!(finished.code, Some(0), "a missing server is no error here\n{finished}");
    for system in ["null", "memory", "sqlite", "redis", "valkey", "memcached", "postgres"] {
        let listed = |line: &str| line.split_whitespace().nth(1) == Some(system);
        assert!(finished.stdout.lines().any(listed), "{system}\n{finished}");
    }
    assert!(finished.stdout.contains("ASSAY_VALKEY_BINARY names /nowhere"), "{finished}");

    let listed = place.succeeds("systems --json");
    let systems: Vec<Value> = listed.stdout.lines().map(|line| readable(line.as_bytes())).collect();
    assert_eq!(systems.len(), assay_systems::registry::DRIVERS.len());
    for system in &systems {
        let ready = system["ready"].as_bool().unwrap();
        let is_file = |path: &Value| Path::new(path.as_str().unwrap()).is_file();
        match (&system["server"], &system["library"]) {
            (Value::Null, Value::Null) => assert!(ready, "{system}"),
            (server, Value::Null) if ready => {
                assert!(is_file(&server["binary"]), "{system}");
                assert!(!server["version"].as_str().unwrap().is_empty(), "{system}");
            }
            (Value::Null, library) if ready => assert!(is_file(&library["library"]), "{system}"),
            (needed, Value::Null) | (Value::Null, needed) => {
                let missing = needed["missing"].as_str().unwrap();
                let next = [
                    "assay fetch",
                    "no package registry that Assay knows has it: install",
                    "only where a server runs already: install",
                ];
                assert!(next.iter().any(|next| missing.contains(next)), "{system}");
            }
            both => panic!("{system} needs a server and a library: {both:?}"),
        }
        for layout in system["layouts"].as_array().unwrap() {
            assert!(layout["durability"]["none"].is_string(), "{system}");
            for feature in ["scan", "delete", "count"] {
                let support = layout[feature]["support"].as_str().unwrap();
                assert!(["native", "emulated", "unsupported"].contains(&support), "{system}");
            }
        }
    }
}

#[test]
fn everything_of_one_system_is_told() {
    let place = Place::new();
    let finished = place.succeeds("systems sqlite memcached");
    for part in [
        "layout sqlite:row",
        "layout sqlite:json",
        "durability synced: journal_mode=WAL, synchronous=FULL",
        "scans: no: memcached has no ordered keys",
    ] {
        assert!(finished.stdout.contains(part), "{part}\n{finished}");
    }
    place.refuses("systems sqlit", &["sqlit", "assay systems"]);
}

#[test]
fn the_schema_is_what_an_experiment_file_may_hold() {
    let place = Place::new();
    let schema = readable(place.succeeds("schema").stdout.as_bytes());
    let fields = schema["properties"].as_object().unwrap();
    for field in ["systems", "workloads", "records", "clients", "operations", "durability", "seed"]
    {
        assert!(fields[field]["description"].is_string(), "{field}");
    }
    assert_eq!(schema["additionalProperties"], false);
    // Each field that it names is known to the reader, and the reader names no other.
    for field in fields.keys() {
        let refused = Spec::parse(&format!("{field} = 1979-05-27"), "test").map(|_| ());
        let refused = refused.expect_err("no field is a date").to_string();
        let unknown = format!("unknown field `{field}`");
        assert!(!refused.contains(&unknown), "{field}: {refused}");
    }
    let refused = Spec::parse("feilds = 1", "test").unwrap_err().to_string();
    let (_, known) = refused.split_once("expected one of").unwrap();
    assert_eq!(known.matches('`').count() / 2, fields.len() + 1, "and `assay schema`: {known}");
}

#[test]
fn every_shipped_study_can_be_planned() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut folders = vec![studies];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "toml")
                && !path.ends_with("study.toml")
            {
                files.push(path);
            }
        }
    }
    for known in ["ycsb/default.toml", "slik/lookup-by-index-size.toml"] {
        assert!(files.iter().any(|file| file.ends_with(known)), "{known}: {files:?}");
    }
    for file in files {
        let plan = Spec::read(&file).map(|mut spec| {
            // `assay study` leaves out the systems that this build has no driver of.
            let known = |system: &SystemSpec| study::check_system(system, Durability::None).is_ok();
            spec.systems.iter_mut().for_each(|systems| systems.retain(known));
            Plan::resolve(spec, Extras::default())
        });
        match plan {
            Ok(Ok(plan)) => {
                let runnable = plan.cells.iter().any(|cell| cell.unsupported.is_none());
                assert!(runnable, "{}: no system can do it", file.display());
            }
            Ok(Err(error)) => panic!("{}: {error}", file.display()),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn every_builtin_workload_can_be_run() {
    let place = Place::new();
    place.succeeds(&format!(
        "run -q -w {} -s memory --records 200 --operations 200 --repeats 1 --verify",
        builtin::WORKLOADS.join(",")
    ));
    assert_eq!(place.records().len(), builtin::WORKLOADS.len());
}

/// Whether a shell takes the script; `None` if the shell is not here.
fn shell_takes(shell: &str, arguments: &[&str], script: &str) -> Option<bool> {
    let mut child = Command::new(shell)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(script.as_bytes()).ok()?;
    Some(child.wait().ok()?.success())
}

#[test]
fn completions_know_every_command_in_every_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = place.succeeds(&format!("completions {shell}")).stdout;
        for word in COMMANDS.iter().chain(&["data-folder", "durability", "across"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
        if shell_takes(shell, &["-n"], &script) == Some(false) {
            panic!("{shell} does not take its completions");
        }
    }
    let refused = place.run("completions tcsh");
    assert_eq!(refused.code, Some(2));
    refused.says(&["tcsh", "bash"]);
}

#[test]
fn the_manual_has_every_command_and_option() {
    let place = Place::new();
    let page = place.succeeds("man").stdout;
    assert!(page.contains(".TH assay 1"), "{page}");
    let plain = page.replace('\\', "");
    for command in COMMANDS {
        assert!(plain.contains(&format!("assay {command}")), "{command}");
    }
    for option in ["--systems", "--data-folder", "--across", "--results"] {
        assert!(plain.contains(option), "{option}");
    }
    for (words, code) in [("--help", 0), ("--version", 0), ("", 2), ("weigh", 2)] {
        assert_eq!(place.run(words).code, Some(code), "{words}");
    }
}
