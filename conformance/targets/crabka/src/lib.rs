//! What the programs have in common.

/// Returns the version of crabka-broker that this is built with.
#[must_use]
pub fn version() -> &'static str {
    include_str!("../Cargo.lock")
        .split_once("name = \"crabka-broker\"\nversion = \"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map_or("unknown", |(version, _)| version)
}
