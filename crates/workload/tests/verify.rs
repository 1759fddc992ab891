//! The verifier finds every way in which an answer can be wrong, and accepts right ones.

use std::{collections::BTreeMap, sync::OnceLock};

use assay_model::{Answer, Fields, Operation, OperationKind};
use assay_workload::{
    Acknowledged, CoreWorkload, FieldLength, FieldState, Form, Prepared, Stream, ValuePool, Values,
    Verifier, WrongAnswer,
};

fn workload() -> CoreWorkload {
    CoreWorkload {
        field_count: 4,
        field_length: FieldLength::Uniform { min: 20, max: 30 },
        ..CoreWorkload::ycsb('a').unwrap()
    }
}

/// The pool of the tests, made once: it holds the values of every workload here.
fn pool() -> &'static ValuePool {
    static POOL: OnceLock<ValuePool> = OnceLock::new();
    POOL.get_or_init(|| ValuePool::new(7, 100))
}

type Row = (Vec<u8>, Vec<(u16, Vec<u8>)>);

fn answer(rows: &[Row]) -> Answer {
    let mut answer = Answer::keeping();
    for (key, fields) in rows {
        answer.begin_row(key);
        for (field, value) in fields {
            answer.field(*field, value);
        }
    }
    answer
}

/// The record of key number `number` in the given version of each field.
fn row(workload: &CoreWorkload, pool: &ValuePool, number: u64, versions: [u32; 4]) -> Row {
    let acknowledged = Acknowledged::new(0);
    let mut stream = Stream::new(workload, pool, &acknowledged, 0);
    let mut prepared = Prepared::new();
    stream.load_record(number, &mut prepared);
    let values = Values::new(workload, pool);
    let fields = (0..4)
        .map(|field| {
            let version = versions[usize::from(field)];
            (field, values.value(prepared.key_id(), field, version).to_vec())
        })
        .collect();
    (prepared.key().to_vec(), fields)
}

fn check_read(row: &Row, fields: Fields) -> Result<(), WrongAnswer> {
    let workload = workload();
    let pool = pool();
    let operation = Operation::Read { key: &row.0, fields };
    Verifier::new(&workload, pool).check(&operation, &answer(std::slice::from_ref(row)))
}

fn loaded_row() -> Row {
    let workload = workload();
    row(&workload, pool(), 5, [0; 4])
}

#[test]
fn a_row_in_any_mixture_of_versions_is_right() {
    let workload = workload();
    let pool = pool();
    let mut verifier = Verifier::new(&workload, pool);
    for version in 0..16 {
        let row = row(&workload, pool, 5, [0, version, 15 - version, 0]);
        let answer = answer(&[row]);
        let row = answer.rows().next().unwrap();
        let updated = |version| match version {
            0 => FieldState::Loaded,
            _ => FieldState::Updated,
        };
        assert_eq!(
            verifier.check_row(&row, Fields::All).unwrap(),
            [FieldState::Loaded, updated(version), updated(15 - version), FieldState::Loaded]
        );
    }
}

#[test]
fn fields_may_come_in_any_order_and_alone() {
    let mut row = loaded_row();
    row.1.reverse();
    assert_eq!(check_read(&row, Fields::All), Ok(()));
    for field in 0..4 {
        let one = (row.0.clone(), vec![row.1[usize::from(3 - field)].clone()]);
        assert_eq!(check_read(&one, Fields::One(field)), Ok(()));
    }
}

#[test]
fn every_single_bit_flip_of_every_value_is_found() {
    let row = loaded_row();
    for field in 0..4 {
        for byte in 0..row.1[field].1.len() {
            for bit in 0..8 {
                let mut damaged = row.clone();
                damaged.1[field].1[byte] ^= 1 << bit;
                let (key, field) = (String::from_utf8(row.0.clone()).unwrap(), field as u16);
                assert_eq!(
                    check_read(&damaged, Fields::All),
                    Err(WrongAnswer::WrongValue { key, field })
                );
            }
        }
    }
}

