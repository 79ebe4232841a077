//! The page as bytes. What a browser makes of it is read in a browser, by `cargo xtask browser`.

use std::path::{Path, PathBuf};

use blockgate_expect::Expectation;
use blockgate_findings::Severity;
use serde_json::Value;

use super::*;
use crate::report::{Unchecked, Waived};
use crate::{NoProgress, Options, audit};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/fatbin")
        .join(name)
}

fn page(report: &Report, options: &HtmlOptions) -> String {
    let mut out = Vec::new();
    html(&mut out, report, options).unwrap();
    String::from_utf8(out).unwrap()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap();
    rest.split_once(end).unwrap().0
}

fn data(page: &str) -> Value {
    let block = between(
        page,
        r#"<script type="application/json" id="report">"#,
        "</script>",
    );
    serde_json::from_str(block).unwrap()
}

fn kernels_of(name: &str, expectations: &[&str]) -> Report {
    let options = Options {
        kernels: true,
        expectations: expectations
            .iter()
            .map(|text| text.parse::<Expectation>().unwrap())
            .collect(),
        ..Options::default()
    };
    audit(&[fixture(name)], &options, &NoProgress)
}

#[test]
fn the_data_is_the_machine_output_with_functions_in_one_table() {
    let report = kernels_of("toolkits/x_ar.a", &["cubins(sm_80) == 2"]);
    let mnemonics = Mnemonics {
        all: true,
        patterns: Vec::new(),
    };
    let mut machine = Vec::new();
    crate::render::json(&mut machine, &report, &mnemonics).unwrap();
    let machine: Value = serde_json::from_slice(&machine).unwrap();
    let options = HtmlOptions {
        mnemonics,
        strict: false,
    };
    let mut found = data(&page(&report, &options));
    let page_only = found.as_object_mut().unwrap().remove("page").unwrap();
    assert_eq!(page_only["exit_status"], 0);

    let mut expected = machine;
    let images = expected["inputs"][0]["images"].as_array_mut().unwrap();
    let mut functions = Vec::new();
    for (at, image) in images.iter_mut().enumerate() {
        let Value::Array(of_image) = image["functions"].take() else {
            panic!("an image without functions");
        };
        image["functions"] = Value::Array(Vec::new());
        functions.extend(of_image.into_iter().map(|function| (at, function)));
        let conversions = report.files[0].images[at].e2m1_conversions();
        assert_eq!(page_only["e2m1"][at], Value::from(conversions));
    }
    assert_eq!(page_only["e2m1"].as_array().unwrap().len(), images.len());
    assert_eq!(difference("", &found, &expected), None);

    let table = &page_only["kernels"];
    let column = |name: &str| {
        let columns = table["columns"].as_array().unwrap();
        2 + columns.iter().position(|column| column == name).unwrap()
    };
    let rows = table["rows"].as_array().unwrap();
    assert_eq!(rows.len(), functions.len());
    assert!(rows.len() > table["names"].as_array().unwrap().len());
    for (row, (at, function)) in rows.iter().zip(&functions) {
        let name = usize::try_from(row[1].as_u64().unwrap()).unwrap();
        assert_eq!(row[0], *at);
        assert_eq!(table["names"][name], function["name"]);
        assert_eq!(table["demangled"][name], function["demangled"]);
        assert_eq!(row[column("code_size")], function["code_size"]);
        assert_eq!(row[column("instructions")], function["instructions"]);
        assert_eq!(row[column("registers")], function["registers"]);
        assert_eq!(row[column("constants.0")], function["constants"]["0"]);
    }
}

/// The first place where two documents differ, in words that stay short however large they are.
fn difference(place: &str, found: &Value, expected: &Value) -> Option<String> {
    let short = |value: &Value| value.to_string().chars().take(80).collect::<String>();
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            let names: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
            names.into_iter().find_map(|name| {
                let place = format!("{place}/{name}");
                match (found.get(name), expected.get(name)) {
                    (Some(one), Some(other)) => difference(&place, one, other),
                    (Some(_), None) => Some(format!("{place}: in the page alone")),
                    _ => Some(format!("{place}: missing in the page")),
                }
            })
        }
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
            (0..found.len()).find_map(|at| difference(&format!("{place}/{at}"), &found[at], &expected[at]))
        }
        _ => (found != expected)
            .then(|| format!("{place}: expected {}, found {}", short(expected), short(found))),
    }
}

#[test]
fn a_difference_is_one_short_line() {
    let document = |members: Value| serde_json::json!({ "inputs": [{ "members": members, "size": 5 }] });
    let whole = document(serde_json::json!(["a", "b"]));
    assert_eq!(difference("", &whole, &whole), None);
    for (other, expected) in [
        (
            document(serde_json::json!(["a", "c"])),
            r#"/inputs/0/members/1: expected "c", found "b""#,
        ),
        (
            document(serde_json::json!(["x".repeat(1000)])),
            &format!(
                r#"/inputs/0/members: expected ["{}, found ["a","b"]"#,
                "x".repeat(78)
            ),
        ),
        (
            serde_json::json!({ "inputs": [], "policy": null }),
            r#"/inputs: expected [], found [{"members":["a","b"],"size":5}]"#,
        ),
        (
            serde_json::json!({ "inputs": whole["inputs"], "policy": null }),
            "/policy: missing in the page",
        ),
        (serde_json::json!({}), "/inputs: in the page alone"),
    ] {
        assert_eq!(difference("", &whole, &other).as_deref(), Some(expected));
    }
}

