//! `slik`: the project's own indexed key-value store, in Assay's process, by its public interface.
//!
//! A record is one object: the key is its primary key, and in layout `indexed` also its key in
//! index 0, which gives scans their order (primary keys have none); the fields stand in the value in
//! the crate's framing of records. An update reads the object and writes it on condition that its
//! version is still the same, again until it is, so that no update is lost and none creates a
//! record. An insert overwrites a record that exists.

use std::ops::ControlFlow;

use ::slik::{Error, Query, Store, Table};
use assay_model::{
    Answer, Capabilities, FailureKind, FieldValue, Fields, Operation, Outcome, Support,
};

use crate::{
    Client, Driver, Footprint, Identity, Layout, Loader, Opening, Place, Session, System,
    SystemError,
    framing::{self, BAD_FRAMING, BadFraming},
};

/// The registry line.
pub static DRIVER: Driver = Driver {
    name: "slik",
    summary: "Assay's indexed key-value store, in its own process",
    layouts: &[
        Layout {
            name: "indexed",
            summary: "an object a record, its key in an index too, which gives scans",
        },
        Layout { name: "object", summary: "an object a record and no index; no scans" },
    ],
    settings: &[],
    place: Place::Embedded,
    rests: |_| true,
    capabilities: |layout| Capabilities {
        scan: match layout {
            "indexed" => Support::Native,
            _ => Support::Unsupported(
                "this layout has no index, and primary keys have no order; the layout 'indexed' has",
            ),
        },
        max_value_bytes: Some(::slik::MAX_VALUE_BYTES as u64),
        max_key_bytes: Some(::slik::MAX_KEY_BYTES as u64),
        ..Capabilities::IN_MEMORY
    },
    open: |opening: Opening| {
        Ok(Box::new(Slik {
            store: Store::in_memory(),
            name: opening.schema.table().to_owned(),
            fields: opening.schema.field_count(),
            indexed: opening.layout == "indexed",
        }))
    },
};

/// The index of layout `indexed`.
const BY_KEY: u16 = 0;

struct Slik {
    store: Store,
    name: String,
    fields: u16,
    indexed: bool,
}

fn failed(action: &str, error: &Error) -> SystemError {
    SystemError::Failed {
        system: DRIVER.name.into(),
        action: action.into(),
        why: error.to_string(),
    }
}

impl Slik {
    fn session(&self) -> Result<SlikSession, SystemError> {
        Ok(SlikSession {
            table: self
                .store
                .table(&self.name)
                .map_err(|error| failed("open the table", &error))?,
            fields: self.fields,
            indexed: self.indexed,
            old: Vec::new(),
            value: Vec::new(),
        })
    }
}

impl System for Slik {
    fn prepare(&self) -> Result<(), SystemError> {
        let table = match self.store.create_table(&self.name) {
            Err(Error::TableExists { .. }) => {
                return Err(SystemError::AlreadyThere {
                    system: DRIVER.name.into(),
                    what: format!("the table {}", self.name),
                });
            }
            created => created.map_err(|error| failed("create the table", &error))?,
        };
        if self.indexed {
            table.create_index(BY_KEY).map_err(|error| failed("create the index", &error))?;
        }
        Ok(())
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        Ok(Box::new(self.session()?))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        Ok(Client::Call(Box::new(self.session()?)))
    }

    fn count(&self) -> Result<u64, SystemError> {
        Ok(self.store.stats().objects() as u64)
    }

    fn footprint(&self) -> Result<Footprint, SystemError> {
        let memory_bytes = Some(self.store.stats().memory_bytes() as u64);
        Ok(Footprint { disk_bytes: None, memory_bytes })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        Ok(Identity {
            version: concat!("slik ", env!("CARGO_PKG_VERSION")).into(),
            settings: vec![],
        })
    }

    fn remove(&self) -> Result<(), SystemError> {
        match self.store.drop_table(&self.name) {
            Ok(()) | Err(Error::NoTable { .. }) => Ok(()),
            Err(error) => Err(failed("drop the table", &error)),
        }
    }
}

struct SlikSession {
    table: Table,
    fields: u16,
    indexed: bool,
    /// The record that an update replaces, and the record to be written.
    old: Vec<u8>,
    value: Vec<u8>,
}

impl Loader for SlikSession {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.put(key, values).map_err(|error| failed("load the records", &error))
    }

    fn finish(self: Box<Self>) -> Result<(), SystemError> {
        Ok(())
    }
}

impl Session for SlikSession {
    fn execute(&mut self, operation: &Operation<'_>, answer: &mut Answer) -> Outcome {
        let done = match *operation {
            Operation::Read { key, fields } => self.read(key, fields, answer),
            Operation::Insert { key, values } => self.put(key, values).map(|()| Outcome::Done),
            Operation::Update { key, values } => self.update(key, values),
            Operation::Scan { start, limit, fields } => self.scan(start, limit, fields, answer),
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

impl SlikSession {
    fn read(&self, key: &[u8], fields: Fields, answer: &mut Answer) -> Result<Outcome, Error> {
        let read = self
            .table
            .read_with(key, |object| report(key, object.value(), self.fields, fields, answer))?;
        Ok(match read {
            None => Outcome::Missing,
            Some(Ok(())) => Outcome::Done,
            Some(Err(BadFraming)) => bad_framing(),
        })
    }

    fn put(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), Error> {
        self.value.clear();
        framing::write(values, self.fields, &mut self.value);
        let keys = [(BY_KEY, key)];
        self.table.write(key, &keys[..usize::from(self.indexed)], &self.value).map(drop)
    }

    fn update(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<Outcome, Error> {
        let keys = [(BY_KEY, key)];
        let keys = &keys[..usize::from(self.indexed)];
        let covers_all = framing::covers_all(values, self.fields);
        loop {
            let old = &mut self.old;
            let version = self.table.read_with(key, |object| {
                old.clear();
                if !covers_all {
                    old.extend_from_slice(object.value());
                }
                object.version()
            })?;
            let Some(version) = version else { return Ok(Outcome::Missing) };
            self.value.clear();
            if covers_all {
                framing::write(values, self.fields, &mut self.value);
            } else {
                let changed = |position| framing::given(values, position);
                let merged =
                    framing::write_merged(&self.old, changed, self.fields, &mut self.value);
                if merged.is_err() {
                    return Ok(bad_framing());
                }
            }
            match self.table.write_if_version(key, Some(version), keys, &self.value) {
                Ok(_) => return Ok(Outcome::Done),
                Err(Error::VersionMismatch { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn scan(
        &self,
        start: &[u8],
        limit: u32,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<Outcome, Error> {
        let mut outcome = Outcome::Done;
        let query = Query::range(start..).limit(limit as usize);
        self.table.lookup_with(BY_KEY, &query, |found| {
            match report(found.key, found.object.value(), self.fields, fields, answer) {
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

fn report(
    key: &[u8],
    record: &[u8],
    field_count: u16,
    fields: Fields,
    answer: &mut Answer,
) -> Result<(), BadFraming> {
    answer.begin_row(key);
    framing::read(record, field_count, |position, bytes| {
        if fields == Fields::All || fields == Fields::One(position) {
            answer.field(position, bytes);
        }
    })
}
