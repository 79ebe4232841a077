//! SARIF against its schema and against what GitHub demands beyond that.

use expect_test::expect;
use serde_json::Value;

use super::{Row, Run, sarif, uri};
use crate::{ArtifactPlace, Finding, LineColumn, Location, RuleInfo, Severity, TextPlace};

const SCHEMA: &str = include_str!("../../../../../fixtures/sarif/sarif-2.1.0-rtm.5.json");

fn finding(rule: &'static str, severity: Severity, location: Location, message: &str) -> Finding {
    Finding {
        rule,
        severity,
        message: message.to_owned(),
        location,
        notes: vec!["a note".to_owned()],
        fix: None,
    }
}

fn artifact(path: &str, member: Option<&str>, offset_bytes: Option<u64>) -> Location {
    Location::Artifact(ArtifactPlace {
        path: path.to_owned(),
        member: member.map(str::to_owned),
        offset_bytes,
    })
}

fn log(findings: &[Finding], accepted: Option<&str>) -> Value {
    let rules = [RuleInfo {
        id: "family-image",
        summary: "an image is for a family",
        severity: Some(Severity::Info),
        since: "0.1",
        page: "# family-image\n\nFirst\nparagraph.\n\nSecond.\n".into(),
    }];
    let rows: Vec<Row<'_>> = findings.iter().map(|finding| Row { finding, accepted }).collect();
    let run = Run {
        version: "0.0.0",
        rules: &rules,
        exit_code: 3,
        complete: false,
        notifications: &["two rules were skipped".to_owned()],
    };
    let mut out = Vec::new();
    sarif(&mut out, &rows, &run).unwrap();
    let log: Value = serde_json::from_slice(&out).unwrap();
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> = validator
        .iter_errors(&log)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
    demanded_by_github(&log["runs"][0]);
    log
}

/// What the documentation calls required, beyond the schema.
fn demanded_by_github(run: &Value) {
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for rule in rules {
        for key in ["shortDescription", "fullDescription", "help"] {
            let text = rule[key]["text"].as_str().unwrap();
            assert!(!text.is_empty(), "{rule}");
        }
        assert!(rule["fullDescription"]["text"].as_str().unwrap().chars().count() <= 1024);
    }
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(!uri.is_empty() && !uri.contains(' '), "{uri}");
        for key in ["startLine", "startColumn", "endLine", "endColumn"] {
            assert!(place["region"][key].as_u64().unwrap() >= 1, "{place}");
        }
        assert!(result["partialFingerprints"]["primaryLocationLineHash"].is_string());
    }
}

fn fingerprints(log: &Value) -> Vec<&str> {
    let results = log["runs"][0]["results"].as_array().unwrap();
    results
        .iter()
        .map(|result| {
            result["partialFingerprints"]["primaryLocationLineHash"]
                .as_str()
                .unwrap()
        })
        .collect()
}

#[test]
fn results_are_sorted_and_valid() {
    let policy = Location::Text(TextPlace {
        path: "blockgate.yaml".to_owned(),
        start_byte: 20,
        end_byte: 25,
        at: LineColumn { line: 3, column: 16 },
    });
    let log = log(
        &[
            finding(
                "undescribed",
                Severity::Error,
                artifact("dist/a b.so", None, None),
                "first",
            ),
            finding(
                "family-image",
                Severity::Info,
                artifact("./dist/a.whl", Some("m/x.so"), Some(4096)),
                "2 images for sm_120f",
            ),
            finding("undescribed", Severity::Warning, policy, "third"),
        ],
        None,
    );
    expect![[r##"
        {
          "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
          "runs": [
            {
              "columnKind": "unicodeCodePoints",
              "invocations": [
                {
                  "executionSuccessful": false,
                  "exitCode": 3,
                  "toolExecutionNotifications": [
                    {
                      "level": "warning",
                      "message": {
                        "text": "two rules were skipped"
                      }
                    }
                  ]
                }
              ],
              "results": [
                {
                  "level": "note",
                  "locations": [
                    {
                      "logicalLocations": [
                        {
                          "fullyQualifiedName": "m/x.so",
                          "kind": "module",
                          "name": "m/x.so"
                        }
                      ],
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "dist/a.whl"
                        },
                        "region": {
                          "byteOffset": 4096,
                          "endColumn": 1,
                          "endLine": 1,
                          "startColumn": 1,
                          "startLine": 1
                        }
                      }
                    }
                  ],
                  "message": {
                    "text": "2 images for sm_120f.\na note"
                  },
                  "partialFingerprints": {
                    "primaryLocationLineHash": "b34aaada20550276:1"
                  },
                  "ruleId": "family-image",
                  "ruleIndex": 0
                },
                {
                  "level": "warning",
                  "locations": [
                    {
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "blockgate.yaml"
                        },
                        "region": {
                          "byteLength": 5,
                          "byteOffset": 20,
                          "endColumn": 16,
                          "endLine": 3,
                          "startColumn": 16,
                          "startLine": 3
                        }
                      }
                    }
                  ],
                  "message": {
                    "text": "third.\na note"
                  },
                  "partialFingerprints": {
                    "primaryLocationLineHash": "e7dbb5aafba21689:1"
                  },
                  "ruleId": "undescribed",
                  "ruleIndex": 1
                },
                {
                  "level": "error",
                  "locations": [
                    {
                      "physicalLocation": {
                        "artifactLocation": {
                          "uri": "dist/a%20b.so"
                        },
                        "region": {
                          "endColumn": 1,
                          "endLine": 1,
                          "startColumn": 1,
                          "startLine": 1
                        }
                      }
                    }
                  ],
                  "message": {
                    "text": "first.\na note"
                  },
                  "partialFingerprints": {
                    "primaryLocationLineHash": "cb302fc721de7249:1"
                  },
                  "ruleId": "undescribed",
                  "ruleIndex": 1
                }
              ],
              "tool": {
                "driver": {
                  "name": "blockgate",
                  "rules": [
                    {
                      "defaultConfiguration": {
                        "level": "note"
                      },
                      "fullDescription": {
                        "text": "First paragraph."
                      },
                      "help": {
                        "markdown": "# family-image\n\nFirst\nparagraph.\n\nSecond.\n",
                        "text": "# family-image\n\nFirst\nparagraph.\n\nSecond.\n"
                      },
                      "id": "family-image",
                      "name": "family-image",
                      "properties": {
                        "precision": "very-high",
                        "problem.severity": "recommendation",
                        "tags": [
                          "cuda",
                          "gpu",
                          "release"
                        ]
                      },
                      "shortDescription": {
                        "text": "an image is for a family"
                      }
                    },
                    {
                      "fullDescription": {
                        "text": "undescribed"
                      },
                      "help": {
                        "text": "undescribed"
                      },
                      "id": "undescribed",
                      "shortDescription": {
                        "text": "undescribed"
                      }
                    }
                  ],
                  "version": "0.0.0"
                }
              }
            }
          ],
          "version": "2.1.0"
        }
    "##]]
    .assert_eq(&format!("{}\n", serde_json::to_string_pretty(&log).unwrap()));
}

