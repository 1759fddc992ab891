//! What Assay and a warden tell each other: one JSON object a line.

use std::{
    ffi::OsString,
    io::{self, Write},
    path::PathBuf,
};

use rustix::process::Signal;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// What Assay asks.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Make a folder, lock it and remove it at the end. Answered with [`Report::Folder`].
    Folder {
        parent: PathBuf,
        /// The start of the folder's name.
        prefix: String,
        /// Let other users pass through, to what is theirs inside.
        open: bool,
    },
    /// Run a program to its end. Answered with [`Report::Exited`].
    Run(Task),
    /// Start the server, or one more node of a cluster. Answered with [`Report::Started`] and, if it
    /// ends by itself, [`Report::Exited`].
    Start { task: Task, stop: StopSignal },
}

/// What a warden tells. Any request may be answered with `Failed`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    Folder { path: PathBuf },
    Started { pid: u32 },
    Exited { pid: u32, success: bool, status: String },
    Failed { why: String },
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Task {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(String, OsString)>,
    pub current_dir: PathBuf,
    /// Where its output is appended.
    pub log: PathBuf,
    /// User and group to drop to.
    pub run_as: Option<(u32, u32)>,
    /// The processors it may use.
    pub cpus: Option<Vec<usize>>,
}

/// The signal that asks a server to stop at once and in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopSignal {
    Terminate,
    Interrupt,
}

impl StopSignal {
    pub fn signal(self) -> Signal {
        match self {
            StopSignal::Terminate => Signal::TERM,
            StopSignal::Interrupt => Signal::INT,
        }
    }
}

/// Writes `message` as one line.
pub(crate) fn send(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Gathers bytes as they come and gives back the messages in them.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
}

impl Lines {
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, if it is there.
    pub fn next<T: DeserializeOwned>(&mut self) -> Option<io::Result<T>> {
        let end = self.bytes.iter().position(|&byte| byte == b'\n')?;
        let line: Vec<u8> = self.bytes.drain(..=end).collect();
        Some(serde_json::from_slice(&line).map_err(io::Error::from))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn messages_survive_the_pipe_in_pieces() {
        let task = Task {
            program: "/usr/bin/redis-server".into(),
            args: vec!["--save".into(), "".into(), OsString::from_vec(vec![b'a', 0xff])],
            env: vec![("PATH".into(), "/usr/bin".into())],
            current_dir: "/tmp".into(),
            log: "/tmp/a b\n.log".into(),
            run_as: Some((65534, 65534)),
            cpus: Some(vec![0, 3]),
        };
        let sent =
            [Request::Run(task.clone()), Request::Start { task, stop: StopSignal::Interrupt }];
        let mut wire = Vec::new();
        for request in &sent {
            send(&mut wire, request).expect("a vector takes all");
        }
        let mut lines = Lines::default();
        let mut received = Vec::new();
        for piece in wire.chunks(7) {
            lines.extend(piece);
            while let Some(request) = lines.next::<Request>() {
                received.push(request.expect("well formed"));
            }
        }
        assert_eq!(received, sent);
    }

    #[test]
    fn a_line_that_is_no_message_is_an_error() {
        let mut lines = Lines::default();
        lines.extend(b"usage: something else\n");
        assert!(lines.next::<Report>().is_some_and(|report| report.is_err()));
        assert!(lines.next::<Report>().is_none());
    }
}
