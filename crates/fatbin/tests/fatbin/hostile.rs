//! Inputs made to cost much or to mislead, and the refusal that each must get. Random damage is the fuzz targets' part.

use blockgate_arch::{Arch, Scope, ToolkitVersion};
use blockgate_fatbin::write::{
    Archive, Concat, Cubin, Entry, HostKind, HostObject, Kernel, MemberNames, Ptx, Region, WriteError,
    instruction,
};
use blockgate_fatbin::{Compression, DeviceCode, InspectOptions, Limits, SassDetail, read};
use libtest_mimic::{Failed, Trial};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("hostile/overlapping-sections", || {
            refused(&overlapping_sections(), "sections that do not overlap")
        }),
        Trial::test("hostile/one-name-for-all-sections", names_are_capped),
        Trial::test("hostile/many-kernels-of-one-name", resources_are_of_one_kernel),
        Trial::test("hostile/overlapping-coff-sections", || {
            refused(&coff_object(&[0; 1000], 1000), "sections that do not overlap")
        }),
        Trial::test("hostile/regions-in-regions", search_is_capped),
        Trial::test("hostile/archives-three-deep", archives_three_deep),
    ];
    trials.extend(LIES.iter().map(|lie| {
        let title = lie.title.replace(' ', "-");
        Trial::test(format!("hostile/{title}"), move || lie.check())
    }));
    trials
}

const ARCH: Arch = Arch::new(12, 1, Scope::Specific);

/// A field that says what is not so, in a file that is otherwise sound, and what must be said of it.
struct Lie {
    title: &'static str,
    file: fn() -> Result<Vec<u8>, WriteError>,
    at: usize,
    bytes: &'static [u8],
    /// What was expected there and what was found, in one of the errors.
    expected: &'static str,
    found: &'static str,
}

/// Fields of a region with one entry: sizes of the region; of header and payload, and of the payload before and after
/// compression; and where names and options are.
const REGION_SIZE: usize = 8;
const ENTRY: usize = 16;
const HEADER_SIZE: usize = ENTRY + 4;
const PAYLOAD_SIZE: usize = ENTRY + 8;
const COMPRESSED_SIZE: usize = ENTRY + 16;
const DECOMPRESSED_SIZE: usize = ENTRY + 56;

/// Behind a container's header: the number of images, the size of the table, the first image.
const CONTAINER_COUNT: usize = ENTRY + 64;
const FIRST_SUB: usize = CONTAINER_COUNT + 8;

/// In the first member header of an archive.
const MEMBER_SIZE: usize = 8 + 48;

/// In an ELF header: where the section table is.
const SECTION_TABLE: usize = 0x28;

const FOUR_GIB: &[u8] = &[0, 0, 0, 0, 1, 0, 0, 0];
const MOST: &[u8] = &[0xff; 8];

