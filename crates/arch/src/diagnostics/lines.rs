//! One line of output at a time: who says what about which file.

/// A line that carries an error, or that says which command the next errors belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// `ptxas FILE, line N; error : TEXT`
    Ptx {
        file: &'a str,
        line: &'a str,
        text: &'a str,
    },
    /// `nvcc fatal : TEXT` and the like: an error without a file.
    Tool { tool: &'a str, text: &'a str },
    /// `FILE(N): error: TEXT` of cudafe++, `FILE:N:M: error: TEXT` of a host compiler.
    Source { file: &'a str, text: &'a str },
    /// `#error -- unsupported GNU version! …` of CUDA's headers: they refuse the host compiler.
    HostCompiler { refusal: &'a str },
    /// `CMake Error at FILE:N (…):`
    CMake,
    /// `FAILED: OBJECT` of Ninja, which then shows the command and what it printed.
    Failed { object: &'a str },
    /// `[3/5] …` or `ninja: …`: what a failed command printed is over.
    Step,
    /// A line that names nvcc and a source: a command that Ninja or Make shows.
    Command(&'a str),
    /// Anything else.
    Text(&'a str),
}

const TOOLS: [&str; 6] = ["nvcc", "ptxas", "nvlink", "fatbinary", "cicc", "cudafe++"];
const LEVELS: [&str; 2] = ["fatal", "error"];

/// CMake indents what it quotes, so leading blanks mean nothing.
pub(super) fn line(raw: &str) -> Line<'_> {
    let text = raw.trim();
    if text.starts_with("CMake Error") {
        return Line::CMake;
    }
    host_compiler_line(text)
        .or_else(|| failed_line(text))
        .or_else(|| tool_line(text))
        .or_else(|| source_line(text))
        .or_else(|| program_line(text))
        .or_else(|| step_line(text))
        .or_else(|| {
            let names_targets = ["--generate-code", "-gencode", "-arch"]
                .iter()
                .any(|option| text.contains(option));
            (names_targets && text.contains("nvcc")).then_some(Line::Command(text))
        })
        .unwrap_or(Line::Text(text))
}

/// CUDA's `host_config.h` names what it refuses up to the first exclamation mark; the rest is about an override.
fn host_compiler_line(text: &str) -> Option<Line<'_>> {
    let (_, rest) = text.split_once("#error -- ")?;
    let (refusal, _) = rest.split_once('!')?;
    refusal
        .starts_with("unsupported")
        .then_some(Line::HostCompiler { refusal })
}

fn tool_line(text: &str) -> Option<Line<'_>> {
    let (tool, rest) = TOOLS
        .iter()
        .find_map(|tool| Some((*tool, text.strip_prefix(tool)?.strip_prefix(' ')?)))?;
    if let Some(message) = leveled(rest) {
        return Some(Line::Tool { tool, text: message });
    }
    let (place, message) = rest.split_once("; ")?;
    let (file, line) = place.rsplit_once(", line ")?;
    Some(Line::Ptx {
        file,
        line,
        text: leveled(message)?,
    })
}

/// The text after `error   : ` or `fatal   : `.
fn leveled(text: &str) -> Option<&str> {
    let rest = LEVELS.iter().find_map(|level| text.strip_prefix(level))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

/// `FAILED: [code=1] OBJECT`; releases of Ninja before 1.13 show no code.
fn failed_line(text: &str) -> Option<Line<'_>> {
    let rest = text.strip_prefix("FAILED: ")?.trim();
    let object = match rest.strip_prefix("[code=").and_then(|rest| rest.split_once(']')) {
        Some((_, object)) => object.trim(),
        None => rest,
    };
    Some(Line::Failed { object })
}

fn step_line(text: &str) -> Option<Line<'_>> {
    let counter = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let counts = counter
        .and_then(|(counter, _)| counter.split_once('/'))
        .is_some_and(|(done, total)| is_number(done) && is_number(total));
    (counts || text.starts_with("ninja: ")).then_some(Line::Step)
}

/// `c++: fatal error: TEXT`, `collect2: error: TEXT`, `ninja: error: TEXT`, and every line of a linker that is no
/// warning: a program that names itself and no place in a source.
fn program_line(text: &str) -> Option<Line<'_>> {
    const LINKERS: [&str; 6] = ["ld", "ld.bfd", "ld.gold", "ld.lld", "lld", "mold"];
    let (program, rest) = text.split_once(": ")?;
    if program.is_empty() || program.contains(|c: char| c.is_whitespace() || c == '(') {
        return None;
    }
    let tool = program.rsplit('/').next().unwrap_or(program);
    let message = ["fatal error", "internal compiler error", "error", "fatal"]
        .iter()
        .find_map(|level| rest.strip_prefix(level)?.strip_prefix(':'));
    if let Some(message) = message {
        return Some(Line::Tool {
            tool,
            text: message.trim_start(),
        });
    }
    // `in function` only introduces the next line.
    let is_error = LINKERS.contains(&tool) && !rest.starts_with("warning") && !rest.ends_with("':");
    is_error.then_some(Line::Tool { tool, text: rest })
}

fn source_line(text: &str) -> Option<Line<'_>> {
    let (place, rest) = split_at_level(text)?;
    let message = rest.split_once(':')?.1.trim_start();
    let place = place.trim_end().strip_suffix(':')?;
    let file = match place.strip_suffix(')').and_then(|place| place.rsplit_once('(')) {
        Some((file, number)) if is_number(number) => file,
        _ => {
            let (file, _) = place
                .split_once(':')
                .filter(|(_, numbers)| numbers.split(':').all(is_number))?;
            file
        }
    };
    Some(Line::Source { file, text: message })
}

