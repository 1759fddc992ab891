//! A connection for set-up, loading and checks: it waits for each response.

use super::message::{self, Call, Response, SUCCESS, Value, said};
use crate::{
    SystemError,
    link::{Link, Server},
    socket::Socket,
    sql::TextRow,
};

/// A logged-in connection.
pub(super) struct Connection<'a> {
    link: Link<'a>,
    /// The build of the server.
    pub(super) build: String,
    request: Vec<u8>,
}

/// A parameter of a procedure.
#[derive(Clone, Copy)]
pub(super) enum Parameter<'a> {
    Text(&'a str),
    Number(i64),
}

/// What a procedure gave: the rows of its first table, or why it failed.
pub(super) type Given = Result<Vec<TextRow>, String>;

impl<'a> Connection<'a> {
    /// Connects and logs in.
    pub(super) fn open(server: &'a Server) -> Result<Connection<'a>, SystemError> {
        const ACTION: &str = "answer the login";
        let endpoint = &server.endpoint;
        let user = endpoint.user.as_deref().unwrap_or_default();
        let password = endpoint.password.as_ref().map_or("", |password| password.reveal());
        let mut request = Vec::new();
        message::login(user, password, &mut request);
        let mut link = Link::open(server)?;
        let answer =
            link.send(ACTION, &request).and_then(|()| link.reply(ACTION, message::welcome));
        let build = answer
            .map_err(|error| error.unanswered(&endpoint.address))?
            .map_err(|code| refusal(server, code))?;
        link.be_patient()?;
        request.clear();
        Ok(Connection { link, build, request })
    }

    /// The socket alone, for a client, with an operation's time limit.
    pub(super) fn into_socket(self) -> Result<Socket, SystemError> {
        self.link.into_socket()
    }

    /// What is sent next: calls may be appended.
    pub(super) fn request(&mut self) -> &mut Vec<u8> {
        &mut self.request
    }

    /// Sends what is queued.
    pub(super) fn send(&mut self, action: &str) -> Result<(), SystemError> {
        let sent = self.link.send(action, &self.request);
        self.request.clear();
        sent
    }

    /// Waits for the response to one call.
    pub(super) fn given(&mut self, action: &str) -> Result<Given, SystemError> {
        self.link.reply(action, |bytes| {
            let Some((response, length)) = message::response(bytes)? else { return Ok(None) };
            Ok::<_, &str>(Some((given(response)?, length)))
        })
    }

    /// Calls a procedure.
    pub(super) fn call(
        &mut self,
        action: &str,
        procedure: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Given, SystemError> {
        let head = message::head(procedure, parameters.len() as u16);
        let mut call = Call::begin(&head, &mut self.request);
        for parameter in parameters {
            match *parameter {
                Parameter::Text(text) => call.text(text),
                Parameter::Number(number) => call.number(number),
            }
        }
        call.end();
        self.send(action)?;
        self.given(action)
    }

    /// The rows that a procedure gives; its failure is an error.
    pub(super) fn rows(
        &mut self,
        action: &str,
        procedure: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<TextRow>, SystemError> {
        let given = self.call(action, procedure, parameters)?;
        given.map_err(|why| self.link.server.failed(action, why))
    }
}

/// The rows of a response's first table as text.
fn given(mut response: Response<'_>) -> Result<Given, &'static str> {
    if response.status != SUCCESS {
        let text = String::from_utf8_lossy(response.text);
        return Ok(Err(said(&text, response.status)));
    }
    let mut rows = Vec::new();
    if let Some(mut table) = response.table()? {
        while let Some(mut row) = table.row()? {
            let mut texts = Vec::new();
            while let Some(value) = row.value()? {
                texts.push(match value {
                    Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
                    Value::Number(number) => Some(number.to_string()),
                    Value::Null | Value::Other => None,
                });
            }
            rows.push(texts);
        }
    }
    Ok(Ok(rows))
}

/// Why a server did not let the user in, by the code of its answer.
fn refusal(server: &Server, code: i8) -> SystemError {
    match code {
        1 => server.unreachable(
            "it has as many clients as it takes: use fewer, or raise its limit of open files",
        ),
        2 => server.unreachable("it gave up waiting for the login within the time limit"),
        5 => server.unreachable("it is still joining its cluster: try again when it has"),
        _ => server.login_refused(format!(
            "wrong user or password (code {code}); give those of a user that may change the schema, \
             as in voltdb://USER:PASSWORD@HOST:21212"
        )),
    }
}
