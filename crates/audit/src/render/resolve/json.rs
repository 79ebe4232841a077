//! Schema `blockgate.resolve/1`.
//!
//! As with the audit's schema, a field may be added; none is renamed or removed without a new schema number.

use std::collections::BTreeMap;
use std::io::{self, Write};

use blockgate_arch::CodeKind;
use blockgate_findings::render::json::JsonFinding;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::resolve::{
    DeviceResolution, Library, Module, Resolution, Summary, Taken, TakenRow, Tally, TensorCode, Verdict,
    advice,
};

/// Writes `resolution` as schema `blockgate.resolve/1`. With `kernels` every module is listed for every device, else only
/// those that need attention.
pub fn resolve_json(out: &mut dyn Write, resolution: &Resolution<'_>, kernels: bool) -> io::Result<()> {
    let document = JsonResolution {
        schema: "blockgate.resolve/1",
        driver: resolution.driver.map(|driver| driver.to_string()),
        libraries: resolution
            .libraries
            .iter()
            .map(|library| JsonLibrary::of(library, resolution, kernels))
            .collect(),
        findings: resolution.findings.iter().map(JsonFinding::from).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// The JSON Schema of what [`resolve_json`] writes.
pub fn resolve_json_schema() -> Schema {
    schemars::schema_for!(JsonResolution<'_>)
}

#[derive(Serialize, JsonSchema)]
#[schemars(title = "blockgate.resolve/1")]
struct JsonResolution<'a> {
    schema: &'static str,
    /// The CUDA release of the driver; null for one that is new enough for everything.
    driver: Option<String>,
    libraries: Vec<JsonLibrary<'a>>,
    findings: Vec<JsonFinding<'a>>,
}

/// What loads or links as a whole.
#[derive(Serialize, JsonSchema)]
struct JsonLibrary<'a> {
    path: &'a str,
    /// The file of the package or folder; null where the input is itself the file.
    file: Option<&'a str>,
    /// Modules with kernels.
    modules: u64,
    kernels: u64,
    modules_without_kernels: u64,
    /// Modules whose kernels are not known: LTO-IR, unknown kinds.
    opaque_modules: u64,
    relocatable_images: u64,
    /// The compute capability that every image is for alone, where that is so and no PTX serves another.
    only_device: Option<String>,
    devices: Vec<JsonDevice<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct JsonDevice<'a> {
    /// The product, where it was asked for by name.
    name: Option<&'static str>,
    capability: String,
    /// Whether every kernel finds an image.
    complete: bool,
    takes: Vec<JsonTaken>,
    no_image: JsonTally,
    /// Images that would give the device one.
    would_do: Vec<String>,
    /// Why the driver does not run the device, where that is so.
    driver_problem: Option<String>,
    /// Modules whose machine code is of a later CUDA major release than the driver's.
    later_major: JsonTally,
    /// Those modules that need attention; all where kernels were asked for.
    module_rows: Vec<JsonModule<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct JsonTally {
    modules: u64,
    kernels: u64,
}

/// Modules that take the same kind of image.
#[derive(Serialize, JsonSchema)]
struct JsonTaken {
    image: String,
    by: &'static str,
    modules: u64,
    kernels: u64,
    code: Option<JsonCode>,
    /// The oldest driver that takes them all, by its CUDA release, as far as compression and PTX decide it.
    driver_floor: Option<String>,
}

/// What the machine code has; null for PTX.
#[derive(Serialize, JsonSchema)]
struct JsonCode {
    e2m1_conversions: u64,
    mma: BTreeMap<&'static str, u64>,
    /// Images whose instructions are not known by name, which no count includes.
    unknown_images: u64,
}

#[derive(Serialize, JsonSchema)]
struct JsonModule<'a> {
    member: Option<&'a str>,
    section: Option<&'a str>,
    region: u32,
    kernels: &'a [&'a str],
    /// The image that is taken, by its header; null where none is.
    image: Option<String>,
    offset: Option<u64>,
    /// What the code is for, where the header says otherwise, and whether that loads.
    contradiction: Option<JsonContradiction>,
    /// Images of which NVIDIA does not document whether one of them is taken instead.
    not_documented: Vec<JsonRival>,
    /// Images that could not be looked into, one of which may be taken instead.
    unknown_images: u64,
    /// Kernels that the image lacks.
    missing: &'a [&'a str],
    /// Where none is taken: why not each.
    excluded: Vec<JsonExcluded>,
}

#[derive(Serialize, JsonSchema)]
struct JsonContradiction {
    code: String,
    loads: bool,
}

#[derive(Serialize, JsonSchema)]
struct JsonRival {
    image: String,
    offset: u64,
}

