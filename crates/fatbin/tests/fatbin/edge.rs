//! Mutated inputs and the answer that each must get.

use blockgate_fatbin::{DeviceCode, InspectOptions, Limits, Severity, read};
use libtest_mimic::{Failed, Trial};

use crate::support::fixtures;

/// What must be said of one input.
struct Wanted {
    file: &'static str,
    /// Images that can be looked into, all of them and those that turn out unreadable.
    images: usize,
    unreadable: usize,
    device_code: DeviceCode,
    /// Defects of the file, then of its images.
    defects: &'static [(&'static str, Severity)],
}

use DeviceCode::{None as Nothing, Present, PtxOnly, Unreadable};
use Severity::{Error, Info, Warning};

const fn wanted(
    file: &'static str,
    images: usize,
    device_code: DeviceCode,
    defects: &'static [(&'static str, Severity)],
) -> Wanted {
    Wanted {
        file,
        images,
        unreadable: 0,
        device_code,
        defects,
    }
}

/// One image of a region whose others stay readable.
const fn one_unreadable(file: &'static str) -> Wanted {
    Wanted {
        unreadable: 1,
        ..wanted(file, 8, Present, &[])
    }
}

const WANTED: [Wanted; 45] = [
    // Cut short, or with a size that lies: what is whole is kept, and the rest is an error.
    wanted("trunc_hdr.fatbin", 0, Unreadable, &[("region-cut", Error)]),
    wanted(
        "trunc_mid.fatbin",
        0,
        Unreadable,
        &[("region-cut", Error), ("entry-cut", Error)],
    ),
    wanted(
        "trunc_last8.fatbin",
        3,
        Present,
        &[("region-cut", Error), ("entry-cut", Error)],
    ),
    wanted("size_too_big.fatbin", 4, Present, &[("region-cut", Error)]),
    wanted("size_overflow.fatbin", 4, Present, &[("region-cut", Error)]),
    wanted("size_less8.fatbin", 4, Present, &[("entry-past-region", Warning)]),
    wanted("hs0.fatbin", 0, Unreadable, &[("region-header-size", Error)]),
    wanted(
        "entry_hdr0.fatbin",
        0,
        Unreadable,
        &[("entry-header-size", Error)],
    ),
    wanted(
        "entry_size_overflow.fatbin",
        0,
        Unreadable,
        &[("entry-cut", Error)],
    ),
    // Versions that are not known to differ are read.
    wanted("entry_ver102.fatbin", 4, Present, &[("entry-version", Info)]),
    wanted("ver2.fatbin", 4, Present, &[("region-version", Info)]),
    // Empty regions, and what may lie between regions.
    wanted("base.fatbin", 4, Present, &[]),
    wanted("empty.fatbin", 0, Nothing, &[]),
    wanted("empty_then.fatbin", 4, Present, &[]),
    wanted("then_empty.fatbin", 4, Present, &[]),
    wanted("twice.fatbin", 8, Present, &[]),
    wanted("pad8.fatbin", 4, Present, &[]),
    wanted("pad16.fatbin", 8, Present, &[]),
    wanted(
        "garbage_tail.fatbin",
        4,
        Present,
        &[("garbage-between-regions", Error)],
    ),
    // A region's magic inside a payload or in another section is not taken for one.
    wanted("fake.so", 3, Present, &[("near-miss", Warning)]),
    // Compression that is not what the header says.
    wanted("z_base.fatbin", 8, Present, &[]),
    one_unreadable("z_corrupt.fatbin"),
    one_unreadable("z_cs_0.fatbin"),
    one_unreadable("z_cs_big.fatbin"),
    one_unreadable("z_cs_small.fatbin"),
    one_unreadable("z_flag_lz4.fatbin"),
    one_unreadable("z_noflag.fatbin"),
    one_unreadable("z_us_big.fatbin"),
    one_unreadable("z_us_small.fatbin"),
    // The cubin's own architecture is the verdict; both are shown.
    wanted("arch_lie.fatbin", 8, Present, &[("arch-disagreement", Warning)]),
    // PTX whose comments, strings or layout mislead.
    wanted("c1.fatbin", 1, PtxOnly, &[("ptx-version-disagreement", Warning)]),
    wanted("c2.fatbin", 1, PtxOnly, &[("ptx-repeated-directive", Warning)]),
    wanted("c3.fatbin", 1, PtxOnly, &[]),
    wanted("c4.fatbin", 1, PtxOnly, &[]),
    wanted("c5.fatbin", 1, PtxOnly, &[]),
    wanted("c1.ptx", 1, PtxOnly, &[]),
    wanted("c2.ptx", 1, PtxOnly, &[("ptx-repeated-directive", Warning)]),
    wanted("c3.ptx", 1, PtxOnly, &[]),
    wanted("c4.ptx", 1, PtxOnly, &[]),
    wanted("c5.ptx", 1, PtxOnly, &[]),
    wanted(
        "c6.ptx",
        1,
        PtxOnly,
        &[
            ("ptx-repeated-directive", Warning),
            ("ptx-repeated-directive", Warning),
        ],
    ),
    wanted("c7.ptx", 1, PtxOnly, &[]),
    // An LTO-IR object is listed, not an error.
    wanted("../toolkits/p_lto.o", 2, DeviceCode::LtoOnly, &[]),
    wanted("../toolkits/p_dlto.o", 2, PtxOnly, &[]),
    // One byte too many between two regions.
    wanted(
        "../toolkits/x_2u.fatbin",
        4,
        Present,
        &[("garbage-between-regions", Error)],
    ),
];

