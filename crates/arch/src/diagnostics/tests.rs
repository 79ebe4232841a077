//! The recorded logs, and reports whose text is known.

use std::fmt::Write as _;

use expect_test::expect;
use proptest::prelude::*;

use super::{Cause, Context, Diagnosis, Tool, diagnose, grouped};
use crate::{Arch, ToolkitVersion};

/// A log, the release that wrote it, and the pass where the run had one only.
macro_rules! log {
    ($name:literal, $toolkit:literal, $pass:expr) => {
        (
            $name,
            include_str!(concat!("../../../../fixtures/nvcc/logs/", $name, ".log")),
            $toolkit,
            $pass,
        )
    };
}

type Log = (&'static str, &'static str, &'static str, Option<&'static str>);

const LOGS: &[Log] = &[
    log!("e2m1-120", "13.0", None),
    log!("e2m1-121-objtemp", "13.0", None),
    log!("block-scaled-120-121", "13.0", None),
    log!("block-scaled-100a", "13.0", None),
    log!("tensormap-120", "13.0", None),
    log!("bf16-100a", "13.0", Some("100a")),
    log!("stochastic-121a", "13.0", None),
    log!("gates-121f", "13.0", Some("121f")),
    log!("gates-121a-120f", "13.0", None),
    log!("plain-and-family", "13.0", None),
    log!("mixed-scopes", "13.0", None),
    log!("unknown-101", "13.0", None),
    log!("unknown-101a", "13.0", None),
    log!("unknown-122a", "13.0", None),
    log!("no-such-80a", "13.0", None),
    log!("no-such-100fg", "13.0", None),
    log!("unknown-option", "13.0", None),
    log!("ptxas-12.8-121a", "12.8", None),
    log!("ptxas-12.8-121a", "13.0", None),
    log!("ptxas-12.9-110a", "12.9", None),
    log!("ptxas-12.4-e2m1", "12.4", Some("90")),
    log!("ptxas-13.1-e2m1", "13.1", None),
    log!("cmake-3.28-121f", "13.0", None),
    log!("cmake-101", "13.0", None),
    log!("cmake-plain-and-family", "13.0", None),
    log!("cmake-comma", "13.0", None),
    log!("ninja", "13.0", None),
    log!("ninja-121f", "13.0", None),
];

fn context(toolkit: &str, pass: Option<&str>) -> Context {
    Context {
        pass: pass.map(|name| name.parse().unwrap()),
        ..Context::of(toolkit.parse().unwrap())
    }
}

fn write_diagnoses(out: &mut String, diagnoses: &[Diagnosis]) {
    for diagnosis in diagnoses {
        let source = diagnosis.source.as_deref().unwrap_or("-");
        let arch = diagnosis
            .arch
            .map_or("-".to_owned(), |arch| arch.token().to_string());
        writeln!(
            out,
            "  {source} {arch} {}: {} ({} messages, {} further)",
            diagnosis.cause.name(),
            diagnosis.cause,
            diagnosis.messages.len(),
            diagnosis.further_errors
        )
        .unwrap();
    }
}

#[test]
fn recorded_logs() {
    let mut out = String::new();
    for (name, text, toolkit, pass) in LOGS {
        writeln!(out, "{name}, CUDA {toolkit}").unwrap();
        write_diagnoses(&mut out, &diagnose(text, &context(toolkit, *pass)));
    }
    expect_test::expect_file!["../../../../fixtures/nvcc/diagnoses.txt"].assert_eq(&out);
}

// triton-lang/triton#8539: the message must name the assembler, its version, and the first toolkit that will do.
#[test]
fn an_old_assembler_is_named() {
    let text = "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'";
    let mut context = context("13.0", None);
    context.assembler = Some(Tool {
        path: "/opt/triton/bin/ptxas".to_owned(),
        version: "12.8.93".parse().unwrap(),
    });
    let found = diagnose(text, &context);
    expect![[
        r#"the assembler /opt/triton/bin/ptxas is of CUDA 12.8.93 and does not know `sm_121a`; it is known since CUDA 12.9"#
    ]]
    .assert_eq(&found[0].cause.to_string());
}

// facebookresearch/xformers#1344: nvcc was never asked, so the layer that refused is named with the token.
#[test]
fn a_front_end_is_named() {
    let text =
        "Traceback (most recent call last):\nValueError: Unknown CUDA arch (10.0f) or GPU not supported\n";
    let found = diagnose(text, &context("13.0", None));
    assert_eq!(
        found[0].cause,
        Cause::FrontEnd {
            token: "10.0f".to_owned(),
            component: "PyTorch's extension builder",
        }
    );
    assert!(found[0].cause.to_string().contains("`10.0f`"));
}

// pytorch/FBGEMM#4975: hundreds of lines of ptxas, one cause.
#[test]
fn many_lines_of_one_cause_are_one_diagnosis() {
    let mut text = String::new();
    for (source, count) in [("a", 200), ("b", 100)] {
        for line in 0..count {
            writeln!(
                text,
                "ptxas /tmp/tmpxft_00000001_00000000-6_{source}.ptx, line {line}; error   : Instruction 'cvt with .e2m1x2' not supported on .target 'sm_120'"
            )
            .unwrap();
        }
        writeln!(text, "ptxas fatal   : Ptx assembly aborted due to errors").unwrap();
    }
    let groups = grouped(diagnose(&text, &context("13.0", None)));
    assert_eq!(groups.len(), 1);
    let further: Vec<usize> = groups[0]
        .diagnoses
        .iter()
        .map(|diagnosis| diagnosis.further_errors)
        .collect();
    assert_eq!(further, [199, 99]);
    expect!["`120` has no `cvt with .e2m1x2`; build `120f` or `120a`"]
        .assert_eq(&groups[0].cause.to_string());
}

