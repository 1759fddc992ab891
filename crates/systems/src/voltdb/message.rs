//! The messages of the "VoltDB Client Wire Protocol": the login of version 1, and calls of stored
//! procedures and their responses of version 0.
//!
//! Every message begins with its length, without these four bytes, and its version. Numbers are
//! big-endian. A string or VARBINARY is its length in four bytes, -1 for NULL, and its bytes.

use assay_model::{FailureKind, Outcome};
use sha2::{Digest, Sha256};

/// The longest response that is read: the server sends no more than 50 MB.
const MAX_MESSAGE_BYTES: usize = 64 << 20;
const LENGTH_BYTES: usize = 4;

/// The codes of types.
const NULL: u8 = 1;
const TINYINT: u8 = 3;
const SMALLINT: u8 = 4;
const INTEGER: u8 = 5;
const BIGINT: u8 = 6;
const FLOAT: u8 = 8;
const STRING: u8 = 9;
const TIMESTAMP: u8 = 11;
const TABLE: u8 = 21;
const DECIMAL: u8 = 22;
const VARBINARY: u8 = 25;

/// Which parts of a response are there.
const WITH_STATUS_TEXT: u8 = 1 << 5;
const WITH_EXCEPTION: u8 = 1 << 6;
const WITH_APPLICATION_TEXT: u8 = 1 << 7;

/// Appends the login. The password goes as its SHA-256.
pub(super) fn login(user: &str, password: &str, out: &mut Vec<u8>) {
    const VERSION: u8 = 1;
    const SHA_256: u8 = 1;
    let start = begin(out);
    out.extend_from_slice(&[VERSION, SHA_256]);
    string(b"database", out);
    string(user.as_bytes(), out);
    out.extend_from_slice(&Sha256::digest(password));
    end(start, out);
}

fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    start
}

/// Writes the length of what was begun at `start`.
fn end(start: usize, out: &mut [u8]) {
    let length = (out.len() - start - LENGTH_BYTES) as u32;
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
}

fn string(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// What the server is to give back with each response. No second call is made before all responses are
/// there, so they need not be told apart.
const CALL: [u8; 8] = 1u64.to_be_bytes();

/// The beginning of a call of the procedure `name`, which takes `parameters`.
pub(super) fn head(name: &str, parameters: u16) -> Box<[u8]> {
    let mut head = vec![0];
    string(name.as_bytes(), &mut head);
    head.extend_from_slice(&CALL);
    head.extend_from_slice(&parameters.to_be_bytes());
    head.into()
}

/// A call of a procedure, being written.
pub(super) struct Call<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Call<'a> {
    /// Begins the call that `head` is of. Its parameters follow, then [`Call::end`].
    pub(super) fn begin(head: &[u8], out: &'a mut Vec<u8>) -> Call<'a> {
        let start = begin(out);
        out.extend_from_slice(head);
        Call { out, start }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.out.push(VARBINARY);
        string(bytes, self.out);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.out.push(STRING);
        string(text.as_bytes(), self.out);
    }

    pub(super) fn null(&mut self) {
        self.out.push(NULL);
    }

    pub(super) fn number(&mut self, number: i64) {
        self.out.push(BIGINT);
        self.out.extend_from_slice(&number.to_be_bytes());
    }

    /// A number of one byte.
    pub(super) fn small(&mut self, number: u8) {
        self.out.extend_from_slice(&[TINYINT, number]);
    }

    /// A table of `count` rows of VARBINARY columns with these names, which [`rows`](RowWriter) wrote.
    pub(super) fn table(&mut self, columns: &[String], rows: &RowWriter) {
        self.out.push(TABLE);
        let start = begin(self.out);
        let header = begin(self.out);
        // A status that no table has.
        self.out.push(0x80);
        self.out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
        self.out.resize(self.out.len() + columns.len(), VARBINARY);
        columns.iter().for_each(|name| string(name.as_bytes(), self.out));
        end(header, self.out);
        self.out.extend_from_slice(&rows.count.to_be_bytes());
        self.out.extend_from_slice(&rows.bytes);
        end(start, self.out);
    }

    pub(super) fn end(self) {
        end(self.start, self.out);
    }
}

/// Rows of VARBINARY columns, as a table has them.
#[derive(Default)]
pub(super) struct RowWriter {
    bytes: Vec<u8>,
    count: u32,
}

impl RowWriter {
    /// Appends a row; `None` is NULL.
    pub(super) fn row<'a>(&mut self, values: impl Iterator<Item = Option<&'a [u8]>>) {
        let start = begin(&mut self.bytes);
        for value in values {
            match value {
                Some(bytes) => string(bytes, &mut self.bytes),
                None => self.bytes.extend_from_slice(&(-1i32).to_be_bytes()),
            }
        }
        end(start, &mut self.bytes);
        self.count += 1;
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// What is wrong with a message that does not follow the protocol.
pub(super) const MALFORMED: &str = "a message that ends before its parts";

/// Bytes being read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(MALFORMED)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(MALFORMED)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> Result<u8, &'static str> {
        Ok(self.array::<1>()?[0])
    }

    /// A number of four bytes that counts something.
    fn count(&mut self) -> Result<usize, &'static str> {
        usize::try_from(i32::from_be_bytes(self.array()?)).map_err(|_| MALFORMED)
    }

    fn string(&mut self) -> Result<Option<&'a [u8]>, &'static str> {
        match i32::from_be_bytes(self.array()?) {
            -1 => Ok(None),
            length => self.take(usize::try_from(length).map_err(|_| MALFORMED)?).map(Some),
        }
    }
}