const LIES: [Lie; 16] = [
    Lie {
        title: "a region of 4 GiB",
        file: plain,
        at: REGION_SIZE,
        bytes: FOUR_GIB,
        expected: "a region that ends within",
        found: "entries of 0x100000000 bytes from 0x10",
    },
    Lie {
        title: "a region of 2^64-1",
        file: plain,
        at: REGION_SIZE,
        bytes: MOST,
        expected: "a region that ends within",
        found: "entries of 0xffffffffffffffff bytes",
    },
    Lie {
        title: "a payload of 4 GiB",
        file: plain,
        at: PAYLOAD_SIZE,
        bytes: FOUR_GIB,
        expected: "a payload (cubin, arch 121) of at most",
        found: "0x100000000 bytes",
    },
    Lie {
        title: "a payload of 2^64-8",
        file: plain,
        at: PAYLOAD_SIZE,
        bytes: &[0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        expected: "a payload (cubin, arch 121) of at most",
        found: "0xfffffffffffffff8 bytes",
    },
    Lie {
        title: "an entry header of 4 GiB",
        file: plain,
        at: HEADER_SIZE,
        bytes: &[0xf8, 0xff, 0xff, 0xff],
        expected: "an entry header of 0x40 to",
        found: "0xfffffff8",
    },
    // Each would be the next entry again, without end.
    Lie {
        title: "an entry header of nothing",
        file: plain,
        at: HEADER_SIZE,
        bytes: &[0; 4],
        expected: "an entry header of 0x40 to",
        found: "0x0",
    },
    Lie {
        title: "a region header of nothing",
        file: plain,
        at: 6,
        bytes: &[0; 2],
        expected: "a region header of 16 bytes",
        found: "0",
    },
    Lie {
        title: "a compressed size of 4 GiB",
        file: zstd,
        at: COMPRESSED_SIZE,
        bytes: &[0xff; 4],
        expected: "a compressed size of 1 to",
        found: "0xffffffff",
    },
    Lie {
        title: "a decompressed size of 4 GiB",
        file: zstd,
        at: DECOMPRESSED_SIZE,
        bytes: FOUR_GIB,
        expected: "a decompressed size of 1 to",
        found: "0x100000000",
    },
    // The frame unpacks to far more than the header admits.
    Lie {
        title: "a zstd payload that says it is small",
        file: zstd,
        at: DECOMPRESSED_SIZE,
        bytes: &[16, 0, 0, 0, 0, 0, 0, 0],
        expected: "zstd data that decompresses to 0x10 bytes",
        found: "bytes that do not",
    },
    Lie {
        title: "an LZ4 payload that says it is small",
        file: lz4,
        at: DECOMPRESSED_SIZE,
        bytes: &[16, 0, 0, 0, 0, 0, 0, 0],
        expected: "lz4 data that decompresses to 0x10 bytes",
        found: "bytes that do not",
    },
    // Nothing is changed here: 64 MiB of blanks in some KiB.
    Lie {
        title: "a decompression bomb",
        file: bomb,
        at: 0,
        bytes: &[],
        expected: "a decompressed size of 1 to",
        found: "0x4000",
    },
    Lie {
        title: "a container of 2^32-1 images",
        file: container,
        at: CONTAINER_COUNT,
        bytes: &[0xff; 4],
        expected: "at most 2 images in a header of",
        found: "4294967295",
    },
    Lie {
        title: "an image of 4 GiB in a container",
        file: container,
        at: FIRST_SUB + 8,
        bytes: FOUR_GIB,
        expected: "images of together",
        found: "0x100000000 with this one",
    },
    Lie {
        title: "an archive member of 9 GB",
        file: archive,
        at: MEMBER_SIZE,
        bytes: b"9999999999",
        expected: "an archive member within",
        found: "0x2540be3ff bytes from",
    },
    Lie {
        title: "a section table at 4 GiB",
        file: host,
        at: SECTION_TABLE,
        bytes: FOUR_GIB,
        expected: "a section table within",
        found: "its offset as 0x100000000",
    },
];

impl Lie {
    /// Reads and inspects the file, and looks for the one error.
    fn check(&self) -> Result<(), Failed> {
        let mut bytes = (self.file)()?;
        bytes[self.at..][..self.bytes.len()].copy_from_slice(self.bytes);
        let limits = Limits::default();
        let mut errors = Vec::new();
        match read(&bytes, &limits) {
            Err(error) => errors.push(error.to_string()),
            Ok(artifact) => {
                errors.extend(artifact.defects.iter().map(ToString::to_string));
                for image in &artifact.images {
                    let inspected = image.inspect(&limits, &InspectOptions::default());
                    errors.extend(inspected.err().map(|error| error.to_string()));
                }
            }
        }
        let says_so = |error: &String| {
            error
                .split_once("expected ")
                .and_then(|(_, rest)| rest.split_once(", found "))
                .is_some_and(|(expected, found)| {
                    expected.starts_with(self.expected) && found.contains(self.found)
                })
        };
        if errors.iter().any(says_so) {
            Ok(())
        } else {
            Err(format!("no such error among {errors:#?}").into())
        }
    }
}

fn cubin() -> Result<Vec<u8>, WriteError> {
    Cubin::new(ARCH, ToolkitVersion::new(13, 0))
        .kernel(Kernel::new("k", [instruction(0x94d)]))
        .build()
}

fn with(compression: Compression) -> Result<Vec<u8>, WriteError> {
    let entry = Entry::cubin(ARCH, cubin()?).compression(compression);
    Region::new().entry(entry).build()
}

fn plain() -> Result<Vec<u8>, WriteError> {
    with(Compression::None)
}

fn zstd() -> Result<Vec<u8>, WriteError> {
    with(Compression::Zstd)
}

fn lz4() -> Result<Vec<u8>, WriteError> {
    with(Compression::Lz4)
}

fn bomb() -> Result<Vec<u8>, WriteError> {
    let text = Ptx::new(ARCH, (9, 0)).kernel_with("k", " ".repeat(64 << 20));
    let entry = Entry::ptx(ARCH, (9, 0), text.text()).compression(Compression::Zstd);
    Region::new().entry(entry).build()
}

fn container() -> Result<Vec<u8>, WriteError> {
    let concat = Concat::new()
        .image(Entry::cubin(ARCH, cubin()?))
        .image(Entry::cubin(ARCH, cubin()?));
    Region::new().concat(concat).build()
}

fn archive() -> Result<Vec<u8>, WriteError> {
    Archive::new(MemberNames::Gnu).member("a.o", host()?).build()
}

fn host() -> Result<Vec<u8>, WriteError> {
    HostObject::new(HostKind::Relocatable).linked(plain()?).build()
}

/// One archive in another is opened; what lies deeper is refused, and the answer is not "no device code".
fn archives_three_deep() -> Result<(), Failed> {
    let wrap = |name: &str, content| Archive::new(MemberNames::Gnu).member(name, content).build();
    let two = wrap("outer.a", archive()?)?;
    let artifact = read(&two, &Limits::default())?;
    assert_eq!(artifact.images.len(), 1);
    assert_eq!(artifact.defects, []);

    let three = wrap("outermost.a", two)?;
    let artifact = read(&three, &Limits::default())?;
    assert_eq!(artifact.images.len(), 0);
    assert_eq!(artifact.members[0].device_code, DeviceCode::Unreadable);
    let [defect] = artifact.defects.as_slice() else {
        return Err(format!("{:#?}", artifact.defects).into());
    };
    assert_eq!(defect.rule, "unreadable-member");
    assert_eq!(defect.found, "an archive in an archive in an archive");
    Ok(())
}

/// A cubin of empty sections: for each of `kinds` its name, type and flags, and how many there are.
fn cubin_of(kinds: &[(&str, u32, u64, u16)]) -> Vec<u8> {
    const NAMES_AT: u64 = 64;
    const STRINGS: u32 = 3;
    let mut names = vec![0];
    let mut headers = Vec::new();
    for &(name, kind, flags, count) in kinds {
        let name_at = u32::try_from(names.len()).expect("names of a few MiB");
        names.extend(name.bytes().chain([0]));
        headers.extend(std::iter::repeat_n((name_at, kind, flags), count.into()));
    }
    names.resize(names.len().next_multiple_of(8), 0);
    let section = |name: u32, kind: u32, flags: u64, size: u64| {
        let head = name.to_le_bytes().into_iter().chain(kind.to_le_bytes());
        let rest = [flags, 0, NAMES_AT, size, 0, 0, 0];
        head.chain(rest.into_iter().flat_map(u64::to_le_bytes))
            .collect::<Vec<u8>>()
    };
    // ELF ABI 8, machine code for CUDA, flags of sm_121.
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, 8, 0, 0, 0, 0, 0, 0, 0];
    file.extend([2, 0, 190, 0, 1, 0, 0, 0]);
    file.extend([0; 16]);
    file.extend((NAMES_AT + names.len() as u64).to_le_bytes());
    file.extend([2, 121, 0, 6, 64, 0, 0, 0, 0, 0, 64, 0]);
    let count = u16::try_from(headers.len() + 2).expect("thousands of sections");
    file.extend(count.to_le_bytes());
    file.extend([1, 0]);
    file.extend(&names);
    file.extend(section(0, 0, 0, 0));
    file.extend(section(0, STRINGS, 0, names.len() as u64));
    for (name, kind, flags) in headers {
        file.extend(section(name, kind, flags, 0));
    }
    file
}

