//! RocksDB by its C interface (`rocksdb/c.h`), as the driver opens it at durability level none.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr, slice, thread,
    time::Duration,
};

use anyhow::{anyhow, bail};
use assay_systems::shared_library::{Opened, functions};

use super::{
    bare::{Bare, looked_at, replaced},
    framed_records,
};

type Raw = *mut c_void;

functions! {
    "rocksdb_":
    free: fn(*mut c_void);
    options_create: fn() -> Raw;
    options_set_create_if_missing: fn(Raw, u8);
    options_set_compression: fn(Raw, c_int);
    options_set_block_based_table_factory: fn(Raw, Raw);
    block_based_options_create: fn() -> Raw;
    block_based_options_set_block_cache: fn(Raw, Raw);
    block_based_options_set_filter_policy: fn(Raw, Raw);
    filterpolicy_create_bloom_full: fn(f64) -> Raw;
    cache_create_lru: fn(usize) -> Raw;
    readoptions_create: fn() -> Raw;
    writeoptions_create: fn() -> Raw;
    writeoptions_disable_WAL: fn(Raw, c_int);
    flushoptions_create: fn() -> Raw;
    transactiondb_options_create: fn() -> Raw;
    transaction_options_create: fn() -> Raw;
    transactiondb_open: fn(Raw, Raw, *const c_char, *mut *mut c_char) -> Raw;
    transactiondb_close: fn(Raw);
    transactiondb_put: fn(Raw, Raw, *const u8, usize, *const u8, usize, *mut *mut c_char);
    transactiondb_flush: fn(Raw, Raw, *mut *mut c_char);
    transactiondb_property_int: fn(Raw, *const c_char, *mut u64) -> c_int;
    transactiondb_get_pinned: fn(Raw, Raw, *const u8, usize, *mut *mut c_char) -> Raw;
    pinnableslice_value: fn(Raw, *mut usize) -> *const u8;
    pinnableslice_destroy: fn(Raw);
    transaction_begin: fn(Raw, Raw, Raw, Raw) -> Raw;
    transaction_get_pinned_for_update:
        fn(Raw, Raw, *const u8, usize, u8, *mut *mut c_char) -> Raw;
    transaction_put: fn(Raw, *const u8, usize, *const u8, usize, *mut *mut c_char);
    transaction_commit: fn(Raw, *mut *mut c_char);
    transaction_destroy: fn(Raw);
}

/// RocksDB's number of the compression Snappy.
const SNAPPY: c_int = 1;
const CACHE_BYTES: usize = 1 << 30;
const FILTER_BITS: f64 = 10.0;
const EXCLUSIVE: u8 = 1;

/// A database with transactions that lock. Its options live as long as the process.
pub struct Rocks {
    functions: &'static Functions,
    database: Raw,
    read: Raw,
    write: Raw,
    transaction: Raw,
}

impl Rocks {
    /// Makes a database in an empty folder, and fills it.
    pub fn open(library: &Path, folder: &Path) -> anyhow::Result<Rocks> {
        static OPENED: Opened<Functions> = Opened::new("librocksdb");
        // SAFETY: the driver has opened the same library, and the types are those of `rocksdb/c.h`.
        let functions = unsafe { OPENED.functions(library, Functions::of) };
        let f = functions.map_err(|why| anyhow!("{}: {why}", library.display()))?;
        let path = CString::new(folder.join("records").as_os_str().as_bytes())?;
        // SAFETY: every structure is new, and none is freed but with the process.
        let rocks = unsafe {
            let options = (f.options_create)();
            let tables = (f.block_based_options_create)();
            (f.block_based_options_set_block_cache)(tables, (f.cache_create_lru)(CACHE_BYTES));
            let filter = (f.filterpolicy_create_bloom_full)(FILTER_BITS);
            (f.block_based_options_set_filter_policy)(tables, filter);
            (f.options_set_block_based_table_factory)(options, tables);
            (f.options_set_create_if_missing)(options, 1);
            (f.options_set_compression)(options, SNAPPY);
            let (read, write) = ((f.readoptions_create)(), (f.writeoptions_create)());
            (f.writeoptions_disable_WAL)(write, 1);
            let locks = (f.transactiondb_options_create)();
            let opened =
                checked(f, |why| (f.transactiondb_open)(options, locks, path.as_ptr(), why));
            let transaction = (f.transaction_options_create)();
            Rocks { functions: f, database: opened?, read, write, transaction }
        };
        rocks.fill()?;
        Ok(rocks)
    }

