//! The note in which the tools that wrote a cubin leave their version and command line.

use blockgate_arch::{Arch, ToolkitVersion};

use crate::elf::Elf;
use crate::error::Error;
use crate::ptx::arch_of_name;
use crate::view::View;

pub(crate) const NOTE_SECTION: &[u8] = b".note.nv.tkinfo";

/// What one tool said.
///
/// Source: `ptxas` and `nvlink` of CUDA 12.8 (from sm_100 on) and 13.0 to 13.5 (always).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolNote {
    /// Where the note is, for messages.
    pub(crate) place: crate::Place,
    /// `ptxas` or `nvlink`.
    pub(crate) tool: String,
    /// From `Cuda compilation tools, release 13.0, V13.0.88`.
    pub(crate) toolkit: Option<ToolkitVersion>,
    /// The command line, without the program.
    pub(crate) command: String,
    /// From `-arch sm_121a` in it.
    pub(crate) arch: Option<Arch>,
}

pub(super) fn read(elf: &Elf<'_>) -> Result<Vec<ToolNote>, Error> {
    let mut notes = Vec::new();
    for section in elf
        .sections()
        .iter()
        .filter(|section| section.name == NOTE_SECTION)
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
            notes.push(parse(&description)?);
            at = description_at + u64::from(description_bytes).next_multiple_of(4);
        }
    }
    Ok(notes)
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
    let (tool, version, command) = (string(1)?, string(2)?, string(4)?);
    Ok(ToolNote {
        place: description.place(0),
        tool,
        toolkit: ToolkitVersion::of_tool_text(&version),
        arch: arch_of(&command),
        command: command.trim().to_owned(),
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
