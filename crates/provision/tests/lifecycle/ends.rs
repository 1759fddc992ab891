//! However Assay, the warden or the server ends, nothing is left.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    time::Duration,
};

use assay_provision::{Folders, StartError, find, recipe, sweep};
use rustix::process::Signal;

use crate::{
    roles::{self, Ending},
    world::{
        await_that, descendants, entries, installed, is_running, launch, place, session, signal,
        signal_group, start,
    },
};

pub fn redis_goes_however_its_parent_ends() {
    goes_however_its_parent_ends("redis");
}

pub fn postgres_goes_however_its_parent_ends() {
    goes_however_its_parent_ends("postgres");
}

pub fn riak_goes_however_its_parent_ends() {
    goes_however_its_parent_ends("riak");
}

fn goes_however_its_parent_ends(name: &str) {
    if installed(name).is_none() {
        return;
    }
    for ending in Ending::ALL {
        let processes = goes_when_its_parent_ends(name, ending);
        assert!(processes >= 2, "{name}: a warden and a server ran, not {processes} processes");
    }
}

pub fn a_cluster_goes_however_its_parent_ends() {
    for name in ["redis-cluster", "valkey-cluster", "redis-instances"] {
        if installed(name).is_none() {
            continue;
        }
        for ending in [Ending::Stop, Ending::Panic, Ending::Interrupted, Ending::Killed] {
            let processes = goes_when_its_parent_ends(name, ending);
            assert!(processes >= 4, "{name}: a warden and three nodes ran, not {processes}");
        }
    }
}

pub fn a_folder_goes_however_its_parent_ends() {
    for ending in Ending::ALL {
        goes_when_its_parent_ends("folder", ending);
    }
}

/// Returns how many processes there were to go.
fn goes_when_its_parent_ends(what: &str, ending: Ending) -> usize {
    let place = place();
    let parent = place.path().to_str().expect("a plain path");
    let mut holder = roles::spawn(&["holder", what, parent, &format!("{ending:?}")]);
    let mut line = String::new();
    let stdout = holder.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("the holder speaks");
    let (warden, folder) = line.trim_end().split_once(' ').expect("a warden and a folder");
    let warden: u32 = warden.parse().expect("a process number");
    let folder = PathBuf::from(folder);
    let mut processes = descendants(warden);
    processes.push(warden);
    // A backend of PostgreSQL may just have ended with its session.
    processes.retain(|&pid| is_running(pid));
    assert!(processes.contains(&warden), "{what} is kept");
    assert!(folder.is_dir(), "{}", folder.display());

    holder.stdin.take().expect("piped").write_all(b"x").expect("the holder listens");
    match ending {
        Ending::Interrupted => signal_group(holder.id(), Signal::INT),
        Ending::Terminated => signal(holder.id(), Signal::TERM),
        Ending::Killed => signal(holder.id(), Signal::KILL),
        _ => {}
    }
    let status = holder.wait().expect("the holder ends");
    assert_eq!(status.success(), matches!(ending, Ending::Drop | Ending::Stop), "{ending:?}");
    if ending == Ending::Stop {
        assert!(!folder.exists(), "stop returns when all is gone");
    }
    await_that(&format!("{what} gone after {ending:?}"), || {
        !folder.exists() && !processes.iter().any(|&pid| is_running(pid))
    });
    assert_eq!(entries(place.path()), Vec::<PathBuf>::new(), "{ending:?}");
    processes.len()
}

pub fn a_kill_while_postgres_is_prepared() {
    if installed("postgres").is_none() {
        return;
    }
    let place = place();
    let parent = place.path().to_str().expect("a plain path");
    let mut holder = roles::spawn(&["holder", "postgres", parent, "Killed"]);
    // The data folder is filled by initdb from its first file on.
    await_that("initdb at work", || {
        entries(place.path()).iter().any(|folder| {
            fs::read_dir(folder.join("data")).is_ok_and(|mut files| files.next().is_some())
        })
    });
    let processes = descendants(holder.id());
    assert!(!processes.is_empty());
    signal(holder.id(), Signal::KILL);
    holder.wait().expect("killed");
    await_that("initdb and its folder gone", || {
        entries(place.path()).is_empty() && !processes.iter().any(|&pid| is_running(pid))
    });
}

