//! What a target's pass sees and may use: predefined macros, PTX instructions, and what a gate makes of them.

mod instructions;
mod macros;
mod models;
mod page;

pub use instructions::{Accepted, INSTRUCTIONS, Instruction, InstructionRow, accepting_targets, accepts};
pub use macros::{MACROS, MacroRow, Macros, macros};
pub use models::{OneGate, TwoGate, Verdict, one_gate, two_gate};
pub use page::write_markdown;
