//! Carrying out a plan: [`run::run`] walks its trials, [`trial::run`] is one of them, and
//! [`lane`], [`call`] and [`wire`] are the measured loop.

mod agreement;
pub mod call;
pub mod caveats;
pub mod check;
pub mod deploy;
pub mod feed;
pub mod gate;
pub mod lane;
pub mod measurement;
pub mod phase;
pub mod placement;
pub mod record;
pub mod run;
pub mod stall;
pub mod trial;
pub mod turns;
mod wait;
mod watch;
pub mod wire;

use thiserror::Error;

/// Why a trial could not be carried out.
#[derive(Debug, Error)]
pub enum TrialError {
    /// The user wanted to stop.
    #[error("interrupted")]
    Interrupted,
    /// The server's binary, or the store's library, is missing or cannot be used.
    #[error(transparent)]
    Find(#[from] assay_provision::FindError),
    /// The server did not start.
    #[error(transparent)]
    Start(#[from] assay_provision::StartError),
    /// The server or its folder could not be taken away.
    #[error(transparent)]
    Stop(#[from] assay_provision::StopError),
    /// The URL of a running server is wrong.
    #[error("{0}")]
    Address(String),
    /// The store failed during set-up, loading or a check.
    #[error(transparent)]
    System(#[from] assay_systems::SystemError),
    /// The server ended while it was in use.
    #[error("{0}; the results so far are kept")]
    ServerDied(String),
    /// The client gave up.
    #[error("{0}; the results so far are kept")]
    GaveUp(String),
    /// The process may not have so many sockets.
    #[error(
        "{clients} clients need as many file descriptors, and this process may have {limit}: use \
         fewer with --clients, or raise the limit with `ulimit -n`"
    )]
    TooManyClients {
        /// The clients asked for.
        clients: u32,
        /// The limit.
        limit: u64,
    },
    /// Every operation failed.
    #[error("not one of {0} operations succeeded; the first failure: {1}")]
    NothingSucceeded(u64, String),
    /// Operations succeeded, but none before the window closed.
    #[error(
        "no operation ended within the {window:?} that were measured, and the fastest took \
         {fastest:?}: measure longer with --duration"
    )]
    NothingInTime {
        /// How long was measured.
        window: std::time::Duration,
        /// The shortest response time.
        fastest: std::time::Duration,
    },
}
