//! The SQL of a table, in each layout.

use std::fmt::Write;

use assay_model::{FieldValue, Fields, Schema};

/// How a record is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One column a field, of bytes.
    Row,
    /// One column of JSON text.
    Json,
}

/// A table's statements. In all of them the key is parameter 1 and the values follow.
pub(super) struct Statements {
    pub(super) shape: Shape,
    pub(super) field_count: u16,
    table: String,
    fields: Vec<String>,
    pub(super) create: String,
    pub(super) drop: String,
    pub(super) insert: String,
    pub(super) delete: String,
    pub(super) count: String,
    pub(super) exists: String,
    read_all: String,
    read_one: Vec<String>,
    scan_all: String,
    scan_one: Vec<String>,
    /// The wanted fields, by position.
    wanted: Vec<String>,
    /// By indexed field: up to a value, and without an end.
    lookup_all: Vec<[String; 2]>,
    update_all: String,
    update_one: Vec<String>,
}

impl Statements {
    pub(super) fn new(schema: &Schema, shape: Shape) -> Statements {
        let table = quoted(schema.table());
        let names = schema.field_names();
        let fields: Vec<String> = match shape {
            Shape::Row => names.iter().map(|name| quoted(name)).collect(),
            Shape::Json => {
                names.iter().map(|name| literal(&format!("$.{}", quoted(name)))).collect()
            }
        };
        let wanted: Vec<String> = match shape {
            Shape::Row => fields.clone(),
            Shape::Json => fields.iter().map(|path| format!("doc ->> {path}")).collect(),
        };
        let all = wanted.join(", ");
        let read = |wanted: &str| format!("SELECT {wanted} FROM {table} WHERE key = ?1");
        let scan = |wanted: &str| {
            format!("SELECT key, {wanted} FROM {table} WHERE key >= ?1 ORDER BY key LIMIT ?2")
        };
        let parameters: Vec<String> = (2..2 + fields.len()).map(|at| format!("?{at}")).collect();
        let (columns, values) = match shape {
            Shape::Row => (
                fields.iter().map(|field| format!(", {field} BLOB NOT NULL")).collect(),
                parameters.join(", "),
            ),
            Shape::Json => {
                let pair = |(name, at): (&String, &String)| format!("{}, {at}", literal(name));
                let pairs: Vec<String> = names.iter().zip(&parameters).map(pair).collect();
                (", doc TEXT NOT NULL".to_owned(), format!("json_object({})", pairs.join(", ")))
            }
        };
        let mut create = format!("CREATE TABLE {table} (key TEXT NOT NULL PRIMARY KEY{columns})");
        for (position, field) in (0..schema.index_count()).zip(&wanted) {
            let name = quoted(&format!("{}_{}", schema.table(), schema.field_name(position)));
            write!(create, "; CREATE INDEX {name} ON {table} ({field})")
                .expect("a String takes all that is written to it");
        }
        let mut statements = Statements {
            shape,
            field_count: schema.field_count(),
            create,
            drop: format!("DROP TABLE IF EXISTS {table}"),
            insert: format!("INSERT INTO {table} VALUES (?1, {values})"),
            delete: format!("DELETE FROM {table} WHERE key = ?1"),
            count: format!("SELECT count(*) FROM {table}"),
            exists: format!(
                "SELECT count(*) FROM sqlite_schema WHERE name = {}",
                literal(schema.table())
            ),
            read_all: read(&all),
            read_one: wanted.iter().map(|one| read(one)).collect(),
            scan_all: scan(&all),
            scan_one: wanted.iter().map(|one| scan(one)).collect(),
            wanted,
            lookup_all: Vec::new(),
            update_all: String::new(),
            update_one: Vec::new(),
            table,
            fields,
        };
        statements.lookup_all = (0..schema.index_count())
            .map(|by| [true, false].map(|ends| statements.lookup_of(by, ends, &all)))
            .collect();
        statements.update_all = statements.update_of(0..statements.field_count);
        statements.update_one =
            (0..statements.field_count).map(|one| statements.update_of([one])).collect();
        statements
    }

    /// Selects the wanted fields of one record.
    pub(super) fn read(&self, fields: Fields) -> &str {
        match fields {
            Fields::All => &self.read_all,
            Fields::One(one) => &self.read_one[usize::from(one)],
        }
    }

    /// Selects the key and the wanted fields of a range; parameter 2 is the limit.
    pub(super) fn scan(&self, fields: Fields) -> &str {
        match fields {
            Fields::All => &self.scan_all,
            Fields::One(one) => &self.scan_one[usize::from(one)],
        }
    }

