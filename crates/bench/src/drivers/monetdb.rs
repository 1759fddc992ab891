//! MonetDB's library in this process by its C interface (`monetdbe.h`), its statements prepared: what a
//! program has that does without the process that hosts it for the driver.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::Path,
    ptr, slice,
};

use anyhow::{Context, anyhow, bail, ensure};
use assay_systems::shared_library::{Opened, functions};

use super::{
    RECORDS,
    bare::{Bare, FIELD_BYTES, FIELDS, TABLE},
    key, record, sql,
};

type Raw = *mut c_void;
/// An error, or null.
type Words = *const c_char;

/// `monetdbe_options`.
#[repr(C)]
struct Options {
    memory_limit: c_int,
    query_timeout: c_int,
    session_timeout: c_int,
    threads: c_int,
    remote: *const c_void,
    mapi_server: *const c_void,
    trace_file: *const c_char,
}

/// `monetdbe_result`.
#[repr(C)]
struct Answer {
    rows: i64,
    columns: usize,
    name: *const c_char,
    last_id: i64,
}

/// The beginning of `monetdbe_column_str`.
#[repr(C)]
struct Texts {
    kind: c_int,
    texts: *const *const c_char,
    count: usize,
}

functions! {
    "monetdbe_":
    version: fn() -> *const c_char;
    open: fn(*mut Raw, *const c_char, *const Options) -> c_int;
    close: fn(Raw) -> c_int;
    query: fn(Raw, *const c_char, *mut *mut Answer, *mut i64) -> Words;
    prepare: fn(Raw, *const c_char, *mut Raw) -> Words;
    bind: fn(Raw, *const c_char, usize) -> Words;
    execute: fn(Raw, *mut *mut Answer, *mut i64) -> Words;
    result_fetch: fn(*mut Answer, *mut *mut Texts, usize) -> Words;
    cleanup_result: fn(Raw, *mut Answer) -> Words;
    cleanup_statement: fn(Raw, Raw) -> Words;
}

/// How the version of the interface begins whose structures these are: that of MonetDB 11.41.
const VERSION: &str = "2.0.";
/// Records that are put in by one statement.
const BATCH: u32 = 100;

/// A database in memory, its statements, and room for parameters, which end with NUL.
pub struct Monetdb {
    functions: &'static Functions,
    database: Raw,
    read: Raw,
    updates: Vec<Raw>,
    key: Vec<u8>,
    bytes: Vec<u8>,
}

impl Monetdb {
    /// Makes the table in a database in memory, and fills it.
    pub fn open(library: &Path, threads: usize) -> anyhow::Result<Monetdb> {
        static OPENED: Opened<Functions> = Opened::global("libmonetdbe");
        // SAFETY: the types are those of `monetdbe.h`, and its version is made sure of below.
        let functions = unsafe { OPENED.functions(library, Functions::of) };
        let functions = functions.map_err(|why| anyhow!("{}: {why}", library.display()))?;
        // SAFETY: it returns a string constant of the library.
        let version = unsafe { CStr::from_ptr((functions.version)()) }.to_string_lossy();
        ensure!(version.starts_with(VERSION), "its version is {version}, and not {VERSION}*");
        let options = Options {
            memory_limit: 0,
            query_timeout: 0,
            session_timeout: 0,
            threads: c_int::try_from(threads)?,
            remote: ptr::null(),
            mapi_server: ptr::null(),
            trace_file: ptr::null(),
        };
        let mut database = ptr::null_mut();
        // SAFETY: the options live during the call, and the place for the database is ours.
        let state = unsafe { (functions.open)(&mut database, ptr::null(), &options) };
        ensure!(state == 0, "the database cannot be opened: error {state}");
        let (read, updates) = (ptr::null_mut(), Vec::new());
        let (key, bytes) = (Vec::new(), Vec::new());
        let mut monetdb = Monetdb { functions, database, read, updates, key, bytes };
        monetdb.fill()?;
        monetdb.read = monetdb.prepare(&sql::read("ycsb_key", "?"))?;
        for update in sql::updates("ycsb_key", ["?", "?"]) {
            let update = monetdb.prepare(&update)?;
            monetdb.updates.push(update);
        }
        Ok(monetdb)
    }

