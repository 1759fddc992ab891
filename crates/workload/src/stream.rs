//! The stream of a workload's operations: operation *n* as a function of (seed, n).

use assay_model::{FieldValue, Fields, OperationKind};

use crate::{
    Acknowledged, CoreWorkload, KeyFormat, LookupRange, Prepared, RequestDistribution,
    ScanDistribution, UPDATE_VERSIONS, ValuePool, Values, ZIPFIAN_CONSTANT,
    distributions::{Exponential, Hotspot, Latest, ScrambledZipfian, Sequential, Uniform, Zipfian},
    mix::{Mix, MixCursor, Slot},
    prepared::Lookup,
    rng::{Draws, keyed},
};

const OPERATION_SALT: u64 = 0x6F70_6572;

/// The operations of a workload, for one client. Every client has its own stream of the same seed
/// and prepares the operations that are dealt to it; the memory taken does not depend on the
/// number of records.
///
/// Operation *n* is a function of (seed, n), except that with the `latest` distribution the record
/// asked for also depends on the inserts acknowledged when it is prepared.
pub struct Stream<'p> {
    mix: MixCursor,
    operation_key: u64,
    chooser: Chooser<'p>,
    scan_length: ScanLength,
    keys: KeyFormat,
    values: Values<'p>,
    first_key: u64,
    first_inserted_key: u64,
    field_count: u16,
    index_count: u16,
    lookup_range: LookupRange,
    lookup_length: u32,
    read_all_fields: bool,
    write_all_fields: bool,
    updates_change_values: bool,
    updates_change_index_keys: bool,
}

/// Which of the loaded records an operation asks for.
enum Chooser<'p> {
    Uniform(Uniform),
    Scrambled(ScrambledZipfian),
    Latest(Latest, &'p Acknowledged),
    Hotspot(Hotspot),
    Sequential(Sequential),
    Exponential(Exponential),
}

enum ScanLength {
    Uniform { min: u32, count: u64 },
    Zipfian { min: u32, excess: Box<Zipfian> },
}

impl<'p> Stream<'p> {
    /// The stream of `seed`. `acknowledged` begins at the workload's
    /// [`first_inserted_key`](CoreWorkload::first_inserted_key); only the `latest` distribution
    /// asks it anything.
    ///
    /// # Panics
    /// If the workload does not pass [`CoreWorkload::validate`], or the pool was made for shorter
    /// values ([`ValuePool::of`] makes one that fits).
    pub fn new(
        workload: &'p CoreWorkload,
        pool: &'p ValuePool,
        acknowledged: &'p Acknowledged,
        seed: u64,
    ) -> Stream<'p> {
        if let Err(invalid) = workload.validate() {
            panic!("a workload is validated before it is streamed: {invalid}");
        }
        Stream {
            mix: MixCursor::new(Mix::new(workload), seed),
            operation_key: keyed(seed, OPERATION_SALT),
            chooser: Chooser::new(workload, acknowledged),
            scan_length: ScanLength::new(workload),
            keys: KeyFormat::of(workload),
            values: Values::new(workload, pool),
            first_key: workload.loaded_keys().start,
            first_inserted_key: workload.first_inserted_key(),
            field_count: workload.field_count as u16,
            index_count: workload.index_count as u16,
            lookup_range: workload.lookup_range,
            lookup_length: workload.lookup_length,
            read_all_fields: workload.read_all_fields,
            write_all_fields: workload.write_all_fields,
            updates_change_values: !workload.data_integrity,
            updates_change_index_keys: workload.updates_change_index_keys,
        }
    }

    /// Makes operation `n`.
    #[inline]
    pub fn prepare(&mut self, n: u64, into: &mut Prepared<'p>) {
        let slot = self.mix.at(n);
        let mut draws = Draws::at(self.operation_key, n);
        if slot.kind == OperationKind::Insert {
            return self.insert(n, self.first_inserted_key + slot.inserts_before, into);
        }
        let key_number = self.first_key + self.chooser.choose(n, slot, self.first_key, &mut draws);
        into.kind = slot.kind;
        into.number = n;
        into.key_number = key_number;
        into.key_id = self.keys.write(key_number, &mut into.key);
        into.values.clear();
        into.scan_length = 0;
        into.fields = Fields::All;
        if !self.read_all_fields {
            into.fields = Fields::One(self.one_field(&mut draws));
        }
        match slot.kind {
            OperationKind::Scan => into.scan_length = self.scan_length.choose(&mut draws),
            OperationKind::Lookup => into.lookup = self.lookup(into.key_id, &mut draws),
            OperationKind::Update | OperationKind::ReadModifyWrite => {
                let version = if self.updates_change_values {
                    1 + (n % u64::from(UPDATE_VERSIONS)) as u32
                } else {
                    0
                };
                if self.write_all_fields {
                    self.push_all(version, into);
                } else {
                    let field = self.one_field(&mut draws);
                    into.values.push(self.value(into.key_id, field, version));
                }
            }
            _ => {}
        }
    }

    /// Makes the insert of record `key_number` as the load does it: all fields, in the version
    /// that is loaded.
    pub fn load_record(&mut self, key_number: u64, into: &mut Prepared<'p>) {
        self.insert(key_number, key_number, into);
    }

    fn insert(&mut self, number: u64, key_number: u64, into: &mut Prepared<'p>) {
        into.kind = OperationKind::Insert;
        into.number = number;
        into.key_number = key_number;
        into.key_id = self.keys.write(key_number, &mut into.key);
        into.fields = Fields::All;
        into.scan_length = 0;
        into.values.clear();
        self.push_all(0, into);
    }

    #[inline]
    fn push_all(&self, version: u32, into: &mut Prepared<'p>) {
        let key_id = into.key_id;
        into.values.extend((0..self.field_count).map(|field| self.value(key_id, field, version)));
    }

    #[inline]
    fn value(&self, key_id: u64, field: u16, version: u32) -> FieldValue<'p> {
        let keeps = field < self.index_count && !self.updates_change_index_keys;
        let version = if keeps { 0 } else { version };
        FieldValue { field, bytes: self.values.value(key_id, field, version) }
    }

    fn lookup(&self, key_id: u64, draws: &mut Draws) -> Lookup<'p> {
        let field = match self.index_count {
            1 => 0,
            count => draws.below(u64::from(count)) as u16,
        };
        let from = self.values.value(key_id, field, 0);
        let to = match self.lookup_range {
            LookupRange::Point => Some(from),
            LookupRange::From => None,
        };
        Lookup { field, from, to, limit: self.lookup_length }
    }

    #[inline]
    fn one_field(&self, draws: &mut Draws) -> u16 {
        draws.below(u64::from(self.field_count)) as u16
    }
}

