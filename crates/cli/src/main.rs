//! The `assay` binary: reads the command line, does one thing, says how it went.

// What is said and printed goes through `speech`.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod args;
mod commands;
mod mistake;
mod progress;
mod speech;

use std::process::ExitCode;

use assay_model::redact;
use clap::Parser;

use args::{Arguments, Command};
use mistake::{MISTAKEN, Mistake};
use speech::{say, told};

/// What `assay` is started with to keep a server or a folder for as long as another `assay` lives.
const WARDEN: &str = "warden";

fn main() -> ExitCode {
    // Before anything else: a warden must not depend on what the command line is like today.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == WARDEN) {
        return assay_provision::warden::run(words);
    }
    let arguments = Arguments::try_parse().unwrap_or_else(|refusal| refuse(&refusal));
    let done = match arguments.command {
        Command::Run(run) => commands::run::run(run),
        Command::Study(study) => commands::study::study(study),
        Command::Start => commands::start::start(),
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
        say!("assay: {}", told(&error));
        match error.is::<Mistake>() {
            true => ExitCode::from(MISTAKEN),
            false => ExitCode::FAILURE,
        }
    })
}

/// Says why the command line cannot be read, or prints the help that it asks for, and ends.
fn refuse(refusal: &clap::Error) -> ! {
    let plain = refusal.render().to_string();
    if refusal.use_stderr() && redact(&plain) != plain {
        // The words given are quoted; colors would stand in the way of finding passwords in them.
        say!("{}", plain.trim_end());
        std::process::exit(refusal.exit_code());
    }
    refusal.exit()
}
