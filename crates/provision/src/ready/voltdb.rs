//! VoltDB, asked by its client protocol. It has no command that tells its process number; but it tells
//! the folder of its data, which no other server has.

use std::{io, path::Path};

use super::{REPLY_BYTES, Readiness, Stream};

/// A login of version 1, with a SHA-256, by nobody; that of an empty password follows. Without users of
/// its own, a server takes it.
const LOGIN: &[u8] = b"\x01\x01\0\0\0\x08database\0\0\0\0";
const NO_PASSWORD: [u8; 32] = [
    0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
    0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
];
/// Call 1, of `@SystemInformation` with the string `OVERVIEW`.
const CALL: &[u8] = b"\0\0\0\0\x12@SystemInformation\0\0\0\0\0\0\0\x01\0\x01\x09\0\0\0\x08OVERVIEW";

/// The folder that it makes in the one for its data.
const ROOT: &str = "voltdbroot";

/// Asks for the folder of the data, which is to be `data`.
pub(super) fn ask(mut stream: impl Stream, data: &Path) -> io::Result<Readiness> {
    // Its version, and 0 for who is let in.
    match request(&mut stream, &[LOGIN, &NO_PASSWORD].concat())?.as_slice() {
        [_, 0, ..] => {}
        [_, code, ..] => {
            return Ok(Readiness::NotYet(format!("it refuses the login with code {code}")));
        }
        _ => return Ok(Readiness::NotYet("what answers does not speak its protocol".to_owned())),
    }
    let overview = request(&mut stream, CALL)?;
    let mut folder = b"VOLTDBROOT".to_vec();
    let root = data.join(ROOT);
    let root = root.as_os_str().as_encoded_bytes();
    folder.extend_from_slice(&(root.len() as u32).to_be_bytes());
    folder.extend_from_slice(root);
    Ok(match overview.windows(folder.len()).any(|part| part == folder) {
        true => Readiness::Ready,
        false => Readiness::NotYet("a server of other data answers at its address".to_owned()),
    })
}

/// The answer to `words`.
fn request(stream: &mut impl Stream, words: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(&[&(words.len() as u32).to_be_bytes()[..], words].concat())?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u64::from(u32::from_be_bytes(length));
    if length > REPLY_BYTES {
        return Err(io::Error::other("what answers does not speak VoltDB's protocol"));
    }
    let mut answer = vec![0; length as usize];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::{super::tests::Replies, *};

    fn asked(replies: &'static [u8]) -> io::Result<Readiness> {
        ask(Replies(replies), Path::new("/d"))
    }

    #[test]
    fn the_server_with_the_data_is_told_from_others() {
        assert_eq!(NO_PASSWORD[..], Sha256::digest(b"")[..]);
        let ours = asked(b"\0\0\0\x02\0\0\0\0\0\x1d\0\0VOLTDBROOT\0\0\0\x0d/d/voltdbroot");
        assert_eq!(ours.unwrap(), Readiness::Ready);
        for replies in [
            &b"\0\0\0\x02\0\0\0\0\0\x1d\0\0VOLTDBROOT\0\0\0\x0d/e/voltdbroot"[..],
            b"\0\0\0\x02\0\xff",
            b"\0\0\0\x01\0",
        ] {
            assert!(matches!(asked(replies), Ok(Readiness::NotYet(_))), "{replies:?}");
        }
        assert!(asked(b"HTTP/1.1").is_err());
    }
}
