//! `assay export`: a run in a format that other tools read.

use std::{
    io::{BufWriter, Write},
    process::ExitCode,
};

use assay_results::{
    Run,
    export::{self, Format},
};
use assay_runner::run::title;

use super::unfinished;
use crate::{
    args::{ExportArguments, ExportFormat},
    mistake::OrMistake,
    speech::{out, say},
};

/// Writes a run to standard output.
pub fn export(arguments: ExportArguments) -> anyhow::Result<ExitCode> {
    let run = Run::open(&arguments.run).or_mistake()?;
    unfinished::say_of(&run);
    for failed in &run.header.failures {
        let title = title(&failed.system, &failed.workload, failed.clients);
        say!("assay: {title} {}: it is not in what is exported", failed.failure.sentence());
    }
    let format = match arguments.format {
        ExportFormat::Csv => Format::Csv,
        ExportFormat::Jsonl => Format::Jsonl,
        ExportFormat::Hdr => Format::Hdr,
        ExportFormat::Ycsb => Format::Ycsb,
        ExportFormat::Figure => Format::Figure,
    };
    let mut out = BufWriter::new(out());
    export::export(&run, format, &mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