/// The first message in `input` without its length, and how many bytes it takes. `None`: the rest of
/// it has not come.
fn message(input: &[u8]) -> Result<Option<(Reader<'_>, usize)>, &'static str> {
    let Some((length, rest)) = input.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    if length > MAX_MESSAGE_BYTES {
        return Err("a length that no message of VoltDB has");
    }
    Ok(rest.get(..length).map(|message| (Reader(message), LENGTH_BYTES + length)))
}

/// The build of the server that let a user in, or the code of why not.
pub(super) type Welcome = Result<String, i8>;

/// The answer to a login at the beginning of `input`, and how many bytes it takes. `None`: the rest of
/// it has not come.
pub(super) fn welcome(input: &[u8]) -> Result<Option<(Welcome, usize)>, &'static str> {
    let Some((mut reader, length)) = message(input)? else { return Ok(None) };
    reader.byte()?;
    let code = reader.byte()? as i8;
    if code != 0 {
        return Ok(Some((Err(code), length)));
    }
    // Host, connection, the time of the start, the leader's address.
    reader.take(4 + 8 + 8 + 4)?;
    let build = reader.string()?.unwrap_or_default();
    Ok(Some((Ok(String::from_utf8_lossy(build).into_owned()), length)))
}

/// The answer to a call.
pub(super) struct Response<'a> {
    pub status: i8,
    /// Why it failed.
    pub text: &'a [u8],
    tables: u16,
    rest: Reader<'a>,
}

/// The procedure did what it was asked.
pub(super) const SUCCESS: i8 = 1;

