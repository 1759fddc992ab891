//! Aerospike, asked by its info protocol. It has no command that tells its process number; but it tells
//! the name of its cluster, which no other has that Assay started. It takes requests before it has given its
//! partitions out, and refuses those about records until then: its first generation of partitions is -1.

use std::{io, path::Path};

use super::{REPLY_BYTES, Readiness, Stream, cassandra::cluster_name};

/// Version 2, an info request, and the length of the lines that follow.
const REQUEST: &[u8] = b"\x02\x01\0\0\0\0\0\x22cluster-name\npartition-generation\n";
const REPLY: [u8; 2] = [2, 1];

/// Asks for the name of the cluster, which is to be that of the server with its data in `data`.
pub(super) fn ask(mut stream: impl Stream, data: &Path) -> io::Result<Readiness> {
    stream.write_all(REQUEST)?;
    let mut header = [0; 8];
    stream.read_exact(&mut header)?;
    let [version, kind, length @ ..] = header;
    let length = length.iter().fold(0, |length, byte| length << 8 | u64::from(*byte));
    if [version, kind] != REPLY || length > REPLY_BYTES {
        return Ok(Readiness::NotYet("what answers does not speak its protocol".to_owned()));
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    let answer = String::from_utf8_lossy(&body);
    let told = |name: &str| {
        let of = |line: &'_ str| Some(line.split_once('\t')?.0 == name);
        let line = answer.lines().find(|line| of(line) == Some(true));
        line.and_then(|line| line.split_once('\t')).map(|(_, value)| value).unwrap_or_default()
    };
    let (name, wanted) = (told("cluster-name"), cluster_name(data));
    if name != wanted {
        return Ok(Readiness::NotYet(format!(
            "a server of another cluster, '{name}', answers at its address, and not that of '{wanted}'"
        )));
    }
    Ok(match told("partition-generation") {
        "-1" | "" => Readiness::NotYet("it has not given its partitions out".to_owned()),
        _ => Readiness::Ready,
    })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Replies, *};

    #[test]
    fn a_node_is_asked_for_the_name_of_its_cluster() {
        let asked = |reply| ask(Replies(reply), Path::new("/nowhere/assay-aerospike-1/data"));
        let ours =
            b"\x02\x01\0\0\0\0\0\x36cluster-name\tassay-aerospike-1\npartition-generation\t0\n";
        assert_eq!(asked(ours).expect("read"), Readiness::Ready);
        for other in [
            &b"\x02\x01\0\0\0\0\0\x29cluster-name\tnull\npartition-generation\t0\n"[..],
            b"\x02\x01\0\0\0\0\0\x37cluster-name\tassay-aerospike-1\npartition-generation\t-1\n",
            b"\x02\x01\0\0\0\0\0\x1fcluster-name\tassay-aerospike-1\n",
            b"\x02\x01\xff\xff\xff\xff\xff\xff",
            b"HTTP/1.1 400",
            b"\x02",
        ] {
            let found = asked(other);
            assert!(!matches!(found, Ok(Readiness::Ready)), "{found:?}");
        }
    }
}
