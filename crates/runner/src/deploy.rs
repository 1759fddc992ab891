//! Bringing a cell's store up: a folder, a fresh server or an address, and the opened system.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use assay_experiment::{Cell, TargetPlan, spec::Transport, system_name};
use assay_measure::{
    file_system,
    resources::{self, ProcessTree},
};
use assay_model::Endpoint;
use assay_provision::{FindError, Folder, Folders, Launch, Recipe, Server, StartError, Warden};
use assay_systems::{
    Driver, Opening, Place, Session, System, SystemError, Target, WireClient, blocking::Blocking,
};

use crate::{TrialError, placement::Cores};

/// How long a server may take from its start to its first answer.
const READY_TIMEOUT: Duration = Duration::from_secs(120);

/// Where servers are found and what keeps them.
#[derive(Clone, Debug)]
pub struct Ground {
    /// Where servers are looked for.
    pub folders: Folders,
    /// The program that keeps servers and folders.
    pub warden: Warden,
    /// The folder below which stores keep their data while they run.
    pub data_folder: PathBuf,
}

/// An opened store and what it stands on. The system is closed before the server stops.
pub struct Deployed {
    /// The opened store.
    pub system: Box<dyn System>,
    server: Option<Server>,
    folder: Option<Folder>,
    attached: bool,
    prepared: bool,
}

impl Deployed {
    /// Brings up the store of `cell`.
    pub fn bring_up(cell: &Cell, ground: &Ground, cores: &Cores) -> Result<Deployed, TrialError> {
        let driver = cell.driver();
        let (driver_settings, server_settings) = settings(cell);
        let (mut server, mut folder) = (None, None);
        let target = match &cell.system.target {
            TargetPlan::Embedded => {
                let kept = Folder::create(&ground.data_folder, &ground.warden)?;
                let data_dir = kept.path().to_path_buf();
                folder = Some(kept);
                match library(driver, &ground.folders)? {
                    None => Target::Embedded { data_dir },
                    Some(library) => Target::Library { library, data_dir },
                }
            }
            TargetPlan::Launch { recipe } => {
                let installed = assay_provision::require(self::recipe(recipe), &ground.folders)?;
                let started = assay_provision::start(Launch {
                    installed: &installed,
                    warden: ground.warden.clone(),
                    ready_timeout: READY_TIMEOUT,
                    durability: cell.durability,
                    transport: transport(cell),
                    settings: server_settings,
                    cpus: (!cores.server.is_empty()).then(|| cores.server.clone()),
                    parent_folder: ground.data_folder.clone(),
                })?;
                let endpoint = started.endpoint().clone();
                server = Some(started);
                Target::Server(endpoint)
            }
            TargetPlan::Attach { url, default_port, password } => {
                let mut endpoint =
                    system_name::endpoint(url, *default_port).map_err(TrialError::Address)?;
                endpoint.password = password.clone();
                Target::Server(endpoint)
            }
        };
        let system = (driver.open)(Opening {
            target,
            layout: cell.system.layout.clone(),
            schema: Arc::new(cell.parameters.schema()),
            durability: cell.durability,
            settings: driver_settings,
            timeout: cell.timeout.0,
        })?;
        let attached = matches!(cell.system.target, TargetPlan::Attach { .. });
        Ok(Deployed { system, server, folder, attached, prepared: false })
    }

    /// Creates the empty table.
    pub fn prepare(&mut self) -> Result<(), TrialError> {
        self.system.prepare()?;
        self.prepared = true;
        Ok(())
    }

