//! One trial: one cell of the plan carried out once, from the fresh store to the checked answers.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use assay_experiment::{Cell, Mode, TargetPlan};
use assay_measure::{clock::Clock, huge_pages, pacing::Schedule, resources::Usage};
use assay_systems::{Client, Footprint, Identity, SystemError};
use assay_workload::{Acknowledged, Prepared, Stream, ValuePool};

use crate::{
    TrialError,
    check::{self, Answers, Done},
    deploy::{self, Deployed, Ground},
    measurement::{self, Measurement, Span},
    phase::{self, Clients, Order, PhaseReport},
    placement::Cores,
    turns::Seat,
};

/// What a trial is doing, for whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Bringing the store up.
    Starting,
    /// Loading records: how many of how many.
    Loading(u64, u64),
    /// Running before the measurement.
    WarmingUp,
    /// Measuring, for this long if by time.
    Measuring(Option<Duration>),
    /// Reading answers back.
    Checking,
    /// Taking the store down.
    Stopping,
}

/// What a trial brought.
pub struct TrialReport {
    /// Where its threads and its server ran.
    pub cores: Cores,
    /// Who answered.
    pub identity: Identity,
    /// What the recipe set on a server that Assay started.
    pub server_settings: Vec<(String, String)>,
    /// When it began.
    pub started_at: jiff::Timestamp,
    /// When the measurement began.
    pub measured_at: jiff::Timestamp,
    /// How long the store took to come up.
    pub start_time: Duration,
    /// How long creating and loading the table took.
    pub load_time: Duration,
    /// How long the store took to come to rest after the load.
    pub settle_time: Duration,
    /// How long the check of the answers took.
    pub check_time: Duration,
    /// The warm-up.
    pub warmup: Option<PhaseReport>,
    /// The measurement.
    pub measured: PhaseReport,
    /// In how many pieces it was taken, with other trials' turns between them.
    pub turns: u32,
    /// Assay's memory on huge pages once a store in its process was loaded; `None` for others and
    /// where the kernel does not tell.
    pub huge_pages_bytes: Option<u64>,
    /// The file system in memory that the store's files are on, if they are on one.
    pub in_memory: Option<&'static str>,
    /// What the table takes after the measurement.
    pub footprint: Footprint,
    /// What the server held when the measurement ended, if it could be seen.
    pub server_usage: Option<Usage>,
    /// Whether the answers were right; `None` for a system that stores nothing.
    pub answers: Option<Answers>,
    /// Which clock the stamps come from.
    pub clock_source: &'static str,
    /// How far it drifted from the kernel's in the measurement, in nanoseconds.
    pub clock_drift_ns: i64,
}

/// A trial that did not end as it should.
#[derive(Debug)]
pub struct Failed {
    /// What it was doing.
    pub stage: Stage,
    /// Why it could not go on.
    pub error: TrialError,
}

/// What a trial runs with.
pub struct Setting<'a> {
    /// Where servers are found and folders are made.
    pub ground: &'a Ground,
    /// The clock.
    pub clock: Clock,
    /// Set when the user wants to stop.
    pub interrupt: &'a AtomicBool,
    /// Told what the trial is doing.
    pub watcher: &'a (dyn Fn(Stage) + Sync),
}

