//! Starting a server: a folder, the settings, a port, the program, and its first answer.

mod failures;
mod nodes;
mod reach;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, chown},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use assay_model::{Address, Durability};

use crate::{
    account::Account,
    error::StartError,
    find::{Installed, library_path},
    folder,
    lifeline::Lifeline,
    logfile, port,
    ready::Readiness,
    recipe::{Command, Recipe, Runs, Site},
    server::{Node, Server},
    settings::{self, Settings},
    warden::{
        Warden,
        host::HOST,
        protocol::{Report, Request, Task},
    },
};

pub(crate) use nodes::Size;

use failures::port_was_taken;

/// How often a server is started anew because its port was taken between choice and use.
const PORT_ATTEMPTS: usize = 5;
/// How long the program that prepares the data folder may take.
const PREPARE_LIMIT: Duration = Duration::from_secs(180);
/// How long a warden may take to start a program.
const SPAWN_LIMIT: Duration = Duration::from_secs(20);
/// The longest path of a Unix socket, in bytes.
const SOCKET_PATH_BYTES: usize = 107;
/// The pause between two questions to a server that starts, at most.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// How many lines of the log an error shows.
const LOG_LINES: usize = 12;

/// What to start and how.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The server, as [`find`](crate::find) or [`fetch`](crate::fetch) gave it.
    pub installed: &'a Installed,
    /// What an acknowledged write is to survive.
    pub durability: Durability,
    /// What clients will connect through.
    pub transport: Transport,
    /// Settings of the recipe or of the server itself, by name, with `-` or `_` between words.
    pub settings: BTreeMap<String, String>,
    /// The processors that the server may use; `None` for all.
    pub cpus: Option<Vec<usize>>,
    /// Where the server's temporary folder is made.
    pub parent_folder: PathBuf,
    /// What keeps the server.
    pub warden: Warden,
    /// How long the server may take from its start to its first answer.
    pub ready_timeout: Duration,
}

/// What clients connect through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// TCP on 127.0.0.1.
    #[default]
    Tcp,
    /// A Unix socket in the server's folder.
    Unix,
}

/// Starts a fresh server in a temporary folder and waits until it answers. Nothing of it is left
/// if this fails.
pub fn start(launch: Launch<'_>) -> Result<Server, StartError> {
    let recipe = launch.installed.recipe;
    let level = settings::level(recipe, launch.durability)?;
    let settings = Settings::resolve(recipe, level, &launch.settings, launch.transport)?
        .on(launch.cpus.as_deref());
    if let Some(port) = settings.port {
        check_port(recipe, port)?;
    }
    let parent = std::path::absolute(&launch.parent_folder).map_err(|error| {
        StartError::Folder { parent: launch.parent_folder.clone(), why: error.to_string() }
    })?;
    let account = Account::for_servers()?;
    if let Some(account) = &account {
        reach::check(account, &launch, &parent)?;
    }

    folder::sweep(&parent);
    if recipe.is_several() {
        return nodes::start(&launch, &settings, &parent, account);
    }
    let lifeline = Lifeline::hold(&launch.warden, recipe.name)?;
    Start::in_new_folder(&launch, lifeline, &parent, account)?.serve(settings)
}

fn check_port(recipe: &Recipe, port: u16) -> Result<(), StartError> {
    port::check(port).map_err(|error| StartError::Port {
        name: recipe.name,
        port,
        why: error.to_string(),
    })
}

/// A server that is being started.
struct Start<'a> {
    launch: &'a Launch<'a>,
    recipe: &'static Recipe,
    lifeline: Lifeline,
    account: Option<Account>,
    site: Site<'a>,
    folder: PathBuf,
    log: PathBuf,
    remarks: Vec<String>,
}