    /// Where the server that Assay started listens.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.server.as_ref().map(Server::endpoint)
    }

    /// The processes of the server that Assay started: of a cluster, all nodes.
    pub fn processes(&self) -> Option<ProcessTree> {
        self.server.as_ref().map(|server| match server.is_cluster() {
            true => ProcessTree::below(server.warden_pid()),
            false => ProcessTree::of(server.pid()),
        })
    }

    /// Says how the server ended, if it ended by itself.
    pub fn death(&self) -> Option<String> {
        let report = self.server.as_ref()?.exited()?;
        Some(format!("the server ended by itself: {report}"))
    }

    /// The bytes on disk below the store's folder; `None` for an attached server.
    pub fn disk_bytes(&self) -> Option<u64> {
        resources::folder_bytes(self.data_folder()?).ok()
    }

    /// The name of the file system in memory that the store's folder is on; `None` on a disk, and
    /// for an attached server.
    pub fn in_memory(&self) -> Option<&'static str> {
        file_system::in_memory(self.data_folder()?).ok().flatten()
    }

    fn data_folder(&self) -> Option<&Path> {
        match (&self.server, &self.folder) {
            (Some(server), _) => Some(server.data_dir()),
            (None, Some(folder)) => Some(folder.path()),
            (None, None) => None,
        }
    }

    /// What the recipe set on the server, by name.
    pub fn server_settings(&self) -> Vec<(String, String)> {
        self.server.as_ref().map(|server| server.settings_applied().to_vec()).unwrap_or_default()
    }

    /// Takes the store down. A server that was there before keeps running, without what was made
    /// in it.
    pub fn take_down(self) -> Result<(), TrialError> {
        let removed = if self.attached && self.prepared { self.system.remove() } else { Ok(()) };
        drop(self.system);
        if let Some(server) = self.server {
            server.stop()?;
        }
        if let Some(folder) = self.folder {
            folder.close()?;
        }
        Ok(removed?)
    }
}

/// The file of the library that the driver's store comes with, if it comes with one.
pub fn library(driver: &Driver, folders: &Folders) -> Result<Option<PathBuf>, FindError> {
    let Place::Library { library } = driver.place else { return Ok(None) };
    let library = assay_provision::library(library)
        .expect("a driver names a library that exists; a test sees to it");
    assay_provision::require_library(library, folders).map(|found| Some(found.path))
}

/// Refuses a setting of a server that the server cannot be started with, as far as that is known
/// before, and any of a server that runs already: nobody would set it.
pub fn check_settings(cell: &Cell) -> Result<(), StartError> {
    let (_, server_settings) = settings(cell);
    match (&cell.system.target, server_settings.keys().next()) {
        (TargetPlan::Launch { recipe }, _) => {
            self::recipe(recipe).check_settings(cell.durability, &server_settings, transport(cell))
        }
        (TargetPlan::Attach { .. }, Some(setting)) => Err(StartError::Setting {
            name: cell.driver().name,
            setting: setting.clone(),
            why: "a server that runs already has its own; leave this one out, or leave the URL \
                  out and Assay starts one"
                .to_owned(),
        }),
        (TargetPlan::Attach { .. } | TargetPlan::Embedded, _) => Ok(()),
    }
}

/// The settings of the driver, and those of the server.
fn settings(cell: &Cell) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let driver = cell.driver();
    cell.system.settings.clone().into_iter().partition(|(name, _)| driver.has_setting(name))
}

fn recipe(name: &str) -> &'static Recipe {
    assay_provision::recipe(name).expect("a driver names a recipe that exists; a test sees to it")
}

fn transport(cell: &Cell) -> assay_provision::Transport {
    match cell.transport {
        Transport::Tcp => assay_provision::Transport::Tcp,
        Transport::Unix => assay_provision::Transport::Unix,
    }
}

/// A session for set-up and checks, whatever kind of client the system has.
pub fn session(system: &dyn System) -> Result<Box<dyn Session>, SystemError> {
    Ok(match system.connect()? {
        assay_systems::Client::Call(session) => session,
        assay_systems::Client::Wire(client) => Box::new(Blocking::new(client)),
    })
}

/// One more wire connection.
pub fn wire(system: &dyn System) -> Result<WireClient, SystemError> {
    match system.connect()? {
        assay_systems::Client::Wire(client) => Ok(client),
        assay_systems::Client::Call(_) => Err(SystemError::Failed {
            system: "the system".into(),
            action: "connect again".into(),
            why: "it is a library and has no connections".into(),
        }),
    }
}

/// Whether the driver's store runs in a server.
pub fn has_server(cell: &Cell) -> bool {
    cell.driver().place.is_server()
}
