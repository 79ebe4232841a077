//! Signs that a host file compiles its device code when it runs, with NVRTC.

use memchr::memmem;

use super::{Holds, Section};
use crate::error::Place;
use crate::names::clipped;

/// A sign, where it is and what it is.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    pub(super) place: Place,
    pub(super) found: String,
}

impl Evidence {
    /// The file names `what`, called `name`, of the run-time compiler.
    pub(super) fn reference(place: Place, what: &str, name: &[u8]) -> Self {
        let name = String::from_utf8_lossy(name.get(..256).unwrap_or(name)).into_owned();
        Self {
            place,
            found: format!("{what} `{}` of the run-time compiler", clipped(&name)),
        }
    }
}

/// Whether a shared library of this name is the run-time compiler: `libnvrtc.so.13`, `libnvrtc.11.dylib` with or
/// without a folder, `nvrtc64_130_0.dll`. The library of its built-in functions is not.
pub(super) fn is_library(name: &[u8]) -> bool {
    let file = name.rsplit(|&byte| matches!(byte, b'/' | b'\\')).next();
    let file = file.unwrap_or(name).to_ascii_lowercase();
    let starts = |start: &[u8]| file.starts_with(start);
    starts(b"libnvrtc.") || starts(b"nvrtc64_")
}

/// Whether a function of this name is one of the run-time compiler's: `nvrtcCompileProgram` and the like, with the
/// marks that object formats put in front.
pub(super) fn is_symbol(name: &[u8]) -> bool {
    let name = name.strip_prefix(b"__imp_").unwrap_or(name);
    let name = name.strip_prefix(b"_").unwrap_or(name);
    name.strip_prefix(b"nvrtc")
        .is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_uppercase))
}

/// CUDA source text among the data: the definition of a kernel. A linked file must also name the run-time compiler
/// there, which it then loads by name: compilers and their like hold such text for other reasons.
pub(super) fn source_text(sections: &[Section<'_>], linked: bool) -> Option<Evidence> {
    let data = || {
        sections
            .iter()
            .filter(|section| section.holds == Holds::Data)
            .filter_map(|section| section.data.as_ref().ok())
    };
    if linked && !data().any(|data| memmem::find(data.bytes(), b"nvrtcCompileProgram\0").is_some()) {
        return None;
    }
    data().find_map(|data| {
        let at = kernel_definition(data.bytes())?;
        Some(Evidence {
            place: data.place(at as u64),
            found: "CUDA source text with `__global__`, to be compiled at run time".to_owned(),
        })
    })
}

/// Where a text defines a kernel: `__global__` before its result type, which is always `void`, or after it.
fn kernel_definition(bytes: &[u8]) -> Option<usize> {
    const QUALIFIER: &[u8] = b"__global__";
    /// What may stand between the qualifier and the name.
    const FOLLOWERS: [&[u8]; 4] = [b"void", b"__launch_bounds__", b"__cluster_dims__", b"static"];
    memmem::find_iter(bytes, QUALIFIER).find(|&at| {
        let before = bytes.get(..at).unwrap_or_default().trim_ascii_end();
        let after = bytes.get(at + QUALIFIER.len()..).unwrap_or_default();
        let spaced = after.first().is_some_and(u8::is_ascii_whitespace);
        let after = after.trim_ascii_start();
        // The other order, `void __global__ name(`, is as good.
        let named = after
            .first()
            .is_some_and(|&byte| byte == b'_' || byte.is_ascii_alphabetic());
        spaced
            && (FOLLOWERS.iter().any(|word| after.starts_with(word)) || (before.ends_with(b"void") && named))
    })
}

#[cfg(test)]
mod tests {
    use super::{is_library, is_symbol, kernel_definition};

    #[test]
    fn names_of_the_run_time_compiler() {
        for name in [
            "libnvrtc.so.13",
            "@rpath/libnvrtc.10.2.dylib",
            "NVRTC64_130_0.dll",
        ] {
            assert!(is_library(name.as_bytes()), "{name}");
        }
        for name in ["libnvrtc-builtins.so.13.0", "libmynvrtc.so", "nvrtc.cfg"] {
            assert!(!is_library(name.as_bytes()), "{name}");
        }
        assert!(
            is_symbol(b"nvrtcCompileProgram")
                && is_symbol(b"__imp_nvrtcVersion")
                && is_symbol(b"_nvrtcGetPTX")
        );
        assert!(!is_symbol(b"nvrtc_helper") && !is_symbol(b"my_nvrtcVersion") && !is_symbol(b"nvrtc"));
    }

    #[test]
    fn definitions_are_told_from_mentions() {
        for text in [
            "extern \"C\" __global__ void k(float* x) {}",
            "template <class T>\n__global__\n__launch_bounds__(128) void k()",
            "void __global__ k()",
        ] {
            assert!(kernel_definition(text.as_bytes()).is_some(), "{text}");
        }
        for text in [
            "a __global__ function must return",
            "__global__",
            "__global__void",
            "the void __global__",
        ] {
            assert_eq!(kernel_definition(text.as_bytes()), None, "{text}");
        }
    }
}
