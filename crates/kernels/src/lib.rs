//! The CUDA sources and their kernels as data: what is built from what, and what each kernel converts with.
//!
//! The sources are beside this file, their C interface is in `include/`. A build reads the table of [`SOURCES`] to know
//! which object belongs to which archive; an audit asks [`kernel`] what the machine code of a kernel has to show.
#![forbid(unsafe_code)]

mod kernel;
mod source;

pub use kernel::{Conversion, FAMILIES, Family, Kernel, kernel, kernels};
pub use source::{
    ARCHITECTURES_VARIABLE, Archive, EXTRA_ARCHITECTURES_PREFIX, HIDDEN_CONVERTER, MARKERS, SOURCES,
    SOURCES_VARIABLE, Source, source,
};
