//! PostgreSQL and HyPer, which speak one protocol, its version 3.0.

use std::{fs, io, path::Path};

use super::{REPLY_BYTES, Readiness, Stream, if_ours};

/// The user that PostgreSQL and HyPer are set up with, a superuser without a password.
pub(crate) const USER: &str = "bench";
/// The database that PostgreSQL is set up with.
pub(crate) const DATABASE: &str = "postgres";

/// PostgreSQL: a login, and the process number in its own file. A server that still starts refuses it with
/// SQLSTATE 57P03.
pub(super) fn ask(mut stream: impl Stream, pid: u32, data: &Path) -> io::Result<Readiness> {
    let words = ["user", USER, "database", DATABASE];
    if let Err(not_yet) = log_in(&mut stream, &words)? {
        return Ok(Readiness::NotYet(not_yet));
    }
    // Terminate; the server may close first.
    let _ = stream.write_all(&[b'X', 0, 0, 0, 4]);
    let status = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    Ok(if_ours(status.lines().next().and_then(|number| number.trim().parse().ok()), pid))
}

/// The same login, but to no database, and a query: HyPer's own tables tell its process.
pub(super) fn ask_hyper(mut stream: impl Stream, pid: u32) -> io::Result<Readiness> {
    if let Err(not_yet) = log_in(&mut stream, &["user", USER])? {
        return Ok(Readiness::NotYet(not_yet));
    }
    let query = b"SELECT procpid FROM pg_stat_activity LIMIT 1\0";
    stream.write_all(b"Q")?;
    stream.write_all(&(query.len() as u32 + 4).to_be_bytes())?;
    stream.write_all(query)?;
    let mut answering = None;
    let mut each = |kind, body: &[u8]| {
        if kind == b'D' {
            // One column: the count of columns, its length, the number as text.
            let digits = body.get(6..).and_then(|digits| std::str::from_utf8(digits).ok());
            answering = digits.and_then(|digits| digits.parse().ok());
        }
    };
    Ok(match until_ready(&mut stream, &mut each)? {
        Ok(()) => if_ours(answering, pid),
        Err(not_yet) => Readiness::NotYet(not_yet),
    })
}

/// Logs in with the startup parameters `words`, a name and a value each. The inner error says why the
/// server does not serve yet.
fn log_in(stream: &mut impl Stream, words: &[&str]) -> io::Result<Result<(), String>> {
    let mut body = 196_608_u32.to_be_bytes().to_vec();
    for text in words.iter().chain(&[""]) {
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    stream.write_all(&(body.len() as u32 + 4).to_be_bytes())?;
    stream.write_all(&body)?;
    until_ready(stream, &mut |_, _| ())
}

/// Reads messages of PostgreSQL's protocol until the server is ready for the next.
fn until_ready(
    stream: &mut impl Stream,
    each: &mut dyn FnMut(u8, &[u8]),
) -> io::Result<Result<(), String>> {
    loop {
        let mut header = [0; 5];
        stream.read_exact(&mut header)?;
        let [kind, length @ ..] = header;
        let length = u64::from(u32::from_be_bytes(length)).saturating_sub(4);
        if length > REPLY_BYTES {
            return Ok(Err("what answers does not speak PostgreSQL's protocol".to_owned()));
        }
        let mut body = vec![0; length as usize];
        stream.read_exact(&mut body)?;
        match kind {
            b'E' => return Ok(Err(error(&body))),
            b'Z' => return Ok(Ok(())),
            _ => each(kind, &body),
        }
    }
}

/// The message and the SQLSTATE of an error response.
fn error(body: &[u8]) -> String {
    let field = |code: u8| {
        body.split(|&byte| byte == 0)
            .find(|field| field.first() == Some(&code))
            .map(|field| String::from_utf8_lossy(&field[1..]).into_owned())
            .unwrap_or_default()
    };
    format!("{} ({})", field(b'M'), field(b'C'))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Replies, *};

    /// AuthenticationOk, then that it is ready.
    const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

    #[test]
    fn a_server_is_ready_when_it_lets_in_and_its_file_names_it() {
        let data = tempfile::tempdir().expect("a temporary folder");
        fs::write(data.path().join("postmaster.pid"), "42\n/data\n").expect("written");
        let asked = |replies, pid| ask(Replies(replies), pid, data.path()).expect("read");
        assert_eq!(asked(LET_IN, 42), Readiness::Ready);
        let starting = b"E\0\0\0\x34SFATAL\0C57P03\0Mthe database system is starting\0\0";
        for (replies, pid, words) in [
            (LET_IN, 43, "process 42 answers"),
            (starting, 42, "the database system is starting (57P03)"),
            (b"HTTP/1.1 400 Bad Request", 42, "does not speak"),
        ] {
            let asked = asked(replies, pid);
            assert!(matches!(&asked, Readiness::NotYet(why) if why.contains(words)), "{asked:?}");
        }
    }

    #[test]
    fn hyper_is_asked_for_its_process() {
        let told = [LET_IN, b"D\0\0\0\x0c\0\x01\0\0\0\x0242Z\0\0\0\x05I"].concat().leak();
        assert_eq!(ask_hyper(Replies(told), 42).expect("read"), Readiness::Ready);
        let other = ask_hyper(Replies(told), 43).expect("read");
        assert!(matches!(other, Readiness::NotYet(why) if why.contains("process 42 answers")));
    }
}
