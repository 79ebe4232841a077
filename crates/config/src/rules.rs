//! The rules that a configuration file can break.

/// The configuration is one YAML document.
pub(crate) const YAML: &str = "config-yaml";
/// The configuration has only the keys that mean something.
pub(crate) const UNKNOWN_KEY: &str = "config-unknown-key";
/// A key appears once.
pub(crate) const DUPLICATE_KEY: &str = "config-duplicate-key";
/// A value is of the kind that its key wants.
pub(crate) const VALUE: &str = "config-value";
/// A rule exists, and its severity may be chosen.
pub(crate) const RULE: &str = "config-rule";
/// An expectation is a sentence of the grammar.
pub(crate) const EXPECTATION: &str = "config-expectation";
/// A waiver names its rule and its reason.
pub(crate) const WAIVER: &str = "config-waiver";

/// Every rule that a configuration file can break, with what it demands, sorted by id. Each is an error: nothing is
/// checked by a configuration that was not understood.
pub const CONFIG_RULES: [(&str, &str); 7] = [
    (DUPLICATE_KEY, "a key of blockgate.yaml appears once"),
    (
        EXPECTATION,
        "an expectation in blockgate.yaml is a sentence of the grammar",
    ),
    (
        RULE,
        "a rule named in blockgate.yaml exists, and its severity may be chosen",
    ),
    (
        UNKNOWN_KEY,
        "blockgate.yaml has only the keys that mean something",
    ),
    (
        VALUE,
        "a value in blockgate.yaml is of the kind that its key wants",
    ),
    (WAIVER, "a waiver names its rule and its reason"),
    (YAML, "blockgate.yaml is one YAML document"),
];

#[cfg(test)]
mod tests {
    use super::CONFIG_RULES;

    #[test]
    fn the_table_is_sorted() {
        assert!(CONFIG_RULES.is_sorted());
    }
}