/// Carries out `cell` for the `round`th time (from 0), in turns with the other trials of `seat`.
/// However it ends, what was started is stopped and what was made is removed.
pub fn run(
    cell: &Cell,
    round: u32,
    setting: &Setting<'_>,
    seat: &Seat<'_>,
) -> Result<TrialReport, Box<Failed>> {
    let reached = Mutex::new(Stage::Starting);
    let watcher = |stage| {
        (setting.watcher)(stage);
        *reached.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    };
    let setting = &Setting { watcher: &watcher, ..*setting };
    let reached = || *reached.lock().unwrap_or_else(PoisonError::into_inner);
    let at = |stage: Stage| move |error: TrialError| Box::new(Failed { stage, error });
    if setting.interrupt.load(Ordering::Relaxed) {
        return Err(at(Stage::Starting)(TrialError::Interrupted));
    }
    (setting.watcher)(Stage::Starting);
    let (started_at, began) = (jiff::Timestamp::now(), Instant::now());
    let cores = Cores::place(cell.placement, deploy::has_server(cell));
    let mut deployed =
        Deployed::bring_up(cell, setting.ground, &cores).map_err(at(Stage::Starting))?;
    let start_time = began.elapsed();
    let worked = work(cell, round, setting, seat, &mut deployed, cores);
    let worked_until = reached();
    (setting.watcher)(Stage::Stopping);
    let worked = match worked {
        // The server's own last words say more than the connections that broke.
        Err(error @ (TrialError::System(_) | TrialError::GaveUp(_))) => {
            Err(awaited_death(&deployed).map_or(error, TrialError::ServerDied))
        }
        worked => worked,
    };
    let taken_down = deployed.take_down();
    let report = worked.map_err(at(worked_until))?;
    taken_down.map_err(at(Stage::Stopping))?;
    Ok(TrialReport { started_at, start_time, ..report })
}

fn work(
    cell: &Cell,
    round: u32,
    setting: &Setting<'_>,
    seat: &Seat<'_>,
    deployed: &mut Deployed,
    cores: Cores,
) -> Result<TrialReport, TrialError> {
    let workload = &cell.parameters;
    let seed = cell.seed.wrapping_add(u64::from(round));
    let pool = ValuePool::of(workload, seed);
    let acknowledged = Acknowledged::new(workload.first_inserted_key());

    deployed.prepare()?;
    let deployed = &*deployed;
    let system = deployed.system.as_ref();
    let load_time = load(cell, setting, deployed, &pool, &acknowledged, seed)?;
    let loaded = Instant::now();
    system.settle()?;
    let settle_time = loaded.elapsed();
    let in_process = matches!(cell.system.target, TargetPlan::Embedded) && !cell.stores_nothing();
    let huge_pages_bytes = in_process.then(huge_pages::collapse).and_then(|()| huge_pages::bytes());
    let mut clients = connect(cell, deployed)?;

    let threads = cell.threads.map(|threads| threads as usize);
    let connect_again = || deploy::wire(system);
    let why_stop = || why_stop(setting.interrupt, deployed);
    let order = |span: Span| Order {
        clock: setting.clock,
        workload,
        pool: &pool,
        acknowledged: &acknowledged,
        seed,
        first: span.first,
        before: span.before,
        lead_in: span.lead_in,
        extent: span.extent,
        cooldown: span.cooldown,
        schedule: match cell.mode {
            Mode::Closed => None,
            Mode::Open { rate_per_s, arrivals } => Some(Schedule::new(arrivals, rate_per_s, seed)),
        },
        timeout: cell.timeout.0,
        verify: cell.verify,
        threads: threads.unwrap_or(cores.client.len().max(1)),
        cores: &cores.client,
        server: deployed.processes(),
        connect: &connect_again,
        why_stop: &why_stop,
    };
    let Measurement { warmup, measured, turns } =
        measurement::measure(cell, seat, setting.watcher, |span| {
            finished(phase::run(&order(span), &mut clients), setting, deployed)
        })?;
    measured.require_success()?;
    let server_usage = deployed.processes().and_then(|server| server.sample().ok());
    drop(clients);

    (setting.watcher)(Stage::Checking);
    let measured_until = Instant::now();
    let answers = if cell.stores_nothing() {
        None
    } else {
        let phases = warmup.iter().chain([&measured]);
        let done = Done::of(phases, &acknowledged, workload.first_inserted_key());
        Some(check::check(cell, system, &pool, &done)?)
    };
    let mut footprint = system.footprint()?;
    footprint.disk_bytes = footprint.disk_bytes.or_else(|| deployed.disk_bytes());
    Ok(TrialReport {
        cores: cores.clone(),
        identity: system.identity()?,
        server_settings: deployed.server_settings(),
        started_at: measured.opened_at,
        measured_at: measured.opened_at,
        start_time: Duration::ZERO,
        load_time,
        settle_time,
        check_time: measured_until.elapsed(),
        clock_drift_ns: measured.clock_drift_ns,
        warmup,
        measured,
        turns,
        huge_pages_bytes,
        in_memory: deployed.in_memory(),
        footprint,
        server_usage,
        answers,
        clock_source: setting.clock.source(),
    })
}

