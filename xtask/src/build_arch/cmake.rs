//! Configures and compiles one list, with everything that the tools say in one log.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use blockgate_toolkit::{BuildTools, Toolkit};
use serde::Deserialize;

use super::progress::Progress;

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
    /// File name of the source.
    pub(crate) fn source(&self) -> String {
        file_name(&self.file)
    }

    /// The object.
    pub(crate) fn object(&self) -> Option<PathBuf> {
        self.output.as_ref().map(|output| self.directory.join(output))
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Written into a configured folder; another text means another configuration.
const STAMP: &str = "blockgate-configuration.txt";

impl Build<'_> {
    /// Configures where that is needed, then compiles. An error of a compiler is no `Err`: it is in the log.
    pub(crate) fn run(&self, progress: &Progress) -> anyhow::Result<Ended> {
        let stamp = self.stamp();
        let stamp_path = self.folder.join(STAMP);
        let configured = std::fs::read_to_string(&stamp_path).is_ok_and(|found| found == stamp)
            && self.ninja_file().is_file();
        if !configured {
            // What another configuration has left in the cache would still count.
            wipe(self.folder)?;
        }
        std::fs::create_dir_all(self.folder)
            .with_context(|| format!("cannot make {}", self.folder.display()))?;
        let mut log = Log::create(&self.folder.join("blockgate-build.log"))?;
        if !configured {
            progress.detail("configuring");
            if !self.run_logged(self.configure(), &mut log, progress)? {
                return log.ended(false);
            }
            std::fs::write(&stamp_path, &stamp)
                .with_context(|| format!("cannot write {}", stamp_path.display()))?;
        }
        let succeeded = self.run_logged(self.compile(), &mut log, progress)?;
        log.ended(succeeded)
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
        let mut child = command.spawn().with_context(|| format!("cannot run {program}"))?;
        // The command holds the writing ends, and the reader would wait for them for ever.
        drop(command);
        for line in BufReader::new(reader).split(b'\n') {
            let line = line.with_context(|| format!("cannot read what {program} prints"))?;
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches('\r');
            if line.starts_with('[') && line.contains("] ") {
                progress.detail(line);
            }
            log.line(line)?;
        }
        let status = child
            .wait()
            .with_context(|| format!("cannot wait for {program}"))?;
        if !status.success() && status.code().is_none() {
            log.line(&format!("{program} was ended by a signal: {status}"))?;
        }
        Ok(status.success())
    }

    /// The compilations of the configured project.
    pub(crate) fn compilations(&self) -> anyhow::Result<Vec<Compilation>> {
        let path = self.compile_commands();
        let text = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("cannot read {}", path.display()))
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

    fn ended(self, succeeded: bool) -> anyhow::Result<Ended> {
        Ok(Ended {
            succeeded,
            log: self.text,
        })
    }
}
