//! A tree against a `BTreeSet` of the same entries, and what it does with memory.

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};

use proptest::collection::vec;
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{Direction, LONGEST_ENTRY, Limits, Tree};

type Model = BTreeSet<Vec<u8>>;

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<u8>),
    Remove(Vec<u8>),
    /// Removes the existing entry at this share of the set, in 1/256.
    RemoveAt(u8),
    RemoveRange(Vec<u8>, Vec<u8>),
    Contains(Vec<u8>),
    Scan(Bound<Vec<u8>>, Bound<Vec<u8>>, usize),
    SplitOff(Vec<u8>, KeepHalf),
    Middle,
}

#[derive(Clone, Copy, Debug)]
enum KeepHalf {
    Below,
    Above,
}

/// Strings that stress the encoding: prefixes of each other, runs of 00 and FF, shared starts
/// shorter and longer than a head, and long ones.
fn entry() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0x00), Just(0x01), Just(b'a'), Just(0xFE), Just(0xFF)];
    prop_oneof![
        6 => vec(byte.clone(), 0..14),
        2 => (0..4_000u32).prop_map(|number| format!("user{number:012}").into_bytes()),
        2 => (0..300u32, vec(byte, 0..3)).prop_map(|(number, end)| {
            let mut entry = format!("a prefix far longer than a head {number:04}").into_bytes();
            entry.extend(end);
            entry
        }),
        2 => vec(any::<u8>(), 40),
        1 => (prop_oneof![Just(0x00), Just(b'a'), Just(0xFF)], 0..400usize)
            .prop_map(|(byte, len)| vec![byte; len]),
    ]
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        entry().prop_map(Bound::Included),
        entry().prop_map(Bound::Excluded),
        Just(Bound::Unbounded),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        40 => entry().prop_map(Step::Insert),
        6 => entry().prop_map(Step::Remove),
        14 => any::<u8>().prop_map(Step::RemoveAt),
        2 => (entry(), entry()).prop_map(|(from, to)| Step::RemoveRange(from, to)),
        5 => entry().prop_map(Step::Contains),
        10 => (bound(), bound(), prop_oneof![Just(usize::MAX), 0..20usize])
            .prop_map(|(from, to, most)| Step::Scan(from, to, most)),
        1 => (entry(), prop_oneof![Just(KeepHalf::Below), Just(KeepHalf::Above)])
            .prop_map(|(at, keep)| Step::SplitOff(at, keep)),
        2 => Just(Step::Middle),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    prop_oneof![
        (2..10usize, 3..8usize, 32..600usize).prop_map(|(entries, children, bytes)| Limits {
            leaf_entries: entries,
            leaf_bytes: bytes,
            inner_children: children,
            inner_bytes: bytes,
        }),
        Just(Limits::STANDARD),
    ]
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// At most `most` entries of the tree between the bounds.
fn scanned(
    tree: &Tree,
    from: Bound<&[u8]>,
    to: Bound<&[u8]>,
    direction: Direction,
    most: usize,
) -> Vec<Vec<u8>> {
    let mut entries = Vec::new();
    if most == 0 {
        return entries;
    }
    tree.scan(
        from,
        to,
        direction,
        |_| (),
        |entry, word| {
            assert_eq!(word, word_of(entry));
            entries.push(entry.to_vec());
            if entries.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    entries
}

/// A word for each entry.
fn word_of(entry: &[u8]) -> u64 {
    entry
        .iter()
        .fold(entry.len() as u64, |word, byte| word.wrapping_mul(31).wrapping_add(u64::from(*byte)))
}

/// The leaf of an entry, or any other, or none.
fn somewhere(tree: &Tree, entry: &[u8]) -> u32 {
    match word_of(entry) % 3 {
        0 => tree.approach(entry),
        _ => word_of(entry) as u32 % (tree.leaves.len() as u32 + 2),
    }
}

fn insert(tree: &mut Tree, entry: &[u8]) -> bool {
    tree.insert(entry, word_of(entry))
}

fn all(tree: &Tree) -> Vec<Vec<u8>> {
    scanned(tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward, usize::MAX)
}

/// The same of the model, which is searched without `BTreeSet::range`: that panics where bounds
/// are in the wrong order.
fn expected(
    model: &Model,
    from: Bound<&[u8]>,
    to: Bound<&[u8]>,
    direction: Direction,
    most: usize,
) -> Vec<Vec<u8>> {
    let above = |entry: &&Vec<u8>| match from {
        Bound::Included(from) => &entry[..] >= from,
        Bound::Excluded(from) => &entry[..] > from,
        Bound::Unbounded => true,
    };
    let below = |entry: &&Vec<u8>| match to {
        Bound::Included(to) => &entry[..] <= to,
        Bound::Excluded(to) => &entry[..] < to,
        Bound::Unbounded => true,
    };
    let within = model.iter().filter(above).filter(below);
    match direction {
        Direction::Forward => within.take(most).cloned().collect(),
        Direction::Backward => within.rev().take(most).cloned().collect(),
    }
}

fn take_step(tree: &mut Tree, model: &mut Model, step: Step) {
    match step {
        Step::Insert(entry) => {
            let near = somewhere(tree, &entry);
            assert_eq!(tree.insert_near(near, &entry, 7), model.insert(entry.clone()));
            assert_eq!(tree.word(&entry), Some(7));
            assert!(!insert(tree, &entry), "again, with another word");
            assert_eq!(tree.word(&entry), Some(word_of(&entry)));
        }
        Step::Remove(entry) => {
            let near = somewhere(tree, &entry);
            assert_eq!(tree.remove_near(near, &entry), model.remove(&entry));
            assert!(!tree.contains(&entry));
        }
        Step::RemoveAt(share) => {
            let entry = model.iter().nth(model.len() * usize::from(share) / 256).cloned();
            if let Some(entry) = entry {
                assert!(model.remove(&entry) && tree.remove(&entry));
                assert!(!tree.contains(&entry));
            }
        }
        Step::RemoveRange(from, to) => {
            let entries = expected(
                model,
                Bound::Included(&from),
                Bound::Excluded(&to),
                Direction::Forward,
                usize::MAX,
            );
            for entry in entries {
                assert!(model.remove(&entry) && tree.remove(&entry));
                tree.check();
            }
        }
        Step::Contains(entry) => {
            assert_eq!(tree.contains(&entry), model.contains(&entry));
            assert_eq!(tree.set_word(&entry, 8), model.contains(&entry));
            assert_eq!(tree.word(&entry), model.contains(&entry).then_some(8));
            tree.set_word(&entry, word_of(&entry));
        }
        Step::Scan(from, to, most) => {
            let (from, to) = (as_slice(&from), as_slice(&to));
            for direction in [Direction::Forward, Direction::Backward] {
                assert_eq!(
                    scanned(tree, from, to, direction, most),
                    expected(model, from, to, direction, most),
                    "{direction:?} from {from:?} to {to:?}"
                );
            }
        }
        Step::SplitOff(at, keep) => {
            let mut above = tree.split_off(&at);
            let mut model_above = model.split_off(&at);
            above.check();
            assert!(all(&above).iter().eq(model_above.iter()));
            tree.check();
            assert!(all(tree).iter().eq(model.iter()));
            if matches!(keep, KeepHalf::Above) {
                std::mem::swap(tree, &mut above);
                std::mem::swap(model, &mut model_above);
            }
        }
        Step::Middle => {
            assert_eq!(
                tree.middle().as_ref(),
                model.iter().nth(model.len() / 2).filter(|_| model.len() > 1)
            );
        }
    }
    assert_eq!(tree.len(), model.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_tree_answers_as_a_set_does(limits in limits(), steps in vec(step(), 0..400)) {
        let mut tree = Tree::with_limits(limits);
        let mut model = Model::new();
        for step in steps {
            take_step(&mut tree, &mut model, step);
            tree.check();
        }
        prop_assert!(all(&tree).iter().eq(model.iter()));
        for entry in &model {
            prop_assert!(tree.remove(entry));
            tree.check();
        }
        prop_assert_eq!(tree.len(), 0);
        prop_assert_eq!(tree.memory_bytes(), Tree::new().memory_bytes());
    }
}

#[test]
fn a_scan_foresees_the_word_of_its_first_entry() {
    let mut generator = generator(6);
    let entries: Vec<[u8; 40]> = (0..5_000).map(|_| random_entry(&mut generator)).collect();
    let mut tree = Tree::new();
    for entry in &entries {
        insert(&mut tree, entry);
    }
    for entry in &entries {
        let mut foreseen = None;
        let from = Bound::Included(&entry[..32]);
        tree.scan(
            from,
            Bound::Unbounded,
            Direction::Forward,
            |word| foreseen = Some(word),
            |_, _| ControlFlow::Break(()),
        );
        assert_eq!(foreseen, Some(word_of(entry)));
    }
}

/// Few strings that lie close together, and bounds at and beside each: every combination.
#[test]
fn scans_keep_to_every_combination_of_bounds() {
    let limits = Limits { leaf_entries: 3, leaf_bytes: 4096, inner_children: 3, inner_bytes: 4096 };
    let mut tree = Tree::with_limits(limits);
    let mut model = Model::new();
    let mut points: Vec<Vec<u8>> = vec![vec![]];
    for start in [&b""[..], b"k", b"key of ten", b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"] {
        for end in [&b""[..], b"\x00", b"\x00\x00", b"\x01", b"\xFF", b"\xFF\xFF"] {
            points.push([start, end].concat());
        }
    }
    for (number, point) in points.iter().enumerate() {
        if number % 3 != 1 {
            insert(&mut tree, point);
            model.insert(point.clone());
        }
    }
    tree.check();
    let bounds: Vec<Bound<Vec<u8>>> = points
        .iter()
        .flat_map(|point| [Bound::Included(point.clone()), Bound::Excluded(point.clone())])
        .chain([Bound::Unbounded])
        .collect();
    for from in &bounds {
        for to in &bounds {
            take_step(&mut tree, &mut model, Step::Scan(from.clone(), to.clone(), usize::MAX));
        }
    }
}

fn generator(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn random_entry(generator: &mut impl Rng) -> [u8; 40] {
    let mut entry = [0; 40];
    generator.fill_bytes(&mut entry);
    entry
}

#[test]
fn random_entries_take_at_most_75_bytes_for_their_40_and_a_word() {
    let mut generator = generator(1);
    let mut tree = Tree::new();
    let mut worst = 0.0_f64;
    for count in 1..=100_000 {
        insert(&mut tree, &random_entry(&mut generator));
        if count >= 10_000 && count % 5_000 == 0 {
            worst = worst.max(tree.memory_bytes() as f64 / count as f64);
        }
    }
    tree.check();
    assert!(worst < 75.0, "{worst} bytes an entry");
}

#[test]
fn a_shared_prefix_is_not_kept_with_each_entry() {
    let mut tree = Tree::new();
    let prefix = "a tenant and a table that all the entries of this index name ".repeat(4);
    for number in 0..20_000 {
        insert(&mut tree, format!("{prefix}{number:012}").as_bytes());
    }
    tree.check();
    let bytes = tree.memory_bytes() / tree.len();
    assert!(bytes < 50, "{bytes} bytes an entry of {}", prefix.len() + 12);
}

#[test]
fn ascending_insertion_fills_the_leaves() {
    let mut tree = Tree::new();
    for number in 0..50_000 {
        insert(&mut tree, format!("user{number:012}").as_bytes());
    }
    tree.check();
    assert!(tree.mean_fill() > 0.9, "ascending: {}", tree.mean_fill());
}

#[test]
fn descending_insertion_fills_the_leaves() {
    let mut tree = Tree::new();
    for number in (0..50_000).rev() {
        insert(&mut tree, format!("user{number:012}").as_bytes());
    }
    tree.check();
    assert!(tree.mean_fill() > 0.9, "descending: {}", tree.mean_fill());
}

#[test]
fn churn_of_random_entries_does_not_grow_memory() {
    const LIVE: usize = 4_000;
    const TURNS: usize = 500;
    let mut generator = generator(2);
    let mut live: Vec<[u8; 40]> = (0..LIVE).map(|_| random_entry(&mut generator)).collect();
    let mut tree = Tree::new();
    for entry in &live {
        insert(&mut tree, entry);
    }
    let before = tree.memory_bytes();
    let mut most = before;
    for _ in 0..TURNS {
        for entry in &mut live {
            assert!(tree.remove(entry));
            *entry = random_entry(&mut generator);
            assert!(insert(&mut tree, entry));
        }
        most = most.max(tree.memory_bytes());
    }
    tree.check();
    assert_eq!(tree.len(), LIVE);
    assert!(most < before * 3 / 2, "{before} bytes became {most}");
}

#[test]
fn a_queue_does_not_grow_memory() {
    const LIVE: u64 = 2_000;
    let mut tree = Tree::new();
    let mut most = 0;
    for number in 0..1_000_000_u64 {
        insert(&mut tree, &number.to_be_bytes());
        if let Some(oldest) = number.checked_sub(LIVE) {
            assert!(tree.remove(&oldest.to_be_bytes()));
        }
        if number % 1_000 == 999 {
            most = most.max(tree.memory_bytes());
        }
    }
    tree.check();
    assert_eq!(tree.len(), LIVE as usize);
    assert!(most < 50 * LIVE as usize, "{most} bytes for {LIVE} entries");
}

#[test]
fn a_set_that_shrinks_gives_its_memory_back() {
    let mut generator = generator(3);
    let entries: Vec<[u8; 40]> = (0..50_000).map(|_| random_entry(&mut generator)).collect();
    let mut tree = Tree::new();
    for entry in &entries {
        insert(&mut tree, entry);
    }
    let full = tree.memory_bytes();
    let (kept, removed) = entries.split_at(entries.len() / 16);
    for entry in removed {
        assert!(tree.remove(entry));
    }
    tree.check();
    assert!(tree.memory_bytes() < full / 6, "{full} bytes became {}", tree.memory_bytes());
    assert!(kept.iter().all(|entry| tree.contains(entry)));
}

/// Leaves that are too full to merge shrink all the same.
#[test]
fn half_emptied_leaves_give_their_memory_back() {
    let mut generator = generator(5);
    let entries: Vec<[u8; 40]> = (0..50_000).map(|_| random_entry(&mut generator)).collect();
    let mut tree = Tree::new();
    for entry in &entries {
        insert(&mut tree, entry);
    }
    let full = tree.memory_bytes();
    for entry in &entries[entries.len() * 2 / 5..] {
        assert!(tree.remove(entry));
    }
    tree.check();
    assert!(tree.memory_bytes() < full * 6 / 10, "{full} bytes became {}", tree.memory_bytes());
}

#[test]
fn entries_of_up_to_the_longest_length_are_kept() {
    let mut tree = Tree::new();
    let mut model = Model::new();
    for step in 0..200_usize {
        let len = match step % 5 {
            0 => 128 * 1024 + step,
            1 => step,
            2 => 9_000,
            3 => LONGEST_ENTRY - step,
            _ => 40,
        };
        let mut entry = vec![b'a' + (step % 3) as u8; len];
        let last = len.saturating_sub(1);
        entry[last] = step as u8;
        assert_eq!(insert(&mut tree, &entry), model.insert(entry));
    }
    tree.check();
    assert!(all(&tree).iter().eq(model.iter()));
    for entry in &model {
        assert!(tree.remove(entry));
    }
    tree.check();
    assert_eq!(tree.memory_bytes(), Tree::new().memory_bytes());
}

#[test]
#[should_panic(expected = "at most 524288 bytes")]
fn a_longer_entry_is_refused() {
    insert(&mut Tree::new(), &vec![0; LONGEST_ENTRY + 1]);
}

#[test]
fn one_odd_entry_does_not_make_its_neighbors_long() {
    let mut tree = Tree::new();
    let prefix = vec![b'm'; 1024];
    let long = |number: u32| [&prefix[..], &number.to_be_bytes()].concat();
    for number in 0..50 {
        insert(&mut tree, &long(number));
    }
    let before = tree.memory_bytes();
    assert!(before < 24 * 1024, "the prefix is kept few times: {before} bytes");
    insert(&mut tree, b"a");
    insert(&mut tree, b"z");
    tree.check();
    assert!(
        tree.memory_bytes() < before + 4 * 1024,
        "{before} bytes became {}",
        tree.memory_bytes()
    );
    assert_eq!(tree.len(), 52);
}

#[test]
fn splitting_at_the_middle_again_and_again_keeps_every_entry() {
    let mut generator = generator(4);
    let mut whole = Tree::new();
    let mut model = Model::new();
    for _ in 0..30_000 {
        let entry = random_entry(&mut generator);
        insert(&mut whole, &entry);
        model.insert(entry.to_vec());
    }
    let mut trees = vec![whole];
    while trees.len() < 64 {
        let mut halves = Vec::new();
        for mut below in trees {
            let at = below.middle().expect("more than two entries");
            let above = below.split_off(&at);
            assert!(below.len().abs_diff(above.len()) <= 1);
            below.check();
            above.check();
            halves.extend([below, above]);
        }
        trees = halves;
    }
    let mut entries = model.iter();
    for tree in &mut trees {
        for entry in all(tree) {
            assert_eq!(Some(&entry), entries.next());
        }
        insert(tree, b"one more");
        tree.check();
    }
    assert_eq!(entries.next(), None);
}
