//! From outcomes to exit status, table and summary, without any compiler.

use blockgate_arch::ToolkitVersion;
use blockgate_archlist::{ArchList, parse};
use blockgate_findings::ExitStatus;
use expect_test::expect;

use super::facts::{CensusRow, Evaluated, Facts, ImageFacts, ObjectFacts, Repeat, Same, ToolkitFacts};
use super::failure;
use super::outcome::{Attempt, Checked, Compared, Row, Status, exit_status, judge};
use super::{summary, table};

fn list(name: &str, more: &str) -> ArchList {
    let text = format!("why: x\nships: false\narchitectures: \"121\"\n{more}");
    parse(&text, &format!("{name}.yaml")).unwrap()
}

fn toolkit() -> Option<ToolkitFacts> {
    Some(ToolkitFacts {
        version: ToolkitVersion::new(13, 0).with_patch(88),
        source: "provisioned".to_owned(),
    })
}

fn object(source: &str, targets: &[&str]) -> ObjectFacts {
    ObjectFacts {
        source: source.to_owned(),
        sha256: "00".to_owned(),
        images: targets
            .iter()
            .map(|target| ImageFacts {
                target: target.parse().unwrap(),
                code: "11".to_owned(),
                kernels: Vec::new(),
            })
            .collect(),
    }
}

/// An archive with these rows of architecture, cubins, PTX and conversions.
fn checked(size_bytes: u64, census: &[(&str, u64, u64, Option<u64>)]) -> Checked {
    Checked {
        facts: Facts {
            archive: "target/arch/x/libblockgate_kernels.a".to_owned(),
            size_bytes,
            sha256: "ab".to_owned(),
            census: census
                .iter()
                .map(|(arch, cubins, ptx, conversions)| CensusRow {
                    arch: arch.parse().unwrap(),
                    cubins: *cubins,
                    ptx: *ptx,
                    conversions: *conversions,
                })
                .collect(),
            totals: serde_json::json!({ "cubins": {} }),
            objects: vec![object("qmv.cu", &["sm_121", "compute_121"])],
            ..Facts::default()
        },
        ..Checked::default()
    }
}

fn compared(size_over_baseline_bytes: i64, rows: &[(&str, bool, Option<bool>)]) -> Compared {
    Compared {
        size_over_baseline_bytes,
        same: rows
            .iter()
            .map(|(source, object, code)| {
                (
                    (*source).to_owned(),
                    Same {
                        object: *object,
                        code: *code,
                    },
                )
            })
            .collect(),
    }
}

fn built(list: &ArchList, checked: Checked) -> Row {
    judge(list, toolkit(), Attempt::Built(Box::new(checked)), false)
}

fn evaluated(expr: &str, found: Option<u64>, holds: Option<bool>) -> Evaluated {
    Evaluated {
        expr: expr.to_owned(),
        found,
        holds,
        reason: holds.is_none().then(|| "half a file".to_owned()),
    }
}

fn failed(list: &ArchList, log: &str) -> Row {
    let groups = failure::read(log, list, ToolkitVersion::new(13, 0));
    judge(list, toolkit(), Attempt::Failed(groups), false)
}

const MISMATCH: &str =
    "/x/markers/two_gates.cu(27): error: identifier \"convert_pair_in_hardware\" is undefined\n";
const TYPO: &str =
    "/x/markers/two_gates.cu(27): error: identifier \"convert_piar_in_hardware\" is undefined\n";
const PLAIN: &str =
    "ptxas /tmp/a.ptx, line 9; error   : Instruction 'cvt with .e2m1x2' not supported on .target 'sm_121'\n";

fn family() -> ArchList {
    let text =
        "why: x\nships: false\narchitectures: \"121f\"\nsources: markers\nexpect_failure: gate-mismatch\n";
    parse(text, "gb10-family.yaml").unwrap()
}

fn missing_toolkit() -> Attempt {
    Attempt::NoTools {
        reason: "no CUDA toolkit >=12.4, <13.0 was found".to_owned(),
        short: "no CUDA >=12.4, <13.0".to_owned(),
    }
}

