// What rules said: findings, those that the policy accepts, and rules that could not be checked.

function place(location) {
  const parts = [name(location?.path)];
  if (location?.member) parts.push(" › ", name(location.member));
  if (Number.isFinite(location?.offset)) parts.push(` at offset 0x${location.offset.toString(16)}`);
  if (Number.isFinite(location?.line)) parts.push(`:${location.line}:${location.column ?? 1}`);
  return make("p", { class: "place" }, ...parts);
}

const severityMark = { error: "fail", warning: "warn" };

function head(severity, rule) {
  return make("p", { class: "finding-head" },
    make("span", { class: `state ${severityMark[severity] ?? ""}` }, printable(severity)), " ", make("code", {}, printable(rule)));
}

function findingItem(finding, ...more) {
  return make("li", { class: "finding" },
    head(finding.severity, finding.rule),
    make("p", {}, printable(finding.message)),
    place(finding.location),
    ...(finding.notes ?? []).map((note) => make("p", { class: "note" }, printable(note))),
    finding.fix?.title ? make("p", { class: "note" }, `Fix: ${printable(finding.fix.title)}`) : null,
    ...more);
}

/** A list that shows its first items, and more when asked. */
function longList(noun, rows, item) {
  const list = make("ol", { class: "findings" });
  const STEP = 200;
  const more = make("button", { type: "button", class: "more" });
  const show = () => {
    list.append(...rows.slice(list.children.length, list.children.length + STEP).map(item));
    more.hidden = list.children.length === rows.length;
    more.textContent = `Show more of ${plural(rows.length, noun)}`;
  };
  more.addEventListener("click", show);
  show();
  return [list, more];
}

const severityRank = ["error", "warning", "info"];
const bySeverity = (one, other) => severityRank.indexOf(one.severity) - severityRank.indexOf(other.severity);

function showFindings() {
  const findings = [...(report.findings ?? [])].sort(bySeverity);
  if (findings.length === 0) return;
  const words = [...severities()].filter(([, total]) => total).map(([severity, total]) => (severity === "info" ? `${count(total)} info` : plural(total, severity)));
  fill("findings", make("p", { class: "help" }, words.join(", ")), ...longList("finding", findings, (finding) => findingItem(finding)));
}

function showWaived() {
  const waived = report.waived ?? [];
  if (waived.length === 0) return;
  fill("waived", make("p", { class: "help" }, "Findings that the policy accepts; they decide no verdict."),
    ...longList("waived finding", waived, (row) => findingItem(row.finding, make("p", { class: "reason" }, make("strong", {}, "Accepted: "), printable(row.reason)))));
}

function showUnchecked() {
  const unchecked = [...(report.unchecked ?? [])].sort(bySeverity);
  if (unchecked.length === 0) return;
  fill("unchecked", make("p", { class: "help" }, "Not checked is not the same as nothing found; where an error could have been found, it is no pass."),
    ...longList("unchecked rule", unchecked, (row) => make("li", { class: "finding" },
      head(row.severity, row.rule),
      make("p", { class: "place" }, row.artifact ? name(row.artifact) : "all inputs"),
      make("p", { class: "reason" }, make("strong", {}, "Not checked: "), printable(row.reason)))));
}
