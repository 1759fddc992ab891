//! A connection for set-up, loading and checks: it waits for each reply.

use super::{
    error::ServerError,
    frame::{self, Reply, opcode},
    table::{Id, Table},
};
use crate::{
    SystemError,
    link::{Link, Server},
    socket::Socket,
    sql::TextRow,
};

/// The consistency of set-up: one replica knows as much as all.
const ONE: u16 = 0x0001;
/// How many rows of an answer to set-up's questions are taken.
const MOST_ROWS: u32 = 100_000;

/// A connection that is logged in.
pub(super) struct Connection<'a> {
    link: Link<'a>,
}

/// A row, column by column.
type RawRow = Vec<Option<Vec<u8>>>;

/// A response that is not borrowed.
struct Response {
    opcode: u8,
    body: Vec<u8>,
}

/// Why a request was refused.
pub(super) struct Refusal {
    /// The number of the error.
    pub code: u32,
    /// What the server said.
    pub why: String,
}

impl<'a> Connection<'a> {
    /// Connects and logs in, each step within the time that an operation may take; then set-up may take
    /// longer.
    pub fn open(server: &'a Server) -> Result<Connection<'a>, SystemError> {
        let mut connection = Connection { link: Link::open(server)? };
        connection.log_in(server).map_err(|error| error.unanswered(server.address()))?;
        connection.link.be_patient()?;
        Ok(connection)
    }

    fn log_in(&mut self, server: &Server) -> Result<(), SystemError> {
        const ACTION: &str = "answer the first message";
        let mut request = Vec::new();
        let start = frame::begin(opcode::STARTUP, 0, &mut request);
        request.extend_from_slice(&1_u16.to_be_bytes());
        frame::write_string(b"CQL_VERSION", &mut request);
        frame::write_string(b"3.0.0", &mut request);
        frame::end(start, &mut request);
        self.link.send(ACTION, &request)?;
        let greeting = self.response(ACTION)?;
        match greeting.opcode {
            opcode::READY => Ok(()),
            opcode::AUTHENTICATE => self.prove(server),
            _ => Err(server
                .unreachable(format!("it did not answer as Cassandra does: {}", said(&greeting)))),
        }
    }

    /// Logs in with a password (SASL PLAIN).
    fn prove(&mut self, server: &Server) -> Result<(), SystemError> {
        const ACTION: &str = "answer the login";
        let endpoint = &server.endpoint;
        let (Some(user), Some(password)) = (&endpoint.user, &endpoint.password) else {
            return Err(server.login_refused(
                "it asks for a user and a password: give them in the URL, as in \
                 cassandra://USER:PASSWORD@HOST",
            ));
        };
        let mut request = Vec::new();
        let start = frame::begin(opcode::AUTH_RESPONSE, 0, &mut request);
        let proof = [b"\0", user.as_bytes(), b"\0", password.reveal().as_bytes()].concat();
        frame::write_value(&proof, &mut request);
        frame::end(start, &mut request);
        self.link.send(ACTION, &request)?;
        let answer = self.response(ACTION)?;
        match answer.opcode {
            opcode::AUTH_SUCCESS => Ok(()),
            _ => Err(server.login_refused(format!(
                "{}; check the user and the password in the URL",
                said(&answer)
            ))),
        }
    }

    fn response(&mut self, action: &str) -> Result<Response, SystemError> {
        self.link.reply(action, |bytes| {
            Ok::<_, &str>(frame::first(bytes)?.map(|(frame, length)| {
                let body = frame.body.to_vec();
                (Response { opcode: frame.opcode, body }, length)
            }))
        })
    }

    /// The socket alone, for a client, with an operation's time limit.
    pub fn into_socket(self) -> Result<Socket, SystemError> {
        self.link.into_socket()
    }

    /// Runs CQL. Returns the rows as text; a column that is no text shows its bytes as such. The inner
    /// error is what the server refused it with.
    pub fn try_query(
        &mut self,
        action: &str,
        cql: &str,
    ) -> Result<Result<Vec<TextRow>, Refusal>, SystemError> {
        let rows = self.raw_query(action, cql)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(rows.map(|rows| {
            rows.into_iter().map(|row| row.into_iter().map(|one| one.map(text)).collect()).collect()
        }))
    }

    /// Runs CQL that is to succeed.
    pub fn query(&mut self, action: &str, cql: &str) -> Result<Vec<TextRow>, SystemError> {
        self.try_query(action, cql)?.map_err(|refusal| self.link.server.failed(action, refusal.why))
    }

    /// Runs CQL that gives one whole number of four or eight bytes.
    pub fn number(&mut self, action: &str, cql: &str) -> Result<Option<u64>, SystemError> {
        let rows = self
            .raw_query(action, cql)?
            .map_err(|refusal| self.link.server.failed(action, refusal.why))?;
        let value = rows.into_iter().next().and_then(|row| row.into_iter().next().flatten());
        Ok(value.and_then(|bytes| match bytes.len() {
            4 | 8 => Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))),
            _ => None,
        }))
    }

    fn raw_query(
        &mut self,
        action: &str,
        cql: &str,
    ) -> Result<Result<Vec<RawRow>, Refusal>, SystemError> {
        let mut request = Vec::new();
        let start = frame::begin(opcode::QUERY, 0, &mut request);
        frame::write_value(cql.as_bytes(), &mut request);
        request.extend_from_slice(&ONE.to_be_bytes());
        request.push(0);
        frame::end(start, &mut request);
        self.link.send(action, &request)?;
        let response = self.response(action)?;
        if let Some(refusal) = refusal(&response) {
            return Ok(Err(refusal));
        }
        let rows = rows_of(&response);
        rows.map(Ok).ok_or_else(|| self.link.server.failed(action, "it sent an unreadable result"))
    }

    /// Prepares what is prepared when a client connects: the numbers of those statements.
    pub fn prepare(&mut self, table: &Table) -> Result<Vec<Option<Id>>, SystemError> {
        const ACTION: &str = "prepare the statements";
        let mut ids = Vec::with_capacity(table.statements().len());
        for statement in table.statements() {
            if !statement.eager {
                ids.push(None);
                continue;
            }
            self.link.send(ACTION, &statement.prepare)?;
            let response = self.response(ACTION)?;
            let id = match Reply::parse(&response.body) {
                Some(Reply::Prepared(id)) if response.opcode == opcode::RESULT => {
                    Id::try_from(id).ok()
                }
                _ => None,
            };
            let id = id.ok_or_else(|| self.link.server.failed(ACTION, said(&response)))?;
            ids.push(Some(id));
        }
        Ok(ids)
    }

    /// Sends the requests of a load.
    pub fn send(&mut self, action: &str, requests: &[u8]) -> Result<(), SystemError> {
        self.link.send(action, requests)
    }

    /// Waits for the answer to one of the requests of a load, in whatever order they come.
    pub fn acknowledged(&mut self, action: &str) -> Result<(), SystemError> {
        let response = self.response(action)?;
        let done = response.opcode == opcode::RESULT
            && matches!(Reply::parse(&response.body), Some(Reply::Void));
        match done {
            true => Ok(()),
            false => Err(self.link.server.failed(action, said(&response))),
        }
    }
}