    /// Selects the key and the wanted fields of a range of an indexed field, in its order: parameter
    /// 1 is the first value, 2 the limit, 3 the last value if the range `ends`. `other` has room for
    /// statements that are not kept.
    pub(super) fn lookup<'a>(
        &'a self,
        by: u16,
        ends: bool,
        fields: Fields,
        other: &'a mut String,
    ) -> &'a str {
        match fields {
            Fields::All => &self.lookup_all[usize::from(by)][usize::from(!ends)],
            Fields::One(one) => {
                *other = self.lookup_of(by, ends, &self.wanted[usize::from(one)]);
                other
            }
        }
    }

    fn lookup_of(&self, by: u16, ends: bool, wanted: &str) -> String {
        let (table, by) = (&self.table, &self.wanted[usize::from(by)]);
        let end = if ends { format!(" AND {by} <= ?3") } else { String::new() };
        format!("SELECT key, {wanted} FROM {table} WHERE {by} >= ?1{end} ORDER BY {by} LIMIT ?2")
    }

    /// Sets the fields that `values` gives; `other` has room for the uncommon ones: neither one
    /// field nor all.
    pub(super) fn update<'a>(
        &'a self,
        values: &[FieldValue<'_>],
        other: &'a mut String,
    ) -> &'a str {
        match values {
            [one] => &self.update_one[usize::from(one.field)],
            _ if crate::framing::covers_all(values, self.field_count) => &self.update_all,
            _ => {
                *other = self.update_of(values.iter().map(|value| value.field));
                other
            }
        }
    }

    fn update_of(&self, fields: impl IntoIterator<Item = u16>) -> String {
        let mut sql = format!("UPDATE {} SET ", self.table);
        if self.shape == Shape::Json {
            sql.push_str("doc = json_set(doc");
        }
        for (index, field) in fields.into_iter().enumerate() {
            let (field, parameter) = (&self.fields[usize::from(field)], index + 2);
            let comma = if index == 0 { "" } else { ", " };
            match self.shape {
                Shape::Row => write!(sql, "{comma}{field} = ?{parameter}"),
                Shape::Json => write!(sql, ", {field}, ?{parameter}"),
            }
            .expect("a String takes all that is written to it");
        }
        sql.push_str(if self.shape == Shape::Json {
            ") WHERE key = ?1"
        } else {
            " WHERE key = ?1"
        });
        sql
    }

    /// How many statements a client may come to use.
    pub(super) fn distinct(&self) -> usize {
        8 + 3 * usize::from(self.field_count) + 2 * self.lookup_all.len()
    }
}

/// A name as an identifier.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Text as a literal.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_field_is_one_column() {
        let statements = Statements::new(&Schema::new("t", "f", 3), Shape::Row);
        let read = statements.read(Fields::One(1));
        assert_eq!(read, r#"SELECT "f1" FROM "t" WHERE key = ?1"#);
        let value = FieldValue { field: 2, bytes: b"" };
        let update = statements.update(&[value], &mut String::new()).to_owned();
        assert_eq!(update, r#"UPDATE "t" SET "f2" = ?2 WHERE key = ?1"#);
    }

    #[test]
    fn some_fields_are_those_columns() {
        let values = [FieldValue { field: 2, bytes: b"" }, FieldValue { field: 0, bytes: b"" }];
        let schema = Schema::new("t", "f", 3);
        let row = Statements::new(&schema, Shape::Row);
        let sql = row.update(&values, &mut String::new()).to_owned();
        assert_eq!(sql, r#"UPDATE "t" SET "f2" = ?2, "f0" = ?3 WHERE key = ?1"#);
        let json = Statements::new(&schema, Shape::Json);
        let sql = json.update(&values, &mut String::new()).to_owned();
        let expected =
            r#"UPDATE "t" SET doc = json_set(doc, '$."f2"', ?2, '$."f0"', ?3) WHERE key = ?1"#;
        assert_eq!(sql, expected);
    }

    #[test]
    fn names_are_quoted() {
        let statements = Statements::new(&Schema::new("a\"b'c", "f", 1), Shape::Row);
        assert!(
            statements.create.starts_with(r#"CREATE TABLE "a""b'c" ("#),
            "{}",
            statements.create
        );
        assert!(statements.exists.ends_with(r#"'a"b''c'"#), "{}", statements.exists);
    }
}
