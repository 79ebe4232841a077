// Puts the sections together from the report in this file: schema `blockgate.audit/1`, where functions are one table.

const report = JSON.parse(document.getElementById("report").textContent);
const inputs = report.inputs ?? [];
const several = inputs.length > 1;
const common = commonFolder(inputs.map((input) => input.path));
const images = inputs.flatMap((input, at) => (input.images ?? []).map((image) => ({ ...image, input: shortPath(input.path), inputAt: at })));
images.forEach((image, at) => { image.e2m1 = report.page?.e2m1?.[at] ?? null; });
/** Whether an input is a package or folder, whose files are what loads or links as a whole. */
const packaged = images.some((image) => image.file) || inputs.some((input) => (input.members ?? []).some((member) => member.file));
const machine = (image) => image.kind === "cubin";
/** The member's name where it says more than the file's. */
const within = (part) => (part.member === part.file ? null : part.file && part.member?.startsWith(`${part.file}/`) ? part.member.slice(part.file.length + 1) : part.member);

/** The folder that all paths begin with, up to its last slash. */
function commonFolder(paths) {
  let folder = (paths[0] ?? "").slice(0, (paths[0] ?? "").lastIndexOf("/") + 1);
  while (!paths.every((path) => path.startsWith(folder))) folder = folder.slice(0, folder.lastIndexOf("/", folder.length - 2) + 1);
  return folder;
}

function shortPath(path) {
  return path.slice(common.length);
}

/** Architectures in order, for one colour each. */
const labels = [...new Set(images.map(archLabel))].sort((one, other) => labelKey(one) - labelKey(other) || collator.compare(one, other));
function labelKey(label) {
  const [arch, kind] = label.split(" ");
  return kindKey(kind ?? "cubin") * 1e6 + Math.min(archKey(arch), 999999);
}
const hueOf = (image) => `hue-${labels.indexOf(archLabel(image)) % 8}`;

function fill(id, ...content) {
  const section = document.getElementById(id);
  section.hidden = false;
  section.querySelector(".body").append(...content.filter(Boolean));
}

function showTheme() {
  const select = document.getElementById("theme");
  const apply = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  // A browser may refuse storage to a file; then the choice lasts as long as the page.
  try { select.value = localStorage.getItem("blockgate-theme") ?? ""; } catch { select.value = ""; }
  if (select.selectedIndex < 0) select.value = "";
  apply(select.value);
  select.addEventListener("change", () => {
    apply(select.value);
    try { localStorage.setItem("blockgate-theme", select.value); } catch { /* see above */ }
  });
}

function showSections() {
  const list = document.getElementById("sections");
  for (const section of document.querySelectorAll("main > section:not([hidden])")) {
    const heading = section.querySelector("h2");
    list.append(make("li", {}, make("a", { href: `#${section.id}` }, heading ? heading.textContent : "Summary")));
  }
}

function severities() {
  const counts = new Map([["error", 0], ["warning", 0], ["info", 0]]);
  for (const finding of report.findings ?? []) counts.set(finding.severity, (counts.get(finding.severity) ?? 0) + 1);
  return counts;
}

