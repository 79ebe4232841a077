//! The table of sources.

/// The CMake variable that names the targets of every source, in CMake's dialect.
pub const ARCHITECTURES_VARIABLE: &str = "BLOCKGATE_CUDA_ARCHITECTURES";

/// The CMake variable that picks [`SOURCES`] (`kernels`) or [`MARKERS`] (`markers`).
pub const SOURCES_VARIABLE: &str = "BLOCKGATE_SOURCES";

/// What the CMake variable for the extra targets of one source begins with; the source's stem follows.
pub const EXTRA_ARCHITECTURES_PREFIX: &str = "BLOCKGATE_EXTRA_ARCHITECTURES_";

/// A static library that the CMake project builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Archive {
    /// What is shipped and audited.
    Kernels,
    /// The control source alone, so that it counts in no total.
    Control,
    /// The sources that show what each target's gates open.
    Markers,
}

impl Archive {
    /// The file's name in the build folder.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Kernels => "libblockgate_kernels.a",
            Self::Control => "libblockgate_control.a",
            Self::Markers => "libblockgate_markers.a",
        }
    }
}

/// The function that the two-gate marker defines under one gate and calls under another: what the compiler must miss on a
/// family target, and nothing else.
pub const HIDDEN_CONVERTER: &str = "convert_pair_in_hardware";

/// One source file of the CMake project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name, without its folder.
    pub file: &'static str,
    /// The archive that its object goes to.
    pub archive: Archive,
    /// Whether the architecture-specific pass of a target compiles it to other machine code than the plain pass,
    /// because it asks the gate for a conversion (or, for the control and the two-gate marker, a gate of its own).
    pub depends_on_gate: bool,
    /// What it is for.
    pub role: &'static str,
}

impl Source {
    /// Whether the object holds device code at all.
    #[must_use]
    pub fn is_device_code(&self) -> bool {
        self.file.ends_with(".cu")
    }

    /// The name of its member in the archive.
    #[must_use]
    pub fn member(&self) -> String {
        format!("{}.o", self.file)
    }

    /// The CMake variable for extra targets of this source; none for host code.
    #[must_use]
    pub fn extra_architectures_variable(&self) -> Option<String> {
        let stem = self.file.strip_suffix(".cu")?;
        Some(format!("{EXTRA_ARCHITECTURES_PREFIX}{stem}"))
    }
}

const fn row(file: &'static str, archive: Archive, depends_on_gate: bool, role: &'static str) -> Source {
    Source {
        file,
        archive,
        depends_on_gate,
        role,
    }
}

/// The sources of the kernels and of the control.
pub const SOURCES: &[Source] = &[
    row(
        "quantize.cu",
        Archive::Kernels,
        true,
        "quantize, quantize-dequantize and stochastic quantize; reports its own image",
    ),
    row(
        "dequantize.cu",
        Archive::Kernels,
        false,
        "block formats and affine groups to dense",
    ),
    row("qmv.cu", Archive::Kernels, false, "mat-vec with affine weights"),
    row(
        "fp_qmv.cu",
        Archive::Kernels,
        false,
        "mat-vec with block-format weights",
    ),
    row(
        "qmm.cu",
        Archive::Kernels,
        false,
        "tiled matrix product, both weight layouts",
    ),
    row(
        "scales.cu",
        Archive::Kernels,
        false,
        "tiled scale layout, and alpha and beta of qqmm",
    ),
    row(
        "status.cpp",
        Archive::Kernels,
        false,
        "statuses as text, and the last CUDA error",
    ),
    row(
        "control.cu",
        Archive::Control,
        true,
        "code that an architecture-specific pass changes, so that `nothing changed` can fail",
    ),
];

/// The marker sources.
pub const MARKERS: &[Source] = &[
    row(
        "two_gates.cu",
        Archive::Markers,
        true,
        "two gates that disagree on family targets",
    ),
    row("one_gate.cu", Archive::Markers, true, "one gate for both sides"),
    row(
        "macros.cu",
        Archive::Markers,
        true,
        "kernels named after the macros that a target defines",
    ),
];

/// The row of a file name, in [`SOURCES`] or [`MARKERS`].
#[must_use]
pub fn source(file: &str) -> Option<&'static Source> {
    SOURCES.iter().chain(MARKERS).find(|row| row.file == file)
}

#[cfg(test)]
mod tests {
    use super::{
        ARCHITECTURES_VARIABLE, Archive, EXTRA_ARCHITECTURES_PREFIX, MARKERS, SOURCES, SOURCES_VARIABLE,
        source,
    };

    const CMAKE: &str = include_str!("../CMakeLists.txt");

