//! A connection that waits for each answer: log-in, set-up, loading and checks run on it, and a
//! client's socket comes out of it logged in.

use std::io::Write;

use assay_model::Outcome;

use super::{
    bson::{Elements, Value, Writer},
    error::{ServerError, Trouble},
    message,
};
use crate::{incoming::Incoming, socket::Socket};

/// A blocking connection.
pub(super) struct Connection {
    pub socket: Socket,
    incoming: Incoming,
    /// The number of the last message sent.
    number: i32,
}

/// The body of a reply to a command that succeeded.
#[derive(Debug)]
pub(super) struct Body(Vec<u8>);

impl Body {
    /// The value at the end of this path of names.
    pub fn find(&self, path: &[&str]) -> Result<Option<Value<'_>>, Trouble> {
        let mut found = Some(Value::Document(Elements::of(&self.0)?));
        for name in path {
            let Some(inner) = found.and_then(Value::inner) else { return Ok(None) };
            found = inner.find(name)?;
        }
        Ok(found)
    }

    /// The whole number there.
    pub fn whole(&self, path: &[&str]) -> Result<Option<i64>, Trouble> {
        Ok(self.find(path)?.and_then(Value::whole))
    }

    /// The string there.
    pub fn text(&self, path: &[&str]) -> Result<Option<String>, Trouble> {
        Ok(self.find(path)?.and_then(Value::text))
    }
}

impl Connection {
    pub fn new(socket: Socket) -> Connection {
        Connection { socket, incoming: Incoming::new(), number: 0 }
    }

    /// The number that the next message has to have.
    pub fn next_number(&mut self) -> i32 {
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// Sends a message, which has the last number, without waiting for the answer.
    pub fn send(&mut self, message: &[u8]) -> Result<(), Trouble> {
        Ok(self.socket.write_all(message)?)
    }

    /// The answer to the last message; an error that the server reports, of the command or of one of
    /// its writes, is an error here.
    pub fn receive(&mut self) -> Result<Body, Trouble> {
        loop {
            let protocol = |outcome: Outcome| match outcome {
                Outcome::Failed(failure) => Trouble::Protocol(failure.message.into()),
                other => Trouble::Protocol(format!("{other:?}")),
            };
            let Some(message) = message::first(self.incoming.bytes()).map_err(protocol)? else {
                self.incoming.fill(&mut self.socket)?;
                continue;
            };
            if message.answers != self.number {
                let why = format!("an answer to {} where {} is due", message.answers, self.number);
                return Err(Trouble::Protocol(why));
            }
            let bytes = message.bytes;
            let start = message::HEADER_BYTES + 4 + 1;
            let body = Body(self.incoming.bytes()[start..bytes].to_vec());
            self.incoming.consume(bytes);
            check(&body)?;
            return Ok(body);
        }
    }

    /// Runs the command that `fill` writes, on `database`.
    pub fn run(
        &mut self,
        database: &str,
        fill: impl FnOnce(&mut Writer<'_>),
    ) -> Result<Body, Trouble> {
        let mut out = Vec::new();
        let number = self.next_number();
        let start = message::begin(&mut out, number, b"", |command| {
            fill(command);
            command.string("$db", database.as_bytes());
        });
        message::end(&mut out, start);
        self.send(&out)?;
        self.receive()
    }

    /// Runs a command without parameters on the server's own database.
    pub fn ask(&mut self, command: &str) -> Result<Body, Trouble> {
        self.run("admin", |body| body.int32(command, 1))
    }

    /// The socket, when nothing is in flight on it, and the number of the last message.
    pub fn into_socket(self) -> Result<(Socket, i32), Trouble> {
        if self.incoming.bytes().is_empty() {
            Ok((self.socket, self.number))
        } else {
            Err(Trouble::Protocol("it sent something unasked".to_owned()))
        }
    }
}

/// Refuses a reply that is an error, or has one of a write or of the write concern in it.
fn check(body: &Body) -> Result<(), Trouble> {
    let elements = Elements::of(&body.0)?;
    if body.whole(&["ok"])? != Some(1) {
        return Err(Trouble::Server(ServerError::read(elements)?));
    }
    let of_writes = body.find(&["writeErrors"])?.and_then(Value::inner).map(ServerError::first);
    if let Some(error) = of_writes.transpose()?.flatten() {
        return Err(Trouble::Server(error));
    }
    match body.find(&["writeConcernError"])?.and_then(Value::inner) {
        Some(error) => Err(Trouble::Server(ServerError::read(error)?)),
        None => Ok(()),
    }
}

/// The body that `fill` writes.
#[cfg(test)]
pub(super) fn body(fill: impl FnOnce(&mut Writer<'_>)) -> Body {
    let mut out = Vec::new();
    super::bson::write(&mut out, fill);
    Body(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_path() {
        let body = body(|reply| {
            reply.document("a", |a| a.document("b", |b| b.string("c", b"text")));
            reply.int32("n", 3);
        });
        assert_eq!(body.text(&["a", "b", "c"]).unwrap().as_deref(), Some("text"));
        assert_eq!(body.whole(&["n"]).unwrap(), Some(3));
        assert_eq!(body.whole(&["n", "m"]).unwrap(), None);
        assert_eq!(body.text(&["a", "x"]).unwrap(), None);
    }

    #[test]
    fn an_error_anywhere_in_a_reply_is_an_error() {
        let fine = body(|reply| reply.int32("ok", 1));
        assert!(check(&fine).is_ok());
        let error = |error: &mut Writer<'_>| error.int32("code", 7);
        for bad in [
            body(|reply| reply.int32("n", 1)),
            body(|reply| {
                reply.int32("ok", 0);
                error(reply);
            }),
            body(|reply| {
                reply.array("writeErrors", |errors| errors.document("0", error));
                reply.int32("ok", 1);
            }),
            body(|reply| {
                reply.document("writeConcernError", error);
                reply.int32("ok", 1);
            }),
        ] {
            assert!(matches!(check(&bad), Err(Trouble::Server(_))), "{bad:?}");
        }
    }
}
