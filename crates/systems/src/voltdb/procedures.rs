//! A table and its stored procedures: what is declared at set-up, and what each operation calls.
//!
//! Inserts and deletes call what VoltDB makes for every table by itself (`TABLE.insert`,
//! `TABLE.delete`); the others are statements declared as procedures, planned once, when they are
//! declared. A procedure about one key of a partitioned table runs in its partition alone.

use assay_model::{FieldValue, Fields, Outcome, Schema};

use super::message;
use crate::{
    framing,
    sql::{self, Lookups, Range},
};

/// The column of the key.
pub(super) const KEY: &str = "ycsb_key";
/// VoltDB takes a table whose columns, as they are declared, make up so many bytes, with four for the
/// length of each.
const MAX_ROW_BYTES: u64 = 2 << 20;
const MAX_COLUMN_BYTES: u64 = 1 << 20;
const LENGTH_BYTES: u64 = 4;

/// How a table is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// Each record in the partition of its key.
    Partitioned,
    /// Every record on every site.
    Replicated,
}

impl Spread {
    /// That of the layout called `name`.
    pub(super) fn of_layout(name: &str) -> Option<Spread> {
        match name {
            "partitioned" => Some(Spread::Partitioned),
            "replicated" => Some(Spread::Replicated),
            _ => None,
        }
    }
}

/// The bytes that a field's column is declared with.
pub(super) fn field_bytes(field_count: u16, key_bytes: u64) -> u64 {
    let fields = u64::from(field_count.max(1));
    let left = MAX_ROW_BYTES - key_bytes - LENGTH_BYTES;
    (left / fields).saturating_sub(LENGTH_BYTES).min(MAX_COLUMN_BYTES)
}

/// A procedure, as the beginning of a call.
pub(super) type Procedure = Box<[u8]>;

/// The procedures of a table. Shared by all clients.
#[derive(Debug)]
pub(super) struct Procedures {
    all: Vec<Procedure>,
    lookups: Lookups,
    field_count: u16,
    /// SQL that declares the table with its indexes and procedures.
    pub create: String,
    /// SQL that drops all of that.
    pub drop: String,
}

const INSERT: usize = 0;
const DELETE: usize = 1;
const READ: usize = 2;
const SCAN: usize = 3;
/// Replaces every field.
const UPDATE: usize = 4;
/// With several fields: replaces those that a number before each value says to.
const UPDATE_SOME: usize = 5;
/// With several fields: those about one field each begin here, reads before updates.
const BY_FIELD: usize = 6;

/// How an update procedure takes the new values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replacement {
    /// The value of a field, or of each field.
    Given,
    /// A number and a value a field: whether to replace it, and by what.
    Chosen,
}

/// Collects the declarations.
struct Writer<'a> {
    spread: Spread,
    table: &'a str,
    all: Vec<Procedure>,
    create: String,
    drop: String,
}

impl Writer<'_> {
    /// A procedure that VoltDB has by itself.
    fn given(&mut self, name: &str, parameters: u16) {
        let name = format!("{}.{name}", self.table.to_uppercase());
        self.all.push(message::head(&name, parameters));
    }

    /// Declares a procedure; `key_at` is the place of the key among the parameters, where it is about
    /// one key.
    fn declare(&mut self, name: &str, parameters: u16, key_at: Option<u16>, sql: &str) {
        let name = format!("assay_{}_{name}", self.table);
        let place = match key_at {
            Some(at) if self.spread == Spread::Partitioned => {
                format!(" PARTITION ON TABLE {} COLUMN {KEY} PARAMETER {at}", self.table)
            }
            _ => String::new(),
        };
        self.create.push_str(&format!("CREATE PROCEDURE {name}{place} AS {sql};\n"));
        self.drop.push_str(&format!("DROP PROCEDURE {name};\n"));
        self.all.push(message::head(&name, parameters));
    }
}

