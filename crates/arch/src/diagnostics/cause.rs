//! The causes, and the sentence for each.

use std::fmt;

use crate::arch::{Arch, Scope};
use crate::gates::{Instruction, accepting_targets, accepts};
use crate::toolkits::{Basis, UnknownTarget, knows, releases_that_know};
use crate::version::ToolkitVersion;

/// A program with its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its path as the caller found it.
    pub path: String,
    /// Its version.
    pub version: ToolkitVersion,
}

/// The releases of CMake, as major, minor and patch, from which on their series lets `CMAKE_CUDA_ARCHITECTURES` hold
/// family entries such as `121f`. The later series have it from their first release.
///
/// Source: configured with 3.28.3, 3.31.6, 3.31.10, 4.0.0, 4.0.3 and 4.4.5; 4.0.2 is from its release notes. A release
/// between 3.31.6 and 3.31.10 may have it too.
pub const CMAKE_WITH_FAMILY: [[u16; 3]; 2] = [[3, 31, 10], [4, 0, 2]];

/// Why something did not build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// nvcc's release does not know the target.
    UnknownTarget(UnknownTarget),
    /// The assembler does not know the target, whatever nvcc knows.
    AssemblerTooOld {
        /// The target.
        arch: Arch,
        /// The toolkit that ran.
        toolkit: ToolkitVersion,
        /// The assembler, where the caller asked it.
        assembler: Option<Tool>,
    },
    /// nvcc was given a name that no architecture has.
    NoSuchArchitecture {
        /// The name.
        token: String,
    },
    /// Plain and family machine code of one capability in one build.
    PlainAndFamily {
        /// The capability, as nvcc named the code.
        code: String,
    },
    /// Machine code that cannot be made from that virtual architecture.
    IncompatiblePair {
        /// The virtual architecture.
        from: String,
        /// The machine code.
        to: String,
    },
    /// The target has no such instruction; other targets have.
    InstructionNotSupported {
        /// The instruction, where the table knows the assembler's words.
        instruction: Option<Instruction>,
        /// The assembler's words for it.
        phrase: String,
        /// The target.
        arch: Arch,
        /// The toolkit that ran.
        toolkit: ToolkitVersion,
    },
    /// The assembler does not know the instruction in this spelling for any target.
    ToolkitTooOld {
        /// The unknown modifier, or the instruction whose types are unknown.
        what: String,
        /// The toolkit that ran.
        toolkit: ToolkitVersion,
        /// Instructions that a later release added and that fit.
        added_later: Vec<Instruction>,
    },
    /// In a family pass the caller wants a function that its gate has hidden.
    GateMismatch {
        /// The function.
        identifier: String,
        /// The family target.
        pass: Arch,
    },
    /// This CMake refuses the `f` suffix in `CMAKE_CUDA_ARCHITECTURES`.
    CMakeTooOld {
        /// The entry that it refused.
        token: String,
    },
    /// CMake refused the list, and not for an `f`.
    CMakeRefusedList {
        /// The list.
        list: String,
    },
    /// nvcc does not know an option.
    UnknownOption {
        /// The option.
        option: String,
        /// The toolkit that ran.
        toolkit: ToolkitVersion,
    },
    /// CUDA's headers refuse the C++ compiler that nvcc is given.
    HostCompiler {
        /// What they say of it.
        refusal: String,
        /// The toolkit that ran.
        toolkit: ToolkitVersion,
    },
    /// A layer above nvcc refused the architecture.
    FrontEnd {
        /// The entry that it refused.
        token: String,
        /// Which layer.
        component: &'static str,
    },
    /// Nothing that this table knows.
    Other {
        /// The compiler's words.
        message: String,
    },
}

impl Cause {
    /// A stable name, for machine output and for lists that expect a failure.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::UnknownTarget(_) => "unknown-target",
            Self::AssemblerTooOld { .. } => "assembler-too-old",
            Self::NoSuchArchitecture { .. } => "no-such-architecture",
            Self::PlainAndFamily { .. } => "plain-and-family",
            Self::IncompatiblePair { .. } => "incompatible-pair",
            Self::InstructionNotSupported { .. } => "instruction-not-supported",
            Self::ToolkitTooOld { .. } => "toolkit-too-old",
            Self::GateMismatch { .. } => "gate-mismatch",
            Self::CMakeTooOld { .. } => "cmake-too-old",
            Self::CMakeRefusedList { .. } => "cmake-refused-list",
            Self::UnknownOption { .. } => "unknown-option",
            Self::HostCompiler { .. } => "host-compiler-refused",
            Self::FrontEnd { .. } => "front-end-refused",
            Self::Other { .. } => "other",
        }
    }
}

