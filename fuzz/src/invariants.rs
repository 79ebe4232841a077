//! What must hold of any file, however damaged.

use std::collections::BTreeMap;

use blockgate_fatbin::{
    Artifact, Compression, Cubin, DEFECT_RULES, Defect, DeviceCode, FileFormat, Image, ImageKind,
    InspectOptions, Limits, Place, SassDetail, Severity, read,
};

/// Reads `data`, inspects all of it, and panics where something does not hold. `None` where it cannot be read.
pub(crate) fn check<'a>(data: &'a [u8], limits: &Limits) -> Option<Artifact<'a>> {
    let file = File {
        len: data.len() as u64,
        limits,
    };
    let again = read(data, limits);
    let artifact = match read(data, limits) {
        Ok(artifact) => artifact,
        Err(error) => {
            file.holds(error.place());
            assert_eq!(again.err().as_ref(), Some(&error), "read twice");
            return None;
        }
    };
    file.check(&artifact);
    file.check_ranges(&artifact);
    let again = again.expect("read a moment ago");
    assert_eq!(again.defects, artifact.defects, "read twice");
    assert_eq!(again.images.len(), artifact.images.len(), "read twice");
    for (image, again) in artifact.images.iter().zip(&again.images) {
        file.check_image(image, again);
    }
    Some(artifact)
}

/// Reads `data` as a cubin.
pub(crate) fn check_cubin(data: &[u8]) {
    /// Where the cubin is said to start in its file.
    const OFFSET: u64 = 0x1000;
    let len = data.len() as u64;
    let inside = |place: &Place| {
        let offset = place.offset;
        assert!(
            (OFFSET..=OFFSET + len).contains(&offset),
            "{place} of {len:#x} bytes"
        );
    };
    match Cubin::parse(data, OFFSET) {
        Ok(cubin) => {
            let mut code_bytes = 0_u64;
            for section in cubin.code_sections() {
                match section {
                    Ok(section) => code_bytes += section.bytes.len() as u64,
                    Err(error) => inside(error.place()),
                }
            }
            assert!(code_bytes <= 2 * len, "{code_bytes:#x} bytes of code in {len:#x}");
        }
        Err(error) => inside(error.place()),
    }
}

struct File<'l> {
    len: u64,
    limits: &'l Limits,
}