#[test]
fn waived_findings_and_unchecked_rules_are_in_the_page() {
    let mut report = kernels_of("edge/arch_lie.fatbin", &[]);
    let finding = report.findings.pop().unwrap();
    report.waived.push(Waived {
        finding: finding.clone(),
        reason: "</script> known".to_owned(),
    });
    report.unchecked.push(Unchecked {
        rule: "size-over-budget",
        severity: Severity::Error,
        artifact: None,
        reason: "not today".to_owned(),
    });
    report.policy = Some("a/blockgate.yaml".to_owned());
    let found = data(&page(&report, &HtmlOptions::default()));
    assert_eq!(found["policy"], "a/blockgate.yaml");
    assert_eq!(found["waived"][0]["reason"], "</script> known");
    assert_eq!(found["waived"][0]["finding"]["rule"], finding.rule);
    assert_eq!(found["unchecked"][0]["rule"], "size-over-budget");
    assert_eq!(found["page"]["exit_status"], 3);
}

#[test]
fn counts_by_mnemonic_are_columns_where_they_were_asked_for() {
    let report = kernels_of("toolkits/x_ar.a", &[]);
    let columns = |all: bool, pattern: &str| {
        let options = HtmlOptions {
            mnemonics: Mnemonics {
                all,
                patterns: vec![regex::Regex::new(pattern).unwrap()],
            },
            strict: false,
        };
        let kernels = data(&page(&report, &options))["page"]["kernels"].take();
        assert!(kernels["mnemonics"].as_array().unwrap().len() < 3);
        kernels["columns"].as_array().unwrap().contains(&"EXIT".into())
    };
    assert!(columns(false, "^EXIT$"));
    assert!(!columns(false, "^NOP$"));
    assert!(!columns(true, "^EXIT$"));
}

#[test]
fn nothing_in_a_report_can_end_the_data() {
    let hostile =
        "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> \u{2028}\u{2029} & \" \\u003c";
    let mut report = kernels_of("toolkits/x.fatbin", &[]);
    let file = &mut report.files[0];
    hostile.clone_into(&mut file.path);
    file.images[0].member = Some(hostile.into());
    file.images[0].kernels[0].name = hostile.to_owned();
    let plain = page(&kernels_of("toolkits/x.fatbin", &[]), &HtmlOptions::default());
    let page = page(&report, &HtmlOptions::default());

    let found = data(&page);
    assert_eq!(found["inputs"][0]["path"], hostile);
    assert_eq!(found["inputs"][0]["images"][0]["member"], hostile);
    assert!(
        found["page"]["kernels"]["names"]
            .as_array()
            .unwrap()
            .contains(&hostile.into())
    );
    for mark in ["<script", "</script", "<!--", "<img", "\u{2028}", "\u{2029}"] {
        assert_eq!(page.matches(mark).count(), plain.matches(mark).count(), "{mark}");
    }
}

#[test]
fn the_policy_names_the_style_and_the_script_that_are_there() {
    let page = page(&kernels_of("toolkits/x.fatbin", &[]), &HtmlOptions::default());
    let policy = between(&page, r#"http-equiv="Content-Security-Policy" content=""#, "\"");
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    for (directive, start, end) in [
        ("style-src", "<style>", "</style>"),
        ("script-src", r#"<script type="module">"#, "</script>"),
    ] {
        let hash = base64(&Sha256::digest(between(&page, start, end)));
        assert!(
            policy.contains(&format!("{directive} 'sha256-{hash}'")),
            "{policy}"
        );
    }
    // Source: RFC 4648, section 10.
    for (bytes, text) in [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
    ] {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
}

#[test]
fn the_page_is_small_and_the_same_each_time() {
    let report = || kernels_of("toolkits/x_so.so", &["size > 0"]);
    let one = page(&report(), &HtmlOptions::default());
    assert_eq!(one, page(&report(), &HtmlOptions::default()));
    assert!(one.len() < 128 << 10, "{} bytes", one.len());
    assert!(!one.contains("{{") && one.ends_with("</html>\n"));
    // No address that a browser could fetch.
    assert!(!one.contains("http:") && !one.contains("https:") && !one.contains("url("));
}

#[test]
fn warnings_decide_the_verdict_where_they_count() {
    let report = kernels_of("edge/arch_lie.fatbin", &[]);
    for strict in [false, true] {
        let options = HtmlOptions {
            mnemonics: Mnemonics::default(),
            strict,
        };
        let status = &data(&page(&report, &options))["page"]["exit_status"];
        assert_eq!(*status, report.status(strict).code());
    }
    assert_ne!(report.status(false), report.status(true));
}