#[test]
fn a_summary_without_its_errors_is_not_lost() {
    let found = diagnose(
        "ptxas fatal   : Ptx assembly aborted due to errors",
        &context("13.0", None),
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].cause.name(), "other");
    assert!(diagnose("[1/2] Building CUDA object x.o\n", &context("13.0", None)).is_empty());
}

#[test]
fn an_unknown_modifier_names_what_a_later_release_added() {
    for (toolkit, modifier, since) in [
        ("12.8", ".block16", "CUDA 12.9"),
        ("12.4", ".kind::mxf4nvf4", "CUDA 12.8"),
        ("12.6", ".rs", "CUDA 12.8"),
    ] {
        let text = format!("ptxas x.ptx, line 3; error   : Unknown modifier '{modifier}'");
        let found = diagnose(&text, &context(toolkit, None));
        assert_eq!(found[0].cause.name(), "toolkit-too-old");
        assert!(found[0].cause.to_string().contains(since), "{}", found[0].cause);
    }
}

// A failure that no table explains must not hide behind one that it does.
#[test]
fn every_object_that_failed_has_a_diagnosis() {
    let log = "\
[1/4] Building CUDA object CMakeFiles/m.dir/two.cu.o
FAILED: [code=1] CMakeFiles/m.dir/two.cu.o
/opt/cuda/bin/nvcc \"--generate-code=arch=compute_121f,code=[sm_121f]\" -c /src/two.cu -o CMakeFiles/m.dir/two.cu.o
/src/two.cu(10): error: identifier \"to_fp4\" is undefined
[2/4] Building CXX object CMakeFiles/m.dir/status.cpp.o
FAILED: CMakeFiles/m.dir/status.cpp.o
/usr/bin/c++ -O3 -c /src/status.cpp -o CMakeFiles/m.dir/status.cpp.o
c++: fatal error: Killed signal terminated program cc1plus
compilation terminated.
[3/4] Building CUDA object CMakeFiles/m.dir/three.cu.o
FAILED: CMakeFiles/m.dir/three.cu.o
/opt/cuda/bin/nvcc \"--generate-code=arch=compute_121f,code=[sm_121f]\" -c /src/three.cu -o CMakeFiles/m.dir/three.cu.o
Killed
[4/4] Linking CXX executable tool
FAILED: tool
: && /usr/bin/c++ x.o -o tool && :
/usr/bin/ld: x.o: in function `main':
x.cpp:(.text+0x5): undefined reference to `missing'
collect2: error: ld returned 1 exit status
FAILED: CMakeFiles/m.dir/four.cu.o
ninja: build stopped: cannot make progress due to previous errors.
ninja: error: writing to build log: No space left on device
";
    let mut out = String::from("found\n");
    write_diagnoses(&mut out, &diagnose(log, &context("13.0", None)));
    expect![[r#"
        found
          two.cu 121f gate-mismatch: gate mismatch: in the pass for `121f` the caller wants `to_fp4`, which is not defined there; a family target defines __CUDA_ARCH_FAMILY_SPECIFIC__ and not __CUDA_ARCH_SPECIFIC__, so gate both sides by one macro or build `121a` (1 messages, 0 further)
          status.cpp - other: c++: Killed signal terminated program cc1plus (1 messages, 0 further)
          three.cu 121f other: Killed (1 messages, 0 further)
          - - other: collect2: ld returned 1 exit status (1 messages, 0 further)
          four.cu - other: the command failed and said nothing (1 messages, 0 further)
          - - other: ninja: writing to build log: No space left on device (1 messages, 0 further)
    "#]]
    .assert_eq(&out);
}

// An undefined identifier is a gate mismatch in a family pass only.
#[test]
fn other_undefined_identifiers_stay_what_they_are() {
    let text = "gates.cu(10): error: identifier \"to_fp4\" is undefined";
    for (pass, expected) in [
        (Some("121f"), "gate-mismatch"),
        (Some("121a"), "other"),
        (None, "other"),
    ] {
        assert_eq!(diagnose(text, &context("13.0", pass))[0].cause.name(), expected);
    }
}

proptest! {
    #[test]
    fn arbitrary_output_never_panics(text in "\\PC*(\n\\PC*){0,8}") {
        diagnose(&text, &Context::of(ToolkitVersion::new(13, 0)));
    }

    #[test]
    fn output_like_a_compilers_never_panics(
        lines in proptest::collection::vec(
            prop_oneof![
                Just("CMake Error at x:1 (y):".to_owned()),
                "(ptxas|nvcc) (fatal|error) *: [A-Za-z '`]{0,40}",
                "ptxas [a-z/._-]{0,20}, line [0-9]{0,3}; error *: (Instruction|Feature|Unknown modifier) '[.a-z0-9]{0,8}'?( not supported on .target 'sm_[0-9a-z]{0,5}'?)?",
                " *nvcc --generate-code=arch=(compute_)?[0-9af]{0,5} x.cu",
                "[a-z.]{0,6}\\(?[0-9]{0,3}\\)?: error:? identifier \"?[a-z]{0,4}\"? is undefined",
            ],
            0..12,
        )
    ) {
        let pass: Arch = "121f".parse().unwrap();
        let context = Context { pass: Some(pass), ..Context::of(ToolkitVersion::new(13, 0)) };
        for group in grouped(diagnose(&lines.join("\n"), &context)) {
            prop_assert!(!group.diagnoses.is_empty());
            prop_assert!(!group.cause.name().is_empty());
            let _ = group.cause.to_string();
        }
    }
}
