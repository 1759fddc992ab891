//! A server that is a library in a process of its own: Assay's program, started by a warden as a server
//! is, which opens the library and leaves it to serve until it is told to stop.
//!
//! MonetDB's library serves MAPI by itself if it is opened with an address. One process can hold one
//! database. Only what is asked of it here is unsafe.

use std::{
    collections::BTreeMap,
    ffi::{CStr, CString, OsString, c_char, c_int, c_void},
    io::{self, Read},
    os::unix::{ffi::OsStrExt, net::UnixStream},
    path::{Path, PathBuf},
    process::ExitCode,
    ptr,
};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use signal_hook::consts::{SIGINT, SIGTERM};

/// The word that makes a warden's program a host.
pub(crate) const HOST: &str = "host";

/// Hosts the library that `args` say until SIGTERM comes: its path, then settings as in `threads=2`.
pub(super) fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match host(args.into_iter()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("the host failed: {why}");
            ExitCode::FAILURE
        }
    }
}

fn host(mut args: impl Iterator<Item = OsString>) -> Result<(), String> {
    let library = PathBuf::from(args.next().ok_or("no library was named")?);
    let options = Options::parse(args)?;
    let mut told = terminations().map_err(|error| format!("cannot await a signal: {error}"))?;
    let database = Database::open(&library, &options)?;
    // Until a signal comes, the library's own threads do all that is done.
    told.read_exact(&mut [0]).map_err(|error| format!("cannot await a signal: {error}"))?;
    database.close()
}

/// A byte comes out of it when the process is asked to end.
fn terminations() -> io::Result<UnixStream> {
    let (arrived, bell) = UnixStream::pair()?;
    for signal in [SIGTERM, SIGINT] {
        signal_hook::low_level::pipe::register(signal, bell.try_clone()?)?;
    }
    Ok(arrived)
}

/// What the library is opened with.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    /// The folder of the database; without one it is in memory.
    folder: Option<PathBuf>,
    port: Option<u16>,
    socket: Option<PathBuf>,
    threads: c_int,
    memory_mib: c_int,
}

impl Options {
    fn parse(args: impl Iterator<Item = OsString>) -> Result<Options, String> {
        let mut given = BTreeMap::new();
        for arg in args {
            let text = arg.to_str().ok_or("a setting is no UTF-8")?;
            let (name, value) = text.split_once('=').ok_or(format!("'{text}' is no setting"))?;
            given.insert(name.to_owned(), value.to_owned());
        }
        let mut options = Options::default();
        for (name, value) in given {
            let number = |value: &str| {
                let number = value.parse().ok().filter(|number: &c_int| *number >= 0);
                number.ok_or(format!("setting '{name}': '{value}' is no whole number"))
            };
            match name.as_str() {
                "folder" => options.folder = Some(value.into()),
                "socket" => options.socket = Some(value.into()),
                "port" => options.port = u16::try_from(number(&value)?).ok(),
                "threads" => options.threads = number(&value)?,
                "memory_mib" => options.memory_mib = number(&value)?,
                _ => return Err(format!("there is no setting '{name}'")),
            }
        }
        Ok(options)
    }
}

/// `monetdbe_mapi_server` of MonetDB's `monetdbe.h`.
#[repr(C)]
struct MapiServer {
    port: *const c_char,
    usock: *const c_char,
}

/// `monetdbe_options` of the same. `remote` is another kind of database.
#[repr(C)]
struct OpenOptions {
    memorylimit: c_int,
    querytimeout: c_int,
    sessiontimeout: c_int,
    nr_threads: c_int,
    remote: *const c_void,
    mapi_server: *const MapiServer,
    trace_file: *const c_char,
}

type Raw = *mut c_void;
type Open = unsafe extern "C" fn(*mut Raw, *const c_char, *const OpenOptions) -> c_int;
type Close = unsafe extern "C" fn(Raw) -> c_int;
type Error = unsafe extern "C" fn(Raw) -> *const c_char;

