//! The conformance test on stores with one fault each: it must find every one, and name it.

use std::{slice, sync::Arc, thread, time::Duration};

use assay_model::{
    Answer, Capabilities, Durability, FailureKind, FieldValue, Fields, Operation, Outcome, Schema,
    Support,
};
use assay_systems::{
    Client, Footprint, Identity, Loader, Opening, Session, System, SystemError, Target,
    conformance::{Content, Misses, Subject, Updates, check},
    registry,
};

/// What the store does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    MissingReadIsDone,
    MissingUpdateIsDone,
    UpdateCreates,
    UpdateForgetsOtherFields,
    OneFieldReturnsAll,
    FieldReportedTwice,
    EmptyValueIsLeftOut,
    LongValueIsCut,
    BytesBecomeText,
    InsertIsRejected,
    DeleteIsIgnored,
    KeyWithSpaceIsTrimmed,
    ScanIsBackwards,
    ScanStartsAfter,
    ScanIgnoresLimit,
    ScanStopsAt1000,
    LookupIsBackwards,
    LookupStartsAfter,
    LookupIgnoresItsEnd,
    LookupIgnoresLimit,
    LookupOfNothingIsDone,
    LookupRepeatsARow,
    LoaderDropsTheLast,
    CountIsOff,
    NoVersion,
    PrepareTakesAnything,
    RemoveLeavesRecords,
    FieldsAreWrittenApart,
    LastWriterWinsAll,
}

/// Long enough for another client to come between two steps of one that should be one.
const LET_OTHERS_GO: Duration = Duration::from_micros(200);

/// A store with a fault: `memory`, or `slik` where the table has indexes.
struct Faulty {
    inner: Box<dyn System>,
    fault: Fault,
}

impl Faulty {
    fn new(fault: Fault, schema: &Arc<Schema>) -> Faulty {
        let name = if schema.index_count() > 0 { "slik" } else { "memory" };
        let driver = registry::find(name).unwrap();
        let opening = Opening {
            target: Target::Embedded { data_dir: "unused".into() },
            layout: driver.layouts[0].name.into(),
            schema: Arc::clone(schema),
            durability: Durability::None,
            settings: Default::default(),
            timeout: Duration::from_secs(1),
        };
        let inner = (driver.open)(opening).unwrap();
        Faulty { inner, fault }
    }
}

impl System for Faulty {
    fn prepare(&self) -> Result<(), SystemError> {
        match self.inner.prepare() {
            Err(_) if self.fault == Fault::PrepareTakesAnything => Ok(()),
            other => other,
        }
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let inner = self.inner.loader()?;
        Ok(Box::new(FaultyLoader { inner, fault: self.fault, held: None }))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let Client::Call(inner) = self.inner.connect()? else { panic!("it has no sockets") };
        Ok(Client::Call(Box::new(FaultySession {
            inner,
            fault: self.fault,
            scratch: Answer::keeping(),
        })))
    }

    fn count(&self) -> Result<u64, SystemError> {
        Ok(self.inner.count()? + u64::from(self.fault == Fault::CountIsOff))
    }

    fn footprint(&self) -> Result<Footprint, SystemError> {
        self.inner.footprint()
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        match self.fault {
            Fault::NoVersion => Ok(Identity::default()),
            _ => self.inner.identity(),
        }
    }

    fn remove(&self) -> Result<(), SystemError> {
        self.inner.remove()?;
        if self.fault == Fault::RemoveLeavesRecords {
            self.inner.loader()?.insert(b"user1", &[FieldValue { field: 0, bytes: b"old" }])?;
        }
        Ok(())
    }
}

struct FaultyLoader<'a> {
    inner: Box<dyn Loader + 'a>,
    fault: Fault,
    held: Option<(Vec<u8>, Vec<Vec<u8>>)>,
}

impl FaultyLoader<'_> {
    fn release(&mut self) -> Result<(), SystemError> {
        let Some((key, record)) = self.held.take() else { return Ok(()) };
        let fields = (0..).zip(&record);
        let values: Vec<_> = fields.map(|(field, bytes)| FieldValue { field, bytes }).collect();
        self.inner.insert(&key, &values)
    }
}

