//! Configures and compiles one list, with everything that the tools say in one log.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use blockgate_toolkit::process::spawn;
use blockgate_toolkit::{BuildTools, Toolkit};
use serde::Deserialize;

use super::leftovers::{STOPPED_PREFIX, remove};
use super::progress::Progress;
use crate::context::{StatusError, publish};

/// One configuration of a CMake project in a build folder.
pub(crate) struct Build<'a> {
    /// Folder of the project.
    pub(crate) source: &'a Path,
    /// Folder of the objects.
    pub(crate) folder: &'a Path,
    /// `-D…` options.
    pub(crate) definitions: Vec<OsString>,
    pub(crate) toolkit: &'a Toolkit,
    pub(crate) tools: &'a BuildTools,
    /// How many compilers run at once.
    pub(crate) jobs: usize,
}

/// How a build ended.
pub(crate) struct Ended {
    pub(crate) succeeded: bool,
    /// Whether every object was compiled in this run: Ninja leaves alone what is up to date.
    pub(crate) all_compiled: bool,
    /// Everything that CMake, Ninja and the compilers printed.
    pub(crate) log: String,
}

/// A compilation, as compile_commands.json has it.
#[derive(Debug, Deserialize)]
pub(crate) struct Compilation {
    file: PathBuf,
    directory: PathBuf,
    output: Option<PathBuf>,
}

impl Compilation {
    /// The source, relative to `project`; one that the build made, relative to `build` and marked so.
    pub(crate) fn source(&self, project: &Path, build: &Path) -> String {
        let file = self.directory.join(&self.file);
        match (file.strip_prefix(build), file.strip_prefix(project)) {
            (Ok(made), _) => format!("<build>/{}", made.display()),
            (_, Ok(own)) => own.display().to_string(),
            _ => file.display().to_string(),
        }
    }

    /// The object, relative to the build folder as far as it lies there.
    ///
    /// # Errors
    /// The file does not say which it is.
    pub(crate) fn object(&self) -> anyhow::Result<&Path> {
        self.output.as_deref().ok_or_else(|| {
            StatusError::unreadable(format!(
                "compile_commands.json does not say which object {} is compiled to; CMake 3.20 and later do",
                self.file.display()
            ))
        })
    }

    /// Where the object is.
    pub(crate) fn object_path(&self) -> anyhow::Result<PathBuf> {
        Ok(self.directory.join(self.object()?))
    }
}

/// How Ninja and shells end after SIGINT.
const INTERRUPTED: i32 = 130;

/// What Ninja says after SIGINT. Releases before 1.13 end with 2 then, as after a wrong build file.
const INTERRUPTED_WORDS: &str = "ninja: build stopped: interrupted by user.";

/// Somebody stopped the build, which says nothing about the list.
#[derive(Debug)]
pub(crate) struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the build was stopped")
    }
}

/// Written into a configured folder; another text means another configuration.
const STAMP: &str = "blockgate-configuration.txt";

/// Stands in a build folder while tools are at work in it.
const RUNNING: &str = "blockgate-running.txt";