impl File<'_> {
    fn holds(&self, place: &Place) {
        assert!(
            place.offset <= self.len,
            "{place} is not within {:#x} bytes",
            self.len
        );
    }

    fn is_known(&self, defect: &Defect) {
        let is_listed = DEFECT_RULES.iter().any(|rule| rule.id == defect.rule);
        assert!(is_listed, "{} is not listed", defect.rule);
        self.holds(&defect.place());
        assert!(
            !defect.expected.is_empty() && !defect.found.is_empty(),
            "{defect}"
        );
    }

    fn check(&self, artifact: &Artifact<'_>) {
        let limits = self.limits;
        assert!(artifact.images.len() <= limits.max_images);
        assert!(artifact.members.len() <= limits.max_members);
        assert!(artifact.external.len() <= limits.max_members);
        // One more says that there were others.
        assert!(artifact.defects.len() <= limits.max_defects + 1);
        for defect in &artifact.defects {
            self.is_known(defect);
        }
        for member in &artifact.members {
            let end = member.offset + member.data.len() as u64;
            assert!(end <= self.len, "a member ends at {end:#x} of {:#x}", self.len);
        }
        for external in &artifact.external {
            assert!(external.offset < self.len && !external.path.is_empty());
        }
        let is_archive = matches!(
            artifact.format,
            FileFormat::Archive | FileFormat::ThinArchive | FileFormat::MachOUniversal
        );
        let errors = artifact
            .defects
            .iter()
            .filter(|defect| defect.severity == Severity::Error)
            .count();
        if let ([member], false) = (artifact.members.as_slice(), is_archive) {
            // An empty answer is never a clean one where something could not be read.
            assert!(member.device_code != DeviceCode::None || errors == 0 && artifact.images.is_empty());
            assert_eq!(member.data.len() as u64, self.len);
        } else {
            assert!(is_archive, "{} members", artifact.members.len());
        }
    }

    /// Images and their containers lie in the file one after the other, and with what belongs to no image they are no
    /// more than the file.
    fn check_ranges(&self, artifact: &Artifact<'_>) {
        let mut stored_bytes = artifact.unattributed_bytes;
        let mut ends = BTreeMap::new();
        let mut containers = Vec::new();
        for image in &artifact.images {
            let (offset, size) = match image.container() {
                Some(container) => {
                    assert_eq!(image.stored_size, 0);
                    let range = (container.offset, container.stored_size);
                    if containers.last() == Some(&range) {
                        continue;
                    }
                    containers.push(range);
                    range
                }
                None => (image.offset, image.stored_size),
            };
            let end = offset + size;
            assert!(
                image.offset <= self.len && end <= self.len,
                "an image ends at {end:#x}"
            );
            // Where sections overlap, so do their images; a region is in one section.
            let region = (image.member.clone(), image.section.clone(), image.region);
            let is_first = image.entry == 0;
            if let Some(before) = ends.insert(region, end) {
                assert!(
                    is_first || before <= offset,
                    "images at {before:#x} and {offset:#x} overlap"
                );
            }
            stored_bytes += size;
        }
        // Sections of a host file may overlap, up to twice the size of the file.
        let most = match artifact.format {
            FileFormat::Fatbin | FileFormat::Cubin | FileFormat::Ptx => self.len,
            _ => 2 * self.len,
        };
        assert!(stored_bytes <= most, "{stored_bytes:#x} bytes of {:#x}", self.len);
    }

    /// `again` is the same image, of another reading.
    fn check_image(&self, image: &Image<'_>, again: &Image<'_>) {
        let limits = self.limits;
        let decoded = image.decode(limits);
        match &decoded {
            Ok(content) => {
                let len = content.len() as u64;
                let is_stored_so = image.compression == Compression::None && image.container().is_none();
                assert!(
                    is_stored_so || len <= limits.max_image_bytes,
                    "{len:#x} bytes decoded"
                );
                assert!(
                    image.size.is_none_or(|size| len <= size),
                    "{len:#x} bytes decoded"
                );
                assert_eq!(again.decode(limits).as_ref(), Ok(content), "decoded twice");
            }
            Err(error) => self.holds(error.place()),
        }
        let inspect = |image: &Image<'_>, sass| image.inspect(limits, &InspectOptions { sass });
        let inspected = inspect(image, SassDetail::Kernels);
        let inspection = match inspected {
            Ok(inspection) => inspection,
            Err(error) => {
                self.holds(error.place());
                assert_eq!(
                    inspect(again, SassDetail::Kernels).err(),
                    Some(error),
                    "inspected twice"
                );
                return;
            }
        };
        if matches!(image.kind, ImageKind::Cubin | ImageKind::Ptx) {
            assert_eq!(decoded.map(|content| content.len() as u64), Ok(inspection.size));
        }
        for defect in &inspection.defects {
            self.is_known(defect);
        }
        let per_kernel: u64 = inspection.kernels.iter().map(|kernel| kernel.sass.total()).sum();
        assert_eq!(
            inspection.instructions.unwrap_or(0),
            per_kernel,
            "counted by kernel"
        );
        assert_eq!(inspection.sass.total(), per_kernel, "counted in the image");
        let code_bytes: u64 = inspection.kernels.iter().map(|kernel| kernel.code_bytes).sum();
        assert!(code_bytes <= 2 * inspection.size, "{code_bytes:#x} bytes of code");
        let ptx = inspection.ptx.iter();
        let names: u64 = inspection
            .kernels
            .iter()
            .map(|kernel| &kernel.name)
            .chain(ptx.flat_map(|ptx| ptx.entries.iter().chain(&ptx.target_options)))
            .map(|name| name.len() as u64)
            .sum();
        assert!(names <= limits.max_name_bytes, "{names:#x} bytes of names");
        // Counting less gives the same, as far as it goes.
        let whole = inspect(again, SassDetail::Image).expect("inspected a moment ago");
        assert_eq!(whole.sass, inspection.sass, "counted in the image alone");
        let none = inspect(again, SassDetail::Off).expect("inspected a moment ago");
        assert_eq!(none.instructions, inspection.instructions);
        assert_eq!(none.arch, inspection.arch);
    }
}