    fn fill(&self) -> anyhow::Result<()> {
        let columns: String = (0..FIELDS).map(|field| format!(", field{field} text")).collect();
        let key_column = "ycsb_key text NOT NULL PRIMARY KEY";
        self.run(&format!("CREATE TABLE {TABLE} ({key_column}{columns})"))?;
        self.run("START TRANSACTION")?;
        for first in (0..RECORDS).step_by(BATCH as usize) {
            let mut insert = format!("INSERT INTO {TABLE} VALUES ");
            for number in first..RECORDS.min(first + BATCH) {
                insert.push_str(if number == first { "('" } else { ", ('" });
                insert.push_str(str::from_utf8(&key(number))?);
                for field in record(number).chunks(FIELD_BYTES) {
                    insert.push_str("', '");
                    insert.push_str(str::from_utf8(field)?);
                }
                insert.push_str("')");
            }
            self.run(&insert)?;
        }
        self.run("COMMIT")?;
        self.run(&format!("ANALYZE sys.{TABLE}"))
    }

    fn run(&self, sql: &str) -> anyhow::Result<()> {
        let sql = CString::new(sql)?;
        let (answer, changed) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the database is open, the text lives during the call, and no answer is asked for.
        well(unsafe { (self.functions.query)(self.database, sql.as_ptr(), answer, changed) })
    }

    fn prepare(&self, sql: &str) -> anyhow::Result<Raw> {
        let sql = CString::new(sql)?;
        let mut prepared = ptr::null_mut();
        let prepare = self.functions.prepare;
        // SAFETY: the database is open, the text lives during the call, and the place is ours.
        well(unsafe { prepare(self.database, sql.as_ptr(), &mut prepared) })?;
        Ok(prepared)
    }

    /// Binds texts that end with NUL, and runs the statement; what is changed is returned, and what
    /// `look` gives of the answer.
    fn execute<T>(
        &self,
        statement: Raw,
        parameters: &[&CStr],
        look: impl FnOnce(*mut Answer) -> anyhow::Result<T>,
    ) -> anyhow::Result<(i64, T)> {
        let f = self.functions;
        let (mut answer, mut changed) = (ptr::null_mut(), 0);
        // SAFETY: the statement is ours, the parameters are texts and live during the calls, and the
        // answer is used by nothing after it was given back.
        unsafe {
            for (at, parameter) in parameters.iter().enumerate() {
                well((f.bind)(statement, parameter.as_ptr(), at))?;
            }
            well((f.execute)(statement, &mut answer, &mut changed))?;
            let given = look(answer);
            well((f.cleanup_result)(self.database, answer))?;
            Ok((changed, given?))
        }
    }

    /// The sum of the lengths of the fields of the one record in the answer.
    fn lengths(&self, answer: *mut Answer) -> anyhow::Result<usize> {
        // SAFETY: the answer is that of a query of texts that are not NULL, and lives during the call;
        // so do its columns, each of as many texts as is said.
        unsafe {
            ensure!((*answer).rows == 1, "{} records of the key", (*answer).rows);
            let mut sum = 0;
            for at in 0..FIELDS {
                let mut column = ptr::null_mut();
                well((self.functions.result_fetch)(answer, &mut column, at))?;
                let texts = slice::from_raw_parts((*column).texts, (*column).count);
                let text = *texts.first().context("no value")?;
                sum += CStr::from_ptr(text).count_bytes();
            }
            Ok(sum)
        }
    }
}

impl Bare for Monetdb {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        ended(&mut self.key, key);
        let key = CStr::from_bytes_with_nul(&self.key)?;
        let (_, length) = self.execute(self.read, &[key], |answer| self.lengths(answer))?;
        Ok(length)
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        ended(&mut self.key, key);
        ended(&mut self.bytes, bytes);
        let bytes = CStr::from_bytes_with_nul(&self.bytes)?;
        let key = CStr::from_bytes_with_nul(&self.key)?;
        let (changed, ()) = self.execute(self.updates[field], &[bytes, key], |_| Ok(()))?;
        ensure!(changed == 1, "{changed} records of the key");
        Ok(())
    }
}

impl Drop for Monetdb {
    fn drop(&mut self) {
        let f = self.functions;
        let statements = self.updates.iter().copied().chain([self.read]);
        // SAFETY: all of them are ours, and nothing uses them afterwards.
        unsafe {
            for statement in statements.filter(|statement| !statement.is_null()) {
                (f.cleanup_statement)(self.database, statement);
            }
            (f.close)(self.database);
        }
    }
}

/// Puts `text` into `room`, with NUL at its end.
fn ended(room: &mut Vec<u8>, text: &[u8]) {
    room.clear();
    room.extend_from_slice(text);
    room.push(0);
}

/// An error if MonetDB said one.
fn well(words: Words) -> anyhow::Result<()> {
    if words.is_null() {
        return Ok(());
    }
    // SAFETY: it is a string that lives until the next call.
    bail!("{}", unsafe { CStr::from_ptr(words) }.to_string_lossy().trim_end())
}
