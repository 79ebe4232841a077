//! From lines to causes.

use super::cause::Cause;
use super::lines::{Line, line, origin, quoted};
use super::{Context, Diagnosis};
use crate::arch::{Arch, Scope};
use crate::dialect::cmake;
use crate::gates::{INSTRUCTIONS, Instruction};
use crate::parse::Target;
use crate::toolkits::UnknownTarget;
use crate::toolkits::knows;

/// What ptxas ends a run with; it says nothing about the cause.
const SUMMARY: &str = "Ptx assembly aborted due to errors";

pub(super) fn diagnose(output: &str, context: &Context) -> Vec<Diagnosis> {
    let mut reader = Reader {
        context,
        command: Command::default(),
        open: None,
        found: Vec::new(),
        errors: 0,
        failed: None,
        summary: false,
    };
    let mut lines = output.lines().peekable();
    while let Some(raw) = lines.next() {
        match line(raw) {
            Line::CMake => {
                // A CMake error runs until the call stack. Where it quotes a compiler, the compiler's line is
                // the cause, and this loop reads it like any other.
                let mut quoted_lines = Vec::new();
                let mut ahead = lines.clone();
                while let Some(next) = ahead.next_if(|next| next.trim().is_empty() || next.starts_with(' ')) {
                    quoted_lines.push(next.trim());
                }
                reader.cmake(raw.trim(), &quoted_lines);
            }
            Line::Command(text) => reader.command(text),
            Line::Ptx { file, line, text } => reader.ptx(file, line, text),
            Line::Tool { tool, text } => reader.tool(tool, text),
            Line::Source { file, text } => reader.source(file, text),
            Line::HostCompiler { refusal } => reader.host_compiler(refusal),
            Line::Failed { object } => reader.failed(object),
            Line::Step => reader.end_of_failed(),
            Line::Text(text) => reader.text(text),
        }
    }
    reader.end_of_failed();
    if reader.summary && reader.found.is_empty() {
        let source = reader.named_source();
        reader.push(source, context.pass, vec![SUMMARY.to_owned()], other(SUMMARY));
    }
    reader.found
}

/// The command that the errors after it belong to.
#[derive(Default)]
struct Command {
    source: Option<String>,
    /// The target, if the command has one only.
    pass: Option<Arch>,
}

/// Messages about one line of PTX.
struct OpenGroup {
    file: String,
    line: String,
    texts: Vec<String>,
}

/// A command of Ninja's that failed, until the next command begins.
struct Failed {
    object: String,
    /// How many errors there were before it.
    errors_before: usize,
    /// How many diagnoses there were before it.
    found_before: usize,
    /// The last line that it printed.
    last_words: String,
}

struct Reader<'a> {
    context: &'a Context,
    command: Command,
    open: Option<OpenGroup>,
    found: Vec<Diagnosis>,
    /// How many errors were found, those that only add to a diagnosis too.
    errors: usize,
    failed: Option<Failed>,
    /// Whether ptxas gave up, for whatever reason.
    summary: bool,
}

