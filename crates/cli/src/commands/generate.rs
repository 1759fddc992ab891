//! `assay schema`, `assay completions`, `assay man`: made from the code, so that they are true.

use std::{io::Write, process::ExitCode};

use clap::CommandFactory;

use crate::{
    args::{Arguments, SchemaArguments},
    speech::out,
};

/// Prints the JSON schema of an experiment file, or of a report's data.
pub fn schema(arguments: SchemaArguments) -> anyhow::Result<ExitCode> {
    let schema = match arguments.report {
        true => assay_report::page::data::json_schema(),
        false => assay_experiment::spec::json_schema(),
    };
    writeln!(out(), "{}", serde_json::to_string_pretty(&schema)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints completions for a shell.
pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    // Where it cannot write, it panics.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "assay", &mut script);
    out().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page, each command's options in it.
pub fn man() -> anyhow::Result<ExitCode> {
    let command = Arguments::command().disable_help_subcommand(true);
    let mut out = out();
    clap_mangen::Man::new(command.clone()).render(&mut out)?;
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let title = format!("assay {}", subcommand.get_name());
        let man = clap_mangen::Man::new(subcommand.clone().bin_name(title));
        man.render_name_section(&mut out)?;
        man.render_synopsis_section(&mut out)?;
        man.render_options_section(&mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}
