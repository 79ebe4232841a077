//! Files that are written as described and must be read as such.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use blockgate_arch::{Arch, Scope, ToolkitVersion};
use blockgate_fatbin::write::{
    Archive, Concat, Cubin, Entry, HostKind, HostObject, HostSystem, Instruction, Kernel, MemberNames, Ptx,
    Region, instruction,
};
use blockgate_fatbin::{
    Artifact, Compression, FileFormat, Histogram, Image, ImageKind, InspectOptions, Limits, read,
};

/// A file and what is in it.
#[derive(Clone, Debug)]
pub(crate) struct File {
    format: FileFormat,
    bytes: Vec<u8>,
    /// In file order.
    images: Vec<Expected>,
}

/// What must be found of an image.
#[derive(Clone, Debug, PartialEq)]
struct Expected {
    member: Option<String>,
    section: Option<String>,
    region: u32,
    entry: u32,
    kind: ImageKind,
    declared: Option<Arch>,
    compression: Compression,
    /// Whether it lies in a container of several.
    is_shared: bool,
    ident: Option<String>,
    options: Option<String>,
    relocatable: bool,
    content: Content,
}

#[derive(Clone, Debug, PartialEq)]
enum Content {
    Cubin {
        arch: Arch,
        toolkit: ToolkitVersion,
        kernels: Vec<(String, bool, BTreeMap<String, u64>)>,
    },
    Ptx {
        arch: Arch,
        version: (u16, u16),
        entries: Vec<String>,
    },
    Opaque,
}

/// Architectures whose opcodes below are the same.
const ARCHS: [(u16, u8, Scope); 12] = [
    (7, 5, Scope::Plain),
    (8, 0, Scope::Plain),
    (8, 9, Scope::Plain),
    (9, 0, Scope::Plain),
    (9, 0, Scope::Specific),
    (10, 0, Scope::Plain),
    (10, 0, Scope::Specific),
    (10, 3, Scope::Family),
    (12, 0, Scope::Plain),
    (12, 0, Scope::Family),
    (12, 1, Scope::Specific),
    (12, 1, Scope::Family),
];

const TOOLKITS: [ToolkitVersion; 5] = [
    ToolkitVersion::new(12, 4),
    ToolkitVersion::new(12, 8),
    ToolkitVersion::new(12, 9),
    ToolkitVersion::new(13, 0),
    ToolkitVersion::new(13, 5),
];

