//! What a check found, where, and how to show it.
