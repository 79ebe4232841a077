//! Counts one mnemonic by architecture: `cargo run --example count -- libfoo.so HMMA`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example is a program: it reads a file and prints"
)]

use std::collections::BTreeMap;

use blockgate_fatbin::{ImageKind, InspectOptions, Limits, SassDetail, can_name, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(mnemonic)) = (arguments.next(), arguments.next()) else {
        return Err("usage: count FILE MNEMONIC".into());
    };
    // A name that nothing is ever counted under would be found 0 times in any file.
    if !can_name(|name| name == mnemonic) {
        return Err(format!("`{mnemonic}` is no mnemonic that is counted").into());
    }
    let bytes = std::fs::read(path)?;
    let limits = Limits::default();
    let options = InspectOptions {
        sass: SassDetail::Image,
    };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for image in &read(&bytes, &limits)?.images {
        if image.kind == ImageKind::Cubin {
            let inspection = image.inspect(&limits, &options)?;
            *counts.entry(inspection.arch.to_string()).or_default() += inspection.sass.get(&mnemonic);
        }
    }
    for (arch, count) in counts {
        println!("{arch} {count}");
    }
    Ok(())
}
