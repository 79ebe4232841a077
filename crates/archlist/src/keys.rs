//! The keys of a list file.

/// Every key.
pub(crate) const KEYS: [&str; 14] = [
    "why",
    "ships",
    "toolkit",
    "device",
    "architectures",
    "per_source",
    "baseline",
    "same_code",
    "code_changed_in",
    "size_over_baseline",
    "expect",
    "sources",
    "expect_failure",
    "optional",
];

/// Keys without which a list says too little to be built or judged.
pub(crate) const REQUIRED: [&str; 3] = ["why", "ships", "architectures"];
