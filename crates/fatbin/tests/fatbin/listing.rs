//! Prints everything the reader says about a file.

use std::io::{self, Write};

use blockgate_fatbin::{Artifact, Image, InspectOptions, Inspection, Limits, Member, read};

/// Writes what is in `bytes`, image by image.
pub(crate) fn print(out: &mut dyn Write, bytes: &[u8], limits: &Limits) -> io::Result<()> {
    let artifact = match read(bytes, limits) {
        Ok(artifact) => artifact,
        Err(error) => return writeln!(out, "unreadable: {error}"),
    };
    print_artifact(out, &artifact)?;
    for image in &artifact.images {
        print_image(out, image)?;
        match image.inspect(limits, &InspectOptions::default()) {
            Ok(inspection) => print_inspection(out, &inspection)?,
            Err(error) => writeln!(out, "  unreadable: {error}")?,
        }
    }
    for defect in &artifact.defects {
        writeln!(out, "{defect}")?;
    }
    Ok(())
}

fn print_artifact(out: &mut dyn Write, artifact: &Artifact<'_>) -> io::Result<()> {
    writeln!(
        out,
        "{}, {} images, {} bytes unattributed",
        artifact.format.as_str(),
        artifact.images.len(),
        artifact.unattributed_bytes
    )?;
    for member in &artifact.members {
        let Member {
            name,
            offset,
            data,
            device_code,
        } = member;
        let name = name.as_deref().unwrap_or("-");
        let code = device_code.as_str();
        writeln!(out, "member {name} at {offset:#x}, {} bytes: {code}", data.len())?;
    }
    for member in &artifact.external {
        writeln!(out, "external member {} at {:#x}", member.path, member.offset)?;
    }
    Ok(())
}

fn print_image(out: &mut dyn Write, image: &Image<'_>) -> io::Result<()> {
    let declared = image.declared.map(|arch| arch.to_string());
    let version = image
        .declared_version
        .map(|(major, minor)| format!(" {major}.{minor}"));
    writeln!(
        out,
        "{}{} {}/{} at {:#x}: {} {}{}, {}{} {} -> {}{}{}",
        image
            .member
            .as_deref()
            .map(|member| format!("{member} "))
            .unwrap_or_default(),
        image.section.as_deref().unwrap_or("-"),
        image.region,
        image.entry,
        image.offset,
        image.kind.as_str(),
        declared.as_deref().unwrap_or("undeclared"),
        version.unwrap_or_default(),
        if image.relocatable { "relocatable, " } else { "" },
        image.compression.as_str(),
        image.stored_size,
        image.size.map_or("?".to_owned(), |size| size.to_string()),
        image
            .ident
            .as_deref()
            .map(|ident| format!(", source {ident}"))
            .unwrap_or_default(),
        image
            .options
            .as_deref()
            .filter(|options| !options.is_empty())
            .map(|options| format!(", options `{options}`"))
            .unwrap_or_default(),
    )?;
    if let Some(container) = image.container() {
        writeln!(
            out,
            "  in the container at {:#x} of {} images, {} bytes",
            container.offset, container.images, container.stored_size
        )?;
    }
    Ok(())
}

fn print_inspection(out: &mut dyn Write, inspection: &Inspection) -> io::Result<()> {
    let evidence = &inspection.arch_evidence;
    let shown = |arch: Option<_>| arch.map_or("-".to_owned(), |arch: blockgate_arch::Arch| arch.to_string());
    writeln!(
        out,
        "  {}{} (entry {}, content {}, note {}), {} bytes{}",
        inspection.arch,
        if evidence.plain_or_family {
            " or its family"
        } else {
            ""
        },
        shown(evidence.entry),
        shown(evidence.content),
        shown(evidence.note),
        inspection.size,
        if inspection.relocatable {
            ", relocatable"
        } else {
            ""
        }
    )?;
    if let Some(toolkit) = inspection.toolkit {
        let command = inspection.toolkit_command.as_deref().unwrap_or("");
        writeln!(out, "  toolkit {toolkit} `{command}`")?;
    }
    if let Some(ptx) = &inspection.ptx {
        writeln!(
            out,
            "  ptx {}.{} for {} {:?}, entries {:?}",
            ptx.version.0, ptx.version.1, ptx.target, ptx.target_options, ptx.entries
        )?;
    }
    let counted = |count: Option<u64>| count.map_or("uncounted".to_owned(), |count| count.to_string());
    if !inspection.kernels.is_empty() || inspection.instructions.is_some() {
        writeln!(
            out,
            "  instructions {}{}",
            counted(inspection.instructions),
            if inspection.mnemonics_known {
                ""
            } else {
                ", mnemonics unknown"
            }
        )?;
    }
    for kernel in &inspection.kernels {
        writeln!(
            out,
            "  {} {}: {} bytes, {} instructions",
            if kernel.is_entry { "kernel" } else { "function" },
            kernel.name,
            kernel.code_bytes,
            counted(kernel.instructions)
        )?;
        let mut width = 0;
        for (name, count) in kernel.sass.iter() {
            let text = format!(" {name}={count}");
            if width == 0 || width + text.len() > 100 {
                write!(out, "{}   ", if width == 0 { "" } else { "\n" })?;
                width = 3;
            }
            write!(out, "{text}")?;
            width += text.len();
        }
        if width != 0 {
            writeln!(out)?;
        }
    }
    for defect in &inspection.defects {
        writeln!(out, "  {defect}")?;
    }
    Ok(())
}