#[test]
fn every_single_byte_change_of_the_key_is_found() {
    let row = loaded_row();
    let workload = workload();
    let pool = pool();
    for position in 0..row.0.len() {
        for replacement in [b'0', b'5', b'9', b'x', 0] {
            let mut damaged = row.clone();
            damaged.0[position] = replacement;
            if damaged.0 == row.0 {
                continue;
            }
            let operation = Operation::Read { key: &row.0, fields: Fields::All };
            let mut verifier = Verifier::new(&workload, pool);
            assert!(matches!(
                verifier.check(&operation, &answer(std::slice::from_ref(&damaged))),
                Err(WrongAnswer::OtherRecord { .. })
            ));
            // Also where the key that was asked for is not known: the values do not fit it.
            assert!(check_read(&damaged, Fields::All).is_err(), "byte {position}");
        }
    }
}

#[test]
fn values_of_another_record_field_or_seed_are_found() {
    let workload = workload();
    let pool = pool();
    let right = loaded_row();
    let other_record = row(&workload, pool, 6, [0; 4]);
    let other_seed = row(&workload, &ValuePool::of(&workload, 8), 5, [0; 4]);
    for wrong in [&other_record.1, &other_seed.1] {
        for (field, value) in wrong.iter().enumerate() {
            let mut damaged = right.clone();
            damaged.1[field] = value.clone();
            assert!(matches!(
                check_read(&damaged, Fields::All),
                Err(WrongAnswer::WrongValue { .. } | WrongAnswer::WrongLength { .. })
            ));
        }
    }
    let mut swapped = right;
    let first = std::mem::take(&mut swapped.1[0].1);
    swapped.1[0].1 = std::mem::replace(&mut swapped.1[1].1, first);
    assert!(check_read(&swapped, Fields::All).is_err());
}

#[test]
fn a_cut_or_lengthened_value_is_found() {
    let constant = CoreWorkload { field_length: FieldLength::Constant { bytes: 25 }, ..workload() };
    let pool = pool();
    let right = row(&constant, pool, 5, [0, 3, 0, 0]);
    let change = |change: fn(&mut Vec<u8>)| {
        let mut damaged = right.clone();
        change(&mut damaged.1[1].1);
        let operation = Operation::Read { key: &right.0, fields: Fields::All };
        Verifier::new(&constant, pool).check(&operation, &answer(&[damaged]))
    };
    for (result, length) in [
        (change(|value| value.truncate(24)), 24),
        (change(|value| value.clear()), 0),
        (change(|value| value.push(b'x')), 26),
    ] {
        let key = String::from_utf8(right.0.clone()).unwrap();
        let expected = WrongAnswer::WrongLength { key, field: 1, length, loaded_length: 25 };
        assert_eq!(result, Err(expected));
    }
    assert_eq!(change(|_| ()), Ok(()));
}

#[test]
fn missing_duplicate_and_unasked_fields_are_found() {
    let right = loaded_row();
    for field in 0..4u16 {
        let mut missing = right.clone();
        missing.1.remove(usize::from(field));
        assert!(matches!(
            check_read(&missing, Fields::All),
            Err(WrongAnswer::MissingField { field: named, .. }) if named == field
        ));
        let mut duplicate = right.clone();
        duplicate.1.push(duplicate.1[usize::from(field)].clone());
        assert!(matches!(
            check_read(&duplicate, Fields::All),
            Err(WrongAnswer::DuplicateField { field: named, .. }) if named == field
        ));
        assert!(matches!(
            check_read(&right, Fields::One(field)),
            Err(WrongAnswer::UnaskedField { .. })
        ));
        let none = (right.0.clone(), vec![]);
        assert!(matches!(
            check_read(&none, Fields::One(field)),
            Err(WrongAnswer::MissingField { field: named, .. }) if named == field
        ));
    }
    let mut beyond = right.clone();
    beyond.1.push((4, b"x".to_vec()));
    assert!(matches!(
        check_read(&beyond, Fields::All),
        Err(WrongAnswer::UnaskedField { field: 4, .. })
    ));
}

#[test]
fn a_read_has_one_row() {
    let workload = workload();
    let pool = pool();
    let mut verifier = Verifier::new(&workload, pool);
    let row = loaded_row();
    let operation = Operation::Read { key: &row.0, fields: Fields::All };
    for rows in [vec![], vec![row.clone(), row.clone()]] {
        let result = verifier.check(&operation, &answer(&rows));
        assert!(
            matches!(result, Err(WrongAnswer::RowCount { rows: n, .. }) if n == rows.len() as u64)
        );
    }
    // A write that returns rows is not a write.
    let update = Operation::Update { key: &row.0, values: &[] };
    assert_eq!(verifier.check(&update, &answer(&[])), Ok(()));
    assert!(verifier.check(&update, &answer(std::slice::from_ref(&row))).is_err());
}