/// The rows of a result, none if it has none; `None` if it is unreadable.
fn rows_of(response: &Response) -> Option<Vec<RawRow>> {
    if response.opcode != opcode::RESULT {
        return None;
    }
    let (rows, columns, mut values) = match Reply::parse(&response.body)? {
        Reply::Rows { rows, columns, values } => (rows, columns, values),
        Reply::Void | Reply::Prepared(_) => return Some(Vec::new()),
    };
    let mut read = Vec::new();
    for _ in 0..rows.min(MOST_ROWS) {
        let mut row = RawRow::new();
        for _ in 0..columns {
            row.push(values.value()?.map(<[u8]>::to_vec));
        }
        read.push(row);
    }
    Some(read)
}

/// The refusal that a response is, if it is one.
fn refusal(response: &Response) -> Option<Refusal> {
    if response.opcode != opcode::ERROR {
        return None;
    }
    let error = ServerError::parse(&response.body);
    Some(match error {
        Some(error) => Refusal { code: error.code, why: error.to_string() },
        None => Refusal { code: 0, why: "it sent an unreadable error".to_owned() },
    })
}

/// What an error or another response says.
fn said(response: &Response) -> String {
    match refusal(response) {
        Some(refusal) => refusal.why,
        None => format!("it sent a message of the kind {}", response.opcode),
    }
}
