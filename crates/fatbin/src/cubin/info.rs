//! What `.nv.info` and `.nv.info.<kernel>` say of functions and kernels.

use std::collections::HashMap;

use blockgate_arch::ToolkitVersion;

use super::record::{Record, Records, Value};
use crate::elf::Symbol;
use crate::error::Error;
use crate::view::View;

/// The section about all functions.
pub(crate) const INFO_SECTION: &[u8] = b".nv.info";

/// How the names of the sections about one kernel start. The kernel's name follows.
pub(crate) const INFO_PREFIX: &[u8] = b".nv.info.";

/// The type of both.
pub(crate) const SHT_CUDA_INFO: u32 = 0x7000_0000;

/// Numbers of attributes, by their names without `EIATTR_`.
///
/// Source: names and values as `cuobjdump -elf` of CUDA 13.5 prints them.
mod attribute {
    pub(super) const MAX_THREADS: u8 = 0x05;
    pub(super) const REQNTID: u8 = 0x10;
    pub(super) const FRAME_SIZE: u8 = 0x11;
    pub(super) const MIN_STACK_SIZE: u8 = 0x12;
    pub(super) const CBANK_PARAM_SIZE: u8 = 0x19;
    pub(super) const MAXREG_COUNT: u8 = 0x1b;
    pub(super) const REGCOUNT: u8 = 0x2f;
    pub(super) const CUDA_API_VERSION: u8 = 0x37;
    pub(super) const NUM_BARRIERS: u8 = 0x4c;
    pub(super) const ANNOTATIONS: u8 = 0x55;
}

/// The only kind of annotation that was ever seen: an instruction that spills a register or brings it back.
const SPILL_REFILL: u32 = 1;

/// What `.nv.info` says of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FunctionInfo {
    pub(super) registers: Option<u32>,
    /// Bytes of local memory for the function alone.
    pub(super) frame_bytes: Option<u32>,
    /// Bytes of local memory with everything that the kernel calls.
    pub(super) stack_bytes: Option<u32>,
}

/// What `.nv.info.<kernel>` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KernelInfo {
    pub(super) max_threads: Option<[u32; 3]>,
    pub(super) exact_threads: Option<[u32; 3]>,
    pub(super) register_limit: Option<u16>,
    pub(super) parameter_bytes: Option<u16>,
    pub(super) barriers: Option<u8>,
    /// The release of the assembler. In an image that was linked, kernels may differ in it.
    pub(super) toolkit: Option<ToolkitVersion>,
    pub(super) spills: SpillList,
}

/// The instructions that spill registers to local memory, or bring them back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum SpillList {
    /// The kernel has no such list.
    #[default]
    Absent,
    /// Where they are, in bytes from the start of the kernel's code.
    At(Vec<u32>),
    /// The list has entries whose meaning is not known.
    Unknown,
}

/// Reads `.nv.info` into `functions`, by name. Where it is damaged, what was read before stays.
pub(super) fn read_functions<'a>(
    section: &View<'_>,
    symbols: &[Symbol<'a>],
    functions: &mut HashMap<&'a [u8], FunctionInfo>,
) -> Result<(), Error> {
    for record in Records::of(section) {
        let record = record?;
        let of_function = matches!(
            record.attribute,
            attribute::FRAME_SIZE | attribute::MIN_STACK_SIZE | attribute::REGCOUNT
        );
        if !of_function {
            continue;
        }
        let [symbol, number] = record
            .value
            .words_exactly()
            .ok_or_else(|| odd(section, &record, "a symbol and a number, 8 bytes"))?;
        let index = usize::try_from(symbol).unwrap_or(usize::MAX);
        let symbol = symbols.get(index).ok_or_else(|| {
            let expected = format!("a function among {} symbols", symbols.len());
            section.error(record.at, expected, format!("number {symbol}"))
        })?;
        let function = functions.entry(symbol.name).or_default();
        // Assemblers before CUDA 12.8 write a stack size twice; the later one counts what is called too.
        match record.attribute {
            attribute::FRAME_SIZE => function.frame_bytes = Some(number),
            attribute::MIN_STACK_SIZE => function.stack_bytes = Some(number),
            _ => function.registers = Some(number),
        }
    }
    Ok(())
}

