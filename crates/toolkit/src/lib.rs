//! Finds or provisions what builds CUDA code: nvcc, CMake, Ninja, a C++ compiler, and the oracles for tests.
//!
//! [`Toolkit::obtain`] looks where people keep a toolkit and installs a pinned one, with hashes, where it
//! finds none that will do. Nothing is printed but progress: what was used, and what was passed over and
//! why, comes back as data.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "a rim crate: it reads the environment, runs programs and installs files"
)]

mod build_tools;
mod devices;
mod environment;
mod error;
mod oracles;
mod pip;
mod places;
pub mod process;
mod progress;
mod provision;
mod toolkit;
mod version;

pub use build_tools::{BuildTools, CMakeVersion, ListNeeds};
pub use devices::{DeviceError, attached_devices, devices_of_text};
pub use environment::ChildEnvironment;
pub use error::{Missing, ToolkitError};
pub use oracles::Oracles;
pub use places::{Candidate, PassedOver, Places, Rejection, ToolkitSource};
pub use progress::Progress;
pub use provision::{Package, PackageForm, Provisioner, lock_or_wait};
pub use toolkit::{Obtained, PINNED_VERSION, Toolkit};
pub use version::{Tool, read_version};
