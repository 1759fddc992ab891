//! RocksDB's C interface, as far as it is used: a library opened while Assay runs, and a type for each
//! of its handles that frees what it owns. Nothing outside this file is unsafe.
//!
//! The declarations follow `rocksdb/c.h` of RocksDB 7.8. A database and its options may be used from
//! any thread; a transaction and an iterator by one at a time.

use std::{
    cell::Cell,
    ffi::{CStr, CString, c_char, c_int, c_void},
    ops::ControlFlow,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr, slice,
};

use thiserror::Error;

use crate::shared_library::{Opened, functions};

/// A pointer to one of RocksDB's own structures.
type Raw = *mut c_void;

functions! {
    "rocksdb_":
    free: fn(*mut c_void);

    options_create: fn() -> Raw;
    options_destroy: fn(Raw);
    options_set_create_if_missing: fn(Raw, u8);
    options_set_create_missing_column_families: fn(Raw, u8);
    options_set_compression: fn(Raw, c_int);
    options_set_block_based_table_factory: fn(Raw, Raw);
    block_based_options_create: fn() -> Raw;
    block_based_options_destroy: fn(Raw);
    block_based_options_set_block_cache: fn(Raw, Raw);
    block_based_options_set_filter_policy: fn(Raw, Raw);
    filterpolicy_create_bloom_full: fn(f64) -> Raw;
    cache_create_lru: fn(usize) -> Raw;
    cache_destroy: fn(Raw);

    readoptions_create: fn() -> Raw;
    readoptions_destroy: fn(Raw);
    readoptions_set_snapshot: fn(Raw, *const c_void);
    writeoptions_create: fn() -> Raw;
    writeoptions_destroy: fn(Raw);
    writeoptions_set_sync: fn(Raw, u8);
    writeoptions_disable_WAL: fn(Raw, c_int);
    flushoptions_create: fn() -> Raw;
    flushoptions_destroy: fn(Raw);
    transactiondb_options_create: fn() -> Raw;
    transactiondb_options_destroy: fn(Raw);
    transaction_options_create: fn() -> Raw;
    transaction_options_destroy: fn(Raw);

    transactiondb_open_column_families: fn(
        Raw, Raw, *const c_char, c_int, *const *const c_char, *const Raw, *mut Raw,
        *mut *mut c_char
    ) -> Raw;
    transactiondb_close: fn(Raw);
    column_family_handle_destroy: fn(Raw);
    transactiondb_flush_cf: fn(Raw, Raw, Raw, *mut *mut c_char);
    transactiondb_property_int: fn(Raw, *const c_char, *mut u64) -> c_int;

    transactiondb_get_pinned_cf: fn(Raw, Raw, Raw, *const u8, usize, *mut *mut c_char) -> Raw;
    pinnableslice_value: fn(Raw, *mut usize) -> *const u8;
    pinnableslice_destroy: fn(Raw);
    transactiondb_create_snapshot: fn(Raw) -> *const c_void;
    transactiondb_release_snapshot: fn(Raw, *const c_void);
    transactiondb_create_iterator_cf: fn(Raw, Raw, Raw) -> Raw;
    iter_destroy: fn(Raw);
    iter_seek: fn(Raw, *const u8, usize);
    iter_valid: fn(Raw) -> u8;
    iter_next: fn(Raw);
    iter_key: fn(Raw, *mut usize) -> *const u8;
    iter_value: fn(Raw, *mut usize) -> *const u8;
    iter_get_error: fn(Raw, *mut *mut c_char);

    transaction_begin: fn(Raw, Raw, Raw, Raw) -> Raw;
    transaction_destroy: fn(Raw);
    transaction_commit: fn(Raw, *mut *mut c_char);
    transaction_get_pinned_for_update_cf:
        fn(Raw, Raw, Raw, *const u8, usize, u8, *mut *mut c_char) -> Raw;
    transaction_put_cf: fn(Raw, Raw, *const u8, usize, *const u8, usize, *mut *mut c_char);
    transaction_delete_cf: fn(Raw, Raw, *const u8, usize, *mut *mut c_char);
}

/// What RocksDB said when it refused, as in `IO error: No space left on device: …`.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct Error(pub(super) String);

