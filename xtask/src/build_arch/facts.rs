//! What a build made, as data that the checks, the table and the summary are computed from.

use std::collections::BTreeMap;

use blockgate_arch::{Arch, CodeKind, Target, ToolkitVersion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SHA-256 in hexadecimal.
pub(crate) type Digest = String;

/// What is known about one list that was compiled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Path of the archive, relative to the workspace.
    pub(crate) archive: String,
    /// Size of the archive in bytes.
    pub(crate) size_bytes: u64,
    /// Digest of the archive.
    pub(crate) sha256: Digest,
    /// Images and conversions by architecture.
    pub(crate) census: Vec<CensusRow>,
    /// The audit's `totals`, in its machine shape.
    pub(crate) totals: serde_json::Value,
    /// What became of each expectation.
    pub(crate) expectations: Vec<Evaluated>,
    /// One row per source, in the order in which the build compiles them.
    pub(crate) objects: Vec<ObjectFacts>,
    /// What the audit could not read, or found wrong.
    pub(crate) audit_errors: Vec<String>,
    /// How the archive compares with the one of an earlier run with the same inputs.
    pub(crate) repeat: Repeat,
}

/// Images of one architecture in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CensusRow {
    pub(crate) arch: Arch,
    pub(crate) cubins: u64,
    pub(crate) ptx: u64,
    /// Conversions to E2M1; `None` where there is no machine code, or some of it cannot be counted.
    pub(crate) conversions: Option<u64>,
}

/// An expectation and what became of it, in the machine shape of audits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Evaluated {
    pub(crate) expr: String,
    pub(crate) found: Option<u64>,
    pub(crate) holds: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// The object that one source was compiled to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectFacts {
    /// The source: its file name in our own project, its path in another one.
    pub(crate) source: String,
    /// Digest of the whole object.
    pub(crate) sha256: Digest,
    /// Its images.
    pub(crate) images: Vec<ImageFacts>,
}

/// One image of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImageFacts {
    pub(crate) target: Target,
    /// Digest of the code sections, or of the text where the image is PTX.
    pub(crate) code: Digest,
    /// Kernels with their conversions to E2M1; empty for PTX.
    pub(crate) kernels: Vec<KernelFacts>,
}

impl ImageFacts {
    pub(crate) fn is_machine_code(&self) -> bool {
        self.target.kind == CodeKind::Cubin
    }
}

/// One code section of a cubin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelFacts {
    pub(crate) name: String,
    /// `None` where its instructions cannot be counted.
    pub(crate) conversions: Option<u64>,
}

/// How an archive compares with that of an earlier run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// There is none, its inputs were others, or objects of it were used again.
    #[default]
    Nothing,
    /// The same bytes.
    Identical,
    /// Other bytes, in these members.
    Differs(Vec<String>),
}

/// The toolkit that a list was built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolkitFacts {
    pub(crate) version: ToolkitVersion,
    /// The id of where it came from: `provisioned`, `CUDACXX` and so on.
    pub(crate) source: String,
}

/// Whether a source's object and loaded code equal the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Same {
    /// The objects are byte-identical.
    pub(crate) object: bool,
    /// The code that the list's device loads is identical; `None` where the list names no device.
    pub(crate) code: Option<bool>,
}

/// [`Same`] by source, as [`ObjectFacts`] names it.
pub(crate) type SameBySource = BTreeMap<String, Same>;
