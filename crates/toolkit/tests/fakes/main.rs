//! Finding and installing on machines that are laid out for the test, with programs that pretend.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests lay out files and run programs; a failure there is the test's"
)]

mod finding;
mod installing;
mod support;
