//! MonetDB by MAPI, its own protocol.

use std::io;

use assay_model::Address;
use sha2::{Digest, Sha512};

use super::{REPLY_BYTES, Readiness, Stream, if_ours};

/// A login, and a question for the process number. In place of a password's hash the library has the text `0`. A server that still opens
/// its database closes the connection.
pub(super) fn ask(mut stream: impl Stream, address: &Address, pid: u32) -> io::Result<Readiness> {
    if let Address::Unix(_) = address {
        // That no descriptor of a file comes along.
        stream.write_all(b"0")?;
    }
    let challenge = read_message(&mut stream)?;
    let Some((salt, _)) = challenge.split_once(":mserver:9:") else {
        return Ok(Readiness::NotYet("what answers is not MonetDB".to_owned()));
    };
    let proof: String =
        Sha512::digest(format!("0{salt}")).iter().map(|b| format!("{b:02x}")).collect();
    write_message(&mut stream, &format!("LIT:monetdb:{{SHA512}}{proof}:sql::"))?;
    let refusal = read_message(&mut stream)?;
    if refusal.starts_with('!') {
        return Ok(Readiness::NotYet(refusal));
    }
    write_message(&mut stream, "sSELECT value FROM sys.environment WHERE name = 'monet_pid'\n;")?;
    let reply = read_message(&mut stream)?;
    let number = reply.lines().find_map(|line| line.strip_prefix("[ \"")?.split('"').next());
    Ok(if_ours(number.and_then(|number| number.parse().ok()), pid))
}

/// Sends a message of one block: its length, shifted by one, and that it is the last.
fn write_message(stream: &mut impl Stream, message: &str) -> io::Result<()> {
    stream.write_all(&((message.len() as u16) << 1 | 1).to_le_bytes())?;
    stream.write_all(message.as_bytes())
}

fn read_message(stream: &mut impl Stream) -> io::Result<String> {
    let mut message = Vec::new();
    loop {
        let mut header = [0; 2];
        stream.read_exact(&mut header)?;
        let header = u16::from_le_bytes(header);
        let mut block = vec![0; usize::from(header >> 1)];
        stream.read_exact(&mut block)?;
        message.extend_from_slice(&block);
        if header & 1 == 1 || message.len() as u64 > REPLY_BYTES {
            return Ok(String::from_utf8_lossy(&message).into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Replies, *};

    /// One block each: of what a server says first, to a login, and to the question.
    fn asked(blocks: &[&str], pid: u32) -> io::Result<Readiness> {
        let mut replies = Vec::new();
        for block in blocks {
            replies.extend_from_slice(&((block.len() as u16) << 1 | 1).to_le_bytes());
            replies.extend_from_slice(block.as_bytes());
        }
        let address = Address::Tcp { host: "127.0.0.1".to_owned(), port: 1 };
        ask(Replies(replies.leak()), &address, pid)
    }

    #[test]
    fn the_server_that_was_started_is_told_from_others() {
        const HELLO: &str = "salt:mserver:9:RIPEMD160:LIT:SHA512:";
        const TOLD: &str = "&1 0 1 1 1\n[ \"42\"\t]\n";
        assert_eq!(asked(&[HELLO, "", TOLD], 42).expect("read"), Readiness::Ready);
        for (blocks, pid, words) in [
            (&[HELLO, "", TOLD][..], 43, "process 42 answers"),
            (&["HTTP/1.1 400"], 42, "not MonetDB"),
            (&[HELLO, "!InvalidCredentialsException"], 42, "InvalidCredentials"),
            (&[HELLO, "", "&1 0 0 1 0\n"], 42, "does not tell"),
        ] {
            let asked = asked(blocks, pid).expect("it can be read");
            assert!(matches!(&asked, Readiness::NotYet(why) if why.contains(words)), "{asked:?}");
        }
        assert!(asked(&[HELLO], 42).is_err());
    }
}
