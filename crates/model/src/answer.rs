//! What a store returned: rows of fields, counted always and kept when somebody will check them.

use std::ops::Range;

/// The rows an operation returned.
///
/// A driver reports every row and field it decoded. The bytes are copied only when
/// [`Answer::keep`] was asked for, so that a run that does not verify pays for decoding, as any
/// client does, but not for a copy. The buffers are reused from one operation to the next.
#[derive(Debug, Default)]
pub struct Answer {
    keep: bool,
    rows: u64,
    value_bytes: u64,
    buffer: Vec<u8>,
    kept_rows: Vec<KeptRow>,
    kept_fields: Vec<(u16, Range<usize>)>,
}

#[derive(Debug)]
struct KeptRow {
    key: Range<usize>,
    fields: Range<usize>,
}

/// One kept row of an [`Answer`].
#[derive(Clone, Copy)]
pub struct Row<'a> {
    answer: &'a Answer,
    row: &'a KeptRow,
}

impl Answer {
    /// An answer that only counts.
    pub fn counting() -> Answer {
        Answer::default()
    }

    /// An answer that keeps every row's key and values.
    pub fn keeping() -> Answer {
        Answer { keep: true, ..Answer::default() }
    }

    /// Whether rows are kept from now on.
    pub fn keep(&mut self, keep: bool) {
        self.keep = keep;
    }

    /// Forgets the rows of the previous operation; the buffers stay.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.value_bytes = 0;
        if self.keep {
            self.buffer.clear();
            self.kept_rows.clear();
            self.kept_fields.clear();
        }
    }

    /// A driver found a row with this key. Its fields follow.
    pub fn begin_row(&mut self, key: &[u8]) {
        self.rows += 1;
        if self.keep {
            let key_start = self.buffer.len();
            self.buffer.extend_from_slice(key);
            let fields_start = self.kept_fields.len();
            self.kept_rows.push(KeptRow {
                key: key_start..self.buffer.len(),
                fields: fields_start..fields_start,
            });
        }
    }

    /// A driver found a field of the current row.
    pub fn field(&mut self, field: u16, value: &[u8]) {
        self.value_bytes += value.len() as u64;
        if self.keep {
            let start = self.buffer.len();
            self.buffer.extend_from_slice(value);
            self.kept_fields.push((field, start..self.buffer.len()));
            let row = self.kept_rows.last_mut().expect("a field follows begin_row");
            row.fields.end = self.kept_fields.len();
        }
    }

    /// How many rows the store returned.
    pub fn row_count(&self) -> u64 {
        self.rows
    }

    /// How many bytes of values the store returned.
    pub fn value_bytes(&self) -> u64 {
        self.value_bytes
    }

    /// The kept rows, in the order in which the store returned them.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.kept_rows.iter().map(|row| Row { answer: self, row })
    }
}

impl<'a> Row<'a> {
    /// The row's key.
    pub fn key(&self) -> &'a [u8] {
        &self.answer.buffer[self.row.key.clone()]
    }

    /// The row's fields in the order in which the store returned them: position and value.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (u16, &'a [u8])> + use<'a> {
        let answer = self.answer;
        answer.kept_fields[self.row.fields.clone()]
            .iter()
            .map(move |(field, range)| (*field, &answer.buffer[range.clone()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counting_answer_counts_and_keeps_nothing() {
        let mut answer = Answer::counting();
        answer.begin_row(b"k");
        answer.field(0, b"abc");
        assert_eq!((answer.row_count(), answer.value_bytes()), (1, 3));
        assert_eq!(answer.rows().len(), 0);
    }

    #[test]
    fn a_keeping_answer_gives_back_rows_and_fields_in_order() {
        let mut answer = Answer::keeping();
        for key in [b"a", b"b"] {
            answer.begin_row(key);
            answer.field(1, b"one");
            answer.field(0, b"");
        }
        let rows: Vec<_> =
            answer.rows().map(|r| (r.key().to_vec(), r.fields().collect::<Vec<_>>())).collect();
        let fields = vec![(1, &b"one"[..]), (0, &b""[..])];
        assert_eq!(rows, vec![(b"a".to_vec(), fields.clone()), (b"b".to_vec(), fields)]);
        answer.clear();
        assert_eq!(answer.rows().len(), 0);
    }
}
