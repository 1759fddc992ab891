//! Experiments as tests write them.

use crate::{Plan, Spec, plan::Extras};

/// The plan of the experiment in `toml`, or what is said of it.
pub(crate) fn plan(toml: &str) -> Result<Plan, String> {
    let spec = Spec::parse(toml, "test").map_err(|error| error.to_string())?;
    Plan::resolve(spec, Extras::default()).map_err(|error| error.to_string())
}
