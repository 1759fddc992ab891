//! An operation to the message that runs its statement.

use assay_model::{FieldValue, Fields, Operation, Outcome, Schema};

use super::{Due, Expected, MysqlCodec};
use crate::{
    document, framing,
    mysql::{
        layout::{Body, KEY_MEMBER},
        packet::LONGEST,
        statement::{self, Message, Replacement},
    },
    sql::{self, Range},
};

impl MysqlCodec {
    /// Appends the request with the statement at `index`, whose parameters `parameters` appends.
    fn request(
        &mut self,
        expected: Expected,
        index: usize,
        out: &mut Vec<u8>,
        parameters: impl FnOnce(&MysqlCodec, &mut Message<'_>),
    ) -> Result<(), Outcome> {
        let statements = self.statements.clone();
        let statement = statements.get(index);
        let id = self.prepared[index];
        let start = out.len();
        let mut message = statement.begin(out);
        parameters(self, &mut message);
        let length = message.end() as u64;
        if length > self.max_message {
            let why = format!(
                "the record takes a message of {length} bytes, and the server {}: raise its \
                 max_allowed_packet",
                self.max_message
            );
            return Err(sql::refused(why));
        }
        match id {
            Some(id) => {
                statement::set_id(&mut out[start..], id);
                self.await_answer(Due::Head, length);
            }
            None => {
                self.deferred.clear();
                self.deferred.extend_from_slice(&out[start..]);
                out.truncate(start);
                out.extend_from_slice(&statement.prepare);
                self.await_answer(Due::Prepared, 0);
            }
        }
        self.pending.expected = expected;
        self.pending.statement = index;
        self.pending.shape = statement.shape;
        Ok(())
    }

    /// A command with `length` bytes of content is on its way.
    pub(super) fn await_answer(&mut self, due: Due, length: u64) {
        self.pending.due = due;
        self.pending.sequence = (length / LONGEST as u64 + 1) as u8;
    }

    /// Appends the request for `operation`. The error is what the client itself refuses.
    pub(super) fn encode_operation(
        &mut self,
        operation: &Operation<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Outcome> {
        match *operation {
            Operation::Read { key, fields } => {
                self.select(fields)?;
                self.rows.set_key(key);
                let index = self.statements.read(fields);
                self.request(Expected::Record, index, out, |codec, message| {
                    codec.write_path(fields, message);
                    message.string(key);
                })
            }
            Operation::Scan { start, limit, fields } => {
                self.select(fields)?;
                let index = self.statements.scan(fields);
                self.request(Expected::Rows, index, out, |codec, message| {
                    codec.write_path(fields, message);
                    message.string(start);
                    message.number(limit.into());
                })
            }
            Operation::Lookup { field, from, to, limit, fields } => {
                self.select(fields)?;
                let range = Range::of(from, to);
                let index = self.statements.lookup(field, range, fields)?;
                let expected = match Outcome::of_lookup(to, 0) {
                    Outcome::Missing => Expected::Records,
                    _ => Expected::Rows,
                };
                self.request(expected, index, out, |codec, message| {
                    codec.write_path(fields, message);
                    message.string(from);
                    if let (Range::UpTo, Some(to)) = (range, to) {
                        message.string(to);
                    }
                    message.number(limit.into());
                })
            }
            Operation::Insert { key, values } => {
                sql::check_values(&self.schema, values)?;
                let index = self.statements.insert();
                self.request(Expected::Change, index, out, |codec, message| match codec.body {
                    Body::Columns => {
                        message.string(key);
                        codec.write_columns(values, message);
                    }
                    Body::Document => codec.write_document(Some(key), values, message),
                })
            }
            Operation::Update { key, values } => {
                sql::check_values(&self.schema, values)?;
                let (index, replacement) = self.statements.update(values);
                self.request(Expected::Change, index, out, |codec, message| {
                    match replacement {
                        Replacement::One => {
                            codec.write_path(Fields::One(values[0].field), message);
                            message.string(values[0].bytes);
                        }
                        Replacement::Columns => codec.write_columns(values, message),
                        Replacement::Document => codec.write_document(None, values, message),
                    }
                    message.string(key);
                })
            }
            Operation::Delete { key } => {
                let index = self.statements.delete();
                self.request(Expected::Change, index, out, |_, message| message.string(key))
            }
        }
    }

    /// Notes which fields are asked for.
    fn select(&mut self, fields: Fields) -> Result<(), Outcome> {
        if let Fields::One(field) = fields {
            sql::check_field(&self.schema, field)?;
            self.pending.field = field;
        }
        Ok(())
    }

    /// Where fields are members of a document, the path to the one asked for is a parameter.
    fn write_path(&self, fields: Fields, message: &mut Message<'_>) {
        if let Some(path) = self.statements.path(fields) {
            message.string(path);
        }
    }

    fn write_columns(&self, values: &[FieldValue<'_>], message: &mut Message<'_>) {
        for position in 0..self.schema.field_count() {
            match framing::given(values, position) {
                Some(bytes) => message.string(bytes),
                None => message.null(),
            }
        }
    }

    fn write_document(
        &self,
        key: Option<&[u8]>,
        values: &[FieldValue<'_>],
        message: &mut Message<'_>,
    ) {
        message.text(|out| write_document(out, &self.schema, key, values));
    }
}

/// Appends the document of `values`, and of the key if the record is new.
pub(in crate::mysql) fn write_document(
    out: &mut Vec<u8>,
    schema: &Schema,
    key: Option<&[u8]>,
    values: &[FieldValue<'_>],
) {
    let fields = values.iter().map(|value| (schema.field_name(value.field), value.bytes));
    let members = key.map(|key| (KEY_MEMBER, key)).into_iter().chain(fields);
    document::write_object(out, members);
}
