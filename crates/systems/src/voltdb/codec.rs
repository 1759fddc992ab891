//! The measured client: an operation is one call of a procedure, and its response, one pass over it,
//! rows.
//!
//! A response is taken when all of it is there. Nothing is allocated once the caller's buffers have
//! grown.

use std::sync::Arc;

use assay_model::{Answer, Fields, Operation, Outcome, Schema};

use super::{
    message::{self, Call, MALFORMED, Response, Row, SUCCESS, Value},
    procedures::{self, Procedures, Replacement},
};
use crate::{
    Codec, Step, framing,
    sql::{self, Range, broken},
};

/// The codec of one connection. Its buffers are reused from one operation to the next.
pub(super) struct VoltCodec {
    schema: Arc<Schema>,
    procedures: Arc<Procedures>,
    ping: Box<[u8]>,
    pending: Option<Pending>,
    /// The key that is read, where one is.
    key: Vec<u8>,
}

/// The operation in flight.
#[derive(Debug)]
enum Pending {
    /// One record: without it, the key is missing.
    Record(Fields),
    /// Up to so many records; without one, what was asked for is missing if there is an end.
    Records { fields: Fields, limit: u64, ended: bool },
    /// One new record.
    NewRecord,
    /// A changed or removed record: without one, the key is missing.
    Change,
    /// Nothing: why no more than a ping was sent.
    Refused(Outcome),
}

impl VoltCodec {
    pub(super) fn new(schema: Arc<Schema>, procedures: Arc<Procedures>) -> VoltCodec {
        let ping = message::head("@Ping", 0);
        VoltCodec { schema, procedures, ping, pending: None, key: Vec::new() }
    }

    /// Appends the call that `operation` is. The error is why there is none; what was appended by then
    /// is of no use.
    fn write(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Result<Pending, Outcome> {
        let (schema, procedures) = (&*self.schema, &*self.procedures);
        Ok(match *operation {
            Operation::Read { key, fields } => {
                procedures::check_fields(schema, fields)?;
                self.key.clear();
                self.key.extend_from_slice(key);
                let mut call = Call::begin(procedures.read(fields), out);
                call.bytes(key);
                call.end();
                Pending::Record(fields)
            }
            Operation::Scan { start, limit, fields } => {
                procedures::check_fields(schema, fields)?;
                let mut call = Call::begin(procedures.scan(), out);
                call.bytes(start);
                call.number(limit.into());
                call.end();
                Pending::Records { fields, limit: limit.into(), ended: false }
            }
            Operation::Lookup { field, from, to, limit, fields } => {
                procedures::check_fields(schema, fields)?;
                let range = Range::of(from, to);
                let mut call = Call::begin(procedures.lookup(field, range)?, out);
                call.bytes(from);
                if let (Some(to), Range::UpTo) = (to, range) {
                    call.bytes(to);
                }
                call.number(limit.into());
                call.end();
                Pending::Records { fields, limit: limit.into(), ended: to.is_some() }
            }
            Operation::Insert { key, values } => {
                sql::check_values(schema, values)?;
                let mut call = Call::begin(procedures.insert(), out);
                call.bytes(key);
                for position in 0..schema.field_count() {
                    match framing::given(values, position) {
                        Some(bytes) => call.bytes(bytes),
                        None => call.null(),
                    }
                }
                call.end();
                Pending::NewRecord
            }
            Operation::Update { key, values } => {
                sql::check_values(schema, values)?;
                let (procedure, replacement) = procedures.update(values)?;
                let mut call = Call::begin(procedure, out);
                match replacement {
                    Replacement::Given => values.iter().for_each(|value| call.bytes(value.bytes)),
                    Replacement::Chosen => {
                        for position in 0..schema.field_count() {
                            match framing::given(values, position) {
                                Some(bytes) => {
                                    call.small(1);
                                    call.bytes(bytes);
                                }
                                None => {
                                    call.small(0);
                                    call.null();
                                }
                            }
                        }
                    }
                }
                call.bytes(key);
                call.end();
                Pending::Change
            }
            Operation::Delete { key } => {
                let mut call = Call::begin(procedures.delete(), out);
                call.bytes(key);
                call.end();
                Pending::Change
            }
        })
    }

    /// What a response means for the operation in flight. The error is why the connection is of no more
    /// use.
    fn take(
        &mut self,
        mut response: Response<'_>,
        answer: &mut Answer,
    ) -> Result<Outcome, &'static str> {
        let pending = self.pending.take().ok_or("a response to nothing")?;
        if let Pending::Refused(outcome) = pending {
            return Ok(outcome);
        }
        if response.status != SUCCESS {
            return Ok(response.failure());
        }
        let mut table = response.table()?.ok_or("a response without a table")?;
        match pending {
            Pending::Refused(outcome) => Ok(outcome),
            Pending::Record(fields) => {
                let Some(row) = table.row()? else { return Ok(Outcome::Missing) };
                answer.begin_row(&self.key);
                // The columns are those asked for.
                match fields {
                    Fields::One(field) => self.report(row, field..field + 1, fields, answer)?,
                    Fields::All => {
                        self.report(row, 0..self.schema.field_count(), fields, answer)?;
                    }
                }
                match table.row()? {
                    Some(_) => Err("several records of one key"),
                    None => Ok(Outcome::Done),
                }
            }
            Pending::Records { fields, limit, ended } => {
                let mut count = 0;
                while let Some(mut row) = table.row()? {
                    let Some(Value::Bytes(key)) = row.value()? else { return Err(NO_RECORD) };
                    count += 1;
                    if count > limit {
                        return Err("more records than were asked for");
                    }
                    answer.begin_row(key);
                    self.report(row, 0..self.schema.field_count(), fields, answer)?;
                }
                Ok(if ended && count == 0 { Outcome::Missing } else { Outcome::Done })
            }
            Pending::NewRecord => match changed(&mut table)? {
                1 => Ok(Outcome::Done),
                _ => Err("an insert of one record that is none of one"),
            },
            Pending::Change => match changed(&mut table)? {
                0 => Ok(Outcome::Missing),
                1 => Ok(Outcome::Done),
                _ => Err("a change of several records"),
            },
        }
    }

