//! `assay export`: a run in a format that other tools read.

use std::{
    io::{BufWriter, Write},
    process::ExitCode,
};

use assay_results::{
    Run,
    export::{self, Format},
};

use super::unfinished;
use crate::{
    args::{ExportArguments, ExportFormat},
    mistake::OrMistake,
    speech::out,
};

/// Writes a run to standard output.
pub fn export(arguments: ExportArguments) -> anyhow::Result<ExitCode> {
    let run = Run::open(&arguments.run).or_mistake()?;
    unfinished::say_of(&run);
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
