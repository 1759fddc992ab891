//! `assay serve`: the runs of a results folder in the browser.

use std::{io::Write, process::ExitCode};

use assay_serve::{ServeError, Server, Settings};

use crate::{
    args::ServeArguments,
    mistake::OrMistake,
    speech::{out, say},
};

/// Serves runs until somebody stops it.
pub fn serve(arguments: ServeArguments) -> anyhow::Result<ExitCode> {
    let ServeArguments { results, listen, token, hosts } = arguments;
    let server = match Server::bind(Settings { results, listen, token, hosts }) {
        Err(error @ (ServeError::Folder { .. } | ServeError::Token { .. })) => {
            return Err(error).or_mistake();
        }
        bound => bound?,
    };
    let mut out = out();
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    drop(out);
    if server.is_open() {
        say!("assay: other machines can reach this, by plain HTTP, if they show the token");
    }
    server.run()?;
    Ok(ExitCode::SUCCESS)
}
