//! Preparing an operation allocates nothing once the buffers have grown, and the memory that a
//! stream takes does not depend on the number of records.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use assay_model::{Answer, OperationKind};
use assay_workload::{
    Acknowledged, CoreWorkload, Prepared, RequestDistribution, Stream, ValuePool, Verifier,
};

/// Counts what the current thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // A thread that is ending has no counter any more, and no test looks at it.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
    let _ = BYTES.try_with(|sum| sum.set(sum.get() + bytes as u64));
}

// SAFETY: every request is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's obligations are those of the allocator called.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocated<T>(work: impl FnOnce() -> T) -> (u64, u64, T) {
    let before = (ALLOCATIONS.get(), BYTES.get());
    let result = work();
    (ALLOCATIONS.get() - before.0, BYTES.get() - before.1, result)
}

#[test]
fn preparing_and_acknowledging_allocate_nothing_after_warm_up() {
    let mut workloads: Vec<_> = "abcdef".chars().filter_map(CoreWorkload::ycsb).collect();
    for name in RequestDistribution::NAMES {
        workloads.push(CoreWorkload {
            record_count: 1_000_000,
            insert_proportion: 0.1,
            scan_proportion: 0.1,
            read_modify_write_proportion: 0.1,
            write_all_fields: true,
            request_distribution: RequestDistribution::named(name).unwrap(),
            ..CoreWorkload::default()
        });
    }
    for workload in workloads {
        let pool = ValuePool::of(&workload, 1);
        let acknowledged = Acknowledged::new(workload.first_inserted_key());
        let mut stream = Stream::new(&workload, &pool, &acknowledged, 1);
        let mut prepared = Prepared::new();
        // One record with all its fields makes the buffers as large as they get.
        stream.load_record(u64::MAX, &mut prepared);
        let (allocations, _, ()) = allocated(|| {
            for n in 0..50_000 {
                stream.prepare(n, &mut prepared);
                if prepared.kind() == OperationKind::Insert {
                    acknowledged.acknowledge(prepared.key_number());
                }
            }
        });
        assert_eq!(allocations, 0, "{workload:?}");
    }
}

#[test]
fn checking_a_right_answer_allocates_nothing() {
    let workload = CoreWorkload::ycsb('c').unwrap();
    let pool = ValuePool::of(&workload, 1);
    let acknowledged = Acknowledged::new(workload.first_inserted_key());
    let mut stream = Stream::new(&workload, &pool, &acknowledged, 1);
    let mut verifier = Verifier::new(&workload, &pool);
    let (mut loaded, mut read) = (Prepared::new(), Prepared::new());
    let mut answer = Answer::keeping();
    let mut check = |n| {
        stream.prepare(n, &mut read);
        stream.load_record(read.key_number(), &mut loaded);
        answer.clear();
        answer.begin_row(loaded.key());
        loaded.values().iter().for_each(|it| answer.field(it.field, it.bytes));
        verifier.check(&read.operation(), &answer).unwrap();
    };
    (0..100).for_each(&mut check);
    let (allocations, _, ()) = allocated(|| (100..5_000).for_each(&mut check));
    assert_eq!(allocations, 0);
}

#[test]
fn a_stream_takes_no_more_memory_for_more_records() {
    let pool = ValuePool::new(1, 100);
    let acknowledged = Acknowledged::new(0);
    for name in RequestDistribution::NAMES {
        let bytes = |record_count| {
            let workload = CoreWorkload {
                record_count,
                request_distribution: RequestDistribution::named(name).unwrap(),
                ..CoreWorkload::default()
            };
            let (_, bytes, _) = allocated(|| {
                let mut prepared = Prepared::new();
                let mut stream = Stream::new(&workload, &pool, &acknowledged, 1);
                (0..1000).for_each(|n| stream.prepare(n, &mut prepared));
            });
            bytes
        };
        // The key's buffer alone; nothing else is on the heap.
        for record_count in [10, 10_000_000_000] {
            assert!(bytes(record_count) < 512, "{name}: {} bytes", bytes(record_count));
        }
    }
}
