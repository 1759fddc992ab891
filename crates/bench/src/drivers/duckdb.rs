//! DuckDB by its C interface (`duckdb.h`), its statements prepared, as the driver opens it at durability
//! level none.

use std::{
    ffi::{CStr, CString, c_char, c_void},
    mem,
    path::Path,
    ptr,
};

use anyhow::{anyhow, bail, ensure};
use assay_systems::shared_library::{Opened, functions};

use super::{
    RECORDS,
    bare::{Bare, FIELD_BYTES, FIELDS, TABLE},
    key, record, sql,
};

type Raw = *mut c_void;
type State = i32;

/// `duckdb_result`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Answer {
    deprecated: [usize; 5],
    data: Raw,
}

impl Answer {
    const EMPTY: Answer = Answer { deprecated: [0; 5], data: ptr::null_mut() };
}

/// `duckdb_string_t`, in which a BLOB stands or is pointed to.
#[repr(C)]
struct Blob {
    length: u32,
    beginning: [u8; 4],
    rest: *const u8,
}

functions! {
    "duckdb_":
    create_config: fn(*mut Raw) -> State;
    set_config: fn(Raw, *const c_char, *const c_char) -> State;
    destroy_config: fn(*mut Raw);
    open_ext: fn(*const c_char, *mut Raw, Raw, *mut *mut c_char) -> State;
    close: fn(*mut Raw);
    connect: fn(Raw, *mut Raw) -> State;
    disconnect: fn(*mut Raw);
    query: fn(Raw, *const c_char, *mut Answer) -> State;
    prepare: fn(Raw, *const c_char, *mut Raw) -> State;
    destroy_prepare: fn(*mut Raw);
    bind_blob: fn(Raw, u64, *const u8, u64) -> State;
    execute_prepared: fn(Raw, *mut Answer) -> State;
    destroy_result: fn(*mut Answer);
    result_error: fn(*mut Answer) -> *const c_char;
    rows_changed: fn(*mut Answer) -> u64;
    fetch_chunk: fn(Answer) -> Raw;
    destroy_data_chunk: fn(*mut Raw);
    data_chunk_get_size: fn(Raw) -> u64;
    data_chunk_get_vector: fn(Raw, u64) -> Raw;
    vector_get_data: fn(Raw) -> *const Blob;
    appender_create: fn(Raw, *const c_char, *const c_char, *mut Raw) -> State;
    append_blob: fn(Raw, *const u8, u64) -> State;
    appender_end_row: fn(Raw) -> State;
    appender_destroy: fn(*mut Raw) -> State;
}

/// A connection and its statements.
pub struct Duckdb {
    functions: &'static Functions,
    database: Raw,
    connection: Raw,
    read: Raw,
    updates: Vec<Raw>,
}

impl Duckdb {
    /// Makes the table in a database in memory, and fills it.
    pub fn open(library: &Path) -> anyhow::Result<Duckdb> {
        static OPENED: Opened<Functions> = Opened::new("libduckdb");
        // SAFETY: the driver has opened the same library, and the types are those of `duckdb.h`.
        let functions = unsafe { OPENED.functions(library, Functions::of) };
        let functions = functions.map_err(|why| anyhow!("{}: {why}", library.display()))?;
        let (database, connection) = connect(functions)?;
        let (read, updates) = (ptr::null_mut(), Vec::new());
        let mut duckdb = Duckdb { functions, database, connection, read, updates };
        let columns: String =
            (0..FIELDS).map(|field| format!(", field{field} BLOB NOT NULL")).collect();
        duckdb.run(&format!("CREATE TABLE {TABLE} (key BLOB NOT NULL PRIMARY KEY{columns})"))?;
        duckdb.fill()?;
        duckdb.run("CHECKPOINT")?;
        duckdb.read = duckdb.prepare(&sql::read("key", "$1"))?;
        for update in sql::updates("key", ["$1", "$2"]) {
            let update = duckdb.prepare(&update)?;
            duckdb.updates.push(update);
        }
        Ok(duckdb)
    }

    fn fill(&self) -> anyhow::Result<()> {
        let f = self.functions;
        let table = CString::new(TABLE)?;
        let mut appender = ptr::null_mut();
        // SAFETY: the connection is open, the table's name and the bytes live during the calls, and
        // the appender, which is ours, is used by nothing after it was destroyed.
        unsafe {
            let create = f.appender_create;
            well(create(self.connection, ptr::null(), table.as_ptr(), &mut appender))?;
            for number in 0..RECORDS {
                let (key, record) = (key(number), record(number));
                well((f.append_blob)(appender, key.as_ptr(), key.len() as u64))?;
                for field in record.chunks(FIELD_BYTES) {
                    well((f.append_blob)(appender, field.as_ptr(), field.len() as u64))?;
                }
                well((f.appender_end_row)(appender))?;
            }
            well((f.appender_destroy)(&mut appender))
        }
    }

