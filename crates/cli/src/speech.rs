//! What Assay says and prints, all of it through here: neither a password nor a control character of
//! somebody else's leaves it in a message, and neither a closed pipe nor a terminal that has gone away
//! stops or fails what is being done.

use std::{
    fmt,
    io::{self, ErrorKind, StdoutLock, Write},
};

use assay_model::redact;
use assay_report::escape_lines;

/// Says a line on standard error.
macro_rules! say {
    ($($text:tt)*) => { $crate::speech::say_line(format_args!($($text)*)) };
}
pub(crate) use say;

/// The text without the passwords in it, and with control characters written out.
pub fn fit_to_say(text: &str) -> String {
    escape_lines(&redact(text))
}

/// Says a line on standard error, [fit to say](fit_to_say). If nobody hears it, it is lost.
pub fn say_line(text: fmt::Arguments<'_>) {
    let line = fit_to_say(&text.to_string()) + "\n";
    let _ = io::stderr().write_all(line.as_bytes());
}

/// An error and its causes, each said once: many a message holds its cause already.
pub fn told(error: &anyhow::Error) -> String {
    error.chain().skip(1).fold(redact(&error.to_string()), |text, cause| {
        let cause = redact(&cause.to_string());
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// Standard output. A reader that wants no more, as `head` does, is no error: what is written from
/// then on is lost.
pub struct Printed(StdoutLock<'static>);

/// Standard output for as long as it is held.
pub fn out() -> Printed {
    Printed(io::stdout().lock())
}

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_closed(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_closed(self.0.flush(), ())
    }
}

fn unless_closed<T>(result: io::Result<T>, as_if: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(as_if),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_that_the_message_holds_is_said_once_whatever_is_starred_in_it() {
        let cause = "at redis://:hunter2@h: refused";
        let error = anyhow!(cause).context("cannot read at redis://:***@h: refused");
        assert_eq!(told(&error), "cannot read at redis://:***@h: refused");
        assert_eq!(told(&anyhow!(cause).context("no")), "no: at redis://:***@h: refused");
    }
}
