//! Debian packages: an archive of tar files. Source: deb(5).

use std::borrow::Cow;

use object::read::archive::ArchiveFile;

use super::{Arrived, Level, Refusal, Walker, is_worth_reading, name_of, recognise};

/// Walks the members of the Debian package `bytes`.
pub(super) fn walk<T: Send>(
    walker: &mut Walker<'_, T>,
    bytes: &[u8],
    level: &Level,
) -> Result<&'static str, Refusal> {
    let damaged = |error: object::Error| Refusal::unreadable("an archive of tar files", error.to_string());
    let archive = ArchiveFile::parse(bytes).map_err(damaged)?;
    let mut arrived = Vec::new();
    let mut result = Ok("deb");
    for member in archive.members() {
        walker.count_entries(1)?;
        let read = member.and_then(|member| Ok((member.name(), member.data(bytes)?, member.file_range().0)));
        let (name, data, at) = match read {
            Ok(read) => read,
            Err(error) => {
                result = Err(damaged(error));
                break;
            }
        };
        let name = level.full_name(&name_of(name)?);
        arrived.push(match is_worth_reading(recognise(data)) {
            Ok(true) => Arrived::File {
                name,
                content: Cow::Borrowed(data),
            },
            Ok(false) => Arrived::Other,
            Err(refusal) => Arrived::Refused(refusal.of(&name).at(at)),
        });
    }
    walker.wave(arrived, level, |file| file);
    result
}
