//! What list files say, right and wrong, with the place of every mistake.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::use_debug,
    reason = "a test reads the lists of this repository from disk, and shows values as they are"
)]

use std::fmt::Write as _;
use std::path::Path;

use blockgate_archlist::{ArchList, build_order, check_set, parse};
use blockgate_findings::{Finding, Location};
use expect_test::{Expect, expect};

fn show(findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let Location::Text(place) = &finding.location else {
            panic!("findings about lists are in texts")
        };
        writeln!(
            out,
            "{}:{}:{} {}: {}",
            place.path, place.at.line, place.at.column, finding.rule, finding.message
        )
        .unwrap();
        for note in &finding.notes {
            writeln!(out, "    {note}").unwrap();
        }
    }
    out
}

/// Each text's findings, and for each the text that it points at.
fn refused(texts: &[&str]) -> String {
    let mut out = String::new();
    for text in texts {
        let text = text.trim_start_matches('\n');
        let findings = parse(text, "x.yaml").expect_err(text);
        for finding in &findings {
            out.push_str(&show(std::slice::from_ref(finding)));
            if let Location::Text(place) = &finding.location {
                let part = &text[place.start_byte..place.end_byte];
                writeln!(out, "    ^ {part:?}").unwrap();
            }
        }
        out.push('\n');
    }
    out
}

fn check(texts: &[&str], expected: Expect) {
    expected.assert_eq(&refused(texts));
}

fn shipped() -> Vec<ArchList> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../arch-lists");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy();
            parse(&text, &name).unwrap_or_else(|findings| panic!("{}", show(&findings)))
        })
        .collect()
}