impl Loader for FaultyLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.release()?;
        let record = values.iter().map(|value| value.bytes.to_vec()).collect();
        self.held = Some((key.to_vec(), record));
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        if self.fault != Fault::LoaderDropsTheLast {
            self.release()?;
        }
        self.inner.finish()
    }
}

struct FaultySession {
    inner: Box<dyn Session>,
    fault: Fault,
    scratch: Answer,
}

impl FaultySession {
    /// Runs an operation and passes its rows on through `each`.
    fn pass(
        &mut self,
        operation: &Operation<'_>,
        answer: &mut Answer,
        each: impl Fn(&mut Vec<(u16, Vec<u8>)>),
    ) -> Outcome {
        self.scratch.clear();
        let outcome = self.inner.execute(operation, &mut self.scratch);
        for row in self.scratch.rows() {
            answer.begin_row(row.key());
            let mut fields = row.fields().map(|(at, bytes)| (at, bytes.to_vec())).collect();
            each(&mut fields);
            fields.iter().for_each(|(at, bytes)| answer.field(*at, bytes));
        }
        outcome
    }

    /// Runs an operation and passes its rows on from the last to the first.
    fn pass_backwards(&mut self, operation: &Operation<'_>, answer: &mut Answer) -> Outcome {
        self.scratch.clear();
        let outcome = self.inner.execute(operation, &mut self.scratch);
        let rows: Vec<_> = self.scratch.rows().collect();
        for row in rows.iter().rev() {
            answer.begin_row(row.key());
            row.fields().for_each(|(at, bytes)| answer.field(at, bytes));
        }
        outcome
    }

    fn write(&mut self, operation: &Operation<'_>) -> Outcome {
        self.inner.execute(operation, &mut Answer::counting())
    }

