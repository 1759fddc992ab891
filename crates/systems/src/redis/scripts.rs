//! The server-side scripts that change a record and its entries in the indexes as one: only who
//! knows the old value can take its entry away, and nobody else may change it meanwhile. They keep
//! the set of all keys too: a record that was refused must not be listed there.

use assay_model::FieldValue;

use super::{connection::Connection, resp, table::Table};
use crate::SystemError;

const WRITE: &[u8] = include_bytes!("write.lua");
const DELETE: &[u8] = include_bytes!("delete.lua");

/// What `write.lua` makes of the record as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Nothing.
    Any,
    /// It belongs into the set of all keys.
    List,
    /// It must exist.
    MustExist,
}

impl Mode {
    fn argument(self) -> &'static [u8] {
        match self {
            Mode::Any => b"",
            Mode::List => b"LIST",
            Mode::MustExist => b"XX",
        }
    }
}

/// The digests by which the server knows the scripts, as strings of a request.
pub(super) struct Scripts {
    write: Vec<u8>,
    delete: Vec<u8>,
}

impl Scripts {
    /// Makes the scripts known to the server.
    pub(super) fn load(connection: &mut Connection<'_>) -> Result<Scripts, SystemError> {
        let mut load = |script| {
            connection.text("load the scripts that keep indexes", &[b"SCRIPT", b"LOAD", script])
        };
        Ok(Scripts::known(&load(WRITE)?, &load(DELETE)?))
    }

    /// The scripts of these digests.
    pub(super) fn known(write: &[u8], delete: &[u8]) -> Scripts {
        let encoded = |digest| {
            let mut out = Vec::new();
            resp::bulk(digest, &mut out);
            out
        };
        Scripts { write: encoded(write), delete: encoded(delete) }
    }

    /// Appends the call that creates a record, or overwrites it. It is answered by 1.
    pub(super) fn insert(
        &self,
        table: &Table,
        key: &[u8],
        values: &[FieldValue<'_>],
        out: &mut Vec<u8>,
    ) {
        self.write(table, key, values, if table.indexed() { Mode::List } else { Mode::Any }, out);
    }

    /// Appends the call that writes fields of a record. It is answered by 1, or by 0 if the record
    /// does not exist.
    pub(super) fn update(
        &self,
        table: &Table,
        key: &[u8],
        values: &[FieldValue<'_>],
        out: &mut Vec<u8>,
    ) {
        self.write(table, key, values, Mode::MustExist, out);
    }

    fn write(
        &self,
        table: &Table,
        key: &[u8],
        values: &[FieldValue<'_>],
        mode: Mode,
        out: &mut Vec<u8>,
    ) {
        let indexed = || values.iter().filter(|value| table.has_index(value.field));
        let others = values.iter().filter(|value| !table.has_index(value.field));
        let sets = indexed().count() + usize::from(mode == Mode::List);
        call(&self.write, 1 + sets, 1 + 2 * values.len(), out);
        resp::bulk(key, out);
        indexed().for_each(|value| table.set(value.field, out));
        if mode == Mode::List {
            table.index(out);
        }
        resp::bulk(mode.argument(), out);
        for value in indexed().chain(others) {
            table.name(value.field, out);
            resp::bulk(value.bytes, out);
        }
    }

    /// Appends the call that deletes a record. It is answered by how many were there.
    pub(super) fn delete(&self, table: &Table, key: &[u8], out: &mut Vec<u8>) {
        let fields = 0..table.schema.index_count();
        let sets = fields.len() + usize::from(table.indexed());
        call(&self.delete, 1 + sets, fields.len(), out);
        resp::bulk(key, out);
        fields.clone().for_each(|field| table.set(field, out));
        if table.indexed() {
            table.index(out);
        }
        fields.for_each(|field| table.name(field, out));
    }
}

/// Appends the beginning of a script's call: its keys follow, and then its arguments.
fn call(digest: &[u8], keys: usize, arguments: usize, out: &mut Vec<u8>) {
    resp::array(3 + keys + arguments, out);
    out.extend_from_slice(b"$7\r\nEVALSHA\r\n");
    out.extend_from_slice(digest);
    resp::bulk_decimal(keys, out);
}