    /// Reports those of the columns left in `row`, the fields at `positions`, that are asked for. A
    /// field that was never given is NULL.
    fn report(
        &self,
        mut row: Row<'_>,
        positions: std::ops::Range<u16>,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<(), &'static str> {
        for position in positions {
            match row.value()? {
                Some(Value::Bytes(bytes)) if fields.contains(position) => {
                    answer.field(position, bytes);
                }
                Some(Value::Bytes(_) | Value::Null) => {}
                _ => return Err(NO_RECORD),
            }
        }
        match row.value()? {
            Some(_) => Err(NO_RECORD),
            None => Ok(()),
        }
    }
}

const NO_RECORD: &str = "a row that is no record of the table";

/// How many records a procedure changed.
fn changed(table: &mut message::Table<'_>) -> Result<i64, &'static str> {
    match table.row()?.map(|mut row| row.value()).transpose()?.flatten() {
        Some(Value::Number(count)) => Ok(count),
        _ => Err(MALFORMED),
    }
}

impl Codec for VoltCodec {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        let pending = self.write(operation, out).unwrap_or_else(|refusal| {
            // What is not sent still takes a round trip, so that the caller has one way of learning
            // outcomes.
            out.truncate(start);
            Call::begin(&self.ping, out).end();
            Pending::Refused(refusal)
        });
        self.pending = Some(pending);
    }

    fn decode(&mut self, input: &[u8], _out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let taken = match message::response(input) {
            Ok(None) => return Step::More { consumed: 0 },
            Ok(Some((response, consumed))) => {
                self.take(response, answer).map(|outcome| Step::Done { consumed, outcome })
            }
            Err(why) => Err(why),
        };
        taken.unwrap_or_else(|why| Step::Broken(broken(why)))
    }
}