#[test]
fn what_is_accepted_is_suppressed_with_its_reason() {
    let row = finding(
        "family-image",
        Severity::Info,
        artifact("a.so", None, None),
        "2 images for sm_120f",
    );
    let log = log(&[row], Some("vendored"));
    let suppression = &log["runs"][0]["results"][0]["suppressions"][0];
    assert_eq!(suppression["kind"], "external");
    assert_eq!(suppression["justification"], "vendored");
}

/// An alert must stay the same one when a build moves or resizes things, and no two may be one.
#[test]
fn fingerprints_look_past_counts_and_offsets() {
    let at = |offset| artifact("a.so", Some("x.o"), Some(offset));
    let old = log(
        &[
            finding("family-image", Severity::Info, at(16), "2 images for sm_120f"),
            finding("family-image", Severity::Info, at(20), "7 images for sm_120f"),
        ],
        None,
    );
    let new = log(
        &[
            finding("family-image", Severity::Info, at(64), "3,000 images for sm_120f"),
            finding("family-image", Severity::Info, at(80), "2 images for sm_121f"),
        ],
        None,
    );
    let (old, new) = (fingerprints(&old), fingerprints(&new));
    assert_eq!(old[0], new[0]);
    assert_ne!(old[0], old[1]);
    assert_ne!(new[0], new[1]);
    assert_ne!(old[1], new[1]);
}

#[test]
fn paths_become_uri_references() {
    for (path, expected) in [
        ("lib/a.so", "lib/a.so"),
        ("./lib/a.so", "lib/a.so"),
        (r"lib\a.dll", "lib/a.dll"),
        ("/opt/a b%.so", "file:///opt/a%20b%25.so"),
        ("c:x#y?.so", "c%3Ax%23y%3F.so"),
        ("µ.so", "%C2%B5.so"),
        ("", "."),
    ] {
        assert_eq!(uri(path), expected, "{path}");
    }
}

#[test]
fn a_run_holds_no_more_than_github_takes_and_keeps_the_errors() {
    let mut findings: Vec<Finding> = (0..25_001)
        .map(|number| {
            finding(
                "undescribed",
                Severity::Info,
                artifact("a.so", None, Some(number)),
                "info",
            )
        })
        .collect();
    findings.push(finding(
        "undescribed",
        Severity::Error,
        artifact("z.so", None, None),
        "error",
    ));
    let rows: Vec<Row<'_>> = findings
        .iter()
        .map(|finding| Row {
            finding,
            accepted: None,
        })
        .collect();
    let run = Run {
        version: "0.0.0",
        rules: &[],
        exit_code: 1,
        complete: true,
        notifications: &[],
    };
    let mut out = Vec::new();
    sarif(&mut out, &rows, &run).unwrap();
    let log: Value = serde_json::from_slice(&out).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 25_000);
    assert_eq!(results[24_999]["level"], "error");
    let note = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    assert_eq!(
        note["message"]["text"],
        "2 results are left out: a run may have 25000"
    );
}
