// Kernels with what they take of a multiprocessor, and the members that hold them.

/**
 * Labels and types of the columns that kernels have, in their order. A column that is not here comes after them under its
 * own name; `constants.3` is constant bank 3.
 */
const KERNEL_COLUMNS = new Map([
  ["entry", ["Launched", "flag"]],
  ["code_size", ["Code", "bytes"]],
  ["instructions", ["Instructions", "count"]],
  ["registers", ["Registers", "count"]],
  ["register_limit", ["Register limit", "count"]],
  ["shared", ["Shared", "bytes"]],
  ["static_shared", ["Shared, declared", "bytes"]],
  ["frame", ["Frame", "bytes"]],
  ["stack", ["Stack", "bytes"]],
  ["local", ["Local", "bytes"]],
  ["local_loads", ["Local loads", "count"]],
  ["local_stores", ["Local stores", "count"]],
  ["spills.instructions", ["Spills", "count"]],
  ["spills.store_bytes", ["Spilled, stored", "bytes"]],
  ["spills.load_bytes", ["Spilled, loaded", "bytes"]],
  ["spills.shared_store_bytes", ["Spilled to shared, stored", "bytes"]],
  ["spills.shared_load_bytes", ["Spilled to shared, loaded", "bytes"]],
  ["parameters", ["Parameters", "bytes"]],
  ["barriers", ["Barriers", "count"]],
  ["max_threads", ["Largest block", "threads"]],
  ["exact_threads", ["Only block", "threads"]],
]);

/** A column of the table of kernels by its name in the report; `get(row)` is its value. */
function kernelColumn(key, get) {
  const bank = /^constants\.(\d+)$/.exec(key);
  const words = key.replace(/_(size|bytes)$/, "").replaceAll(/[_.]/g, " ");
  const guessed = [words.charAt(0).toUpperCase() + words.slice(1), /_(size|bytes)$/.test(key) ? "bytes" : "count"];
  const [label, type] = KERNEL_COLUMNS.get(key) ?? (bank ? [`Constant bank ${bank[1]}`, "bytes"] : guessed);
  if (type === "flag") return { key, label, type: "text", value: (row) => ({ true: "by host", false: "by device" })[get(row)] };
  if (type === "threads") {
    // Sorted by threads, shown by dimension.
    const threads = (row) => get(row)?.reduce((product, extent) => product * extent, 1);
    return { key, label, type: "count", value: threads, show: (row) => make("data", { value: threads(row) ?? "", title: "" }, get(row)?.join(" × ") ?? NO_VALUE) };
  }
  return { key, label, type, value: get };
}

function kernelOrder(key) {
  const at = [...KERNEL_COLUMNS.keys()].indexOf(key);
  return at < 0 ? KERNEL_COLUMNS.size : at;
}

function showKernels() {
  const table = report.page?.kernels;
  if (!table || table.rows.length === 0) return;
  // A row is the number of its image, the number of its name, then one value per column.
  const of = (row) => images[row[0]];
  const full = (row) => table.demangled[row[1]] ?? table.names[row[1]];
  const counted = table.columns.indexOf("instructions") + 2;
  const mnemonics = new Set(table.mnemonics);
  const columns = table.columns.map((key, at) => {
    // Where instructions were counted, a mnemonic without a count does not occur.
    if (mnemonics.has(key)) return { key, label: key, type: "count", value: (row) => row[at + 2] ?? (row[counted] == null ? null : 0) };
    return kernelColumn(key, (row) => row[at + 2]);
  });
  const group = (column) => (mnemonics.has(column.key) ? KERNEL_COLUMNS.size + 1 : kernelOrder(column.key));
  columns.sort((one, other) => group(one) - group(other) || collator.compare(one.key, other.key));
  const mangled = table.demangled.some((shown) => shown !== null);
  fill("kernels", dataTable({
    id: "kernels-data", caption: "Kernels", noun: "kernel", rows: table.rows, selects: selectsOf(of),
    words: (row) => `${full(row)} ${table.names[row[1]]} ${where(of(row)).join(" ")}`,
    columns: [
      { key: "name", label: "Kernel", type: "text", always: true, value: full, show: (row) => {
        const shown = name(full(row));
        shown.title = printable(table.names[row[1]]);
        return shown;
      } },
      ...archColumns(of).filter((column) => column.key !== "kind"),
      ...columns,
      ...(mangled ? [{ key: "mangled", label: "Mangled name", type: "text", value: (row) => (table.demangled[row[1]] === null ? null : table.names[row[1]]) }] : []),
    ],
  }));
}

function showMembers() {
  const held = new Map();
  for (const image of images) {
    const key = JSON.stringify([image.inputAt, image.member]);
    if (!held.has(key)) held.set(key, []);
    held.get(key).push(image);
  }
  const members = inputs.flatMap((input, at) => (input.members ?? []).map((member) => {
    const own = held.get(JSON.stringify([at, member.name])) ?? [];
    const archs = [...new Set(own.map(archLabel))].sort((one, other) => labelKey(one) - labelKey(other));
    return { ...member, member: member.name, input: shortPath(input.path), images: own.length, archs: archs.join(", "), stored: own.reduce((total, image) => total + (image.stored_size ?? 0), 0) };
  }));
  if (members.length === 0) return;
  const others = inputs.reduce((total, input) => total + (input.other_files ?? 0), 0);
  // A file that is one member has one name; an archive in a package is a file with members.
  const files = members.some((member) => within(member) !== null && member.file);
  const column = (key, label, type) => ({ key, label, type, value: (member) => member[key] });
  fill("members", others ? make("p", { class: "help" }, `Beside these, ${plural(others, "file")} that ${others === 1 ? "is no binary" : "are no binaries"}: text, pictures, compiled Python.`) : null, dataTable({
    id: "members-data", caption: "Members", noun: "member", rows: members,
    selects: [
      { label: "Device code", value: (member) => member.device_code },
      ...(several ? [{ label: "Input", value: (member) => member.input }] : []),
      ...(files ? [{ label: "File", value: (member) => member.file }] : []),
    ],
    words: (member) => `${member.name} ${member.file ?? ""} ${member.device_code} ${member.archs} ${several ? member.input : ""}`,
    columns: [
      { key: "name", label: "Member", type: "text", always: true, value: (member) => member.name },
      ...(several ? [column("input", "Input", "text")] : []),
      ...(files ? [column("file", "File", "text")] : []),
      { key: "device_code", label: "Device code", type: "text", value: (member) => member.device_code, show: (member) => state(member.device_code) },
      column("size", "Size", "bytes"), column("images", "Images", "count"), column("stored", "Stored", "bytes"),
      column("archs", "Architectures", "text"),
    ],
  }));
}
