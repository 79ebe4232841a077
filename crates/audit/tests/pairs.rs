//! What is compared with what: members, regions and kernels of two inputs.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests read files of this repository"
)]

use std::path::{Path, PathBuf};

use blockgate_audit::diff::{self, Change, Code, Diff, GateOutcome};
use blockgate_audit::{NoProgress, Report, audit};
use blockgate_expect::Glob;
use blockgate_findings::ExitStatus;

fn report(file: &str) -> Report {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(file);
    audit(&[path], &diff::options(), &NoProgress)
}

fn globs(texts: &[&str]) -> Vec<Glob> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// `old>new change: image code, …` of each module.
fn modules(diff: &Diff<'_>) -> Vec<String> {
    let region = |region: Option<u32>| region.map_or_else(|| "-".to_owned(), |region| region.to_string());
    diff.modules
        .iter()
        .map(|module| {
            let images: Vec<String> = module
                .images
                .iter()
                .map(|image| {
                    let side = image.sides().next().unwrap();
                    let kernels: Vec<String> = image
                        .kernels
                        .iter()
                        .filter(|kernel| kernel.change() != Change::Same)
                        .map(|kernel| format!(" {} {}", kernel.change().as_str(), kernel.name))
                        .collect();
                    format!(
                        "{} {} {}{}",
                        side.arch.unwrap(),
                        side.kind.as_str(),
                        image.code.as_str(),
                        kernels.concat()
                    )
                })
                .collect();
            format!(
                "{}{}>{} {}: {}",
                module
                    .member
                    .map(|member| format!("{member} "))
                    .unwrap_or_default(),
                region(module.old_region),
                region(module.new_region),
                module.change().as_str(),
                images.join(", ")
            )
        })
        .collect()
}

#[test]
fn a_region_that_is_put_in_front_moves_no_other() {
    let (old, new) = (report("diff/old.fatbin"), report("diff/new.fatbin"));
    let diff = diff::diff(&old, &new, &[]).unwrap();
    assert_eq!(
        modules(&diff),
        [
            "->0 added: sm_80 cubin different added _Z5freshPi, sm_80 ptx different",
            "0>1 same: sm_80 cubin identical, sm_80 ptx identical",
            "1>2 changed: sm_80 cubin different changed _Z5scalePff, sm_80 ptx different",
            "2>3 same: sm_80 cubin identical, sm_80 ptx identical",
        ]
    );
    assert_eq!(diff.status(), ExitStatus::Clean);
    // The other way round it is taken out.
    let diff = diff::diff(&new, &old, &[]).unwrap();
    assert_eq!(
        modules(&diff)
            .iter()
            .map(|module| module.split(':').next().unwrap())
            .collect::<Vec<_>>(),
        ["0>- removed", "1>0 same", "2>1 changed", "3>2 same"]
    );
}

#[test]
fn members_are_paired_by_name() {
    let (old, new) = (report("diff/old.a"), report("diff/new.a"));
    let diff = diff::diff(&old, &new, &[]).unwrap();
    assert_eq!(
        modules(&diff),
        [
            "fresh.o ->0 added: sm_80 cubin different added _Z5freshPi, sm_80 ptx different",
            "gone.o 0>- removed: sm_80 cubin different removed _Z4gonePi, sm_80 ptx different",
            "same.o 0>0 same: sm_80 cubin identical, sm_80 ptx identical",
            "scale.o 0>0 changed: sm_80 cubin different changed _Z5scalePff, sm_80 ptx different",
            "wider.o 0>0 changed: sm_80 cubin identical, sm_90 cubin different added _Z5freshPi, sm_80 ptx identical",
        ]
    );
    let members: Vec<String> = diff
        .members
        .iter()
        .map(|member| format!("{} {}", member.name, member.change().as_str()))
        .collect();
    assert_eq!(
        members,
        [
            "same.o same",
            "scale.o changed",
            "wider.o changed",
            "gone.o removed",
            "fresh.o added"
        ]
    );
    let totals = diff::totals(&diff);
    let sm_80 = &totals[0];
    assert_eq!(
        (
            sm_80.same_kernels,
            sm_80.changed_kernels,
            sm_80.added_kernels,
            sm_80.removed_kernels
        ),
        (3, 1, 1, 1)
    );
    assert_eq!(sm_80.mnemonics()["FMUL"], (1, 2));
}

