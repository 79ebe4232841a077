//! Archives of the GNU and the BSD kind, and thin ones.

use super::{WriteError, field};

/// How an archive keeps the names of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemberNames {
    /// Short names in the member headers, long ones in a table that is the first member.
    Gnu,
    /// Each name in front of the member's content.
    Bsd,
}

/// Builds an archive.
///
/// ```
/// use blockgate_fatbin::write::{Archive, MemberNames, Region};
/// use blockgate_fatbin::{Limits, read};
///
/// let region = Region::new().build()?;
/// let archive = Archive::new(MemberNames::Gnu).member("a_name_of_some_length.fatbin", region).build()?;
/// let artifact = read(&archive, &Limits::default())?;
/// assert_eq!(artifact.members[0].name.as_deref(), Some("a_name_of_some_length.fatbin"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Archive {
    names: MemberNames,
    thin: bool,
    members: Vec<(String, Vec<u8>)>,
}

const MAGIC: &[u8; 8] = b"!<arch>\n";
const THIN_MAGIC: &[u8; 8] = b"!<thin>\n";

/// The longest name that stands in a GNU member header, with the slash that ends it.
const SHORT_NAME_BYTES: usize = 16;

impl Archive {
    /// An archive without members.
    pub fn new(names: MemberNames) -> Self {
        Self {
            names,
            thin: false,
            members: Vec::new(),
        }
    }

    /// A thin archive without members: it names files that lie elsewhere.
    pub fn thin() -> Self {
        Self {
            thin: true,
            ..Self::new(MemberNames::Gnu)
        }
    }

    /// Adds a member. Of a thin archive's only the size is written; its name is a path.
    #[must_use]
    pub fn member(mut self, name: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        self.members.push((name.into(), content.into()));
        self
    }

    /// The archive.
    ///
    /// # Errors
    /// When a member or the name table has more bytes than ten digits can say.
    pub fn build(&self) -> Result<Vec<u8>, WriteError> {
        let mut archive = if self.thin { THIN_MAGIC } else { MAGIC }.to_vec();
        let mut table = Vec::new();
        let mut short = Vec::new();
        for (name, _) in &self.members {
            let fits = !self.thin && name.len() < SHORT_NAME_BYTES && !name.contains(['/', ' ']);
            short.push(if self.names == MemberNames::Bsd {
                format!("#1/{}", bsd_name(name).len())
            } else if fits {
                format!("{name}/")
            } else {
                let at = table.len();
                table.extend(name.bytes().chain(*b"/\n"));
                format!("/{at}")
            });
        }
        if !table.is_empty() {
            header(&mut archive, "//", table.len())?;
            append(&mut archive, &table);
        }
        for ((name, content), short) in self.members.iter().zip(short) {
            if self.names == MemberNames::Bsd {
                let mut named = bsd_name(name);
                named.extend(content);
                header(&mut archive, &short, named.len())?;
                append(&mut archive, &named);
            } else {
                header(&mut archive, &short, content.len())?;
                if !self.thin {
                    append(&mut archive, content);
                }
            }
        }
        Ok(archive)
    }
}

/// A name as it stands in front of the content: NULs make its size a multiple of eight.
fn bsd_name(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    super::pad(&mut bytes, 8);
    bytes
}

/// A member header: name, time, owner, group, mode and size in text, then the two bytes that end it.
fn header(archive: &mut Vec<u8>, name: &str, size: usize) -> Result<(), WriteError> {
    const MAX_SIZE: u64 = 9_999_999_999;
    let size = size as u64;
    if size > MAX_SIZE {
        // Ten digits hold a little more than 33 bits.
        return field::<u32>("an archive member", size).map(drop);
    }
    archive.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).bytes());
    Ok(())
}

/// Members start at even offsets.
fn append(archive: &mut Vec<u8>, content: &[u8]) {
    archive.extend(content);
    if !content.len().is_multiple_of(2) {
        archive.push(b'\n');
    }
}
