//! What rules look at: one library, which loads or links as a whole, and its translation units.

use std::collections::{BTreeMap, BTreeSet};

use blockgate_arch::{Arch, CodeKind, DisplayKey, Scope, Target};
use blockgate_expect::Glob;
use blockgate_fatbin::ImageKind;

use crate::report::{FileReport, ImageReport};

/// An input, or a file of a package or folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Artifact<'a> {
    /// The input.
    pub(crate) input: &'a FileReport,
    /// The file in it, where the input is a package or folder.
    pub(crate) file: Option<&'a str>,
    /// The paths by which globs may name the input.
    pub(crate) paths: &'a [String],
}

/// An artifact with device code that loads or links as a whole.
pub(crate) struct Library<'a> {
    pub(crate) artifact: Artifact<'a>,
    /// Its counted images.
    pub(crate) images: Vec<&'a ImageReport>,
    /// Its translation units that hold code.
    pub(crate) units: Vec<Unit<'a>>,
}

/// One source as it was compiled: an archive member, or a region of a linked file.
pub(crate) struct Unit<'a> {
    pub(crate) name: UnitName<'a>,
    pub(crate) images: Vec<&'a ImageReport>,
}

/// What a translation unit is called. Linking drops the names of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UnitName<'a> {
    Member(&'a str),
    Region(u32),
}

impl std::fmt::Display for UnitName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Member(name) => f.write_str(name),
            Self::Region(number) => write!(f, "region {number}"),
        }
    }
}

impl<'a> Artifact<'a> {
    /// The input, and every file in it where it is a package or folder.
    pub(crate) fn all(input: &'a FileReport, paths: &'a [String]) -> Vec<Self> {
        let files: BTreeSet<Option<&str>> = input
            .members
            .iter()
            .map(|member| member.file.as_deref())
            .chain([None])
            .collect();
        files
            .into_iter()
            .map(|file| Self { input, file, paths })
            .collect()
    }

    /// What people call it.
    pub(crate) fn name(&self) -> String {
        match self.file {
            Some(file) => format!("{} in {}", file, self.input.path),
            None => self.input.path.clone(),
        }
    }

    /// Whether `glob` selects it: an input by its path, a file by its name in the package, with or without the package's
    /// path before it.
    pub(crate) fn is_selected_by(&self, glob: &Glob) -> bool {
        match self.file {
            None => self.paths.iter().any(|path| glob.is_match(path)),
            Some(file) => {
                let joined = |path: &String| glob.is_match(&format!("{path}/{file}"));
                glob.is_match(file) || self.paths.iter().any(joined)
            }
        }
    }

    /// Its size in bytes; `None` for a file in a package whose size is not listed, such as an archive.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        match self.file {
            None => Some(self.input.size_bytes),
            Some(file) => self
                .input
                .members
                .iter()
                .find(|member| *member.name == *file)
                .map(|member| member.size_bytes),
        }
    }
}

impl<'a> Library<'a> {
    /// Whether it is one cubin or PTX text, alone in a file: a part of a build, of which nothing need be complete.
    pub(crate) fn is_one_image(&self) -> bool {
        matches!(self.images.as_slice(), [image] if image.declared.is_none())
    }

    /// The libraries of an input, by name.
    pub(crate) fn all(input: &'a FileReport, paths: &'a [String]) -> Vec<Self> {
        let mut by_file: BTreeMap<Option<&str>, Vec<&ImageReport>> = BTreeMap::new();
        for image in input.images.iter().filter(|image| image.counted) {
            by_file.entry(image.file.as_deref()).or_default().push(image);
        }
        by_file
            .into_iter()
            .map(|(file, images)| Self {
                artifact: Artifact { input, file, paths },
                units: units(&images),
                images,
            })
            .collect()
    }

    /// Its images of one kind.
    pub(crate) fn of_kind(&self, kind: ImageKind) -> impl Iterator<Item = &'a ImageReport> {
        self.images
            .iter()
            .copied()
            .filter(move |image| image.kind == kind)
    }

    /// How many images it has for each target, sorted for display.
    pub(crate) fn targets(&self) -> Vec<(Target, usize)> {
        let mut rows: BTreeMap<TargetKey, (Target, usize)> = BTreeMap::new();
        for target in self.images.iter().filter_map(|image| target(image)) {
            rows.entry(target_key(target)).or_insert((target, 0)).1 += 1;
        }
        rows.into_values().collect()
    }

    /// Architectures of its cubins with `scope`, with the number of images, sorted for display.
    pub(crate) fn cubins_of(&self, scope: Scope) -> Vec<(Arch, usize)> {
        self.targets()
            .into_iter()
            .filter(|(target, _)| target.kind == CodeKind::Cubin && target.arch.scope() == scope)
            .map(|(target, count)| (target.arch, count))
            .collect()
    }

    /// Why nothing can be concluded from the absence of an image; `None` where it can.
    pub(crate) fn incomplete(&self) -> Option<String> {
        if !self.artifact.input.read_in_full {
            return Some("it could not be read in full".to_owned());
        }
        let unnamed = self.images.iter().find(|image| image.arch.is_none())?;
        Some(format!(
            "nothing says which architecture the image at offset {:#x} is for",
            unnamed.offset_bytes
        ))
    }
}

fn units<'a>(images: &[&'a ImageReport]) -> Vec<Unit<'a>> {
    let mut units: BTreeMap<UnitName<'a>, Vec<&'a ImageReport>> = BTreeMap::new();
    for image in images {
        units.entry(unit_name(image)).or_default().push(image);
    }
    units
        .into_iter()
        // The stub that a device link adds has images without code.
        .filter(|(_, images)| images.iter().any(|image| has_code(image)))
        .map(|(name, images)| Unit { name, images })
        .collect()
}

/// A member of an archive is a unit; in any other file a region is one.
pub(crate) fn unit_name(image: &ImageReport) -> UnitName<'_> {
    match &image.member {
        Some(member) if image.file.as_ref() != Some(member) => UnitName::Member(member),
        _ => UnitName::Region(image.region),
    }
}

fn has_code(image: &ImageReport) -> bool {
    match image.kind {
        ImageKind::Cubin => image.instructions != Some(0),
        ImageKind::Ptx => image.kernel_count != Some(0),
        _ => true,
    }
}

/// What the image was compiled for, where it is one that a driver loads and that is known.
pub(crate) fn target(image: &ImageReport) -> Option<Target> {
    let kind = match image.kind {
        ImageKind::Cubin => CodeKind::Cubin,
        ImageKind::Ptx => CodeKind::Ptx,
        _ => return None,
    };
    Some(Target {
        arch: image.arch?,
        kind,
    })
}

/// Display order of targets: machine code first. Architectures have no order of their own.
pub(crate) type TargetKey = (bool, DisplayKey);

pub(crate) fn target_key(target: Target) -> TargetKey {
    (target.kind == CodeKind::Ptx, target.arch.display_key())
}

/// The first names of many, for a note.
pub(crate) fn some_of(names: impl IntoIterator<Item = String>) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = names.into_iter().collect();
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `1 image` or `2 images`.
pub(crate) fn images(count: usize) -> String {
    match count {
        1 => "1 image".to_owned(),
        _ => format!("{count} images"),
    }
}
