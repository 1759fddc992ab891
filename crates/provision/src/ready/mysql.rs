//! MariaDB and MySQL: the greeting, and the process number in their own file.

use std::{fs, io, path::Path};

use super::{REPLY_BYTES, Readiness, Stream, if_ours};

/// The user that MariaDB and MySQL are set up with, a superuser without a password.
pub(crate) const USER: &str = "root";
/// Where MariaDB and MySQL write their process number, in the folder of their data.
pub(crate) const PID_FILE: &str = "server.pid";

/// The greeting of protocol version 10, which a server sends when it takes connections.
pub(super) fn ask(mut stream: impl Stream, pid: u32, data: &Path) -> io::Result<Readiness> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let [low, middle, high, _] = header;
    let length = u64::from(u32::from_le_bytes([low, middle, high, 0]));
    if length > REPLY_BYTES {
        return Ok(Readiness::NotYet("what answers is neither MariaDB nor MySQL".to_owned()));
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    match body.first() {
        Some(10) => {
            let number = fs::read_to_string(data.join(PID_FILE)).unwrap_or_default();
            Ok(if_ours(number.trim().parse().ok(), pid))
        }
        // An error's number, then its words.
        Some(0xff) => {
            let words = body.get(3..).unwrap_or_default();
            Ok(Readiness::NotYet(String::from_utf8_lossy(words).into_owned()))
        }
        _ => Ok(Readiness::NotYet("what answers is neither MariaDB nor MySQL".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Replies, *};

    #[test]
    fn a_server_is_ready_when_it_greets_and_its_file_names_it() {
        let data = tempfile::tempdir().expect("a temporary folder");
        fs::write(data.path().join(PID_FILE), "42\n").expect("written");
        let greeting: &[u8] = b"\x08\0\0\0\x0a10.11\0\x01";
        let full = b"\x17\0\0\0\xff\x10\x04Too many connections";
        let asked = |replies, pid| ask(Replies(replies), pid, data.path()).expect("read");
        assert_eq!(asked(greeting, 42), Readiness::Ready);
        for (replies, pid, words) in [
            (greeting, 43, "process 42"),
            (full, 42, "Too many"),
            (b"\x01\0\0\0\x09", 42, "neither"),
        ] {
            let asked = asked(replies, pid);
            assert!(matches!(&asked, Readiness::NotYet(why) if why.contains(words)), "{asked:?}");
        }
    }
}