impl Procedures {
    /// Those of a table with keys of up to `key_bytes` bytes.
    pub(super) fn new(spread: Spread, schema: &Schema, key_bytes: u64) -> Procedures {
        let (table, count) = (schema.table(), schema.field_count());
        let mut writer = Writer {
            spread,
            table,
            all: Vec::new(),
            create: declaration(spread, schema, key_bytes),
            drop: String::new(),
        };
        let names = schema.field_names();
        let columns = names.join(", ");
        writer.given("insert", count + 1);
        writer.given("delete", 1);
        let read = |columns: &str| format!("SELECT {columns} FROM {table} WHERE {KEY} = ?");
        writer.declare("read", 1, Some(0), &read(&columns));
        let from = format!("SELECT {KEY}, {columns} FROM {table} WHERE ");
        writer.declare("scan", 2, None, &format!("{from}{KEY} >= ? ORDER BY {KEY} LIMIT ?"));
        let update = |changes: String| format!("UPDATE {table} SET {changes} WHERE {KEY} = ?");
        let all = |change: &dyn Fn(&String) -> String| {
            update(names.iter().map(change).collect::<Vec<_>>().join(", "))
        };
        let every = all(&|name| format!("{name} = ?"));
        writer.declare("update", count + 1, Some(count), &every);
        if count > 1 {
            let some = all(&|name| format!("{name} = DECODE(?, 1, ?, {name})"));
            writer.declare("update_some", 2 * count + 1, Some(2 * count), &some);
            for (at, name) in names.iter().enumerate() {
                writer.declare(&format!("read_{at}"), 1, Some(0), &read(name));
            }
            for (at, name) in names.iter().enumerate() {
                let one = update(format!("{name} = ?"));
                writer.declare(&format!("update_{at}"), 2, Some(1), &one);
            }
        }
        let lookups =
            Lookups { first: writer.all.len(), index_count: schema.index_count(), selections: 1 };
        for (at, name) in (0..schema.index_count()).zip(names) {
            for range in Range::ALL {
                let (which, condition, values) = match range {
                    Range::One => ("one", format!("{name} = ?"), 1),
                    Range::UpTo => {
                        ("upto", format!("{name} >= ? AND {name} <= ? ORDER BY {name}"), 2)
                    }
                    Range::From => ("from", format!("{name} >= ? ORDER BY {name}"), 1),
                };
                let sql = format!("{from}{condition} LIMIT ?");
                writer.declare(&format!("lookup_{at}_{which}"), values + 1, None, &sql);
            }
        }
        let Writer { all, create, mut drop, .. } = writer;
        drop.push_str(&format!("DROP TABLE {table};\n"));
        Procedures { all, lookups, field_count: count, create, drop }
    }

    pub(super) fn get(&self, index: usize) -> &[u8] {
        &self.all[index]
    }

    pub(super) fn insert(&self) -> &[u8] {
        self.get(INSERT)
    }

    pub(super) fn delete(&self) -> &[u8] {
        self.get(DELETE)
    }

    pub(super) fn scan(&self) -> &[u8] {
        self.get(SCAN)
    }

    pub(super) fn read(&self, fields: Fields) -> &[u8] {
        match fields {
            Fields::One(field) if self.field_count > 1 => self.get(BY_FIELD + usize::from(field)),
            _ => self.get(READ),
        }
    }

