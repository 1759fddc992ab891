//! A lookup as a stream of objects of the caller's own.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use crate::error::Error;
use crate::object::Object;
use crate::protocol::lookup::Search;
use crate::query::Query;
use crate::scan::Cursor;
use crate::schema::IndexId;
use crate::scratch;
use crate::table::Table;

/// An object found by a lookup, and the key it was found under. To go on behind it later, pass the
/// key and the object's primary key to [`Query::after`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The secondary key, one of the object's.
    pub key: Vec<u8>,
    /// The object.
    pub object: Object,
}

/// The stream of [`Table::lookup`]. It ends after an error.
pub struct Lookup {
    table: Table,
    search: Search,
    ready: VecDeque<Match>,
    failed: bool,
}

impl Lookup {
    pub(crate) fn new(table: Table, index: IndexId, query: &Query<'_>) -> Result<Lookup, Error> {
        let mut search = Search::new(&*table.memory, index, query, Cursor::default());
        scratch::with(|scratch| search.open(&*table.memory, &mut scratch.look))?;
        Ok(Lookup { table, search, ready: VecDeque::new(), failed: false })
    }
}

impl Iterator for Lookup {
    type Item = Result<Match, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.failed && !self.search.is_done() {
            let Lookup { table, search, ready, .. } = self;
            let step = scratch::with(|scratch| {
                search.step(&*table.memory, &mut scratch.look, |found| {
                    let (key, object) = (found.key.to_vec(), found.object.to_object());
                    ready.push_back(Match { key, object });
                    ControlFlow::Continue(())
                })
            });
            if let Err(error) = step {
                self.failed = true;
                return Some(Err(error));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}