/// The response at the beginning of `input`, and how many bytes it takes. `None`: the rest of it has
/// not come.
pub(super) fn response(input: &[u8]) -> Result<Option<(Response<'_>, usize)>, &'static str> {
    let Some((mut reader, length)) = message(input)? else { return Ok(None) };
    reader.byte()?;
    if reader.array()? != CALL {
        return Err("a response to what was not called");
    }
    let parts = reader.byte()?;
    let status = reader.byte()? as i8;
    let text = if parts & WITH_STATUS_TEXT != 0 { reader.string()? } else { None };
    // The status that a procedure's author gives, and how long it took.
    reader.byte()?;
    if parts & WITH_APPLICATION_TEXT != 0 {
        reader.string()?;
    }
    reader.take(4)?;
    if parts & WITH_EXCEPTION != 0 {
        reader.string()?;
    }
    let tables = u16::from_be_bytes(reader.array()?);
    let text = text.unwrap_or_default();
    Ok(Some((Response { status, text, tables, rest: reader }, length)))
}

impl<'a> Response<'a> {
    /// The next table of the response.
    pub(super) fn table(&mut self) -> Result<Option<Table<'a>>, &'static str> {
        if self.tables == 0 {
            return Ok(None);
        }
        self.tables -= 1;
        let length = self.rest.count()?;
        let mut table = Reader(self.rest.take(length)?);
        let length = table.count()?;
        let mut header = Reader(table.take(length)?);
        header.byte()?;
        let columns = u16::from_be_bytes(header.array()?);
        let types = header.take(columns.into())?;
        let rows = table.count()?;
        Ok(Some(Table { types, rows, rest: table }))
    }

    /// What kind of failure it reports, in the server's words.
    pub(super) fn failure(&self) -> Outcome {
        const UNAVAILABLE: i8 = -5;
        const TIMEOUT: i8 = -6;
        const LOST: [i8; 2] = [-4, -7];
        let text = String::from_utf8_lossy(self.text);
        let kind = match self.status {
            // A server whose memory is used up to its limit pauses.
            UNAVAILABLE if text.contains("paused") => FailureKind::Full,
            TIMEOUT => FailureKind::Timeout,
            lost if LOST.contains(&lost) => FailureKind::Disconnected,
            _ if text.contains("Constraint Type UNIQUE") => FailureKind::Conflict,
            _ if text.contains("query timeout period") => FailureKind::Timeout,
            _ => FailureKind::Rejected,
        };
        Outcome::failed(kind, said(&text, self.status))
    }
}

/// What a server said, without the records that it shows with it.
pub(super) fn said(text: &str, status: i8) -> String {
    const MOST: usize = 400;
    let shown = text.split("Relevant Tuples").next().unwrap_or_default();
    let words: Vec<&str> = shown.split_whitespace().collect();
    match words.join(" ") {
        none if none.is_empty() => format!("status {status}"),
        short => short.chars().take(MOST).collect(),
    }
}

/// A table of a response.
pub(super) struct Table<'a> {
    types: &'a [u8],
    rows: usize,
    rest: Reader<'a>,
}

impl<'a> Table<'a> {
    /// The next row.
    pub(super) fn row(&mut self) -> Result<Option<Row<'a>>, &'static str> {
        if self.rows == 0 {
            return Ok(None);
        }
        self.rows -= 1;
        let length = self.rest.count()?;
        Ok(Some(Row { types: self.types, rest: Reader(self.rest.take(length)?) }))
    }
}

/// A row of a table.
pub(super) struct Row<'a> {
    types: &'a [u8],
    rest: Reader<'a>,
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// NULL, where it is no number.
    Null,
    /// A string or VARBINARY.
    Bytes(&'a [u8]),
    /// A whole number or a time.
    Number(i64),
    /// A number of another kind.
    Other,
}

impl<'a> Row<'a> {
    /// The next value.
    pub(super) fn value(&mut self) -> Result<Option<Value<'a>>, &'static str> {
        let Some((kind, types)) = self.types.split_first() else { return Ok(None) };
        self.types = types;
        let rest = &mut self.rest;
        Ok(Some(match *kind {
            STRING | VARBINARY => rest.string()?.map_or(Value::Null, Value::Bytes),
            BIGINT | TIMESTAMP => Value::Number(i64::from_be_bytes(rest.array()?)),
            INTEGER => Value::Number(i32::from_be_bytes(rest.array()?).into()),
            SMALLINT => Value::Number(i16::from_be_bytes(rest.array()?).into()),
            TINYINT => Value::Number((rest.byte()? as i8).into()),
            FLOAT => rest.take(8).map(|_| Value::Other)?,
            DECIMAL => rest.take(16).map(|_| Value::Other)?,
            _ => return Err("a column of an unknown type"),
        }))
    }
}
