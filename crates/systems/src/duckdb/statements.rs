//! The SQL of a table.

use assay_model::{FieldValue, Fields, Schema};

/// What a prepared statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Statement {
    /// Parameter 1 is the key; the columns are the fields wanted.
    Read(Wanted),
    /// Parameter 1 is the first key, 2 the limit; the columns are the key and the fields wanted.
    Scan(Wanted),
    /// Parameter 1 is the first value, 2 the limit, 3 the last value of [`Range::UpTo`]; the columns
    /// are the key and the fields wanted.
    Lookup {
        /// The indexed field.
        by: u16,
        /// The values wanted of it.
        range: Range,
        /// What is wanted of each record.
        wanted: Wanted,
    },
    /// Parameter 1 is the key, then every field by position.
    Insert,
    /// Parameter 1 is the key, then the fields that are set.
    Update(Wanted),
    /// Parameter 1 is the key.
    Delete,
}

/// The values that a lookup goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Range {
    /// One value, which DuckDB finds by the index; a range with two ends it looks for in the table.
    One,
    /// From a value to a value.
    UpTo,
    /// From a value on.
    From,
}

impl Range {
    pub(super) fn of(from: &[u8], to: Option<&[u8]>) -> Range {
        match to {
            Some(to) if to == from => Range::One,
            Some(_) => Range::UpTo,
            None => Range::From,
        }
    }
}

/// One field, or `None` for all.
pub(super) type Wanted = Option<u16>;

/// The fields of an operation as [`Wanted`].
pub(super) fn wanted(fields: Fields) -> Wanted {
    match fields {
        Fields::All => None,
        Fields::One(one) => Some(one),
    }
}

/// A table, from which its statements are made.
pub(super) struct Table {
    /// Its name.
    pub(super) name: String,
    quoted: String,
    /// The fields' columns, by position.
    fields: Vec<String>,
    /// The fields, from the first, that have an index.
    indexed: Vec<String>,
}

impl Table {
    pub(super) fn new(schema: &Schema) -> Table {
        let index = |position| format!("{}_{}", schema.table(), schema.field_name(position));
        Table {
            name: schema.table().to_owned(),
            quoted: quoted(schema.table()),
            fields: schema.field_names().iter().map(|name| quoted(name)).collect(),
            indexed: (0..schema.index_count()).map(|position| quoted(&index(position))).collect(),
        }
    }

    pub(super) fn field_count(&self) -> u16 {
        self.fields.len() as u16
    }

    /// Creates the table and its indexes.
    pub(super) fn create_sql(&self) -> String {
        let Table { quoted, fields, indexed, .. } = self;
        let columns: String =
            fields.iter().map(|field| format!(", {field} BLOB NOT NULL")).collect();
        let indexes: String = indexed
            .iter()
            .zip(fields)
            .map(|(name, field)| format!("; CREATE INDEX {name} ON {quoted} ({field})"))
            .collect();
        format!("CREATE TABLE {quoted} (key BLOB NOT NULL PRIMARY KEY{columns}){indexes}")
    }

    pub(super) fn drop_sql(&self) -> String {
        format!("DROP TABLE IF EXISTS {}", self.quoted)
    }

    /// Counts the records, as text.
    pub(super) fn count_sql(&self) -> String {
        format!("SELECT count(*)::VARCHAR FROM {}", self.quoted)
    }

    /// Counts the tables of this name, as text.
    pub(super) fn exists_sql(&self) -> String {
        let name = self.name.replace('\'', "''");
        format!("SELECT count(*)::VARCHAR FROM duckdb_tables() WHERE table_name = '{name}'")
    }

