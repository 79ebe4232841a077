//! PTX ISA versions, and the CUDA release whose driver is the first to compile each.

use std::fmt;

use crate::evidence::Evidence;
use crate::version::ToolkitVersion;

/// A version of the PTX ISA, as `.version` states it. A later version is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxIsa {
    major: u16,
    minor: u16,
}

impl PtxIsa {
    /// The version `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// 9 of 9.0.
    pub const fn major(self) -> u16 {
        self.major
    }

    /// 0 of 9.0.
    pub const fn minor(self) -> u16 {
        self.minor
    }

    /// The first CUDA release whose driver compiles PTX of this version.
    pub fn driver_floor(self) -> DriverFloor {
        match PTX_RELEASES.iter().find(|row| row.isa >= self) {
            Some(row) => DriverFloor::Release(row.release),
            None => DriverFloor::After(NEWEST_RELEASE),
        }
    }
}

impl fmt::Display for PtxIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The oldest driver that will do, by its CUDA release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverFloor {
    /// That release or a later one.
    Release(ToolkitVersion),
    /// Newer than every release that the table has.
    After(ToolkitVersion),
}

impl DriverFloor {
    /// Whether a driver of CUDA `release` will do. Whatever is newer than the table may do for what is newer than the
    /// table.
    pub fn allows(self, release: ToolkitVersion) -> bool {
        match self {
            Self::Release(first) => release.release() >= first,
            Self::After(newest) => release.release() > newest,
        }
    }
}

impl fmt::Display for DriverFloor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release(first) => write!(f, "CUDA {first}"),
            Self::After(newest) => write!(f, "a release after CUDA {newest}"),
        }
    }
}

/// A PTX ISA version and the release that brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxReleaseRow {
    /// The version.
    pub isa: PtxIsa,
    /// The release.
    pub release: ToolkitVersion,
    /// How it is known.
    pub evidence: Evidence,
    /// Where it is written.
    pub source: &'static str,
}

const HISTORY: &str = "PTX ISA, \"Release Notes\", table \"PTX Release History\"";

const fn row(isa: (u16, u16), release: (u16, u16)) -> PtxReleaseRow {
    PtxReleaseRow {
        isa: PtxIsa::new(isa.0, isa.1),
        release: ToolkitVersion::new(release.0, release.1),
        evidence: Evidence::Documented,
        source: HISTORY,
    }
}

/// Ascending. Older versions count with the first row.
pub const PTX_RELEASES: &[PtxReleaseRow] = &[
    row((6, 0), (9, 0)),
    row((6, 1), (9, 1)),
    row((6, 2), (9, 2)),
    row((6, 3), (10, 0)),
    row((6, 4), (10, 1)),
    row((6, 5), (10, 2)),
    row((7, 0), (11, 0)),
    row((7, 1), (11, 1)),
    row((7, 2), (11, 2)),
    row((7, 3), (11, 3)),
    row((7, 4), (11, 4)),
    row((7, 5), (11, 5)),
    row((7, 6), (11, 6)),
    row((7, 7), (11, 7)),
    row((7, 8), (11, 8)),
    row((8, 0), (12, 0)),
    row((8, 1), (12, 1)),
    row((8, 2), (12, 2)),
    row((8, 3), (12, 3)),
    row((8, 4), (12, 4)),
    row((8, 5), (12, 5)),
    row((8, 6), (12, 7)),
    row((8, 7), (12, 8)),
    row((8, 8), (12, 9)),
    row((9, 0), (13, 0)),
    row((9, 1), (13, 1)),
    row((9, 2), (13, 2)),
    row((9, 3), (13, 3)),
    row((9, 4), (13, 4)),
    row((9, 5), NEWEST),
];

const NEWEST: (u16, u16) = (13, 5);
const NEWEST_RELEASE: ToolkitVersion = ToolkitVersion::new(NEWEST.0, NEWEST.1);

#[cfg(test)]
mod tests {
    use super::{DriverFloor, PTX_RELEASES, PtxIsa};
    use crate::version::ToolkitVersion;

    #[test]
    fn each_version_has_the_release_that_brought_it() {
        for (isa, release) in [
            ((5, 0), (9, 0)),
            ((7, 8), (11, 8)),
            ((8, 4), (12, 4)),
            ((8, 6), (12, 7)),
            ((9, 0), (13, 0)),
            ((9, 5), (13, 5)),
        ] {
            let floor = PtxIsa::new(isa.0, isa.1).driver_floor();
            assert_eq!(
                floor,
                DriverFloor::Release(ToolkitVersion::new(release.0, release.1)),
                "{isa:?}"
            );
        }
        let unknown = PtxIsa::new(9, 6).driver_floor();
        assert_eq!(unknown, DriverFloor::After(ToolkitVersion::new(13, 5)));
        assert!(!unknown.allows(ToolkitVersion::new(13, 5).with_patch(37)));
        assert!(unknown.allows(ToolkitVersion::new(13, 6)));
        assert!(
            PtxIsa::new(9, 0)
                .driver_floor()
                .allows("13.0.88".parse().unwrap())
        );
    }

    #[test]
    fn both_columns_ascend() {
        for pair in PTX_RELEASES.windows(2) {
            assert!(pair[0].isa < pair[1].isa && pair[0].release < pair[1].release);
        }
    }
}
