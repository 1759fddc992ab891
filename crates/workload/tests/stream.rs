//! The stream of operations: a function of (seed, n), with exact mixes and gapless inserts.

use std::collections::HashMap;

use assay_model::{Fields, OperationKind};
use assay_workload::{
    Acknowledged, CoreWorkload, FieldLength, InsertOrder, KeyFormat, Prepared, RequestDistribution,
    ScanDistribution, Stream, ValuePool, Values,
};

const SEED: u64 = 42;

/// An operation as plain values, to compare.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    kind: OperationKind,
    key_number: u64,
    key_id: u64,
    key: Vec<u8>,
    fields: Fields,
    scan_length: u32,
    values: Vec<(u16, Vec<u8>)>,
}

fn seen(prepared: &Prepared<'_>) -> Seen {
    Seen {
        kind: prepared.kind(),
        key_number: prepared.key_number(),
        key_id: prepared.key_id(),
        key: prepared.key().to_vec(),
        fields: prepared.fields(),
        scan_length: prepared.scan_length(),
        values: prepared.values().iter().map(|it| (it.field, it.bytes.to_vec())).collect(),
    }
}

/// The operations `numbers` of a new stream, in that order, all in one `Prepared`.
fn operations(workload: &CoreWorkload, seed: u64, numbers: impl Iterator<Item = u64>) -> Vec<Seen> {
    let pool = ValuePool::of(workload, 1);
    let acknowledged = Acknowledged::new(workload.first_inserted_key());
    let mut stream = Stream::new(workload, &pool, &acknowledged, seed);
    let mut prepared = Prepared::new();
    numbers
        .map(|n| {
            stream.prepare(n, &mut prepared);
            assert_eq!(prepared.number(), n);
            seen(&prepared)
        })
        .collect()
}

/// Every kind of operation, every distribution.
fn workloads() -> Vec<CoreWorkload> {
    let mut all: Vec<_> = "abcdef".chars().filter_map(CoreWorkload::ycsb).collect();
    for name in RequestDistribution::NAMES {
        all.push(CoreWorkload {
            record_count: 700,
            insert_start: 100,
            read_all_fields: false,
            read_proportion: 0.3,
            update_proportion: 0.2,
            insert_proportion: 0.2,
            scan_proportion: 0.1,
            read_modify_write_proportion: 0.2,
            request_distribution: RequestDistribution::named(name).unwrap(),
            scan_length_distribution: ScanDistribution::Zipfian,
            field_length: FieldLength::Zipfian { min: 10, max: 50 },
            insert_order: InsertOrder::Ordered,
            zero_padding: 12,
            ..CoreWorkload::default()
        });
    }
    all
}

#[test]
fn an_operation_is_a_function_of_seed_and_number() {
    const COUNT: u64 = 5000;
    for workload in workloads() {
        let forward = operations(&workload, SEED, 0..COUNT);
        let again = operations(&workload, SEED, 0..COUNT);
        assert!(forward == again);
        let backward = operations(&workload, SEED, (0..COUNT).rev());
        assert!(backward.iter().rev().eq(&forward));
        // Dealt to clients in turn, as any number of clients would get them.
        for clients in [3, 7, 64] {
            for client in [0, 1, clients - 1] {
                let numbers = || (client..COUNT).step_by(clients as usize);
                let dealt = operations(&workload, SEED, numbers());
                let expected = numbers().map(|n| &forward[n as usize]);
                assert!(dealt.iter().eq(expected), "client {client} of {clients}");
            }
        }
    }
}

#[test]
fn another_seed_gives_other_operations() {
    for workload in workloads() {
        let (one, other) = (operations(&workload, 1, 0..2000), operations(&workload, 2, 0..2000));
        let keys =
            |operations: &[Seen]| operations.iter().map(|it| it.key_number).collect::<Vec<_>>();
        if workload.request_distribution != (RequestDistribution::Sequential {}) {
            assert_ne!(keys(&one), keys(&other));
        }
        assert_ne!(one, other);
    }
}

#[test]
fn the_mix_is_exact_in_every_block() {
    for (letter, first, second, share) in [
        ('a', OperationKind::Read, OperationKind::Update, 0.5),
        ('b', OperationKind::Read, OperationKind::Update, 0.95),
        ('d', OperationKind::Read, OperationKind::Insert, 0.95),
        ('e', OperationKind::Scan, OperationKind::Insert, 0.95),
        ('f', OperationKind::Read, OperationKind::ReadModifyWrite, 0.5),
    ] {
        let workload = CoreWorkload::ycsb(letter).unwrap();
        let all = operations(&workload, SEED, 0..50 * 1024);
        for end in (1024..=all.len()).step_by(1024) {
            let count = |kind| all[..end].iter().filter(|it| it.kind == kind).count();
            assert_eq!(count(first) + count(second), end);
            let exact = share * end as f64;
            assert!((count(first) as f64 - exact).abs() <= 1.0, "{letter}: {}", count(first));
        }
    }
}

