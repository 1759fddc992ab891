//! The traits that every driver implements, and what the runner may expect of them.

use assay_model::{Address, Answer, FieldValue, Operation, Outcome};
use thiserror::Error;

use crate::socket::Socket;

/// A running data store, opened in one layout at one durability level.
///
/// The runner calls [`prepare`](System::prepare) once, fills the table through
/// [`loader`](System::loader), calls [`settle`](System::settle), then opens one
/// [`connect`](System::connect) per client. None of these is timed as an operation.
pub trait System: Send + Sync {
    /// Creates the empty table with its indexes. If the table exists already, this is
    /// [`SystemError::AlreadyThere`] and nothing was touched: an attached server may hold
    /// somebody's data.
    fn prepare(&self) -> Result<(), SystemError>;

    /// A bulk loader for the load phase: batched as the store's own users would (pipelines,
    /// multi-row inserts, COPY).
    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError>;

    /// Brings the store to rest after the load, as an operator would before serving: statistics
    /// gathered, caches written back. Nothing to do for most.
    fn settle(&self) -> Result<(), SystemError> {
        Ok(())
    }

    /// One more client of the store.
    fn connect(&self) -> Result<Client, SystemError>;

    /// The number of records in the table. Only called where
    /// [`Capabilities::count`](assay_model::Capabilities::count) does not say `Unsupported`.
    fn count(&self) -> Result<u64, SystemError>;

    /// What the table takes on disk and in memory by the store's own account.
    fn footprint(&self) -> Result<Footprint, SystemError>;

    /// The store's version and the settings in force that bear on the result, as the store itself
    /// reports them.
    fn identity(&self) -> Result<Identity, SystemError>;

    /// Removes what [`prepare`](System::prepare) and the run created, and nothing else.
    fn remove(&self) -> Result<(), SystemError>;
}

/// A client of a store.
pub enum Client {
    /// A library call on the client's own thread.
    Call(Box<dyn Session>),
    /// A connected socket and the codec that speaks on it.
    Wire(WireClient),
}

/// A connected, logged-in socket and its codec. Nothing is in flight.
pub struct WireClient {
    /// The socket, in blocking mode.
    pub socket: Socket,
    /// The codec, ready for the first operation.
    pub codec: Box<dyn Codec>,
}

/// A client that answers an operation before it returns.
pub trait Session: Send {
    /// Carries out one operation. The caller has cleared `answer`; the session reports each row
    /// and field that the store returned in it.
    fn execute(&mut self, operation: &Operation<'_>, answer: &mut Answer) -> Outcome;
}

/// A client of a wire protocol, without I/O. One operation is in flight at a time.
pub trait Codec: Send {
    /// Appends the request for `operation` to `out`.
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>);

    /// Decodes what the store sent since the last call that consumed bytes. `input` holds every
    /// byte received and not yet consumed. Rows and fields go to `answer`, which the caller
    /// cleared when the operation began.
    ///
    /// An operation that takes more than one round trip appends its next request to `out` and
    /// returns [`Step::More`]; the caller sends `out` whenever it is not empty.
    ///
    /// The whole of a reply need not be there: the codec either consumes what it can, or waits by
    /// consuming nothing. A row must not be reported twice.
    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>, answer: &mut Answer) -> Step;
}

/// What a codec made of its input.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// `consumed` bytes are dealt with; the operation goes on when more arrive.
    More {
        /// How many bytes of the input to drop.
        consumed: usize,
    },
    /// The operation is over.
    Done {
        /// How many bytes of the input to drop.
        consumed: usize,
        /// How it ended.
        outcome: Outcome,
    },
    /// The store broke the protocol or said that it closes the connection: the operation failed
    /// and the socket is of no more use.
    Broken(Outcome),
}

/// Fills the table before the measurement.
pub trait Loader {
    /// Adds a record; may buffer it. `values` holds every field, by position.
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError>;

    /// Sends what is buffered and waits until the store has acknowledged all of it.
    fn finish(self: Box<Self>) -> Result<(), SystemError>;
}

/// What a table takes, in bytes, by the store's own account. `None`: the store does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes on disk, indexes and logs included.
    pub disk_bytes: Option<u64>,
    /// Bytes in the store's memory.
    pub memory_bytes: Option<u64>,
}

/// Who answered: the store's version and the settings in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Product and version, for example `Valkey 9.1.2`.
    pub version: String,
    /// Settings that bear on the result, by name, as the store reports them. Never a secret.
    pub settings: Vec<(String, String)>,
}

/// What can be done about a table that is there already, in a system that has tables.
pub(crate) const REMOVE_OR_RENAME: &str = "remove it, or choose another name with --table";

/// Why a store cannot be used. An error of a single operation is an
/// [`Outcome`] instead.
#[derive(Debug, Error)]
pub enum SystemError {
    /// The store cannot be reached.
    #[error(
        "cannot connect to {system} at {address}: {why}; start it, or leave the URL out and Assay \
         starts one"
    )]
    Unreachable {
        /// The system's name.
        system: String,
        /// Its address, without credentials.
        address: String,
        /// What the operating system or the library said.
        why: String,
    },
    /// The store refused the login.
    #[error("{system} at {address} refused the login: {why}")]
    LoginRefused {
        /// The system's name.
        system: String,
        /// Its address, without credentials.
        address: String,
        /// What the store said.
        why: String,
    },
    /// The table is there already.
    #[error("{system} already holds {what}; Assay leaves what it did not create: {next}")]
    AlreadyThere {
        /// The system's name.
        system: String,
        /// What was found.
        what: String,
        /// What its user can do: `remove it, or …`.
        next: &'static str,
    },
    /// A setting is unknown or has a bad value.
    #[error("{system}: setting '{setting}': {why}")]
    BadSetting {
        /// The system's name.
        system: String,
        /// The setting.
        setting: String,
        /// What is wrong and what would be right.
        why: String,
    },
    /// The store failed during set-up, loading or a check.
    #[error("{system} failed to {action}: {why}")]
    Failed {
        /// The system's name.
        system: String,
        /// What was being done, as in "load the records".
        action: String,
        /// What the store said.
        why: String,
    },
}

impl SystemError {
    /// What went wrong while a connection was set up to `address`: a server that takes connections
    /// and does not answer cannot be reached.
    pub(crate) fn unanswered(self, address: &Address) -> SystemError {
        match self {
            SystemError::Failed { system, action, why } => SystemError::Unreachable {
                system,
                address: address.to_string(),
                why: format!("it did not {action}: {why}"),
            },
            other => other,
        }
    }
}