impl<'p> Chooser<'p> {
    fn new(workload: &CoreWorkload, acknowledged: &'p Acknowledged) -> Chooser<'p> {
        let loaded = workload.loaded_keys();
        let items = loaded.end - loaded.start;
        match workload.request_distribution {
            RequestDistribution::Uniform {} => Chooser::Uniform(Uniform::new(items)),
            RequestDistribution::Zipfian { theta } => {
                Chooser::Scrambled(ScrambledZipfian::new(items, theta))
            }
            RequestDistribution::Latest { theta } => {
                Chooser::Latest(Latest::new(items, theta), acknowledged)
            }
            RequestDistribution::Hotspot { data_fraction, operation_fraction } => {
                Chooser::Hotspot(Hotspot::new(items, data_fraction, operation_fraction))
            }
            RequestDistribution::Sequential {} => Chooser::Sequential(Sequential::new(items)),
            RequestDistribution::Exponential { percentile, fraction } => {
                Chooser::Exponential(Exponential::new(items, percentile, fraction))
            }
        }
    }

    /// The record that operation `n` asks for, counted from `first_key`.
    #[inline]
    fn choose(&mut self, n: u64, slot: Slot, first_key: u64, draws: &mut Draws) -> u64 {
        match self {
            Chooser::Uniform(uniform) => uniform.choose(draws),
            Chooser::Scrambled(scrambled) => scrambled.choose(draws),
            Chooser::Latest(latest, acknowledged) => {
                latest.choose(acknowledged.limit().saturating_sub(first_key), draws)
            }
            Chooser::Hotspot(hotspot) => hotspot.choose(draws),
            // The steps are counted over the operations that ask, not over the inserts between.
            Chooser::Sequential(sequential) => sequential.choose(n - slot.inserts_before),
            Chooser::Exponential(exponential) => exponential.choose(draws),
        }
    }
}

impl ScanLength {
    fn new(workload: &CoreWorkload) -> ScanLength {
        let (min, max) = (workload.min_scan_length, workload.max_scan_length);
        let count = u64::from(max - min) + 1;
        match workload.scan_length_distribution {
            ScanDistribution::Uniform => ScanLength::Uniform { min, count },
            ScanDistribution::Zipfian => {
                ScanLength::Zipfian { min, excess: Box::new(Zipfian::new(count, ZIPFIAN_CONSTANT)) }
            }
        }
    }

    #[inline]
    fn choose(&self, draws: &mut Draws) -> u32 {
        match self {
            ScanLength::Uniform { min, count } => min + draws.below(*count) as u32,
            ScanLength::Zipfian { min, excess } => min + excess.choose(draws) as u32,
        }
    }
}
