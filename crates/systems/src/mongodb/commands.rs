//! The commands of the measurement. What is the same each time is written once, when the table is
//! opened; an operation adds its key and its values.

use std::sync::Arc;

use assay_model::{Durability, FieldValue, Fields, Operation, Outcome, Schema};

use super::{
    bson::{self, Writer},
    layout::{Coding, ID, check_key},
    message,
};
use crate::sql::{check_field, check_values, refused};

/// A message of this length, the longest that MongoDB takes, is refused before it is sent.
const LONGEST: usize = message::LONGEST;

/// The commands for one collection.
#[derive(Debug)]
pub(super) struct Commands {
    schema: Arc<Schema>,
    coding: Coding,
    database: String,
    find_one: Box<[u8]>,
    scan: Box<[u8]>,
    /// One for each indexed field.
    lookups: Box<[Box<[u8]>]>,
    insert: Box<[u8]>,
    update: Box<[u8]>,
    delete: Box<[u8]>,
    ping: Box<[u8]>,
}

/// Writes the write concern: the server that is spoken to acknowledges, at level `synced` after its
/// journal is on the disk.
pub(super) fn write_concern(command: &mut Writer<'_>, durability: Durability) {
    command.document("writeConcern", |concern| {
        concern.int32("w", 1);
        concern.boolean("j", durability == Durability::Synced);
    });
}

/// The write concern in words, for the report.
pub(super) fn shown_write_concern(durability: Durability) -> String {
    format!("w: 1, j: {}", durability == Durability::Synced)
}

/// What a command that finds records in an order says of it.
fn find_ordered(collection: &str, by: &str, database: &str) -> Box<[u8]> {
    bson::elements(|command| {
        command.string("find", collection.as_bytes());
        command.document("sort", |sort| sort.int32(by, 1));
        command.string("$db", database.as_bytes());
    })
}

