//! DuckDB's C interface, as far as it is used: a library opened while Assay runs, and a type for
//! each of its handles that frees what it owns. Nothing outside this file is unsafe.
//!
//! The declarations follow `duckdb.h` of DuckDB 1.5. DuckDB guards a connection by a lock of its
//! own, taken for each call, and a database may be used from any thread.

use std::{
    ffi::{CStr, CString, c_char, c_void},
    marker::PhantomData,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr, slice,
    sync::Arc,
};

use thiserror::Error;

use crate::shared_library::{Opened, functions};

/// What a function that can fail returns.
type State = i32;
const SUCCESS: State = 0;

type RawDatabase = *mut c_void;
type RawConnection = *mut c_void;
type RawConfig = *mut c_void;
type RawPrepared = *mut c_void;
type RawChunk = *mut c_void;
type RawVector = *mut c_void;
type RawAppender = *mut c_void;
type RawErrorData = *mut c_void;

/// `duckdb_result`. Only `internal_data` still has a meaning.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawResult {
    deprecated: [usize; 5],
    internal_data: *mut c_void,
}

impl RawResult {
    const EMPTY: RawResult = RawResult { deprecated: [0; 5], internal_data: ptr::null_mut() };
}

/// `duckdb_string_t`: a string of at most [`INLINED`](RawString::INLINED) bytes stands in `prefix`
/// and `rest`; of a longer one `prefix` has the beginning and `rest` the address.
#[repr(C)]
struct RawString {
    length: u32,
    prefix: [u8; 4],
    rest: *const u8,
}

impl RawString {
    const INLINED: usize = 12;
}

/// `DUCKDB_TYPE_VARCHAR` and `DUCKDB_TYPE_BLOB`, both of [`RawString`]s.
const STRINGS: [i32; 2] = [17, 18];

functions! {
    "duckdb_":
    library_version: fn() -> *const c_char;
    create_config: fn(*mut RawConfig) -> State;
    set_config: fn(RawConfig, *const c_char, *const c_char) -> State;
    destroy_config: fn(*mut RawConfig);
    open_ext: fn(*const c_char, *mut RawDatabase, RawConfig, *mut *mut c_char) -> State;
    close: fn(*mut RawDatabase);
    free: fn(*mut c_void);
    connect: fn(RawDatabase, *mut RawConnection) -> State;
    disconnect: fn(*mut RawConnection);
    query: fn(RawConnection, *const c_char, *mut RawResult) -> State;
    prepare: fn(RawConnection, *const c_char, *mut RawPrepared) -> State;
    prepare_error: fn(RawPrepared) -> *const c_char;
    destroy_prepare: fn(*mut RawPrepared);
    bind_blob: fn(RawPrepared, u64, *const c_void, u64) -> State;
    bind_int64: fn(RawPrepared, u64, i64) -> State;
    execute_prepared: fn(RawPrepared, *mut RawResult) -> State;
    destroy_result: fn(*mut RawResult);
    result_error: fn(*mut RawResult) -> *const c_char;
    result_error_type: fn(*mut RawResult) -> i32;
    rows_changed: fn(*mut RawResult) -> u64;
    column_count: fn(*mut RawResult) -> u64;
    column_type: fn(*mut RawResult, u64) -> i32;
    fetch_chunk: fn(RawResult) -> RawChunk;
    destroy_data_chunk: fn(*mut RawChunk);
    data_chunk_get_size: fn(RawChunk) -> u64;
    data_chunk_get_vector: fn(RawChunk, u64) -> RawVector;
    vector_get_data: fn(RawVector) -> *mut c_void;
    vector_get_validity: fn(RawVector) -> *mut u64;
    appender_create: fn(RawConnection, *const c_char, *const c_char, *mut RawAppender) -> State;
    append_blob: fn(RawAppender, *const c_void, u64) -> State;
    appender_end_row: fn(RawAppender) -> State;
    appender_flush: fn(RawAppender) -> State;
    appender_clear: fn(RawAppender) -> State;
    appender_destroy: fn(*mut RawAppender) -> State;
    appender_error_data: fn(RawAppender) -> RawErrorData;
    error_data_error_type: fn(RawErrorData) -> i32;
    error_data_message: fn(RawErrorData) -> *const c_char;
    destroy_error_data: fn(*mut RawErrorData);
}

/// What DuckDB said when it refused.
#[derive(Debug, Error)]
#[error("{message}")]
pub(super) struct Error {
    /// The kind, as `duckdb_error_type` numbers them; 0 if DuckDB gave none.
    pub(super) kind: i32,
    /// Its words.
    pub(super) message: String,
}

impl Error {
    fn untyped(message: impl Into<String>) -> Error {
        Error { kind: 0, message: message.into() }
    }
}

