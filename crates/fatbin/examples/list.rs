//! Lists the images of a file, from their headers alone: `cargo run --example list -- libfoo.so`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example is a program: it reads a file and prints"
)]

use blockgate_fatbin::{Limits, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: list FILE")?;
    let bytes = std::fs::read(path)?;
    let artifact = read(&bytes, &Limits::default())?;
    for image in &artifact.images {
        let member = image.member.as_deref().unwrap_or("-");
        // A cubin or PTX file by itself has no entry header that would name its architecture.
        let arch = image.declared.map_or("-".to_owned(), |arch| arch.to_string());
        let kind = image.kind.as_str();
        println!(
            "{:#x} {member} {kind} {arch} {} bytes",
            image.offset, image.stored_size
        );
    }
    for defect in &artifact.defects {
        println!("{defect}");
    }
    Ok(())
}
