//! What each defect means, for documentation and for those who turn defects into findings.

/// A kind of defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefectRule {
    /// The id, as in [`Defect::rule`](crate::Defect::rule).
    pub id: &'static str,
    /// What such a defect means.
    pub meaning: &'static str,
}

const fn rule(id: &'static str, meaning: &'static str) -> DefectRule {
    DefectRule { id, meaning }
}

/// Every kind of defect, sorted by id.
pub const DEFECT_RULES: [DefectRule; 42] = [
    rule(
        "arch-disagreement",
        "entry header or note and content name different architecture numbers",
    ),
    rule(
        "archive-cut",
        "an archive ends inside a member or a member header",
    ),
    rule(
        "archive-member-header",
        "a member header is no member header, so later members cannot be found",
    ),
    rule(
        "archive-member-name",
        "a member's name is not where its header says",
    ),
    rule(
        "compiled-at-run-time",
        "a host file without device code has CUDA source text, or names NVRTC, which compiles such text",
    ),
    rule(
        "concat-table",
        "the table of images in a concat container contradicts its header",
    ),
    rule(
        "data-section-out-of-file",
        "a section of a host file's data, in which device code may lie, lies outside the file",
    ),
    rule(
        "device-section-out-of-file",
        "a device section lies outside the file, or says that it has no content there",
    ),
    rule(
        "device-section-type",
        "a device section has another type than compilers give it, and was read all the same",
    ),
    rule("entry-alignment", "a payload size is not a multiple of 8"),
    rule(
        "entry-cut",
        "an entry is larger than what is left of the file or section",
    ),
    rule(
        "entry-extra",
        "the optional data of an entry header lies outside it, and was not read",
    ),
    rule(
        "entry-flags",
        "an entry is marked both architecture-specific and family-specific",
    ),
    rule(
        "entry-header-size",
        "the size of an entry header is impossible, so later entries cannot be found",
    ),
    rule(
        "entry-ident",
        "the source name in an entry header lies outside it, and was not read",
    ),
    rule(
        "entry-past-region",
        "an entry ends behind its region; an error where that could hide a region",
    ),
    rule(
        "entry-version",
        "an entry has another version than all known toolkits write",
    ),
    rule(
        "garbage-between-regions",
        "bytes that are no region and no padding, behind which nothing can be found",
    ),
    rule("limit-images", "more images than the limit allows"),
    rule("limit-members", "more archive members than the limit allows"),
    rule("limit-regions", "more regions than the limit allows"),
    rule(
        "limit-search",
        "so many places in a data section start like device code and are none that the search ended early",
    ),
    rule(
        "member-of-other-kind",
        "an archive member that is text or empty, and so holds no device code",
    ),
    rule(
        "missing-regions",
        "a program registers more regions than were found in it",
    ),
    rule(
        "near-miss",
        "data of a program start like a region or a cubin, but do not go on like one, and were not taken for device code",
    ),
    rule(
        "no-section-table",
        "a host file has no section table, so device code was searched for in its segments",
    ),
    rule(
        "partial-instruction",
        "the size of a code section is not a multiple of the instruction size",
    ),
    rule(
        "plain-or-family",
        "a cubin alone, without a note, may be for a family as well as plain",
    ),
    rule(
        "ptx-repeated-directive",
        "PTX has two `.version` or `.target` directives, which assemblers refuse",
    ),
    rule(
        "ptx-version-disagreement",
        "entry header and PTX text name different PTX versions",
    ),
    rule(
        "region-cut",
        "a region is larger than what is left of the file or section",
    ),
    rule(
        "region-header-size",
        "a region header has another size than 16; below that nothing can be found",
    ),
    rule(
        "region-version",
        "a region has another version than all known toolkits write",
    ),
    rule(
        "suffix-disagreement",
        "entry header, content and note agree on the number but not on the suffix",
    ),
    rule(
        "too-many-defects",
        "more defects than the limit allows; errors may be among those left out",
    ),
    rule(
        "unknown-opcodes",
        "instructions of an unknown architecture are counted without names",
    ),
    rule(
        "unread-packaging",
        "a section holds device code in a packaging that is not read",
    ),
    rule(
        "unreadable-image",
        "an image cannot be decoded or read; for those who make a defect of that error",
    ),
    rule(
        "unreadable-kernel-info",
        "what a cubin says of its kernels' registers and memory is damaged, and not known for those that follow",
    ),
    rule(
        "unreadable-member",
        "an archive member that may hold device code, such as a compressed file, cannot be read",
    ),
    rule(
        "unreadable-note",
        "the note that tells family from plain is damaged",
    ),
    rule(
        "unreadable-symbols",
        "the symbols that tell kernels from functions are damaged",
    ),
];

#[cfg(test)]
mod tests {
    use super::DEFECT_RULES;

    #[test]
    fn rules_are_sorted_and_in_kebab_case() {
        let ids = DEFECT_RULES.map(|rule| rule.id);
        assert!(ids.is_sorted());
        assert!(
            ids.iter()
                .all(|id| id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
        );
    }
}
