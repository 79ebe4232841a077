//! What nvcc, ptxas and CMake said, put into plain words.
//!
//! [`diagnose`] reads their output and gives the first error of each source and target, with the messages that
//! belong together as one and a [`Cause`]. It stands in this crate because every cause is a statement about
//! architectures, and its hints come from the tables of toolkits and instructions.

mod cause;
mod classify;
mod lines;

use crate::arch::Arch;
use crate::version::ToolkitVersion;

pub use cause::{CMAKE_WITH_FAMILY, Cause, Tool};

/// What the caller knows about the run whose output is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The toolkit's version.
    pub toolkit: ToolkitVersion,
    /// The assembler that ran, where it was asked for its version: it may be another release than nvcc.
    pub assembler: Option<Tool>,
    /// The target of the pass that failed, where the run had one only. cudafe++ names no target in its errors.
    pub pass: Option<Arch>,
    /// The source that was compiled, where the run had one only.
    pub source: Option<String>,
}

impl Context {
    /// Nothing known but the toolkit.
    pub fn of(toolkit: ToolkitVersion) -> Self {
        Self {
            toolkit,
            assembler: None,
            pass: None,
            source: None,
        }
    }
}

/// The first error of a source under a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The source, as far as the output names it.
    pub source: Option<String>,
    /// The target of the pass, as far as the output names it.
    pub arch: Option<Arch>,
    /// The compiler's own words; several where they speak of one PTX line.
    pub messages: Vec<String>,
    /// What it comes down to.
    pub cause: Cause,
    /// How many further errors the same source has under the same target.
    pub further_errors: usize,
}

/// Sources that failed for one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The cause.
    pub cause: Cause,
    /// The diagnoses that have it, in the order of the output.
    pub diagnoses: Vec<Diagnosis>,
}

/// Reads the output of a compiler, an assembler or a whole build.
///
/// Empty where no line is an error. Lines that belong to nothing known become [`Cause::Other`], never nothing.
pub fn diagnose(output: &str, context: &Context) -> Vec<Diagnosis> {
    classify::diagnose(output, context)
}

/// The diagnoses by cause, in the order of the first of each.
pub fn grouped(diagnoses: Vec<Diagnosis>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for diagnosis in diagnoses {
        match groups.iter_mut().find(|group| group.cause == diagnosis.cause) {
            Some(group) => group.diagnoses.push(diagnosis),
            None => groups.push(Group {
                cause: diagnosis.cause.clone(),
                diagnoses: vec![diagnosis],
            }),
        }
    }
    groups
}

#[cfg(test)]
mod tests;