/// Reads `.nv.info.<kernel>`.
pub(super) fn read_kernel(section: &View<'_>) -> Result<KernelInfo, Error> {
    let mut info = KernelInfo::default();
    for record in Records::of(section) {
        let record = record?;
        let threads = || {
            let threads = record.value.words_exactly();
            threads.ok_or_else(|| odd(section, &record, "three numbers of threads, 12 bytes"))
        };
        let half = || match record.value {
            Value::Half(half) => Ok(half),
            _ => Err(odd(section, &record, "a value of two bytes")),
        };
        match record.attribute {
            attribute::MAX_THREADS => info.max_threads = Some(threads()?),
            attribute::REQNTID => info.exact_threads = Some(threads()?),
            attribute::MAXREG_COUNT => info.register_limit = Some(half()?),
            attribute::CBANK_PARAM_SIZE => info.parameter_bytes = Some(half()?),
            attribute::NUM_BARRIERS => match record.value {
                Value::Byte(barriers) => info.barriers = Some(barriers),
                _ => return Err(odd(section, &record, "a value of one byte")),
            },
            attribute::CUDA_API_VERSION => {
                let [release] = record
                    .value
                    .words_exactly()
                    .ok_or_else(|| odd(section, &record, "a release, 4 bytes"))?;
                info.toolkit = release_of(release);
            }
            attribute::ANNOTATIONS => info.spills.extend(record.value),
            _ => {}
        }
    }
    Ok(info)
}

impl SpillList {
    /// Adds a list of pairs: what kind of annotation, and where the instruction is.
    fn extend(&mut self, value: Value<'_>) {
        let words: Vec<u32> = value.words().collect();
        let (pairs, rest) = words.as_chunks();
        let known = rest.is_empty() && pairs.iter().all(|[kind, _]| *kind == SPILL_REFILL);
        let offsets = pairs.iter().map(|[_, at]| *at);
        match self {
            _ if !known => *self = Self::Unknown,
            Self::Absent => *self = Self::At(offsets.collect()),
            Self::At(known) => known.extend(offsets),
            Self::Unknown => {}
        }
    }
}

/// A release as one number: 124 for 12.4.
pub(super) fn release_of(number: u32) -> Option<ToolkitVersion> {
    let (major, minor) = (u16::try_from(number / 10), u16::try_from(number % 10));
    Some(ToolkitVersion::new(major.ok()?, minor.ok()?)).filter(|_| (80..1000).contains(&number))
}

fn odd(section: &View<'_>, record: &Record<'_>, expected: &str) -> Error {
    let found = match record.value {
        Value::Present => "no value".to_owned(),
        Value::Byte(_) => "one byte".to_owned(),
        Value::Half(_) => "two bytes".to_owned(),
        Value::Sized(bytes) => format!("{:#x} bytes", bytes.len()),
    };
    let found = format!("{found} for attribute {:#x}", record.attribute);
    section.error(record.at, expected, found)
}

#[cfg(test)]
mod tests {
    use super::{SpillList, release_of};
    use crate::cubin::record::Value;

    #[test]
    fn only_lists_of_known_annotations_are_taken_for_spills() {
        let bytes = |words: &[u32]| {
            words
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        for (words, expected) in [
            (&[][..], SpillList::At(Vec::new())),
            (&[1, 0x200, 1, 0x210], SpillList::At(vec![0x200, 0x210])),
            (&[1, 0x200, 2, 0x210], SpillList::Unknown),
            (&[1, 0x200, 1], SpillList::Unknown),
        ] {
            let mut list = SpillList::Absent;
            list.extend(Value::Sized(&bytes(words)));
            assert_eq!(list, expected, "{words:?}");
            list.extend(Value::Sized(&bytes(&[1, 8])));
            if let SpillList::At(mut all) = expected {
                all.push(8);
                assert_eq!(list, SpillList::At(all), "{words:?}");
            }
            list.extend(Value::Sized(&bytes(&[9, 8])));
            assert_eq!(list, SpillList::Unknown, "{words:?}");
        }
    }

    #[test]
    fn releases_are_numbers() {
        let text = |number| release_of(number).map(|release| release.to_string());
        assert_eq!(text(0x7c).as_deref(), Some("12.4"));
        assert_eq!(text(0x87).as_deref(), Some("13.5"));
        assert_eq!(text(7), None);
        assert_eq!(text(u32::MAX), None);
    }
}
