// A table that sorts, filters and turns pages. Rows stay plain objects: only the page that is shown has elements.

const PAGE_ROWS = 200;
/** The most rows that printing puts on paper in full. */
const PRINT_ROWS = 1000;
const collator = new Intl.Collator("en", { numeric: true });

/**
 * `columns`: `{ key, label, type, value(row), show?(row), order?(row) }` with type `text`, `count`, `bytes` or `hex`.
 * `selects`: `{ label, value(row) }`. `words(row)` is what the filter box searches.
 */
function dataTable({ id, caption, noun, columns, rows, selects = [], words, sorted }) {
  const state = { sort: sorted ?? null, descending: false, page: 0, filter: "", chosen: selects.map(() => "") };
  const shown = columns.filter((column) => column.always || rows.some((row) => filled(column.value(row))));
  const haystacks = words ? rows.map((row) => words(row).toLowerCase()) : null;
  let visible = [];

  const box = make("input", { type: "search", id: `${id}-filter`, placeholder: "Filter", autocomplete: "off", spellcheck: "false" });
  const menus = selects.map((select, index) => menu(`${id}-select-${index}`, select, rows));
  const counter = make("output", { id: `${id}-count`, for: `${id}-filter`, class: "count", role: "status" });
  const body = make("tbody");
  const heads = shown.map((column) => header(column));
  const table = make("table", { id: `${id}-table`, class: "data" },
    make("caption", { class: "unseen" }, caption),
    make("thead", {}, make("tr", {}, ...heads.map((head) => head.cell))),
    body);
  const wide = make("div", { class: "wide", role: "region", tabindex: "0", "aria-label": `${caption}, scrolls sideways` }, table);
  const turns = pager();
  const controls = make("div", { class: "controls" },
    words ? make("label", { class: "field grow" }, make("span", { class: "field-name" }, "Filter"), box) : null,
    ...menus.map((entry) => entry?.label),
    counter);

  box.addEventListener("input", () => { state.filter = box.value.trim().toLowerCase(); refilter(); });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && box.value) { box.value = ""; state.filter = ""; refilter(); event.preventDefault(); }
  });
  menus.forEach((entry, index) => entry?.select.addEventListener("change", () => {
    state.chosen[index] = entry.select.value;
    refilter();
  }));
  addEventListener("beforeprint", () => draw(0, PRINT_ROWS));
  addEventListener("afterprint", () => draw());
  refilter();
  return make("div", { id, class: "table" }, controls, wide, turns.element);

  function header(column) {
    const button = make("button", { type: "button" }, column.label, make("span", { class: "arrow", "aria-hidden": "true" }));
    const cell = make("th", { scope: "col", class: column.type, "data-key": column.key }, button);
    button.addEventListener("click", () => {
      // Numbers are first wanted from the largest, names from the first.
      state.descending = state.sort === column.key ? !state.descending : column.type !== "text" && column.type !== "hex";
      state.sort = column.key;
      resort();
    });
    return { cell, column };
  }

  function refilter() {
    const terms = state.filter.split(/\s+/).filter(Boolean);
    visible = [];
    rows.forEach((row, index) => {
      const chosen = selects.every((select, at) => !state.chosen[at] || `=${select.value(row) ?? ""}` === state.chosen[at]);
      if (chosen && terms.every((term) => haystacks[index].includes(term))) visible.push(index);
    });
    resort();
  }

  function resort() {
    const column = shown.find((candidate) => candidate.key === state.sort);
    if (column) {
      const keys = new Map(visible.map((index) => [index, (column.order ?? column.value)(rows[index])]));
      const direction = state.descending ? -1 : 1;
      // What is not known comes last in either direction.
      visible.sort((one, other) => {
        const left = keys.get(one), right = keys.get(other);
        if (!filled(left) || !filled(right)) return filled(right) - filled(left) || one - other;
        const order = typeof left === "number" && typeof right === "number" ? left - right : collator.compare(left, right);
        return direction * order || one - other;
      });
    }
    for (const { cell, column: own } of heads) {
      if (own.key === state.sort) cell.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    state.page = 0;
    draw();
  }

  function draw(first = state.page * PAGE_ROWS, length = PAGE_ROWS) {
    const page = visible.slice(first, first + length);
    body.replaceChildren(...page.map((index) => make("tr", {}, ...shown.map((column, at) => cell(column, rows[index], at === 0)))));
    const all = plural(rows.length, noun);
    counter.textContent = visible.length === rows.length ? all : `${count(visible.length)} of ${all}`;
    if (page.length === 0) {
      body.append(make("tr", {}, make("td", { class: "empty", colspan: shown.length }, "Nothing matches the filter.")));
    }
    turns.update(first, page.length);
  }

  function cell(column, row, leads) {
    const value = column.value(row);
    const content = column.show ? column.show(row) : column.type === "text" ? name(value) : number(value, column.type);
    return make(leads ? "th" : "td", { class: column.type, scope: leads ? "row" : null }, content);
  }

  function pager() {
    const turn = (label, page) => {
      const button = make("button", { type: "button" }, label);
      button.addEventListener("click", () => { state.page = page(); draw(); wide.scrollTop = 0; });
      return button;
    };
    const last = () => Math.max(0, Math.ceil(visible.length / PAGE_ROWS) - 1);
    const buttons = [
      turn("First", () => 0),
      turn("Previous", () => Math.max(0, state.page - 1)),
      turn("Next", () => Math.min(last(), state.page + 1)),
      turn("Last", last),
    ];
    const place = make("span", { class: "count" });
    const element = make("nav", { class: "pages", "aria-label": `Pages of ${noun}s` }, buttons[0], buttons[1], place, buttons[2], buttons[3]);
    return {
      element,
      update(first, length) {
        element.hidden = visible.length <= PAGE_ROWS;
        place.textContent = `${count(first + 1)} – ${count(first + length)} of ${count(visible.length)}`;
        // A button that is disabled while it has the focus would drop it.
        buttons.forEach((button, at) => {
          button.setAttribute("aria-disabled", String(at < 2 ? state.page === 0 : state.page === last()));
        });
      },
    };
  }
}

function filled(value) {
  return value !== null && value !== undefined && value !== "";
}

/** A select of the values that occur; none where there is nothing to choose. */
function menu(id, { label, value, order }, rows) {
  const values = [...new Set(rows.map((row) => value(row) ?? ""))];
  if (values.length < 2) return null;
  values.sort((one, other) => (order ? order(one) - order(other) : 0) || collator.compare(one, other));
  // Values carry a mark before them, so that the empty one is not the same as no choice.
  const select = make("select", { id },
    make("option", { value: "" }, "All"),
    ...values.slice(0, 500).map((entry) => make("option", { value: `=${entry}` }, entry === "" ? "none" : printable(entry))));
  return { select, label: make("label", { class: "field" }, make("span", { class: "field-name" }, label), select) };
}
