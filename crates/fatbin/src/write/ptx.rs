//! PTX text: a header and empty kernels.

use std::fmt::Write as _;

use blockgate_arch::Arch;

/// Builds PTX text.
///
/// ```
/// use blockgate_arch::{Arch, Scope};
/// use blockgate_fatbin::write::Ptx;
///
/// let text = Ptx::new(Arch::new(9, 0, Scope::Specific), (8, 4)).kernel("scale").text();
/// assert!(text.starts_with("\n.version 8.4\n.target sm_90a\n"));
/// ```
#[derive(Clone, Debug)]
pub struct Ptx {
    arch: Arch,
    version: (u16, u16),
    kernels: Vec<(String, String)>,
}

impl Ptx {
    /// A module for `arch`, in this version of the PTX ISA, major and minor.
    pub fn new(arch: Arch, version: (u16, u16)) -> Self {
        Self {
            arch,
            version,
            kernels: Vec::new(),
        }
    }

    /// Adds a kernel that does nothing. Its name is taken as it is.
    #[must_use]
    pub fn kernel(self, name: impl Into<String>) -> Self {
        self.kernel_with(name, "\tret;\n")
    }

    /// Adds a kernel with these lines.
    #[must_use]
    pub fn kernel_with(mut self, name: impl Into<String>, lines: impl Into<String>) -> Self {
        self.kernels.push((name.into(), lines.into()));
        self
    }

    /// The text.
    pub fn text(&self) -> String {
        let Self {
            arch,
            version,
            kernels,
        } = self;
        let mut text = format!(
            "\n.version {}.{}\n.target {arch}\n.address_size 64\n",
            version.0, version.1
        );
        for (name, lines) in kernels {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n.visible .entry {name}()\n{{\n{lines}}}\n");
        }
        text
    }
}