#[test]
fn an_answer_that_was_not_kept_is_not_taken_for_a_right_one() {
    let workload = workload();
    let pool = pool();
    let mut verifier = Verifier::new(&workload, pool);
    let row = loaded_row();
    let mut counted = Answer::counting();
    counted.begin_row(&row.0);
    for operation in [
        Operation::Read { key: &row.0, fields: Fields::All },
        Operation::Scan { start: &row.0, limit: 5, fields: Fields::All },
    ] {
        assert!(matches!(verifier.check(&operation, &counted), Err(WrongAnswer::NotKept { .. })));
    }
}

#[test]
fn keys_that_are_not_the_workloads_are_found() {
    for foreign in ["", "user", "userx", "item123", "user00123", "user1 "] {
        let row = (foreign.as_bytes().to_vec(), loaded_row().1);
        assert!(matches!(check_read(&row, Fields::All), Err(WrongAnswer::ForeignKey { .. })));
    }
}

#[test]
fn updates_count_as_wrong_where_data_integrity_forbids_change() {
    let strict = CoreWorkload {
        data_integrity: true,
        field_length: FieldLength::Constant { bytes: 25 },
        ..workload()
    };
    let pool = pool();
    let mut verifier = Verifier::new(&strict, pool);
    for (versions, right) in [([0, 0, 0, 0], true), ([0, 0, 1, 0], false)] {
        let row = row(&strict, pool, 5, versions);
        let operation = Operation::Read { key: &row.0, fields: Fields::All };
        assert_eq!(verifier.check(&operation, &answer(std::slice::from_ref(&row))).is_ok(), right);
    }
}

#[test]
fn a_scan_is_in_order_from_its_start_and_within_its_limit() {
    let workload = workload();
    let pool = pool();
    let mut rows: Vec<_> = (0..10).map(|number| row(&workload, pool, number, [0; 4])).collect();
    rows.sort();
    let start = rows[2].0.clone();
    let mut verifier = Verifier::new(&workload, pool);
    let mut check = |limit, rows: &[Row]| {
        let operation = Operation::Scan { start: &start, limit, fields: Fields::All };
        verifier.check(&operation, &answer(rows))
    };
    assert_eq!(check(8, &rows[2..]), Ok(()));
    assert_eq!(check(8, &[]), Ok(()), "the end of the table");
    assert_eq!(check(8, &rows[3..]), Ok(()), "the start itself need not exist");
    assert!(matches!(check(7, &rows[2..]), Err(WrongAnswer::TooManyRows { rows: 8, .. })));
    assert!(matches!(check(9, &rows[1..]), Err(WrongAnswer::BeforeStart { .. })));
    for (a, b) in [(2, 3), (4, 7), (8, 9)] {
        let mut swapped = rows.clone();
        swapped.swap(a, b);
        let result = check(8, &swapped[2..]);
        assert!(matches!(result, Err(WrongAnswer::OutOfOrder { .. })), "{result:?}");
    }
    let twice = [rows[2].clone(), rows[2].clone()];
    assert!(matches!(check(8, &twice), Err(WrongAnswer::OutOfOrder { .. })));
    let mut damaged = rows.clone();
    damaged[9].1[3].1[0] ^= 1;
    assert!(matches!(check(8, &damaged[2..]), Err(WrongAnswer::WrongValue { field: 3, .. })));
}