/// Mnemonics, and instructions of theirs, that all of [`ARCHS`] have.
fn opcodes() -> [(&'static str, Instruction); 6] {
    [
        ("FMUL", instruction(0x220)),
        ("LDG", instruction(0x981)),
        ("EXIT", instruction(0x94d)),
        ("BRA", instruction(0x947)),
        ("NOP", instruction(0x918)),
        // An opcode that names nothing, on no architecture.
        ("?1ff", instruction(0x1ff)),
    ]
}

/// Names of functions, as they may stand in a symbol table.
const NAMES: [&str; 5] = ["k", "_Z5scalePKfPfi", "__device__", "κ", "a.b$c"];

impl Default for File {
    /// An empty fat binary.
    fn default() -> Self {
        Self {
            format: FileFormat::Fatbin,
            bytes: Region::new().build().expect("an empty region"),
            images: Vec::new(),
        }
    }
}

impl File {
    /// The file that the bytes of `u` describe.
    pub(crate) fn describe(u: &mut Unstructured<'_>) -> Result<Self> {
        Ok(match u.int_in_range(0..=3)? {
            0 => Self::fatbin(u)?,
            1 | 2 => Self::host(u)?,
            _ => Self::archive(u)?,
        })
    }

    fn fatbin(u: &mut Unstructured<'_>) -> Result<Self> {
        let mut file = Self {
            bytes: Vec::new(),
            ..Self::default()
        };
        let regions = u.int_in_range(1..=3)?;
        for region in 0..regions {
            let (bytes, images) = region_of(u, None, region)?;
            file.bytes.extend(bytes);
            file.images.extend(images);
            // Zeros between regions are skipped.
            file.bytes
                .resize(file.bytes.len() + 8 * u.int_in_range(0..=2)?, 0);
        }
        Ok(file)
    }

    fn host(u: &mut Unstructured<'_>) -> Result<Self> {
        let (kind, format) = *u.choose(&[
            (HostKind::Relocatable, FileFormat::ElfRelocatable),
            (HostKind::Executable, FileFormat::ElfExecutable),
            (HostKind::Shared, FileFormat::ElfShared),
        ])?;
        let mut object = HostObject::new(kind);
        let mut images = Vec::new();
        for region in 0..u.int_in_range(0..=3)? {
            let (bytes, described) = region_of(u, Some(".nv_fatbin"), region)?;
            object = object.linked(bytes);
            images.extend(described);
        }
        for region in 0..u.int_in_range(0..=2)? {
            let (bytes, described) = region_of(u, Some("__nv_relfatbin"), region)?;
            object = object.relocatable(bytes);
            images.extend(described);
        }
        if u.arbitrary()? {
            // A region's magic in another section is none.
            object = object.section(".rodata", [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]);
        }
        Ok(Self {
            format,
            bytes: object.build().expect("a few sections"),
            images,
        })
    }

    fn archive(u: &mut Unstructured<'_>) -> Result<Self> {
        let names = *u.choose(&[MemberNames::Gnu, MemberNames::Bsd])?;
        let mut archive = Archive::new(names);
        let mut images = Vec::new();
        for index in 0..u.int_in_range(0..=4)? {
            let member = match u.int_in_range(0..=2)? {
                0 => Self::fatbin(u)?,
                _ => Self::host(u)?,
            };
            let length = u.int_in_range(0..=40)?;
            let name = format!("{}{index}.o", "n".repeat(length));
            images.extend(member.images.into_iter().map(|image| Expected {
                member: Some(name.clone()),
                ..image
            }));
            archive = archive.member(name, member.bytes);
        }
        Ok(Self {
            format: FileFormat::Archive,
            bytes: archive.build().expect("small members"),
            images,
        })
    }

    /// Reads the file and panics where it is not found to be what it was written from.
    pub(crate) fn check(&self) {
        let limits = Limits::default();
        let artifact: Artifact<'_> = read(&self.bytes, &limits).expect("what was written can be read");
        assert_eq!(artifact.format, self.format);
        assert_eq!(artifact.defects, [], "nothing is wrong with it");
        assert_eq!(artifact.unattributed_bytes, 0);
        assert_eq!(artifact.images.len(), self.images.len());
        for (image, expected) in artifact.images.iter().zip(&self.images) {
            assert_eq!(found(image, &limits), *expected);
        }
    }
}

/// A region with up to four entries.
fn region_of(
    u: &mut Unstructured<'_>,
    section: Option<&'static str>,
    index: u32,
) -> Result<(Vec<u8>, Vec<Expected>)> {
    let mut region = Region::new();
    let mut images = Vec::new();
    let position = |mut image: Expected, images: &mut Vec<Expected>| {
        image.section = section.map(str::to_owned);
        image.region = index;
        image.entry = u32::try_from(images.len()).expect("a few images");
        image.relocatable |= section == Some("__nv_relfatbin");
        images.push(image);
    };
    for _ in 0..u.int_in_range(0..=4)? {
        if u.ratio(1, 4)? {
            let mut concat = Concat::new();
            for _ in 0..u.int_in_range(1..=3)? {
                let (entry, mut image) = image(u, Compression::Zstd)?;
                concat = concat.image(entry);
                image.is_shared = true;
                position(image, &mut images);
            }
            region = region.concat(concat);
        } else {
            let compression = *u.choose(&[Compression::None, Compression::Lz4, Compression::Zstd])?;
            let (mut entry, mut image) = image(u, compression)?;
            entry = entry.compression(compression);
            if u.ratio(1, 3)? {
                let ident = "x".repeat(u.int_in_range(1..=20)?);
                entry = entry.ident(&ident);
                image.ident = Some(ident);
            } else if u.arbitrary()? {
                entry = entry.room_for_ident();
            }
            region = region.entry(entry);
            position(image, &mut images);
        }
    }
    Ok((region.build().expect("small entries"), images))
}

fn image(u: &mut Unstructured<'_>, compression: Compression) -> Result<(Entry, Expected)> {
    let (major, minor, scope) = *u.choose(&ARCHS)?;
    let arch = Arch::new(major, minor, scope);
    let mut expected = Expected {
        member: None,
        section: None,
        region: 0,
        entry: 0,
        kind: ImageKind::Cubin,
        declared: Some(arch),
        compression,
        is_shared: false,
        ident: None,
        options: None,
        relocatable: false,
        content: Content::Opaque,
    };
    let mut entry = match u.int_in_range(0..=6)? {
        0..=2 => {
            let (entry, relocatable, content) = cubin(u, arch)?;
            expected.relocatable = relocatable;
            expected.content = content;
            entry
        }
        3 | 4 => {
            let version = *u.choose(&[(7, 8), (8, 4), (9, 0)])?;
            let mut ptx = Ptx::new(arch, version);
            let mut entries = Vec::new();
            for _ in 0..u.int_in_range(0..=3)? {
                let name = *u.choose(&NAMES)?;
                ptx = ptx.kernel(name);
                entries.push(name.to_owned());
            }
            let options = *u.choose(&["", "--compile-only", "-g --dont-merge-basicblocks"])?;
            expected.kind = ImageKind::Ptx;
            expected.options = Some(options.to_owned());
            expected.relocatable = options == "--compile-only";
            expected.content = Content::Ptx {
                arch,
                version,
                entries,
            };
            // Toolkits leave blanks around options.
            Entry::ptx(arch, version, ptx.text()).options(format!(" {options}  "))
        }
        5 => {
            expected.kind = ImageKind::LtoIr;
            expected.relocatable = true;
            let length = u.arbitrary_len::<u8>()?.min(100);
            let code = u.bytes(length)?;
            Entry::lto_ir(arch, (1, 65), code)
        }
        _ => {
            let kind = u.int_in_range(0x40..=0x7f)?;
            expected.kind = ImageKind::Unknown(kind);
            Entry::other(kind, Some(arch), *b"whatever")
        }
    };
    if u.arbitrary()? {
        entry = entry.debug();
    }
    entry = entry.host(*u.choose(&[HostSystem::Linux, HostSystem::Windows])?);
    Ok((entry, expected))
}

fn cubin(u: &mut Unstructured<'_>, arch: Arch) -> Result<(Entry, bool, Content)> {
    let toolkit = *u.choose(&TOOLKITS)?;
    let mut cubin = Cubin::new(arch, toolkit);
    let relocatable = u.ratio(1, 4)?;
    if relocatable {
        cubin = cubin.relocatable();
    }
    let opcodes = opcodes();
    let mut kernels = Vec::new();
    for index in 0..u.int_in_range(0..=3)? {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let mut code = Vec::new();
        for _ in 0..u.int_in_range(0..=20)? {
            let (name, instruction) = *u.choose(&opcodes)?;
            *counts.entry(name.to_owned()).or_default() += 1;
            code.push(instruction);
        }
        // Eight instructions fill what code sections are aligned to.
        let padding = code.len().next_multiple_of(8) - code.len();
        if padding > 0 {
            *counts.entry("NOP".to_owned()).or_default() += padding as u64;
        }
        let name = format!("{}{index}", u.choose(&NAMES)?);
        let is_entry = u.arbitrary()?;
        let kernel = Kernel::new(name.clone(), code).registers(u.arbitrary()?);
        cubin = cubin.kernel(if is_entry {
            kernel
        } else {
            kernel.device_function()
        });
        kernels.push((name, is_entry, counts));
    }
    let mut entry = Entry::cubin(arch, cubin.build().expect("a few sections"));
    // The entry header is then the only one to name a family. A specific cubin names itself.
    if let Some(compat) = cubin.compat().filter(|_| arch.number() >= 100) {
        entry = entry.compat(compat);
    }
    let content = Content::Cubin {
        arch,
        toolkit,
        kernels,
    };
    Ok((entry, relocatable, content))
}

fn found(image: &Image<'_>, limits: &Limits) -> Expected {
    let inspection = image
        .inspect(limits, &InspectOptions::default())
        .expect("what was written can be inspected");
    assert_eq!(inspection.defects, [], "nothing is wrong with it");
    let content = match (image.kind, inspection.ptx) {
        (ImageKind::Cubin, _) => Content::Cubin {
            arch: inspection.arch,
            toolkit: inspection
                .toolkit
                .expect("its header or its note names it")
                .release(),
            kernels: inspection
                .kernels
                .iter()
                .map(|kernel| (kernel.name.clone(), kernel.is_entry, counts(&kernel.sass)))
                .collect(),
        },
        (_, Some(facts)) => Content::Ptx {
            arch: facts.arch,
            version: facts.version,
            entries: facts.entries,
        },
        _ => Content::Opaque,
    };
    Expected {
        member: image.member.as_deref().map(str::to_owned),
        section: image.section.as_deref().map(str::to_owned),
        region: image.region,
        entry: image.entry,
        kind: image.kind,
        declared: image.declared,
        compression: image.compression,
        is_shared: image.container().is_some(),
        ident: image.ident.clone(),
        options: image.options.clone(),
        relocatable: inspection.relocatable && !matches!(image.kind, ImageKind::Unknown(_))
            || image.relocatable,
        content,
    }
}

fn counts(histogram: &Histogram) -> BTreeMap<String, u64> {
    histogram
        .iter()
        .map(|(name, count)| (name.to_owned(), count))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use arbitrary::Unstructured;
    use blockgate_fatbin::FileFormat;

    use super::{Content, File};
    use crate::seeds;

    /// A generator that only made empty files would find nothing wrong.
    #[test]
    fn the_seeds_describe_files_of_every_kind() {
        let files: Vec<File> = seeds::descriptions()
            .map(|seed| File::describe(&mut Unstructured::new(&seed.data)).unwrap())
            .collect();
        let formats: HashSet<FileFormat> = files.iter().map(|file| file.format).collect();
        assert_eq!(formats.len(), 5, "{formats:?}");
        let images: Vec<_> = files.iter().flat_map(|file| &file.images).collect();
        let with = |wanted: fn(&super::Expected) -> bool| images.iter().filter(|image| wanted(image)).count();
        for (what, count) in [
            (
                "compression",
                with(|image| image.compression != super::Compression::None),
            ),
            ("a container", with(|image| image.is_shared)),
            ("a source name", with(|image| image.ident.is_some())),
            ("relocatable", with(|image| image.relocatable)),
            ("PTX", with(|image| matches!(image.content, Content::Ptx { .. }))),
            (
                "kernels",
                with(|image| matches!(&image.content, Content::Cubin { kernels, .. } if kernels.len() > 1)),
            ),
            ("LTO-IR", with(|image| image.kind == super::ImageKind::LtoIr)),
        ] {
            assert!(count >= 3, "{what}: {count} of {}", images.len());
        }
    }
}
