//! The `assay` binary: reads the command line, does one thing, says how it went.

mod args;
mod commands;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

/// What `assay` is started with to keep a server or a folder for as long as another `assay` lives.
const WARDEN: &str = "warden";

fn main() -> ExitCode {
    // Before anything else: a warden must not depend on what the command line is like today.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == WARDEN) {
        return assay_provision::warden::run(words);
    }
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Command::Run(run) => commands::run::run(run),
        Command::Plan(run) => commands::plan::plan(run),
        Command::Rerun(rerun) => commands::rerun::rerun(rerun),
        Command::Show(show) => commands::show::show(show),
        Command::Report(report) => commands::report::report(report),
        Command::Serve(serve) => commands::serve::serve(serve),
        Command::Compare(compare) => commands::compare::compare(compare),
        Command::Export(export) => commands::export::export(export),
        Command::Systems(systems) => commands::systems::systems(systems),
        Command::Fetch(fetch) => commands::fetch::fetch(fetch),
        Command::Schema(schema) => commands::generate::schema(schema),
        Command::Completions { shell } => commands::generate::completions(shell),
        Command::Man => commands::generate::man(),
    };
    done.unwrap_or_else(|error| {
        eprintln!("assay: {}", assay_report::escape_lines(&told(&error)));
        ExitCode::FAILURE
    })
}

/// An error and its causes. Many a message holds its cause already: each is said once.
fn told(error: &anyhow::Error) -> String {
    error.chain().skip(1).fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