/// The text at `words`.
///
/// # Safety
/// `words` is null or the address of a string that ends with NUL and lives during the call.
unsafe fn text(words: *const c_char) -> String {
    if words.is_null() {
        return "it does not say why".to_owned();
    }
    // SAFETY: it is not null, and the rest is the caller's promise.
    unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned()
}

fn c_string(text: &[u8]) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::untyped("DuckDB takes no text with NUL in it"))
}

/// The library, opened.
#[derive(Clone, Copy)]
pub(super) struct Library(&'static Functions);

impl Library {
    /// Opens the library at `path`, or gives what was opened there before.
    pub(super) fn open(path: &Path) -> Result<Library, String> {
        static OPENED: Opened<Functions> = Opened::new("libduckdb of DuckDB 1.5 or later");
        // SAFETY: opening it runs the initializers of the C++ runtime and of DuckDB, which may be
        // run at any time in any process; that the file is DuckDB's, and so these names are those
        // functions, is what whoever named it says.
        unsafe { OPENED.functions(path, Functions::of) }.map(Library)
    }

    /// DuckDB's version, for example `1.5.6`.
    pub(super) fn version(self) -> String {
        // SAFETY: it returns a string constant of the library.
        let version = unsafe { text((self.0.library_version)()) };
        version.strip_prefix('v').unwrap_or(&version).to_owned()
    }
}

/// Settings to open a database with.
struct Config {
    library: Library,
    handle: RawConfig,
}

impl Config {
    fn new(library: Library, options: &[(&str, String)]) -> Result<Config, Error> {
        let mut config = Config { library, handle: ptr::null_mut() };
        // SAFETY: the place for the handle is ours.
        if unsafe { (library.0.create_config)(&mut config.handle) } != SUCCESS {
            return Err(Error { kind: super::OUT_OF_MEMORY, message: "no memory left".into() });
        }
        for (name, value) in options {
            let (c_name, c_value) = (c_string(name.as_bytes())?, c_string(value.as_bytes())?);
            // SAFETY: the handle was made above, and both texts live during the call.
            let state =
                unsafe { (library.0.set_config)(config.handle, c_name.as_ptr(), c_value.as_ptr()) };
            if state != SUCCESS {
                return Err(Error::untyped(format!("it does not take {name}={value}")));
            }
        }
        Ok(config)
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and also one that was never filled may be given back.
        unsafe { (self.library.0.destroy_config)(&mut self.handle) }
    }
}

/// An open database.
pub(super) struct Database {
    library: Library,
    handle: RawDatabase,
}

// SAFETY: DuckDB lets connections to a database be opened from any thread, and the last owner, on
// whatever thread, closes it.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens the database in `file`, made if it is not there, or a new one in memory.
    pub(super) fn open(
        library: Library,
        file: Option<&Path>,
        options: &[(&str, String)],
    ) -> Result<Database, Error> {
        let config = Config::new(library, options)?;
        let path = file.map(|file| c_string(file.as_os_str().as_bytes())).transpose()?;
        let path = path.as_ref().map_or(ptr::null(), |path| path.as_ptr());
        let (mut handle, mut why) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the path is null, for memory, or lives during the call as the configuration does;
        // the places for the handle and the error are ours.
        let state = unsafe { (library.0.open_ext)(path, &mut handle, config.handle, &mut why) };
        if state == SUCCESS {
            return Ok(Database { library, handle });
        }
        // SAFETY: the error is null or a string that is now ours, to be given back once read.
        let message = unsafe {
            let message = text(why);
            (library.0.free)(why.cast());
            message
        };
        Err(Error::untyped(message))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and each connection keeps the database that it is to.
        unsafe { (self.library.0.close)(&mut self.handle) }
    }
}

/// A connection to a database.
pub(super) struct Connection {
    database: Arc<Database>,
    handle: RawConnection,
}

// SAFETY: DuckDB takes the connection's own lock for each call, from whatever thread.
unsafe impl Send for Connection {}
// SAFETY: as above.
unsafe impl Sync for Connection {}

impl Connection {
    pub(super) fn open(database: Arc<Database>) -> Result<Connection, Error> {
        let mut handle = ptr::null_mut();
        // SAFETY: the database is open, and the place for the handle is ours.
        let state = unsafe { (database.library.0.connect)(database.handle, &mut handle) };
        if state != SUCCESS {
            return Err(Error::untyped("it does not take another connection"));
        }
        Ok(Connection { database, handle })
    }

    fn functions(&self) -> &'static Functions {
        self.database.library.0
    }

    /// Runs SQL without parameters.
    pub(super) fn query(&self, sql: &str) -> Result<Rows<'_>, Error> {
        let sql = c_string(sql.as_bytes())?;
        let mut rows = Rows::of(self);
        // SAFETY: the connection is open, the text lives during the call, the result is ours.
        let state =
            unsafe { (self.functions().query)(self.handle, sql.as_ptr(), &mut rows.result) };
        rows.checked(state)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and whatever uses it keeps or borrows the connection.
        unsafe { (self.functions().disconnect)(&mut self.handle) }
    }
}

