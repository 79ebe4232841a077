//! What an archive was made from, so that a later build can be held against it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use blockgate_archlist::ArchList;
use serde::{Deserialize, Serialize};

use super::facts::{Digest, Repeat};
use crate::hash::sha256;

/// Inputs and outputs of one build of a list. It lies in audit.json under `build`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) list_sha256: Digest,
    pub(crate) sources_sha256: Digest,
    pub(crate) toolkit: String,
    /// Versions of CMake and of the C++ compiler.
    pub(crate) build_tools: String,
    /// Files that were made, each with its digest.
    pub(crate) artifacts: Vec<(String, Digest)>,
}

/// The endings of files that decide what is compiled.
const SOURCE_ENDINGS: [&str; 11] = [
    "cu", "cuh", "c", "cc", "cpp", "cxx", "h", "hpp", "inl", "cmake", "txt",
];

impl Record {
    /// Whether both come from the same inputs, so that their artifacts should be the same.
    fn same_inputs(&self, other: &Self) -> bool {
        let inputs = |record: &Self| {
            [
                record.list_sha256.clone(),
                record.sources_sha256.clone(),
                record.toolkit.clone(),
                record.build_tools.clone(),
            ]
        };
        inputs(self) == inputs(other)
    }

    /// The record in an audit.json of an earlier run, where there is one that can be read.
    pub(crate) fn of_audit(path: &Path) -> Option<Self> {
        #[derive(Deserialize)]
        struct WithRecord {
            build: Record,
        }
        let text = std::fs::read(path).ok()?;
        serde_json::from_slice::<WithRecord>(&text)
            .ok()
            .map(|audit| audit.build)
    }

    /// The files that were published, relative to the list's folder. The record is read from a file, so what would lead
    /// out of that folder is left out.
    pub(crate) fn published(&self) -> impl Iterator<Item = &Path> {
        self.artifacts
            .iter()
            .map(|(name, _)| Path::new(name))
            .filter(|path| {
                let mut parts = path.components().peekable();
                parts.peek().is_some() && parts.all(|part| matches!(part, std::path::Component::Normal(_)))
            })
    }

    /// How this build's artifacts compare with an earlier one's. `members` names the members that differ between
    /// the two files of a name.
    pub(crate) fn repeat(&self, earlier: Option<&Self>, members: impl Fn(&str) -> Vec<String>) -> Repeat {
        let Some(earlier) = earlier.filter(|earlier| earlier.same_inputs(self)) else {
            return Repeat::Nothing;
        };
        let mut differing = Vec::new();
        for (name, digest) in &self.artifacts {
            let before = earlier.artifacts.iter().find(|(other, _)| other == name);
            if before.is_none_or(|(_, before)| before != digest) {
                differing.extend(members(name));
            }
        }
        if differing.is_empty() {
            Repeat::Identical
        } else {
            Repeat::Differs(differing)
        }
    }
}

/// The digest of a list's text.
pub(crate) fn list_digest(list: &ArchList) -> Digest {
    sha256(list.places.text.as_bytes())
}

/// One digest over the names and contents of every source file below `folder`, build output left out.
pub(crate) fn sources_digest(folder: &Path) -> anyhow::Result<Digest> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let mut listing = String::new();
    for file in files {
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(folder).unwrap_or(&file);
        listing.push_str(&format!("{} {}\n", sha256(&bytes), name.display()));
    }
    Ok(sha256(listing.as_bytes()))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let reading = || format!("cannot read {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(reading)? {
        let entry = entry.with_context(reading)?;
        let path = entry.path();
        let kind = entry.file_type().with_context(reading)?;
        if kind.is_dir() {
            let is_output = path.join("CMakeCache.txt").is_file() || entry.file_name() == ".git";
            if !is_output {
                collect(&path, files)?;
            }
        } else if kind.is_file() {
            let ending = path
                .extension()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if SOURCE_ENDINGS.contains(&ending.as_str()) {
                files.push(path);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Record, Repeat, sources_digest};

    #[test]
    fn only_the_same_inputs_are_compared() {
        let record = |list: &str, digest: &str| Record {
            list_sha256: list.to_owned(),
            sources_sha256: "s".to_owned(),
            toolkit: "13.0.88".to_owned(),
            build_tools: "CMake 4.4.5, C++ compiler g++ 12.2.0".to_owned(),
            artifacts: vec![
                ("a".to_owned(), digest.to_owned()),
                ("b".to_owned(), "2".to_owned()),
            ],
        };
        let members = |name: &str| vec![format!("x of {name}")];
        let now = record("l", "1");
        assert_eq!(now.repeat(None, members), Repeat::Nothing);
        assert_eq!(now.repeat(Some(&record("other", "1")), members), Repeat::Nothing);
        let upgraded = Record {
            build_tools: "CMake 4.4.5, C++ compiler g++ 13.1.0".to_owned(),
            ..record("l", "9")
        };
        assert_eq!(now.repeat(Some(&upgraded), members), Repeat::Nothing);
        assert_eq!(now.repeat(Some(&record("l", "1")), members), Repeat::Identical);
        assert_eq!(
            now.repeat(Some(&record("l", "9")), members),
            Repeat::Differs(vec!["x of a".to_owned()])
        );
    }

    #[test]
    fn only_files_of_the_folder_are_published() {
        let record = Record {
            list_sha256: String::new(),
            sources_sha256: String::new(),
            toolkit: String::new(),
            build_tools: String::new(),
            artifacts: ["lib/liba.a", "../libb.a", "/libc.a", ""]
                .map(|name| (name.to_owned(), String::new()))
                .to_vec(),
        };
        let published: Vec<_> = record.published().collect();
        assert_eq!(published, [std::path::Path::new("lib/liba.a")]);
    }

    #[test]
    fn the_digest_follows_names_and_contents() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let digest = || sources_digest(folder.path()).unwrap();
        write("src/a.cu", "1");
        let first = digest();
        write("README.md", "not compiled");
        write("build/CMakeCache.txt", "");
        write("build/made.h", "x");
        assert_eq!(digest(), first);
        write("src/a.cu", "2");
        assert_ne!(digest(), first);
        write("src/a.cu", "1");
        write("src/b.cuh", "");
        assert_ne!(digest(), first);
    }
}