/// A database that the library serves.
struct Database {
    library: Library,
    raw: Raw,
}

impl Database {
    fn open(library: &Path, options: &Options) -> Result<Database, String> {
        let port = match options.port {
            Some(port) => port,
            // It listens on TCP in any case.
            None => crate::port::free().map_err(|error| format!("no port is free: {error}"))?,
        };
        let port = CString::new(port.to_string()).map_err(|error| error.to_string())?;
        let text = |path: &Option<PathBuf>| {
            let bytes = path.as_deref().map(|path| path.as_os_str().as_bytes().to_vec());
            bytes.map(CString::new).transpose().map_err(|error| error.to_string())
        };
        let (socket, folder) = (text(&options.socket)?, text(&options.folder)?);
        let address = |text: &Option<CString>| text.as_deref().map_or(ptr::null(), CStr::as_ptr);
        let mapi_server = MapiServer { port: port.as_ptr(), usock: address(&socket) };
        let open_options = OpenOptions {
            memorylimit: options.memory_mib,
            querytimeout: 0,
            sessiontimeout: 0,
            nr_threads: options.threads,
            remote: ptr::null(),
            mapi_server: &mapi_server,
            trace_file: ptr::null(),
        };
        // SAFETY: what a library does when it is loaded is its author's to answer for; that the file is a
        // whole library was made sure of. RTLD_GLOBAL, for MonetDB's parts look for each other.
        let opened = unsafe { Library::open(Some(library), RTLD_NOW | RTLD_GLOBAL) };
        let library = opened.map_err(|error| format!("{}: {error}", library.display()))?;
        let mut raw = ptr::null_mut();
        // SAFETY: the type is that of `monetdbe_open` in `monetdbe.h`.
        let open = unsafe { library.get::<Open>(b"monetdbe_open\0") };
        let open = *open.map_err(|error| error.to_string())?;
        // SAFETY: the strings and options outlive the call, which copies them.
        let state = unsafe { open(&mut raw, address(&folder), &open_options) };
        let database = Database { library, raw };
        match state {
            0 => Ok(database),
            state => Err(format!("the database cannot be opened: {}", database.error(state)?)),
        }
    }

    /// What the library says of its last error.
    fn error(&self, state: c_int) -> Result<String, String> {
        if self.raw.is_null() {
            return Ok(format!("error {state}"));
        }
        // SAFETY: the type is that of `monetdbe_error` in `monetdbe.h`.
        let error = unsafe { self.library.get::<Error>(b"monetdbe_error\0") };
        let error = *error.map_err(|error| error.to_string())?;
        // SAFETY: the handle is the library's own, and was not closed.
        let words = unsafe { error(self.raw) };
        if words.is_null() {
            return Ok(format!("error {state}"));
        }
        // SAFETY: it is a string that lives until the handle's next use.
        Ok(unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned())
    }

    fn close(self) -> Result<(), String> {
        // SAFETY: the type is that of `monetdbe_close` in `monetdbe.h`.
        let close = unsafe { self.library.get::<Close>(b"monetdbe_close\0") };
        let close = *close.map_err(|error| error.to_string())?;
        // SAFETY: the handle is the library's own, and is not used after this.
        match unsafe { close(self.raw) } {
            0 => Ok(()),
            state => Err(format!("the database cannot be closed: error {state}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options, String> {
        Options::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn settings_are_read_and_others_refused() {
        let options = parse(&["port=50123", "folder=/data", "threads=2"]).expect("all known");
        assert_eq!((options.port, options.threads), (Some(50_123), 2));
        assert_eq!(options.folder.as_deref(), Some(Path::new("/data")));
        for (arg, why) in [("x=1", "'x'"), ("threads=-1", "no whole number"), ("y", "no setting")] {
            let refused = parse(&[arg]).expect_err("refused");
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn what_is_no_library_is_named() {
        let refused = host(["/nonexistent.so".into()].into_iter()).expect_err("refused");
        assert!(refused.contains("/nonexistent.so"), "{refused}");
    }
}
