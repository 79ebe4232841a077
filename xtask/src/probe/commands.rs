//! The flags of a source, from a compile_commands.json.
//!
//! Source of the format: Clang documentation, "JSON Compilation Database Format Specification".

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::compile::Unit;
use crate::context::{Context, StatusError};

const FILE_NAME: &str = "compile_commands.json";

/// One entry of the file.
#[derive(Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    arguments: Option<Vec<String>>,
    command: Option<String>,
}

/// A source with its flags, and where they come from.
pub(super) struct Found {
    pub(super) unit: Unit,
    pub(super) path: PathBuf,
}

/// The flags of `source`: from `named`, which must then have them, else from the first file around that does.
pub(super) fn find(source: &Path, named: Option<&Path>, context: &Context) -> anyhow::Result<Option<Found>> {
    if let Some(path) = named {
        return match flags_in(path, source)? {
            Some(found) => Ok(Some(found)),
            None => Err(StatusError::unreadable(format!(
                "{} has no entry for {}",
                path.display(),
                source.display()
            ))),
        };
    }
    for path in candidates(source, context) {
        if path.is_file()
            && let Some(found) = flags_in(&path, source)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn candidates(source: &Path, context: &Context) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = source
        .ancestors()
        .skip(1)
        .flat_map(|folder| [folder.join(FILE_NAME), folder.join("build").join(FILE_NAME)])
        .collect();
    if let Ok(lists) = std::fs::read_dir(context.target().join("arch")) {
        let mut built: Vec<PathBuf> = lists
            .filter_map(|list| Some(list.ok()?.path().join(FILE_NAME)))
            .collect();
        built.sort();
        paths.extend(built);
    }
    paths
}

fn flags_in(path: &Path, source: &Path) -> anyhow::Result<Option<Found>> {
    let unreadable = |reason: String| StatusError::unreadable(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let entries: Vec<Entry> = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    // Relative folders start from the file's own.
    let here = path.parent().unwrap_or(Path::new("."));
    let wanted = canonical(source);
    for entry in entries {
        let directory = here.join(&entry.directory);
        if canonical(&directory.join(&entry.file)) != wanted {
            continue;
        }
        let words = match (entry.arguments, entry.command) {
            (Some(arguments), _) => arguments,
            (None, Some(command)) => shlex::split(&command)
                .ok_or_else(|| unreadable(format!("the quotes of this command do not match: {command}")))?,
            (None, None) => {
                return Err(unreadable(format!(
                    "the entry for {} has neither `arguments` nor `command`",
                    source.display()
                )));
            }
        };
        return Ok(Some(Found {
            unit: Unit {
                flags: own_flags(&words, &entry.file),
                source: source.to_owned(),
                directory,
            },
            path: path.to_owned(),
        }));
    }
    Ok(None)
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// What is done to an option of a compile command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    /// Left out.
    Drop,
    /// Left out together with the next word.
    DropWithValue,
}

/// The options that say for what, from where or to where is compiled. A value may also be joined by `=`.
const REPLACED: &[(&str, Action)] = &[
    // Targets.
    ("--generate-code", Action::DropWithValue),
    ("-gencode", Action::DropWithValue),
    ("--gpu-architecture", Action::DropWithValue),
    ("-arch", Action::DropWithValue),
    ("--gpu-code", Action::DropWithValue),
    ("-code", Action::DropWithValue),
    ("-arch-list", Action::DropWithValue),
    // Phases, of which the last would win.
    ("--compile", Action::Drop),
    ("-c", Action::Drop),
    ("--device-c", Action::Drop),
    ("-dc", Action::Drop),
    ("--device-w", Action::Drop),
    ("-dw", Action::Drop),
    ("--ptx", Action::Drop),
    ("-ptx", Action::Drop),
    ("--cubin", Action::Drop),
    ("-cubin", Action::Drop),
    ("--fatbin", Action::Drop),
    ("-fatbin", Action::Drop),
    // Outputs.
    ("--output-file", Action::DropWithValue),
    ("-o", Action::DropWithValue),
    ("-MD", Action::Drop),
    ("-MMD", Action::Drop),
    ("--generate-dependencies-with-compile", Action::Drop),
    ("-MT", Action::DropWithValue),
    ("-MF", Action::DropWithValue),
    ("-MP", Action::Drop),
    ("-objtemp", Action::Drop),
    ("--objdir-as-tempdir", Action::Drop),
    ("--keep", Action::Drop),
    ("-keep", Action::Drop),
    // The host compiler is the toolkit's choice, and a second one would be refused.
    ("--compiler-bindir", Action::DropWithValue),
    ("-ccbin", Action::DropWithValue),
    // One target has nothing to share among threads.
    ("--threads", Action::DropWithValue),
    ("-t", Action::DropWithValue),
];

/// The options that stand for relocatable device code together with a phase.
const RELOCATABLE_PHASES: [&str; 2] = ["-dc", "--device-c"];

/// The words of a command without compiler, targets, phase, input and output.
fn own_flags(words: &[String], file: &Path) -> Vec<OsString> {
    let mut flags: Vec<OsString> = Vec::new();
    if words
        .iter()
        .any(|word| RELOCATABLE_PHASES.contains(&word.as_str()))
    {
        flags.push("-rdc=true".into());
    }
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        match REPLACED.iter().find(|(option, _)| *option == name) {
            Some((_, Action::DropWithValue)) if name == word.as_str() => {
                rest.next();
            }
            Some(_) => {}
            None if Path::new(word) == file || is_same_name(word, file) => {}
            None => flags.push(word.into()),
        }
    }
    flags
}

/// Whether a word that is no option is the source by another path.
fn is_same_name(word: &str, file: &Path) -> bool {
    !word.starts_with('-') && Path::new(word).file_name() == file.file_name()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::own_flags;

    fn flags(command: &str) -> String {
        let words = shlex::split(command).unwrap();
        let flags: Vec<String> = own_flags(&words, Path::new("/src/quantize.cu"))
            .into_iter()
            .map(|flag| flag.into_string().unwrap())
            .collect();
        flags.join(" ")
    }

    #[test]
    fn targets_input_and_output_go_and_the_rest_stays() {
        let cases = [
            (
                "nvcc -forward-unknown-to-host-compiler -DNAME=\"a b\" -I/include -O3 -std=c++17 \"--generate-code=arch=compute_121,code=[compute_121,sm_121]\" -objtemp -MD -MT q.o -MF q.o.d -x cu -c /src/quantize.cu -o q.o",
                "-forward-unknown-to-host-compiler -DNAME=a b -I/include -O3 -std=c++17 -x cu",
            ),
            (
                "nvcc -gencode arch=compute_90,code=sm_90 -gencode=arch=compute_90,code=sm_90 -arch=sm_90 -arch sm_90 -dc ../src/quantize.cu -o q.o",
                "-rdc=true",
            ),
            (
                "nvcc --threads 4 -t=2 -ccbin g++-12 --expt-relaxed-constexpr --cubin /src/quantize.cu",
                "--expt-relaxed-constexpr",
            ),
            ("nvcc -include other.cu /src/quantize.cu", "-include other.cu"),
        ];
        for (command, expected) in cases {
            assert_eq!(flags(command), expected, "{command}");
        }
    }
}
