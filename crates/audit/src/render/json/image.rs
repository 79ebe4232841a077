//! What an image, its kernels and the programs that made it look like in schema `blockgate.audit/1`.

use std::collections::BTreeMap;

use blockgate_fatbin::{ConstantBank, CudaNote, ModuleResources, PtxFacts, Spills, Tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Mnemonics, shown};
use crate::render::demangle::demangled;
use crate::report::{KernelReport, PtxTextCount};

/// A program that wrote a cubin, as its note has it.
#[derive(Serialize, JsonSchema)]
pub(super) struct JsonTool<'a> {
    name: &'a str,
    version: &'a str,
    build: &'a str,
    /// Its command line, without the program.
    command: &'a str,
}

impl<'a> From<&'a Tool> for JsonTool<'a> {
    fn from(tool: &'a Tool) -> Self {
        Self {
            name: &tool.name,
            version: &tool.version,
            build: &tool.build,
            command: &tool.command,
        }
    }
}

/// What a cubin's note says of its target and release.
#[derive(Serialize, JsonSchema)]
pub(super) struct JsonCudaNote {
    /// The virtual architecture that it was compiled from, without suffix.
    virtual_arch: String,
    toolkit: Option<String>,
}

impl From<CudaNote> for JsonCudaNote {
    fn from(note: CudaNote) -> Self {
        Self {
            virtual_arch: format!("compute_{}", note.virtual_arch),
            toolkit: note.toolkit.map(|toolkit| toolkit.to_string()),
        }
    }
}

/// What PTX says of itself.
#[derive(Serialize, JsonSchema)]
pub(super) struct JsonPtx<'a> {
    /// PTX ISA version.
    version: String,
    target: &'a str,
    target_options: &'a [String],
    /// Bits of an address; null where there is no `.address_size`, which means 32.
    address_size: Option<u16>,
    /// Kernels, with `--kernels`.
    entries: Vec<JsonEntry<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct JsonEntry<'a> {
    name: &'a str,
    /// The name as a person wrote it; null where it is the same, or cannot be told.
    demangled: Option<String>,
}

impl<'a> From<&'a PtxFacts> for JsonPtx<'a> {
    fn from(ptx: &'a PtxFacts) -> Self {
        let entries = ptx.entries.iter().map(|name| JsonEntry {
            name,
            demangled: demangled_if_other(name),
        });
        Self {
            version: format!("{}.{}", ptx.version.0, ptx.version.1),
            target: &ptx.target,
            target_options: &ptx.target_options,
            address_size: ptx.address_size_bits,
            entries: entries.collect(),
        }
    }
}

/// Places in PTX text by pattern; null where a text could not be searched.
pub(super) fn ptx_text(counts: &[PtxTextCount]) -> BTreeMap<String, Option<u64>> {
    let rows = counts.iter().map(|row| (row.pattern.to_string(), row.count));
    rows.collect()
}

/// What a cubin takes for all its kernels together. Sizes are in bytes.
#[derive(Serialize, JsonSchema)]
pub(super) struct JsonModule {
    /// Global variables.
    global: u64,
    /// Constant banks that all kernels see, by number.
    constants: BTreeMap<u8, u64>,
}

impl From<&ModuleResources> for JsonModule {
    fn from(module: &ModuleResources) -> Self {
        Self {
            global: module.global_bytes,
            constants: banks(&module.constants),
        }
    }
}

/// One code section of a cubin. Sizes are in bytes; null is what the cubin does not say.
#[derive(Serialize, JsonSchema)]
pub(in crate::render) struct JsonKernel<'a> {
    name: &'a str,
    /// The name as a person wrote it; null where it is the same, or cannot be told.
    demangled: Option<String>,
    /// Whether a host can launch it.
    entry: bool,
    code_size: u64,
    instructions: Option<u64>,
    registers: Option<u32>,
    /// The most registers that the assembler was allowed to use; 255 where there was no limit.
    register_limit: Option<u16>,
    /// The largest block that may be launched.
    max_threads: Option<[u32; 3]>,
    /// The only block that may be launched.
    exact_threads: Option<[u32; 3]>,
    /// Named barriers.
    barriers: Option<u32>,
    /// Shared memory of a block, with what the system keeps of it from sm_90 on.
    shared: Option<u64>,
    /// Shared memory that the kernel declares.
    static_shared: Option<u64>,
    /// Local memory of a thread for this function alone.
    frame: Option<u32>,
    /// Local memory of a thread with everything that is called.
    stack: Option<u32>,
    /// The section `.nv.local`, which present assemblers do not use.
    local: Option<u64>,
    /// Constant banks of this kernel, by number.
    constants: BTreeMap<u8, u64>,
    /// Launch parameters, a part of constant bank 0.
    parameters: Option<u16>,
    /// Instructions that load from local memory, for spilled registers and arrays alike.
    local_loads: Option<u64>,
    /// Instructions that store to local memory, likewise.
    local_stores: Option<u64>,
    /// Spilled registers, as the assembler listed them (since CUDA 12.8); null where it did not, which is not none.
    spills: Option<JsonSpills>,
    sass: BTreeMap<String, u64>,
}

/// Spilled registers: how many instructions, and how many bytes these move.
#[derive(Serialize, JsonSchema)]
struct JsonSpills {
    instructions: u64,
    /// To local memory.
    store_bytes: u64,
    /// From local memory.
    load_bytes: u64,
    /// To shared memory.
    shared_store_bytes: u64,
    /// From shared memory.
    shared_load_bytes: u64,
}

impl From<Spills> for JsonSpills {
    fn from(spills: Spills) -> Self {
        let Spills {
            instructions,
            store_bytes,
            load_bytes,
            shared_store_bytes,
            shared_load_bytes,
        } = spills;
        Self {
            instructions,
            store_bytes,
            load_bytes,
            shared_store_bytes,
            shared_load_bytes,
        }
    }
}

impl<'a> JsonKernel<'a> {
    pub(super) fn of(kernel: &'a KernelReport, mnemonics: &Mnemonics) -> Self {
        let resources = kernel.resources.as_ref();
        Self {
            name: &kernel.name,
            demangled: demangled_if_other(&kernel.name),
            entry: kernel.is_entry,
            code_size: kernel.code_bytes,
            instructions: kernel.instructions,
            registers: resources.and_then(|all| all.registers),
            register_limit: resources.and_then(|all| all.register_limit),
            max_threads: resources.and_then(|all| all.max_threads),
            exact_threads: resources.and_then(|all| all.exact_threads),
            barriers: resources.and_then(|all| all.barriers),
            shared: resources.map(|all| all.shared_bytes),
            static_shared: resources.map(|all| all.static_shared_bytes),
            frame: resources.and_then(|all| all.frame_bytes),
            stack: resources.and_then(|all| all.stack_bytes),
            local: resources.map(|all| all.local_bytes),
            constants: resources.map_or_else(BTreeMap::new, |all| banks(&all.constants)),
            parameters: resources.and_then(|all| all.parameter_bytes),
            local_loads: resources.and_then(|all| all.local_loads),
            local_stores: resources.and_then(|all| all.local_stores),
            spills: resources.and_then(|all| all.spills).map(JsonSpills::from),
            sass: shown(&kernel.sass, mnemonics),
        }
    }
}

fn banks(banks: &[ConstantBank]) -> BTreeMap<u8, u64> {
    banks.iter().map(|bank| (bank.bank, bank.bytes)).collect()
}

fn demangled_if_other(name: &str) -> Option<String> {
    Some(demangled(name)).filter(|text| text != name)
}
