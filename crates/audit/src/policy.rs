//! The configuration file of an audit: found, read, and matched with artifacts.

use std::io;
use std::path::{Path, PathBuf};

use blockgate_config::{AuditPolicy, FILE_NAMES, KnownRules};
use blockgate_findings::Finding;
use jiff::civil::Date;

/// What an audit is held to.
#[derive(Clone, Debug)]
pub struct Policy {
    /// What the configuration says.
    pub config: AuditPolicy,
    /// The file that says it, as it is shown; `None` where there is none.
    pub path: Option<String>,
    /// The folder of that file, which globs may be relative to.
    pub root: Option<PathBuf>,
    /// The day on which waivers are looked at.
    pub today: Date,
}

/// Why there is no policy to follow.
#[derive(Debug)]
pub enum PolicyError {
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file has mistakes.
    Invalid(Vec<Finding>),
    /// Inputs lie under different files, and one run follows one.
    Several([PathBuf; 2]),
}

impl Policy {
    /// The day that waivers are held against: in UTC, so that it is the same for everyone.
    pub fn today() -> Date {
        jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
    }

    /// The default of every rule, and nothing demanded.
    pub fn none(today: Date) -> Self {
        Self {
            config: AuditPolicy::default(),
            path: None,
            root: None,
            today,
        }
    }

    /// Reads `file`.
    ///
    /// # Errors
    /// When it cannot be read, or has mistakes.
    pub fn read(file: &Path, today: Date) -> Result<Self, PolicyError> {
        let unreadable = |error| PolicyError::Unreadable {
            path: file.to_owned(),
            error,
        };
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        let shown = file.display().to_string();
        let configurable = crate::rules::configurable();
        let fixed = crate::rules::fixed();
        let known = KnownRules {
            configurable: &configurable,
            fixed: &fixed,
        };
        let config = blockgate_config::parse(&text, &shown, known).map_err(PolicyError::Invalid)?;
        let folder = file
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        Ok(Self {
            config: config.audit,
            path: Some(shown),
            root: Some(std::fs::canonicalize(folder).map_err(unreadable)?),
            today,
        })
    }

    /// The configuration file over all of `inputs`, looked for in the folder of each and upwards from there.
    ///
    /// # Errors
    /// When inputs lie under different files.
    pub fn find(inputs: &[PathBuf]) -> Result<Option<PathBuf>, PolicyError> {
        let mut found: Option<PathBuf> = None;
        for input in inputs {
            let Some(file) = above(input) else { continue };
            match &found {
                Some(other) if *other != file => {
                    return Err(PolicyError::Several([other.clone(), file]));
                }
                _ => found = Some(file),
            }
        }
        Ok(found)
    }

    /// The paths by which globs may name an input: as it was given, and from the configuration's folder.
    pub(crate) fn paths_of(&self, given: &str) -> Vec<String> {
        let mut paths = vec![given.to_owned()];
        if let Some(root) = &self.root
            && let Ok(whole) = std::fs::canonicalize(given)
            && let Ok(relative) = whole.strip_prefix(root)
        {
            paths.push(relative.display().to_string());
        }
        if cfg!(windows) {
            for path in &mut paths {
                *path = path.replace('\\', "/");
            }
        }
        paths
    }
}

/// The nearest configuration file in the folder of `input` or above it, by a path that is as short as the input's.
fn above(input: &Path) -> Option<PathBuf> {
    let whole = std::fs::canonicalize(input).ok();
    // What cannot be opened, or is standard input, belongs to the current folder.
    let start = match &whole {
        Some(whole) if whole.is_dir() => whole.clone(),
        Some(whole) => whole.parent()?.to_owned(),
        None => std::fs::canonicalize(".").ok()?,
    };
    let file = start.ancestors().find_map(|folder| {
        FILE_NAMES
            .iter()
            .map(|name| folder.join(name))
            .find(|file| file.is_file())
    })?;
    let current = std::fs::canonicalize(".").ok();
    let relative = current.and_then(|current| file.strip_prefix(current).ok().map(Path::to_owned));
    Some(relative.unwrap_or(file))
}