#[test]
fn a_checksum_tells_states_apart_but_not_which_update_won() {
    let workload = workload();
    let pool = pool();
    let mut verifier = Verifier::new(&workload, pool);
    let mut checksum = |number, versions, fields, form, backwards: bool| {
        let mut row = row(&workload, pool, number, versions);
        if let Fields::One(field) = fields {
            row.1.retain(|(position, _)| *position == field);
        }
        if backwards {
            row.1.reverse();
        }
        let answer = answer(&[row]);
        verifier.checksum(&answer.rows().next().unwrap(), fields, form).unwrap()
    };
    let (all, exact, loose) = (Fields::All, Form::LoadedOrUpdated, Form::Loaded);
    let loaded = checksum(5, [0; 4], all, exact, false);
    let updated = checksum(5, [0, 3, 0, 9], all, exact, false);
    assert_eq!(updated, checksum(5, [0, 14, 0, 1], all, exact, true));
    let others = [
        loaded,
        updated,
        checksum(5, [3, 0, 0, 9], all, exact, false),
        checksum(6, [0; 4], all, exact, false),
        checksum(5, [0; 4], Fields::One(0), exact, false),
        checksum(5, [0; 4], Fields::One(1), exact, false),
    ];
    for (index, a) in others.iter().enumerate() {
        assert!(others[index + 1..].iter().all(|b| a != b), "{index}");
    }
    let loose_loaded = checksum(5, [0; 4], all, loose, false);
    assert_eq!(loose_loaded, checksum(5, [0, 3, 0, 9], all, loose, true));
    assert_ne!(loose_loaded, checksum(6, [0; 4], all, loose, false));
}

#[test]
fn a_wrong_row_has_no_checksum() {
    let workload = workload();
    let pool = pool();
    let mut damaged = loaded_row();
    damaged.1[0].1[0] ^= 1;
    let answer = answer(&[damaged]);
    let row = answer.rows().next().unwrap();
    let mut verifier = Verifier::new(&workload, pool);
    assert!(verifier.checksum(&row, Fields::All, Form::Loaded).is_err());
}

/// A store in miniature: the operations of a run in the given order, each read checked as it comes.
/// Returns the sum of the rows' checksums at the end.
fn run(workload: &CoreWorkload, numbers: impl Iterator<Item = u64>) -> u64 {
    let pool = pool();
    let acknowledged = Acknowledged::new(workload.first_inserted_key());
    let mut stream = Stream::new(workload, pool, &acknowledged, 3);
    let mut verifier = Verifier::new(workload, pool);
    let mut prepared = Prepared::new();
    let mut table: BTreeMap<Vec<u8>, BTreeMap<u16, Vec<u8>>> = BTreeMap::new();
    for number in workload.loaded_keys() {
        stream.load_record(number, &mut prepared);
        let values = prepared.values().iter().map(|it| (it.field, it.bytes.to_vec()));
        table.insert(prepared.key().to_vec(), values.collect());
    }
    let report =
        |answer: &mut Answer, key: &[u8], fields: Fields, record: &BTreeMap<_, Vec<u8>>| {
            answer.begin_row(key);
            for (&field, value) in record.iter().filter(|(field, _)| fields.contains(**field)) {
                answer.field(field, value);
            }
        };
    for n in numbers {
        stream.prepare(n, &mut prepared);
        let mut answer = Answer::keeping();
        let (operation, fields) = (prepared.operation(), prepared.fields());
        match prepared.kind() {
            OperationKind::Read | OperationKind::ReadModifyWrite => {
                report(&mut answer, prepared.key(), fields, &table[prepared.key()]);
            }
            OperationKind::Scan => {
                let from = table.range(prepared.key().to_vec()..);
                for (key, record) in from.take(prepared.scan_length() as usize) {
                    report(&mut answer, key, fields, record);
                }
            }
            _ => {}
        }
        verifier.check(&operation, &answer).unwrap();
        for value in prepared.values() {
            let record = table.entry(prepared.key().to_vec()).or_default();
            record.insert(value.field, value.bytes.to_vec());
        }
    }
    let mut answer = Answer::keeping();
    table.iter().for_each(|(key, record)| report(&mut answer, key, Fields::All, record));
    answer.rows().fold(0u64, |sum, row| {
        sum.wrapping_add(verifier.checksum(&row, Fields::All, Form::LoadedOrUpdated).unwrap())
    })
}

#[test]
fn a_right_store_passes_and_ends_in_the_same_state_in_any_order() {
    for letter in "abcdef".chars() {
        let workload = CoreWorkload {
            record_count: 200,
            field_length: FieldLength::Uniform { min: 8, max: 40 },
            read_all_fields: letter != 'e',
            ..CoreWorkload::ycsb(letter).unwrap()
        };
        let forward = run(&workload, 0..3000);
        assert_eq!(forward, run(&workload, (0..3000).rev()), "workload {letter}");
        let fewer = run(&workload, 0..100);
        assert_eq!(forward == fewer, letter == 'c', "workload {letter}");
    }
}