impl Build<'_> {
    /// Configures where that is needed, then compiles. An error of a compiler is no `Err`: it is in the log.
    pub(crate) fn run(&self, progress: &Progress) -> anyhow::Result<Ended> {
        if self.folder.join(RUNNING).is_file() {
            set_aside(self.folder)?;
        }
        let stamp = self.stamp();
        let stamp_path = self.folder.join(STAMP);
        let configured = std::fs::read_to_string(&stamp_path).is_ok_and(|found| found == stamp)
            && self.ninja_file().is_file();
        if !configured {
            // What another configuration has left in the cache would still count, and objects that are left would
            // not be compiled.
            wipe(self.folder)?;
        }
        std::fs::create_dir_all(self.folder)
            .with_context(|| format!("cannot make {}", self.folder.display()))?;
        publish(&self.folder.join(RUNNING), b"")?;
        let mut log = Log::create(&self.folder.join("blockgate-build.log"))?;
        if !configured {
            progress.detail("configuring");
            if !self.run_logged(self.configure(), &mut log, progress)? {
                remove(&self.folder.join(RUNNING))?;
                return Ok(log.ended(false, false));
            }
            publish(&stamp_path, stamp.as_bytes())?;
        }
        let succeeded = self.run_logged(self.compile(), &mut log, progress)?;
        remove(&self.folder.join(RUNNING))?;
        Ok(log.ended(succeeded, !configured))
    }

    fn ninja_file(&self) -> PathBuf {
        self.folder.join("build.ninja")
    }

    fn stamp(&self) -> String {
        let mut lines: Vec<String> = [
            self.toolkit.describe(),
            self.tools.describe(),
            self.source.display().to_string(),
        ]
        .into();
        lines.extend(
            self.definitions
                .iter()
                .map(|definition| definition.to_string_lossy().into_owned()),
        );
        lines.join("\n")
    }

    fn configure(&self) -> Command {
        let mut command = Command::new(&self.tools.cmake);
        let path_option = |name: &str, path: &Path| {
            let mut option = OsString::from(format!("-D{name}="));
            option.push(path);
            option
        };
        command
            .arg("-S")
            .arg(self.source)
            .arg("-B")
            .arg(self.folder)
            .args([
                "-G",
                "Ninja",
                "-DCMAKE_BUILD_TYPE=Release",
                "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            ])
            .arg(path_option("CMAKE_CUDA_COMPILER", &self.toolkit.nvcc))
            .arg(path_option("CMAKE_MAKE_PROGRAM", &self.tools.ninja))
            .args(&self.definitions);
        command
    }

    /// Goes on after an error, so that the first error of every source is in the log.
    fn compile(&self) -> Command {
        let mut command = Command::new(&self.tools.ninja);
        command
            .arg("-C")
            .arg(self.folder)
            .args(["-k", "0", "-j"])
            .arg(self.jobs.to_string());
        command
    }

    fn run_logged(&self, mut command: Command, log: &mut Log, progress: &Progress) -> anyhow::Result<bool> {
        self.toolkit.environment(self.tools).apply(&mut command);
        // The classifier of errors knows the compilers' English.
        command
            .env("LC_ALL", "C")
            .env("NINJA_STATUS", "[%f/%t] ")
            .stdin(Stdio::null());
        let program = command.get_program().to_string_lossy().into_owned();
        let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
        let both = writer.try_clone().context("cannot make a pipe")?;
        command.stdout(writer).stderr(both);
        let mut child = spawn(&mut command).with_context(|| format!("cannot run {program}"))?;
        // The command holds the writing ends, and the reader would wait for them for ever.
        drop(command);
        let mut stopped = false;
        for line in BufReader::new(reader).split(b'\n') {
            let line = line.with_context(|| format!("cannot read what {program} prints"))?;
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches('\r');
            if line.starts_with('[') && line.contains("] ") {
                progress.detail(line);
            }
            stopped |= line == INTERRUPTED_WORDS;
            log.line(line)?;
        }
        let status = child
            .wait()
            .with_context(|| format!("cannot wait for {program}"))?;
        // What is published of the list stays as it was.
        if stopped || status.code().is_none_or(|code| code == INTERRUPTED) {
            let how =
                StatusError::unreadable(format!("{program} ended with {status}; nothing was published"));
            return Err(how.context(Stopped));
        }
        Ok(status.success())
    }

    /// The compilations of the configured project.
    pub(crate) fn compilations(&self) -> anyhow::Result<Vec<Compilation>> {
        let path = self.compile_commands();
        let unreadable = |error: &dyn std::fmt::Display| {
            StatusError::unreadable(format!("cannot read {}: {error}", path.display()))
        };
        let text = std::fs::read(&path).map_err(|error| unreadable(&error))?;
        serde_json::from_slice(&text).map_err(|error| unreadable(&error))
    }

    /// Where CMake writes them.
    pub(crate) fn compile_commands(&self) -> PathBuf {
        self.folder.join("compile_commands.json")
    }
}

/// Removes a build folder with everything in it.
pub(crate) fn wipe(folder: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Moves away the folder of a run that never ended. Its compilers may still be at work, and write to where they were
/// started: into the folder under its new name, which a later run removes.
fn set_aside(folder: &Path) -> anyhow::Result<()> {
    let aside = folder.with_file_name(format!("{STOPPED_PREFIX}{}", std::process::id()));
    std::fs::rename(folder, &aside).with_context(|| format!("cannot move away {}", folder.display()))?;
    // Whoever still writes there can keep it from going now.
    let _ = wipe(&aside);
    Ok(())
}

/// The log of a build that goes on, in memory and, for whoever wants to watch, in the build folder.
struct Log {
    text: String,
    file: File,
}

impl Log {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self {
            text: String::new(),
            file,
        })
    }

    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        self.text.push_str(line);
        self.text.push('\n');
        writeln!(self.file, "{line}").context("cannot write the log")
    }

    fn ended(self, succeeded: bool, all_compiled: bool) -> Ended {
        Ended {
            succeeded,
            all_compiled,
            log: self.text,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use blockgate_arch::ToolkitVersion;
    use blockgate_toolkit::{BuildTools, CMakeVersion, Toolkit, ToolkitSource};

    use super::{Build, Compilation, Ended, Progress, Stopped};

    /// A build whose CMake only makes the file that it must, and whose Ninja is this shell script.
    #[cfg(unix)]
    fn build(folder: &Path, ninja: &str) -> anyhow::Result<Ended> {
        use std::os::unix::fs::PermissionsExt as _;
        let script = |name: &str, body: &str| -> PathBuf {
            let path = folder.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let tools = BuildTools {
            // The fourth argument is the build folder.
            cmake: script("cmake", ": > \"$4/build.ninja\""),
            cmake_version: CMakeVersion {
                major: 4,
                minor: 4,
                patch: 5,
            },
            ninja: script("ninja", ninja),
            cxx: PathBuf::from("g++"),
            cxx_version: "g++ 12.2.0".to_owned(),
            installed_because: None,
        };
        let toolkit = Toolkit {
            nvcc: folder.join("nvcc"),
            version: ToolkitVersion::new(13, 0),
            source: ToolkitSource::Provisioned,
            library_folder: None,
        };
        Build {
            source: folder,
            folder: &folder.join("build"),
            definitions: Vec::new(),
            toolkit: &toolkit,
            tools: &tools,
            jobs: 1,
        }
        .run(&Progress::stderr())
    }

    #[test]
    #[cfg(unix)]
    fn only_a_fresh_folder_has_every_object_compiled() {
        let folder = tempfile::tempdir().unwrap();
        let ended = build(folder.path(), "echo '[1/1] x'").unwrap();
        assert!(ended.succeeded && ended.all_compiled, "{}", ended.log);
        let ended = build(folder.path(), "echo 'ninja: no work to do.'").unwrap();
        assert!(ended.succeeded && !ended.all_compiled, "{}", ended.log);
        super::wipe(&folder.path().join("build")).unwrap();
        assert!(build(folder.path(), "exit 0").unwrap().all_compiled);
    }

    #[test]
    #[cfg(unix)]
    fn a_build_that_was_stopped_is_no_failure_of_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let failed = build(
            folder.path(),
            "echo 'ninja: build stopped: subcommand failed.'; exit 1",
        );
        assert!(!failed.unwrap().succeeded);
        for stopped in [
            "echo 'ninja: build stopped: interrupted by user.'; exit 2",
            "exit 130",
            "kill -9 $$",
        ] {
            let error = build(folder.path(), stopped).err().unwrap();
            assert!(error.is::<Stopped>(), "{stopped}: {error:#}");
        }
    }

    #[test]
    fn sources_are_named_by_their_place() {
        let text = r#"[
            {"directory": "/b", "file": "/p/one/a.cu", "command": "x", "output": "CMakeFiles/one.dir/a.cu.o"},
            {"directory": "/b", "file": "/p/two/a.cu", "command": "x", "output": "/b/two.o"},
            {"directory": "/b", "file": "/b/made/a.cu", "command": "x"}
        ]"#;
        let all: Vec<Compilation> = serde_json::from_str(text).unwrap();
        let names: Vec<String> = all
            .iter()
            .map(|one| one.source(Path::new("/p"), Path::new("/b")))
            .collect();
        assert_eq!(names, ["one/a.cu", "two/a.cu", "<build>/made/a.cu"]);
        assert_eq!(
            all[0].object_path().unwrap(),
            Path::new("/b/CMakeFiles/one.dir/a.cu.o")
        );
        assert_eq!(all[1].object_path().unwrap(), Path::new("/b/two.o"));
        assert!(all[2].object().unwrap_err().to_string().contains("/b/made/a.cu"));
    }
}