/// Code, in the words of a section header: its type and flags.
const CODE: (u32, u64) = (1, 6);

/// A cubin whose 8 empty code sections share one name of a MiB.
fn one_name_for_all() -> Vec<u8> {
    let name = "x".repeat(1 << 20);
    cubin_of(&[(&name, CODE.0, CODE.1, 8)])
}

/// What is said of a name would be copied for each kernel that has it: thousands of banks for thousands of kernels.
fn resources_are_of_one_kernel() -> Result<(), Failed> {
    let bytes = cubin_of(&[
        (".text.k", CODE.0, CODE.1, 2000),
        (".text.sole", CODE.0, CODE.1, 1),
        (".nv.constant3.k", CODE.0, 0, 2000),
        (".nv.constant3.sole", CODE.0, 0, 1),
    ]);
    let limits = Limits::default();
    let artifact = read(&bytes, &limits)?;
    let options = InspectOptions {
        sass: SassDetail::Kernels,
    };
    let image = artifact.images.first().ok_or("no image")?;
    let kernels = image.inspect(&limits, &options)?.kernels;
    assert_eq!(kernels.len(), 2001);
    let known: Vec<(&str, usize)> = kernels
        .iter()
        .filter_map(|kernel| Some((kernel.name.as_str(), kernel.resources.as_ref()?.constants.len())))
        .collect();
    assert_eq!(known, [("sole", 1)]);
    Ok(())
}

