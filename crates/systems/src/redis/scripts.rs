//! The server-side scripts that change a record and its entries in the indexes as one: only who
//! knows the old value can take its entry away, and nobody else may change it meanwhile.

use assay_model::FieldValue;

use super::{connection::Connection, resp, table::Table};
use crate::SystemError;

const WRITE: &[u8] = include_bytes!("write.lua");
const DELETE: &[u8] = include_bytes!("delete.lua");

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

    /// Appends the call that writes fields of a record and, unless it `must_exist`, creates it. It
    /// is answered by 1, or by 0 if the record does not exist.
    pub(super) fn write(
        &self,
        table: &Table,
        key: &[u8],
        values: &[FieldValue<'_>],
        must_exist: bool,
        out: &mut Vec<u8>,
    ) {
        let indexed = || values.iter().filter(|value| table.has_index(value.field));
        let others = values.iter().filter(|value| !table.has_index(value.field));
        let sets = indexed().count();
        call(&self.write, 1 + sets, 1 + 2 * values.len(), out);
        resp::bulk(key, out);
        indexed().for_each(|value| table.set(value.field, out));
        resp::bulk(if must_exist { b"XX" } else { b"" }, out);
        for value in indexed().chain(others) {
            table.name(value.field, out);
            resp::bulk(value.bytes, out);
        }
    }

    /// Appends the call that deletes a record. It is answered by how many were there.
    pub(super) fn delete(&self, table: &Table, key: &[u8], out: &mut Vec<u8>) {
        let fields = 0..table.schema.index_count();
        call(&self.delete, 1 + fields.len(), fields.len(), out);
        resp::bulk(key, out);
        fields.clone().for_each(|field| table.set(field, out));
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
