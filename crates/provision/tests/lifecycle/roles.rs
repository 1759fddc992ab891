//! The other parts that this program plays: a parent that holds a server or a folder and ends.

use std::{
    io::{Read, Write},
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
};

use assay_provision::{Folder, Folders, library, recipe};

use crate::world;

/// The ways in which a parent ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The value is dropped and `main` returns.
    Drop,
    /// It is stopped and asked whether that worked.
    Stop,
    /// `main` returns an error while it is still held.
    Error,
    /// `exit` without a drop.
    Exit,
    Panic,
    Abort,
    /// From outside: a terminal's Ctrl-C, `kill`, `kill -9`.
    Interrupted,
    Terminated,
    Killed,
}

impl Ending {
    pub const ALL: [Ending; 9] = [
        Ending::Drop,
        Ending::Stop,
        Ending::Error,
        Ending::Exit,
        Ending::Panic,
        Ending::Abort,
        Ending::Interrupted,
        Ending::Terminated,
        Ending::Killed,
    ];
}

/// This program, in the part that `args` say, in a process group of its own.
pub fn spawn(args: &[&str]) -> Child {
    use std::os::unix::process::CommandExt;
    Command::new(std::env::current_exe().expect("this program has a path"))
        .arg("role")
        .args(args)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program runs")
}

/// Plays the part that `args` say.
pub fn play(args: &[String]) -> ExitCode {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["holder", "folder", parent, ending] => hold_folder(Path::new(parent), ending),
        ["holder", name, parent, ending] => hold_server(name, Path::new(parent), ending),
        ["fetcher", name, own] => fetch(name, own),
        _ => panic!("no such part: {args:?}"),
    }
}

fn hold_server(name: &str, parent: &Path, ending: &str) -> ExitCode {
    let installed = world::installed(name).expect("looked for before");
    let server = world::start(world::launch(&installed, parent));
    tell(server.warden_pid(), server.folder());
    end(ending, server, |server| server.stop().expect("it stops"))
}

fn hold_folder(parent: &Path, ending: &str) -> ExitCode {
    let folder = Folder::create(parent, &world::warden()).expect("a folder");
    std::fs::write(folder.path().join("records"), "kept for a moment").expect("written");
    let warden = world::descendants(std::process::id())[0];
    tell(warden, folder.path().parent().expect("the kept folder"));
    end(ending, folder, |folder| folder.close().expect("it is removed"))
}

fn fetch(name: &str, own: &str) -> ExitCode {
    let folders = Folders { own: own.into(), ..Folders::from_env() };
    let fetched = match library(name) {
        Some(library) => assay_provision::fetch_library(library, &folders, &mut |_| ())
            .map(|installed| installed.path),
        None => assay_provision::fetch(recipe(name).expect("a recipe"), &folders, &mut |_| ())
            .map(|installed| installed.binary),
    };
    match fetched {
        Ok(path) => {
            println!("fetched {}", path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn tell(warden: u32, folder: &Path) {
    println!("{warden} {}", folder.display());
    std::io::stdout().flush().expect("the test listens");
    // Until the test has looked around.
    let mut word = [0];
    std::io::stdin().read_exact(&mut word).expect("the test speaks");
}

fn end<T>(ending: &str, held: T, stop: impl FnOnce(T)) -> ExitCode {
    let ending = Ending::ALL.into_iter().find(|known| format!("{known:?}") == ending);
    match ending.expect("a known ending") {
        Ending::Drop => drop(held),
        Ending::Stop => stop(held),
        Ending::Error => return ExitCode::FAILURE,
        Ending::Exit => std::process::exit(3),
        Ending::Panic => panic!("as asked"),
        Ending::Abort => std::process::abort(),
        Ending::Interrupted | Ending::Terminated | Ending::Killed => loop {
            std::thread::park();
        },
    }
    ExitCode::SUCCESS
}