function showSummary() {
  const title = inputs.length === 1 ? inputs[0].path : `${common}${plural(inputs.length, "input")}`;
  document.title = `${printable(title.split("/").at(-1))} – device code`;
  const heading = document.getElementById("title");
  const cut = title.lastIndexOf("/") + 1;
  heading.append(make("bdi", {}, cut ? make("span", { class: "folder" }, printable(title.slice(0, cut))) : null, make("wbr"), printable(title.slice(cut))));

  const counts = severities();
  const evaluations = report.expectations ?? [];
  const failed = evaluations.filter((row) => row.holds === false).length;
  const unchecked = evaluations.filter((row) => row.holds === null || row.holds === undefined).length;
  const parts = [];
  if (unchecked) parts.push(`${plural(unchecked, "expectation")} not checked`);
  if (failed) parts.push(`${plural(failed, "expectation")} failed`);
  if (evaluations.length && !failed && !unchecked) parts.push(evaluations.length === 1 ? "the expectation holds" : `all ${count(evaluations.length)} expectations hold`);
  if (counts.get("error")) parts.push(plural(counts.get("error"), "error"));
  if (counts.get("warning")) parts.push(plural(counts.get("warning"), "warning"));
  const rules = new Set((report.unchecked ?? []).map((row) => row.rule)).size;
  if (rules) parts.push(`${plural(rules, "rule")} not checked`);
  if (parts.length === 0) parts.push("no errors, no warnings");
  if (report.waived?.length) parts.push(`${count(report.waived.length)} waived`);
  const status = report.page?.exit_status ?? 4;
  const [mark, word] = { 0: ["pass", "Pass"], 1: ["fail", "Fail"], 3: ["fail", "Not fully checked"] }[status] ?? ["fail", "Fault"];
  document.getElementById("verdict").append(make("strong", { class: mark }, word), ` ${parts.join(", ")}`);

  const facts = document.getElementById("facts");
  const fact = (label, ...content) => facts.append(make("div", {}, make("dt", {}, label), make("dd", {}, ...content)));
  const whole = inputs.reduce((total, input) => total + (input.size ?? 0), 0);
  const stored = storedBytes();
  fact("File size", number(whole, "bytes"));
  fact("Device code, stored", number(stored, "bytes"), make("small", {}, ` ${share(stored, whole)}`));
  const decoded = images.reduce((total, image) => total + (image.size ?? 0), 0);
  if (images.length) fact("Device code, decoded", number(decoded, "bytes"));
  fact("Images", number(images.length, "count"));
  fact("Architectures", number(new Set(images.map((image) => image.arch).filter(Boolean)).size, "count"));
  const instructions = images.filter((image) => image.counted && machine(image)).reduce((total, image) => sum(total, image.instructions), 0);
  if (images.some(machine)) fact("Instructions", number(instructions, "count"));
  const conversions = images.filter((image) => image.counted && machine(image)).reduce((total, image) => sum(total, image.e2m1), 0);
  if (images.some(machine)) fact("E2M1 conversions", number(conversions, "count"));
  const leftOut = images.filter((image) => !image.counted).length;
  if (leftOut) fact("Left out of counts", number(leftOut, "count"), make("small", {}, " relocatable, linked elsewhere in the file"));
  const unattributed = inputs.reduce((total, input) => total + (input.totals?.unattributed_bytes ?? 0), 0);
  if (unattributed) fact("Unattributed", number(unattributed, "bytes"));

  document.getElementById("policy").append(...(report.policy ? ["Policy: ", name(report.policy)] : ["Policy: none, every rule as it is by default"]));
  document.getElementById("inputs").append(plainTable("Inputs", [
    ["Input", "text", (input) => name(shortPath(input.path))],
    ["Format", "text", (input) => name(input.format)],
    ["Device code", "text", (input) => state(input.device_code)],
    ["Members", "count", (input) => number((input.members ?? []).length, "count")],
    ...(inputs.some((input) => input.other_files) ? [["Other files", "count", (input) => number(input.other_files, "count")]] : []),
    ["Images", "count", (input) => number((input.images ?? []).length, "count")],
    ["Size", "bytes", (input) => number(input.size, "bytes")],
    ["Driver", "text", (input) => (input.driver_floor ? `CUDA ${printable(input.driver_floor)} or later` : "any")],
  ], inputs));
  document.getElementById("made").textContent = `Blockgate ${printable(report.page?.version ?? "")}, ${printable(report.schema ?? "")}. Everything is in this file; nothing is loaded.`;
}

/** Bytes of all images in their files. A container that several images share counts once. */
function storedBytes() {
  return images.reduce((total, image) => total + (image.stored_size ?? 0), 0) + sharedContainers().reduce((total, entry) => total + entry.stored_size, 0);
}

function sharedContainers() {
  const seen = new Map();
  for (const image of images) {
    if (!image.container) continue;
    const key = JSON.stringify([image.inputAt, image.file, image.member, image.container.offset]);
    if (!seen.has(key)) {
      seen.set(key, { ...image, kind: "container", arch: "shared", offset: image.container.offset, stored_size: image.container.stored_size ?? 0, size: 0 });
    }
  }
  return [...seen.values()];
}

/** What kind of device code there is; only what was looked for and found is plain. */
function state(value) {
  return make("span", { class: value === "unreadable" ? "state fail" : "state" }, printable(value ?? "unreadable"));
}

