//! The runs of a results folder in the browser, live while one is under way.
//!
//! [`Server::bind`] looks into the folder and takes its address, [`Server::run`] answers until it is
//! asked to stop. There are three pages: `/` lists the runs, `/runs/ID` is the report of one, `/events`
//! tells what changes as server-sent events. The folder is only read, and looked at each second, so a
//! run needs to know nothing of this, and may be killed.
//!
//! What runs find out is decided in `assay_report`; who may ask is decided in one place before
//! anything else is done (`guard`).

mod address;
mod board;
mod connections;
mod error;
mod guard;
mod html;
mod list_page;
mod listing;
mod policy;
mod routes;
mod run_page;
mod server;
mod token;

pub use address::listen_address;
pub use error::ServeError;
pub use server::{Server, Settings};
