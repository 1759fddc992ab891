//! The layouts as values: how a record's key and fields lie in a table, in SQL and on the wire.
//!
//! Everything that differs between the layouts is here or follows from here; the statements, the
//! loader and the codec are written once.

use std::iter;

use assay_model::Schema;
use postgres_protocol::escape::{escape_identifier, escape_literal};

use super::flavour::{Flavour, Keys};

/// The member that holds the key of a record which keeps it inside its document.
pub(super) const KEY_MEMBER: &str = "YCSB_KEY";

/// Where and how a record is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub flavour: &'static Flavour,
    pub body: Body,
    pub key: KeyPlace,
}

/// Where the key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyPlace {
    /// In a column of its own, the primary key.
    Column,
    /// In the document, with a unique index on the expression that extracts it.
    Document,
}

/// Where the fields are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    /// Each in a column of its own.
    Columns,
    /// All in one column, `data`.
    Document(&'static DocumentType),
}

/// A column type that holds a whole record.
#[derive(Debug)]
pub(super) struct DocumentType {
    /// The layout's name, which is the type's name in SQL.
    pub name: &'static str,
    /// The operator that extracts a member as text.
    pub extract: &'static str,
    /// The stored document with the members of `$2` replaced.
    pub merged: &'static str,
    /// How a new document travels to the server.
    pub stored: Coding,
    /// How the members to replace travel to the server.
    pub patch: Coding,
}

/// How a document looks on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// JSON text.
    Json,
    /// A version byte and JSON text: `jsonb` in binary format.
    Jsonb,
    /// Counted pairs of counted strings: `hstore` in binary format.
    Hstore,
}

pub(super) static HSTORE: DocumentType = DocumentType {
    name: "hstore",
    extract: "->",
    merged: "data || $2::hstore",
    stored: Coding::Hstore,
    patch: Coding::Hstore,
};

pub(super) static JSONB: DocumentType = DocumentType {
    name: "jsonb",
    extract: "->>",
    merged: "data || $2::jsonb",
    stored: Coding::Jsonb,
    patch: Coding::Jsonb,
};

/// `json` has no operator that replaces a member: the server parses the text, merges and prints.
pub(super) static JSON: DocumentType = DocumentType {
    name: "json",
    extract: "->>",
    merged: "(data::jsonb || $2::jsonb)::json",
    stored: Coding::Json,
    patch: Coding::Jsonb,
};

impl Body {
    /// The body of the layout called `name`.
    pub fn of_layout(name: &str) -> Option<Body> {
        match name {
            "row" => Some(Body::Columns),
            _ => [&HSTORE, &JSONB, &JSON]
                .into_iter()
                .find(|document| document.name == name)
                .map(Body::Document),
        }
    }
}

impl DocumentType {
    /// SQL for the member that `name`, itself SQL, names.
    pub fn member(&self, name: &str) -> String {
        format!("data{}{name}", self.extract)
    }

    /// SQL for the member called `name`, compared byte by byte.
    fn collated(&self, name: &str) -> String {
        format!("({}) COLLATE \"C\"", self.member(&escape_literal(name)))
    }
}

impl Dialect {
    /// SQL for a record's key, as the index has it: compared byte by byte, so that a scan's order
    /// does not depend on the server's locale.
    pub fn key_sql(&self) -> String {
        match (self.key, self.body) {
            (KeyPlace::Document, Body::Document(document)) => document.collated(KEY_MEMBER),
            _ => "ycsb_key".to_owned(),
        }
    }

    /// SQL for an indexed field, as its index has it: compared byte by byte as well.
    pub fn indexed_sql(&self, name: &str) -> String {
        match self.body {
            Body::Columns => escape_identifier(name),
            Body::Document(document) => document.collated(name),
        }
    }

    /// The columns of a new record, in order; the record encoder writes them so.
    pub fn column_count(&self, schema: &Schema) -> u16 {
        match (self.key, self.body) {
            (_, Body::Columns) => 1 + schema.field_count(),
            (KeyPlace::Column, Body::Document(_)) => 2,
            (KeyPlace::Document, Body::Document(_)) => 1,
        }
    }

    /// SQL that creates the empty table and its indexes, all or nothing.
    pub fn create_sql(&self, schema: &Schema) -> String {
        let table = escape_identifier(schema.table());
        let (key, constraint) = match self.flavour.keys {
            Keys::Indexed => ("ycsb_key text COLLATE \"C\" PRIMARY KEY", ""),
            Keys::Assumed => {
                ("ycsb_key text COLLATE \"C\" NOT NULL", ", ASSUMED PRIMARY KEY (ycsb_key)")
            }
        };
        let create = match (self.key, self.body) {
            (_, Body::Columns) => {
                let fields: String = (0..)
                    .zip(schema.field_names())
                    .map(|(position, name)| {
                        let indexed = position < schema.index_count();
                        let collation = if indexed { " COLLATE \"C\"" } else { "" };
                        format!(", {} text{collation}", escape_identifier(name))
                    })
                    .collect();
                format!("CREATE TABLE {table} ({key}{fields}{constraint})")
            }
            (KeyPlace::Column, Body::Document(document)) => {
                format!("CREATE TABLE {table} ({key}, data {} NOT NULL{constraint})", document.name)
            }
            (KeyPlace::Document, Body::Document(document)) => format!(
                "CREATE TABLE {table} (data {} NOT NULL); CREATE UNIQUE INDEX ON {table} ({})",
                document.name,
                self.key_sql()
            ),
        };
        // The server picks names that are free.
        let indexes = (0..schema.index_count()).map(|position| {
            let field = self.indexed_sql(schema.field_name(position));
            format!("; CREATE INDEX ON {table} ({field})")
        });
        iter::once(create).chain(indexes).collect()
    }
}
