//! The codec of one client.

use std::sync::Arc;

use assay_model::{Answer, FailureKind, Fields, Operation, Outcome};

use super::{
    NO_INDEX, NO_SCAN,
    message::{self, Action, Bins, Reply},
    refused,
    table::Table,
};
use crate::{Codec, Step};

/// One client's codec. Its buffers are reused from one operation to the next.
pub(super) struct AerospikeCodec {
    table: Arc<Table>,
    expected: Expected,
    key: Vec<u8>,
}

/// The next reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Nothing,
    Record(Fields),
    Done,
    /// The answer to the info request that stands for an operation there is no message for.
    Refusal(&'static str),
}

impl AerospikeCodec {
    pub(super) fn new(table: Arc<Table>) -> AerospikeCodec {
        AerospikeCodec { table, expected: Expected::Nothing, key: Vec::new() }
    }

    fn encode_known(
        &mut self,
        operation: &Operation<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Expected, &'static str> {
        let table = &self.table;
        match *operation {
            Operation::Read { key, fields } => {
                self.key.clear();
                self.key.extend_from_slice(key);
                match fields {
                    Fields::All => table.begin(Action::ReadAll, key, 0, out).end(),
                    Fields::One(field) => {
                        let mut request = table.begin(Action::ReadSome, key, 1, out);
                        request.read(table.bin(field));
                        request.end();
                    }
                }
                Ok(Expected::Record(fields))
            }
            Operation::Insert { key, values } => {
                table.write(table.insert, key, values, out);
                Ok(Expected::Done)
            }
            Operation::Update { key, values } => {
                table.write(Action::Update, key, values, out);
                Ok(Expected::Done)
            }
            Operation::Delete { key } => {
                table.begin(Action::Delete, key, 0, out).end();
                Ok(Expected::Done)
            }
            Operation::Scan { .. } => Err(NO_SCAN),
            Operation::Lookup { .. } => Err(NO_INDEX),
        }
    }

    fn take(&self, reply: Reply<'_>, answer: &mut Answer) -> Result<Outcome, &'static str> {
        match (self.expected, reply) {
            (Expected::Refusal(why), Reply::Info(_)) => {
                Ok(Outcome::failed(FailureKind::Rejected, why))
            }
            (Expected::Record(fields), Reply::Record { code: 0, bins }) => {
                self.report(bins, fields, answer)
            }
            (Expected::Done, Reply::Record { code: 0, .. }) => Ok(Outcome::Done),
            (Expected::Record(_) | Expected::Done, Reply::Record { code, .. }) => Ok(refused(code)),
            _ => Err("a reply that nothing asked for"),
        }
    }

    fn report(
        &self,
        bins: Bins<'_>,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<Outcome, &'static str> {
        answer.begin_row(&self.key);
        bins.read(|name, value| {
            let position = self.table.schema.field_position(name);
            let position = position.ok_or("a record with a bin that the table has not")?;
            if fields.contains(position) {
                answer.field(position, value);
            }
            Ok(())
        })?;
        Ok(Outcome::Done)
    }
}

impl Codec for AerospikeCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.expected = self.encode_known(operation, out).unwrap_or_else(|why| {
            message::info("build\n", out);
            Expected::Refusal(why)
        });
    }

    fn decode(&mut self, input: &[u8], _out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let taken = match message::reply(input) {
            Ok(None) => return Step::More { consumed: 0 },
            Ok(Some((reply, consumed))) => {
                self.take(reply, answer).map(|outcome| Step::Done { consumed, outcome })
            }
            Err(why) => Err(why),
        };
        self.expected = Expected::Nothing;
        taken.unwrap_or_else(|why| {
            let message = format!("the server sent {why}");
            Step::Broken(Outcome::failed(FailureKind::Protocol, message))
        })
    }
}
