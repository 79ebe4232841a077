//! The grammar as rows: texts that mean something, texts that do not and where they go wrong.

use blockgate_arch::{Arch, Scope};
use blockgate_expect::{Expectation, Subject};
use proptest::prelude::*;

fn parse(text: &str) -> Expectation {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn texts_and_their_canonical_spelling() {
    let rows = [
        ("cubins(sm_121a) == 1", "cubins(sm_121a) == 1"),
        ("cubins(121a)==1", "cubins(sm_121a) == 1"),
        ("  ptx( compute_121 )  >=  1 ", "ptx(sm_121) >= 1"),
        ("images(*) != 0", "images(*) != 0"),
        ("cubins(sm_12*a) < 3", "cubins(sm_12*a) < 3"),
        (
            r"sass(F2FP\.SATFINITE\.E2M1)@sm_121a >= 1",
            r"sass(F2FP\.SATFINITE\.E2M1)@sm_121a >= 1",
        ),
        (
            r"sass(F2FP\.(SATFINITE|RELU)\.E2M1)@12.1a>=1",
            r"sass(F2FP\.(SATFINITE|RELU)\.E2M1)@sm_121a >= 1",
        ),
        (r"sass(a\)b) > 0", r"sass(a\)b) > 0"),
        ("sass(a[)(]b) > 0", "sass(a[)(]b) > 0"),
        ("sass([])x]) > 0", "sass([])x]) > 0"),
        ("sass([^])x]) > 0", "sass([^])x]) > 0"),
        ("sass((?:A|(B)) C)@sm_90a <= 2", "sass((?:A|(B)) C)@sm_90a <= 2"),
        (
            r"ptx_text(\.target sm_121\b) == 4 in *quantize.cu.o",
            r"ptx_text(\.target sm_121\b) == 4 in *quantize.cu.o",
        ),
        ("size <= 512 KiB", "size <= 512 KiB"),
        ("size<=524288", "size <= 512 KiB"),
        ("size < 1MiB in a b.o", "size < 1 MiB in a b.o"),
        ("size < 5 in lib*.a", "size < 5 in lib*.a"),
        ("size > 1 kB", "size > 1000"),
        ("size >= 0", "size >= 0"),
    ];
    for (text, canonical) in rows {
        let expectation = parse(text);
        assert_eq!(expectation.to_string(), canonical, "{text}");
        assert_eq!(parse(canonical), expectation, "{text}");
        assert_eq!(expectation.source, text);
    }
}

#[test]
fn wrong_texts_say_where_and_what() {
    let subject =
        "one of `cubins(ARCH)`, `ptx(ARCH)`, `images(ARCH)`, `sass(REGEX)`, `ptx_text(REGEX)`, `size`";
    let arch = "an architecture such as `sm_121a` or `sm_12*a`";
    let operator = "one of `==`, `!=`, `<`, `<=`, `>`, `>=`";
    let bytes = "a size such as `4096`, `512 KiB` or `1 MiB`";
    let rows = [
        ("", 0..0, format!("expected {subject}, found the end")),
        (
            "kernels(sm_90) > 1",
            0..14,
            format!("expected {subject}, found `kernels(sm_90)`"),
        ),
        ("cubins > 1", 6..6, "expected `(`, found the end".to_owned()),
        (
            "cubins(sm_121x) > 1",
            7..14,
            format!("expected {arch}, found `sm_121x`"),
        ),
        ("cubins() > 1", 7..7, format!("expected {arch}, found the end")),
        (
            "cubins(sm_121 > 1",
            17..17,
            "expected `)`, found the end".to_owned(),
        ),
        ("sass(F2FP > 1", 13..13, "expected `)`, found the end".to_owned()),
        (
            "sass() > 1",
            5..6,
            "expected a regular expression (it is empty), found `)`".to_owned(),
        ),
        ("sass(a**) > 1", 5..8, String::new()),
        (
            "sass(*) > 1",
            5..6,
            "expected a regular expression (repetition operator missing expression), found `*`".to_owned(),
        ),
        (
            "sass(F2FP)@ > 1",
            11..11,
            format!("expected {arch}, found the end"),
        ),
        (
            "sass(F2FP) = 1",
            11..12,
            format!("expected {operator}, found `=`"),
        ),
        (
            "sass(F2FP) => 1",
            11..13,
            format!("expected {operator}, found `=>`"),
        ),
        (
            "sass(F2FP)",
            10..10,
            format!("expected {operator}, found the end"),
        ),
        (
            "sass(F2FP) >= -1",
            14..16,
            "expected a count such as `1`, found `-1`".to_owned(),
        ),
        (
            "sass(F2FP) >= 1.5",
            14..17,
            "expected a count such as `1`, found `1.5`".to_owned(),
        ),
        (
            "sass(F2FP) >= 99999999999999999999",
            14..34,
            "expected a count such as `1`, found `99999999999999999999`".to_owned(),
        ),
        (
            "sass(F2FP) >= 1 KiB",
            16..19,
            "expected the end, or ` in MEMBER-GLOB`, found `KiB`".to_owned(),
        ),
        ("size <= 512 K", 8..13, format!("expected {bytes}, found `512 K`")),
        (
            "size <= 99999999999999999 GiB",
            8..29,
            format!("expected {bytes}, found `99999999999999999 GiB`"),
        ),
        (
            "size <= 1 in ",
            13..13,
            "expected a glob over member names (it is empty), found the end".to_owned(),
        ),
        (
            "size <= 1 in [a",
            13..15,
            "expected a glob over member names (unclosed character class; missing ']'), found `[a`"
                .to_owned(),
        ),
    ];
    for (text, span, message) in rows {
        match text.parse::<Expectation>() {
            Ok(expectation) => assert!(message.is_empty(), "{text} read as {expectation}"),
            Err(error) => {
                assert_eq!(error.to_string(), message, "{text}");
                assert_eq!(error.span(), span, "{text}");
            }
        }
    }
}

#[test]
fn only_a_real_demand_counts_as_one() {
    let specific = Arch::new(12, 1, Scope::Specific);
    let rows = [
        (r"sass(F2FP\.SATFINITE\.E2M1)@sm_121a >= 1", true),
        (r"sass(F2FP\.SAT.*\.E2M1)@121a > 0", true),
        (r"sass(F2FP.*\.E2M1.*PACK)@121a > 0", false),
        (r"sass(F2FP\.SATFINITE\.E2M1)@sm_121a == 8", true),
        (r"sass(F2FP\.SATFINITE\.E2M1)@sm_121a >= 0", false),
        (r"sass(F2FP\.SATFINITE\.E2M1)@sm_121a == 0", false),
        (r"sass(F2FP\.SATFINITE\.E2M1)@sm_121a < 8", false),
        (r"sass(F2FP\.SATFINITE\.E2M1)@sm_100a >= 1", false),
        (r"sass(F2FP\.SATFINITE\.E2M1)@sm_12*a >= 1", false),
        (r"sass(F2FP\.SATFINITE\.E2M1) >= 1", false),
        (r"sass(F2FP)@sm_121a >= 1", false),
        (r"sass(E2M1)@sm_121a >= 1", false),
        (r"sass(HMMA)@sm_121a >= 1", false),
        (r"sass(F2FP\.SATFINITE\.E2M1)@sm_121a >= 1 in x*.o", false),
        ("cubins(sm_121a) >= 1", false),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(text).demands_converter_on(specific), expected, "{text}");
    }
    let plain = Arch::new(12, 1, Scope::Plain);
    assert!(!parse(r"sass(F2FP\.SATFINITE\.E2M1)@sm_121 >= 1").demands_converter_on(plain));
}

