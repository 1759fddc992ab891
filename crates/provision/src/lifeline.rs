//! Assay's end of the pipes to a warden.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::{
    error::{StartError, StopError},
    warden::{
        GRACE, Warden,
        protocol::{self, Lines, Report, Request},
    },
};

/// How long a warden has to answer what it can answer at once.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// How long a warden may take over its grace period: killing, and removing a large folder.
const CLEANING_LIMIT: Duration = Duration::from_secs(60);

/// A warden at work. When this is dropped, or when this process ends in whatever way, the warden
/// takes its server and its folders away.
#[derive(Debug)]
pub(crate) struct Lifeline {
    /// Whom the warden keeps, for messages.
    name: String,
    program: PathBuf,
    child: Child,
    /// `None` once closed.
    requests: Option<ChildStdin>,
    reports: ChildStdout,
    lines: Lines,
    /// The folders that the warden made.
    folders: Vec<PathBuf>,
}

impl Lifeline {
    /// Runs a warden for `name`.
    pub fn hold(warden: &Warden, name: &str) -> Result<Lifeline, StartError> {
        let spawned = Command::new(&warden.program)
            .args(&warden.leading_args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = spawned.map_err(|error| StartError::Warden {
            name: name.to_owned(),
            program: warden.program.clone(),
            why: format!("cannot be run: {error}"),
        })?;
        let requests = child.stdin.take();
        let reports = child.stdout.take().expect("stdout was piped just above");
        Ok(Lifeline {
            name: name.to_owned(),
            program: warden.program.clone(),
            child,
            requests,
            reports,
            lines: Lines::default(),
            folders: Vec::new(),
        })
    }

    /// The warden's process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has a folder made in `parent` that disappears with the warden.
    pub fn folder(
        &mut self,
        parent: &Path,
        prefix: &str,
        open: bool,
    ) -> Result<PathBuf, StartError> {
        let refused = |why: String| StartError::Folder { parent: parent.to_path_buf(), why };
        let parent = std::path::absolute(parent).map_err(|error| refused(error.to_string()))?;
        self.ask(&Request::Folder { parent, prefix: prefix.to_owned(), open })?;
        match self.answer(ANSWER_LIMIT)? {
            Report::Folder { path } => {
                self.folders.push(path.clone());
                Ok(path)
            }
            Report::Failed { why } => Err(refused(why)),
            other => Err(self.confused(&other)),
        }
    }

    /// Sends a request.
    pub fn ask(&mut self, request: &Request) -> Result<(), StartError> {
        let sent = match &mut self.requests {
            Some(requests) => protocol::send(requests, request),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        sent.map_err(|error| self.broken(format!("does not take requests: {error}")))
    }

    /// Waits for the answer to a request.
    pub fn answer(&mut self, limit: Duration) -> Result<Report, StartError> {
        match self.report_within(limit) {
            Ok(Some(report)) => Ok(report),
            Ok(None) => Err(self.broken(format!("did not answer in {} s", limit.as_secs()))),
            Err(error) => Err(self.broken(format!("{error}"))),
        }
    }

    /// The next report, if one comes within `limit`. A warden that is gone is an error of the kind
    /// `UnexpectedEof`.
    pub fn report_within(&mut self, limit: Duration) -> io::Result<Option<Report>> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(report) = self.lines.next() {
                return report.map(Some);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout =
                Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut sources = [PollFd::new(&self.reports, PollFlags::IN)];
            match rustix::event::poll(&mut sources, Some(&timeout)) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut bytes = [0; 4096];
            match rustix::io::read(&self.reports, &mut bytes) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        self.how_the_warden_ended(),
                    ));
                }
                Ok(count) => self.lines.extend(&bytes[..count]),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Has the warden take everything away and waits until that is done.
    pub fn close(&mut self) -> Result<(), StopError> {
        if self.requests.take().is_none() {
            return Ok(());
        }
        let mut complaint = None;
        let deadline = Instant::now() + GRACE + CLEANING_LIMIT;
        loop {
            match self.report_within(deadline.saturating_duration_since(Instant::now())) {
                Ok(Some(Report::Failed { why })) => complaint = Some(why),
                Ok(Some(_)) => {}
                Ok(None) => {
                    complaint =
                        Some(format!("its warden, process {}, is still busy", self.child.id()));
                    break;
                }
                // It is gone, or talks nonsense: the folders tell whether it did its work.
                Err(_) => break,
            }
        }
        match complaint.or_else(|| self.left_behind()) {
            None => Ok(()),
            Some(why) => Err(StopError::Left {
                name: self.name.clone(),
                folder: self.folders.first().cloned().unwrap_or_default(),
                why,
            }),
        }
    }

    fn left_behind(&mut self) -> Option<String> {
        let ended = self.how_the_warden_ended();
        let folder = self.folders.iter().find(|folder| folder.exists())?;
        Some(format!("{ended} and left the folder {}", folder.display()))
    }

    fn how_the_warden_ended(&mut self) -> String {
        let pid = self.child.id();
        match self.child.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("its warden, process {pid}, ended with status {code}"),
                (None, Some(9)) => format!("its warden, process {pid}, was killed by SIGKILL"),
                _ => format!("its warden, process {pid}, ended: {status}"),
            },
            Err(error) => format!("its warden, process {pid}, is lost: {error}"),
        }
    }

    fn confused(&self, report: &Report) -> StartError {
        self.broken(format!("answered out of turn: {report:?}"))
    }

    fn broken(&self, why: String) -> StartError {
        StartError::Warden { name: self.name.clone(), program: self.program.clone(), why }
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        // Nobody is left to tell; the next sweep looks at the folder again.
        let _ = self.close();
    }
}
