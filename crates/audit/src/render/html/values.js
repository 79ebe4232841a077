// Values as people read them, and elements that cannot hold markup. Everything in a report is hostile input: text goes
// into the page through `text` alone, which makes a text node.

const NO_VALUE = "–";

/** An element with attributes and children; a string becomes a text node, never markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Controls, and the characters that reorder what stands beside them.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** `value` with characters that cannot be seen, or that reorder text, spelled out. */
function printable(value) {
  return String(value).replace(UNSEEN, (unseen) => `\\u{${unseen.codePointAt(0).toString(16)}}`);
}

/** `8826504` as `8,826,504`. */
function count(number) {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** A size with a binary unit and at most three digits, cut and not rounded, as the table in a terminal has it. */
function bytes(size) {
  if (size < 1024) return `${size} B`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let tenths = Math.floor((size * 10) / 1024);
  let unit = 0;
  while (tenths >= 10240 && unit + 1 < units.length) {
    tenths = Math.floor(tenths / 1024);
    unit += 1;
  }
  const whole = Math.floor(tenths / 10);
  return tenths >= 1000 ? `${whole} ${units[unit]}` : `${whole}.${tenths % 10} ${units[unit]}`;
}

/** A share of a whole in percent. */
function share(part, whole) {
  if (!whole) return "0 %";
  const percent = (part / whole) * 100;
  return `${percent >= 99.95 ? 100 : percent >= 0.1 || part === 0 ? percent.toFixed(1) : "< 0.1"} %`;
}

function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A number with its exact value at hand; `null` is not known, which is not zero. */
function number(value, kind) {
  if (value === null || value === undefined) {
    return make("span", { class: "none", title: "not known" }, NO_VALUE);
  }
  if (kind === "bytes") return make("data", { value, title: `${count(value)} bytes` }, bytes(value));
  if (kind === "hex") return make("data", { value, title: count(value) }, `0x${value.toString(16)}`);
  return make("data", { value }, count(value));
}

/** Names of more characters than this are broken into lines. */
const LONG_NAME = 40;

/** A name out of a file: shown as text, isolated from its surroundings. */
function name(value) {
  if (value === null || value === undefined || value === "") return make("span", { class: "none" }, NO_VALUE);
  const shown = printable(value);
  return make("bdi", { class: shown.length > LONG_NAME ? "name long" : "name" }, shown);
}

const KINDS = ["cubin", "ptx", "lto-ir", "unknown"];

/** A key that sorts architectures as people list them: capability, then plain, family, specific. */
function archKey(arch) {
  const parts = /^[a-z]+_(\d+)([a-z]?)$/.exec(arch ?? "");
  return parts ? Number(parts[1]) * 4 + ["", "f", "a"].indexOf(parts[2]) : Number.MAX_SAFE_INTEGER;
}

function kindKey(kind) {
  const rank = KINDS.indexOf(kind);
  return rank < 0 ? KINDS.length : rank;
}

/** `sm_120a`, or `sm_120 ptx` for what is no machine code. */
function archLabel(image) {
  const arch = image.arch ?? "unknown architecture";
  return image.kind === "cubin" ? arch : `${arch} ${image.kind}`;
}

/** A sum that is not known as soon as one part is not. */
function sum(total, value) {
  return total === null || value === null || value === undefined ? null : total + value;
}
