//! Records as the tests of database servers write and read them.

use assay_model::{Answer, FailureKind, FieldValue, Fields, Operation, Outcome};
use assay_systems::{Client, Session, System, SystemError, blocking::Blocking};

/// One more client of the system, which waits for each answer.
pub fn session(system: &dyn System) -> Blocking {
    match system.connect() {
        Ok(Client::Wire(client)) => Blocking::new(client),
        Ok(Client::Call(_)) => panic!("the driver is a wire client"),
        Err(error) => panic!("{error}"),
    }
}

/// A row as the tests write it: key, then position and value of each field.
pub type Row = (Vec<u8>, Vec<(u16, Vec<u8>)>);

pub fn row(key: &str, fields: &[(u16, &str)]) -> Row {
    let fields = fields.iter().map(|(field, value)| (*field, value.as_bytes().to_vec()));
    (key.as_bytes().to_vec(), fields.collect())
}

pub fn ask(session: &mut Blocking, operation: Operation<'_>) -> (Outcome, Vec<Row>) {
    let mut answer = Answer::keeping();
    let outcome = session.execute(&operation, &mut answer);
    let rows = answer
        .rows()
        .map(|row| {
            let mut fields: Vec<_> =
                row.fields().map(|(field, value)| (field, value.to_vec())).collect();
            fields.sort();
            (row.key().to_vec(), fields)
        })
        .collect();
    (outcome, rows)
}

pub fn values<'a>(fields: &'a [(u16, &'a str)]) -> Vec<FieldValue<'a>> {
    fields.iter().map(|&(field, value)| FieldValue { field, bytes: value.as_bytes() }).collect()
}

pub fn insert(session: &mut Blocking, key: &str, fields: &[(u16, &str)]) -> Outcome {
    let operation = Operation::Insert { key: key.as_bytes(), values: &values(fields) };
    ask(session, operation).0
}

pub fn update(session: &mut Blocking, key: &str, fields: &[(u16, &str)]) -> Outcome {
    let operation = Operation::Update { key: key.as_bytes(), values: &values(fields) };
    ask(session, operation).0
}

pub fn read(session: &mut Blocking, key: &str, fields: Fields) -> (Outcome, Vec<Row>) {
    ask(session, Operation::Read { key: key.as_bytes(), fields })
}

pub fn delete(session: &mut Blocking, key: &str) -> Outcome {
    ask(session, Operation::Delete { key: key.as_bytes() }).0
}

pub fn scan(session: &mut Blocking, start: &str, limit: u32, fields: Fields) -> Vec<Row> {
    let (outcome, rows) = ask(session, Operation::Scan { start: start.as_bytes(), limit, fields });
    assert_eq!(outcome, Outcome::Done);
    rows
}

pub fn kind(outcome: &Outcome) -> FailureKind {
    outcome.failure_kind().unwrap_or_else(|| panic!("a success where a failure is due"))
}

/// Loads records of three fields, the last of them the key, the first with what SQL and JSON escape.
pub fn load(system: &dyn System, records: usize) -> Result<(), SystemError> {
    let mut loader = system.loader()?;
    for number in 0..records {
        let key = format!("user{number:06}");
        let value = format!("{{\"{number}\"}}\\").repeat(10);
        loader.insert(key.as_bytes(), &values(&[(0, &value), (1, ""), (2, &key)]))?;
    }
    loader.finish()
}
