// Bytes as areas: a squarified treemap of two levels at a time, with its numbers as a table beside it.

/** Children beyond this number share one cell, which opens like any other. */
const MAX_CELLS = 250;
const HEAD_PX = 20;

/**
 * The tree over `images`: one level per key that tells them apart, a leaf per image. Levels that would hold one child are
 * left out. A node is `{ name, hue, stored, size, leaves, first, children }`.
 */
function byteTree(images, levels) {
  const build = (title, hue, members, level) => {
    const node = { name: title, hue, stored: 0, size: 0, leaves: members.length, first: members[0], children: [] };
    for (const image of members) {
      node.stored += image.stored_size ?? 0;
      node.size += image.size ?? 0;
    }
    for (let next = level; next < levels.length && node.children.length === 0; next += 1) {
      const groups = new Map();
      for (const image of members) {
        const key = levels[next].key(image);
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(image);
      }
      if (groups.size > 1) {
        node.children = [...groups].map(([key, group]) => build(key, levels[next].hue?.(group[0]) ?? hue, group, next + 1));
      } else if (levels[next].hue && members.length > 0) {
        node.hue = levels[next].hue(members[0]);
      }
    }
    return node;
  };
  return build("All device code", "", images, 0);
}

/** Positions of areas in proportion to `weights`, sorted from the largest, in a rectangle: Bruls, Huizing and van Wijk 2000. */
function squarify(weights, x, y, width, height) {
  const total = weights.reduce((left, right) => left + right, 0);
  const cells = [];
  if (!(total > 0) || width <= 0 || height <= 0) return cells;
  const scale = (width * height) / total;
  let start = 0;
  while (start < weights.length) {
    const side = Math.min(width, height);
    let end = start, area = 0, worst = Infinity;
    while (end < weights.length) {
      const next = area + weights[end] * scale;
      const ratio = Math.max((side * side * weights[start] * scale) / (next * next), (next * next) / (side * side * weights[end] * scale));
      if (ratio > worst) break;
      worst = ratio;
      area = next;
      end += 1;
    }
    const thick = area / side;
    let along = 0;
    for (let at = start; at < end; at += 1) {
      const long = (weights[at] * scale) / thick;
      cells.push(width >= height ? [x, y + along, thick, long] : [x + along, y, long, thick]);
      along += long;
    }
    if (width >= height) { x += thick; width -= thick; } else { y += thick; height -= thick; }
    start = end;
  }
  return cells;
}

/** The children that are drawn, from the largest; what is too small to see shares a cell. */
function drawn(node, metric, area) {
  const children = node.children.filter((child) => child[metric] > 0).sort((one, other) => other[metric] - one[metric]);
  const smallest = (node[metric] / Math.max(area, 1)) * 16;
  let keep = children.findIndex((child, at) => at >= MAX_CELLS || child[metric] < smallest);
  if (keep < 0 || children.length - keep < 2) return children;
  keep = Math.max(keep, 1);
  const rest = children.slice(keep);
  const merged = { name: `${count(rest.length)} smaller`, hue: node.hue, stored: 0, size: 0, leaves: 0, first: rest[0].first, children: rest };
  for (const child of rest) {
    merged.stored += child.stored;
    merged.size += child.size;
    merged.leaves += child.leaves;
  }
  // The shared cell stands where its size puts it, since areas are laid out from the largest.
  return [...children.slice(0, keep), merged].sort((one, other) => other[metric] - one[metric]);
}