    fn fill(&self) -> anyhow::Result<()> {
        let f = self.functions;
        for (key, record) in framed_records() {
            let (key, record): (&[u8], &[u8]) = (&key, &record);
            // SAFETY: the handles are open, and the bytes live during the call.
            checked(f, |why| unsafe {
                let (value, length) = (record.as_ptr(), record.len());
                let (database, write) = (self.database, self.write);
                (f.transactiondb_put)(database, write, key.as_ptr(), key.len(), value, length, why)
            })?;
        }
        // SAFETY: the handles are open.
        checked(f, |why| unsafe {
            (f.transactiondb_flush)(self.database, (f.flushoptions_create)(), why)
        })?;
        while self.is_busy() {
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Whether it still moves what was put in from file to file.
    fn is_busy(&self) -> bool {
        [c"rocksdb.compaction-pending", c"rocksdb.num-running-compactions"].iter().any(|name| {
            let mut value = 0;
            // SAFETY: the database is open, and the place for the value is ours.
            unsafe {
                let property = self.functions.transactiondb_property_int;
                property(self.database, name.as_ptr(), &mut value);
            }
            value > 0
        })
    }

    /// What `look` gives for a value, which is given back.
    fn shown<T>(&self, value: Raw, look: impl FnOnce(&[u8]) -> T) -> anyhow::Result<T> {
        if value.is_null() {
            bail!("no record");
        }
        let mut length = 0;
        // SAFETY: the value is ours until it is destroyed, and its bytes live as long.
        unsafe {
            let start = (self.functions.pinnableslice_value)(value, &mut length);
            let given = look(slice::from_raw_parts(start, length));
            (self.functions.pinnableslice_destroy)(value);
            Ok(given)
        }
    }

    /// Replaces a field of a record in a transaction that is under way.
    fn change(
        &self,
        transaction: Raw,
        key: &[u8],
        field: usize,
        bytes: &[u8],
    ) -> anyhow::Result<()> {
        let f = self.functions;
        let (start, length) = (key.as_ptr(), key.len());
        // SAFETY: the handles are open, and the bytes live during the calls.
        unsafe {
            let value = checked(f, |why| {
                let get = f.transaction_get_pinned_for_update;
                get(transaction, self.read, start, length, EXCLUSIVE, why)
            })?;
            let record = self.shown(value, |record| replaced(record, field, bytes))?;
            checked(f, |why| {
                let (record, bytes) = (record.as_ptr(), record.len());
                (f.transaction_put)(transaction, start, length, record, bytes, why)
            })?;
            checked(f, |why| (f.transaction_commit)(transaction, why))
        }
    }
}

impl Bare for Rocks {
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize> {
        let f = self.functions;
        // SAFETY: the handles are open, and the key lives during the call.
        let value = checked(f, |why| unsafe {
            (f.transactiondb_get_pinned)(self.database, self.read, key.as_ptr(), key.len(), why)
        })?;
        self.shown(value, looked_at)
    }

    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()> {
        let f = self.functions;
        // SAFETY: the handles are open; the transaction is ours, and used by nothing afterwards.
        unsafe {
            let begin = f.transaction_begin;
            let transaction = begin(self.database, self.write, self.transaction, ptr::null_mut());
            let changed = self.change(transaction, key, field, bytes);
            (f.transaction_destroy)(transaction);
            changed
        }
    }
}

impl Drop for Rocks {
    fn drop(&mut self) {
        // SAFETY: the database is ours, and nothing of it is in use.
        unsafe { (self.functions.transactiondb_close)(self.database) }
    }
}

/// What `call` gives, unless it fills the place for an error that it gets.
fn checked<T>(
    functions: &Functions,
    call: impl FnOnce(*mut *mut c_char) -> T,
) -> anyhow::Result<T> {
    let mut why: *mut c_char = ptr::null_mut();
    let given = call(&mut why);
    if why.is_null() {
        return Ok(given);
    }
    // SAFETY: RocksDB filled it with a string that is now ours, to be given back once read.
    unsafe {
        let text = CStr::from_ptr(why).to_string_lossy().into_owned();
        (functions.free)(why.cast());
        bail!("{text}")
    }
}
