//! Reads artifacts in parallel, counts what they hold, evaluates expectations.
