//! Frames and notations of the native protocol, version 4 (`native_protocol_v4.spec`, sections 2 to 4).

/// The first byte of a request and of a response of version 4.
const REQUEST: u8 = 0x04;
const RESPONSE: u8 = 0x84;
/// How long the header of a frame is.
pub(super) const HEADER_BYTES: usize = 9;
/// The longest body of a frame.
const LONGEST: usize = 256 << 20;

/// What a frame is.
pub(super) mod opcode {
    pub const ERROR: u8 = 0x00;
    pub const STARTUP: u8 = 0x01;
    pub const READY: u8 = 0x02;
    pub const AUTHENTICATE: u8 = 0x03;
    pub const OPTIONS: u8 = 0x05;
    pub const SUPPORTED: u8 = 0x06;
    pub const QUERY: u8 = 0x07;
    pub const RESULT: u8 = 0x08;
    pub const PREPARE: u8 = 0x09;
    pub const EXECUTE: u8 = 0x0a;
    pub const AUTH_RESPONSE: u8 = 0x0f;
    pub const AUTH_SUCCESS: u8 = 0x10;
}

/// The kinds of result.
const VOID: u32 = 1;
const ROWS: u32 = 2;
const SET_KEYSPACE: u32 = 3;
const PREPARED: u32 = 4;
const SCHEMA_CHANGE: u32 = 5;

/// Flags of a frame: what its body begins with.
const TRACED: u8 = 0x02;
const PAYLOAD: u8 = 0x04;
const WARNED: u8 = 0x08;

/// Flags of the description of rows.
const ONE_TABLE: u32 = 0x01;
const MORE_PAGES: u32 = 0x02;
const NO_COLUMNS: u32 = 0x04;

/// A whole response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub opcode: u8,
    /// The number of the request that it answers.
    pub stream: u16,
    /// The message, without what may stand before it.
    pub body: &'a [u8],
}

/// The response that `input` begins with, and its length, if it is all there.
pub(super) fn first(input: &[u8]) -> Result<Option<(Frame<'_>, usize)>, &'static str> {
    let Some(&[version, flags, high, low, opcode, ref length @ ..]) =
        input.first_chunk::<HEADER_BYTES>()
    else {
        // What is no response shows at once, and might never be as long as a header.
        return match input.first() {
            Some(&version) if version != RESPONSE => Err(NO_FRAME),
            _ => Ok(None),
        };
    };
    if version != RESPONSE {
        return Err(NO_FRAME);
    }
    let length = u32::from_be_bytes(*length) as usize;
    if length > LONGEST {
        return Err("a frame of more than 256 MiB");
    }
    let Some(body) = input.get(HEADER_BYTES..HEADER_BYTES + length) else { return Ok(None) };
    let body = message(flags, body).ok_or("a frame cut short")?;
    let stream = u16::from_be_bytes([high, low]);
    Ok(Some((Frame { opcode, stream, body }, HEADER_BYTES + length)))
}

const NO_FRAME: &str = "what is no response of version 4 of Cassandra's protocol";

/// The message behind what the flags say stands before it.
fn message(flags: u8, body: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader(body);
    if flags & TRACED != 0 {
        reader.take(16)?;
    }
    if flags & WARNED != 0 {
        for _ in 0..reader.short()? {
            reader.string()?;
        }
    }
    if flags & PAYLOAD != 0 {
        for _ in 0..reader.short()? {
            reader.string()?;
            reader.value()?;
        }
    }
    Some(reader.0)
}

/// Reads the protocol's notations; `None` where bytes are missing.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn short(&mut self) -> Option<u16> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*taken))
    }

    pub fn int(&mut self) -> Option<u32> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*taken))
    }

    /// `[string]`, and `[short bytes]`.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.short()?;
        self.take(length.into())
    }

    /// `[bytes]`; the inner `None` is null.
    pub fn value(&mut self) -> Option<Option<&'a [u8]>> {
        match self.int()? as i32 {
            length @ 0.. => Some(Some(self.take(length as usize)?)),
            _ => Some(None),
        }
    }

    /// Passes over a type. Those of the columns that Assay creates and asks for have no parameters, but
    /// for lists, sets and maps of them, and types of the server's own.
    fn pass_type(&mut self) -> Option<()> {
        match self.short()? {
            0x0000 => self.string().map(drop),
            0x0020 | 0x0022 => self.short().map(drop),
            0x0021 => self.int().map(drop),
            0x0030 | 0x0031 => None,
            _ => Some(()),
        }
    }
}

/// The body of a result.
#[derive(Clone, Copy)]
pub(super) enum Reply<'a> {
    /// Nothing to tell.
    Void,
    /// Rows of this many columns, which are what is left to read, a value a column.
    Rows { rows: u32, columns: u32, values: Reader<'a> },
    /// The number of a statement.
    Prepared(&'a [u8]),
}

impl<'a> Reply<'a> {
    /// Reads the body of a result; `None` if it is none.
    pub fn parse(body: &'a [u8]) -> Option<Reply<'a>> {
        let mut reader = Reader(body);
        match reader.int()? {
            VOID | SET_KEYSPACE | SCHEMA_CHANGE => Some(Reply::Void),
            PREPARED => Some(Reply::Prepared(reader.string()?)),
            ROWS => {
                let flags = reader.int()?;
                let columns = reader.int()?;
                if flags & MORE_PAGES != 0 {
                    reader.value()?;
                }
                if flags & NO_COLUMNS == 0 {
                    if flags & ONE_TABLE != 0 {
                        reader.string()?;
                        reader.string()?;
                    }
                    for _ in 0..columns {
                        if flags & ONE_TABLE == 0 {
                            reader.string()?;
                            reader.string()?;
                        }
                        reader.string()?;
                        reader.pass_type()?;
                    }
                }
                let rows = reader.int()?;
                Some(Reply::Rows { rows, columns, values: reader })
            }
            _ => None,
        }
    }
}

/// Begins a request; [`end`] gives it its length.
pub(super) fn begin(opcode: u8, stream: u16, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    let [high, low] = stream.to_be_bytes();
    out.extend_from_slice(&[REQUEST, 0, high, low, opcode, 0, 0, 0, 0]);
    start
}

/// Ends the request that began at `start`.
pub(super) fn end(start: usize, out: &mut [u8]) {
    let length = (out.len() - start - HEADER_BYTES) as u32;
    out[start + HEADER_BYTES - 4..start + HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
}

/// Appends a `[string]`.
pub(super) fn write_string(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text);
}

/// Appends a `[bytes]`, or a `[long string]`.
pub(super) fn write_value(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a `[value]` that leaves a column as it is.
pub(super) fn write_unset(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-2_i32).to_be_bytes());
}
