//! `default-arch`: a library that has what the compiler makes when nobody asks for anything.

use blockgate_arch::{Arch, CodeKind, Scope, ToolkitVersion};
use blockgate_findings::{RuleInfo, Severity};

use super::library::{Library, images};
use super::{Check, Hit, Needs, Rule, SINCE, Sink, page};

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "default-arch",
        summary: "a library has the compiler's default architecture alone, as if its list had been lost",
        severity: Some(Severity::Warning),
        since: SINCE,
        page: page!("default-arch"),
    },
    needs: Needs::Headers,
    check: Check::Library(check),
};

/// What nvcc compiles for without a flag.
struct DefaultRow {
    /// The first release with this default.
    first: ToolkitVersion,
    arch: Arch,
}

/// Sources: nvcc 13.0.88 was run without a flag; for 11.0 and later the nvcc documentation of 12.x, "--gpu-architecture".
const DEFAULTS: [DefaultRow; 2] = [
    DefaultRow {
        first: ToolkitVersion::new(11, 0),
        arch: Arch::new(5, 2, Scope::Plain),
    },
    DefaultRow {
        first: ToolkitVersion::new(13, 0),
        arch: Arch::new(7, 5, Scope::Plain),
    },
];

fn check(library: &Library<'_>, sink: &mut Sink<'_>) {
    let targets = library.targets();
    let [(cubin, count), (ptx, _)] = targets.as_slice() else {
        return;
    };
    if (cubin.kind, ptx.kind) != (CodeKind::Cubin, CodeKind::Ptx) || cubin.arch != ptx.arch {
        return;
    }
    let toolkit = library.images.iter().find_map(|image| image.toolkit);
    // Old toolkits, and listings, do not say which toolkit it was; then any default will do.
    let default = DEFAULTS.iter().rev().find(|row| match toolkit {
        Some(toolkit) => row.first <= toolkit,
        None => row.arch == cubin.arch,
    });
    if default.is_none_or(|row| row.arch != cubin.arch) {
        return;
    }
    if let Some(reason) = library.incomplete() {
        sink.not_checked(reason);
        return;
    }
    let by = toolkit.map_or_else(String::new, |toolkit| format!(" of CUDA {}", toolkit.release()));
    sink.report(
        Hit::new(format!(
            "{} for {cubin} with PTX and nothing else: the default{by} when no architecture is given",
            images(*count)
        ))
        .arch(cubin.arch)
        .note("a variable that the build does not read, or an unquoted list in CMake, loses the list without an error"),
    );
}

#[cfg(test)]
mod tests {
    use blockgate_arch::ToolkitVersion;

    use super::super::testing::{findings, input, unit};

    /// mit-han-lab/fouroversix#33 and spiriMirror/libuipc#490.
    #[test]
    fn the_default_alone_looks_like_a_lost_list() {
        let found = |targets: &str, toolkit: Option<ToolkitVersion>| {
            let mut library = input(&[unit("a.o", targets)]);
            for image in &mut library.images {
                image.toolkit = toolkit;
            }
            findings("default-arch", &library).len()
        };
        let (v12, v13) = (ToolkitVersion::new(12, 4), ToolkitVersion::new(13, 0));
        assert_eq!(found("sm_75 compute_75", Some(v13)), 1);
        assert_eq!(found("sm_75 compute_75", None), 1);
        assert_eq!(found("sm_52 compute_52", Some(v12)), 1);
        // With 12.x somebody asked for 7.5, and the others were asked for by anyone.
        assert_eq!(found("sm_75 compute_75", Some(v12)), 0);
        assert_eq!(found("sm_75", Some(v13)), 0);
        assert_eq!(found("sm_75 sm_80 compute_75", Some(v13)), 0);
        assert_eq!(found("sm_121 compute_121", Some(v13)), 0);
    }
}