/// A prepared statement. Its parameters keep their values until they get others.
pub(super) struct Prepared {
    connection: Arc<Connection>,
    handle: RawPrepared,
}

// SAFETY: what it does to its connection, the connection's own lock guards.
unsafe impl Send for Prepared {}

impl Prepared {
    pub(super) fn new(connection: &Arc<Connection>, sql: &str) -> Result<Prepared, Error> {
        let sql = c_string(sql.as_bytes())?;
        let mut prepared = Prepared { connection: Arc::clone(connection), handle: ptr::null_mut() };
        let functions = connection.functions();
        // SAFETY: the connection is open, the text lives during the call, the handle's place is
        // ours; a statement that was refused holds its error until it is destroyed.
        unsafe {
            let state = (functions.prepare)(connection.handle, sql.as_ptr(), &mut prepared.handle);
            if state != SUCCESS {
                return Err(Error::untyped(text((functions.prepare_error)(prepared.handle))));
            }
        }
        Ok(prepared)
    }

    /// Sets the parameter `number`, of which the first is 1, to bytes, which are copied.
    pub(super) fn bind_bytes(&mut self, number: usize, bytes: &[u8]) -> Result<(), Error> {
        // SAFETY: the statement is ours, and the bytes live during the call.
        let state = unsafe {
            (self.connection.functions().bind_blob)(
                self.handle,
                number as u64,
                bytes.as_ptr().cast(),
                bytes.len() as u64,
            )
        };
        bound(state, number)
    }

    /// Sets the parameter `number` to an integer.
    pub(super) fn bind_integer(&mut self, number: usize, value: i64) -> Result<(), Error> {
        // SAFETY: the statement is ours.
        let state =
            unsafe { (self.connection.functions().bind_int64)(self.handle, number as u64, value) };
        bound(state, number)
    }

    /// Runs it.
    pub(super) fn execute(&mut self) -> Result<Rows<'_>, Error> {
        let mut rows = Rows::of(&self.connection);
        let execute = self.connection.functions().execute_prepared;
        // SAFETY: the statement and the result are ours.
        let state = unsafe { execute(self.handle, &mut rows.result) };
        rows.checked(state)
    }
}

fn bound(state: State, number: usize) -> Result<(), Error> {
    match state {
        SUCCESS => Ok(()),
        _ => Err(Error::untyped(format!("the statement has no parameter {number}"))),
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and also of a statement that was refused it must be given
        // back.
        unsafe { (self.connection.functions().destroy_prepare)(&mut self.handle) }
    }
}

/// What a statement returned.
pub(super) struct Rows<'a> {
    functions: &'static Functions,
    result: RawResult,
    /// Its memory is the database's, which the connection keeps.
    _of: PhantomData<&'a Connection>,
}

impl<'a> Rows<'a> {
    fn of(connection: &'a Connection) -> Rows<'a> {
        let functions = connection.functions();
        Rows { functions, result: RawResult::EMPTY, _of: PhantomData }
    }

    fn checked(mut self, state: State) -> Result<Rows<'a>, Error> {
        if state == SUCCESS {
            return Ok(self);
        }
        // SAFETY: the result is that of the call that failed, and the message lives as long.
        Err(unsafe {
            Error {
                kind: (self.functions.result_error_type)(&mut self.result),
                message: text((self.functions.result_error)(&mut self.result)),
            }
        })
    }

    /// How many rows the statement changed.
    pub(super) fn changed(&mut self) -> u64 {
        // SAFETY: the result is ours and that of a call that succeeded.
        unsafe { (self.functions.rows_changed)(&mut self.result) }
    }

    /// The next rows, if there are more; `columns` has room to find them by.
    pub(super) fn next_chunk<'b>(&'b mut self, columns: &'b mut Columns) -> Option<Chunk<'b>> {
        // SAFETY: the result is ours and that of a call that succeeded.
        let handle = unsafe { (self.functions.fetch_chunk)(self.result) };
        if handle.is_null() {
            return None;
        }
        // SAFETY: the chunk was made just above, for the result.
        let len = unsafe {
            columns.find(self.functions, &mut self.result, handle);
            (self.functions.data_chunk_get_size)(handle)
        };
        let (functions, columns) = (self.functions, &columns.0[..]);
        Some(Chunk { functions, handle, len: len as usize, columns })
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        // SAFETY: the result is ours, and also of a statement that failed it must be given back.
        unsafe { (self.functions.destroy_result)(&mut self.result) }
    }
}

/// Where the columns of a chunk are: room that is used again for each.
#[derive(Default)]
pub(super) struct Columns(Vec<Column>);