    fn update(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Outcome {
        let update = Operation::Update { key, values };
        match self.fault {
            Fault::MissingUpdateIsDone => {
                self.write(&update);
                Outcome::Done
            }
            Fault::UpdateCreates => match self.write(&update) {
                Outcome::Missing => {
                    self.write(&Operation::Insert { key, values });
                    Outcome::Missing
                }
                outcome => outcome,
            },
            Fault::UpdateForgetsOtherFields => match self.write(&update) {
                Outcome::Done => self.write(&Operation::Insert { key, values }),
                outcome => outcome,
            },
            Fault::FieldsAreWrittenApart => {
                let mut outcome = Outcome::Done;
                for value in values {
                    let values = slice::from_ref(value);
                    outcome = self.write(&Operation::Update { key, values });
                    thread::sleep(LET_OTHERS_GO);
                }
                outcome
            }
            Fault::LastWriterWinsAll if values.len() == 1 => self.rewrite(key, values),
            _ => self.write(&update),
        }
    }

    /// Reads the record, lets others go first, and writes all of it back.
    fn rewrite(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Outcome {
        let mut old = Answer::keeping();
        let read = Operation::Read { key, fields: Fields::All };
        if self.inner.execute(&read, &mut old) != Outcome::Done {
            return Outcome::Missing;
        }
        thread::sleep(LET_OTHERS_GO);
        let record = old.rows().next().expect("the record was read");
        let mut all: Vec<FieldValue<'_>> =
            record.fields().map(|(field, bytes)| FieldValue { field, bytes }).collect();
        for value in values {
            all[usize::from(value.field)] = *value;
        }
        self.write(&Operation::Update { key, values: &all })
    }
}

impl Session for FaultySession {
    fn execute(&mut self, operation: &Operation<'_>, answer: &mut Answer) -> Outcome {
        let fault = self.fault;
        match *operation {
            Operation::Read { key, fields } => {
                let fields = match fault {
                    Fault::OneFieldReturnsAll => Fields::All,
                    _ => fields,
                };
                let outcome =
                    self.pass(&Operation::Read { key, fields }, answer, |fields| match fault {
                        Fault::FieldReportedTwice => fields.extend_from_within(..1),
                        Fault::EmptyValueIsLeftOut => fields.retain(|field| !field.1.is_empty()),
                        Fault::LongValueIsCut => {
                            fields.iter_mut().for_each(|field| field.1.truncate(65_535));
                        }
                        Fault::BytesBecomeText => fields.iter_mut().for_each(|field| {
                            field.1 = String::from_utf8_lossy(&field.1).into_owned().into_bytes();
                        }),
                        _ => {}
                    });
                match outcome {
                    Outcome::Missing if fault == Fault::MissingReadIsDone => Outcome::Done,
                    outcome => outcome,
                }
            }
            Operation::Insert { key, values } => {
                let key = match fault {
                    Fault::KeyWithSpaceIsTrimmed => {
                        key.split(|byte| *byte == b' ').next().unwrap_or(key)
                    }
                    _ => key,
                };
                let exists = Operation::Update { key, values: &[] };
                if fault == Fault::InsertIsRejected && self.write(&exists) == Outcome::Done {
                    return Outcome::failed(FailureKind::Rejected, "it exists");
                }
                self.write(&Operation::Insert { key, values })
            }
            Operation::Update { key, values } => self.update(key, values),
            Operation::Lookup { field, from, to, limit, fields } => {
                let after = [from, b"\0"].concat();
                let (from, to, limit) = match fault {
                    Fault::LookupStartsAfter => (&after[..], to, limit),
                    Fault::LookupIgnoresItsEnd => (from, None, limit),
                    Fault::LookupIgnoresLimit => (from, to, limit.saturating_add(1)),
                    _ => (from, to, limit),
                };
                let lookup = Operation::Lookup { field, from, to, limit, fields };
                let outcome = match fault {
                    Fault::LookupIsBackwards => self.pass_backwards(&lookup, answer),
                    _ => self.pass(&lookup, answer, |_| {}),
                };
                if fault == Fault::LookupRepeatsARow && answer.row_count() > 0 {
                    self.pass(&lookup, answer, |_| {});
                }
                match outcome {
                    Outcome::Missing if fault == Fault::LookupOfNothingIsDone => Outcome::Done,
                    outcome => outcome,
                }
            }
            Operation::Delete { .. } if fault == Fault::DeleteIsIgnored => Outcome::Done,
            Operation::Delete { .. } => self.write(operation),
            Operation::Scan { start, limit, fields } => {
                let after = [start, b"\0"].concat();
                let (start, limit) = match fault {
                    Fault::ScanStartsAfter => (&after[..], limit),
                    Fault::ScanIgnoresLimit => (start, limit.saturating_add(1)),
                    Fault::ScanStopsAt1000 => (start, limit.min(1000)),
                    _ => (start, limit),
                };
                let scan = Operation::Scan { start, limit, fields };
                match fault {
                    Fault::ScanIsBackwards => self.pass_backwards(&scan, answer),
                    _ => self.pass(&scan, answer, |_| {}),
                }
            }
        }
    }
}

fn verdict(fault: Fault, capabilities: &Capabilities) -> Result<Vec<&'static str>, String> {
    verdict_on(&Arc::new(Schema::new("usertable", "field", 5)), fault, capabilities)
}

fn verdict_on(
    schema: &Arc<Schema>,
    fault: Fault,
    capabilities: &Capabilities,
) -> Result<Vec<&'static str>, String> {
    let system = Faulty::new(fault, schema);
    check(&Subject {
        name: "faulty",
        system: &system,
        capabilities,
        schema,
        content: Content::Bytes,
        updates: Updates::Isolated,
        misses: Misses::Told,
    })
    .map(|report| report.passed)
    .map_err(|failure| failure.to_string())
}

#[test]
fn a_store_without_a_fault_passes() {
    let passed = verdict(Fault::None, &Capabilities::IN_MEMORY).unwrap();
    assert!(passed.len() >= 15, "{passed:?}");
}