/// Splits before the level word of a compiler message.
fn split_at_level(text: &str) -> Option<(&str, &str)> {
    ["catastrophic error", "fatal error", "error"]
        .iter()
        .find_map(|level| {
            let at = text.find(&format!(": {level}"))?;
            let (place, rest) = text.split_at(at + 2);
            // `error:` and `error #20:` are messages; `errors` is not.
            let after = rest.strip_prefix(level)?;
            (after.starts_with(':') || after.starts_with(" #")).then_some((place, rest))
        })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What stands between the first pair of `quote`, `'` or `` ` ``, in `text`.
pub(super) fn quoted(text: &str, quote: char) -> Option<&str> {
    text.split(quote).nth(1)
}

/// The source that a PTX file of nvcc was made from, and the virtual architecture in its name.
///
/// nvcc names them `tmpxft_<pid>_<n>-<i>_quantize.compute_120.ptx`, and with `-objtemp`
/// `…/quantize.cu.o.compute_120.ptx`; the architecture is there only if the run has several.
pub(super) fn origin(ptx_path: &str) -> (String, Option<&str>) {
    let name = ptx_path.rsplit('/').next().unwrap_or(ptx_path);
    let name = name.strip_suffix(".ptx").unwrap_or(name);
    let (name, arch) = match name.rsplit_once('.') {
        Some((rest, arch)) if arch.starts_with("compute_") => (rest, Some(arch)),
        _ => (name, None),
    };
    let name = name.strip_suffix(".o").unwrap_or(name);
    let name = match name.strip_prefix("tmpxft_").and_then(|rest| rest.split_once('-')) {
        Some((_, rest)) => rest.split_once('_').map_or(rest, |(_, source)| source),
        None => name,
    };
    (name.to_owned(), arch)
}

#[cfg(test)]
mod tests {
    use super::{Line, line, origin};

    #[test]
    fn lines_of_each_program() {
        let cases = [
            (
                "ptxas /tmp/x.ptx, line 33; error   : Instruction 'cvt' not supported",
                Line::Ptx {
                    file: "/tmp/x.ptx",
                    line: "33",
                    text: "Instruction 'cvt' not supported",
                },
            ),
            (
                "    nvcc fatal   : Unsupported gpu architecture 'compute_101'",
                Line::Tool {
                    tool: "nvcc",
                    text: "Unsupported gpu architecture 'compute_101'",
                },
            ),
            (
                "  error: #error -- unsupported GNU version! gcc versions later than 15 are",
                Line::HostCompiler {
                    refusal: "unsupported GNU version",
                },
            ),
            (
                "/src/gates.cu(10): error: identifier \"f\" is undefined",
                Line::Source {
                    file: "/src/gates.cu",
                    text: "identifier \"f\" is undefined",
                },
            ),
            (
                "gates.cu(10): error #20: identifier \"f\" is undefined",
                Line::Source {
                    file: "gates.cu",
                    text: "identifier \"f\" is undefined",
                },
            ),
            (
                "a.cu:3:10: fatal error: no.h: No such file or directory",
                Line::Source {
                    file: "a.cu",
                    text: "no.h: No such file or directory",
                },
            ),
            ("CMake Error at CMakeLists.txt:2 (project):", Line::CMake),
            (
                "c++: fatal error: Killed signal terminated program cc1plus",
                Line::Tool {
                    tool: "c++",
                    text: "Killed signal terminated program cc1plus",
                },
            ),
            (
                "collect2: error: ld returned 1 exit status",
                Line::Tool {
                    tool: "collect2",
                    text: "ld returned 1 exit status",
                },
            ),
            (
                "/usr/bin/ld: cannot find -lcudart_static",
                Line::Tool {
                    tool: "ld",
                    text: "cannot find -lcudart_static",
                },
            ),
            (
                "/usr/bin/ld: warning: x.o: missing .note.GNU-stack section",
                Line::Text("/usr/bin/ld: warning: x.o: missing .note.GNU-stack section"),
            ),
            (
                "ninja: error: loading 'build.ninja': No such file or directory",
                Line::Tool {
                    tool: "ninja",
                    text: "loading 'build.ninja': No such file or directory",
                },
            ),
            ("ninja: build stopped: subcommand failed.", Line::Step),
            ("[3/5] Building CUDA object x.cu.o", Line::Step),
            ("FAILED: [code=255] d/x.cu.o", Line::Failed { object: "d/x.cu.o" }),
            ("FAILED: d/x.cpp.o", Line::Failed { object: "d/x.cpp.o" }),
            (
                "1 error detected in the compilation of \"gates.cu\".",
                Line::Text("1 error detected in the compilation of \"gates.cu\"."),
            ),
        ];
        for (raw, expected) in cases {
            assert_eq!(line(raw), expected, "{raw}");
        }
    }

    #[test]
    fn ptx_files_name_their_source() {
        let cases = [
            ("/tmp/tmpxft_00003c66_00000000-6_kr.ptx", "kr", None),
            (
                "/tmp/tmpxft_00003c75_00000000-7_fp_quantize.compute_120.ptx",
                "fp_quantize",
                Some("compute_120"),
            ),
            (
                "CMakeFiles/s.dir/km.cu.o.compute_120.ptx",
                "km.cu",
                Some("compute_120"),
            ),
            ("kr.o.ptx", "kr", None),
        ];
        for (path, source, arch) in cases {
            assert_eq!(origin(path), (source.to_owned(), arch), "{path}");
        }
    }
}
