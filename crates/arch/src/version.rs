//! CUDA toolkit versions and requirements on them.

use std::fmt;
use std::str::FromStr;

/// A toolkit release, `13.0` or, where a tool reported it, `13.0.88`.
///
/// Releases are ordered: a later one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolkitVersion {
    major: u16,
    minor: u16,
    patch: u16,
}

impl ToolkitVersion {
    /// The release `major.minor`, with patch 0.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self {
            major,
            minor,
            patch: 0,
        }
    }

    /// The exact version of a tool of a release: `13.0.88`.
    #[must_use]
    pub const fn with_patch(self, patch: u16) -> Self {
        Self { patch, ..self }
    }

    /// 13 of 13.0.88.
    pub const fn major(self) -> u16 {
        self.major
    }

    /// 0 of 13.0.88.
    pub const fn minor(self) -> u16 {
        self.minor
    }

    /// 88 of 13.0.88; 0 where it is not known.
    pub const fn patch(self) -> u16 {
        self.patch
    }

    /// The version in the line that nvcc, ptxas, nvlink, cuobjdump and nvdisasm have in common:
    /// `Cuda compilation tools, release 13.0, V13.0.88`. The exact version behind `V` wins over the release.
    /// `None` where no line of `text` is one.
    pub fn of_tool_text(text: &str) -> Option<Self> {
        let (_, rest) = text.lines().find_map(|line| line.split_once(", release "))?;
        let (release, exact) = rest.split_once(',').unwrap_or((rest, ""));
        let exact = exact
            .trim()
            .strip_prefix('V')
            .and_then(|exact| exact.parse().ok());
        exact.or_else(|| release.trim().parse().ok())
    }

    /// `13.0` of 13.0.88.
    #[must_use]
    pub const fn release(self) -> Self {
        Self { patch: 0, ..self }
    }
}

impl fmt::Display for ToolkitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch != 0 {
            write!(f, ".{}", self.patch)?;
        }
        Ok(())
    }
}

/// A text that is not a toolkit version or requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a toolkit {expected}")]
pub struct VersionError {
    text: String,
    expected: &'static str,
}

impl FromStr for ToolkitVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let error = || VersionError {
            text: text.to_owned(),
            expected: "version such as `13.0` or `13.0.88`",
        };
        let mut parts = text.split('.').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse().ok()).flatten().ok_or_else(error)
        });
        let major = parts.next().ok_or_else(error)??;
        let minor = parts.next().ok_or_else(error)??;
        let patch = parts.next().transpose()?.unwrap_or(0);
        if parts.next().is_some() {
            return Err(error());
        }
        Ok(Self { major, minor, patch })
    }
}

/// Which toolkits will do: comma-separated bounds such as `>=12.9` or `>=12.4, <13.0`; `13.0` alone means that
/// release with any patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolkitRequirement {
    bounds: Vec<Bound>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    comparison: Comparison,
    version: ToolkitVersion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Release,
    AtLeast,
    Above,
    AtMost,
    Below,
}

impl ToolkitRequirement {
    /// Whether `version` satisfies every bound. Bounds that name a release compare releases, whatever the patch.
    pub fn allows(&self, version: ToolkitVersion) -> bool {
        self.bounds.iter().all(|bound| {
            let version = if bound.version.patch == 0 {
                version.release()
            } else {
                version
            };
            match bound.comparison {
                Comparison::Release => version == bound.version,
                Comparison::AtLeast => version >= bound.version,
                Comparison::Above => version > bound.version,
                Comparison::AtMost => version <= bound.version,
                Comparison::Below => version < bound.version,
            }
        })
    }
}

impl ToolkitRequirement {
    /// Whether any version at all satisfies every bound; `>=13.0, <12.4` asks for the impossible.
    pub fn is_satisfiable(&self) -> bool {
        // What a bound says changes only at its own version and release, so a version on each side of both
        // stands for all the others.
        let first = ToolkitVersion::new(0, 0);
        let last = ToolkitVersion::new(u16::MAX, u16::MAX).with_patch(u16::MAX);
        let around = self.bounds.iter().flat_map(|bound| {
            let version = bound.version;
            let last_patch = version.with_patch(u16::MAX);
            let before = if version.minor == 0 {
                ToolkitVersion::new(version.major.saturating_sub(1), u16::MAX)
            } else {
                ToolkitVersion::new(version.major, version.minor - 1)
            };
            [
                before.with_patch(u16::MAX),
                version.with_patch(version.patch.saturating_sub(1)),
                version,
                version.with_patch(version.patch.saturating_add(1)),
                last_patch,
                ToolkitVersion::new(version.major, version.minor.saturating_add(1)),
            ]
        });
        around.chain([first, last]).any(|version| self.allows(version))
    }
}