impl Reader<'_> {
    fn command(&mut self, text: &str) {
        self.close();
        let mut passes: Vec<Arch> = Vec::new();
        for part in text.split("arch=").skip(1) {
            let name: String = part
                .chars()
                .take_while(|character| character.is_ascii_alphanumeric() || *character == '_')
                .collect();
            if let Ok(arch) = name.parse::<Arch>()
                && !passes.contains(&arch)
            {
                passes.push(arch);
            }
        }
        self.command = Command {
            source: text
                .split_ascii_whitespace()
                .filter(|word| !word.starts_with('-'))
                // CMake compiles a program of its own to try the compiler; that is no source of the project's.
                .find(|word| word.ends_with(".cu") && !word.contains("/CMakeScratch/"))
                .map(|path| file_name(path).to_owned()),
            pass: match passes.as_slice() {
                [only] => Some(*only),
                _ => None,
            },
        };
    }

    fn failed(&mut self, object: &str) {
        self.end_of_failed();
        let source = source_of_object(object);
        // CMake compiles a program of its own to try the compiler, and says itself what that comes to.
        let is_trial = object.contains("/cmTC_");
        self.command = Command {
            source: source.filter(|_| !is_trial),
            pass: None,
        };
        self.failed = (!is_trial).then(|| Failed {
            object: object.to_owned(),
            errors_before: self.errors,
            found_before: self.found.len(),
            last_words: String::new(),
        });
    }

    /// A command that failed without any error that is known has still failed.
    fn end_of_failed(&mut self) {
        self.close();
        let Some(failed) = self.failed.take() else {
            return;
        };
        if self.errors == failed.errors_before {
            let source = self.named_source().or(Some(failed.object));
            let message = if failed.last_words.is_empty() {
                "the command failed and said nothing".to_owned()
            } else {
                failed.last_words
            };
            let cause = other(&message);
            self.push(source, self.pass(), vec![message], cause);
        }
        // What follows belongs to another command.
        self.command = Command::default();
    }

    fn ptx(&mut self, file: &str, line: &str, text: &str) {
        if let Some(open) = &mut self.open
            && open.file == file
            && open.line == line
        {
            open.texts.push(text.to_owned());
            return;
        }
        self.close();
        self.open = Some(OpenGroup {
            file: file.to_owned(),
            line: line.to_owned(),
            texts: vec![text.to_owned()],
        });
    }

    /// Turns the open group into a diagnosis.
    fn close(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let (source, named) = origin(&open.file);
        let arch = open
            .texts
            .iter()
            .find_map(|text| target_of(text))
            .or(named.and_then(|name| name.parse().ok()))
            .or(self.pass());
        let cause = self.ptx_cause(&open.texts, arch);
        let source = self.named_source().unwrap_or(source);
        self.push(Some(source), arch, open.texts, cause);
    }

    fn ptx_cause(&self, texts: &[String], arch: Option<Arch>) -> Cause {
        let toolkit = self.context.toolkit;
        // A group that begins with an unknown word is about the spelling, and what follows only repeats it.
        let spelling = texts.iter().find_map(|text| {
            let what = text
                .strip_prefix("Unknown modifier ")
                .or_else(|| text.strip_prefix("Unexpected instruction types specified for "))
                .or_else(|| text.strip_prefix("Not a name of any known instruction: "))?;
            quoted(what, '\'')
        });
        if let Some(what) = spelling {
            return Cause::ToolkitTooOld {
                what: what.to_owned(),
                toolkit,
                added_later: added_later(what, self.context),
            };
        }
        let phrases = || {
            texts.iter().filter_map(|text| {
                (text.contains("not supported on .target") || text.contains("requires .target"))
                    .then(|| quoted(text, '\''))
                    .flatten()
            })
        };
        let known = phrases().find_map(|phrase| Some((phrase, Instruction::refused_as(phrase)?)));
        let phrase = known.map(|(phrase, _)| phrase).or_else(|| phrases().next());
        match (phrase, arch) {
            (Some(phrase), Some(arch)) => Cause::InstructionNotSupported {
                instruction: known.map(|(_, instruction)| instruction),
                phrase: phrase.to_owned(),
                arch,
                toolkit,
            },
            _ => other(&texts.join("; ")),
        }
    }

    fn tool(&mut self, tool: &str, text: &str) {
        self.close();
        if text == SUMMARY {
            self.summary = true;
            self.last_words(text);
            return;
        }
        let (cause, arch) = self.tool_cause(tool, text);
        let source = self.named_source();
        self.push(source, arch, vec![text.to_owned()], cause);
    }

    fn tool_cause(&self, tool: &str, text: &str) -> (Cause, Option<Arch>) {
        let toolkit = self.context.toolkit;
        let name = quoted(text, '\'');
        if let (true, Some(name)) = (text.starts_with("Unsupported gpu architecture"), name) {
            return match name.parse::<Arch>() {
                Ok(arch) => (
                    Cause::UnknownTarget(UnknownTarget {
                        arch,
                        toolkit,
                        basis: knows(toolkit, arch).basis,
                    }),
                    Some(arch),
                ),
                Err(_) => (
                    Cause::NoSuchArchitecture {
                        token: name.to_owned(),
                    },
                    None,
                ),
            };
        }
        if let (true, Some(arch)) = (
            text.contains("is not defined for option 'gpu-name'"),
            name.and_then(|name| name.parse::<Arch>().ok()),
        ) {
            return (
                Cause::AssemblerTooOld {
                    arch,
                    toolkit,
                    assembler: self.context.assembler.clone(),
                },
                Some(arch),
            );
        }
        if text.contains("generated for non family-specific and family-specific") {
            let code = quoted(text, '`').unwrap_or_default();
            return (
                Cause::PlainAndFamily {
                    code: code.trim_end_matches('f').to_owned(),
                },
                None,
            );
        }
        if text.starts_with("Incompatible code generation requested") {
            let mut names = text.split('\'').skip(1).step_by(2);
            if let (Some(from), Some(to)) = (names.next(), names.next()) {
                return (
                    Cause::IncompatiblePair {
                        from: from.to_owned(),
                        to: to.to_owned(),
                    },
                    None,
                );
            }
        }
        if let (true, Some(option)) = (text.starts_with("Unknown option"), name) {
            return (
                Cause::UnknownOption {
                    option: option.to_owned(),
                    toolkit,
                },
                None,
            );
        }
        (other(&format!("{tool}: {text}")), None)
    }

    fn source(&mut self, file: &str, text: &str) {
        self.close();
        let pass = self.pass();
        let undefined = text
            .starts_with("identifier ")
            .then(|| quoted(text, '"'))
            .flatten()
            .filter(|_| text.ends_with("is undefined"));
        let cause = match (undefined, pass) {
            (Some(identifier), Some(pass)) if pass.scope() == Scope::Family => Cause::GateMismatch {
                identifier: identifier.to_owned(),
                pass,
            },
            _ => other(text),
        };
        let source = self.named_source().unwrap_or_else(|| file_name(file).to_owned());
        self.push(Some(source), pass, vec![text.to_owned()], cause);
    }

    fn cmake(&mut self, headline: &str, quoted_lines: &[&str]) {
        self.close();
        let quotes_a_compiler = quoted_lines.iter().any(|quoted| {
            matches!(
                line(quoted),
                Line::Ptx { .. } | Line::Tool { .. } | Line::Source { .. } | Line::HostCompiler { .. }
            )
        });
        if quotes_a_compiler {
            return;
        }
        let refused = quoted_lines
            .iter()
            .position(|quoted| quoted.starts_with("is not one of the following"));
        let list = refused.and_then(|at| quoted_lines[..at].iter().rfind(|quoted| !quoted.is_empty()));
        let cause = match list {
            Some(list) => match first_family_entry(list) {
                Some(token) => Cause::CMakeTooOld { token },
                None => Cause::CMakeRefusedList {
                    list: (*list).to_owned(),
                },
            },
            None => {
                // CMake breaks its sentences into lines; a paragraph is one message.
                let paragraph: Vec<&str> = quoted_lines
                    .iter()
                    .copied()
                    .skip_while(|quoted| quoted.is_empty())
                    .take_while(|quoted| !quoted.is_empty())
                    .collect();
                if paragraph.is_empty() {
                    other(headline)
                } else {
                    other(&paragraph.join(" "))
                }
            }
        };
        let messages: Vec<String> = quoted_lines
            .iter()
            .filter(|quoted| !quoted.is_empty())
            .take(3)
            .map(|quoted| (*quoted).to_owned())
            .collect();
        self.push(None, None, messages, cause);
    }

    fn host_compiler(&mut self, refusal: &str) {
        self.close();
        let cause = Cause::HostCompiler {
            refusal: refusal.to_owned(),
            toolkit: self.context.toolkit,
        };
        self.push(None, None, vec![refusal.to_owned()], cause);
    }

    fn last_words(&mut self, text: &str) {
        if let Some(failed) = &mut self.failed
            && !text.is_empty()
        {
            text.clone_into(&mut failed.last_words);
        }
    }

    fn text(&mut self, text: &str) {
        self.last_words(text);
        // PyTorch's extension builder is a front end that many builds go through.
        let token = text
            .split_once("Unknown CUDA arch (")
            .and_then(|(_, rest)| rest.split_once(')'))
            .filter(|(_, rest)| rest.contains("GPU not supported"))
            .map(|(token, _)| token);
        if let Some(token) = token {
            self.close();
            let cause = Cause::FrontEnd {
                token: token.to_owned(),
                component: "PyTorch's extension builder",
            };
            let arch = token.parse().ok();
            self.push(None, arch, vec![text.to_owned()], cause);
        }
    }

    fn pass(&self) -> Option<Arch> {
        self.context.pass.or(self.command.pass)
    }

    fn named_source(&self) -> Option<String> {
        self.context
            .source
            .clone()
            .or_else(|| self.command.source.clone())
    }

    fn push(&mut self, source: Option<String>, arch: Option<Arch>, messages: Vec<String>, cause: Cause) {
        self.errors += 1;
        // Another object is another failure, though its source may have the same name.
        let start = self.failed.as_ref().map_or(0, |failed| failed.found_before);
        let earlier = self.found[start..].iter_mut().find(|other| {
            other.source == source && other.arch == arch && (source.is_some() || other.cause == cause)
        });
        match earlier {
            Some(earlier) => earlier.further_errors += 1,
            None => self.found.push(Diagnosis {
                source,
                arch,
                messages,
                cause,
                further_errors: 0,
            }),
        }
    }
}

