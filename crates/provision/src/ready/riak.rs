//! Riak KV, asked over HTTP. It does not tell its process number there; but when it serves, what the
//! recipe gives it to evaluate writes that into a file of its data folder.

use std::{fs, io, path::Path};

use super::{REPLY_BYTES, Readiness, Stream, if_ours};

/// Where it writes its process number once it serves, in the folder of its data.
pub(crate) const SERVING: &str = "serving.pid";

const PING: &[u8] = b"GET /ping HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";

/// Asks whether it is up, and looks who says so.
pub(super) fn ask(mut stream: impl Stream, pid: u32, data: &Path) -> io::Result<Readiness> {
    stream.write_all(PING)?;
    let mut answer = Vec::new();
    // The status line tells all; a server that does not close is not waited for.
    while !answer.contains(&b'\n') && (answer.len() as u64) < REPLY_BYTES {
        let mut bytes = [0; 512];
        match stream.read(&mut bytes)? {
            0 => break,
            read => answer.extend_from_slice(&bytes[..read]),
        }
    }
    let line = String::from_utf8_lossy(answer.split(|&byte| byte == b'\n').next().unwrap_or(&[]));
    if line.split(' ').nth(1) != Some("200") {
        return Ok(Readiness::NotYet(format!("a ping was answered with '{}'", line.trim())));
    }
    Ok(match fs::read_to_string(data.join(SERVING)) {
        Ok(number) => if_ours(number.trim().parse().ok(), pid),
        Err(_) => Readiness::NotYet("it listens and does not serve yet".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Replies, *};

    #[test]
    fn a_node_serves_when_it_answers_and_its_file_names_it() {
        let data = tempfile::tempdir().expect("a temporary folder");
        let up = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK";
        let asked = |reply, pid| ask(Replies(reply), pid, data.path()).expect("it can be read");
        assert!(matches!(asked(up, 42), Readiness::NotYet(why) if why.contains("not serve yet")));
        fs::write(data.path().join(SERVING), "42").expect("written");
        assert_eq!(asked(up, 42), Readiness::Ready);
        for (reply, pid, word) in [
            (&up[..], 43, "process 42"),
            (b"HTTP/1.1 404 Object Not Found\r\n\r\n", 42, "404"),
            (b"", 42, "''"),
        ] {
            assert!(matches!(asked(reply, pid), Readiness::NotYet(why) if why.contains(word)));
        }
    }
}