#[test]
fn inserted_keys_are_contiguous_and_unique_in_any_order() {
    for workload in workloads().into_iter().filter(|it| it.insert_proportion > 0.0) {
        const COUNT: u64 = 10_000;
        // 7919 is prime to 10,000, so every operation is visited once.
        let all = operations(&workload, SEED, (0..COUNT).map(|step| step * 7919 % COUNT));
        let mut inserted: Vec<_> = all
            .iter()
            .filter(|it| it.kind == OperationKind::Insert)
            .map(|it| it.key_number)
            .collect();
        inserted.sort_unstable();
        let first = workload.record_count;
        assert!(inserted.iter().copied().eq(first..first + inserted.len() as u64));
        assert!(inserted.len() > 100);
    }
}

#[test]
fn keys_asked_for_are_loaded_ones() {
    for workload in workloads() {
        let loaded = workload.loaded_keys();
        let keys = KeyFormat::of(&workload);
        for operation in operations(&workload, SEED, 0..20_000) {
            if operation.kind != OperationKind::Insert {
                assert!(loaded.contains(&operation.key_number));
            }
            let mut key = Vec::new();
            assert_eq!(keys.write(operation.key_number, &mut key), operation.key_id);
            assert_eq!(key, operation.key);
        }
    }
}

#[test]
fn each_kind_carries_what_it_needs_and_nothing_else() {
    for workload in workloads() {
        let field_count = workload.field_count as usize;
        let pool = ValuePool::of(&workload, 1);
        let values = Values::new(&workload, &pool);
        for (n, operation) in operations(&workload, SEED, 0..5000).iter().enumerate() {
            let version = match operation.kind {
                OperationKind::Insert => 0,
                _ => 1 + n as u32 % 15,
            };
            for (field, bytes) in &operation.values {
                assert_eq!(bytes, values.value(operation.key_id, *field, version));
            }
            let written: Vec<_> = operation.values.iter().map(|(field, _)| *field).collect();
            match operation.kind {
                OperationKind::Insert => {
                    assert!(written.iter().copied().eq(0..field_count as u16));
                }
                OperationKind::Update | OperationKind::ReadModifyWrite => {
                    assert_eq!(written.len(), 1);
                    assert!(usize::from(written[0]) < field_count);
                }
                _ => assert!(written.is_empty()),
            }
            let scans = operation.kind == OperationKind::Scan;
            let lengths = workload.min_scan_length..=workload.max_scan_length;
            assert_eq!(lengths.contains(&operation.scan_length), scans);
            assert_eq!(
                operation.fields == Fields::All,
                workload.read_all_fields || operation.kind == OperationKind::Insert
            );
        }
    }
}

#[test]
fn one_field_is_read_and_written_each_equally_often() {
    let workload = CoreWorkload {
        record_count: 10,
        field_count: 4,
        read_all_fields: false,
        update_proportion: 1.0,
        read_proportion: 1.0,
        ..CoreWorkload::default()
    };
    let (mut read, mut written) = ([0u32; 4], [0u32; 4]);
    for operation in operations(&workload, SEED, 0..80_000) {
        if let Fields::One(field) = operation.fields {
            read[usize::from(field)] += 1;
        }
        if let Some((field, _)) = operation.values.first() {
            written[usize::from(*field)] += 1;
        }
    }
    // Four standard deviations of the binomial counts.
    for (counts, mean) in [(read, 20_000.0f64), (written, 10_000.0)] {
        for count in counts {
            assert!((f64::from(count) - mean).abs() < 4.0 * (mean * 0.75).sqrt(), "{counts:?}");
        }
    }
}

#[test]
fn all_fields_are_written_when_asked() {
    let workload = CoreWorkload { write_all_fields: true, ..CoreWorkload::ycsb('a').unwrap() };
    for operation in operations(&workload, SEED, 0..1000) {
        let expected = if operation.kind == OperationKind::Update { 10 } else { 0 };
        assert_eq!(operation.values.len(), expected);
    }
}

#[test]
fn data_integrity_writes_what_is_there() {
    let workload = CoreWorkload { data_integrity: true, ..CoreWorkload::ycsb('a').unwrap() };
    let pool = ValuePool::of(&workload, 1);
    let values = Values::new(&workload, &pool);
    for operation in operations(&workload, SEED, 0..1000) {
        for (field, bytes) in operation.values {
            assert_eq!(bytes, values.value(operation.key_id, field, 0));
        }
    }
}