    fn run(&self, sql: &str) -> anyhow::Result<()> {
        let sql = CString::new(sql)?;
        let mut answer = Answer::EMPTY;
        // SAFETY: the connection is open, the text lives during the call, the answer is ours.
        let state = unsafe { (self.functions.query)(self.connection, sql.as_ptr(), &mut answer) };
        self.done(state, &mut answer, |_| ())
    }

    fn prepare(&self, sql: &str) -> anyhow::Result<Raw> {
        let sql = CString::new(sql)?;
        let mut prepared = ptr::null_mut();
        // SAFETY: the connection is open, the text lives during the call, the place is ours.
        well(unsafe { (self.functions.prepare)(self.connection, sql.as_ptr(), &mut prepared) })?;
        Ok(prepared)
    }

    /// What `look` gives of the answer to `statement` with these parameters, which is given back.
    fn execute<T>(
        &self,
        statement: Raw,
        parameters: &[&[u8]],
        look: impl FnOnce(&mut Answer) -> T,
    ) -> anyhow::Result<T> {
        let f = self.functions;
        let mut answer = Answer::EMPTY;
        // SAFETY: the statement and the answer are ours, and the parameters live during the calls.
        let state = unsafe {
            for (parameter, number) in parameters.iter().zip(1..) {
                let length = parameter.len() as u64;
                well((f.bind_blob)(statement, number, parameter.as_ptr(), length))?;
            }
            (f.execute_prepared)(statement, &mut answer)
        };
        self.done(state, &mut answer, look)
    }

    fn done<T>(
        &self,
        state: State,
        answer: &mut Answer,
        look: impl FnOnce(&mut Answer) -> T,
    ) -> anyhow::Result<T> {
        // SAFETY: the answer is ours, and that of a call that was made; its words live as long.
        unsafe {
            let given = match state {
                0 => Ok(look(answer)),
                _ => {
                    let words = (self.functions.result_error)(answer);
                    let known = !words.is_null();
                    let words = known.then(|| CStr::from_ptr(words).to_string_lossy());
                    Err(anyhow!("{}", words.unwrap_or("it does not say why".into())))
                }
            };
            (self.functions.destroy_result)(answer);
            given
        }
    }

    /// The sum of the lengths of all values.
    fn lengths(&self, answer: &mut Answer) -> usize {
        let f = self.functions;
        let mut sum = 0;
        // SAFETY: a chunk is ours until it is destroyed; its columns are BLOBs that are not NULL, one
        // a row.
        unsafe {
            loop {
                let mut chunk = (f.fetch_chunk)(*answer);
                if chunk.is_null() {
                    return sum;
                }
                let rows = (f.data_chunk_get_size)(chunk) as usize;
                for column in 0..FIELDS as u64 {
                    let values = (f.vector_get_data)((f.data_chunk_get_vector)(chunk, column));
                    sum += (0..rows).map(|row| (*values.add(row)).length as usize).sum::<usize>();
                }
                (f.destroy_data_chunk)(&mut chunk);
            }
        }
    }
}

impl Bare for Duckdb {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        self.execute(self.read, &[key], |answer| self.lengths(answer))
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let count = |answer: &mut Answer| {
            // SAFETY: the answer is ours, and that of a call that succeeded.
            unsafe { (self.functions.rows_changed)(answer) }
        };
        let changed = self.execute(self.updates[field], &[key, bytes], count)?;
        ensure!(changed == 1, "{changed} records of the key");
        Ok(())
    }
}

impl Drop for Duckdb {
    fn drop(&mut self) {
        let f = self.functions;
        let statements = mem::take(&mut self.updates).into_iter().chain([self.read]);
        // SAFETY: all of them are ours, and nothing uses them afterwards; a statement that was not
        // prepared yet may be given back as well.
        unsafe {
            statements.for_each(|mut statement| (f.destroy_prepare)(&mut statement));
            (f.disconnect)(&mut self.connection);
            (f.close)(&mut self.database);
        }
    }
}

/// A database in memory, with the driver's settings, and a connection to it.
fn connect(f: &Functions) -> anyhow::Result<(Raw, Raw)> {
    let (mut config, mut database, mut connection) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: the places are ours, and what is put into them is used as `duckdb.h` says.
    unsafe {
        well((f.create_config)(&mut config))?;
        for (name, value) in [
            (c"threads", c"1"),
            (c"autoinstall_known_extensions", c"false"),
            (c"autoload_known_extensions", c"false"),
            (c"temp_directory", c""),
        ] {
            well((f.set_config)(config, name.as_ptr(), value.as_ptr()))?;
        }
        well((f.open_ext)(ptr::null(), &mut database, config, ptr::null_mut()))?;
        (f.destroy_config)(&mut config);
        well((f.connect)(database, &mut connection))?;
    }
    Ok((database, connection))
}

/// An error if DuckDB refused.
fn well(state: State) -> anyhow::Result<()> {
    if state != 0 {
        bail!("DuckDB refused a call");
    }
    Ok(())
}
