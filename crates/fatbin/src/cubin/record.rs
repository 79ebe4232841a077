//! The lists of attribute records that `.nv.info`, `.nv.info.<kernel>` and `.nv.compat` are made of.
//!
//! Source: `cuobjdump -elf` of CUDA 13.5 (which prints format, name and value of each) over cubins of CUDA 12.4 to 13.5.

use crate::error::Error;
use crate::view::View;

/// One attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// Where it starts in the section.
    pub(super) at: u64,
    pub(super) attribute: u8,
    pub(super) value: Value<'a>,
}

/// What an attribute says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// Format 1: that it is there is all it says.
    Present,
    /// Format 2: one byte and one of padding.
    Byte(u8),
    /// Format 3.
    Half(u16),
    /// Format 4: a 16-bit size and that many bytes.
    Sized(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The value as numbers of 32 bits; bytes behind the last whole one are left out.
    pub(super) fn words(self) -> impl Iterator<Item = u32> {
        let bytes = match self {
            Self::Sized(bytes) => bytes,
            _ => &[],
        };
        bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word))
    }

    /// The value as exactly `N` numbers of 32 bits.
    pub(super) fn words_exactly<const N: usize>(self) -> Option<[u32; N]> {
        let mut words = self.words();
        let mut found = [0; N];
        for word in &mut found {
            *word = words.next()?;
        }
        matches!(self, Self::Sized(bytes) if bytes.len() == 4 * N).then_some(found)
    }
}

/// Walks over the records of a section. Each takes four bytes at least, so that the walk ends.
pub(super) struct Records<'v, 'a> {
    section: &'v View<'a>,
    at: u64,
}

impl<'v, 'a> Records<'v, 'a> {
    pub(super) fn of(section: &'v View<'a>) -> Self {
        Self { section, at: 0 }
    }

    fn read(&self) -> Result<(Record<'a>, u64), Error> {
        const HEADER_BYTES: u64 = 4;
        let at = self.at;
        let header: &[u8; 4] = self.section.array_at(at, "an attribute record")?;
        let &[format, attribute, low, high] = header;
        let half = u16::from_le_bytes([low, high]);
        let mut size = HEADER_BYTES;
        let value = match format {
            1 => Value::Present,
            2 => Value::Byte(low),
            3 => Value::Half(half),
            4 => {
                size += u64::from(half);
                let what = format_args!("the value of attribute {attribute:#x}");
                let value = self.section.range(at, at + HEADER_BYTES, u64::from(half), what)?;
                Value::Sized(value.bytes())
            }
            _ => {
                let expected = "an attribute record of format 1 to 4";
                let found = format!("format {format}, attribute {attribute}");
                return Err(self.section.error(at, expected, found));
            }
        };
        let record = Record { at, attribute, value };
        Ok((record, at + size))
    }
}

impl<'a> Iterator for Records<'_, 'a> {
    type Item = Result<Record<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.section.len() {
            return None;
        }
        match self.read() {
            Ok((record, next)) => {
                self.at = next;
                Some(Ok(record))
            }
            Err(error) => {
                // What follows a damaged record cannot be found.
                self.at = self.section.len();
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Records, Value};
    use crate::view::View;

    fn read(bytes: &[u8]) -> Vec<Result<(u8, Value<'_>), String>> {
        let view = View::new(bytes, None, 0x100);
        let records = Records::of(&view);
        records
            .map(|record| {
                record
                    .map(|record| (record.attribute, record.value))
                    .map_err(|error| error.to_string())
            })
            .collect()
    }

    #[test]
    fn every_format_is_read() {
        let bytes = [
            1, 0x2a, 0, 0, 2, 0x4c, 6, 0, 3, 0x1b, 0x28, 0, 4, 0x2f, 8, 0, 6, 0, 0, 0, 40, 0, 0, 0,
        ];
        let records = read(&bytes);
        assert_eq!(
            records[..3],
            [
                Ok((0x2a, Value::Present)),
                Ok((0x4c, Value::Byte(6))),
                Ok((0x1b, Value::Half(0x28))),
            ]
        );
        let last = records[3].clone().unwrap().1;
        assert_eq!(last.words_exactly(), Some([6, 40]));
        assert_eq!(last.words_exactly::<1>(), None);
        assert_eq!(last.words_exactly::<3>(), None);
    }

    #[test]
    fn a_damaged_record_ends_the_list() {
        for (bytes, expected) in [
            (
                &[9, 1, 0, 0, 1, 1, 0, 0][..],
                "at 0x100: expected an attribute record of format 1 to 4, found format 9, attribute 1",
            ),
            (
                &[4, 5, 12, 0, 1],
                "at 0x100: expected the value of attribute 0x5 within 0x5 bytes, found 0xc bytes from 0x4",
            ),
            (
                &[3, 5],
                "at 0x100: expected an attribute record of 0x4 bytes, found 0x2 bytes before the end",
            ),
        ] {
            assert_eq!(read(bytes), [Err(expected.to_owned())]);
        }
    }
}