#[test]
fn a_loaded_record_is_what_an_insert_of_that_key_would_be() {
    for workload in workloads().into_iter().filter(|it| it.insert_proportion > 0.0) {
        let pool = ValuePool::of(&workload, 1);
        let acknowledged = Acknowledged::new(workload.first_inserted_key());
        let mut stream = Stream::new(&workload, &pool, &acknowledged, SEED);
        let mut loaded = Prepared::new();
        for insert in operations(&workload, SEED, 0..3000) {
            if insert.kind == OperationKind::Insert {
                stream.load_record(insert.key_number, &mut loaded);
                assert_eq!(seen(&loaded), insert);
            }
        }
    }
}

#[test]
fn sequential_requests_skip_no_record_for_an_insert() {
    let workload = CoreWorkload {
        record_count: 50,
        read_proportion: 0.5,
        update_proportion: 0.0,
        insert_proportion: 0.5,
        request_distribution: RequestDistribution::Sequential {},
        ..CoreWorkload::default()
    };
    let asked: Vec<_> = operations(&workload, SEED, 0..5000)
        .into_iter()
        .filter(|it| it.kind == OperationKind::Read)
        .map(|it| it.key_number)
        .collect();
    assert!(asked.iter().copied().eq((0..50).cycle().take(asked.len())));
}

#[test]
fn latest_follows_the_acknowledged_inserts() {
    let workload = CoreWorkload::ycsb('d').unwrap();
    let pool = ValuePool::of(&workload, 1);
    let acknowledged = Acknowledged::new(workload.first_inserted_key());
    let mut stream = Stream::new(&workload, &pool, &acknowledged, SEED);
    let mut prepared = Prepared::new();
    let mut asked = HashMap::new();
    for n in 0..100_000 {
        stream.prepare(n, &mut prepared);
        if prepared.kind() == OperationKind::Insert {
            // An insert in a hundred is never answered until the end.
            if prepared.key_number() != 3000 {
                acknowledged.acknowledge(prepared.key_number());
            }
        } else {
            assert!(prepared.key_number() < acknowledged.limit());
            *asked.entry(prepared.key_number()).or_insert(0u32) += 1;
        }
    }
    assert_eq!(acknowledged.limit(), 3000);
    let newest = asked[&2999];
    assert!(asked.values().all(|&count| count <= newest), "the newest record is the most asked");
}

#[test]
fn a_pure_insert_workload_numbers_its_records_by_operation() {
    let workload = CoreWorkload { record_count: 70, ..CoreWorkload::preset("load").unwrap() };
    let all = operations(&workload, SEED, 0..3000);
    assert!(all.iter().map(|it| it.key_number).eq(70..3070));
}

#[test]
fn the_greatest_numbers_overflow_nothing() {
    for workload in workloads() {
        let workload = CoreWorkload { record_count: 1 << 60, ..workload };
        operations(&workload, u64::MAX, [0, 1 << 40, (1 << 60) - 1].into_iter());
    }
}

#[test]
#[should_panic(expected = "field_count")]
fn an_invalid_workload_is_not_streamed() {
    let workload = CoreWorkload { field_count: 0, ..CoreWorkload::ycsb('a').unwrap() };
    operations(&workload, 1, 0..1);
}

/// The records of a run can be made again only if the stream stays what it is. A change of these
/// numbers is a change of every workload: it belongs in the change log.
#[test]
fn a_stream_is_the_same_from_release_to_release() {
    let digests: Vec<u64> = "abcdef"
        .chars()
        .map(|letter| {
            let workload = CoreWorkload::ycsb(letter).unwrap();
            let mut digest = 0xCBF2_9CE4_8422_2325u64;
            let mut add = |bytes: &[u8]| {
                for &byte in bytes {
                    digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
                }
            };
            for operation in operations(&workload, 2026, 0..500) {
                add(&[operation.kind.index() as u8]);
                add(&operation.key);
                add(&operation.scan_length.to_le_bytes());
                operation.values.iter().for_each(|(_, bytes)| add(bytes));
            }
            digest
        })
        .collect();
    assert_eq!(digests, GOLDEN, "{digests:#x?}");
}

const GOLDEN: [u64; 6] = [
    0xDDED_D55A_816A_DBEF,
    0x575F_D60E_ACEC_509C,
    0x84E6_16C5_2751_151D,
    0x0093_6BAC_996D_7C30,
    0x86D9_A331_8887_F6F4,
    0x9D6E_5698_0B34_7792,
];