/// A whole run: one row of each kind.
fn run() -> Vec<Row> {
    let mut plain = checked(2_096_258, &[("sm_121", 6, 6, Some(0))]);
    plain.facts.repeat = Repeat::Identical;
    let mut combined = checked(
        3_625_234,
        &[("sm_121", 6, 6, Some(0)), ("sm_121a", 6, 0, Some(48))],
    );
    combined.baseline = Some(compared(
        1_528_976,
        &[
            ("control.cu", false, Some(false)),
            ("qmv.cu", false, Some(true)),
            ("quantize.cu", false, Some(false)),
        ],
    ));
    combined.facts.repeat = Repeat::Differs(vec!["qmv.cu.o".to_owned()]);
    let mut extended = checked(
        2_265_810,
        &[("sm_121", 6, 6, Some(0)), ("sm_121a", 1, 0, Some(0))],
    );
    extended.facts.expectations = vec![
        evaluated("ptx(sm_121) >= 1", Some(6), Some(true)),
        evaluated(r"sass(F2FP\.SATFINITE\.E2M1)@sm_121a >= 1", Some(0), Some(false)),
    ];
    extended.baseline = Some(compared(-512, &[("qmv.cu", true, Some(true))]));
    vec![
        built(&list("gb10-plain", ""), plain),
        built(&list("gb10-combined", "baseline: gb10-plain\n"), combined),
        built(&list("gb10-per-source", "baseline: gb10-plain\n"), extended),
        failed(&family(), MISMATCH),
        failed(&list("broken", ""), PLAIN),
        judge(&list("volta", "optional: true\n"), None, missing_toolkit(), false),
    ]
}

