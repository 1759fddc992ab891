//! What is asked of a data store and what it answers: operations, values, outcomes, capabilities.
//!
//! Plain values only: nothing here does I/O, reads a clock or knows a particular system. The
//! workload makes [`Operation`]s, a system answers them with an [`Outcome`] and fills an
//! [`Answer`], and the layers above agree on [`Capabilities`] and [`Durability`] before a server
//! starts. No [`Secret`] prints, and [`redact()`] takes secrets out of text.

mod answer;
mod capability;
mod claim;
mod durability;
mod endpoint;
mod figure;
mod operation;
mod outcome;
mod redact;
mod schema;
mod study;

pub use answer::{Answer, Row};
pub use capability::{Capabilities, Feature, NO_INDEXES, Support};
pub use claim::{AtClients, Between, Called, Check, Claim, FromClients};
pub use durability::Durability;
pub use endpoint::{Address, Endpoint, Secret};
pub use figure::{Axis, Figure, Measure, Part, Published, PublishedValues, Scale, Unit};
pub use operation::{FieldValue, Fields, Operation, OperationKind};
pub use outcome::{Failure, FailureKind, Outcome};
pub use redact::{REDACTED, names_a_secret, redact};
pub use schema::{MAX_INDEXES, Schema};
pub use study::{Absent, AbsentReason, Change, PublishedPlace, Standing, Study};
