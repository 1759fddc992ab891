//! A table on a server: declared, loaded, described and removed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use assay_model::Schema;

use super::{
    DRIVER,
    codec::VoltCodec,
    connection::{Connection, Parameter},
    loader::BatchLoader,
    procedures::{Procedures, Spread},
};
use crate::{
    Client, Footprint, Identity, Loader, System, SystemError, WireClient,
    link::Server,
    sql::{self, TextRow, Trouble},
    system::REMOVE_OR_RENAME,
};

/// The longest that a footprint waits for the server's statistics, which each site makes about once a
/// second.
const STATISTICS_LIMIT: Duration = Duration::from_secs(10);
const STATISTICS_POLL: Duration = Duration::from_millis(50);

/// The settings of a cluster that bear on a result.
const SHOWN: [&str; 9] = [
    "hostcount",
    "kfactor",
    "sitesperhost",
    "commandlogenabled",
    "commandlogmode",
    "snapshotenabled",
    "snapshotfrequency",
    "temptablesmaxsize",
    "querytimeout",
];

/// A table on a server.
pub(super) struct Volt {
    server: Server,
    spread: Spread,
    schema: Arc<Schema>,
    procedures: Arc<Procedures>,
    created: AtomicBool,
}

impl Volt {
    pub(super) fn new(
        server: Server,
        spread: Spread,
        schema: Arc<Schema>,
        procedures: Procedures,
    ) -> Volt {
        let (procedures, created) = (Arc::new(procedures), AtomicBool::new(false));
        Volt { server, spread, schema, procedures, created }
    }

    fn already_there(&self, what: String) -> SystemError {
        let (system, next) = (DRIVER.name.into(), REMOVE_OR_RENAME);
        SystemError::AlreadyThere { system, what, next }
    }

    /// Whether the table is there, or a view or stream of its name.
    fn is_there(&self, connection: &mut Connection<'_>) -> Result<bool, SystemError> {
        let action = "look for the table";
        let tables = connection.rows(action, "@SystemCatalog", &[Parameter::Text("TABLES")])?;
        let name = Some(self.schema.table());
        Ok(tables.iter().any(|row| {
            let found = row.get(2).and_then(Option::as_deref);
            found.zip(name).is_some_and(|(found, name)| found.eq_ignore_ascii_case(name))
        }))
    }

    fn counted(&self, connection: &mut Connection<'_>) -> Result<u64, SystemError> {
        let action = "count the records";
        let sql = format!("SELECT COUNT(*) FROM {}", self.schema.table());
        let rows = connection.rows(action, "@AdHoc", &[Parameter::Text(&sql)])?;
        let number = sql::value(rows, &sql).and_then(|text| sql::number(&text));
        number.map_err(|trouble: Trouble<String>| self.server.failed(action, trouble))
    }

    /// The statistics of the table's sites: their rows of `what` about it, and in each the columns at
    /// `columns`, added up by site.
    fn statistics(
        &self,
        connection: &mut Connection<'_>,
        what: &str,
        columns: &[usize],
    ) -> Result<Vec<Site>, SystemError> {
        let parameters = [Parameter::Text(what), Parameter::Number(0)];
        let rows = connection.rows("measure the table", "@Statistics", &parameters)?;
        // Both have the table's name after a timestamp, the host, its name, the site and the partition;
        // indexes have their own name before it.
        let name_at = if what == "INDEX" { 6 } else { 5 };
        let text = |row: &TextRow, at: usize| row.get(at).cloned().flatten();
        let number = |row: &TextRow, at: usize| {
            text(row, at).and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        let mut sites: Vec<Site> = Vec::new();
        let about = rows.iter().filter(|row| {
            text(row, name_at).is_some_and(|name| name.eq_ignore_ascii_case(self.schema.table()))
        });
        for row in about {
            let (host, site) = (number(row, 1), number(row, 3));
            let at = sites.iter().position(|known| (known.host, known.site) == (host, site));
            let at = at.unwrap_or_else(|| {
                sites.push(Site { host, site, sums: vec![0; columns.len()] });
                sites.len() - 1
            });
            for (sum, &column) in sites[at].sums.iter_mut().zip(columns) {
                *sum += number(row, column);
            }
        }
        if self.spread == Spread::Replicated {
            // The sites of a host share one copy.
            sites.sort_by_key(|site| (site.host, std::cmp::Reverse(site.sums.clone())));
            sites.dedup_by_key(|site| site.host);
        }
        Ok(sites)
    }
}

/// A site of a cluster in its statistics.
struct Site {
    host: u64,
    site: u64,
    /// A number for each column.
    sums: Vec<u64>,
}

/// The sum over all sites of the number at `column`.
fn total(sites: &[Site], column: usize) -> u64 {
    sites.iter().map(|site| site.sums[column]).sum()
}

impl System for Volt {
    fn prepare(&self) -> Result<(), SystemError> {
        let mut connection = Connection::open(&self.server)?;
        let name = self.schema.table();
        if self.is_there(&mut connection)? {
            return Err(self.already_there(format!("a table {name}")));
        }
        // All of the declarations are taken, or none of them.
        let action = "create the table and its procedures";
        let declared =
            connection.call(action, "@AdHoc", &[Parameter::Text(&self.procedures.create)])?;
        match declared {
            Ok(_) => {
                self.created.store(true, Ordering::SeqCst);
                Ok(())
            }
            Err(why) if why.contains("already exists") || why.contains("already defined") => {
                Err(self.already_there(format!("what the table {name} takes: {why}")))
            }
            Err(why) => Err(self.server.failed(action, why)),
        }
    }