    /// The procedure that replaces `values`, of fields that the table has, and how it takes them.
    pub(super) fn update(
        &self,
        values: &[FieldValue<'_>],
    ) -> Result<(&[u8], Replacement), Outcome> {
        Ok(match values {
            [] => return Err(sql::refused("an update of no field".into())),
            _ if framing::covers_all(values, self.field_count) => {
                (self.get(UPDATE), Replacement::Given)
            }
            _ if self.field_count == 1 => {
                return Err(sql::refused("several values for one field".into()));
            }
            [one] => {
                let at = BY_FIELD + usize::from(self.field_count) + usize::from(one.field);
                (self.get(at), Replacement::Given)
            }
            _ => (self.get(UPDATE_SOME), Replacement::Chosen),
        })
    }

    /// The procedure that looks up values in `range` of the field at `position`. The error is that it
    /// has no index.
    pub(super) fn lookup(&self, position: u16, range: Range) -> Result<&[u8], Outcome> {
        self.lookups.find(position, range, 0).map(|index| self.get(index))
    }
}

/// SQL that declares the table and its indexes.
fn declaration(spread: Spread, schema: &Schema, key_bytes: u64) -> String {
    let table = schema.table();
    let most = field_bytes(schema.field_count(), key_bytes);
    let mut sql = format!("CREATE TABLE {table} (\n{KEY} VARBINARY({key_bytes}) NOT NULL,\n");
    for name in schema.field_names() {
        sql.push_str(&format!("{name} VARBINARY({most}),\n"));
    }
    sql.push_str(&format!("PRIMARY KEY ({KEY}));\n"));
    if spread == Spread::Partitioned {
        sql.push_str(&format!("PARTITION TABLE {table} ON COLUMN {KEY};\n"));
    }
    for (at, name) in (0..schema.index_count()).zip(schema.field_names()) {
        sql.push_str(&format!("CREATE INDEX assay_{table}_index_{at} ON {table} ({name});\n"));
    }
    sql
}

/// Refuses what VoltDB's SQL would not take as a name, or take for another: it has no quoted names,
/// and small letters are the same as capital ones.
pub(super) fn check_names(schema: &Schema) -> Result<(), String> {
    const MAX_FIELDS: usize = 1023;
    let names = schema.field_names();
    if names.len() > MAX_FIELDS {
        return Err(format!(
            "a table has at most {MAX_FIELDS} fields, and there are {}",
            names.len()
        ));
    }
    let plain = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut all = std::iter::once(schema.table()).chain(names.iter().map(String::as_str));
    if let Some(name) = all.find(|name| !plain(name)) {
        return Err(format!(
            "'{}' is no name: it is ASCII letters, digits and '_', and does not begin with a digit",
            name.escape_debug()
        ));
    }
    let mut seen: Vec<String> = names.iter().map(|name| name.to_uppercase()).collect();
    seen.push(KEY.to_uppercase());
    seen.sort();
    match seen.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("two columns would have the name {}", pair[0])),
        None => Ok(()),
    }
}

/// Refuses fields that the table does not have.
pub(super) fn check_fields(schema: &Schema, fields: Fields) -> Result<(), Outcome> {
    match fields {
        Fields::One(field) => sql::check_field(schema, field),
        Fields::All => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fill_a_row_and_no_more() {
        assert_eq!(field_bytes(1, 1024), 1 << 20);
        for count in [2, 10, 1023] {
            let bytes = field_bytes(count, 1024);
            let fields = u64::from(count);
            let row = |bytes: u64| 1024 + 4 + fields * (bytes + 4);
            assert!(row(bytes) <= 2 << 20 && row(bytes + 1) > 2 << 20, "{count}: {bytes}");
        }
    }

    #[test]
    fn a_partitioned_table_has_its_key_named_to_procedures_about_one_key() {
        let schema = Schema::new("t", "f", 2).with_indexes(1);
        let partitioned = Procedures::new(Spread::Partitioned, &schema, 64);
        assert!(partitioned.create.contains(
            "CREATE PROCEDURE assay_t_update PARTITION ON TABLE t COLUMN ycsb_key PARAMETER 2 AS \
             UPDATE t SET f0 = ?, f1 = ? WHERE ycsb_key = ?;\n"
        ));
        assert!(partitioned.create.contains("CREATE PROCEDURE assay_t_scan AS SELECT ycsb_key, "));
        let replicated = Procedures::new(Spread::Replicated, &schema, 64);
        assert!(!replicated.create.contains("PARTITION"));
        let declared = replicated.create.matches("CREATE PROCEDURE").count();
        assert_eq!(declared, replicated.drop.matches("DROP PROCEDURE").count());
        assert_eq!(declared + 2, replicated.all.len());
        assert!(replicated.drop.ends_with("DROP TABLE t;\n"));
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        assert_eq!(check_names(&Schema::new("usertable", "field", 3)), Ok(()));
        for (table, prefix) in [("", "f"), ("a b", "f"), ("1t", "f"), ("t", "f-"), ("t;", "f")] {
            assert!(check_names(&Schema::new(table, prefix, 1)).is_err(), "{table} {prefix}");
        }
        assert!(check_names(&Schema::new("t", "f", 1024)).is_err());
    }
}
