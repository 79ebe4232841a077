//! How much memory an audit holds at once: no more than one decoded image for each thread, however many there are.
//!
//! Every allocation of this program is counted, mapped files and zstd's own tables (some hundred KiB a thread) are not.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the test writes the file that it audits"
)]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use blockgate_arch::{Arch, Scope, ToolkitVersion};
use blockgate_audit::{NoProgress, Options, audit};
use blockgate_fatbin::write::{Concat, Cubin, Entry, HostKind, HostObject, Kernel, Region, instruction};
use blockgate_fatbin::{Compression, Image, Limits, read};
use peak_alloc::PeakAlloc;
use rayon::prelude::*;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// What else is allocated: the report's rows, names, and the opcode tables' counters of each thread.
const FIXED_BYTES: usize = 256 << 10;

const THREADS: [usize; 3] = [1, 2, 4];

const IMAGES: usize = 32;

/// Each image has this many instructions, of 16 bytes.
const INSTRUCTIONS: u64 = 1 << 17;

/// The counts are of the whole program, so that only one test may run at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A cubin of 2 MiB that compresses to a fifth: a few opcodes, with operands that look random, the rest is 0.
fn cubin(arch: Arch) -> Vec<u8> {
    const OPCODES: [u16; 4] = [0x220, 0x223, 0x981, 0x918];
    let mut state = 1_u64;
    let instructions: Vec<[u64; 2]> = (0..INSTRUCTIONS)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let [low, high] = instruction(OPCODES[(state >> 62) as usize]);
            [low | (state >> 40 & 0xff_ffff) << 16, high]
        })
        .collect();
    Cubin::new(arch, ToolkitVersion::new(13, 0))
        .kernel(Kernel::new("k", instructions))
        .build()
        .unwrap()
}

/// A shared object with [`IMAGES`] images, and the size of the largest payload after decompression.
fn library(folder: &Path, in_one_container: usize) -> (PathBuf, usize) {
    let arch = Arch::new(12, 1, Scope::Specific);
    let cubin = cubin(arch);
    let mut object = HostObject::new(HostKind::Shared);
    for index in 0..IMAGES / in_one_container {
        let mut region = Region::new();
        if in_one_container > 1 {
            let images = (0..in_one_container).map(|_| Entry::cubin(arch, cubin.clone()));
            region = region.concat(images.fold(Concat::new(), Concat::image));
        } else {
            let compression = [Compression::Zstd, Compression::Lz4][index % 2];
            region = region.entry(Entry::cubin(arch, cubin.clone()).compression(compression));
        }
        object = object.linked(region.build().unwrap());
    }
    let path = folder.join("lib.so");
    std::fs::write(&path, object.build().unwrap()).unwrap();
    (path, cubin.len() * in_one_container)
}

/// The most bytes that were allocated at once, beyond those from before, while `work` ran on `threads` threads.
fn peak_of(threads: usize, work: impl FnOnce() + Send) -> usize {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    ALLOCATED.reset_peak_usage();
    let before = ALLOCATED.current_usage();
    pool.install(work);
    ALLOCATED.peak_usage().saturating_sub(before)
}

fn audited(path: &Path, options: &Options) {
    let report = audit(&[path.to_owned()], options, &NoProgress);
    let file = &report.files[0];
    assert_eq!(file.images.len(), IMAGES);
    if !options.list_only {
        // All of it was really decoded and counted.
        assert_eq!(file.totals.instructions[0].count, INSTRUCTIONS * IMAGES as u64);
    }
}

#[test]
fn an_audit_holds_one_image_for_each_thread() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let (path, largest) = library(folder.path(), 1);
    for threads in THREADS {
        let peak = peak_of(threads, || audited(&path, &Options::default()));
        let bound = threads * largest + FIXED_BYTES;
        assert!(
            peak <= bound,
            "{threads} threads: {peak} bytes, more than {bound}"
        );
        // It did decode: the counter sees it.
        assert!(peak >= largest, "{threads} threads: {peak} bytes");
    }
}

/// The payload of a container is kept until its last image is done, each of which is copied out of it.
#[test]
fn an_audit_holds_one_container_for_each_thread() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    const TOGETHER: usize = 4;
    let (path, largest) = library(folder.path(), TOGETHER);
    for threads in THREADS {
        let peak = peak_of(threads, || audited(&path, &Options::default()));
        let bound = threads * (largest + largest / TOGETHER) + FIXED_BYTES;
        assert!(
            peak <= bound,
            "{threads} threads: {peak} bytes, more than {bound}"
        );
    }
}

#[test]
fn a_listing_decodes_nothing() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = library(folder.path(), 1);
    let options = Options {
        list_only: true,
        ..Options::default()
    };
    let peak = peak_of(2, || audited(&path, &options));
    assert!(peak <= FIXED_BYTES, "{peak} bytes");
}

/// Where every decoded image is kept, the bound does not hold, so it can fail.
#[test]
fn keeping_all_images_exceeds_the_bound() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let (path, largest) = library(folder.path(), 1);
    let file = std::fs::read(&path).unwrap();
    let artifact = read(&file, &Limits::default()).unwrap();
    for threads in THREADS {
        let peak = peak_of(threads, || {
            let decode = |image: &Image<'_>| image.decode(&Limits::default()).unwrap().len();
            let kept: Vec<_> = artifact
                .images
                .par_iter()
                .map(|image| image.decode(&Limits::default()).unwrap())
                .collect();
            assert_eq!(kept[0].len(), decode(&artifact.images[0]));
        });
        assert!(
            peak > threads * largest + FIXED_BYTES,
            "{threads} threads: {peak} bytes"
        );
    }
}
