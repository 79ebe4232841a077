//! Rules, `blockgate.yaml`, output formats and `explain` as a user meets them.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests run a program on files"
)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Output;

use expect_test::{Expect, expect, expect_file};

use support::{blockgate, fixtures};

fn stdout(output: &Output) -> String {
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The findings about `path` under `rule` in the machine output, as `severity: message`.
#[track_caller]
fn found(rule: &str, arguments: &[&str]) -> Vec<String> {
    let all = [&["audit", "--no-policy", "--format", "github"], arguments].concat();
    let output = blockgate(&fixtures("fatbin"), &all);
    let title = format!("title=blockgate {rule}::");
    stdout(&output)
        .lines()
        .filter_map(|line| {
            let (command, message) = line.split_once(&title)?;
            let kind = command.split_whitespace().next()?.trim_start_matches("::");
            let message = message.split("%0A").next()?;
            Some(format!("{kind}: {message}"))
        })
        .collect()
}

/// Every rule that needs no configuration: a file that breaks it, and one that does not.
#[test]
fn each_rule_on_real_files() {
    for (rule, bad, message, good) in [
        (
            "missing-specific-image",
            "cases/a05_plain.o",
            "notice: 1 image for sm_121 and none for sm_121a",
            "cases/a07.a",
        ),
        (
            "family-image",
            "cases/a03_released.o",
            "notice: 1 image for the family target sm_100f",
            "cases/a05_combined.o",
        ),
        (
            "no-forward-ptx",
            "cases/a01.o",
            "notice: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run",
            "cases/a05_combined.o",
        ),
        (
            "duplicate-image",
            "edge/twice.fatbin",
            "warning: 1 image for sm_80, byte for byte the same as earlier ones (4.8 KiB)",
            "cases/a05_combined.o",
        ),
        (
            "default-arch",
            "cases/a19.o",
            "warning: 1 image for sm_75 with PTX and nothing else: the default of CUDA 13.0 when no architecture is given",
            "cases/a05_plain.o",
        ),
        (
            "label-without-code",
            "cases/a01.o",
            "notice: no instruction that the plain target lacks in 1 of 1 image for sm_90a",
            "cases/a05_combined.o",
        ),
        (
            "compression-driver-floor",
            "cases/a11_size.o",
            "notice: 3 images compressed with zstd, which needs a driver of CUDA 12.4 (550) or later",
            "cases/a11_none.o",
        ),
    ] {
        let broken = found(rule, &[bad]);
        assert_eq!(
            broken.first().map(String::as_str),
            Some(message),
            "{rule} on {bad}: {broken:?}"
        );
        assert_eq!(found(rule, &[good]), [""; 0], "{rule} on {good}");
    }
}

/// An entry header that claims a suffix which the code does not have.
#[test]
fn a_label_that_the_code_belies() {
    // Where the first entry header has its flags; this one is the mark for a specific target.
    const FLAGS_AT: usize = 16 + 40;
    const SPECIFIC: [u8; 3] = [0x11, 0, 0x10];
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(fixtures("fatbin").join("cases/a09.fatbin")).unwrap();
    bytes[FLAGS_AT..FLAGS_AT + 3].copy_from_slice(&SPECIFIC);
    fs::write(folder.path().join("x.fatbin"), bytes).unwrap();
    let path = folder.path().join("x.fatbin");
    assert_eq!(
        found("suffix-disagreement", &[path.to_str().unwrap()]),
        ["warning: expected sm_120a, as the entry header says, found sm_120 by the cubin itself"]
    );
    assert_eq!(found("suffix-disagreement", &["cases/a09.fatbin"]), [""; 0]);
}

/// An archive of these objects of the fixtures.
fn archive(folder: &Path, name: &str, members: &[(&str, &str)]) {
    let mut bytes = b"!<arch>\n".to_vec();
    for (member, object) in members {
        let content = fs::read(fixtures("fatbin").join(object)).unwrap();
        let header = format!(
            "{:<16}0           0     0     644     {:<10}`\n",
            format!("{member}/"),
            content.len()
        );
        bytes.extend(header.as_bytes());
        bytes.extend(&content);
        if content.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    fs::write(folder.join(name), bytes).unwrap();
}

#[test]
fn an_object_that_the_list_did_not_reach() {
    let folder = tempfile::tempdir().unwrap();
    let plain = "cases/a05_plain.o";
    let members = [
        ("a.o", plain),
        ("b.o", "cases/a05_combined.o"),
        ("late.o", "cases/a17_real.o"),
    ];
    archive(folder.path(), "lib.a", &members);
    let output = blockgate(folder.path(), &["audit", "--no-policy", "lib.a"]);
    let printed = stdout(&output);
    let findings: Vec<&str> = printed
        .lines()
        .skip_while(|line| !line.contains("[partial-coverage]"))
        .take(3)
        .collect();
    expect![[r#"
        lib.a: warning[partial-coverage]: 2 of 3 translation units have an image for sm_121, 1 without
          note: without: late.o
          note: 1 of them have no image that a device of 12.1 can run
    "#]]
    .assert_eq(&(findings.join("\n") + "\n"));
    assert_eq!(output.status.code(), Some(0));
}

const RELEASE: &str = "../policy/release.yaml";

fn release(format: &str) -> Output {
    blockgate(
        &fixtures("fatbin"),
        &[
            "audit",
            "--policy",
            RELEASE,
            "--format",
            format,
            "cases/a05_plain.o",
        ],
    )
}

/// Holds what was printed against a schema, whose path is relative to the fixtures.
#[track_caller]
fn conforms(printed: &str, schema: &str) {
    let schema = fs::read_to_string(fixtures("fatbin").join(schema)).unwrap();
    let schema = serde_json::from_str(&schema).unwrap();
    let document = serde_json::from_str(printed).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> = validator
        .iter_errors(&document)
        .map(|problem| format!("{}: {problem}", problem.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[track_caller]
fn check(output: &Output, status: i32, expected: &Expect) {
    expected.assert_eq(&stdout(output));
    assert_eq!(output.status.code(), Some(status), "{}", stderr(output));
}

#[test]
fn a_policy_for_people() {
    check(
        &release("human"),
        1,
        &expect![[r#"
            policy: ../policy/release.yaml
            cases/a05_plain.o: elf-relocatable, 12.0 KiB, device code: present, 2 images
             arch    kind   images  kernels  instructions  E2M1   stored     size
             sm_121  cubin       1        1            24     0  5.1 KiB  5.1 KiB
             sm_121  ptx         1        1             –     –    275 B    540 B
            zstd: 1 image, for a driver of CUDA 12.4 (550) or later

            fails: cubins(sm_121a) >= 1 of cases/a05_plain.o (found 0)
            holds: images(sm_121*) >= 1 of cases/a05_plain.o (found 2)
            holds: ptx(sm_121) == 1 of cases/a05_plain.o (found 1)
            cases/a05_plain.o: error[missing-specific-image]: 1 image for sm_121 and none for sm_121a
              note: the conversion to E2M1 and the block-scaled MMA exist for sm_121a, not for sm_121
            cases/a05_plain.o: error[size-over-budget]: the size is 12.0 KiB and should be <= 11 KiB
              note: 12368 bytes
              note: demanded in ../policy/release.yaml:5
            cases/a05_plain.o: error[uncovered-device]: 1 of 1 translation units have no image that a device of 12.0 can run
              note: without: region 0
              note: demanded in ../policy/release.yaml:3
            ../policy/release.yaml:11:13: warning[unmatched-artifact]: `**/libmlx.so` selects nothing that was audited
              note: a glob is held against the paths of inputs, as given and from the configuration's folder, and against the names of files in packages
            ../policy/release.yaml:17:13: warning[unused-waiver]: no finding of `label-without-code` is accepted by this waiver
              note: its reason was: no such image any more
            ../policy/release.yaml:20:13: warning[expired-waiver]: the waiver for `size-over-budget` ended on 2024-01-31; 1 finding is no longer accepted
              note: its reason was: until the old list is dropped
            waived: cases/a05_plain.o [compression-driver-floor]: 1 image compressed with zstd, which needs a driver of CUDA 12.4 (550) or later (old drivers get the other package)
        "#]],
    );
}

#[test]
fn a_policy_for_programs() {
    let printed = stdout(&release("json"));
    conforms(&printed, "../../docs/schema/audit-1.json");
    let mut report: serde_json::Value = serde_json::from_str(&printed).unwrap();
    report.as_object_mut().unwrap().remove("inputs");
    expect_file!["../../../fixtures/policy/release.json.golden"].assert_eq(&format!("{report:#}\n"));
}

#[test]
fn a_policy_for_code_scanning() {
    let printed = stdout(&release("sarif"));
    conforms(&printed, "../sarif/sarif-2.1.0-rtm.5.json");
    let log: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let run = &log["runs"][0];
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    assert_eq!(run["invocations"][0]["exitCode"], 1);
    expect_file!["../../../fixtures/policy/release.sarif.golden"]
        .assert_eq(&format!("{:#}\n", run["results"]));
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let page = &rules.iter().find(|rule| rule["id"] == "unused-waiver").unwrap()["help"]["markdown"];
    assert!(page.as_str().unwrap().starts_with("# unused-waiver"), "{page}");
}

/// What could not be read makes the run an unsuccessful one, and an alert like any other.
#[test]
fn code_scanning_is_told_what_could_not_be_read() {
    let arguments = [
        "audit",
        "--no-policy",
        "--format",
        "sarif",
        "edge/trunc_last8.fatbin",
    ];
    let output = blockgate(&fixtures("fatbin"), &arguments);
    assert_eq!(output.status.code(), Some(3));
    let printed = stdout(&output);
    conforms(&printed, "../sarif/sarif-2.1.0-rtm.5.json");
    let log: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let notes = invocation["toolExecutionNotifications"].as_array().unwrap();
    assert!(!notes.is_empty());
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert!(
        results.iter().any(|result| result["level"] == "error"),
        "{results:#?}"
    );
}

#[test]
fn a_policy_for_a_workflow_run() {
    check(
        &release("github"),
        1,
        &expect![[r#"
            ::error file=../policy/release.yaml,line=2,col=12,title=blockgate expectation::`cubins(sm_121a) >= 1` does not hold of cases/a05_plain.o: found 0
            ::error file=cases/a05_plain.o,line=1,title=blockgate missing-specific-image::1 image for sm_121 and none for sm_121a%0Anote: the conversion to E2M1 and the block-scaled MMA exist for sm_121a, not for sm_121
            ::error file=cases/a05_plain.o,line=1,title=blockgate size-over-budget::the size is 12.0 KiB and should be <= 11 KiB%0Anote: 12368 bytes%0Anote: demanded in ../policy/release.yaml:5
            ::error file=cases/a05_plain.o,line=1,title=blockgate uncovered-device::1 of 1 translation units have no image that a device of 12.0 can run%0Anote: without: region 0%0Anote: demanded in ../policy/release.yaml:3
            ::warning file=../policy/release.yaml,line=11,col=13,title=blockgate unmatched-artifact::`**/libmlx.so` selects nothing that was audited%0Anote: a glob is held against the paths of inputs, as given and from the configuration's folder, and against the names of files in packages
            ::warning file=../policy/release.yaml,line=17,col=13,title=blockgate unused-waiver::no finding of `label-without-code` is accepted by this waiver%0Anote: its reason was: no such image any more
            ::warning file=../policy/release.yaml,line=20,col=13,title=blockgate expired-waiver::the waiver for `size-over-budget` ended on 2024-01-31; 1 finding is no longer accepted%0Anote: its reason was: until the old list is dropped
            failed: 3 errors, 3 warnings, 0 infos; 2 of 3 expectations held; 1 waived
        "#]],
    );
}

#[test]
fn a_policy_for_a_job_summary() {
    check(
        &release("markdown"),
        1,
        &expect![[r#"
            ## Blockgate audit

            **failed: 3 errors, 3 warnings, 0 infos; 2 of 3 expectations held; 1 waived**

            Policy: `../policy/release.yaml`

            ### Expectations

            | expected | of | found | verdict |
            |---|---|---:|---|
            | `cubins(sm_121a) >= 1` | `cases/a05_plain.o` | 0 | **fails** |
            | `images(sm_121*) >= 1` | `cases/a05_plain.o` | 2 | holds |
            | `ptx(sm_121) == 1` | `cases/a05_plain.o` | 1 | holds |

            ### Findings

            | severity | rule | where | what |
            |---|---|---|---|
            | **error** | `missing-specific-image` | `cases/a05_plain.o` | 1 image for sm\_121 and none for sm\_121a<br>the conversion to E2M1 and the block-scaled MMA exist for sm\_121a, not for sm\_121 |
            | **error** | `size-over-budget` | `cases/a05_plain.o` | the size is 12.0 KiB and should be &lt;= 11 KiB<br>12368 bytes<br>demanded in ../policy/release.yaml:5 |
            | **error** | `uncovered-device` | `cases/a05_plain.o` | 1 of 1 translation units have no image that a device of 12.0 can run<br>without: region 0<br>demanded in ../policy/release.yaml:3 |
            | warning | `unmatched-artifact` | `../policy/release.yaml:11:13` | \`\*\*/libmlx.so\` selects nothing that was audited<br>a glob is held against the paths of inputs, as given and from the configuration's folder, and against the names of files in packages |
            | warning | `unused-waiver` | `../policy/release.yaml:17:13` | no finding of \`label-without-code\` is accepted by this waiver<br>its reason was: no such image any more |
            | warning | `expired-waiver` | `../policy/release.yaml:20:13` | the waiver for \`size-over-budget\` ended on 2024-01-31; 1 finding is no longer accepted<br>its reason was: until the old list is dropped |

            ### `cases/a05_plain.o`

            elf-relocatable, 12.0 KiB, device code: present

            | arch | kind | images | kernels | instructions | E2M1 | stored | size |
            |---|---|---:|---:|---:|---:|---:|---:|
            | `sm_121` | cubin | 1 | 1 | 24 | 0 | 5.1 KiB | 5.1 KiB |
            | `sm_121` | ptx | 1 | 1 | – | – | 275 B | 540 B |

            ### Waived

            | rule | where | what | reason |
            |---|---|---|---|
            | `compression-driver-floor` | `cases/a05_plain.o` | 1 image compressed with zstd, which needs a driver of CUDA 12.4 (550) or later | old drivers get the other package |
        "#]],
    );
}

#[test]
fn a_listing_says_which_rules_it_cannot_check() {
    let output = blockgate(
        &fixtures("fatbin"),
        &["audit", "--no-policy", "--list-only", "cases/a01.o"],
    );
    check(
        &output,
        0,
        &expect![[r#"
            cases/a01.o: elf-relocatable, 18.0 KiB, device code: present, 3 images
             arch     kind   images   stored     size
             sm_80    cubin       1  2.9 KiB  2.9 KiB
             sm_90a   cubin       1  3.4 KiB  3.4 KiB
             sm_100a  cubin       1  5.0 KiB  5.0 KiB

            cases/a01.o: info[no-forward-ptx]: no PTX for a plain target, so a GPU that is later than all of these finds nothing to run
              note: there are images for sm_80, sm_90a, sm_100a
            not checked: 3 rules (label-without-code, partial-coverage, suffix-disagreement), because headers only were read
        "#]],
    );
}

/// Where a finding would fail the run, not having checked for it must not pass.
#[test]
fn a_rule_that_must_hold_and_was_not_checked_is_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("blockgate.yaml"),
        "audit: { rules: { label-without-code: error } }\n",
    )
    .unwrap();
    fs::copy(
        fixtures("fatbin").join("cases/a17_real.o"),
        folder.path().join("x.o"),
    )
    .unwrap();
    let status = |arguments: &[&str]| blockgate(folder.path(), arguments).status.code();
    assert_eq!(status(&["audit", "x.o"]), Some(0));
    assert_eq!(status(&["audit", "--list-only", "x.o"]), Some(3));
    assert_eq!(status(&["audit", "--list-only", "--no-policy", "x.o"]), Some(0));
}

#[test]
fn a_configuration_with_mistakes_checks_nothing() {
    let output = blockgate(
        &fixtures("fatbin"),
        &[
            "audit",
            "--policy",
            "../policy/mistakes.yaml",
            "cases/a05_plain.o",
        ],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "{}", stdout(&output));
    expect![[r#"
        ../policy/mistakes.yaml:2:3: error[config-unknown-key]: `audit` has no key `expects`
          note: did you mean `expect`?
          fix: rename it to `expect`
        ../policy/mistakes.yaml:3:12: error[config-rule]: there is no rule `family-images`
          note: did you mean `family-image`?
        ../policy/mistakes.yaml:3:32: error[config-rule]: the severity of `entry-cut` is fixed: it says whether something could not be read
        ../policy/mistakes.yaml:5:7: error[config-waiver]: the waiver has no `reason`; say why they are accepted
    "#]].assert_eq(&stderr(&output));
    let output = blockgate(
        &fixtures("fatbin"),
        &["audit", "--policy", "gone.yaml", "cases/a05_plain.o"],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("gone.yaml cannot be read"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_nearest_configuration_above_the_input_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let build = folder.path().join("build/lib");
    fs::create_dir_all(&build).unwrap();
    fs::copy(fixtures("fatbin").join("cases/a05_plain.o"), build.join("x.o")).unwrap();
    let demand = "audit: { artifacts: [{ path: 'build/lib/x.o', expect: ['cubins(sm_121a) >= 1'] }] }\n";
    fs::write(folder.path().join("blockgate.yaml"), demand).unwrap();
    let above = blockgate(folder.path(), &["audit", "build/lib/x.o"]);
    assert_eq!(above.status.code(), Some(1), "{}", stdout(&above));
    assert!(
        stdout(&above).starts_with("policy: blockgate.yaml\n"),
        "{}",
        stdout(&above)
    );
    // The glob is relative to the configuration, wherever the command runs.
    let inside = blockgate(&build, &["audit", "x.o"]);
    assert!(
        stdout(&inside).contains("fails: cubins(sm_121a) >= 1 of x.o (found 0)"),
        "{}",
        stdout(&inside)
    );
    let ignored = blockgate(folder.path(), &["audit", "--no-policy", "build/lib/x.o"]);
    assert_eq!(ignored.status.code(), Some(0));
    // Two inputs under two configurations have no common policy.
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("blockgate.yaml"), "").unwrap();
    fs::copy(build.join("x.o"), other.join("x.o")).unwrap();
    let both = blockgate(folder.path(), &["audit", "build/lib/x.o", "other/x.o"]);
    assert_eq!(both.status.code(), Some(2));
    expect![[r#"
        error: blockgate.yaml and other/blockgate.yaml are both above an input, and a run follows one; name it with --policy, or use --no-policy
    "#]].assert_eq(&stderr(&both));
}

/// `--strict` fails on what is a warning by itself, whether a rule or a leftover of the configuration.
#[test]
fn strict_counts_warnings() {
    let status = |arguments: &[&str]| blockgate(&fixtures("fatbin"), arguments).status.code();
    assert_eq!(status(&["audit", "--no-policy", "cases/a19.o"]), Some(0));
    assert_eq!(
        status(&["audit", "--no-policy", "--strict", "cases/a19.o"]),
        Some(1)
    );
}

#[test]
fn rules_explain_themselves() {
    let page = blockgate(&fixtures("fatbin"), &["explain", "expired-waiver"]);
    check(
        &page,
        0,
        &expect![[r##"
        # expired-waiver

        A waiver's last day (`until`) has passed. It accepts nothing any more, and what it accepted is reported again.

        ## Why

        `until` is a promise to look again. A waiver that ended in silence would turn into a failing build that nobody can explain; one
        that did not end would be no promise.

        ## Bad

        ```yaml
        waivers:
          - rule: size-over-budget
            reason: "until the old list is dropped"
            until: 2024-01-31
        ```

        ## Good

        The finding is fixed and the waiver deleted, or the day is moved on purpose.

        ## How to waive

        ```yaml
        audit:
          rules: { expired-waiver: info }            # or: off
        ```

        Default severity: warning. Since 0.1.0.
    "##]],
    );
    let reading = blockgate(&fixtures("fatbin"), &["explain", "entry-cut"]);
    check(
        &reading,
        0,
        &expect![[r#"
        # entry-cut

        An entry is larger than what is left of the file or section.

        This is said while an artifact is read. Its severity is fixed by what it means for the result: an error says that
        something could not be read, so that no count is complete and the exit status is 3; a warning says that what was read
        contradicts itself; info explains how it was read.

        ## How to waive

        Warnings and infos can be waived in `blockgate.yaml`, with a reason. Errors cannot: what could not be read is not known to
        be good.

        Default severity: varies. Since 0.1.0.
    "#]],
    );
    let list = blockgate(&fixtures("fatbin"), &["explain"]);
    let printed = stdout(&list);
    for rule in [
        "family-image ",
        "entry-cut ",
        "unreadable ",
        "config-unknown-key ",
        "expectation ",
    ] {
        assert!(printed.lines().any(|line| line.starts_with(rule)), "{rule}");
    }
    let unknown = blockgate(&fixtures("fatbin"), &["explain", "famly-image"]);
    assert_eq!(unknown.status.code(), Some(2));
    expect![[r#"
        error: there is no rule `famly-image`
          did you mean `family-image`?
    "#]]
    .assert_eq(&stderr(&unknown));
}