    /// Every source by its file name, with its text.
    const TEXTS: &[(&str, &str)] = &[
        ("quantize.cu", include_str!("quantize.cu")),
        ("dequantize.cu", include_str!("dequantize.cu")),
        ("qmv.cu", include_str!("qmv.cu")),
        ("fp_qmv.cu", include_str!("fp_qmv.cu")),
        ("qmm.cu", include_str!("qmm.cu")),
        ("scales.cu", include_str!("scales.cu")),
        ("status.cpp", include_str!("status.cpp")),
        ("control.cu", include_str!("control.cu")),
        ("two_gates.cu", include_str!("../markers/two_gates.cu")),
        ("one_gate.cu", include_str!("../markers/one_gate.cu")),
        ("macros.cu", include_str!("../markers/macros.cu")),
    ];

    #[test]
    fn the_project_builds_exactly_the_sources_of_the_table() {
        let mut in_cmake: Vec<&str> = CMAKE
            .lines()
            .map(|line| line.split('#').next().unwrap_or(line))
            .flat_map(str::split_whitespace)
            .map(|word| word.trim_end_matches(')'))
            .filter(|word| {
                let file = word.rsplit('/').next().unwrap_or(word);
                let is_source = file.ends_with(".cu") || file.ends_with(".cpp");
                is_source
                    && file
                        .chars()
                        .all(|c| c.is_ascii_lowercase() || c == '_' || c == '.')
            })
            .filter(|word| !word.contains('/') && *word != "none.cpp")
            .collect();
        let mut in_table: Vec<&str> = SOURCES.iter().chain(MARKERS).map(|row| row.file).collect();
        in_cmake.sort_unstable();
        in_table.sort_unstable();
        assert_eq!(in_cmake, in_table);
    }

    #[test]
    fn the_project_knows_the_variables_and_archives() {
        for variable in [
            ARCHITECTURES_VARIABLE,
            SOURCES_VARIABLE,
            EXTRA_ARCHITECTURES_PREFIX,
        ] {
            assert!(CMAKE.contains(variable), "{variable}");
        }
        for archive in [Archive::Kernels, Archive::Control, Archive::Markers] {
            let target = archive.file_name().strip_prefix("lib").unwrap();
            let target = target.strip_suffix(".a").unwrap();
            assert!(
                CMAKE.contains(&format!("blockgate_library({target} ")),
                "{target}"
            );
        }
    }

    #[test]
    fn only_the_gated_kernel_source_asks_for_a_gated_conversion() {
        assert_eq!(TEXTS.len(), SOURCES.len() + MARKERS.len());
        for (file, text) in TEXTS {
            let row = source(file).unwrap();
            let asks = ["BLOCKGATE_HAS_E2M1", "BLOCKGATE_SCOPE", "__CUDA_ARCH_"]
                .iter()
                .any(|word| {
                    text.lines()
                        .any(|line| !line.starts_with("//") && line.contains(word))
                });
            assert_eq!(asks, row.depends_on_gate, "{file}");
        }
    }

    #[test]
    fn no_shared_header_but_the_gate_asks_the_compiler() {
        for (file, text) in [
            ("codec.h", include_str!("codec.h")),
            ("types.cuh", include_str!("types.cuh")),
            ("matvec.cuh", include_str!("matvec.cuh")),
            ("launch.h", include_str!("launch.h")),
        ] {
            for word in ["__CUDA_ARCH_", "BLOCKGATE_HAS_E2M1", "BLOCKGATE_SCOPE"] {
                // `__CUDA_ARCH__` alone tells a device pass from the host's, which no suffix changes.
                let text = text.replace("__CUDA_ARCH__", "");
                assert!(!text.contains(word), "{file} has {word}");
            }
        }
    }

    /// An unnamed namespace is called after a hash of its file's path, even for host code, and with it the object
    /// would depend on the folder that it is built from.
    #[test]
    fn no_cuda_source_has_an_unnamed_namespace() {
        for (file, text) in TEXTS.iter().filter(|(file, _)| file.ends_with(".cu")) {
            assert!(!text.contains("namespace {"), "{file}");
        }
    }

    #[test]
    fn variables_for_extras_name_the_stem() {
        let extra = |file| source(file).unwrap().extra_architectures_variable();
        assert_eq!(
            extra("fp_qmv.cu").as_deref(),
            Some("BLOCKGATE_EXTRA_ARCHITECTURES_fp_qmv")
        );
        assert_eq!(extra("status.cpp"), None);
        assert_eq!(source("quantize.cu").unwrap().member(), "quantize.cu.o");
        assert_eq!(source("quantise.cu"), None);
    }
}