#[test]
fn the_converter_in_ptx_text_is_noticed() {
    let rows = [
        ("ptx_text(e2m1x2) > 0", true),
        (r"ptx_text(cvt\.rn\.satfinite\.e2m1x2) >= 1", true),
        (r"ptx_text(F2FP\.SATFINITE\.E2M1) >= 1", true),
        ("ptx_text((?i)E2M1) == 0", true),
        ("ptx_text(cvt) > 0", false),
        (r"ptx_text(\.target) > 0", false),
        (r"sass(F2FP\.SATFINITE\.E2M1) > 0", false),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(text).counts_converter_in_ptx_text(), expected, "{text}");
    }
}

/// A name that an architecture can have, or a pattern.
fn arch_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "(sm_|compute_)?(75|8[0-9]|90a?|1[0-9]{2}[af]?)",
        "(sm_|compute_)?[1-9*][0-9*]{0,2}\\*[af]?",
    ]
}

fn regex_text() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        "[A-Z0-9]{1,4}",
        Just(r"\.".to_owned()),
        Just(r"\)".to_owned()),
        Just(r"\(".to_owned()),
        Just("[()]".to_owned()),
        Just("[^])]".to_owned()),
    ];
    atom.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left}|{right})")),
            inner.prop_map(|inner| format!("(?:{inner})?")),
        ]
    })
}

fn subject_text() -> impl Strategy<Value = String> {
    prop_oneof![
        arch_text().prop_map(|arch| format!("cubins({arch})")),
        arch_text().prop_map(|arch| format!("ptx({arch})")),
        arch_text().prop_map(|arch| format!("images({arch})")),
        regex_text().prop_map(|regex| format!("sass({regex})")),
        (regex_text(), arch_text()).prop_map(|(regex, arch)| format!("sass({regex})@{arch}")),
        regex_text().prop_map(|regex| format!("ptx_text({regex})")),
        Just("size".to_owned()),
    ]
}

proptest! {
    #[test]
    fn the_canonical_spelling_reads_back(
        subject in subject_text(),
        op in prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]),
        space in " {0,2}",
        threshold in any::<u64>(),
        member in prop::option::of("[a-z*?]{1,8}\\.cu\\.o"),
    ) {
        let member = member.map_or_else(String::new, |glob| format!(" in {glob}"));
        let text = format!("{subject}{space}{op}{space}{threshold}{member}");
        let expectation: Expectation = text.parse().unwrap();
        prop_assert_eq!(expectation.threshold, threshold);
        let again: Expectation = expectation.to_string().parse().unwrap();
        prop_assert_eq!(&again, &expectation);
        prop_assert_eq!(again.to_string(), expectation.to_string());
        if let (Subject::Sass { mnemonic, .. } | Subject::PtxText(mnemonic), Some(rest)) =
            (&expectation.subject, subject.split_once('('))
        {
            prop_assert!(rest.1.starts_with(mnemonic.as_str()));
        }
    }

    #[test]
    fn any_text_gives_an_answer_with_a_span_inside_it(text in "(cubins|sass|ptx_text|size)?[()@ <>=!a-z0-9*\\[\\]\\\\é]{0,24}") {
        if let Err(error) = text.parse::<Expectation>() {
            prop_assert!(text.get(error.span()).is_some());
        }
    }
}
