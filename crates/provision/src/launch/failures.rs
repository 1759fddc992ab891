//! Why a server did not start.

use std::{io, path::Path};

use super::{LOG_LINES, Start};
use crate::{error::StartError, logfile, recipe::Recipe, warden::protocol::Report};

/// A disk with less than this is full.
const FULL_BYTES: u64 = 1 << 20;

impl Start<'_> {
    /// What a report while the server starts means: it ended, or its warden did.
    pub(super) fn not_starting(&self, report: io::Result<Option<Report>>) -> StartError {
        match report {
            Ok(Some(Report::Exited { status, .. })) => {
                self.ended(&self.launch.installed.binary, status)
            }
            Ok(Some(other)) => self.out_of_turn(&other),
            Ok(None) => self.out_of_turn(&"nothing"),
            Err(error) => self.warden_trouble(error.to_string()),
        }
    }

    pub(super) fn no_port(&self, error: io::Error) -> StartError {
        StartError::Port {
            name: self.recipe.name,
            port: 0,
            why: format!("the system has no free port to give: {error}"),
        }
    }

    pub(super) fn ended(&self, program: &Path, status: String) -> StartError {
        let name = self.recipe.name;
        let log = logfile::tail(&self.log, LOG_LINES);
        // A full disk may have no room for the line that says so.
        let full = log.iter().any(|line| line.contains("No space left on device"))
            || rustix::fs::statvfs(&self.folder)
                .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < FULL_BYTES);
        if full {
            return StartError::DiskFull { name, folder: self.folder.clone(), log };
        }
        let program = program.file_name().unwrap_or(program.as_os_str());
        StartError::Exited { name, program: program.to_string_lossy().into_owned(), status, log }
    }

    pub(super) fn cannot_run(&self, program: &Path, why: String) -> StartError {
        StartError::CannotRun { name: self.recipe.name, program: program.to_path_buf(), why }
    }

    pub(super) fn out_of_turn(&self, report: &impl std::fmt::Debug) -> StartError {
        self.warden_trouble(format!("answered out of turn: {report:?}"))
    }

    pub(super) fn warden_trouble(&self, why: String) -> StartError {
        StartError::Warden {
            name: self.recipe.name.to_owned(),
            program: self.launch.warden.program.clone(),
            why,
        }
    }
}

/// Whether the log of a server that ended says that it was for its port.
pub(super) fn port_was_taken(recipe: &Recipe, log: &[String]) -> bool {
    log.iter().any(|line| recipe.port_taken.iter().any(|words| line.contains(words)))
}
