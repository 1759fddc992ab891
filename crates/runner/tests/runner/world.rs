//! What a phase needs, small.

use std::time::{Duration, Instant};

use assay_experiment::Extent;
use assay_measure::{
    clock::Clock,
    pacing::{Arrivals, Schedule},
};
use assay_model::OperationKind;
use assay_runner::phase::{Order, PhaseReport};
use assay_systems::{SystemError, WireClient};
use assay_workload::{Acknowledged, CoreWorkload, FieldLength, ValuePool};

/// A workload and what belongs to it.
pub struct World {
    clock: Clock,
    pub workload: CoreWorkload,
    pub pool: ValuePool,
    pub acknowledged: Acknowledged,
}

/// YCSB's workload `name` with short records.
pub fn workload(name: &str) -> CoreWorkload {
    CoreWorkload {
        record_count: 1000,
        field_count: 2,
        field_length: FieldLength::Constant { bytes: 16 },
        ..CoreWorkload::preset(name).unwrap()
    }
}

impl World {
    pub fn new(workload: CoreWorkload) -> World {
        World {
            clock: Clock::start(),
            pool: ValuePool::of(&workload, 1),
            acknowledged: Acknowledged::new(workload.first_inserted_key()),
            workload,
        }
    }

    /// A closed loop that nobody stops and that cannot connect again.
    pub fn order(&self, extent: Extent) -> Order<'_> {
        Order {
            clock: self.clock,
            workload: &self.workload,
            pool: &self.pool,
            acknowledged: &self.acknowledged,
            seed: 1,
            first: 0,
            before: Duration::ZERO,
            lead_in: Duration::ZERO,
            extent,
            cooldown: Duration::ZERO,
            schedule: None,
            timeout: Duration::from_secs(5),
            verify: false,
            threads: 1,
            cores: &[],
            server: None,
            connect: &no_connection,
            why_stop: &|| None,
        }
    }
}

fn no_connection() -> Result<WireClient, SystemError> {
    Err(SystemError::Failed {
        system: "the test".into(),
        action: "connect again".into(),
        why: "it was not expected to be asked".into(),
    })
}

pub fn seconds(seconds: f64) -> Extent {
    Extent::Time(Duration::from_secs_f64(seconds))
}

/// An open loop with equal distances.
pub fn uniform(rate_per_s: f64) -> Option<Schedule> {
    Some(Schedule::new(Arrivals::Uniform, rate_per_s, 1))
}

/// The operations that were recorded, whatever became of them.
pub fn recorded(report: &PhaseReport) -> u64 {
    report.recorded.succeeded() + report.recorded.failures()
}

/// A percentile of the response times of all reads, as a time.
pub fn read_response(report: &PhaseReport, quantile: f64) -> Duration {
    let latencies = &report.recorded.kinds[&OperationKind::Read].response;
    Duration::from_nanos(latencies.value_at_quantile(quantile))
}

/// A reason to stop that appears after `time`.
pub fn stop_after(time: Duration) -> impl Fn() -> Option<String> + Sync {
    let began = Instant::now();
    move || (began.elapsed() >= time).then(|| "the test has seen enough".to_owned())
}
