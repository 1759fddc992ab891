//! The layouts as values: how a record's key and fields lie in a table.

use assay_model::Schema;

use super::flavour::Flavour;
use crate::document;

/// The member of a document that holds its record's key.
pub(super) const KEY_MEMBER: &str = "YCSB_KEY";

/// The longest key and indexed value: what an index takes in any row format of InnoDB. Keys and
/// indexed values longer than it are refused by the server.
pub(super) const INDEXED_BYTES: u64 = 767;

/// Where the fields are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Each in a column of its own.
    Columns,
    /// All, and the key, in one column `data`, a JSON document.
    Document,
}

impl Body {
    /// The body of the layout called `name`.
    pub fn of_layout(name: &str) -> Option<Body> {
        match name {
            "row" => Some(Body::Columns),
            "json" => Some(Body::Document),
            _ => None,
        }
    }
}

/// `name` as an identifier.
pub(super) fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `text` as a string.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// The path of the member called `name`.
pub(super) fn path(name: &str) -> String {
    let mut quoted = b"$.".to_vec();
    document::write_string(&mut quoted, name.as_bytes());
    // A name is text, and so is what its escapes make of it.
    String::from_utf8_lossy(&quoted).into_owned()
}

/// SQL for the member at `path`, itself SQL, as text.
pub(super) fn member(path: &str) -> String {
    format!("JSON_UNQUOTE(JSON_EXTRACT(data, {path}))")
}

/// The indexed column of the field at `position`.
pub(super) fn indexed(body: Body, schema: &Schema, position: u16) -> String {
    match body {
        Body::Columns => identifier(schema.field_name(position)),
        Body::Document => format!("ycsb_value{position}"),
    }
}

/// SQL that creates the empty table with its indexes.
pub(super) fn create(flavour: &Flavour, body: Body, table: &str, schema: &Schema) -> String {
    let mut parts = Vec::new();
    let short = format!("VARBINARY({INDEXED_BYTES})");
    let generated = |name: &str| {
        format!("{short} GENERATED ALWAYS AS ({}) STORED", member(&literal(&path(name))))
    };
    match body {
        Body::Columns => {
            parts.push(format!("ycsb_key {short} NOT NULL PRIMARY KEY"));
            for (position, name) in (0..).zip(schema.field_names()) {
                let kind = if position < schema.index_count() { &short } else { "LONGBLOB" };
                parts.push(format!("{} {kind}", identifier(name)));
            }
        }
        Body::Document => {
            parts.push("data JSON NOT NULL".into());
            parts.push(format!("ycsb_key {}", generated(KEY_MEMBER)));
            parts.push(format!("{} (ycsb_key)", flavour.document_key));
            for position in 0..schema.index_count() {
                let column = indexed(body, schema, position);
                parts.push(format!("{column} {}", generated(schema.field_name(position))));
            }
        }
    }
    for position in 0..schema.index_count() {
        parts.push(format!("KEY ({})", indexed(body, schema, position)));
    }
    format!("CREATE TABLE {table} ({}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::flavour::{MARIADB, MYSQL};

    #[test]
    fn names_are_quoted_for_where_they_stand() {
        assert_eq!(identifier("a`b"), "`a``b`");
        assert_eq!(literal("it's \\"), "'it\\'s \\\\'");
        assert_eq!(path("fie\"ld"), "$.\"fie\\\"ld\"");
    }

    #[test]
    fn a_table_has_its_columns_and_indexes() {
        let schema = Schema::new("t", "f", 2).with_indexes(1);
        assert_eq!(
            create(&MYSQL, Body::Columns, "d.t", &schema),
            "CREATE TABLE d.t (ycsb_key VARBINARY(767) NOT NULL PRIMARY KEY, `f0` VARBINARY(767), \
             `f1` LONGBLOB, KEY (`f0`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
        );
        let document = |flavour| create(flavour, Body::Document, "d.t", &schema);
        assert!(document(&MARIADB).contains("STORED, UNIQUE KEY (ycsb_key), ycsb_value0 "));
        assert!(document(&MYSQL).contains("STORED, PRIMARY KEY (ycsb_key), ycsb_value0 "));
    }
}
