//! The ordered write, the lookup and the changes of schema, over any [`Substrate`].
//!
//! [`Substrate`]: crate::substrate::Substrate

pub(crate) mod changes;
pub(crate) mod lookup;
pub(crate) mod schema;
pub(crate) mod write;