/// Names are copied for each section, so a small compressed image could ask for a lot of memory.
fn names_are_capped() -> Result<(), Failed> {
    let bytes = one_name_for_all();
    for (max_name_bytes, allowed) in [(8 << 20, true), ((8 << 20) - 1, false)] {
        let limits = Limits {
            max_name_bytes,
            ..Limits::default()
        };
        let artifact = read(&bytes, &limits)?;
        let image = artifact.images.first().ok_or("no image")?;
        match image.inspect(&limits, &InspectOptions::default()) {
            Ok(inspection) if allowed && inspection.kernels.len() == 8 => {}
            Err(error) if !allowed && error.expected().starts_with("names of at most 0x7fffff bytes") => {}
            other => return Err(format!("with {max_name_bytes:#x}: {:?}", other.map(|i| i.arch)).into()),
        }
    }
    Ok(())
}

/// An ELF file in which every section, of thousands, is the whole file: reading each of them would take for ever.
fn overlapping_sections() -> Vec<u8> {
    const SECTIONS: u16 = 4096;
    const HEADER_BYTES: u64 = 64;
    let size = HEADER_BYTES + HEADER_BYTES * u64::from(SECTIONS);
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0];
    file.resize(16, 0);
    // Relocatable, x86-64, version 1, no entry point and program headers, section table behind the header.
    file.extend([1, 0, 62, 0, 1, 0, 0, 0]);
    file.extend([0; 16]);
    file.extend(HEADER_BYTES.to_le_bytes());
    file.extend([0; 4]);
    file.extend([64, 0, 0, 0, 0, 0, 64, 0]);
    file.extend(SECTIONS.to_le_bytes());
    file.extend([0, 0]);
    for _ in 0..SECTIONS {
        // Name 7 is an empty one; the type is "program bits".
        file.extend([7, 0, 0, 0, 1, 0, 0, 0]);
        file.extend([0; 16]);
        file.extend(0_u64.to_le_bytes());
        file.extend(size.to_le_bytes());
        file.extend([0; 24]);
    }
    file
}

/// A COFF object with `sections` sections of data, each of which is `data`.
fn coff_object(data: &[u8], sections: u16) -> Vec<u8> {
    let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
    const HEADER_BYTES: u32 = 20;
    const ROW_BYTES: u32 = 40;
    let mut file = vec![0x64, 0x86];
    file.extend(sections.to_le_bytes());
    file.resize(HEADER_BYTES as usize, 0);
    let at = HEADER_BYTES + ROW_BYTES * u32::from(sections);
    for _ in 0..sections {
        file.extend(b".data\0\0\0");
        file.extend([0; 8]);
        file.extend(bytes.to_le_bytes());
        file.extend(at.to_le_bytes());
        file.extend([0; 12]);
        // Initialized data that can be read.
        file.extend(0x4000_0040_u32.to_le_bytes());
    }
    file.extend(data);
    file
}

/// Entries without payload, in each of which a region starts that has all that follow: looking at each of them whole would
/// take time in the square of their number. At the end nothing is an entry, so that none of the regions holds up.
fn regions_in_regions(count: usize) -> Vec<u8> {
    let mut data = Vec::new();
    for index in 0..count {
        data.extend([8, 0, 1, 1, 64, 0, 0, 0]);
        data.extend([0; 20]);
        data.extend(90_u32.to_le_bytes());
        data.extend([0; 16]);
        data.extend([0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]);
        data.extend(((count - index) as u64 * 64).to_le_bytes());
    }
    data.extend([0xff; 64]);
    data
}

fn search_is_capped() -> Result<(), Failed> {
    let bytes = coff_object(&regions_in_regions(100_000), 1);
    let artifact = read(&bytes, &Limits::default())?;
    let rules: Vec<_> = artifact.defects.iter().map(|defect| defect.rule).collect();
    if rules != ["limit-search", "near-miss"] || !artifact.images.is_empty() {
        return Err(format!("{} images, {rules:?}", artifact.images.len()).into());
    }
    Ok(())
}

fn refused(bytes: &[u8], expected: &str) -> Result<(), Failed> {
    match read(bytes, &Limits::default()) {
        Ok(_) => Err("it was read".into()),
        Err(error) if error.expected() == expected => Ok(()),
        Err(error) => Err(format!("another error: {error}").into()),
    }
}