impl FromStr for ToolkitRequirement {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let bounds = text
            .split(',')
            .map(|bound| {
                let bound = bound.trim();
                let (comparison, version) = [
                    (">=", Comparison::AtLeast),
                    ("<=", Comparison::AtMost),
                    (">", Comparison::Above),
                    ("<", Comparison::Below),
                    ("==", Comparison::Release),
                    ("", Comparison::Release),
                ]
                .into_iter()
                .find_map(|(operator, comparison)| Some((comparison, bound.strip_prefix(operator)?)))
                .expect("every text starts with the empty prefix");
                Ok(Bound {
                    comparison,
                    version: version.trim().parse()?,
                })
            })
            .collect::<Result<_, VersionError>>()
            .map_err(|_| VersionError {
                text: text.to_owned(),
                expected: "requirement such as `13.0`, `>=12.9` or `>=12.4, <13.0`",
            })?;
        Ok(Self { bounds })
    }
}

impl fmt::Display for ToolkitRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, bound) in self.bounds.iter().enumerate() {
            let operator = match bound.comparison {
                Comparison::Release => "",
                Comparison::AtLeast => ">=",
                Comparison::Above => ">",
                Comparison::AtMost => "<=",
                Comparison::Below => "<",
            };
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{operator}{}", bound.version)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ToolkitRequirement, ToolkitVersion};

    #[test]
    fn requirements_compare_releases() {
        let cases: [(&str, &str, bool); 9] = [
            (">=12.9", "12.9", true),
            (">=12.9", "13.0.88", true),
            (">=12.9", "12.8.93", false),
            ("13.0", "13.0.88", true),
            ("13.0", "13.1", false),
            (">=12.4, <13.0", "12.9.86", true),
            (">=12.4, <13.0", "13.0.1", false),
            ("<=13.0", "13.0.88", true),
            (">13.0", "13.0.88", false),
        ];
        for (requirement, version, expected) in cases {
            let parsed: ToolkitRequirement = requirement.parse().unwrap();
            assert_eq!(parsed.to_string(), requirement);
            assert_eq!(
                parsed.allows(version.parse().unwrap()),
                expected,
                "{requirement} and {version}"
            );
        }
    }

    #[test]
    fn tools_say_what_they_are() {
        for (text, expected) in [
            (
                "Cuda compilation tools, release 13.0, V13.0.88\n",
                Some("13.0.88"),
            ),
            (
                "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 12.8, V12.8.93\nBuild x",
                Some("12.8.93"),
            ),
            ("Cuda compilation tools, release 9.1\n", Some("9.1")),
            ("Cuda compilation tools, release banana, Vapple\n", None),
            ("13.0.88", None),
            ("", None),
        ] {
            let version = ToolkitVersion::of_tool_text(text).map(|version| version.to_string());
            assert_eq!(version.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn impossible_requirements_are_noticed() {
        for (requirement, possible) in [
            (">=12.4, <13.0", true),
            (">=13.0, <12.4", false),
            ("13.0, 12.9", false),
            ("13.0, 13.0.88", true),
            (">12.8, <12.9", false),
            (">12.8.93, <12.9", true),
            (">=13.0, <13.0", false),
            (">13.0.87, <13.0.89", true),
            (">13.0.88, <13.0.89", false),
            ("<0.0", false),
        ] {
            let parsed: ToolkitRequirement = requirement.parse().unwrap();
            assert_eq!(parsed.is_satisfiable(), possible, "{requirement}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "13",
            "13.",
            ".0",
            "13.0.88.1",
            "13.x",
            "+13.0",
            "13.0-rc",
            "99999.0",
        ] {
            assert!(text.parse::<ToolkitVersion>().is_err(), "{text}");
        }
        for text in ["", ">=", ">=12.9,", "~13.0", "=>13.0"] {
            assert!(text.parse::<ToolkitRequirement>().is_err(), "{text}");
        }
    }
}
