//! The messages about several records: queries of a secondary index, for one value. No I/O.
//!
//! Source: Aerospike's published wire protocol, and how its server, from 7.0 on, takes a query of an index of
//! blobs. Such an index has the hashes of the values: it answers for equality, not for ranges.

use super::message::{self, BLOB, READ, Request};

/// In the first flags: a query that reads few records, and is answered without being made a job.
const SHORT: u8 = 1 << 2;
/// In the third flags of a request: partitions that have no more records may be told of; in those of a
/// reply: this tells of one.
const PARTITION_DONE: u8 = 1 << 2;
/// In the third flags of a reply: nothing follows.
const LAST: u8 = 1;

const FIELD_PARTITIONS: u8 = 11;
const FIELD_MOST: u8 = 13;
const FIELD_RANGE: u8 = 22;

/// The longest value that an index of blobs takes.
pub(super) const MAX_INDEXED_BYTES: usize = 2047;

/// How many partitions a namespace has.
pub(super) const PARTITIONS: u16 = 4096;

/// The encoded list of the partitions that a node is asked about.
pub(super) fn partitions(numbers: impl IntoIterator<Item = u16>) -> Vec<u8> {
    let list: Vec<u8> = numbers.into_iter().flat_map(u16::to_le_bytes).collect();
    let mut out = Vec::with_capacity(list.len() + 5);
    message::field(FIELD_PARTITIONS, &list, &mut out);
    out
}

/// Which records a query asks for.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    /// The encoded namespace and set.
    pub(super) place: &'a [u8],
    /// The encoded list of partitions.
    pub(super) partitions: &'a [u8],
    /// The indexed bin.
    pub(super) bin: &'a [u8],
    /// The value it has.
    pub(super) value: &'a [u8],
    /// The most records wanted, not 0.
    pub(super) most: u32,
    /// The bin wanted; `None`: every one.
    pub(super) wanted: Option<&'a [u8]>,
}

impl Query<'_> {
    /// Appends the request.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let flags = [READ | SHORT, 0, PARTITION_DONE];
        let operations = u16::from(self.wanted.is_some());
        // Namespace, set, partitions, range and most.
        let mut request = Request::headed(flags, 0, 5, operations, out);
        request.fields(self.place);
        request.fields(self.partitions);
        let length = (self.value.len() as u32).to_be_bytes();
        let ranges_and_name = [1, self.bin.len() as u8];
        // From the value to the value.
        request.field(
            FIELD_RANGE,
            &[&ranges_and_name, self.bin, &[BLOB], &length, self.value, &length, self.value],
        );
        request.field(FIELD_MOST, &[&u64::from(self.most).to_be_bytes()]);
        if let Some(bin) = self.wanted {
            request.read(bin);
        }
        request.end();
    }
}

/// What a message of the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// A record.
    Record { key: &'a [u8], bins: message::Bins<'a> },
    /// What is of no consequence.
    Nothing,
    /// The query failed, or a partition was not there, with this result.
    Refused { code: u8, ends: bool },
    /// There is no more.
    End,
}

/// The first part of an answer, and what follows it.
pub(super) fn part(messages: &[u8]) -> Result<(Part<'_>, &[u8]), &'static str> {
    const NOT_FOUND: u8 = 2;
    let (message, rest) = message::first(messages)?;
    let partition = message.info3 & PARTITION_DONE != 0;
    let last = message.info3 & LAST != 0;
    let part = match (message.code, message.key) {
        (0 | NOT_FOUND, _) if last => Part::End,
        (0, Some(key)) if !partition => Part::Record { key, bins: message.bins },
        (0, None) if !partition => return Err("a record without its key"),
        (0, _) => Part::Nothing,
        // Only one about a partition is followed by others.
        (code, _) => Part::Refused { code, ends: !partition },
    };
    Ok((part, rest))
}

#[cfg(test)]
mod tests {
    use super::{super::message::FIELD_KEY, *};

    #[test]
    fn a_query_is_as_the_protocol_has_it() {
        let place = message::place(b"test", b"s");
        let query = Query {
            place: &place,
            partitions: &partitions([1, 258]),
            bin: b"f",
            value: b"v1",
            most: 3,
            wanted: Some(b"g"),
        };
        let mut out = Vec::new();
        query.encode(&mut out);
        let expected = [
            &[2, 3, 0, 0, 0, 0, 0, 89][..],
            &[22, 5, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 1],
            &[0, 0, 0, 5, 0],
            b"test",
            &[0, 0, 0, 2, 1],
            b"s",
            &[0, 0, 0, 5, 11, 1, 0, 2, 1],
            &[0, 0, 0, 17, 22, 1, 1],
            b"f",
            &[4, 0, 0, 0, 2],
            b"v1",
            &[0, 0, 0, 2],
            b"v1",
            &[0, 0, 0, 9, 13, 0, 0, 0, 0, 0, 0, 0, 3],
            &[0, 0, 0, 5, 1, 0, 0, 1],
            b"g",
        ]
        .concat();
        assert_eq!(out, expected);
    }

    /// A message without bins.
    fn told(code: u8, info3: u8, key: Option<&[u8]>) -> Vec<u8> {
        let mut out = vec![22, 0, 0, info3, 0, code];
        out.extend_from_slice(&[0; 13]);
        out.extend_from_slice(&[u8::from(key.is_some()), 0, 0]);
        if let Some(key) = key {
            message::field(FIELD_KEY, &[&[BLOB], key].concat(), &mut out);
        }
        out
    }

    #[test]
    fn each_part_of_an_answer_is_told_from_the_others() {
        let all = [told(0, 0, Some(b"k")), told(0, 4, None), told(11, 4, None), told(0, 1, None)];
        let all = all.concat();
        let (record, rest) = part(&all).unwrap();
        assert!(matches!(record, Part::Record { key: b"k", .. }), "{record:?}");
        let (nothing, rest) = part(rest).unwrap();
        let (gone, rest) = part(rest).unwrap();
        let (end, rest) = part(rest).unwrap();
        let refused = Part::Refused { code: 11, ends: false };
        assert_eq!([nothing, gone, end], [Part::Nothing, refused, Part::End]);
        assert!(rest.is_empty());
        for (code, info3) in [(201, 0), (9, 1)] {
            let failed = told(code, info3, None);
            assert_eq!(part(&failed).unwrap().0, Part::Refused { code, ends: true });
        }
        assert!(part(&told(0, 0, None)).is_err());
        assert!(part(b"\x16").is_err());
    }
}
