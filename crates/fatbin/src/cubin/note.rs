//! The notes in which the tools that wrote a cubin leave their version and command line, and its target.

use blockgate_arch::{Arch, ToolkitVersion};

use super::info::release_of;
use crate::elf::Elf;
use crate::error::Error;
use crate::ptx::arch_of_name;
use crate::view::View;

pub(crate) const NOTE_SECTION: &[u8] = b".note.nv.tkinfo";

/// The note about target and release: CUDA 13 has the first, CUDA 12.8 and 12.9 the second, from sm_100 on.
pub(crate) const CUDA_NOTE_SECTIONS: [&[u8]; 2] = [b".note.nv.cuinfo", b".note.nv.cuver"];

/// A program that wrote a cubin, in its own words (`.note.nv.tkinfo`).
///
/// Source: `ptxas` and `nvlink` of CUDA 12.8 (from sm_100 on) and 13.0 to 13.5 (always).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name: `ptxas`, `nvlink`.
    pub name: String,
    /// Its version as text: `Cuda compilation tools, release 13.0, V13.0.88`.
    pub version: String,
    /// Its build: `Build cuda_13.0.r13.0/compiler.36424714_0`.
    pub build: String,
    /// Its command line, without the program. It may hold paths of the machine that it ran on.
    pub command: String,
}

/// What a cubin says of its target and release apart from the ELF header (`.note.nv.cuinfo`, `.note.nv.cuver`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaNote {
    /// The number of the virtual architecture that it was compiled from, without suffix: 121 for `compute_121a`.
    pub virtual_arch: u16,
    /// The release, which only CUDA 13 states there.
    pub toolkit: Option<ToolkitVersion>,
}

/// What one tool said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolNote {
    /// Where the note is, for messages.
    pub(crate) place: crate::Place,
    pub(crate) tool: Tool,
    /// By its version text.
    pub(crate) toolkit: Option<ToolkitVersion>,
    /// From `-arch sm_121a` in its command line.
    pub(crate) arch: Option<Arch>,
}

pub(super) fn read(elf: &Elf<'_>) -> Result<Vec<ToolNote>, Error> {
    let mut notes = Vec::new();
    for description in descriptions(elf, &[NOTE_SECTION])? {
        notes.push(parse(&description)?);
    }
    Ok(notes)
}

/// What the note about target and release says. Nothing else depends on it, so a damaged one counts as none.
pub(super) fn read_cuda(elf: &Elf<'_>) -> Option<CudaNote> {
    /// The second version of the note states the release too.
    const WITH_RELEASE: u16 = 2;
    let notes = descriptions(elf, &CUDA_NOTE_SECTIONS).ok()?;
    let note = notes.last()?;
    Some(CudaNote {
        virtual_arch: note.u16(2)?,
        toolkit: note
            .u16(4)
            .filter(|_| note.u16(0) == Some(WITH_RELEASE))
            .and_then(|number| release_of(u32::from(number))),
    })
}

/// The descriptions of the notes in the sections of these names.
fn descriptions<'a>(elf: &Elf<'a>, names: &[&[u8]]) -> Result<Vec<View<'a>>, Error> {
    let mut found = Vec::new();
    for section in elf
        .sections()
        .iter()
        .filter(|section| names.contains(&section.name))
    {
        let data = elf.data(section)?;
        let mut at = 0;
        while at < data.len() {
            let header = (data.u32(at), data.u32(at + 4));
            let (Some(name_bytes), Some(description_bytes)) = header else {
                let found = format!("{:#x} bytes before the end", data.len() - at);
                return Err(data.error(at, "a note header of 12 bytes", found));
            };
            let description_at = at + 12 + u64::from(name_bytes).next_multiple_of(4);
            let description = data.range(
                at + 4,
                description_at,
                u64::from(description_bytes),
                "the description of a note",
            )?;
            found.push(description);
            at = description_at + u64::from(description_bytes).next_multiple_of(4);
        }
    }
    Ok(found)
}

/// The description: a number, then offsets of five strings (object, tool, version, build, command line) from where
/// the numbers end.
fn parse(description: &View<'_>) -> Result<ToolNote, Error> {
    const STRINGS_AT: u64 = 24;
    let string = |index: u64| {
        let offset_at = 4 + 4 * index;
        let offset: &[u8; 4] = description.array_at(offset_at, "the offset of a string")?;
        let offset = u32::from_le_bytes(*offset);
        let rest = usize::try_from(STRINGS_AT + u64::from(offset))
            .ok()
            .and_then(|at| description.bytes().get(at..));
        let text = rest.and_then(|rest| rest.get(..rest.iter().position(|&byte| byte == 0)?));
        let text = text.ok_or_else(|| {
            let expected = format!(
                "a string that ends within a note of {:#x} bytes",
                description.len()
            );
            description.error(offset_at, expected, format!("its offset as {offset:#x}"))
        })?;
        Ok(String::from_utf8_lossy(text).into_owned())
    };
    let (name, version, build, command) = (string(1)?, string(2)?, string(3)?, string(4)?);
    Ok(ToolNote {
        place: description.place(0),
        toolkit: ToolkitVersion::of_tool_text(&version),
        arch: arch_of(&command),
        tool: Tool {
            name,
            version,
            build,
            command: command.trim().to_owned(),
        },
    })
}

/// The architecture that a command line asks for, as `-arch sm_121a` or `-arch=sm_121a`.
fn arch_of(command: &str) -> Option<Arch> {
    let mut words = command.split_ascii_whitespace();
    while let Some(word) = words.next() {
        let (option, value) = word.split_once('=').unzip();
        match option.unwrap_or(word) {
            "-arch" | "--gpu-name" | "-gpu-name" => return arch_of_name(value.or_else(|| words.next())?),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::arch_of;

    #[test]
    fn command_lines_name_the_architecture_in_two_ways() {
        for (command, expected) in [
            ("-arch sm_121a -m 64 ", Some("sm_121a")),
            ("-m64 -arch=sm_100f", Some("sm_100f")),
            ("-arch", None),
            ("-m 64", None),
            ("-arch native", None),
        ] {
            let arch = arch_of(command).map(|arch| arch.to_string());
            assert_eq!(arch.as_deref(), expected, "{command}");
        }
    }
}
