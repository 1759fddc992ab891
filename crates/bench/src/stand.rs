//! A store brought up once and measured many times, beside its peer.

use std::{sync::atomic::AtomicBool, time::Duration};

use anyhow::Context;
use assay_experiment::{Cell, Extent, Plan, Spec};
use assay_measure::clock::Clock;
use assay_model::Endpoint;
use assay_provision::{Folders, Warden};
use assay_runner::{
    deploy::{self, Deployed, Ground},
    phase::{self, Clients, Order},
    placement::Cores,
    trial::{self, Setting},
};
use assay_workload::{Acknowledged, CoreWorkload, ValuePool};

/// What this program is started with to keep a server.
pub const WARDEN: &str = "warden";

/// This program as the keeper of a server.
pub fn warden() -> Warden {
    Warden { program: "/proc/self/exe".into(), leading_args: vec![WARDEN.into()] }
}

/// How often our code and its peer take turns.
pub const ROUNDS: usize = 5;

/// What everything here runs with.
pub struct Stand {
    ground: Ground,
    clock: Clock,
    interrupt: AtomicBool,
}

/// What one measurement brought.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Successful operations a second.
    pub ops_per_s: f64,
    /// CPU of the client's threads an operation, in nanoseconds.
    pub cpu_ns_per_op: f64,
}

impl Stand {
    /// A stand whose servers this program itself keeps.
    pub fn new() -> Stand {
        let data_folder = std::env::temp_dir();
        let ground = Ground { folders: Folders::from_env(), warden: warden(), data_folder };
        Stand { ground, clock: Clock::start(), interrupt: AtomicBool::new(false) }
    }

    /// The one cell of an experiment.
    pub fn cell(&self, experiment: &str) -> anyhow::Result<Cell> {
        let spec = Spec::parse(experiment, "the benchmark's experiment")?;
        let mut plan = Plan::resolve(spec, Default::default())?;
        plan.cells.pop().context("the experiment has a cell")
    }

    /// Brings the cell's store up and loads it.
    pub fn open(&self, cell: Cell) -> anyhow::Result<Store<'_>> {
        let cores = Cores::place(cell.placement, deploy::has_server(&cell));
        let mut deployed = Deployed::bring_up(&cell, &self.ground, &cores)?;
        deployed.prepare()?;
        let pool = ValuePool::of(&cell.parameters, cell.seed);
        let acknowledged = Acknowledged::new(cell.parameters.first_inserted_key());
        let setting = Setting {
            ground: &self.ground,
            clock: self.clock,
            interrupt: &self.interrupt,
            watcher: &|_| {},
        };
        trial::load(&cell, &setting, &deployed, &pool, &acknowledged, cell.seed)?;
        deployed.system.settle()?;
        Ok(Store { stand: self, cell, deployed, cores, pool, acknowledged })
    }
}

/// A loaded store.
pub struct Store<'s> {
    stand: &'s Stand,
    cell: Cell,
    deployed: Deployed,
    cores: Cores,
    pool: ValuePool,
    acknowledged: Acknowledged,
}

impl Store<'_> {
    /// The workload of its cell.
    pub fn workload(&self) -> &CoreWorkload {
        &self.cell.parameters
    }

    /// Where its server listens.
    pub fn endpoint(&self) -> anyhow::Result<&Endpoint> {
        self.deployed.endpoint().context("the store has no server")
    }

    /// The core that the client is pinned to.
    pub fn client_core(&self) -> Option<usize> {
        self.cores.client.first().copied()
    }

    /// Runs `workload` (on the records that were loaded) for `time` with `clients` clients, after a
    /// tenth of that as warm-up.
    pub fn measure(
        &self,
        workload: &CoreWorkload,
        clients: u32,
        time: Duration,
    ) -> anyhow::Result<Measured> {
        let cell = Cell { clients, ..self.cell.clone() };
        let mut connected = trial::connect(&cell, &self.deployed)?;
        let warmed = self.phase(workload, &mut connected, 0, time / 10)?;
        let report = self.phase(workload, &mut connected, warmed.next, time)?;
        let recorded = &report.recorded;
        anyhow::ensure!(
            recorded.failures() == 0,
            "{} operations failed: {:?}",
            recorded.failures(),
            recorded.messages
        );
        let count = recorded.finished_in_window as f64;
        Ok(Measured {
            ops_per_s: count * 1e9 / report.length_ns as f64,
            cpu_ns_per_op: report.client_cpu_ns as f64 / count,
        })
    }

    fn phase(
        &self,
        workload: &CoreWorkload,
        clients: &mut Clients,
        first: u64,
        time: Duration,
    ) -> anyhow::Result<phase::PhaseReport> {
        let order = Order {
            clock: self.stand.clock,
            workload,
            pool: &self.pool,
            acknowledged: &self.acknowledged,
            seed: self.cell.seed,
            first,
            before: Duration::ZERO,
            lead_in: Duration::ZERO,
            extent: Extent::Time(time),
            cooldown: Duration::ZERO,
            schedule: None,
            timeout: self.cell.timeout.0,
            verify: false,
            threads: 1,
            cores: &self.cores.client,
            server: None,
            connect: &|| deploy::wire(self.deployed.system.as_ref()),
            why_stop: &|| self.deployed.death(),
        };
        let report = phase::run(&order, clients);
        match report.cut_short {
            Some(why) => anyhow::bail!("{why}"),
            None => Ok(report),
        }
    }
}