#[test]
fn the_table() {
    let mut out = Vec::new();
    table::write(&mut out, &run()).unwrap();
    let text = String::from_utf8(out).unwrap();
    expect![[r#"
         list             arch     cubins  PTX  E2M1  size, bytes  over baseline  code changed in
         gb10-plain       sm_121        6    6     0    2,096,258              –  –
         gb10-combined    sm_121        6    6     0    3,625,234     +1,528,976  control.cu, quantize.cu
                          sm_121a       6    0    48
         gb10-per-source  sm_121        6    6     0    2,265,810           -512  none
                          sm_121a       1    0     0
         gb10-family      –             –    –     –            –              –  (failed as expected)
         broken           –             –    –     –            –              –  (failed)
         volta            –             –    –     –            –              –  (not built)
        gb10-plain: built again, the same bytes
        gb10-combined: built again, other bytes in qmv.cu.o
        gb10-per-source: failed: expected sass(F2FP\.SATFINITE\.E2M1)@sm_121a >= 1, found 0
        gb10-family: failed as expected: gate mismatch: in the pass for `121f` the caller wants `convert_pair_in_hardware`, which is not defined there; a family target defines __CUDA_ARCH_FAMILY_SPECIFIC__ and not __CUDA_ARCH_SPECIFIC__, so gate both sides by one macro or build `121a`
          two_gates.cu: identifier "convert_pair_in_hardware" is undefined
        broken: failed: `121` has no `cvt with .e2m1x2`; build `121f` or `121a`
          a: Instruction 'cvt with .e2m1x2' not supported on .target 'sm_121'
          log: build.log in the folder of broken
        volta: not built: no CUDA toolkit >=12.4, <13.0 was found
        2 built, 1 failed as expected (gb10-family: gate-mismatch), 1 not built (volta: no CUDA >=12.4, <13.0), 2 failed (gb10-per-source: expectation; broken: instruction-not-supported)
    "#]].assert_eq(&text);
    let table = text.lines().take_while(|line| !line.contains(": "));
    for line in table {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn the_summary() {
    let mut out = Vec::new();
    summary::write(&mut out, &run()).unwrap();
    expect_test::expect_file!["../../../fixtures/build/summary.json"]
        .assert_eq(&String::from_utf8(out).unwrap());
}

#[test]
fn a_kept_summary_says_what_it_depended_on() {
    let circumstances = summary::Circumstances {
        measured_at_utc: "2026-01-02T03:04:05Z".to_owned(),
        machine: "a processor, 2 threads".to_owned(),
        sources_sha256: "5a".to_owned(),
        lists_sha256: [("gb10-plain".to_owned(), "1b".to_owned())].into(),
    };
    let mut out = Vec::new();
    summary::write_kept(&mut out, &run()[..1], &circumstances).unwrap();
    let kept: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let mut plain = Vec::new();
    summary::write(&mut plain, &run()[..1]).unwrap();
    let plain: serde_json::Value = serde_json::from_slice(&plain).unwrap();
    assert_eq!(
        (&kept["schema"], &kept["lists"]),
        (&plain["schema"], &plain["lists"])
    );
    assert_eq!(kept["measured_at_utc"], "2026-01-02T03:04:05Z");
    assert_eq!(kept["machine"], "a processor, 2 threads");
    assert_eq!(kept["sources_sha256"], "5a");
    assert_eq!(kept["lists_sha256"]["gb10-plain"], "1b");
}

#[test]
fn exit_statuses() {
    let status = |row: &Row| (row.status, row.exit);
    let plain = list("a", "");
    let good = || checked(1, &[("sm_121", 1, 1, Some(0))]);
    let with = |change: &dyn Fn(&mut Checked)| {
        let mut checked = good();
        change(&mut checked);
        checked
    };
    let rows = [
        built(&plain, good()),
        built(
            &plain,
            with(&|checked| checked.facts.expectations = vec![evaluated("size < 1", Some(1), Some(false))]),
        ),
        built(
            &plain,
            with(&|checked| checked.facts.expectations = vec![evaluated("size < 1", None, None)]),
        ),
        built(
            &plain,
            with(&|checked| checked.facts.audit_errors.push("x: bad".to_owned())),
        ),
        built(&plain, with(&|checked| checked.wrong.push("a.cu: x".to_owned()))),
        built(&family(), good()),
        failed(&family(), MISMATCH),
        failed(&family(), PLAIN),
        failed(&family(), TYPO),
        failed(&family(), &format!("{MISMATCH}{PLAIN}")),
        failed(&family(), ""),
        failed(&plain, PLAIN),
        failed(&plain, ""),
        judge(&plain, toolkit(), Attempt::Broken("x.o: y".to_owned()), false),
        // Another source died, and no compiler said why.
        failed(
            &family(),
            &format!("FAILED: m.dir/two_gates.cu.o\n{MISMATCH}FAILED: m.dir/one_gate.cu.o\nKilled\n"),
        ),
        judge(&plain, None, missing_toolkit(), false),
        judge(&list("a", "optional: true\n"), None, missing_toolkit(), false),
        judge(&list("a", "optional: true\n"), None, missing_toolkit(), true),
    ];
    let expected = [
        (Status::Built, ExitStatus::Clean),
        (Status::Failed, ExitStatus::Failed),
        (Status::Failed, ExitStatus::Unreadable),
        (Status::Failed, ExitStatus::Unreadable),
        (Status::Failed, ExitStatus::Failed),
        (Status::Failed, ExitStatus::Failed),
        (Status::FailedAsExpected, ExitStatus::Clean),
        (Status::Failed, ExitStatus::Failed),
        (Status::Failed, ExitStatus::Failed),
        (Status::Failed, ExitStatus::Failed),
        (Status::Failed, ExitStatus::Failed),
        (Status::Failed, ExitStatus::Unreadable),
        (Status::Failed, ExitStatus::Unreadable),
        (Status::Failed, ExitStatus::Unreadable),
        (Status::Failed, ExitStatus::Failed),
        (Status::NotBuilt, ExitStatus::Unreadable),
        (Status::NotBuilt, ExitStatus::Clean),
        (Status::NotBuilt, ExitStatus::Unreadable),
    ];
    for (index, (row, expected)) in rows.iter().zip(expected).enumerate() {
        assert_eq!(status(row), expected, "row {index}: {:?}", row.reasons);
        let explained = !row.reasons.is_empty();
        assert_eq!(explained, expected.0 != Status::Built, "row {index}");
    }
    assert_eq!(exit_status(&rows[..2]), ExitStatus::Failed);
    assert_eq!(exit_status(&rows), ExitStatus::Unreadable);
}

#[test]
fn comparisons_with_the_baseline() {
    let bounded = list(
        "a",
        "device: \"12.1\"\nbaseline: b\nsame_code: all-but-per-source\nsize_over_baseline: \"<= 1 KiB\"\n\
         per_source:\n  quantize.cu: 121a-real\n",
    );
    let with = |baseline| Checked {
        baseline,
        ..checked(1, &[("sm_121", 1, 1, Some(0))])
    };
    // Another project's sources are named by path; lists name files.
    let exempt = ("src/quantize.cu (x.dir/quantize.cu.o)", false, Some(false));
    assert!(
        built(&bounded, with(Some(compared(0, &[exempt]))))
            .reasons
            .is_empty()
    );
    let same = ("qmv.cu", true, Some(true));
    let other = ("quantize.cu", false, Some(false));
    let reasons = |baseline| built(&bounded, with(baseline)).reasons;
    assert!(reasons(Some(compared(1024, &[same, other]))).is_empty());
    assert_eq!(
        reasons(Some(compared(1025, &[("qmv.cu", false, Some(true)), other]))),
        [
            "qmv.cu: the object is not the one of b",
            "+1025 bytes over b; the list allows <= 1 KiB"
        ]
    );
    assert_eq!(reasons(None), ["nothing to compare with: b was not built"]);
    let unbounded = list("a", "baseline: b\n");
    assert!(built(&unbounded, with(None)).reasons.is_empty());
}
