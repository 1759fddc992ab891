//! Memcached: the process number is among its statistics.

use std::io::{self, BufRead, BufReader, ErrorKind};

use super::{REPLY_BYTES, Readiness, Stream, if_ours};

/// Asks for its process number.
pub(super) fn ask(mut stream: impl Stream, pid: u32) -> io::Result<Readiness> {
    stream.write_all(b"stats\r\n")?;
    let mut answering = None;
    for line in BufReader::new(stream.take(REPLY_BYTES)).lines() {
        let line = line?;
        if line == "END" {
            return Ok(if_ours(answering, pid));
        }
        match line.strip_prefix("STAT ").and_then(|stat| stat.split_once(' ')) {
            Some(("pid", number)) => answering = number.parse().ok(),
            Some(_) => {}
            None => return Ok(Readiness::NotYet(format!("stats was answered with '{line}'"))),
        }
    }
    Err(ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Replies, *};

    #[test]
    fn the_server_that_was_started_is_told_from_others() {
        let asked = |replies, pid| ask(Replies(replies), pid);
        let stats = b"STAT pid 42\r\nSTAT uptime 1\r\nEND\r\n";
        assert_eq!(asked(stats, 42).expect("read"), Readiness::Ready);
        for (replies, pid, words) in [
            (&stats[..], 43, "process 42 answers"),
            (b"STAT uptime 1\r\nEND\r\n", 42, "does not tell"),
            (b"-ERR unknown command\r\n", 42, "-ERR"),
        ] {
            let asked = asked(replies, pid).expect("it can be read");
            assert!(matches!(&asked, Readiness::NotYet(why) if why.contains(words)), "{asked:?}");
        }
        assert!(asked(b"STAT pid 42\r\n", 42).is_err());
    }
}