/// The library, opened.
#[derive(Clone, Copy)]
pub(super) struct Library(&'static Functions);

impl Library {
    /// Opens the library at `path`, or gives what was opened there before.
    pub(super) fn open(path: &Path) -> Result<Library, String> {
        static OPENED: Opened<Functions> = Opened::new("librocksdb of RocksDB 7.8 or later");
        // SAFETY: opening it runs the initializers of the C++ runtime and of RocksDB, which may be
        // run at any time in any process; that the file is RocksDB's, and so these names are those
        // functions, is what whoever named it says.
        unsafe { OPENED.functions(path, Functions::of) }.map(Library)
    }

    /// What `call` gives, unless it fills the place for an error that it gets.
    fn checked<T>(self, call: impl FnOnce(*mut *mut c_char) -> T) -> Result<T, Error> {
        let mut why: *mut c_char = ptr::null_mut();
        let given = call(&mut why);
        if why.is_null() {
            return Ok(given);
        }
        // SAFETY: RocksDB filled it with a string that is now ours, to be given back once read.
        unsafe {
            let text = CStr::from_ptr(why).to_string_lossy().into_owned();
            (self.0.free)(why.cast());
            Err(Error(text))
        }
    }
}

/// One of RocksDB's structures that is ours.
struct Owned {
    raw: Raw,
    destroy: unsafe extern "C" fn(Raw),
}

impl Owned {
    /// # Safety
    /// `raw` is null or the caller's own, and `destroy` is what frees it.
    unsafe fn new(raw: Raw, destroy: unsafe extern "C" fn(Raw)) -> Owned {
        Owned { raw, destroy }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: it is ours, as whoever made this promised.
            unsafe { (self.destroy)(self.raw) }
        }
    }
}

/// How a database is opened.
pub(super) struct Settings {
    /// Bytes of the cache of blocks.
    pub(super) cache_bytes: usize,
    /// Bits of the Bloom filters, a key.
    pub(super) filter_bits: f64,
    /// RocksDB's number of the compression of blocks.
    pub(super) compression: c_int,
    /// Whether writes are logged.
    pub(super) log: bool,
    /// Whether a commit waits for the disk.
    pub(super) sync: bool,
}

/// An open database with transactions that lock (`TransactionDB`), and its column families.
pub(super) struct Database {
    library: Library,
    /// Dropped first, as they must be.
    families: Vec<Owned>,
    read: Owned,
    write: Owned,
    transaction: Owned,
    flush: Owned,
    /// Dropped last, which closes it.
    handle: Owned,
}

