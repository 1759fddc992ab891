//! One operation on the store and on the model alike: what random sequences are made of.

use assay_model::{Operation, Outcome};

use super::{
    Verdict,
    probe::{Model, Probe, Record, changed},
    records::{Repeated, insert_again},
};

/// Inserts a record. If its key exists, it is overwritten or the insert refused.
pub(super) fn insert(
    probe: &mut Probe,
    model: &mut Model,
    key: Vec<u8>,
    record: Record,
) -> Verdict {
    if !model.contains_key(&key) {
        probe.insert(&key, &record)?;
    } else if let Repeated::Refused = insert_again(probe, &key, &record)? {
        return Ok(());
    }
    model.insert(key, record);
    Ok(())
}

/// Updates fields of a record, which may be missing.
pub(super) fn update(
    probe: &mut Probe,
    model: &mut Model,
    key: &[u8],
    changes: &[(u16, &[u8])],
) -> Verdict {
    let expected = match model.get_mut(key) {
        // It would create what is no whole record.
        None if !probe.tells_misses() => return Ok(()),
        None => Outcome::Missing,
        Some(record) => {
            for (field, bytes) in changes {
                record[usize::from(*field)] = bytes.to_vec();
            }
            Outcome::Done
        }
    };
    probe.expect(&Operation::Update { key, values: &changed(changes) }, &expected)
}

/// Deletes a record, which may be missing.
pub(super) fn delete(probe: &mut Probe, model: &mut Model, key: &[u8]) -> Verdict {
    let expected = if model.remove(key).is_some() { Outcome::Done } else { probe.miss() };
    probe.expect(&Operation::Delete { key }, &expected)
}
