//! What can go wrong with a run folder.

use std::{io, path::PathBuf};

use thiserror::Error;

/// Why results cannot be written or read.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// A file or folder cannot be written.
    #[error("cannot {action} {}: {source}; {}", path.display(), advice(source))]
    Write {
        /// What was being done, as in "create".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// There is no run where one was named.
    #[error("{} is not a run folder: {why}", path.display())]
    NotARun {
        /// What was named.
        path: PathBuf,
        /// What was found, and what to name instead.
        why: String,
    },
    /// A file was written by a newer Assay.
    #[error(
        "{} has format version {found}, and this Assay reads up to {known}: use a newer Assay",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format version.
        found: u64,
        /// The newest version that this build reads.
        known: u32,
    },
    /// A file is not what its name says.
    #[error(
        "{} is damaged or not Assay's: {why}; restore it, or move it away to read the rest",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A record could not be written as JSON that reads back.
    #[error("the record of trial {trial} cannot be stored: {why}")]
    Unstorable {
        /// The trial's number.
        trial: u32,
        /// Which field, and why.
        why: String,
    },
    /// The run's experiment draws no figure.
    #[error(
        "{} draws nothing: its experiment has no [figure]; --format csv has every figure of its \
         trials",
        path.display()
    )]
    NoFigure {
        /// The run's folder.
        path: PathBuf,
    },
    /// The export's target failed.
    #[error("cannot write the export: {0}")]
    Export(#[from] io::Error),
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or name a folder on another disk with --results"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "name a folder that you may write to with --results"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "name another folder with --results"
        }
        _ => "check the results folder, or name another with --results",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_closed_folder_come_with_the_next_step() {
        for (kind, next) in [
            (io::ErrorKind::StorageFull, "free some space"),
            (io::ErrorKind::PermissionDenied, "you may write to"),
        ] {
            let error = ResultsError::Write {
                action: "write",
                path: "/results/x".into(),
                source: kind.into(),
            };
            let text = error.to_string();
            assert!(text.starts_with("cannot write /results/x: "), "{text}");
            assert!(text.contains(next) && text.contains("--results"), "{text}");
        }
    }
}
