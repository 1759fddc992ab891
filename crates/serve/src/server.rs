//! The server: takes its address, says where it is, answers until it is asked to stop.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    pin::pin,
    time::Duration,
};

use assay_results::HEADER_FILE;
use futures_util::future::{self, FutureExt};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

use crate::{
    ServeError,
    board::{Board, Watch},
    connections,
    guard::Guard,
    routes::routes,
    token::Token,
};

/// How long answers that are under way may take when the server stops.
const GRACE: Duration = Duration::from_millis(500);

/// How long a client may take to say what it asks for.
const PATIENCE: Duration = Duration::from_secs(20);

/// What to serve, where, and to whom.
pub struct Settings {
    /// The results folder.
    pub results: PathBuf,
    /// Where to listen; port 0 is any free one.
    pub listen: SocketAddr,
    /// What must be shown. If nothing is given, nothing is asked on loopback, and a token is made
    /// elsewhere.
    pub token: Option<String>,
    /// More names that the server answers to.
    pub hosts: Vec<String>,
}

/// A server that has its address.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    stops: [Signal; 3],
    board: std::sync::Arc<Board>,
    watch: Watch,
    guard: Guard,
    url: String,
}

impl Server {
    /// Reads the folder and takes the address. From then on SIGINT, SIGTERM and SIGHUP are requests
    /// to [`run`](Server::run) to return.
    ///
    /// # Errors
    /// [`ServeError`]: the folder is none, the address is taken, the token is too short.
    pub fn bind(settings: Settings) -> Result<Server, ServeError> {
        let Settings { results, listen, token, hosts } = settings;
        check_folder(&results)?;
        let loopback = listen.ip().is_loopback();
        let made = token.is_none();
        let token = match token {
            Some(text) => Some(Token::chosen(text)?),
            None if loopback => None,
            None => Some(Token::random()?),
        };
        let listening = |source| ServeError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).map_err(listening)?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();

        let runtime = Builder::new_current_thread().enable_all().build()?;
        let stops = {
            let _within = runtime.enter();
            let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
            let [int, term, hup] = kinds.map(signal);
            [int?, term?, hup?]
        };
        let unreadable = |error: io::Error| folder_error(&results, error.to_string());
        let (board, watch) = Board::watching(&results).map_err(unreadable)?;
        let url = url(listen.ip(), port, token.as_ref().filter(|_| made));
        let mut names: Vec<String> = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        if !loopback {
            names.extend(own_name());
        }
        let guard = Guard { loopback, port, names, token };
        Ok(Server { runtime, listener, stops, board, watch, guard, url })
    }

    /// What to open in a browser on this machine, with the token if one was made.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether other machines can reach the server.
    pub fn is_open(&self) -> bool {
        !self.guard.loopback
    }

    /// Answers until a signal asks to stop.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn run(self) -> Result<(), ServeError> {
        let Server { runtime, listener, mut stops, board, watch, guard, url: _ } = self;
        let done = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let site = routes(std::sync::Arc::clone(&board), guard);
            let (stop, mut stopped) = watch::channel(false);
            let told = async move {
                // The sender's end is a request to stop, too.
                let _ = stopped.wait_for(|stopped| *stopped).await;
            };
            let serving = connections::answer(listener, site, PATIENCE, told);
            let ending = async {
                future::select_all(stops.iter_mut().map(|signal| signal.recv().boxed())).await;
                board.close();
                let _ = stop.send(true);
                tokio::time::sleep(GRACE).await;
            };
            future::select(pin!(serving), pin!(ending)).await;
            io::Result::Ok(())
        });
        drop(watch);
        // A report that is being drawn need not be finished.
        runtime.shutdown_background();
        Ok(done?)
    }
}

fn folder_error(folder: &Path, why: String) -> ServeError {
    ServeError::Folder { folder: folder.to_owned(), why }
}

fn check_folder(folder: &Path) -> Result<(), ServeError> {
    let why = if !folder.exists() {
        "there is no such folder: make a run with 'assay run', or name another with --results"
    } else if !folder.is_dir() {
        "it is no folder: name the one that holds the runs with --results"
    } else if folder.join(HEADER_FILE).is_file() {
        "it is a run: name the folder that it is in with --results"
    } else {
        return Ok(());
    };
    Err(folder_error(folder, why.to_owned()))
}

/// Where a browser on this machine finds the server.
fn url(listen: IpAddr, port: u16, made: Option<&Token>) -> String {
    let address = match listen {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        other => other,
    };
    let token = made.map(|token| format!("?token={}", token.text())).unwrap_or_default();
    format!("http://{}/{token}", SocketAddr::new(address, port))
}

/// The name of this machine.
fn own_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim().to_ascii_lowercase();
    (!name.is_empty()).then_some(name)
}