#[test]
fn the_lists_of_this_repository_are_right() {
    let lists = shipped();
    assert_eq!(show(&check_set(&lists)), "");
    let mut out = String::new();
    for list in &lists {
        let targets: Vec<String> = list.targets().map(|target| target.to_string()).collect();
        let extras: Vec<String> = list
            .per_source
            .iter()
            .map(|extra| format!("{}+{}", extra.source, extra.architectures))
            .collect();
        let ships = if list.ships { "ships" } else { "" };
        let flags = [
            ships.to_owned(),
            list.baseline
                .as_ref()
                .map_or_else(String::new, |name| format!("over {name}")),
            list.expect_failure
                .map_or_else(String::new, |cause| format!("fails for {}", cause.name())),
            if list.optional {
                "optional".to_owned()
            } else {
                String::new()
            },
        ];
        let flags: Vec<&String> = flags.iter().filter(|flag| !flag.is_empty()).collect();
        writeln!(
            out,
            "{}: {} {extras:?} {flags:?} {} expectations",
            list.name,
            targets.join(" "),
            list.expect.len()
        )
        .unwrap();
        assert_eq!(show(&list.warnings()), "", "{}", list.name);
        let can_fail = list.expect_failure.is_some()
            || list
                .expect
                .iter()
                .any(|expectation| expectation.demands_presence());
        assert!(can_fail, "{}", list.name);
    }
    expect![[r#"
        gb10-combined: sm_121a sm_121 compute_121 [] ["over gb10-plain"] 6 expectations
        gb10-family: sm_121f compute_121f [] ["fails for gate-mismatch"] 0 expectations
        gb10-per-source: sm_121 compute_121 ["quantize.cu+121a-real"] ["over gb10-plain"] 4 expectations
        gb10-plain: sm_121 compute_121 [] [] 4 expectations
        gb10-specific: sm_121a compute_121a [] ["over gb10-plain"] 5 expectations
        hopper: sm_90a compute_90a [] [] 3 expectations
        release-aarch64: sm_90a compute_90a sm_100 compute_100 sm_121 compute_121 ["quantize.cu+100a-real;121a-real"] ["ships"] 10 expectations
        release-x86_64: sm_80 compute_80 sm_86 compute_86 sm_89 compute_89 sm_90a compute_90a sm_100 compute_100 sm_120 compute_120 ["quantize.cu+100a-real;120a-real"] ["ships"] 13 expectations
        volta: sm_70 compute_70 [] ["optional"] 3 expectations
    "#]].assert_eq(&out);
}

#[test]
fn keys_are_checked() {
    check(
        &[
            "",
            "- why\n",
            "why: [\n",
            "why: a: b\n",
            "why: x\nships: true\n---\nwhy: y\n",
            "why: x\nships: maybe\narchitectures: 121\n",
            "why: \"\"\nships: no\narchitectures: \"121\"\ntoolkit: 13.0\n",
            r#"
why: µ
ships: false
archtectures: "121"
per-source:
  quantize.cu: "121a-real"
flavour: x
"#,
            r#"
why: x
ships: false
architectures: "121"
why: y
per_source:
  quantize.cu: "121a-real"
  quantize.cu: "121a-virtual"
"#,
            r#"
why: x
ships: false
architectures: "121"
sources: kernel
expect_failure: gate
same_code: all
optional: 1
per_source: quantize.cu
expect: size < 5
"#,
            r#"
why: x
ships: false
architectures: "121"
same_code: all-but-per-source
size_over_baseline: "<= 512 KiB"
"#,
            "why: x\nships: true\narchitectures: \"121f\"\nexpect_failure: gate-mismatch\n",
        ],
        expect![[r#"
            x.yaml:1:1 list-yaml: expected a mapping of keys, found nothing
                ^ ""

            x.yaml:1:1 list-yaml: expected a mapping of keys, found a sequence
                ^ ""

            x.yaml:1:6 list-yaml: unclosed bracket '['
                ^ ""

            x.yaml:1:7 list-yaml: mapping values are not allowed in this context
                ^ ""

            x.yaml:4:1 list-yaml: multiple YAML documents detected
                ^ ""

            x.yaml:2:8 list-value: expected `true` or `false`, found text
                ^ "maybe"
            x.yaml:3:16 list-value: expected text, found a number; put it in quotes
                ^ "121"

            x.yaml:1:6 list-value: `why` is empty; say why the list exists
                ^ "\"\""
            x.yaml:2:8 list-value: expected `true` or `false`, found text
                ^ "no"
            x.yaml:4:10 list-value: expected text, found a number; put it in quotes
                ^ "13.0"

            x.yaml:1:1 list-missing-key: the list has no `architectures`
                ^ ""
            x.yaml:3:1 list-unknown-key: a list has no key `archtectures`
                did you mean `architectures`?
                ^ "archtectures"
            x.yaml:4:1 list-unknown-key: a list has no key `per-source`
                did you mean `per_source`?
                ^ "per-source"
            x.yaml:6:1 list-unknown-key: a list has no key `flavour`
                the keys are why, ships, toolkit, device, architectures, per_source, baseline, same_code, code_changed_in, size_over_baseline, expect, sources, expect_failure, optional
                ^ "flavour"

            x.yaml:4:1 list-duplicate-key: `why` is there already, in line 1
                ^ "why"
            x.yaml:7:3 list-duplicate-key: `quantize.cu` is there already, in line 6
                ^ "quantize.cu"

            x.yaml:4:10 list-value: `kernel` means nothing here; expected `kernels` or `markers`
                ^ "kernel"
            x.yaml:5:17 list-value: `gate` means nothing here; expected `gate-mismatch`
                ^ "gate"
            x.yaml:6:12 list-value: `all` means nothing here; expected `all-but-per-source`
                ^ "all"
            x.yaml:7:11 list-value: expected `true` or `false`, found a number
                ^ "1"
            x.yaml:8:13 list-value: expected a mapping from source to architectures, found text
                ^ "quantize.cu"
            x.yaml:9:9 list-value: expected a sequence of expectations, found text
                ^ "size < 5"

            x.yaml:4:12 list-baseline: `same_code` compares with a baseline, and the list has no `baseline`
                ^ "all-but-per-source"
            x.yaml:4:12 list-value: `same_code` looks at the code that a device loads, and the list has no `device`
                ^ "all-but-per-source"
            x.yaml:5:21 list-baseline: `size_over_baseline` compares with a baseline, and the list has no `baseline`
                ^ "\"<= 512 KiB\""

            x.yaml:2:8 list-value: a list that must fail cannot ship
                ^ "true"

        "#]],
    );
}

#[test]
fn targets_are_checked() {
    let list = |architectures: &str| format!("why: x\nships: false\narchitectures: \"{architectures}\"\n");
    let texts: Vec<String> = [
        list("90a;122;121x"),
        list("90a;122"),
        list("121;121a-real;121-real"),
        list("121;121f"),
        list("121,121a"),
        list("12.1a;sm_121"),
        list("all-major"),
        list("70;110"),
        list("90a") + "toolkit: \">=13.0, <12.4\"\n",
        list("90a") + "toolkit: \"13\"\n",
        list("70;80") + "toolkit: \">=13.0\"\n",
        list("121") + "per_source:\n  quantize.cu: \"121-real\"\n  qmv.cu: 121f\n  qmm.cu: 131a-real\n",
        list("80") + "device: \"12.1a\"\n",
        "why: x\nships: false\narchitectures: \"12\\u0031;122\"\n".to_owned(),
    ]
    .into();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    check(
        &texts,
        expect![[r#"
        x.yaml:3:25 list-target: `121x` names no CUDA architecture: `x` cannot follow the number; expected nothing, `a` (one capability) or `f` (a family), in lower case
            ^ "121x"

        x.yaml:3:21 list-target: no CUDA release from 11.8 to 13.5 knows `122`
            ^ "122"

        x.yaml:3:31 list-duplicate-target: an earlier entry asks for `sm_121` already
            ^ "121-real"

        x.yaml:3:21 list-combination: nvcc refuses `sm_121f` beside `sm_121`: the plain and the family form of one compute capability cannot be built together
            ^ "121f"

        x.yaml:3:20 list-target: a comma does not separate entries here; `;` does
            ^ ","

        x.yaml:3:17 list-target: `12.1a` is not how this list spells it; write `121a`
            ^ "12.1a"
        x.yaml:3:23 list-target: `sm_121` is not how this list spells it; write `121-real`
            ^ "sm_121"

        x.yaml:3:17 list-target: `all-major` leaves the architectures to the build system; a list names them
            ^ "all-major"

        x.yaml:3:16 list-target: no single toolkit knows all of these architectures
            ^ "\"70;110\""

        x.yaml:4:10 list-toolkit: no version satisfies `>=13.0, <12.4`
            ^ "\">=13.0, <12.4\""

        x.yaml:4:10 list-toolkit: `13` is not a toolkit requirement such as `13.0`, `>=12.9` or `>=12.4, <13.0`
            ^ "\"13\""

        x.yaml:3:17 list-target: no toolkit that `>=13.0` allows knows `70`; it is known up to CUDA 12.9
            ^ "70"

        x.yaml:5:17 list-duplicate-target: an earlier entry asks for `sm_121` already
            ^ "121-real"
        x.yaml:6:11 list-combination: nvcc refuses `sm_121f` beside `sm_121`: the plain and the family form of one compute capability cannot be built together
            ^ "121f"
        x.yaml:7:11 list-target: no CUDA release from 11.8 to 13.5 knows `131a`
            ^ "131a-real"

        x.yaml:4:9 list-value: `12.1a` names no CUDA architecture: it is no device; expected a compute capability such as `12.1`, without `a`
            ^ "\"12.1a\""

        x.yaml:3:16 list-target: no CUDA release from 11.8 to 13.5 knows `122`
            ^ "\"12\\u0031;122\""

    "#]],
    );
}

#[test]
fn expectations_point_into_their_text() {
    check(
        &[r#"
why: x
ships: false
architectures: "121"
size_over_baseline: "<= 512 KB"
baseline: y
expect:
  - 'sass(F2FP\.SATFINITE\.E2M1)@sm_121x >= 1'
  - 'cubins(sm_121) => 1'
  - "sass(F2FP\\.E2M1) 1"
  - cubins(sm_121) >= 1
  - 'cubins(121) >= 1'
  - 5
"#],
        expect![[r#"
            x.yaml:4:25 list-value: expected a size such as `4096`, `512 KiB` or `1 MiB`, found `512 KB`
                ^ "512 KB"
            x.yaml:7:34 list-expectation: expected an architecture such as `sm_121a` or `sm_12*a`, found `sm_121x`
                ^ "sm_121x"
            x.yaml:8:21 list-expectation: expected one of `==`, `!=`, `<`, `<=`, `>`, `>=`, found `=>`
                ^ "=>"
            x.yaml:9:5 list-expectation: expected one of `==`, `!=`, `<`, `<=`, `>`, `>=`, found `1`
                ^ "\"sass(F2FP\\\\.E2M1) 1\""
            x.yaml:11:5 list-expectation: `cubins(sm_121) >= 1` is expected already
                ^ "'cubins(121) >= 1'"
            x.yaml:12:5 list-value: expected text, found a number; put it in quotes
                ^ "5"

        "#]],
    );
}

#[test]
fn what_ships_needs_the_image_and_its_expectation() {
    let release = r#"
why: x
ships: true
architectures: "90a;100;121"
"#;
    let image = "per_source:\n  quantize.cu: \"100a-real;121a-real\"\n";
    let expectations = "expect:\n  - 'sass(F2FP\\.SATFINITE\\.E2M1)@sm_100a >= 1'\n  - 'sass(F2FP\\.SATFINITE\\.E2M1)@sm_121a >= 1'\n";
    let weak = expectations
        .replace("@sm_100a >= 1", "@sm_100a >= 0")
        .replace("@sm_121a", "");
    check(
        &[
            release,
            &format!("{release}{image}"),
            &format!("{release}{expectations}"),
            &format!("{release}{image}{weak}"),
            &format!("{release}per_source:\n  quantize.cu: \"121a-virtual\"\n{expectations}"),
        ],
        expect![[r#"
            x.yaml:3:21 list-ships-without-converter: the list ships `100` alone: plain code of this GPU has no conversion to E2M1
                add `100a-real` to `per_source` of the source that converts, or to `architectures`
                expect `sass(F2FP\.SATFINITE\.E2M1)@sm_100a >= 1`
                ^ "100"
            x.yaml:3:25 list-ships-without-converter: the list ships `121` alone: plain code of this GPU has no conversion to E2M1
                add `121a-real` to `per_source` of the source that converts, or to `architectures`
                expect `sass(F2FP\.SATFINITE\.E2M1)@sm_121a >= 1`
                ^ "121"

            x.yaml:3:21 list-ships-without-converter: the list ships `100`, and no expectation demands the converter on sm_100a
                expect `sass(F2FP\.SATFINITE\.E2M1)@sm_100a >= 1`
                ^ "100"
            x.yaml:3:25 list-ships-without-converter: the list ships `121`, and no expectation demands the converter on sm_121a
                expect `sass(F2FP\.SATFINITE\.E2M1)@sm_121a >= 1`
                ^ "121"

            x.yaml:3:21 list-ships-without-converter: the list ships `100`, and nothing builds machine code for sm_100a
                add `100a-real` to `per_source` of the source that converts, or to `architectures`
                ^ "100"
            x.yaml:3:25 list-ships-without-converter: the list ships `121`, and nothing builds machine code for sm_121a
                add `121a-real` to `per_source` of the source that converts, or to `architectures`
                ^ "121"

            x.yaml:3:21 list-ships-without-converter: the list ships `100`, and no expectation demands the converter on sm_100a
                expect `sass(F2FP\.SATFINITE\.E2M1)@sm_100a >= 1`
                ^ "100"
            x.yaml:3:25 list-ships-without-converter: the list ships `121`, and no expectation demands the converter on sm_121a
                expect `sass(F2FP\.SATFINITE\.E2M1)@sm_121a >= 1`
                ^ "121"

            x.yaml:3:21 list-ships-without-converter: the list ships `100`, and nothing builds machine code for sm_100a
                add `100a-real` to `per_source` of the source that converts, or to `architectures`
                ^ "100"
            x.yaml:3:25 list-ships-without-converter: the list ships `121`, and nothing builds machine code for sm_121a
                add `121a-real` to `per_source` of the source that converts, or to `architectures`
                ^ "121"

        "#]],
    );
    let complete = format!("{release}{image}{expectations}");
    assert!(parse(complete.trim_start(), "x.yaml").is_ok());
    let hopper = "why: x\nships: true\narchitectures: \"80;90a\"\n";
    assert!(parse(hopper, "x.yaml").is_ok());
}

#[test]
fn deleting_both_halves_from_a_shipped_list_does_not_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../arch-lists");
    for name in ["release-aarch64.yaml", "release-x86_64.yaml"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let cut = text.find("per_source:").unwrap();
        let findings = parse(&text[..cut], name).unwrap_err();
        assert_eq!(findings.len(), 2, "{}", show(&findings));
        assert!(
            findings
                .iter()
                .all(|finding| finding.rule == "list-ships-without-converter")
        );
    }
}

fn small(name: &str, more: &str) -> ArchList {
    let text = format!("why: x\nships: false\narchitectures: \"121\"\n{more}");
    parse(&text, &format!("lists/{name}.yaml")).unwrap_or_else(|findings| panic!("{}", show(&findings)))
}

#[test]
fn baselines_are_checked_across_lists() {
    let lists = [
        small("a", "baseline: plane\n"),
        small("plain", ""),
        small("b", "baseline: c\n"),
        small("c", "baseline: b\n"),
        small("d", "baseline: b\n"),
        small("e", "baseline: e\n"),
        small("f", "sources: markers\nexpect_failure: gate-mismatch\n"),
        small("g", "baseline: f\n"),
        small("h", "sources: markers\nbaseline: plain\n"),
        small("plain", ""),
    ];
    expect![[r#"
        lists/a.yaml:4:11 list-baseline: there is no list `plane`
            did you mean `plain`?
        lists/b.yaml:4:11 list-baseline: the baselines of `b` lead back to it
        lists/c.yaml:4:11 list-baseline: the baselines of `c` lead back to it
        lists/e.yaml:4:11 list-baseline: the baselines of `e` lead back to it
        lists/g.yaml:4:11 list-baseline: `f` must fail to build, so nothing can be compared with it
        lists/h.yaml:5:11 list-baseline: `plain` builds the kernels, this list the markers
        lists/plain.yaml:1:1 list-value: `plain` is the list of lists/plain.yaml already
    "#]]
    .assert_eq(&show(&check_set(&lists)));
}

#[test]
fn a_baseline_is_built_before_what_is_compared_with_it() {
    let lists = [
        small("a", "baseline: c\n"),
        small("b", ""),
        small("c", "baseline: d\n"),
        small("d", ""),
    ];
    let names = |wanted: &[&str]| {
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        build_order(&lists, &wanted).map(|order| {
            order
                .iter()
                .map(|list| list.name.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        })
    };
    assert_eq!(names(&[]).unwrap(), "d c a b");
    assert_eq!(names(&["a"]).unwrap(), "d c a");
    assert_eq!(names(&["b", "c"]).unwrap(), "b d c");
    assert_eq!(names(&["b", "x", "y"]).unwrap_err(), ["x", "y"]);
}

#[test]
fn sources_and_the_toolkit_in_use_are_checked() {
    let list = small(
        "a",
        "toolkit: \">=12.9\"\nper_source:\n  quantise.cu: \"121a-real\"\n  nothing.cu: 121a-virtual\n",
    );
    let mut out = show(&list.check_sources(&["qmv.cu", "quantize.cu"]));
    for toolkit in ["12.8.93", "13.0.88"] {
        writeln!(out, "-- {toolkit}").unwrap();
        out.push_str(&show(&list.check_toolkit(toolkit.parse().unwrap())));
    }
    expect![[r#"
        lists/a.yaml:6:3 list-source: `quantise.cu` is no source of the build
            did you mean `quantize.cu`?
        lists/a.yaml:7:3 list-source: `nothing.cu` is no source of the build
            the sources are qmv.cu, quantize.cu
        -- 12.8.93
        lists/a.yaml:4:10 list-toolkit: CUDA 12.8.93 does not satisfy `>=12.9`
        lists/a.yaml:3:17 list-target: CUDA 12.8 does not know `121`; it is known since CUDA 12.9
        lists/a.yaml:6:17 list-target: CUDA 12.8 does not know `121a`; it is known since CUDA 12.9
        lists/a.yaml:7:15 list-target: CUDA 12.8 does not know `121a`; it is known since CUDA 12.9
        -- 13.0.88
    "#]]
    .assert_eq(&out);
}

#[test]
fn the_converter_in_ptx_text_is_warned_about() {
    let list = small("a", "expect:\n  - ptx(sm_121) >= 1\n  - ptx_text(e2m1x2) >= 1\n");
    expect![[r#"
        lists/a.yaml:6:5 list-expectation: this counts the converter in PTX text, where a correct build may have none
            beside an architecture-specific image the PTX comes from the plain pass; count `sass(…)` instead
    "#]].assert_eq(&show(&list.warnings()));
}
