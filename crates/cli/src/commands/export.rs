//! `assay export`: a run in a format that other tools read.

use std::{
    io::{BufWriter, Write},
    process::ExitCode,
};

use assay_results::{
    Run,
    export::{self, Format},
};

use crate::args::{ExportArguments, ExportFormat};

/// Writes a run to standard output.
pub fn export(arguments: ExportArguments) -> anyhow::Result<ExitCode> {
    let run = Run::open(&arguments.run)?;
    let format = match arguments.format {
        ExportFormat::Csv => Format::Csv,
        ExportFormat::Jsonl => Format::Jsonl,
        ExportFormat::Hdr => Format::Hdr,
        ExportFormat::Ycsb => Format::Ycsb,
        ExportFormat::Figure => Format::Figure,
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    export::export(&run, format, &mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