    /// The statement's SQL.
    pub(super) fn sql(&self, statement: Statement) -> String {
        let table = &self.quoted;
        match statement {
            Statement::Read(wanted) => {
                format!("SELECT {} FROM {table} WHERE key = $1", self.columns(wanted))
            }
            Statement::Scan(wanted) => {
                let columns = self.columns(wanted);
                format!("SELECT key, {columns} FROM {table} WHERE key >= $1 ORDER BY key LIMIT $2")
            }
            Statement::Lookup { by, range, wanted } => {
                let (columns, by) = (self.columns(wanted), &self.fields[usize::from(by)]);
                let condition = match range {
                    Range::One => format!("{by} = $1"),
                    Range::UpTo => format!("{by} >= $1 AND {by} <= $3 ORDER BY {by}"),
                    Range::From => format!("{by} >= $1 ORDER BY {by}"),
                };
                format!("SELECT key, {columns} FROM {table} WHERE {condition} LIMIT $2")
            }
            Statement::Insert => {
                let values: String =
                    (2..2 + self.fields.len()).map(|number| format!(", ${number}")).collect();
                format!("INSERT INTO {table} VALUES ($1{values})")
            }
            Statement::Update(None) => self.update(0..self.field_count()),
            Statement::Update(Some(one)) => self.update([one]),
            Statement::Delete => format!("DELETE FROM {table} WHERE key = $1"),
        }
    }

    /// Sets the fields that `values` gives, in their order.
    pub(super) fn update_of(&self, values: &[FieldValue<'_>]) -> String {
        self.update(values.iter().map(|value| value.field))
    }

    fn update(&self, fields: impl IntoIterator<Item = u16>) -> String {
        let set: Vec<String> = fields
            .into_iter()
            .zip(2..)
            .map(|(field, number)| format!("{} = ${number}", self.fields[usize::from(field)]))
            .collect();
        format!("UPDATE {} SET {} WHERE key = $1", self.quoted, set.join(", "))
    }

    fn columns(&self, wanted: Wanted) -> String {
        match wanted {
            None => self.fields.join(", "),
            Some(one) => self.fields[usize::from(one)].clone(),
        }
    }
}

/// A name as an identifier.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_field_is_one_column_and_some_are_those() {
        let table = Table::new(&Schema::new("t", "f", 3));
        let read = table.sql(Statement::Read(wanted(Fields::One(1))));
        assert_eq!(read, r#"SELECT "f1" FROM "t" WHERE key = $1"#);
        let values = [FieldValue { field: 2, bytes: b"" }, FieldValue { field: 0, bytes: b"" }];
        let update = table.update_of(&values);
        assert_eq!(update, r#"UPDATE "t" SET "f2" = $2, "f0" = $3 WHERE key = $1"#);
    }

    #[test]
    fn a_lookup_of_one_value_is_no_range() {
        let table = Table::new(&Schema::new("t", "f", 2).with_indexes(1));
        let sql = |from: &[u8], to| {
            table.sql(Statement::Lookup { by: 0, range: Range::of(from, to), wanted: Some(1) })
        };
        let start = r#"SELECT key, "f1" FROM "t" WHERE "f0" "#;
        assert_eq!(sql(b"a", Some(b"a")), format!("{start}= $1 LIMIT $2"));
        let range = r#">= $1 AND "f0" <= $3 ORDER BY "f0" LIMIT $2"#;
        assert_eq!(sql(b"a", Some(b"b")), format!("{start}{range}"));
        assert_eq!(sql(b"a", None), format!(r#"{start}>= $1 ORDER BY "f0" LIMIT $2"#));
    }

    #[test]
    fn an_index_stands_for_each_indexed_field() {
        let table = Table::new(&Schema::new("t", "f", 2).with_indexes(1));
        let expected = r#"CREATE TABLE "t" (key BLOB NOT NULL PRIMARY KEY, "f0" BLOB NOT NULL, "f1" BLOB NOT NULL); CREATE INDEX "t_f0" ON "t" ("f0")"#;
        assert_eq!(table.create_sql(), expected);
    }

    #[test]
    fn names_are_quoted() {
        let table = Table::new(&Schema::new("a\"b'c", "f", 1));
        assert!(
            table.create_sql().starts_with(r#"CREATE TABLE "a""b'c" ("#),
            "{}",
            table.create_sql()
        );
        assert!(table.exists_sql().ends_with(r#"'a"b''c'"#), "{}", table.exists_sql());
    }
}
