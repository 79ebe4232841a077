//! Expectations against what was found.

use blockgate_arch::Arch;
use blockgate_expect::{ArchPattern, Expectation, Subject};
use blockgate_fatbin::ImageKind;
use blockgate_findings::{ExitStatus, TextPlace};

use crate::report::{FileReport, ImageReport, MemberReport};

/// An expectation and what became of it.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The expectation.
    pub expectation: Expectation,
    /// The outcome.
    pub outcome: Outcome,
    /// The one artifact that it was evaluated on; `None` where it was on all inputs together.
    pub artifact: Option<String>,
    /// Where a configuration file demands it; `None` where the command line does.
    pub place: Option<TextPlace>,
}

/// What an expectation looks at.
pub(crate) struct Sight<'a> {
    /// The inputs.
    pub(crate) inputs: Vec<&'a FileReport>,
    /// The one file of a package or folder; everything if absent.
    pub(crate) file: Option<&'a str>,
}

impl<'a> Sight<'a> {
    /// All inputs together.
    pub(crate) fn all(inputs: &'a [FileReport]) -> Self {
        Self {
            inputs: inputs.iter().collect(),
            file: None,
        }
    }

    fn images(&self) -> impl Iterator<Item = &'a ImageReport> {
        self.inputs
            .iter()
            .flat_map(|input| &input.images)
            .filter(|image| self.file.is_none() || image.file.as_deref() == self.file)
    }

    fn members(&self) -> impl Iterator<Item = &'a MemberReport> {
        self.inputs
            .iter()
            .flat_map(|input| &input.members)
            .filter(|member| self.file.is_none() || member.file.as_deref() == self.file)
    }
}

/// What an expectation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The count, and whether it satisfies the bound.
    Checked {
        /// What was counted.
        found: u64,
        /// Whether the bound holds.
        holds: bool,
    },
    /// Something that the expectation asks about could not be read. That is a failure, never a pass.
    NotChecked {
        /// What stood in the way.
        reason: String,
    },
}

impl Evaluation {
    /// 0 where it holds, 1 where it does not, 3 where it could not be checked.
    pub fn status(&self) -> ExitStatus {
        match self.outcome {
            Outcome::Checked { holds: true, .. } => ExitStatus::Clean,
            Outcome::Checked { holds: false, .. } => ExitStatus::Failed,
            Outcome::NotChecked { .. } => ExitStatus::Unreadable,
        }
    }
}

/// Evaluates expectation number `index` of the options over all that is in `sight` together.
pub(crate) fn evaluate(index: usize, expectation: &Expectation, sight: &Sight<'_>) -> Evaluation {
    let outcome = match count(index, expectation, sight) {
        Ok(found) => Outcome::Checked {
            found,
            holds: expectation.holds(found),
        },
        Err(reason) => Outcome::NotChecked { reason },
    };
    Evaluation {
        expectation: expectation.clone(),
        outcome,
        artifact: None,
        place: None,
    }
}

fn count(index: usize, expectation: &Expectation, sight: &Sight<'_>) -> Result<u64, String> {
    if let Some(input) = sight.inputs.iter().find(|input| !input.read_in_full) {
        return Err(format!("{} could not be read in full", input.path));
    }
    let members = || {
        sight
            .members()
            .filter(|member| selects(expectation, Some(&member.name)))
    };
    if expectation.member.is_some() && members().next().is_none() {
        return Err("no archive member has a name like that".to_owned());
    }
    let images = || {
        sight
            .images()
            .filter(|image| image.counted && selects(expectation, image.member.as_deref()))
    };
    match &expectation.subject {
        Subject::Cubins(pattern) => of_arch(images(), &[ImageKind::Cubin], pattern),
        Subject::Ptx(pattern) => of_arch(images(), &[ImageKind::Ptx], pattern),
        Subject::Images(pattern) => of_arch(images(), &[ImageKind::Cubin, ImageKind::Ptx], pattern),
        Subject::Sass {
            mnemonic: pattern,
            arch,
        } => {
            if !blockgate_fatbin::can_name(|name| pattern.is_match(name)) {
                return Err(blockgate_fatbin::NOT_A_MNEMONIC.to_owned());
            }
            let asked = |image: &ImageReport| {
                let in_scope = |found: Arch| arch.as_ref().is_none_or(|pattern| pattern.matches(found));
                image.kind != ImageKind::Ptx && image.arch.is_none_or(in_scope)
            };
            images()
                .filter(|image| asked(image))
                .try_fold(0, |sum: u64, image| {
                    if image.instructions.is_none() || !image.mnemonics_known {
                        return Err(format!("instructions of {} cannot be counted", describe(image)));
                    }
                    let matching = image
                        .sass
                        .iter()
                        .filter(|(mnemonic, _)| pattern.is_match(mnemonic));
                    Ok(sum + matching.map(|(_, count)| count).sum::<u64>())
                })
        }
        Subject::PtxText(_) => {
            images()
                .filter(|image| image.kind == ImageKind::Ptx)
                .try_fold(0, |sum: u64, image| {
                    match image.ptx_matches.get(index).copied().flatten() {
                        Some(matches) => Ok(sum + matches),
                        None => Err(format!("the text of {} cannot be searched", describe(image))),
                    }
                })
        }
        Subject::Size => match (&expectation.member, sight.file) {
            (None, None) => Ok(sight.inputs.iter().map(|input| input.size_bytes).sum()),
            (None, Some(file)) => members()
                .find(|member| *member.name == *file)
                .map(|member| member.size_bytes)
                .ok_or_else(|| format!("the size of {file} is not listed")),
            (Some(_), _) => Ok(members().map(|member| member.size_bytes).sum()),
        },
    }
}

/// Whether the expectation looks at the member; one without a glob looks at everything.
fn selects(expectation: &Expectation, member: Option<&str>) -> bool {
    expectation
        .member
        .as_ref()
        .is_none_or(|glob| member.is_some_and(|name| glob.is_match(name)))
}

/// How many images of these kinds are for an architecture that the pattern names.
fn of_arch<'a>(
    images: impl Iterator<Item = &'a ImageReport>,
    kinds: &[ImageKind],
    pattern: &ArchPattern,
) -> Result<u64, String> {
    images
        .filter(|image| kinds.contains(&image.kind))
        .try_fold(0, |sum: u64, image| match image.arch {
            Some(arch) => Ok(sum + u64::from(pattern.matches(arch))),
            None => Err(format!(
                "nothing says which architecture {} is for",
                describe(image)
            )),
        })
}

fn describe(image: &ImageReport) -> String {
    let arch = image
        .arch
        .map_or_else(|| "unknown architecture".to_owned(), |arch| arch.to_string());
    let member = image
        .member
        .as_ref()
        .map_or_else(String::new, |member| format!("member `{member}`, "));
    format!(
        "the {arch} {} image ({member}offset {:#x})",
        image.kind.as_str(),
        image.offset_bytes
    )
}
