//! Files beyond 4 GiB: offsets are 64 bits wide everywhere.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the test writes the file that it audits"
)]

use std::io::{Seek as _, SeekFrom, Write as _};

use blockgate_arch::{Arch, Scope, ToolkitVersion};
use blockgate_audit::{NoProgress, Options, audit};
use blockgate_fatbin::write::{Cubin, Entry, HostKind, HostObject, Kernel, Region, instruction};

/// Where the content of the file starts. What lies before is a hole, which takes no room on a disk.
const FAR: u64 = 5 << 30;

fn u64_at(bytes: &mut [u8], at: usize) -> &mut [u8; 8] {
    bytes[at..].first_chunk_mut().unwrap()
}

fn move_far(field: &mut [u8; 8]) {
    *field = (u64::from_le_bytes(*field) + FAR).to_le_bytes();
}

#[test]
fn device_code_behind_4_gib_is_found_where_it_is() {
    let arch = Arch::new(9, 0, Scope::Specific);
    let cubin = Cubin::new(arch, ToolkitVersion::new(12, 9))
        .kernel(Kernel::new("k", [instruction(0x94d)]))
        .build()
        .unwrap();
    let region = Region::new().entry(Entry::cubin(arch, cubin)).build().unwrap();
    let mut object = HostObject::new(HostKind::Shared).linked(region).build().unwrap();
    let region_at = object
        .windows(4)
        .position(|bytes| bytes == [0x50, 0xed, 0x55, 0xba])
        .unwrap();

    // The section table and every section move; the ELF header stays where it must be.
    let table_at = usize::try_from(u64::from_le_bytes(*u64_at(&mut object, 0x28))).unwrap();
    for header_at in (table_at..object.len()).step_by(64) {
        move_far(u64_at(&mut object, header_at + 24));
    }
    move_far(u64_at(&mut object, 0x28));
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&object[..64]).unwrap();
    file.seek(SeekFrom::Start(FAR)).unwrap();
    file.write_all(&object).unwrap();

    let report = audit(&[file.path().to_owned()], &Options::default(), &NoProgress);
    assert_eq!(report.findings, []);
    let [image] = report.files[0].images.as_slice() else {
        panic!("{} images", report.files[0].images.len());
    };
    assert_eq!(image.offset_bytes, FAR + region_at as u64 + 16);
    assert_eq!(image.arch, Some(arch));
    assert_eq!(report.files[0].size_bytes, FAR + object.len() as u64);
}