/// `gnu.a` has two members of one name, which are PTX and a host object; neither hides the other.
#[test]
fn members_of_one_name_are_paired_in_their_order() {
    let old = report("fatbin/archives/gnu.a");
    let diff = diff::diff(&old, &old, &[]).unwrap();
    assert!(diff.is_identical());
    let names: Vec<&str> = diff.members.iter().map(|member| member.name).collect();
    assert_eq!(
        names.iter().filter(|name| **name == "k.ptx").count(),
        2,
        "{names:?}"
    );
    assert!(diff.modules.iter().all(|module| module.change() == Change::Same));
    assert_eq!(
        diff.modules
            .iter()
            .filter(|module| module.member == Some("k.ptx"))
            .count(),
        2
    );
}

#[test]
fn gates_are_about_members_or_else_about_kernels() {
    let (old, new) = (report("diff/old.a"), report("diff/new.a"));
    let texts = [
        "same.o",
        "scale*",
        "wider.o",
        "gone.o",
        "*shift(float\\*,*",
        "_Z5scalePff",
        "nothing",
    ];
    let diff = diff::diff(&old, &new, &globs(&texts)).unwrap();
    let found: Vec<String> = diff
        .gates
        .iter()
        .map(|gate| match &gate.outcome {
            GateOutcome::Holds { compared, kernels } => format!("holds {compared} {kernels}"),
            GateOutcome::Fails { differences } => format!("fails: {}", differences.join("; ")),
            GateOutcome::NotChecked { reason } => format!("not checked: {reason}"),
        })
        .collect();
    assert_eq!(
        found,
        [
            "holds 2 false",
            "fails: changed: sm_80 cubin of scale.o; changed: sm_80 ptx of scale.o",
            "fails: only in the new input: sm_90 cubin of wider.o",
            "fails: only in the old input: sm_80 cubin of gone.o; only in the old input: sm_80 ptx of gone.o",
            "holds 1 true",
            "fails: changed: sm_80 cubin, scale(float*, float)",
            "not checked: it matches no member and no kernel",
        ]
    );
    let status = |text: &str| {
        let diff = diff::diff(&old, &new, &globs(&[text])).unwrap();
        diff.status()
    };
    assert_eq!(status("same.o"), ExitStatus::Clean);
    assert_eq!(status("scale.o"), ExitStatus::Failed);
    assert_eq!(status("nothing"), ExitStatus::Unreadable);
    // What cannot be compared is no pass.
    assert_eq!(diff.status(), ExitStatus::Unreadable);
}

#[test]
fn what_cannot_be_compared_is_called_that() {
    // LTO-IR is scrambled: two builds of it cannot be compared, unless all bytes are the same.
    let (old, new) = (
        report("fatbin/toolkits/x_lto1.o"),
        report("fatbin/toolkits/y_lto1.o"),
    );
    let diff = diff::diff(&old, &new, &globs(&["*"])).unwrap();
    let codes: Vec<Code> = diff
        .modules
        .iter()
        .flat_map(|module| &module.images)
        .map(|image| image.code)
        .collect();
    assert!(codes.contains(&Code::NotCompared), "{codes:?}");
    assert_eq!(diff.status(), ExitStatus::Unreadable);
    let same = diff::diff(&old, &old, &[]).unwrap();
    assert!(same.modules.iter().all(|module| module.change() == Change::Same));
    // A damaged input is never the same as anything.
    let damaged = report("fatbin/edge/z_corrupt.fatbin");
    let diff = diff::diff(&damaged, &report("fatbin/edge/z_base.fatbin"), &[]).map(|diff| diff.status());
    assert_eq!(diff, Some(ExitStatus::Unreadable));
}
