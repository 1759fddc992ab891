//! Redis and Valkey: a ping, then the process number that they tell.

use std::io::{self, BufRead, BufReader, Read};

use super::{REPLY_BYTES, Readiness, Stream, if_ours};

/// `PING`, then `INFO server` for the process number. A server that loads its data refuses the first.
pub(super) fn ask(mut stream: impl Stream, pid: u32) -> io::Result<Readiness> {
    stream.write_all(b"PING\r\n")?;
    let mut stream = BufReader::new(stream.take(REPLY_BYTES));
    let mut line = String::new();
    stream.read_line(&mut line)?;
    if line.trim_end() != "+PONG" {
        return Ok(Readiness::NotYet(format!("PING was answered with '{}'", line.trim_end())));
    }
    stream.get_mut().get_mut().write_all(b"INFO server\r\n")?;
    line.clear();
    stream.read_line(&mut line)?;
    let length = line.trim_end().strip_prefix('$').and_then(|length| length.parse().ok());
    let Some(length) = length else {
        return Ok(Readiness::NotYet(format!("INFO was answered with '{}'", line.trim_end())));
    };
    let mut info = String::new();
    stream.take(length).read_to_string(&mut info)?;
    let answering = info.lines().find_map(|line| line.strip_prefix("process_id:"));
    Ok(if_ours(answering.and_then(|number| number.trim().parse().ok()), pid))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Replies, *};

    const INFO: &[u8] = b"+PONG\r\n$42\r\n# Server\r\nredis_version:7\r\nprocess_id:42\r\n\r\n";

    #[test]
    fn a_server_that_is_not_the_one_started_is_not_ready() {
        let asked = |pid| ask(Replies(INFO), pid).expect("it can be read");
        assert_eq!(asked(42), Readiness::Ready);
        assert!(matches!(asked(43), Readiness::NotYet(why) if why.contains("process 42 answers")));
    }

    #[test]
    fn a_server_that_loads_is_not_ready() {
        let loading = b"-LOADING Redis is loading the dataset in memory\r\n";
        let asked = ask(Replies(loading), 42).expect("it can be read");
        assert!(matches!(asked, Readiness::NotYet(why) if why.contains("LOADING")));
    }
}