function plainTable(caption, columns, rows) {
  return make("div", { class: "wide", role: "region", tabindex: "0", "aria-label": `${caption}, scrolls sideways` },
    make("table", { class: "data" },
      make("caption", { class: "unseen" }, caption),
      make("thead", {}, make("tr", {}, ...columns.map(([label, type]) => make("th", { scope: "col", class: type }, label)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...columns.map(([, type, show], at) =>
        make(at ? "td" : "th", { class: type, scope: at ? null : "row" }, show(row))))))));
}

function showExpectations() {
  const rows = report.expectations ?? [];
  if (rows.length === 0) return;
  fill("expectations", plainTable("Expectations", [
    ["Verdict", "text", (row) => {
      const [mark, word] = row.holds === true ? ["pass", "holds"] : row.holds === false ? ["fail", "fails"] : ["fail", "not checked"];
      return make("span", { class: `state ${mark}` }, word);
    }],
    ["Expectation", "text code", (row) => name(row.expr)],
    ["Found", "count", (row) => number(row.found, "count")],
    ...(rows.some((row) => row.artifact) ? [["Evaluated on", "text", (row) => (row.artifact ? name(row.artifact) : "all inputs")]] : []),
    ...(rows.some((row) => row.reason) ? [["Reason", "text", (row) => name(row.reason)]] : []),
  ], rows));
}

function showCensus() {
  const counted = images.filter((image) => image.counted !== false);
  if (counted.length === 0) return;
  const rows = new Map();
  for (const image of counted) {
    const key = JSON.stringify([image.inputAt, archLabel(image)]);
    if (!rows.has(key)) rows.set(key, { ...image, images: 0, kernels: 0, instructions: 0, e2m1: 0, stored_size: 0, size: 0 });
    const row = rows.get(key);
    row.images += 1;
    for (const field of ["kernels", "instructions", "e2m1", "stored_size", "size"]) row[field] = sum(row[field], image[field]);
  }
  const ordered = [...rows.values()].sort((one, other) => one.inputAt - other.inputAt || labelKey(archLabel(one)) - labelKey(archLabel(other)));
  const most = Math.max(...ordered.map((row) => row.stored_size));
  fill("census", plainTable("Images by architecture", [
    ["Architecture", "text", (row) => make("span", { class: `swatch ${hueOf(row)}` }, row.arch ?? "unknown")],
    ...(several ? [["Input", "text", (row) => name(row.input)]] : []),
    ["Kind", "text", (row) => row.kind],
    ["Images", "count", (row) => number(row.images, "count")],
    ["Kernels", "count", (row) => number(row.kernels, "count")],
    ["Instructions", "count", (row) => number(machine(row) ? row.instructions : null, "count")],
    ["E2M1", "count", (row) => number(machine(row) ? row.e2m1 : null, "count")],
    ["Stored", "bytes", (row) => number(row.stored_size, "bytes")],
    ["Decoded", "bytes", (row) => number(row.size, "bytes")],
    ["Stored, to scale", "bar", (row) => make("meter", { min: 0, max: most, value: row.stored_size, "aria-label": "share of the largest" })],
  ], ordered));
}

function showBytes() {
  if (images.length === 0) return;
  const whole = [...images, ...sharedContainers()];
  const arch = { key: archLabel, hue: hueOf };
  const input = { key: (image) => image.input };
  const file = { key: (image) => image.file ?? image.input };
  const member = { key: (image) => within(image) ?? image.file ?? image.input };
  const sections = new Set(images.map((image) => image.section)).size > 1;
  const region = { key: (image) => `${sections ? `${image.section ?? "no section"}, ` : ""}region ${image.region ?? 0}` };
  const single = { key: (image) => `image at 0x${(image.offset ?? 0).toString(16)}`, hue: hueOf };
  const orders = [
    ...(packaged ? [{ label: "File", tree: byteTree(whole, [input, file, arch, member, region, single]) }] : []),
    { label: "Architecture", tree: byteTree(whole, [arch, input, file, member, region, single]) },
    { label: several || images.some((image) => image.member) ? "Member" : "Region", tree: byteTree(whole, [input, file, member, region, arch, single]) },
  ];
  fill("bytes", treemap({ orders, onOpen: (node) => showInTable(node.first) }).element);
}

