//! A Redis that Assay did not start, and questions to any Redis.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::Signal;
use tempfile::TempDir;

use super::{LIMIT, Place, await_that, kill, readable};

/// A server of the machine's Redis on a loopback port, killed when the test ends.
pub struct Redis {
    child: Child,
    port: u16,
    password: String,
    _folder: TempDir,
}

impl Redis {
    /// Starts one that asks for `password`, unless that is empty; `None` if this machine has no
    /// Redis, which is said.
    pub fn start(password: &str) -> Option<Redis> {
        let finished = Place::new().succeeds("systems --json redis");
        let found = readable(finished.stdout.as_bytes());
        let Some(binary) = found["server"]["binary"].as_str().map(PathBuf::from) else {
            eprintln!("skipped: redis: {}", found["server"]["missing"]);
            return None;
        };
        // Another process may take the port between its choice and its use.
        for _ in 0..5 {
            let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
            let mut command = Command::new(&binary);
            command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
            if !password.is_empty() {
                command.args(["--requirepass", password]);
            }
            let child = command
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut redis = Redis { child, port, password: password.into(), _folder: folder };
            let mut ended = false;
            await_that("redis listens", || {
                ended = !redis.runs();
                ended || TcpStream::connect(("127.0.0.1", port)).is_ok()
            });
            if !ended {
                return Some(redis);
            }
        }
        panic!("redis did not come up five times");
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The server as a system on Assay's command line.
    pub fn system(&self) -> String {
        let credentials = match self.password.as_str() {
            "" => String::new(),
            password => format!(":{password}@"),
        };
        format!("redis=redis://{credentials}127.0.0.1:{}/0", self.port)
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Lets it do nothing for a while.
    pub fn pause(&self, time: Duration) {
        kill(self.child.id(), Signal::STOP);
        thread::sleep(time);
        kill(self.child.id(), Signal::CONT);
    }

    /// What it answers to a command.
    pub fn ask(&self, command: &[&str]) -> String {
        let mut connection = Connection::open(self.port).unwrap();
        if !self.password.is_empty() {
            assert_eq!(connection.ask(&["AUTH", &self.password]).unwrap(), "OK");
        }
        connection.ask(command).unwrap()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How often a command was carried out by the Redis on `port`; 0 while there is none.
pub fn calls(port: u16, command: &str) -> u64 {
    let ask = || Connection::open(port)?.ask(&["INFO", "commandstats"]);
    let prefix = format!("cmdstat_{command}:calls=");
    ask()
        .ok()
        .and_then(|answer| {
            let line = answer.lines().find_map(|line| line.strip_prefix(&prefix))?;
            line.split(',').next()?.parse().ok()
        })
        .unwrap_or(0)
}

/// A port that nobody listens on now.
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(port: u16) -> std::io::Result<Connection> {
        let socket = TcpStream::connect(("127.0.0.1", port))?;
        socket.set_read_timeout(Some(LIMIT.min(Duration::from_secs(20))))?;
        Ok(Connection(BufReader::new(socket)))
    }

    /// Sends a command and reads its reply: a line, a number or a string.
    fn ask(&mut self, command: &[&str]) -> std::io::Result<String> {
        let mut request = format!("*{}\r\n", command.len());
        for word in command {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.0.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let line = line.trim_end();
        let Some(length) = line.strip_prefix('$') else {
            return Ok(line.get(1..).unwrap_or_default().to_owned());
        };
        let Ok(length) = length.parse::<usize>() else { return Ok("nil".into()) };
        let mut text = vec![0; length + 2];
        self.0.read_exact(&mut text)?;
        text.truncate(length);
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