/// Inputs of which nothing can be said, and where the error is.
const REFUSED: [(&str, u64, &str); 2] = [
    ("padpre8.fatbin", 0, "bytes 00 00 00 00 00 00 00 00"),
    ("trunc.so", 0x28, "cut short"),
];

/// Whether the input `name`, or an image of it, must be refused.
pub(crate) fn is_known_to_be_refused(name: &str) -> bool {
    let Some(file) = name.strip_prefix("edge/") else {
        return false;
    };
    REFUSED.iter().any(|refused| refused.0 == file)
        || WANTED
            .iter()
            .any(|wanted| wanted.file == file && wanted.unreadable > 0)
}

pub(crate) fn trials() -> Result<Vec<Trial>, Failed> {
    let mut trials: Vec<Trial> = WANTED
        .iter()
        .map(|wanted| Trial::test(format!("edge/{}", wanted.file), move || check(wanted)))
        .collect();
    trials.extend(REFUSED.iter().map(|&(file, offset, found)| {
        Trial::test(format!("edge/{file}"), move || check_refused(file, offset, found))
    }));
    trials.push(Trial::test("edge/every-input-has-an-answer", || {
        for entry in std::fs::read_dir(fixtures().join("edge"))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let answered = WANTED.iter().any(|wanted| wanted.file == name)
                || REFUSED.iter().any(|refused| refused.0 == name);
            if !answered && !name.ends_with(".golden") {
                return Err(format!("{name} has no wanted answer").into());
            }
        }
        Ok(())
    }));
    Ok(trials)
}

fn check(wanted: &Wanted) -> Result<(), Failed> {
    let bytes = std::fs::read(fixtures().join("edge").join(wanted.file))?;
    let limits = Limits::default();
    let artifact = read(&bytes, &limits)?;
    let mut defects: Vec<_> = artifact
        .defects
        .iter()
        .map(|defect| (defect.rule, defect.severity))
        .collect();
    let mut unreadable = 0;
    for image in &artifact.images {
        match image.inspect(&limits, &InspectOptions::default()) {
            Ok(inspection) => defects.extend(inspection.defects.iter().map(|d| (d.rule, d.severity))),
            Err(_) => unreadable += 1,
        }
    }
    let found = (
        artifact.images.len(),
        unreadable,
        artifact.members.first().map(|member| member.device_code),
        defects,
    );
    let expected = (
        wanted.images,
        wanted.unreadable,
        Some(wanted.device_code),
        wanted.defects.to_vec(),
    );
    if found == expected {
        Ok(())
    } else {
        Err(format!("expected {expected:?}\nfound    {found:?}").into())
    }
}

fn check_refused(file: &str, offset: u64, found: &str) -> Result<(), Failed> {
    let bytes = std::fs::read(fixtures().join("edge").join(file))?;
    let Err(error) = read(&bytes, &Limits::default()) else {
        return Err("it was read".into());
    };
    if error.offset() == offset && error.found().contains(found) {
        Ok(())
    } else {
        Err(format!("another error: {error}").into())
    }
}
