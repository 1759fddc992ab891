//! The records that an operation reads: one by its key, or those of a range whose keys came first.

use assay_model::{Answer, Fields, Outcome};

use super::{UNEXPECTED, entries, refused, resp, resp::Item, table::Table};

/// What is read, and how much of it has come. Its buffers are reused from one operation to the next.
pub(super) struct Records {
    source: Source,
    fields: Fields,
    keys: Strings,
    /// The entries that `keys` are from, if they are from an index.
    entries: Strings,
    /// Which of `keys` the next record belongs to.
    row: usize,
    coming: Coming,
    /// The field whose value comes next.
    field: u16,
    held: Held,
    failure: Option<Outcome>,
}

/// Where the keys are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The operation.
    Read,
    /// The sorted set of all keys.
    Scan,
    /// The index of the field `by`.
    Lookup {
        by: u16,
        /// Whether the range has an end.
        ends: bool,
    },
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coming {
    /// The header of a record, or the value of its field.
    Record,
    /// The names and values of a record: a name when `left` is even.
    Pairs { left: usize },
    /// The values that a lookup asked for: the indexed field's comes first.
    Values { left: usize },
}

/// A record that may have changed since the index was read: it is held back until it is whole.
#[derive(Default)]
struct Held {
    fields: Vec<u16>,
    values: Strings,
}

impl Held {
    fn clear(&mut self) {
        self.fields.clear();
        self.values.clear();
    }

    fn push(&mut self, field: u16, value: &[u8]) {
        self.fields.push(field);
        self.values.push(value);
    }

    fn iter(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.fields.iter().enumerate().map(|(at, field)| (*field, self.values.get(at)))
    }
}

/// Strings in one buffer.
#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }
}

impl Records {
    pub(super) fn new() -> Records {
        Records {
            source: Source::Read,
            fields: Fields::All,
            keys: Strings::default(),
            entries: Strings::default(),
            row: 0,
            coming: Coming::Record,
            field: 0,
            held: Held::default(),
            failure: None,
        }
    }

    /// Asks for the record of one key.
    pub(super) fn read(&mut self, table: &Table, key: &[u8], fields: Fields, out: &mut Vec<u8>) {
        self.begin(Source::Read, fields);
        self.keys.push(key);
        self.ask(table, out);
    }

    /// Asks for the keys of a range of keys.
    pub(super) fn scan(
        &mut self,
        table: &Table,
        start: &[u8],
        limit: u32,
        fields: Fields,
        out: &mut Vec<u8>,
    ) {
        self.begin(Source::Scan, fields);
        out.extend_from_slice(RANGE);
        table.index(out);
        resp::bulk_header(1 + start.len(), out);
        out.push(b'[');
        out.extend_from_slice(start);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(NO_END);
        out.extend_from_slice(BY_BYTES);
        resp::bulk_decimal(limit as usize, out);
    }

    /// Asks for the entries of a range of an indexed field.
    pub(super) fn lookup(
        &mut self,
        table: &Table,
        (by, from, to): (u16, &[u8], Option<&[u8]>),
        limit: u32,
        fields: Fields,
        out: &mut Vec<u8>,
    ) {
        self.begin(Source::Lookup { by, ends: to.is_some() }, fields);
        out.extend_from_slice(RANGE);
        table.set(by, out);
        entries::from(from, out);
        match to {
            Some(to) => entries::up_to(to, out),
            None => out.extend_from_slice(NO_END),
        }
        out.extend_from_slice(BY_BYTES);
        resp::bulk_decimal(limit as usize, out);
    }

    fn begin(&mut self, source: Source, fields: Fields) {
        self.source = source;
        self.fields = fields;
        self.keys.clear();
        self.entries.clear();
        self.row = 0;
        self.coming = Coming::Record;
        self.failure = None;
    }

