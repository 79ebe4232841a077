//! Packages: what is read in them, what is refused, and how both are reported.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests read fixtures and write packages"
)]

mod containers;
mod folders;
mod hostile;
mod reports;
mod support;
