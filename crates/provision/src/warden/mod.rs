//! The process that keeps one temporary folder, and the server in it, and takes both away when
//! Assay ends.
//!
//! Assay cannot clean up after its own `kill -9`, so it does not clean up at all: it runs a warden
//! per folder and holds the writing end of the warden's standard input. However Assay ends (done,
//! failed, interrupted, killed, panicking) the kernel closes that pipe, and the warden
//!
//! 1. sends the server its stop signal and gives it [`GRACE`],
//! 2. kills whatever descends from it then: as a child subreaper it inherits every orphan,
//! 3. removes the folder and exits.
//!
//! A warden has a session of its own, so a Ctrl-C in the terminal reaches Assay only. If the
//! warden itself is killed, the kernel kills the server with it (`PR_SET_PDEATHSIG`), and the
//! folder, whose lock died with the warden, is removed by the next [`sweep`](crate::sweep).
//!
//! Requests come as lines of JSON on standard input, reports go out likewise on standard output.

mod children;
mod duty;
pub(crate) mod host;
pub(crate) mod protocol;

use std::{ffi::OsString, io::IsTerminal, path::PathBuf, process::ExitCode, time::Duration};

/// How long a server has to stop before it is killed.
pub const GRACE: Duration = Duration::from_secs(5);

/// How a warden is run: a program that calls [`run`] when started with `leading_args`. For the
/// `assay` binary that is itself, with `warden`.
#[derive(Clone, Debug)]
pub struct Warden {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub leading_args: Vec<OsString>,
}

/// Serves as a warden until standard input closes or SIGTERM comes; then ends the server, removes
/// the folder and returns. `args` are the arguments after the leading ones: there are none, but for the
/// host of a library, which a warden starts in place of a server.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let first = args.next();
    if first.as_deref().is_some_and(|word| word == host::HOST) {
        return host::run(args);
    }
    if first.is_some() || std::io::stdin().is_terminal() {
        eprintln!("this command is run by Assay itself, with pipes, to keep a server: not by hand");
        return ExitCode::from(2);
    }
    match duty::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the warden failed: {error}");
            ExitCode::FAILURE
        }
    }
}