impl Commands {
    pub fn new(
        schema: Arc<Schema>,
        coding: Coding,
        database: &str,
        durability: Durability,
    ) -> Commands {
        let collection = schema.table();
        let write = |command: &str| {
            bson::elements(|body| {
                body.string(command, collection.as_bytes());
                write_concern(body, durability);
                body.string("$db", database.as_bytes());
            })
        };
        let indexed = &schema.field_names()[..schema.index_count().into()];
        Commands {
            find_one: bson::elements(|command| {
                command.string("find", collection.as_bytes());
                command.int32("limit", 1);
                command.boolean("singleBatch", true);
                command.string("$db", database.as_bytes());
            }),
            scan: find_ordered(collection, ID, database),
            lookups: indexed
                .iter()
                .map(|field| find_ordered(collection, field, database))
                .collect(),
            insert: write("insert"),
            update: write("update"),
            delete: write("delete"),
            ping: bson::elements(|command| {
                command.int32("ping", 1);
                command.string("$db", database.as_bytes());
            }),
            database: database.to_owned(),
            coding,
            schema,
        }
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Appends the command for `operation` as message `number`. The error is why it is not sent;
    /// what was appended then is no message.
    pub fn write(
        &self,
        operation: &Operation<'_>,
        number: i32,
        out: &mut Vec<u8>,
    ) -> Result<(), Outcome> {
        let start = out.len();
        match *operation {
            Operation::Read { key, fields } => {
                self.check_fields(fields)?;
                check_key(key)?;
                message::begin(out, number, &self.find_one, |command| {
                    command.document("filter", |filter| filter.string(ID, key));
                    self.projection(command, fields);
                });
            }
            Operation::Scan { start, limit, fields } => {
                self.check_fields(fields)?;
                check_key(start)?;
                message::begin(out, number, &self.scan, |command| {
                    command.document("filter", |filter| {
                        filter.document(ID, |range| range.string("$gte", start));
                    });
                    self.projection(command, fields);
                    batch(command, limit);
                });
            }
            Operation::Lookup { field, from, to, limit, fields } => {
                self.check_fields(fields)?;
                let find = self.lookup(field)?;
                self.coding.check(from)?;
                to.map_or(Ok(()), |to| self.coding.check(to))?;
                let name = self.schema.field_name(field);
                message::begin(out, number, find, |command| {
                    command.document("filter", |filter| match to {
                        Some(to) if to == from => self.coding.write(filter, name, from),
                        _ => filter.document(name, |range| {
                            self.coding.write(range, "$gte", from);
                            if let Some(to) = to {
                                self.coding.write(range, "$lte", to);
                            }
                        }),
                    });
                    self.projection(command, fields);
                    batch(command, limit);
                });
            }
            Operation::Insert { key, values } => {
                message::begin(out, number, &self.insert, |_| {});
                let documents = message::begin_sequence(out, "documents");
                self.document(key, values, out)?;
                message::end_sequence(out, documents);
            }
            Operation::Update { key, values } => {
                check_key(key)?;
                check_values(&self.schema, values)?;
                self.coding.check_all(values)?;
                message::begin(out, number, &self.update, |_| {});
                let updates = message::begin_sequence(out, "updates");
                bson::write(out, |update| {
                    update.document("q", |query| query.string(ID, key));
                    update.document("u", |change| {
                        change.document("$set", |fields| self.fields(values, fields));
                    });
                });
                message::end_sequence(out, updates);
            }
            Operation::Delete { key } => {
                check_key(key)?;
                message::begin(out, number, &self.delete, |_| {});
                let deletes = message::begin_sequence(out, "deletes");
                bson::write(out, |delete| {
                    delete.document("q", |query| query.string(ID, key));
                    delete.int32("limit", 1);
                });
                message::end_sequence(out, deletes);
            }
        }
        if out.len() - start > LONGEST {
            return Err(refused(format!(
                "a message of {} bytes: MongoDB takes up to {LONGEST}",
                out.len() - start
            )));
        }
        message::end(out, start);
        Ok(())
    }

    /// Appends the document of a new record, for an insert. The error is why it cannot be one.
    pub fn document(
        &self,
        key: &[u8],
        values: &[FieldValue<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), Outcome> {
        check_key(key)?;
        check_values(&self.schema, values)?;
        self.coding.check_all(values)?;
        bson::write(out, |document| {
            document.string(ID, key);
            self.fields(values, document);
        });
        Ok(())
    }

    /// Appends a message to which the server's answer says nothing.
    pub fn write_ping(&self, number: i32, out: &mut Vec<u8>) {
        let start = message::begin(out, number, &self.ping, |_| {});
        message::end(out, start);
    }

    /// Appends the request for what follows a batch: up to `limit` more.
    pub fn write_more(&self, cursor: i64, limit: u64, number: i32, out: &mut Vec<u8>) {
        let start = message::begin(out, number, b"", |command| {
            command.int64("getMore", cursor);
            command.string("collection", self.schema.table().as_bytes());
            command.int64("batchSize", limit as i64 + 1);
            command.string("$db", self.database.as_bytes());
        });
        message::end(out, start);
    }

    /// Begins an insert of many documents. Returns where their sequence begins.
    pub fn begin_load(&self, number: i32, out: &mut Vec<u8>) -> usize {
        message::begin(out, number, &self.insert, |_| {});
        message::begin_sequence(out, "documents")
    }

    fn fields(&self, values: &[FieldValue<'_>], document: &mut Writer<'_>) {
        for value in values {
            self.coding.write(document, self.schema.field_name(value.field), value.bytes);
        }
    }

    fn check_fields(&self, fields: Fields) -> Result<(), Outcome> {
        match fields {
            Fields::All => Ok(()),
            Fields::One(field) => check_field(&self.schema, field),
        }
    }

    fn lookup(&self, field: u16) -> Result<&[u8], Outcome> {
        match (self.coding, self.lookups.get(usize::from(field))) {
            (Coding::Binary, _) => Err(refused(super::NO_LOOKUP.to_owned())),
            (Coding::Text, Some(find)) => Ok(find),
            (Coding::Text, None) => Err(refused(format!(
                "field {field} has no index to look it up in: give the table more indexes"
            ))),
        }
    }

    /// The server sends `_id` with the fields that are named.
    fn projection(&self, command: &mut Writer<'_>, fields: Fields) {
        if let Fields::One(field) = fields {
            let name = self.schema.field_name(field);
            command.document("projection", |projection| projection.int32(name, 1));
        }
    }
}

/// How many records, all of them in the first batch if they fit in a message. The batch has room for
/// one more than the limit, as MongoDB's own drivers have it: a full batch leaves the cursor open on
/// some servers.
fn batch(command: &mut Writer<'_>, limit: u32) {
    command.int64("limit", limit.into());
    command.int64("batchSize", i64::from(limit) + 1);
}