// SAFETY: an address in it is used by the chunk that it was written for, and by nothing else.
unsafe impl Send for Columns {}

#[derive(Clone, Copy)]
struct Column {
    /// A string a row; null if the column does not hold strings.
    strings: *const RawString,
    /// A bit a row, set if the row has a value; null if all have.
    validity: *const u64,
}

impl Columns {
    /// # Safety
    /// `chunk` is a chunk of `result`.
    unsafe fn find(&mut self, functions: &Functions, result: &mut RawResult, chunk: RawChunk) {
        self.0.clear();
        // SAFETY: the number of columns and their types are those of the result that the chunk is
        // of, so each vector is there; a flat one, as chunks that are fetched have them.
        unsafe {
            for column in 0..(functions.column_count)(result) {
                let vector = (functions.data_chunk_get_vector)(chunk, column);
                let is_string = STRINGS.contains(&(functions.column_type)(result, column));
                self.0.push(Column {
                    strings: match is_string {
                        true => (functions.vector_get_data)(vector).cast(),
                        false => ptr::null(),
                    },
                    validity: (functions.vector_get_validity)(vector),
                });
            }
        }
    }
}

/// Some rows.
pub(super) struct Chunk<'a> {
    functions: &'static Functions,
    handle: RawChunk,
    len: usize,
    columns: &'a [Column],
}

impl Chunk<'_> {
    /// How many rows.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many columns.
    pub(super) fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// The bytes in a row and a column; `None` if they are NULL, or no text and no BLOB.
    pub(super) fn bytes(&self, row: usize, column: usize) -> Option<&[u8]> {
        let Column { strings, validity } = *self.columns.get(column)?;
        if row >= self.len || strings.is_null() {
            return None;
        }
        // SAFETY: a vector has a string for each of the chunk's rows, and a bit for each if it has
        // bits; what a string holds or names lives as long as the chunk.
        unsafe {
            if !validity.is_null() && *validity.add(row / 64) >> (row % 64) & 1 == 0 {
                return None;
            }
            let string = strings.add(row);
            let length = (*string).length as usize;
            let start = match length <= RawString::INLINED {
                true => (&raw const (*string).prefix).cast(),
                false => (*string).rest,
            };
            Some(slice::from_raw_parts(start, length))
        }
    }
}

impl Drop for Chunk<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is ours.
        unsafe { (self.functions.destroy_data_chunk)(&mut self.handle) }
    }
}

/// Adds rows to a table in bulk. What was not flushed is dropped with it.
pub(super) struct Appender {
    connection: Arc<Connection>,
    handle: RawAppender,
}

impl Appender {
    pub(super) fn new(connection: &Arc<Connection>, table: &str) -> Result<Appender, Error> {
        let table = c_string(table.as_bytes())?;
        let mut appender = Appender { connection: Arc::clone(connection), handle: ptr::null_mut() };
        let create = connection.functions().appender_create;
        // SAFETY: the connection is open, the name lives during the call, no schema is the default
        // one, the handle's place is ours; one that was refused holds its error.
        let state =
            unsafe { create(connection.handle, ptr::null(), table.as_ptr(), &mut appender.handle) };
        appender.checked(state)?;
        Ok(appender)
    }

    /// Adds the next column of the row.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let append = self.connection.functions().append_blob;
        // SAFETY: the appender is ours, and the bytes live during the call.
        let state = unsafe { append(self.handle, bytes.as_ptr().cast(), bytes.len() as u64) };
        self.checked(state)
    }

    /// Ends the row.
    pub(super) fn end_row(&mut self) -> Result<(), Error> {
        // SAFETY: the appender is ours.
        let state = unsafe { (self.connection.functions().appender_end_row)(self.handle) };
        self.checked(state)
    }

    /// Puts the rows so far into the table, in a transaction.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        // SAFETY: the appender is ours.
        let state = unsafe { (self.connection.functions().appender_flush)(self.handle) };
        self.checked(state)
    }

    fn checked(&self, state: State) -> Result<(), Error> {
        if state == SUCCESS {
            return Ok(());
        }
        let functions = self.connection.functions();
        // SAFETY: the appender is ours, and its error, once read, is given back.
        Err(unsafe {
            let mut data = (functions.appender_error_data)(self.handle);
            let error = Error {
                kind: (functions.error_data_error_type)(data),
                message: text((functions.error_data_message)(data)),
            };
            (functions.destroy_error_data)(&mut data);
            error
        })
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        let functions = self.connection.functions();
        // SAFETY: the handle is ours. To destroy it would flush it, and there is nobody to tell
        // whether that went well.
        unsafe {
            (functions.appender_clear)(self.handle);
            (functions.appender_destroy)(&mut self.handle);
        }
    }
}
