//! Says which images of a file a device can load: `cargo run --example runs_on -- libfoo.so 12.1`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example is a program: it reads a file and prints"
)]

use blockgate_arch::{CodeKind, Device, Target};
use blockgate_fatbin::{ImageKind, InspectOptions, Limits, SassDetail, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(device)) = (arguments.next(), arguments.next()) else {
        return Err("usage: runs_on FILE COMPUTE-CAPABILITY".into());
    };
    let device: Device = device.parse()?;
    let bytes = std::fs::read(path)?;
    let limits = Limits::default();
    let options = InspectOptions {
        sass: SassDetail::Off,
    };
    for image in &read(&bytes, &limits)?.images {
        let kind = match image.kind {
            ImageKind::Cubin => CodeKind::Cubin,
            ImageKind::Ptx => CodeKind::Ptx,
            // No driver loads these.
            _ => continue,
        };
        let arch = image.inspect(&limits, &options)?.arch;
        let target = Target { arch, kind };
        let verdict = if target.runs_on(device).loads() {
            "yes"
        } else {
            "no"
        };
        println!("{:#x} {} {arch}: {verdict}", image.offset, image.kind.as_str());
    }
    Ok(())
}
