//! Architecture list files: their model, validation and the ships rule.