// SAFETY: RocksDB lets a database, its column families and its options be used from any thread, and
// the last owner, on whatever thread, closes it.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens the database in `folder`, made if it is not there, with the column families `names`, of
    /// which the first is called `default`.
    pub(super) fn open(
        library: Library,
        folder: &Path,
        names: &[&str],
        settings: &Settings,
    ) -> Result<Database, Error> {
        let functions = library.0;
        let no_nul = |_| Error("a name has NUL in it".to_owned());
        let path = CString::new(folder.as_os_str().as_bytes()).map_err(no_nul)?;
        let names: Vec<CString> = names
            .iter()
            .map(|name| CString::new(*name))
            .collect::<Result<_, _>>()
            .map_err(no_nul)?;
        let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let options = options(library, settings);
        let of_each = vec![options.raw; names.len()];
        let mut families: Vec<Raw> = vec![ptr::null_mut(); names.len()];
        // SAFETY: each structure is new and goes with what frees it.
        let (read, write, transaction, flush, locks) = unsafe {
            let write =
                Owned::new((functions.writeoptions_create)(), functions.writeoptions_destroy);
            (functions.writeoptions_set_sync)(write.raw, settings.sync.into());
            (functions.writeoptions_disable_WAL)(write.raw, (!settings.log).into());
            (
                Owned::new((functions.readoptions_create)(), functions.readoptions_destroy),
                write,
                Owned::new(
                    (functions.transaction_options_create)(),
                    functions.transaction_options_destroy,
                ),
                Owned::new((functions.flushoptions_create)(), functions.flushoptions_destroy),
                Owned::new(
                    (functions.transactiondb_options_create)(),
                    functions.transactiondb_options_destroy,
                ),
            )
        };
        let handle = library.checked(|why| {
            // SAFETY: the options, the path and the names live during the call; the places for the
            // column families, as many as there are names, and for the error are ours.
            unsafe {
                (functions.transactiondb_open_column_families)(
                    options.raw,
                    locks.raw,
                    path.as_ptr(),
                    names.len() as c_int,
                    names.as_ptr(),
                    of_each.as_ptr(),
                    families.as_mut_ptr(),
                    why,
                )
            }
        })?;
        // SAFETY: the database and its column families are ours now.
        let (handle, families) = unsafe {
            let owned =
                |family| Owned { raw: family, destroy: functions.column_family_handle_destroy };
            let handle = Owned::new(handle, functions.transactiondb_close);
            (handle, families.into_iter().map(owned).collect())
        };
        Ok(Database { library, families, read, write, transaction, flush, handle })
    }

    /// Shows the value of a key to `found`. Returns whether there is one.
    fn get(
        &self,
        family: usize,
        options: Raw,
        key: &[u8],
        found: impl FnOnce(&[u8]),
    ) -> Result<bool, Error> {
        let value = self.library.checked(|why| {
            // SAFETY: all handles are open and the key lives during the call.
            unsafe {
                (self.library.0.transactiondb_get_pinned_cf)(
                    self.handle.raw,
                    options,
                    self.families[family].raw,
                    key.as_ptr(),
                    key.len(),
                    why,
                )
            }
        })?;
        Ok(self.shown(value, found))
    }

    /// Shows a value, which is null if there is none, and gives it back.
    fn shown(&self, value: Raw, found: impl FnOnce(&[u8])) -> bool {
        if value.is_null() {
            return false;
        }
        let functions = self.library.0;
        // SAFETY: the value is ours until it is destroyed, and its bytes live as long.
        unsafe {
            let value = Owned::new(value, functions.pinnableslice_destroy);
            let mut length = 0;
            let start = (functions.pinnableslice_value)(value.raw, &mut length);
            found(bytes(start, length));
        }
        true
    }

    /// Writes what is in memory to files, and waits.
    pub(super) fn flush(&self) -> Result<(), Error> {
        for family in &self.families {
            self.library.checked(|why| {
                // SAFETY: all handles are open.
                unsafe {
                    (self.library.0.transactiondb_flush_cf)(
                        self.handle.raw,
                        self.flush.raw,
                        family.raw,
                        why,
                    )
                }
            })?;
        }
        Ok(())
    }

    /// A property of the database that is a number; `None` if it has no such property.
    pub(super) fn property(&self, name: &CStr) -> Option<u64> {
        let mut value = 0;
        // SAFETY: the database is open, and the place for the value is ours.
        let state = unsafe {
            (self.library.0.transactiondb_property_int)(self.handle.raw, name.as_ptr(), &mut value)
        };
        (state == 0).then_some(value)
    }

    /// Reads of now.
    pub(super) fn reading(&self) -> Reading<'_> {
        Reading { database: self, held: Cell::new(None) }
    }

    /// Begins a transaction.
    pub(super) fn begin(&self) -> Transaction<'_> {
        let functions = self.library.0;
        // SAFETY: all handles are open; the transaction is ours.
        let handle = unsafe {
            let begun = (functions.transaction_begin)(
                self.handle.raw,
                self.write.raw,
                self.transaction.raw,
                ptr::null_mut(),
            );
            Owned::new(begun, functions.transaction_destroy)
        };
        Transaction { database: self, handle }
    }
}

/// The options of the database and of each column family.
fn options(library: Library, settings: &Settings) -> Owned {
    let functions = library.0;
    // SAFETY: each structure is new and goes with what frees it, except for the filter, which the
    // options of tables own from when they get it; those and the cache are counted by RocksDB, and
    // what is destroyed here is our share.
    unsafe {
        let options = Owned::new((functions.options_create)(), functions.options_destroy);
        let tables = Owned::new(
            (functions.block_based_options_create)(),
            functions.block_based_options_destroy,
        );
        let cache =
            Owned::new((functions.cache_create_lru)(settings.cache_bytes), functions.cache_destroy);
        (functions.block_based_options_set_block_cache)(tables.raw, cache.raw);
        let filter = (functions.filterpolicy_create_bloom_full)(settings.filter_bits);
        (functions.block_based_options_set_filter_policy)(tables.raw, filter);
        (functions.options_set_block_based_table_factory)(options.raw, tables.raw);
        (functions.options_set_create_if_missing)(options.raw, 1);
        (functions.options_set_create_missing_column_families)(options.raw, 1);
        (functions.options_set_compression)(options.raw, settings.compression);
        options
    }
}

/// The bytes at `start`, of which there may be none.
///
/// # Safety
/// `length` bytes at `start` live as long as is said, if there are any.
unsafe fn bytes<'a>(start: *const u8, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(start, length) }
}

/// Reads of a database: of one moment from the first range on.
pub(super) struct Reading<'d> {
    database: &'d Database,
    held: Cell<Option<Held>>,
}

/// A snapshot, and the options by which reads keep to it.
#[derive(Clone, Copy)]
struct Held {
    snapshot: *const c_void,
    options: Raw,
}

