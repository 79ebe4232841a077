//! Everything that a person or CI runs in this workspace.
fn main() {}
