//! The expectation grammar: what an artifact must hold.
