//! Starting several processes: every node in a folder of its own, all kept by one warden, then, in a
//! cluster, made one.

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use assay_model::Address;

use super::{Launch, PORT_ATTEMPTS, Start, Transport, make_private, port_was_taken, words};
use crate::{
    account::Account,
    error::StartError,
    forming::Forming,
    lifeline::Lifeline,
    logfile,
    port::{self, NodePorts},
    recipe::Recipe,
    recipes::{
        redis_cluster::{NODES, REPLICAS},
        redis_instances::INSTANCES,
    },
    server::{Node, Server},
    settings::Settings,
};

/// The most masters that are started, and the most replicas of each.
const MOST_MASTERS: usize = 64;
const MOST_REPLICAS: usize = 5;
/// The pause between two looks at the nodes.
const PAUSE: Duration = Duration::from_millis(20);
const LOG_LINES: usize = 12;

/// How many nodes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Nodes with slots.
    pub masters: usize,
    /// Replicas of each master.
    pub replicas: usize,
}

impl Size {
    /// What the settings ask for.
    ///
    /// # Errors
    /// [`StartError::Setting`] if that cannot be started.
    pub fn of(
        recipe: &Recipe,
        settings: &BTreeMap<String, String>,
        transport: Transport,
    ) -> Result<Size, StartError> {
        let refuse = |setting: &str, why: String| StartError::Setting {
            name: recipe.name,
            setting: setting.to_owned(),
            why,
        };
        let number = |setting: &str, least: usize, most: usize| {
            let text = settings.get(setting).map_or("", String::as_str);
            let number = text.parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| {
                refuse(setting, format!("'{text}' is not a whole number from {least} to {most}"))
            })
        };
        if transport == Transport::Unix {
            let why = match recipe.is_cluster() {
                true => {
                    "the nodes of a cluster find each other, and send clients on, by TCP; leave it out"
                }
                false => "a client reaches several servers by TCP; leave it out",
            };
            return Err(refuse("transport", why.to_owned()));
        }
        if !recipe.is_cluster() {
            return Ok(Size { masters: number(INSTANCES, 1, MOST_MASTERS)?, replicas: 0 });
        }
        Ok(Size {
            masters: number(NODES, 1, MOST_MASTERS)?,
            replicas: number(REPLICAS, 0, MOST_REPLICAS)?,
        })
    }

    /// All of them.
    pub fn nodes(self) -> usize {
        self.masters * (1 + self.replicas)
    }
}

/// Starts the nodes, on other ports if one was taken, and forms the cluster if they are to be one. Nothing of it is left if
/// this fails.
pub(super) fn start(
    launch: &Launch<'_>,
    settings: &Settings,
    parent: &Path,
    account: Option<Account>,
) -> Result<Server, StartError> {
    let recipe = launch.installed.recipe;
    let size = Size::of(recipe, &settings.applied, launch.transport)?;
    let mut attempt = 1;
    loop {
        let lifeline = Lifeline::hold(&launch.warden, recipe.name)?;
        let start = Start::in_new_folder(launch, lifeline, parent, account.clone())?;
        match start.serve_nodes(size, settings) {
            Err(StartError::Exited { log, .. })
                if port_was_taken(recipe, &log)
                    && settings.port.is_none()
                    && attempt < PORT_ATTEMPTS =>
            {
                attempt += 1;
            }
            ended => return ended,
        }
    }
}

impl Start<'_> {
    fn serve_nodes(mut self, size: Size, settings: &Settings) -> Result<Server, StartError> {
        let begun = Instant::now();
        let ports = self.ports(size, settings.port)?;
        let all_data = self.site.data.clone();
        let (mut nodes, mut command_line) = (Vec::with_capacity(ports.len()), Vec::new());
        for (number, ports) in (1..).zip(&ports) {
            self.site.data = all_data.join(format!("node-{number}"));
            self.log = self.folder.join(format!("node-{number}.log"));
            make_private(&self.site.data, self.account.as_ref()).map_err(|error| {
                StartError::Folder { parent: all_data.clone(), why: error.to_string() }
            })?;
            let address = Address::Tcp { host: "127.0.0.1".to_owned(), port: ports.client };
            let mut own = settings.applied.clone();
            if self.recipe.is_cluster() && self.has_bus_port() {
                own.insert("cluster-port".to_owned(), ports.bus.to_string());
            }
            let args = (self.recipe.arguments)(&self.site, &address, &own);
            let command = self.command(args);
            if command_line.is_empty() {
                command_line = words(&command);
            }
            let pid = self.run_server(command)?;
            self.await_answer(&address, pid)?;
            nodes.push(Node { pid, address, log: self.log.clone() });
        }
        self.site.data = all_data;
        if self.recipe.is_cluster() {
            self.form(size, &ports, &nodes, begun)?;
        }
        let first = nodes.remove(0);
        Ok(self.into_server(first, nodes, command_line, settings.applied.clone()))
    }

    /// Whether the port on which nodes talk to each other can be chosen; it is 10,000 above the other
    /// before Redis 7.
    fn has_bus_port(&self) -> bool {
        let major = self.launch.installed.version.split('.').next();
        major.and_then(|major| major.parse().ok()).is_some_and(|major: u32| major >= 7)
    }

    fn ports(&self, size: Size, first: Option<u16>) -> Result<Vec<NodePorts>, StartError> {
        // Who has no bus port needs none that is bound to the other one.
        let own_bus = !self.recipe.is_cluster() || self.has_bus_port();
        port::for_nodes(size.nodes(), first, own_bus).map_err(|error| StartError::Port {
            name: self.recipe.name,
            port: first.unwrap_or_default(),
            why: format!("{} nodes need as many ports in a row: {error}", size.nodes()),
        })
    }

    /// Makes the nodes one cluster and waits until every one of them says so.
    fn form(
        &mut self,
        size: Size,
        ports: &[NodePorts],
        nodes: &[Node],
        begun: Instant,
    ) -> Result<(), StartError> {
        let mut forming = Forming::new(size, ports);
        loop {
            let why = match forming.attempt() {
                Ok(()) => return Ok(()),
                Err(why) => why,
            };
            let waited = begun.elapsed();
            if waited >= self.launch.ready_timeout {
                return Err(StartError::NotReady {
                    name: self.recipe.name,
                    seconds: waited.as_secs_f64(),
                    log: logfile::tail(&nodes[why.node].log, LOG_LINES),
                    why: format!("the node at {}: {}", nodes[why.node].address, why.why),
                });
            }
            match self.lifeline.report_within(PAUSE) {
                Ok(None) => {}
                other => return Err(self.not_starting(other)),
            }
        }
    }
}