/** Puts the table of images on one image. */
function showInTable(image) {
  const box = document.getElementById("images-data-filter");
  // Two files of a package may have images at one offset.
  box.value = [`0x${(image.offset ?? 0).toString(16)}`, image.arch, image.file].filter(Boolean).join(" ");
  box.dispatchEvent(new Event("input"));
  document.getElementById("images").scrollIntoView();
  box.focus();
}

function archColumns(of) {
  return [
    { key: "arch", label: "Architecture", type: "text", always: true, value: (row) => of(row).arch, order: (row) => archKey(of(row).arch) },
    { key: "kind", label: "Kind", type: "text", value: (row) => of(row).kind },
    ...(several ? [{ key: "input", label: "Input", type: "text", value: (row) => of(row).input }] : []),
    { key: "file", label: "File", type: "text", value: (row) => of(row).file },
    { key: "member", label: "Member", type: "text", value: (row) => within(of(row)) },
  ];
}

function selectsOf(of) {
  return [
    { label: "Architecture", value: (row) => of(row).arch, order: archKey },
    { label: "Kind", value: (row) => of(row).kind, order: kindKey },
    ...(several ? [{ label: "Input", value: (row) => of(row).input }] : []),
    ...(packaged ? [{ label: "File", value: (row) => of(row).file }] : []),
  ];
}

const where = (image) => [image.arch, image.kind, several ? image.input : "", image.file, image.member, image.section, `0x${(image.offset ?? 0).toString(16)}`];

function showImages() {
  if (images.length === 0) return;
  const own = (image) => image;
  const made = (image) => (image.tools ?? []).map((tool) => `${tool.name} ${/V[\d.]+/.exec(tool.version)?.[0] ?? tool.version} ${tool.command}`).join("; ");
  const patterns = [...new Set(images.flatMap((image) => Object.keys(image.ptx_text ?? {})))];
  const field = (key, label, type) => ({ key, label, type, value: (image) => image[key] });
  fill("images", dataTable({
    id: "images-data", caption: "Images", noun: "image", rows: images, selects: selectsOf(own),
    words: (image) => [...where(image), image.compression, image.toolkit].join(" "),
    columns: [
      ...archColumns(own),
      field("section", "Section", "text"), field("region", "Region", "count"), field("offset", "Offset", "hex"),
      field("compression", "Compression", "text"), field("stored_size", "Stored", "bytes"), field("size", "Decoded", "bytes"),
      field("kernels", "Kernels", "count"), field("instructions", "Instructions", "count"), field("e2m1", "E2M1", "count"),
      field("toolkit", "Toolkit", "text"), field("identical_to", "Same bytes as", "hex"),
      ...patterns.map((pattern) => ({ key: `ptx-text-${pattern}`, label: `Text ${pattern}`, type: "count", value: (image) => image.ptx_text?.[pattern] })),
      { key: "tools", label: "Made by", type: "text", value: made, show: (image) => make("bdi", {}, printable(made(image) || NO_VALUE)) },
    ],
  }));
}

/** Instructions by mnemonic, as far as they were asked for: one column per architecture. */
function showMnemonics() {
  const rows = new Map();
  const archs = new Set();
  for (const input of inputs) {
    for (const [arch, counts] of Object.entries(input.totals?.sass ?? {})) {
      archs.add(arch);
      for (const [mnemonic, total] of Object.entries(counts)) {
        if (!rows.has(mnemonic)) rows.set(mnemonic, { mnemonic, totals: new Map() });
        const totals = rows.get(mnemonic).totals;
        totals.set(arch, (totals.get(arch) ?? 0) + total);
      }
    }
  }
  if (rows.size === 0) return;
  fill("mnemonics", dataTable({
    id: "mnemonics-data", caption: "Instructions by mnemonic", noun: "mnemonic", rows: [...rows.values()], words: (row) => row.mnemonic, sorted: "mnemonic",
    columns: [
      { key: "mnemonic", label: "Mnemonic", type: "text", always: true, value: (row) => row.mnemonic },
      ...[...archs].sort((one, other) => archKey(one) - archKey(other)).map((arch) => (
        { key: `in-${arch}`, label: arch, type: "count", value: (row) => row.totals.get(arch) ?? 0 })),
    ],
  }));
}

showTheme();
showSummary();
showExpectations();
showFindings();
showWaived();
showUnchecked();
showCensus();
showBytes();
showImages();
showMnemonics();
showKernels();
showMembers();
showSections();
document.documentElement.dataset.ready = "";