impl<'a> Start<'a> {
    fn in_new_folder(
        launch: &'a Launch<'a>,
        mut lifeline: Lifeline,
        parent: &Path,
        account: Option<Account>,
    ) -> Result<Start<'a>, StartError> {
        let recipe = launch.installed.recipe;
        // The folder stays Assay's own: a server that runs as another user owns, and can change,
        // only what is inside, not the log or the lock beside it.
        let open = account.is_some();
        let folder = lifeline.folder(parent, recipe.name, open)?;
        let mut socket = folder.join("socket");
        let mut remarks = Vec::new();
        if launch.transport == Transport::Unix
            && socket.join(socket_name(recipe)).as_os_str().as_bytes().len() > SOCKET_PATH_BYTES
        {
            socket = lifeline.folder(Path::new("/tmp"), "socket", open)?.join("socket");
            remarks.push(format!(
                "the socket is in {}: a path in {} would be longer than the {SOCKET_PATH_BYTES} \
                 bytes that a Unix socket may have",
                socket.display(),
                folder.display()
            ));
        }
        let data = folder.join("data");
        let files = folder.join("files");
        for inner in [&data, &socket, &files] {
            make_private(inner, account.as_ref()).map_err(|error| StartError::Folder {
                parent: parent.to_path_buf(),
                why: format!("cannot make {}: {error}", inner.display()),
            })?;
        }
        let log = folder.join("server.log");
        let ports = Vec::new();
        let site = Site { installed: launch.installed, data, socket, files, ports };
        Ok(Start { launch, recipe, lifeline, account, site, folder, log, remarks })
    }

    /// Writes the recipe's files, if it has any, for a server that is to listen at `address`.
    fn configure(
        &mut self,
        address: &Address,
        settings: &BTreeMap<String, String>,
    ) -> Result<(), StartError> {
        let Some(configuration) = &self.recipe.configuration else { return Ok(()) };
        self.site.ports = self.extra_ports(address, configuration.extra_ports)?;
        for file in (configuration.files)(&self.site, address, settings) {
            let path = self.site.files.join(file.name);
            let written = fs::write(&path, file.content).and_then(|()| match &self.account {
                Some(account) => chown(&path, Some(account.uid), Some(account.gid)),
                None => Ok(()),
            });
            written.map_err(|error| StartError::Folder {
                parent: self.folder.clone(),
                why: format!("cannot write {}: {error}", path.display()),
            })?;
        }
        Ok(())
    }

    /// Runs the recipe's own preparation of the data folder, if it has one.
    fn prepare(&mut self, settings: &BTreeMap<String, String>) -> Result<(), StartError> {
        let Some(prepare) = self.recipe.prepare else { return Ok(()) };
        let command = prepare(&self.site, settings);
        let program = command.program.clone();
        let task = self.task(command, None);
        self.lifeline.ask(&Request::Run(task))?;
        match self.lifeline.answer(PREPARE_LIMIT)? {
            Report::Exited { success: true, .. } => Ok(()),
            Report::Exited { status, .. } => Err(self.ended(&program, status)),
            Report::Failed { why } => Err(self.cannot_run(&program, why)),
            other => Err(self.out_of_turn(&other)),
        }
    }

    /// Prepares and starts the server and waits for its answer, on other ports if one was taken.
    fn serve(mut self, settings: Settings) -> Result<Server, StartError> {
        let attempts = if settings.port.is_some() { 1 } else { PORT_ATTEMPTS };
        let mut attempt = 1;
        loop {
            let address = self.address(settings.port)?;
            self.configure(&address, &settings.applied)?;
            if attempt == 1 {
                self.prepare(&settings.applied)?;
            }
            let args = (self.recipe.arguments)(&self.site, &address, &settings.applied);
            let command = self.command(args);
            let words = words(&command);
            let pid = self.run_server(command)?;
            match self.await_answer(&address, pid) {
                Ok(()) => {
                    let node = Node { pid, address: address.clone(), log: self.log.clone() };
                    return Ok(self.into_server(node, Vec::new(), words, settings.applied));
                }
                Err(StartError::Exited { log, .. }) if port_was_taken(self.recipe, &log) => {
                    if let Some(port) = settings.port {
                        check_port(self.recipe, port)?;
                    }
                    if attempt >= attempts {
                        let program = self.launch.installed.binary.clone();
                        return Err(self.ended(&program, "its port was taken".to_owned()));
                    }
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What runs now, as the caller gets it: the server, or the first node and the others.
    fn into_server(
        self,
        first: Node,
        others: Vec<Node>,
        command_line: Vec<String>,
        applied: BTreeMap<String, String>,
    ) -> Server {
        let mut endpoint = (self.recipe.endpoint)(first.address.clone());
        if !self.recipe.is_cluster() {
            endpoint.others = others.iter().map(|node| node.address.clone()).collect();
        }
        Server {
            recipe: self.recipe,
            endpoint,
            first,
            others,
            warden_pid: self.lifeline.pid(),
            account: self.account,
            data_dir: self.site.data,
            folder: self.folder,
            command_line,
            settings_applied: applied.into_iter().collect(),
            remarks: self.remarks,
            life: std::sync::Mutex::new(crate::server::Life::new(self.lifeline)),
        }
    }

    /// The server itself, or Assay's own program as the host of a library.
    fn command(&self, args: Vec<OsString>) -> Command {
        if self.recipe.runs != Runs::Library {
            return self.site.command(args);
        }
        let Warden { program, leading_args } = &self.launch.warden;
        let args = leading_args.iter().cloned().chain([HOST.into()]).chain(args).collect();
        Command { program: program.clone(), args }
    }

    fn address(&self, port: Option<u16>) -> Result<Address, StartError> {
        match self.launch.transport {
            Transport::Unix => Ok(Address::Unix(self.site.socket.join(socket_name(self.recipe)))),
            Transport::Tcp => {
                let port = port.map_or_else(port::free, Ok).map_err(|error| self.no_port(error))?;
                Ok(Address::Tcp { host: "127.0.0.1".to_owned(), port })
            }
        }
    }

    /// Ports for a server at `address` to listen on besides.
    fn extra_ports(&self, address: &Address, count: usize) -> Result<Vec<u16>, StartError> {
        // One more, in place of that of the address, which is free too.
        let mut ports = port::several(count + 1).map_err(|error| self.no_port(error))?;
        if let Address::Tcp { port, .. } = address {
            ports.retain(|other| other != port);
        }
        ports.truncate(count);
        Ok(ports)
    }

    fn run_server(&mut self, command: Command) -> Result<u32, StartError> {
        let program = command.program.clone();
        let task = self.task(command, self.launch.cpus.clone());
        self.lifeline.ask(&Request::Start { task, stop: self.recipe.stop })?;
        match self.lifeline.answer(SPAWN_LIMIT)? {
            Report::Started { pid } => Ok(pid),
            Report::Failed { mut why } => {
                if let Some(cpus) = &self.launch.cpus {
                    why.push_str(&format!(" (pinned to the processors {cpus:?})"));
                }
                Err(self.cannot_run(&program, why))
            }
            other => Err(self.out_of_turn(&other)),
        }
    }

    /// Asks until the server answers, ends or has had its time.
    fn await_answer(&mut self, address: &Address, pid: u32) -> Result<(), StartError> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(2);
        loop {
            let readiness = self.recipe.probe.attempt(address, pid, &self.site.data);
            match self.lifeline.report_within(Duration::ZERO) {
                Ok(None) => {}
                other => return Err(self.not_starting(other)),
            }
            let why = match readiness {
                Readiness::Ready => return Ok(()),
                Readiness::NotYet(why) => why,
            };
            let waited = begun.elapsed();
            if waited >= self.launch.ready_timeout {
                return Err(StartError::NotReady {
                    name: self.recipe.name,
                    seconds: waited.as_secs_f64(),
                    why,
                    log: logfile::tail(&self.log, LOG_LINES),
                });
            }
            match self.lifeline.report_within(pause) {
                Ok(None) => pause = (pause * 2).min(LONGEST_PAUSE),
                other => return Err(self.not_starting(other)),
            }
        }
    }

    fn task(&self, command: Command, cpus: Option<Vec<usize>>) -> Task {
        let data = self.site.data.clone();
        let mut env: Vec<(String, OsString)> = vec![
            // Messages in English, in which a taken port is recognized.
            ("LC_ALL".to_owned(), "C".into()),
            (
                "PATH".to_owned(),
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into(),
            ),
            ("HOME".to_owned(), data.clone().into()),
            ("TMPDIR".to_owned(), data.clone().into()),
        ];
        let libraries = library_path(&self.launch.installed.library_folders);
        env.extend(libraries.map(|(name, value)| (name.to_owned(), value)));
        Task {
            program: command.program,
            args: command.args,
            env,
            current_dir: data,
            log: self.log.clone(),
            run_as: self.account.as_ref().map(|account| (account.uid, account.gid)),
            cpus,
        }
    }
}

fn words(command: &Command) -> Vec<String> {
    std::iter::once(command.program.as_os_str())
        .chain(command.args.iter().map(OsString::as_os_str))
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// The name of a server's Unix socket; settings that ask one of a server without are refused before.
fn socket_name(recipe: &Recipe) -> &'static str {
    recipe.socket_name.unwrap_or("socket")
}

/// Makes a folder that only its owner, the server's user, can enter.
fn make_private(folder: &Path, owner: Option<&Account>) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(folder)?;
    match owner {
        Some(account) => chown(folder, Some(account.uid), Some(account.gid)),
        None => Ok(()),
    }
}
