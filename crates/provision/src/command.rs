//! A short-lived program run to its end: what it printed, within a time limit.

use std::{
    io::{self, BufRead, BufReader, Read},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::fetch::COMMAND_LIMIT;

/// What a program printed and how it ended.
pub(crate) struct Finished {
    pub status: ExitStatus,
    /// Standard output, then standard error.
    pub text: String,
}

impl Finished {
    /// The last line that says something, for error messages.
    pub fn last_words(&self) -> String {
        let mut lines = self.text.lines().map(str::trim).filter(|line| !line.is_empty());
        match lines.next_back() {
            Some(line) => line.to_owned(),
            None => self.status.to_string(),
        }
    }
}

/// Runs `command` and gathers both of its streams; `on_line` sees each line of standard output as
/// it comes. A program that is not done within `limit` is killed and is an error of the kind
/// `TimedOut`.
pub(crate) fn run_within(
    command: &mut Command,
    limit: Duration,
    on_line: &mut dyn FnMut(&str),
) -> io::Result<Finished> {
    let deadline = Instant::now() + limit;
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().expect("stdout was piped just above");
    let mut stderr = child.stderr.take().expect("stderr was piped just above");

    let (lines, heard) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            if lines.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    let (complaints, complained) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A stream cut short still has the words that came before.
        let _ = stderr.read_to_end(&mut bytes);
        let _ = complaints.send(String::from_utf8_lossy(&bytes).into_owned());
    });

    let mut text = String::new();
    loop {
        match heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                on_line(&line);
                text.push_str(&line);
                text.push('\n');
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("not done after {} s", limit.as_secs()),
                ));
            }
        }
    }
    // The program closed its output: it is ending.
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
    if let Ok(words) = complained.recv_timeout(left) {
        text.push_str(&words);
    } else {
        child.kill()?;
    }
    Ok(Finished { status: child.wait()?, text })
}

/// Runs a program that a fetch needs, and says what to do where it is missing.
pub(crate) fn run_needed(
    program: &str,
    command: &mut Command,
    if_missing: &str,
    on_progress: &mut dyn FnMut(&str),
) -> Result<Finished, String> {
    run_within(command, COMMAND_LIMIT, on_progress).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("{program} is not here: {if_missing}"),
        _ => format!("{program}: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_and_the_status_are_kept() {
        let mut seen = Vec::new();
        let finished = run_within(
            Command::new("sh").args(["-c", "echo one; echo two; echo bad >&2; exit 3"]),
            Duration::from_secs(20),
            &mut |line| seen.push(line.to_owned()),
        )
        .expect("sh runs");
        assert_eq!(seen, ["one", "two"]);
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!(finished.last_words(), "bad");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let error =
            run_within(Command::new("sleep").arg("600"), Duration::from_millis(50), &mut |_| ())
                .err()
                .expect("sleep takes longer");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
