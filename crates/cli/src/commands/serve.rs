//! `assay serve`: the runs of a results folder in the browser.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use assay_serve::{Server, Settings};

use crate::args::ServeArguments;

/// Serves runs until somebody stops it.
pub fn serve(arguments: ServeArguments) -> anyhow::Result<ExitCode> {
    let ServeArguments { results, listen, token, hosts } = arguments;
    let server = Server::bind(Settings { results, listen, token, hosts })?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    drop(out);
    if server.is_open() {
        eprintln!("assay: other machines can reach this, by plain HTTP, if they show the token");
    }
    server.run()?;
    Ok(ExitCode::SUCCESS)
}