function treemap({ orders, onOpen }) {
  let order = orders[0];
  let metric = "stored";
  let path = [order.tree];
  let focused = 0;

  const map = make("div", { id: "treemap", role: "group", "aria-label": "Treemap of bytes", "aria-describedby": "treemap-help" });
  const tip = make("div", { id: "treemap-tip", class: "tip", hidden: true, "aria-hidden": "true" });
  const trail = make("ol", { class: "trail" });
  const said = make("p", { class: "unseen", role: "status" });
  const table = make("div", { class: "wide", role: "region", tabindex: "0", "aria-label": "The treemap as a table, scrolls sideways" });
  const element = make("div", { class: "treemap" },
    make("div", { class: "controls" },
      choice("metric", "Sized by", [["stored", "Stored"], ["size", "Decoded"]], (value) => { metric = value; draw(); }),
      orders.length > 1 ? choice("order", "Grouped by", orders.map((entry, at) => [String(at), entry.label]), (value) => {
        order = orders[Number(value)];
        path = [order.tree];
        focused = 0;
        draw();
      }) : null,
      make("nav", { "aria-label": "Place in the treemap", class: "trail-nav" }, trail)),
    make("div", { class: "map-frame" }, map, tip),
    make("p", { id: "treemap-help", class: "help" }, "Arrow keys move, Enter opens, Escape goes back."),
    said,
    make("details", { class: "as-table" }, make("summary", {}, "The same as a table"), table));

  map.addEventListener("keydown", onKey);
  map.addEventListener("click", (event) => {
    const cell = event.target.closest(".cell");
    if (cell) open(Number(cell.dataset.at));
  });
  map.addEventListener("pointerover", (event) => {
    const hit = event.target.closest(".leaf, .cell");
    if (hit && event.pointerType !== "touch") point(hit);
  });
  map.addEventListener("pointerleave", () => { tip.hidden = true; });
  map.addEventListener("focusin", (event) => {
    focused = Number(event.target.dataset.at);
    if (event.target.matches(":focus-visible")) point(event.target);
  });
  map.addEventListener("focusout", () => { tip.hidden = true; });
  let width = 0;
  new ResizeObserver(() => {
    if (map.clientWidth !== width) draw();
  }).observe(map);
  return { element };

  function choice(id, label, values, apply) {
    const group = make("fieldset", { class: "choice" }, make("legend", { class: "field-name" }, label));
    values.forEach(([value, text], at) => {
      const radio = make("input", { type: "radio", name: `treemap-${id}`, id: `treemap-${id}-${value}`, value, checked: at === 0 });
      radio.addEventListener("change", () => apply(value));
      group.append(radio, make("label", { for: radio.id }, text));
    });
    return group;
  }

  function draw(takeFocus = false) {
    width = map.clientWidth;
    const height = map.clientHeight;
    const node = path.at(-1);
    const children = drawn(node, metric, width * height);
    const cells = squarify(children.map((child) => child[metric]), 0, 0, width, height);
    focused = Math.min(focused, Math.max(0, cells.length - 1));
    map.replaceChildren(...cells.map((place, at) => cell(children[at], place, at)));
    if (cells.length === 0) map.append(make("p", { class: "empty" }, node.children.length ? "Nothing to size by: no size is known." : "One image; nothing below it."));
    tip.hidden = true;
    trail.replaceChildren(...path.map((step, at) => {
      const here = at === path.length - 1;
      const button = make("button", { type: "button", "aria-current": here ? "location" : null }, at === 0 ? "All" : printable(step.name));
      button.addEventListener("click", () => { if (!here) back(at); });
      return make("li", {}, button);
    }));
    drawTable(node, children);
    if (takeFocus) (map.children[focused] ?? map).focus?.();
  }

  function describe(node) {
    const exact = `${bytes(node[metric])} (${count(node[metric])} bytes), ${share(node[metric], order.tree[metric])} of all`;
    const within = path.length > 1 ? `, ${share(node[metric], path.at(-1)[metric])} of ${path.at(-1).name}` : "";
    return `${exact}${within}, ${plural(node.leaves, "image")}`;
  }

  function cell(node, [x, y, wide, high], at) {
    const button = make("button", {
      type: "button", class: `cell ${node.hue}`, tabindex: at === focused ? "0" : "-1", "data-at": at, "data-bytes": node[metric],
      "aria-label": `${printable(node.name)}: ${describe(node)}${node.children.length ? ", opens" : ""}`,
    });
    put(button, x, y, wide, high);
    button.node = node;
    const headed = wide > 46 && high > HEAD_PX + 2;
    if (headed) {
      button.append(make("span", { class: "cell-head", "aria-hidden": "true" },
        make("bdi", { class: "cell-name" }, printable(node.name)),
        wide > 130 ? make("span", { class: "cell-bytes" }, bytes(node[metric])) : null));
    }
    const inner = [3, headed ? HEAD_PX : 3, wide - 6, high - (headed ? HEAD_PX + 3 : 6)];
    if (node.children.length > 1 && inner[2] > 12 && inner[3] > 12) {
      const below = drawn(node, metric, inner[2] * inner[3]);
      squarify(below.map((child) => child[metric]), ...inner).forEach((place, index) => {
        const leaf = make("span", { class: `leaf ${below[index].hue}`, "aria-hidden": "true", "data-bytes": below[index][metric] });
        put(leaf, ...place);
        leaf.node = below[index];
        if (place[2] > 54 && place[3] > 16) leaf.append(make("bdi", { class: "cell-name" }, printable(below[index].name)));
        button.append(leaf);
      });
    }
    return button;
  }

  function put(part, x, y, wide, high) {
    part.style.left = `${x}px`;
    part.style.top = `${y}px`;
    part.style.width = `${wide}px`;
    part.style.height = `${high}px`;
  }

  function point(hit) {
    const node = hit.node;
    const parent = hit.matches(".leaf") ? hit.closest(".cell").node : null;
    tip.replaceChildren(make("strong", {}, name(parent ? `${parent.name} › ${node.name}` : node.name)), make("span", {}, describe(node)));
    tip.hidden = false;
    const frame = map.getBoundingClientRect(), target = hit.getBoundingClientRect();
    const below = target.bottom - frame.top + 6;
    const fits = below + tip.offsetHeight < frame.height + 60;
    const top = fits ? below : Math.max(4, target.top - frame.top - tip.offsetHeight - 6);
    const left = Math.max(0, Math.min(target.left - frame.left, frame.width - tip.offsetWidth));
    tip.style.top = `${top}px`;
    tip.style.left = `${left}px`;
  }

  function open(at) {
    const node = map.children[at]?.node;
    if (!node) return;
    if (node.children.length === 0) { onOpen?.(node); return; }
    path.push(node);
    focused = 0;
    draw(true);
    said.textContent = `${printable(node.name)}: ${describe(node)}`;
  }

  /** Back to step `to`, with the focus on what was open. */
  function back(to) {
    const left = path[to + 1];
    path = path.slice(0, to + 1);
    draw();
    const at = [...map.children].findIndex((child) => child.node === left || child.node?.name === left.name);
    focused = Math.max(0, at);
    draw(true);
    said.textContent = `${printable(path.at(-1).name)}: ${describe(path.at(-1))}`;
  }

  function onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape" || event.key === "Backspace") {
      if (path.length > 1) back(path.length - 2);
    } else if (event.key === "Home" || event.key === "End") {
      move(event.key === "Home" ? 0 : map.children.length - 1);
    } else if (event.key.startsWith("Arrow")) {
      move(neighbour(event.key));
    } else {
      return;
    }
    event.preventDefault();
  }

  function move(to) {
    if (to < 0 || !map.children[to]) return;
    map.children[focused]?.setAttribute("tabindex", "-1");
    map.children[to].setAttribute("tabindex", "0");
    map.children[to].focus();
  }

  /** The nearest cell whose middle lies in the direction of the key; sideways distance counts double. */
  function neighbour(key) {
    const middle = (part) => {
      const box = part.getBoundingClientRect();
      return [box.left + box.width / 2, box.top + box.height / 2];
    };
    const [x, y] = middle(map.children[focused]);
    const across = key === "ArrowLeft" || key === "ArrowRight";
    const sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
    let best = -1, nearest = Infinity;
    [...map.children].forEach((part, at) => {
      const [left, top] = middle(part);
      const ahead = sign * (across ? left - x : top - y);
      const aside = Math.abs(across ? top - y : left - x);
      if (at !== focused && ahead > 0.5 && ahead + 2 * aside < nearest) { nearest = ahead + 2 * aside; best = at; }
    });
    return best;
  }

  function drawTable(node, children) {
    const rows = children.map((child) => make("tr", {},
      make("th", { scope: "row" }, name(child.name)),
      make("td", { class: "count" }, count(child.leaves)),
      make("td", { class: "bytes" }, number(child.stored, "bytes")),
      make("td", { class: "bytes" }, number(child.size, "bytes")),
      make("td", { class: "count" }, share(child[metric], node[metric]))));
    const head = ["Part", "Images", "Stored", "Decoded", "Share"].map((label, at) =>
      make("th", { scope: "col", class: at ? "count" : "text" }, label));
    table.replaceChildren(make("table", { class: "data" },
      make("caption", { class: "unseen" }, `Parts of ${printable(node.name)}`),
      make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)));
  }
}
