//! Indexed fields: what is looked up is there, updates keep or change it as told, and answers are
//! checked against the index's order.

use std::collections::BTreeSet;

use assay_model::{Answer, Fields, Operation, OperationKind};
use assay_workload::{
    Acknowledged, CoreWorkload, FieldLength, LookupRange, Prepared, Stream, ValuePool, Verifier,
    WrongAnswer,
};

const SEED: u64 = 5;
const COUNT: u64 = 3 * 1024;

fn workload() -> CoreWorkload {
    CoreWorkload {
        record_count: 500,
        field_count: 3,
        index_count: 2,
        index_key_length: 30,
        field_length: FieldLength::Constant { bytes: 100 },
        updates_change_index_keys: false,
        read_proportion: 0.0,
        lookup_proportion: 0.5,
        update_proportion: 0.5,
        write_all_fields: true,
        ..CoreWorkload::default()
    }
}

/// Calls `each` with every operation and the loaded values of the record that it is about.
fn each(workload: &CoreWorkload, mut each: impl FnMut(&Prepared<'_>, &[&[u8]])) {
    let pool = ValuePool::of(workload, SEED);
    let acknowledged = Acknowledged::new(workload.first_inserted_key());
    let mut stream = Stream::new(workload, &pool, &acknowledged, SEED);
    let (mut prepared, mut loaded) = (Prepared::new(), Prepared::new());
    for n in 0..COUNT {
        stream.prepare(n, &mut prepared);
        stream.load_record(prepared.key_number(), &mut loaded);
        let values: Vec<&[u8]> = loaded.values().iter().map(|value| value.bytes).collect();
        each(&prepared, &values);
    }
}

#[test]
fn a_lookup_asks_for_the_value_that_a_record_was_loaded_with() {
    for (lookup_range, ends) in [(LookupRange::Point, true), (LookupRange::From, false)] {
        let workload = CoreWorkload { lookup_range, lookup_length: 7, ..workload() };
        let mut asked = [0u32; 2];
        each(&workload, |prepared, loaded| {
            let Operation::Lookup { field, from, to, limit, fields } = prepared.operation() else {
                assert_eq!(prepared.kind(), OperationKind::Update);
                return;
            };
            asked[usize::from(field)] += 1;
            assert_eq!(from, loaded[usize::from(field)]);
            assert_eq!((to, limit, fields), (ends.then_some(from), 7, Fields::All));
        });
        // Half of the operations, and each index for half of them: five standard deviations.
        assert_eq!(asked[0] + asked[1], 3 * 512);
        assert!(asked[0].abs_diff(asked[1]) < 197, "{asked:?}");
    }
}

#[test]
fn updates_change_the_values_of_indexed_fields_only_if_told_to() {
    for changes in [true, false] {
        let workload = CoreWorkload {
            updates_change_index_keys: changes,
            lookup_range: LookupRange::From,
            ..workload()
        };
        each(&workload, |prepared, loaded| {
            if prepared.kind() != OperationKind::Update {
                return;
            }
            let lengths: Vec<_> = prepared.values().iter().map(|value| value.bytes.len()).collect();
            assert_eq!(lengths, [30, 30, 100]);
            for (value, loaded) in prepared.values().iter().zip(loaded) {
                let changed = value.bytes != *loaded;
                assert_eq!(changed, changes || value.field == 2, "field {}", value.field);
            }
        });
    }
}

/// The loaded records by ascending value of field 0.
fn in_order(workload: &CoreWorkload, pool: &ValuePool) -> Vec<(Vec<u8>, Vec<Vec<u8>>)> {
    let acknowledged = Acknowledged::new(workload.first_inserted_key());
    let mut stream = Stream::new(workload, pool, &acknowledged, SEED);
    let mut prepared = Prepared::new();
    let mut records: Vec<_> = (0..workload.record_count)
        .map(|number| {
            stream.load_record(number, &mut prepared);
            let values = prepared.values().iter().map(|value| value.bytes.to_vec()).collect();
            (prepared.key().to_vec(), values)
        })
        .collect();
    records.sort_by(|a: &(_, Vec<Vec<u8>>), b| a.1[0].cmp(&b.1[0]));
    records
}

#[test]
fn an_answer_out_of_the_range_or_the_order_is_found() {
    let workload = workload();
    let pool = ValuePool::of(&workload, SEED);
    let records = in_order(&workload, &pool);
    let values: BTreeSet<_> = records.iter().map(|record| &record.1[0]).collect();
    assert_eq!(values.len(), records.len(), "the seed gives no value twice");
    let mut verifier = Verifier::new(&workload, &pool);
    let mut check = |rows: &[usize], from: usize, to: Option<usize>, limit| {
        let mut answer = Answer::keeping();
        for (key, fields) in rows.iter().map(|row| &records[*row]) {
            answer.begin_row(key);
            (0..).zip(fields).for_each(|(position, bytes)| answer.field(position, bytes));
        }
        let lookup = Operation::Lookup {
            field: 0,
            from: &records[from].1[0],
            to: to.map(|to| records[to].1[0].as_slice()),
            limit,
            fields: Fields::All,
        };
        verifier.check(&lookup, &answer)
    };
    assert_eq!(check(&[10, 11, 12], 10, None, 3), Ok(()));
    assert_eq!(check(&[10], 10, Some(10), 1), Ok(()));
    assert_eq!(
        check(&[], 10, Some(10), 1),
        Ok(()),
        "whether something is there is the store's word"
    );
    let wrong = |result: Result<(), WrongAnswer>| result.expect_err("the answer is wrong");
    for (rows, from, to) in [(&[9, 10][..], 10, None), (&[10, 13], 10, Some(12))] {
        assert!(matches!(wrong(check(rows, from, to, 9)), WrongAnswer::OutsideRange { .. }));
    }
    let disordered = wrong(check(&[10, 12, 11], 10, None, 3));
    assert!(matches!(disordered, WrongAnswer::LookupOutOfOrder { field: 0, .. }));
    assert!(matches!(wrong(check(&[10, 11], 10, None, 1)), WrongAnswer::TooManyRows { .. }));
}