#[derive(Serialize, JsonSchema)]
struct JsonExcluded {
    image: String,
    offset: u64,
    reason: String,
}

impl<'a> JsonLibrary<'a> {
    fn of(library: &'a Library<'a>, resolution: &'a Resolution<'a>, kernels: bool) -> Self {
        Self {
            path: library.path,
            file: library.file,
            modules: library.modules.len() as u64,
            kernels: library.kernel_count(),
            modules_without_kernels: library.modules_without_kernels,
            opaque_modules: library.opaque_modules,
            relocatable_images: library.relocatable_images,
            only_device: library.only_device().map(|device| device.to_string()),
            devices: library
                .devices
                .iter()
                .map(|device| JsonDevice::of(library, device, resolution, kernels))
                .collect(),
        }
    }
}

impl<'a> JsonDevice<'a> {
    fn of(
        library: &'a Library<'a>,
        device: &'a DeviceResolution<'a>,
        resolution: &'a Resolution<'a>,
        kernels: bool,
    ) -> Self {
        let summary = Summary::of(library, device, resolution.driver);
        let rows = library.modules.iter().zip(&device.verdicts);
        Self {
            name: device.device.row.map(|row| row.name),
            capability: device.device.device.to_string(),
            complete: !device.verdicts.iter().any(Verdict::fails),
            takes: summary.taken.iter().map(JsonTaken::of).collect(),
            no_image: JsonTally::of(summary.no_image),
            would_do: if summary.no_image == Tally::default() || device.driver_problem.is_some() {
                Vec::new()
            } else {
                let images = advice(device.device.device);
                images.iter().map(ToString::to_string).collect()
            },
            driver_problem: device.driver_problem.map(|problem| problem.to_string()),
            later_major: JsonTally::of(summary.newer_major),
            module_rows: rows
                .filter(|(_, verdict)| kernels || needs_attention(verdict))
                .map(|(module, verdict)| JsonModule::of(module, verdict))
                .collect(),
        }
    }
}

fn needs_attention(verdict: &Verdict<'_>) -> bool {
    verdict.fails()
        || verdict.is_doubtful()
        || matches!(verdict, Verdict::Taken(taken) if !taken.rivals.is_empty() || taken.contradiction.is_some())
}

impl JsonTally {
    fn of(tally: Tally) -> Self {
        Self {
            modules: tally.modules,
            kernels: tally.kernels,
        }
    }
}

impl JsonTaken {
    fn of(row: &TakenRow) -> Self {
        let is_machine_code = row.target.kind == CodeKind::Cubin;
        Self {
            image: row.target.to_string(),
            by: if is_machine_code { "machine-code" } else { "jit" },
            modules: row.tally.modules,
            kernels: row.tally.kernels,
            code: is_machine_code.then(|| JsonCode::of(&row.code)),
            driver_floor: row.driver_floor.map(|floor| floor.to_string()),
        }
    }
}

impl JsonCode {
    fn of(code: &TensorCode) -> Self {
        Self {
            e2m1_conversions: code.e2m1_conversions,
            mma: code.mma.iter().copied().collect(),
            unknown_images: code.unknown_images,
        }
    }
}

impl<'a> JsonModule<'a> {
    fn of(module: &'a Module<'a>, verdict: &'a Verdict<'a>) -> Self {
        let row = Self {
            member: module.member,
            section: module.section,
            region: module.region,
            kernels: &module.kernels,
            image: None,
            offset: None,
            contradiction: None,
            not_documented: Vec::new(),
            unknown_images: 0,
            missing: &[],
            excluded: Vec::new(),
        };
        match verdict {
            Verdict::Taken(taken) => row.with(taken),
            Verdict::NoImage { excluded } => Self {
                excluded: excluded
                    .iter()
                    .map(|row| JsonExcluded {
                        image: row
                            .target
                            .map_or_else(|| row.image.kind.as_str().to_owned(), |target| target.to_string()),
                        offset: row.image.offset_bytes,
                        reason: row.reason.to_string(),
                    })
                    .collect(),
                ..row
            },
        }
    }

    fn with(self, taken: &'a Taken<'a>) -> Self {
        Self {
            image: Some(taken.target.to_string()),
            offset: Some(taken.image.offset_bytes),
            contradiction: taken.contradiction.map(|arch| JsonContradiction {
                code: arch.to_string(),
                loads: taken.code_loads,
            }),
            not_documented: taken
                .rivals
                .iter()
                .map(|rival| JsonRival {
                    image: rival.target.to_string(),
                    offset: rival.image.offset_bytes,
                })
                .collect(),
            unknown_images: taken.unknown_images,
            missing: &taken.missing,
            ..self
        }
    }
}