fn other(message: &str) -> Cause {
    Cause::Other {
        message: message.to_owned(),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `quantize.cu` of `CMakeFiles/x.dir/src/quantize.cu.o`; nothing for what is linked.
fn source_of_object(object: &str) -> Option<String> {
    let object = object.split_ascii_whitespace().next()?;
    Some(file_name(object).strip_suffix(".o")?.to_owned())
}

/// The target in `… .target 'sm_120'`. A lower bound, `requires .target sm_89 or higher`, is not one.
fn target_of(text: &str) -> Option<Arch> {
    let name = text.split_once(".target '")?.1;
    name.split_once('\'')?.0.parse().ok()
}

/// Instructions that fit an unknown word and that only a later release than the one in use assembles. `what` is
/// a modifier (`.e2m1x2`) or an instruction (`cvt`).
fn added_later(what: &str, context: &Context) -> Vec<Instruction> {
    let toolkit = context
        .assembler
        .as_ref()
        .map_or(context.toolkit, |assembler| assembler.version);
    let mut found: Vec<Instruction> = Vec::new();
    for row in INSTRUCTIONS {
        let mut parts = row.ptx.split(['.', '…']);
        let fits = match what.strip_prefix('.') {
            Some(modifier) => parts.any(|part| part == modifier),
            None => parts.next().is_some_and(|name| name == what),
        };
        let instruction = row.instruction;
        if fits && instruction.since().is_some_and(|since| since > toolkit) && !found.contains(&instruction) {
            found.push(instruction);
        }
    }
    found
}

fn first_family_entry(list: &str) -> Option<String> {
    let parsed = cmake::parse(list);
    let entry = parsed.entries.iter().find(|entry| {
        entry
            .targets()
            .any(|Target { arch, .. }| arch.scope() == Scope::Family)
    })?;
    Some(entry.span.of(list).to_owned())
}