/// Fills the table and says how long it took. Nothing is loaded into a system that keeps nothing.
pub fn load(
    cell: &Cell,
    setting: &Setting<'_>,
    deployed: &Deployed,
    pool: &ValuePool,
    acknowledged: &Acknowledged,
    seed: u64,
) -> Result<Duration, TrialError> {
    const REPORT_EVERY: u64 = 1_000;
    if cell.stores_nothing() {
        return Ok(Duration::ZERO);
    }
    let keys = cell.parameters.loaded_keys();
    let total = keys.end - keys.start;
    let began = Instant::now();
    let mut stream = Stream::new(&cell.parameters, pool, acknowledged, seed);
    let mut record = Prepared::new();
    let mut loader = deployed.system.loader()?;
    for (loaded, number) in keys.enumerate() {
        if (loaded as u64).is_multiple_of(REPORT_EVERY) {
            (setting.watcher)(Stage::Loading(loaded as u64, total));
            if setting.interrupt.load(Ordering::Relaxed) {
                return Err(TrialError::Interrupted);
            }
        }
        stream.load_record(number, &mut record);
        loader.insert(record.key(), record.values())?;
    }
    loader.finish()?;
    Ok(began.elapsed())
}

/// Connects the cell's clients.
pub fn connect(cell: &Cell, deployed: &Deployed) -> Result<Clients, TrialError> {
    let (mut sessions, mut sockets) = (Vec::new(), Vec::new());
    for _ in 0..cell.clients {
        match deployed.system.connect().map_err(|error| explain(error, cell.clients))? {
            Client::Call(session) => sessions.push(session),
            Client::Wire(socket) => sockets.push(Some(socket)),
        }
    }
    Ok(if sockets.is_empty() { Clients::Call(sessions) } else { Clients::Wire(sockets) })
}

/// The commonest reason why one of many clients cannot connect has its own next step.
fn explain(error: SystemError, clients: u32) -> TrialError {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    if limit.is_some_and(|limit| u64::from(clients) + 32 > limit) {
        return TrialError::TooManyClients { clients, limit: limit.unwrap_or_default() };
    }
    error.into()
}

fn why_stop(interrupt: &AtomicBool, deployed: &Deployed) -> Option<String> {
    if interrupt.load(Ordering::Relaxed) {
        return Some("interrupted".into());
    }
    deployed.death()
}

/// How the server ended, if it did. Its connections break a moment before its warden tells.
fn awaited_death(deployed: &Deployed) -> Option<String> {
    const MOMENT: Duration = Duration::from_millis(500);
    let end = Instant::now() + MOMENT;
    loop {
        let death = deployed.death();
        if death.is_some() || deployed.processes().is_none() || Instant::now() > end {
            return death;
        }
        std::thread::sleep(MOMENT / 50);
    }
}

/// A phase that was cut short is no result.
fn finished(
    report: PhaseReport,
    setting: &Setting<'_>,
    deployed: &Deployed,
) -> Result<PhaseReport, TrialError> {
    match &report.cut_short {
        None => Ok(report),
        Some(_) if setting.interrupt.load(Ordering::Relaxed) => Err(TrialError::Interrupted),
        Some(why) => Err(match deployed.death() {
            Some(death) => TrialError::ServerDied(death),
            None => TrialError::GaveUp(why.clone()),
        }),
    }
}
