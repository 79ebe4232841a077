//! `compression-driver-floor`: a compression that older drivers cannot undo.

use blockgate_fatbin::Compression;
use blockgate_findings::{RuleInfo, Severity};

use super::library::{Library, images};
use super::{Check, Hit, Needs, Rule, SINCE, Sink, page};
use crate::report::ZSTD_DRIVER_FLOOR;

pub(super) const RULE: Rule = Rule {
    info: RuleInfo {
        id: "compression-driver-floor",
        summary: "images are compressed so that older drivers cannot load them",
        severity: Some(Severity::Info),
        since: SINCE,
        page: page!("compression-driver-floor"),
    },
    needs: Needs::Headers,
    check: Check::Library(check),
};

fn check(library: &Library<'_>, sink: &mut Sink<'_>) {
    let compressed = library
        .images
        .iter()
        .filter(|image| image.compression == Compression::Zstd)
        .count();
    if compressed == 0 {
        return;
    }
    let hit = Hit::new(format!(
        "{} compressed with zstd, which needs a driver of CUDA {ZSTD_DRIVER_FLOOR} (550) or later",
        images(compressed)
    ));
    match &sink.config.driver_floor {
        Some(floor) if **floor >= ZSTD_DRIVER_FLOOR => {}
        Some(floor) => {
            let place = floor.place.clone();
            sink.report(
                hit.severity(Severity::Warning)
                    .note(format!("drivers from CUDA {} on are to load it", floor.value))
                    .demanded_at(&place),
            );
        }
        None => sink.report(hit),
    }
}

#[cfg(test)]
mod tests {
    use blockgate_fatbin::Compression;

    use super::super::testing::{check, findings, input, unit};

    /// ollama/ollama#12258.
    #[test]
    fn zstd_needs_a_newer_driver() {
        let mut library = input(&[unit("a.o", "sm_90 compute_90")]);
        assert_eq!(findings("compression-driver-floor", &library), [""; 0]);
        library.images[0].compression = Compression::Zstd;
        let message = "1 image compressed with zstd, which needs a driver of CUDA 12.4 (550) or later";
        assert_eq!(
            findings("compression-driver-floor", &library),
            [format!("info: {message}")]
        );
        for (floor, severity) in [("12.4", None), ("12.8", None), ("12.2", Some("warning"))] {
            let report = check(&library, &format!("audit: {{ driver_floor: \"{floor}\" }}"));
            let found = report
                .findings
                .iter()
                .find(|finding| finding.rule == "compression-driver-floor");
            let shown = found.map(|finding| finding.severity.to_string());
            assert_eq!(shown.as_deref(), severity, "{floor}");
        }
    }
}