/// One sentence for a person: what is wrong and what would help.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTarget(unknown) => unknown.fmt(f),
            Self::AssemblerTooOld {
                arch,
                toolkit,
                assembler,
            } => assembler_too_old(f, *arch, *toolkit, assembler.as_ref()),
            Self::NoSuchArchitecture { token } => {
                write!(f, "`{token}` names no CUDA architecture that nvcc has")?;
                match token.trim_start_matches("compute_").parse::<Arch>() {
                    Err(error) => write!(f, ": {}", error.problem()),
                    Ok(_) => Ok(()),
                }
            }
            Self::PlainAndFamily { code } => write!(
                f,
                "the list asks for the plain and the family form of `{code}`; nvcc builds only one of them at a time, so drop one"
            ),
            Self::IncompatiblePair { from, to } => {
                write!(
                    f,
                    "nvcc does not make `{to}` from `{from}`; name the same scope on both sides"
                )
            }
            Self::InstructionNotSupported {
                instruction,
                phrase,
                arch,
                toolkit,
            } => instruction_not_supported(f, *instruction, phrase, *arch, *toolkit),
            Self::ToolkitTooOld {
                what,
                toolkit,
                added_later,
            } => toolkit_too_old(f, what, *toolkit, added_later),
            Self::GateMismatch { identifier, pass } => write!(
                f,
                "gate mismatch: in the pass for `{}` the caller wants `{identifier}`, which is not defined there; a family target defines __CUDA_ARCH_FAMILY_SPECIFIC__ and not __CUDA_ARCH_SPECIFIC__, so gate both sides by one macro or build `{}`",
                pass.token(),
                pass.with_scope(Scope::Specific).token()
            ),
            Self::CMakeTooOld { token } => {
                write!(f, "this CMake refuses `{token}` in CMAKE_CUDA_ARCHITECTURES; ")?;
                for [major, minor, patch] in CMAKE_WITH_FAMILY {
                    write!(f, "{major}.{minor}.{patch}, ")?;
                }
                f.write_str("and later take the `f` suffix")
            }
            Self::CMakeRefusedList { list } => {
                write!(f, "CMake refuses `{list}` as CMAKE_CUDA_ARCHITECTURES")
            }
            Self::UnknownOption { option, toolkit } => {
                write!(f, "nvcc {toolkit} does not know the option `{option}`")
            }
            Self::HostCompiler { refusal, toolkit } => write!(
                f,
                "CUDA {toolkit} does not take this C++ compiler ({refusal}); set CXX to one that it takes"
            ),
            Self::FrontEnd { token, component } => write!(
                f,
                "{component} refuses `{token}`; nvcc itself was not asked, so a newer {component} or another spelling is needed"
            ),
            Self::Other { message } => f.write_str(message),
        }
    }
}

fn assembler_too_old(
    f: &mut fmt::Formatter<'_>,
    arch: Arch,
    toolkit: ToolkitVersion,
    assembler: Option<&Tool>,
) -> fmt::Result {
    match assembler {
        Some(Tool { path, version }) => write!(f, "the assembler {path} is of CUDA {version} and")?,
        None => write!(f, "the assembler that ran")?,
    }
    write!(f, " does not know `{arch}`")?;
    match releases_that_know(arch) {
        Some(releases) => write!(f, "; it is known {releases}")?,
        None => write!(f, ", and neither does any release from 11.8 to 13.5")?,
    }
    let answer = knows(toolkit, arch);
    if answer.known && answer.basis != Basis::Outside && assembler.is_none() {
        write!(
            f,
            ". CUDA {toolkit} knows it, so an assembler of another release was run"
        )?;
    }
    Ok(())
}

fn instruction_not_supported(
    f: &mut fmt::Formatter<'_>,
    instruction: Option<Instruction>,
    phrase: &str,
    arch: Arch,
    toolkit: ToolkitVersion,
) -> fmt::Result {
    write!(f, "`{}` has no `{phrase}`", arch.token())?;
    let Some(instruction) = instruction else {
        return Ok(());
    };
    let forms: Vec<Arch> = [Scope::Family, Scope::Specific, Scope::Plain]
        .into_iter()
        .map(|scope| arch.with_scope(scope))
        .filter(|form| accepts(toolkit, *form, instruction))
        .collect();
    if forms.is_empty() {
        write!(
            f,
            ", and no form of {}.{} has it; under CUDA {} these have: {}",
            arch.major(),
            arch.minor(),
            toolkit.release(),
            Tokens(&accepting_targets(toolkit, instruction))
        )
    } else {
        write!(f, "; build {}", Tokens(&forms))
    }
}

fn toolkit_too_old(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    toolkit: ToolkitVersion,
    added_later: &[Instruction],
) -> fmt::Result {
    write!(
        f,
        "toolkit too old: the assembler of CUDA {toolkit} does not know `{what}` as it is used here, on any target"
    )?;
    let mut separator = "; later releases added ";
    for instruction in added_later {
        write!(f, "{separator}`{}`", instruction.ptx())?;
        if let Some(since) = instruction.since() {
            write!(f, " (CUDA {since})")?;
        }
        separator = ", ";
    }
    Ok(())
}

/// `120f or 120a`.
struct Tokens<'a>(&'a [Arch]);

impl fmt::Display for Tokens<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, arch) in self.0.iter().enumerate() {
            let separator = match index {
                0 => "",
                _ if index + 1 == self.0.len() => " or ",
                _ => ", ",
            };
            write!(f, "{separator}`{}`", arch.token())?;
        }
        Ok(())
    }
}