    fn loader(&self) -> Result<Box<dyn Loader + '_>, SystemError> {
        let (server, procedures) = (&self.server, &self.procedures);
        Ok(Box::new(BatchLoader::new(server, &self.schema, procedures, self.spread)?))
    }

    fn connect(&self) -> Result<Client, SystemError> {
        let socket = Connection::open(&self.server)?.into_socket()?;
        let codec = VoltCodec::new(Arc::clone(&self.schema), Arc::clone(&self.procedures));
        Ok(Client::Wire(WireClient { socket, codec: Box::new(codec) }))
    }

    fn count(&self) -> Result<u64, SystemError> {
        self.counted(&mut Connection::open(&self.server)?)
    }

    /// Rows, values outside of them and indexes, by the server's own statistics: KiB of each.
    fn footprint(&self) -> Result<Footprint, SystemError> {
        let mut connection = Connection::open(&self.server)?;
        let records = self.counted(&mut connection)?;
        let copies = |sites: &[Site]| match self.spread {
            Spread::Partitioned => 1,
            // The first statistics come with a delay: until then there are no sites.
            Spread::Replicated => sites.len().max(1) as u64,
        };
        let end = Instant::now() + STATISTICS_LIMIT;
        // Rows, the rows' data, that outside of them.
        let sites = loop {
            let sites = self.statistics(&mut connection, "TABLE", &[7, 9, 10])?;
            // With a copy of each partition on another node, there are more.
            if total(&sites, 0) >= records * copies(&sites) {
                break sites;
            }
            if Instant::now() >= end {
                // Figures of fewer records than there are would be taken for those of all.
                return Ok(Footprint::default());
            }
            thread::sleep(STATISTICS_POLL);
        };
        let indexes = self.statistics(&mut connection, "INDEX", &[11])?;
        let kibibytes = total(&sites, 1) + total(&sites, 2) + total(&indexes, 0);
        Ok(Footprint { disk_bytes: None, memory_bytes: Some(kibibytes << 10) })
    }

    fn identity(&self) -> Result<Identity, SystemError> {
        let mut connection = Connection::open(&self.server)?;
        let version = connection.build.split('_').next().unwrap_or_default();
        let version = format!("VoltDB {version}");
        let parameters = [Parameter::Text("DEPLOYMENT")];
        let rows = connection.rows("report its settings", "@SystemInformation", &parameters)?;
        let mut settings = sql::settings(rows);
        settings.retain(|(name, _)| SHOWN.contains(&name.as_str()));
        settings.sort();
        Ok(Identity { version, settings })
    }

    fn remove(&self) -> Result<(), SystemError> {
        if !self.created.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut connection = Connection::open(&self.server)?;
        // A server that has started again has nothing of it.
        if self.is_there(&mut connection)? {
            let drop = [Parameter::Text(&self.procedures.drop)];
            connection.rows("drop the table and its procedures", "@AdHoc", &drop)?;
        }
        self.created.store(false, Ordering::SeqCst);
        Ok(())
    }
}
