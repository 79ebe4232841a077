//! Configuration files, good and bad.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use blockgate_config::{Config, KnownRules, Level, parse};
use blockgate_findings::Severity;
use blockgate_findings::render::{Palette, human};
use expect_test::{Expect, expect};
use jiff::civil::date;

const KNOWN: KnownRules<'_> = KnownRules {
    configurable: &["family-image", "no-forward-ptx", "partial-coverage"],
    fixed: &["entry-cut"],
};

fn good(text: &str) -> Config {
    parse(text, "blockgate.yaml", KNOWN).unwrap()
}

#[track_caller]
fn bad(text: &str, findings: &Expect) {
    let found = parse(text, "blockgate.yaml", KNOWN).unwrap_err();
    let mut out = Vec::new();
    human(&mut out, &found, Palette::Plain).unwrap();
    findings.assert_eq(std::str::from_utf8(&out).unwrap());
}

#[test]
fn everything_that_can_be_said() {
    let config = good(
        r#"
audit:
  expect: ['cubins(sm_121a) >= 1', "size <= 1 GiB"]
  require_devices: [gb10, sm_90]
  driver_floor: "12.2"
  size_budget: "<= 200 MiB"
  rules: { no-forward-ptx: off, partial-coverage: error }
  artifacts:
    - path: "**/libmlx.so"
      expect: [ 'ptx(sm_121) >= 1' ]
      size_budget: "< 150 MiB"
  waivers:
    - rule: family-image
      artifact: "**/libold.so"
      member: "*.o"
      arch: sm_120f
      reason: "  vendored blob "
      until: 2027-03-01
    - rule: entry-cut
      reason: known
lint: { anything: [goes, 1, here] }
"#,
    );
    let audit = &config.audit;
    assert_eq!(audit.expect.len(), 2);
    assert_eq!(audit.expect[1].place.at.line, 3);
    assert_eq!(audit.expect[1].to_string(), "size <= 1 GiB");
    let devices: Vec<String> = audit
        .require_devices
        .iter()
        .map(|device| device.to_string())
        .collect();
    assert_eq!(devices, ["12.1", "9.0"]);
    assert_eq!(audit.driver_floor.as_ref().unwrap().to_string(), "12.2");
    assert_eq!(audit.size_budget.as_ref().unwrap().to_string(), "<= 200 MiB");
    assert_eq!(audit.level("no-forward-ptx"), Some(Level::Off));
    assert_eq!(audit.level("partial-coverage"), Some(Level::At(Severity::Error)));
    assert_eq!(audit.level("family-image"), None);
    let artifact = &audit.artifacts[0];
    assert!(artifact.path.is_match("build/libmlx.so") && artifact.path.is_match("libmlx.so"));
    assert_eq!(audit.expectations().count(), 3);
    let waiver = &audit.waivers[0];
    assert_eq!(waiver.reason, "vendored blob");
    assert_eq!(waiver.arch.unwrap().to_string(), "sm_120f");
    assert_eq!(waiver.place.at.line, 13);
    assert!(!waiver.is_expired(date(2027, 3, 1)));
    assert!(waiver.is_expired(date(2027, 3, 2)));
    assert!(!audit.waivers[1].is_expired(date(9999, 12, 31)));
}

#[test]
fn nothing_said_is_no_mistake() {
    for text in ["", "# nothing yet\n", "audit: {}\n", "lint: {}\n"] {
        assert_eq!(good(text).audit.expectations().count(), 0, "{text}");
    }
}

#[test]
fn every_mistake_is_reported_with_its_place() {
    bad(
        r#"audits: {}
audit:
  expects: []
  expect: ['cubins(sm_121x) >= 1', "size <= 1", "size <= 1", 7]
  require_devices: [gb11]
  driver_floor: 12.2
  size_budget: "<= 200 MB or so"
  size_budget: "< 1"
  rules: { no-forward-ptxx: off, entry-cut: off, family-image: fatal }
  artifacts:
    - expect: []
    - path: "["
  waivers:
    - rule: family-image
    - rule: nothing-like-it
      reason: " "
      until: 2027-02-30
    - reason: because
      because: no
"#,
        &expect![[r#"
            blockgate.yaml:1:1: error[config-unknown-key]: blockgate.yaml has no key `audits`
              note: did you mean `audit`?
              fix: rename it to `audit`
            blockgate.yaml:3:3: error[config-unknown-key]: `audit` has no key `expects`
              note: did you mean `expect`?
              fix: rename it to `expect`
            blockgate.yaml:4:20: error[config-expectation]: expected an architecture such as `sm_121a` or `sm_12*a`, found `sm_121x`
            blockgate.yaml:4:49: error[config-expectation]: `size <= 1` is expected already
            blockgate.yaml:4:62: error[config-value]: expected text, found a number; put it in quotes
            blockgate.yaml:5:21: error[config-value]: `gb11` names no device; near names: GB10 (12.1)
            blockgate.yaml:6:17: error[config-value]: expected text, found a number; put it in quotes
            blockgate.yaml:7:27: error[config-value]: expected the end, found `or so`
            blockgate.yaml:8:3: error[config-duplicate-key]: `size_budget` is there already, in line 7
            blockgate.yaml:9:12: error[config-rule]: there is no rule `no-forward-ptxx`
              note: did you mean `no-forward-ptx`?
            blockgate.yaml:9:34: error[config-rule]: the severity of `entry-cut` is fixed: it says whether something could not be read
            blockgate.yaml:9:64: error[config-value]: `fatal` means nothing here; expected `off` or `info` or `warning` or `error`
            blockgate.yaml:11:7: error[config-value]: the artifact has no `path`, a glob that says which files are meant
            blockgate.yaml:12:13: error[config-value]: error parsing glob '[': unclosed character class; missing ']'
            blockgate.yaml:14:7: error[config-waiver]: the waiver has no `reason`; say why they are accepted
            blockgate.yaml:15:13: error[config-rule]: there is no rule `nothing-like-it`
              note: `blockgate explain` lists the rules
            blockgate.yaml:16:15: error[config-waiver]: the reason is empty; say why the finding is accepted
            blockgate.yaml:17:14: error[config-value]: expected a day such as `2027-03-01`, found `2027-02-30`
            blockgate.yaml:18:7: error[config-waiver]: the waiver has no `rule`; say which rule's findings are accepted
            blockgate.yaml:19:7: error[config-unknown-key]: a waiver has no key `because`
              note: the keys are rule, artifact, member, arch, reason, until
        "#]],
    );
}

#[test]
fn what_is_no_mapping_is_no_configuration() {
    bad(
        "- audit\n",
        &expect![[r#"
        blockgate.yaml:1:1: error[config-value]: expected a mapping of keys, found a sequence
    "#]],
    );
    bad(
        "audit: [\n",
        &expect![[r#"
        blockgate.yaml:1:8: error[config-yaml]: unclosed bracket '['
    "#]],
    );
    bad(
        "audit: yes please\n",
        &expect![[r#"
        blockgate.yaml:1:8: error[config-value]: expected a mapping of keys, found text
    "#]],
    );
}
