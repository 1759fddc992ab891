//! Systems in this process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use assay_model::{Answer, Operation, Outcome};
use assay_runner::phase::Clients;
use assay_systems::Session;

/// A session made of a closure.
pub struct Fake<F>(F);

/// A session that does what `execute` does.
pub fn fake<F: FnMut(&Operation<'_>) -> Outcome + Send>(execute: F) -> Fake<F> {
    Fake(execute)
}

impl<F: FnMut(&Operation<'_>) -> Outcome + Send> Session for Fake<F> {
    fn execute(&mut self, operation: &Operation<'_>, _: &mut Answer) -> Outcome {
        (self.0)(operation)
    }
}

/// `count` clients, each with the session that `make` makes of its number.
pub fn clients<S: Session + 'static>(count: usize, make: impl Fn(usize) -> S) -> Clients {
    Clients::Call((0..count).map(|client| Box::new(make(client)) as Box<dyn Session>).collect())
}

/// How often each operation was asked for.
pub type Asked = Arc<Mutex<BTreeMap<Vec<u8>, u64>>>;

/// An operation as bytes: its kind, its key and what it writes.
pub fn written(operation: &Operation<'_>) -> Vec<u8> {
    let (kind, key, values) = match *operation {
        Operation::Read { key, .. } => (b'r', key, &[][..]),
        Operation::Insert { key, values } => (b'i', key, values),
        Operation::Update { key, values } => (b'u', key, values),
        Operation::Scan { start, .. } => (b's', start, &[][..]),
        Operation::Lookup { from, .. } => (b'l', from, &[][..]),
        Operation::Delete { key } => (b'd', key, &[][..]),
    };
    let mut bytes = vec![kind];
    bytes.extend_from_slice(key);
    for value in values {
        bytes.push(value.field as u8);
        bytes.extend_from_slice(value.bytes);
    }
    bytes
}

/// Notes that `operation` was asked for.
pub fn note(asked: &Asked, operation: Vec<u8>) {
    *asked.lock().unwrap().entry(operation).or_default() += 1;
}