pub fn a_killed_warden_takes_its_server_along() {
    for name in ["redis", "postgres", "hyper", "monetdb", "mariadb"] {
        let Some(installed) = installed(name) else { continue };
        let place = place();
        let server = start(launch(&installed, place.path()));
        let processes = descendants(server.warden_pid());
        assert!(processes.contains(&server.pid()));
        assert_eq!(sweep(place.path()), Vec::<PathBuf>::new(), "its warden lives");

        signal(server.warden_pid(), Signal::KILL);

        await_that("the server's end", || !processes.iter().any(|&pid| is_running(pid)));
        await_that("a report", || server.exited().is_some());
        let report = server.exited().expect("just awaited");
        assert!(report.status.contains("warden") && report.status.contains("SIGKILL"), "{report}");
        let folder = server.folder().to_path_buf();
        assert!(folder.exists(), "nobody was left to remove it");
        let error = server.stop().expect_err("the folder is left").to_string();
        assert!(error.contains(&folder.display().to_string()), "{error}");

        assert_eq!(sweep(place.path()), [folder]);
        assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
    }
}

/// Ctrl-C reaches every process of the terminal's session that is in the foreground.
pub fn a_terminal_does_not_reach_the_server() {
    let Some(installed) = installed("redis") else { return };
    let place = place();
    let server = start(launch(&installed, place.path()));
    assert_ne!(session(server.pid()), session(std::process::id()));
    assert_eq!(session(server.pid()), session(server.warden_pid()));
}

pub fn a_terminated_warden_cleans_up() {
    let Some(installed) = installed("redis") else { return };
    let place = place();
    let server = start(launch(&installed, place.path()));
    // What a closing terminal sends is no reason to stop.
    signal(server.warden_pid(), Signal::HUP);
    signal(server.warden_pid(), Signal::INT);
    signal(server.warden_pid(), Signal::TERM);
    await_that("everything gone", || !is_running(server.pid()) && entries(place.path()).is_empty());
    await_that("a report", || server.exited().is_some());
    server.stop().expect("nothing is left to do");
}

pub fn a_killed_server_is_reported() {
    for name in ["redis", "memcached", "postgres", "hyper", "monetdb", "mariadb"] {
        let Some(installed) = installed(name) else { continue };
        let place = place();
        let server = start(launch(&installed, place.path()));
        assert_eq!(server.exited(), None);
        signal(server.pid(), Signal::KILL);
        await_that("a report", || server.exited().is_some());
        let report = server.exited().expect("just awaited");
        assert_eq!(report.status, "killed by signal 9, SIGKILL");
        assert_eq!(report.log, server.log_tail(12));
        server.stop().expect("the folder goes");
        assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
    }
}

pub fn a_server_that_does_not_stop_is_killed() {
    let Some(installed) = installed("redis") else { return };
    let place = place();
    let server = start(launch(&installed, place.path()));
    let pid = server.pid();
    signal(pid, Signal::STOP);
    server.stop().expect("killed after the grace period");
    assert!(!is_running(pid));
    assert_eq!(entries(place.path()), Vec::<PathBuf>::new());
}

/// A server that leaves a process in another session, and never answers.
pub fn orphans_of_a_server_that_fails_are_killed() {
    let place = place();
    let notes = place.path().join("notes");
    fs::create_dir(&notes).expect("created");
    fs::set_permissions(&notes, fs::Permissions::from_mode(0o777)).expect("set");
    let program = place.path().join("redis-server");
    let script = format!(
        "#!/bin/sh\n\
         [ \"$1\" = --version ] && {{ echo 'Redis server v=0.0.1 fake'; exit; }}\n\
         echo 'this server never listens'\n\
         (setsid sh -c 'echo $$ > {notes}/written; mv {notes}/written {notes}/orphan; \
         exec sleep 600' &)\n\
         while [ ! -e {notes}/orphan ]; do sleep 0.01; done\n\
         exec sleep 600\n",
        notes = notes.display()
    );
    fs::write(&program, script).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
    let mut folders = Folders::from_env();
    folders.overrides.insert("redis".into(), program);
    let fake = find(recipe("redis").expect("listed"), &folders).expect("runs").expect("named");

    let parent = place.path().join("parent");
    fs::create_dir(&parent).expect("created");
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o755)).expect("set");
    let mut launch = launch(&fake, &parent);
    launch.ready_timeout = Duration::from_secs(2);
    let error = assay_provision::start(launch).expect_err("it never answers");
    match &error {
        StartError::NotReady { log, .. } => assert_eq!(log, &["this server never listens"]),
        other => panic!("{other}"),
    }
    let orphan = fs::read_to_string(notes.join("orphan")).expect("it ran");
    assert!(!is_running(orphan.trim().parse().expect("a process number")));
    assert_eq!(entries(&parent), Vec::<PathBuf>::new());
}