#[test]
fn every_fault_is_found_and_named() {
    for (fault, check) in [
        (Fault::MissingReadIsDone, "a missing key is not a success"),
        (Fault::MissingUpdateIsDone, "a missing key is not a success"),
        (Fault::UpdateCreates, "a missing key is not a success"),
        (Fault::OneFieldReturnsAll, "a missing key is not a success"),
        (Fault::FieldReportedTwice, "a missing key is not a success"),
        (Fault::CountIsOff, "a missing key is not a success"),
        (Fault::InsertIsRejected, "an insert of an existing key"),
        (Fault::UpdateForgetsOtherFields, "an update keeps the other fields"),
        (Fault::DeleteIsIgnored, "a missing key is not a success"),
        (Fault::EmptyValueIsLeftOut, "a record is read as it was inserted"),
        (Fault::LongValueIsCut, "values at the edges survive"),
        (Fault::BytesBecomeText, "a missing key is not a success"),
        (Fault::KeyWithSpaceIsTrimmed, "keys at the edges survive"),
        (Fault::ScanIsBackwards, "a record is read as it was inserted"),
        (Fault::ScanStartsAfter, "scans are in key order and complete"),
        (Fault::ScanIgnoresLimit, "scans are in key order and complete"),
        (Fault::ScanStopsAt1000, "a scan of 10,000 records is complete"),
        (Fault::LoaderDropsTheLast, "a scan of 10,000 records is complete"),
        (Fault::NoVersion, "the store tells who it is and what it takes"),
        (Fault::PrepareTakesAnything, "a table that exists is left alone"),
        (Fault::RemoveLeavesRecords, "a record is read as it was inserted"),
        (Fault::FieldsAreWrittenApart, "concurrent updates leave whole records"),
        (Fault::LastWriterWinsAll, "concurrent updates of different fields are all kept"),
    ] {
        match verdict(fault, &Capabilities::IN_MEMORY) {
            Ok(_) => panic!("{fault:?} was not found"),
            Err(why) => {
                assert!(why.contains("faulty failed the check"), "{why}");
                assert!(why.contains(check), "{fault:?} should fail '{check}': {why}");
            }
        }
    }
}

#[test]
fn every_fault_of_an_index_is_found_and_named() {
    let schema = Arc::new(Schema::new("usertable", "field", 3).with_indexes(2));
    let capabilities = Capabilities { lookup: Support::Native, ..Capabilities::IN_MEMORY };
    let passed = verdict_on(&schema, Fault::None, &capabilities).unwrap();
    assert_eq!(passed.len(), 5, "{passed:?}");
    let written = "lookups agree with the model whatever is written";
    for (fault, check) in [
        (Fault::LookupIsBackwards, written),
        (Fault::LookupStartsAfter, written),
        (Fault::LookupIgnoresItsEnd, written),
        (Fault::LookupIgnoresLimit, written),
        (Fault::LookupOfNothingIsDone, written),
        (Fault::LookupRepeatsARow, written),
        (Fault::DeleteIsIgnored, written),
        (Fault::MissingUpdateIsDone, written),
        (Fault::LoaderDropsTheLast, "what the loader added is in the indexes"),
    ] {
        match verdict_on(&schema, fault, &capabilities) {
            Ok(_) => panic!("{fault:?} was not found"),
            Err(why) => assert!(why.contains(check), "{fault:?} should fail '{check}': {why}"),
        }
    }
}

#[test]
fn support_that_is_denied_must_be_refused() {
    // The store scans and deletes though it says that it cannot.
    for (denied, check) in [
        (
            Capabilities { scan: Support::Unsupported("no order"), ..Capabilities::IN_MEMORY },
            "scans are in key order",
        ),
        (
            Capabilities { delete: Support::Unsupported("append only"), ..Capabilities::IN_MEMORY },
            "a deleted record is gone",
        ),
    ] {
        let why = verdict(Fault::None, &denied).unwrap_err();
        assert!(why.contains(check) && why.contains("declared unsupported"), "{why}");
    }
    // It looks up ranges though it says that it looks up one value alone.
    let schema = Arc::new(Schema::new("usertable", "field", 3).with_indexes(1));
    let lookup = Support::InPart("one value alone");
    let denied = Capabilities { lookup, ..Capabilities::IN_MEMORY };
    let why = verdict_on(&schema, Fault::None, &denied).unwrap_err();
    let check = "lookups of ranges are done or refused";
    assert!(why.contains(check) && why.contains("declared unsupported"), "{why}");
}