    /// Takes a member of the range that was asked for.
    pub(super) fn member(&mut self, member: &[u8]) -> Result<(), &'static str> {
        if let Source::Lookup { .. } = self.source {
            self.keys.push(entries::key_of(member).ok_or("an index entry without a key")?);
            self.entries.push(member);
        } else {
            self.keys.push(member);
        }
        Ok(())
    }

    /// Asks for the records of the range, all at once; without any this is the outcome.
    pub(super) fn range_ended(&mut self, table: &Table, out: &mut Vec<u8>) -> Option<Outcome> {
        if self.keys.ends.is_empty() {
            return Some(self.outcome(0));
        }
        self.ask(table, out);
        None
    }

    fn ask(&self, table: &Table, out: &mut Vec<u8>) {
        for row in 0..self.keys.ends.len() {
            let key = self.keys.get(row);
            match (self.fields, self.source) {
                (Fields::All, _) => {
                    out.extend_from_slice(b"*2\r\n$7\r\nHGETALL\r\n");
                    resp::bulk(key, out);
                }
                (Fields::One(field), Source::Read | Source::Scan) => {
                    out.extend_from_slice(b"*3\r\n$4\r\nHGET\r\n");
                    resp::bulk(key, out);
                    table.name(field, out);
                }
                (Fields::One(field), Source::Lookup { by, .. }) => {
                    resp::array(2 + values_of(field, by), out);
                    out.extend_from_slice(b"$5\r\nHMGET\r\n");
                    resp::bulk(key, out);
                    table.name(by, out);
                    if field != by {
                        table.name(field, out);
                    }
                }
            }
        }
    }

    /// Takes an item of the records' replies; an outcome ends the operation.
    pub(super) fn take(
        &mut self,
        table: &Table,
        item: Item<'_>,
        answer: &mut Answer,
    ) -> Result<Option<Outcome>, &'static str> {
        let whole = match (self.coming, item) {
            (Coming::Record, item) => self.record(item, answer)?,
            (Coming::Pairs { left }, Item::Bulk(text)) => {
                self.pair(table, left, text, answer)?;
                self.coming = Coming::Pairs { left: left - 1 };
                left == 1
            }
            (Coming::Values { left }, Item::Bulk(_) | Item::Null) => {
                self.value(item);
                self.coming = Coming::Values { left: left - 1 };
                left == 1
            }
            _ => return Err(UNEXPECTED),
        };
        if !whole {
            return Ok(None);
        }
        if let Source::Lookup { by, .. } = self.source {
            self.release(by, answer);
        }
        self.row += 1;
        self.coming = Coming::Record;
        let ended = self.row == self.keys.ends.len();
        Ok(ended.then(|| self.outcome(answer.row_count())))
    }

    /// Takes the beginning of a record; says whether that is all of it.
    fn record(&mut self, item: Item<'_>, answer: &mut Answer) -> Result<bool, &'static str> {
        self.held.clear();
        match (item, self.fields, self.source) {
            (Item::Error(why), ..) => {
                self.failure.get_or_insert_with(|| refused(why));
            }
            (Item::Array(0), Fields::All, source)
            | (Item::Null, Fields::One(_), source @ (Source::Read | Source::Scan)) => {
                // A record of a range may have been deleted since the range was read.
                if source == Source::Read {
                    self.failure = Some(Outcome::Missing);
                }
            }
            (Item::Array(left), Fields::All, source) if left.is_multiple_of(2) => {
                if let Source::Read | Source::Scan = source {
                    answer.begin_row(self.keys.get(self.row));
                }
                self.coming = Coming::Pairs { left };
                return Ok(false);
            }
            (Item::Bulk(value), Fields::One(field), Source::Read | Source::Scan) => {
                answer.begin_row(self.keys.get(self.row));
                answer.field(field, value);
            }
            (Item::Array(left), Fields::One(field), Source::Lookup { by, .. })
                if left == values_of(field, by) =>
            {
                self.field = by;
                self.coming = Coming::Values { left };
                return Ok(false);
            }
            _ => return Err(UNEXPECTED),
        }
        Ok(true)
    }

    fn pair(
        &mut self,
        table: &Table,
        left: usize,
        text: &[u8],
        answer: &mut Answer,
    ) -> Result<(), &'static str> {
        if left.is_multiple_of(2) {
            let position = table.schema.field_position(text);
            self.field = position.ok_or("a record with a field that the table has not")?;
        } else if let Source::Lookup { .. } = self.source {
            self.held.push(self.field, text);
        } else {
            answer.field(self.field, text);
        }
        Ok(())
    }

    fn value(&mut self, item: Item<'_>) {
        if let Item::Bulk(value) = item {
            self.held.push(self.field, value);
        }
        if let Fields::One(other) = self.fields {
            self.field = other;
        }
    }

    /// Reports the record that was held back if it still has the value of its entry.
    fn release(&self, by: u16, answer: &mut Answer) {
        let value = self.held.iter().find(|(field, _)| *field == by).map(|(_, value)| value);
        if value.is_none_or(|value| !entries::has_value(self.entries.get(self.row), value)) {
            return;
        }
        answer.begin_row(self.keys.get(self.row));
        for (field, value) in self.held.iter().filter(|(field, _)| self.fields.contains(*field)) {
            answer.field(field, value);
        }
    }

    fn outcome(&mut self, rows: u64) -> Outcome {
        self.failure.take().unwrap_or(match self.source {
            Source::Lookup { ends: true, .. } if rows == 0 => Outcome::Missing,
            _ => Outcome::Done,
        })
    }
}

/// How many values a lookup by one field asks of each record for another.
fn values_of(field: u16, by: u16) -> usize {
    if field == by { 1 } else { 2 }
}

const RANGE: &[u8] = b"*8\r\n$6\r\nZRANGE\r\n";
const NO_END: &[u8] = b"$1\r\n+\r\n";
const BY_BYTES: &[u8] = b"$5\r\nBYLEX\r\n$5\r\nLIMIT\r\n$1\r\n0\r\n";