impl Reading<'_> {
    /// Shows the value of a key to `found`. Returns whether there is one.
    pub(super) fn get(
        &self,
        family: usize,
        key: &[u8],
        found: impl FnOnce(&[u8]),
    ) -> Result<bool, Error> {
        let options = self.held.get().map_or(self.database.read.raw, |held| held.options);
        self.database.get(family, options, key, found)
    }

    /// Shows keys and values in order, from the first that is not less than `from`, until `each`
    /// breaks.
    pub(super) fn range<E: From<Error>>(
        &self,
        family: usize,
        from: &[u8],
        mut each: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let functions = self.database.library.0;
        let held = self.hold();
        // SAFETY: all handles are open; the iterator is ours, and a key and a value live until it
        // moves.
        unsafe {
            let iterator = Owned::new(
                (functions.transactiondb_create_iterator_cf)(
                    self.database.handle.raw,
                    held.options,
                    self.database.families[family].raw,
                ),
                functions.iter_destroy,
            );
            (functions.iter_seek)(iterator.raw, from.as_ptr(), from.len());
            while (functions.iter_valid)(iterator.raw) != 0 {
                let (mut key_length, mut length) = (0, 0);
                let key = (functions.iter_key)(iterator.raw, &mut key_length);
                let value = (functions.iter_value)(iterator.raw, &mut length);
                if each(bytes(key, key_length), bytes(value, length))?.is_break() {
                    return Ok(());
                }
                (functions.iter_next)(iterator.raw);
            }
            let library = self.database.library;
            Ok(library.checked(|why| (functions.iter_get_error)(iterator.raw, why))?)
        }
    }

    /// The snapshot, which is taken now if it was not before.
    fn hold(&self) -> Held {
        let functions = self.database.library.0;
        let held = self.held.get().unwrap_or_else(|| {
            // SAFETY: the database is open, and the options are new and ours.
            unsafe {
                let snapshot = (functions.transactiondb_create_snapshot)(self.database.handle.raw);
                let options = (functions.readoptions_create)();
                (functions.readoptions_set_snapshot)(options, snapshot);
                Held { snapshot, options }
            }
        });
        self.held.set(Some(held));
        held
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let Some(Held { snapshot, options }) = self.held.get() else { return };
        let functions = self.database.library.0;
        // SAFETY: both are ours, and no iterator is left that uses them.
        unsafe {
            (functions.readoptions_destroy)(options);
            (functions.transactiondb_release_snapshot)(self.database.handle.raw, snapshot);
        }
    }
}

/// Changes made together or not at all: not if it is dropped. It locks each key that it changes or
/// gets.
pub(super) struct Transaction<'d> {
    database: &'d Database,
    handle: Owned,
}

impl Transaction<'_> {
    /// Locks a key and shows its value to `found`. Returns whether there is one.
    pub(super) fn get(
        &mut self,
        family: usize,
        key: &[u8],
        found: impl FnOnce(&[u8]),
    ) -> Result<bool, Error> {
        const EXCLUSIVE: u8 = 1;
        let Database { library, read, families, .. } = self.database;
        let value = library.checked(|why| {
            // SAFETY: all handles are open and the key lives during the call.
            unsafe {
                (library.0.transaction_get_pinned_for_update_cf)(
                    self.handle.raw,
                    read.raw,
                    families[family].raw,
                    key.as_ptr(),
                    key.len(),
                    EXCLUSIVE,
                    why,
                )
            }
        })?;
        Ok(self.database.shown(value, found))
    }

    /// Sets the value of a key.
    pub(super) fn put(&mut self, family: usize, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let Database { library, families, .. } = self.database;
        library.checked(|why| {
            // SAFETY: all handles are open, and the key and the value live during the call.
            unsafe {
                (library.0.transaction_put_cf)(
                    self.handle.raw,
                    families[family].raw,
                    key.as_ptr(),
                    key.len(),
                    value.as_ptr(),
                    value.len(),
                    why,
                );
            }
        })
    }

    /// Removes a key, if it is there.
    pub(super) fn remove(&mut self, family: usize, key: &[u8]) -> Result<(), Error> {
        let Database { library, families, .. } = self.database;
        library.checked(|why| {
            // SAFETY: all handles are open and the key lives during the call.
            unsafe {
                (library.0.transaction_delete_cf)(
                    self.handle.raw,
                    families[family].raw,
                    key.as_ptr(),
                    key.len(),
                    why,
                );
            }
        })
    }

    /// Makes the changes.
    pub(super) fn commit(self) -> Result<(), Error> {
        let library = self.database.library;
        // SAFETY: the transaction is open.
        library.checked(|why| unsafe { (library.0.transaction_commit)(self.handle.raw, why) })
    }
}
