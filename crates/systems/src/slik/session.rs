//! A client: records as objects.

use std::ops::{Bound, ControlFlow, Range};

use ::slik::{Error, Key, ObjectRef, Query, Table};
use assay_model::{Answer, FailureKind, FieldValue, Fields, MAX_INDEXES, Operation, Outcome};

use super::{BY_KEY, Shape};
use crate::{
    Session,
    framing::{self, BAD_FRAMING, BadFraming},
};

pub(super) struct SlikSession {
    table: Table,
    shape: Shape,
    /// What an update replaces.
    old: Old,
    /// The value to be written.
    value: Vec<u8>,
}

/// A copy of the parts of an object that an update keeps.
#[derive(Default)]
struct Old {
    value: Vec<u8>,
    key_bytes: Vec<u8>,
    /// By index, where its key stands.
    keys: [Range<usize>; MAX_INDEXES + 1],
}

impl Old {
    fn copy(&mut self, object: ObjectRef<'_>) {
        self.value.clear();
        self.value.extend_from_slice(object.value());
        self.key_bytes.clear();
        for (index, key) in object.keys() {
            let from = self.key_bytes.len();
            self.key_bytes.extend_from_slice(key);
            if let Some(place) = self.keys.get_mut(usize::from(index)) {
                *place = from..self.key_bytes.len();
            }
        }
    }

    fn key(&self, index: u16) -> &[u8] {
        &self.key_bytes[self.keys[usize::from(index)].clone()]
    }
}

impl SlikSession {
    pub(super) fn new(table: Table, shape: Shape) -> SlikSession {
        SlikSession { table, shape, old: Old::default(), value: Vec::new() }
    }

    fn read(&self, key: &[u8], fields: Fields, answer: &mut Answer) -> Result<Outcome, Error> {
        let read = self.table.read_with(key, |object| self.shape.report(object, fields, answer))?;
        Ok(match read {
            None => Outcome::Missing,
            Some(Ok(())) => Outcome::Done,
            Some(Err(BadFraming)) => bad_framing(),
        })
    }

    pub(super) fn put(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), Error> {
        let given = |position| framing::given(values, position).unwrap_or_default();
        self.value.clear();
        self.shape.write(given, &mut self.value);
        let mut room = [(0, &[][..]); MAX_INDEXES + 1];
        let keys = self.shape.keys(key, given, &mut room);
        self.table.write(key, keys, &self.value).map(drop)
    }

    fn update(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<Outcome, Error> {
        let SlikSession { table, shape, old, value } = self;
        let covers_all = framing::covers_all(values, shape.fields);
        loop {
            let version = table.read_with(key, |object| {
                if !covers_all {
                    old.copy(object);
                }
                object.version()
            })?;
            let Some(version) = version else { return Ok(Outcome::Missing) };
            value.clear();
            let given = |position| framing::given(values, position);
            if covers_all {
                shape.write(|position| given(position).unwrap_or_default(), value);
            } else {
                let changed = |position| given(position + shape.indexes);
                let rest = shape.fields - shape.indexes;
                if framing::write_merged(&old.value, changed, rest, value).is_err() {
                    return Ok(bad_framing());
                }
            }
            let mut room = [(0, &[][..]); MAX_INDEXES + 1];
            let key_of = |position| given(position).unwrap_or_else(|| old.key(position + 1));
            let keys = shape.keys(key, key_of, &mut room);
            match table.write_if_version(key, Some(version), keys, value) {
                Ok(_) => return Ok(Outcome::Done),
                Err(Error::VersionMismatch { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn lookup(
        &self,
        index: u16,
        query: &Query<'_>,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<Outcome, Error> {
        let mut outcome = Outcome::Done;
        self.table.lookup_with(index, query, |found| {
            match self.shape.report(found.object, fields, answer) {
                Ok(()) => ControlFlow::Continue(()),
                Err(BadFraming) => {
                    outcome = bad_framing();
                    ControlFlow::Break(())
                }
            }
        })?;
        Ok(outcome)
    }
}

impl Shape {
    /// Appends the value of the record with these fields.
    fn write<'a>(self, given: impl Fn(u16) -> &'a [u8], out: &mut Vec<u8>) {
        framing::write_with(
            |position| given(position + self.indexes),
            self.fields - self.indexes,
            out,
        );
    }

    /// The secondary keys of a record.
    fn keys<'a, 'r>(
        self,
        key: &'a [u8],
        field: impl Fn(u16) -> &'a [u8],
        room: &'r mut [Key<'a>; MAX_INDEXES + 1],
    ) -> &'r [Key<'a>] {
        room[0] = (BY_KEY, key);
        for position in 0..self.indexes {
            room[usize::from(position) + 1] = (position + 1, field(position));
        }
        &room[usize::from(!self.by_key)..=usize::from(self.indexes)]
    }

    fn report(
        self,
        object: ObjectRef<'_>,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<(), BadFraming> {
        answer.begin_row(object.primary());
        let mut field = |position, bytes| {
            if fields.contains(position) {
                answer.field(position, bytes);
            }
        };
        if self.indexes > 0 {
            for (index, key) in object.keys().filter(|(index, _)| *index != BY_KEY) {
                field(index - 1, key);
            }
        }
        framing::read(object.value(), self.fields - self.indexes, |position, bytes| {
            field(position + self.indexes, bytes);
        })
    }
}

impl Session for SlikSession {
    fn execute(&mut self, operation: &Operation<'_>, answer: &mut Answer) -> Outcome {
        let done = match *operation {
            Operation::Read { key, fields } => self.read(key, fields, answer),
            Operation::Insert { key, values } => self.put(key, values).map(|()| Outcome::Done),
            Operation::Update { key, values } => self.update(key, values),
            Operation::Scan { start, limit, fields } => {
                let query = Query::range(start..).limit(limit as usize);
                self.lookup(BY_KEY, &query, fields, answer)
            }
            Operation::Lookup { field, from, to, limit, fields } => {
                let end = to.map_or(Bound::Unbounded, Bound::Included);
                let query = Query::bounds(Bound::Included(from), end).limit(limit as usize);
                self.lookup(field + 1, &query, fields, answer).map(|outcome| match outcome {
                    Outcome::Done => Outcome::of_lookup(to, answer.row_count()),
                    refused => refused,
                })
            }
            Operation::Delete { key } => self.table.remove(key).map(|version| match version {
                Some(_) => Outcome::Done,
                None => Outcome::Missing,
            }),
        };
        done.unwrap_or_else(|error| refused(&error))
    }
}

fn refused(error: &Error) -> Outcome {
    let kind = match error {
        Error::MemoryLimit { .. } => FailureKind::Full,
        _ => FailureKind::Rejected,
    };
    Outcome::failed(kind, error.to_string())
}

fn bad_framing() -> Outcome {
    Outcome::failed(FailureKind::Protocol, BAD_FRAMING)
}
