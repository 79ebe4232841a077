//! Expressions that read values off a page. They know the page's ids and classes, and nothing of its script.

/// The cells of a column of a table, by the header's text: the exact number where the cell has one, else the text.
pub(super) fn column(table: &str, label: &str) -> String {
    format!(
        "(() => {{ const table = document.querySelector({table:?}); \
         const plain = (cell) => (cell.querySelector('button')?.firstChild ?? cell).textContent; \
         const at = [...table.tHead.rows[0].cells].findIndex((cell) => plain(cell) === {label:?}); \
         return [...table.tBodies[0].rows].map((row) => {{ const cell = row.cells[at]; const data = cell.querySelector('data'); \
         return data ? Number(data.value) : cell.textContent; }}); }})()"
    )
}

/// A fact of the summary by its label: the exact number.
pub(super) fn fact(label: &str) -> String {
    format!(
        "Number([...document.querySelectorAll('#facts > div')].find((fact) => fact.firstChild.textContent === {label:?})\
         .querySelector('data').value)"
    )
}

/// The selector of a header's button in a table.
pub(super) fn header(table: &str, key: &str) -> String {
    format!("{table} th[data-key='{key}'] button")
}

/// The treemap's cells, each `[bytes, width, height, [[bytes, width, height] of what it shows inside]]`.
pub(super) const CELLS: &str = "(() => { \
    const box = (part) => { const { width, height } = part.getBoundingClientRect(); return [Number(part.dataset.bytes), width, height]; }; \
    return [...document.querySelectorAll('#treemap > .cell')].map((cell) => \
      [...box(cell), [...cell.querySelectorAll('.leaf')].map(box)]); })()";

/// Names of the steps to the place that the treemap shows.
pub(super) const TRAIL: &str =
    "[...document.querySelectorAll('.trail button')].map((button) => button.textContent)";

/// What the treemap's cell with the focus says; empty where none has it.
pub(super) const FOCUSED_CELL: &str = "document.activeElement.matches('#treemap > .cell') ? document.activeElement.getAttribute('aria-label') : ''";

/// The lowest contrast of any text that is shown, with the text: the ratio of WCAG 2.2, success criterion 1.4.3. What is
/// hidden from assistive technology or disabled is left out, as the criterion does.
pub(super) const CONTRAST: &str = "(() => { \
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true }); \
    const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); \
      return [...canvas.getImageData(0, 0, 1, 1).data]; }; \
    const light = ([red, green, blue]) => [red, green, blue].map((part) => part / 255) \
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) \
      .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0); \
    const back = (element) => { for (let at = element; at; at = at.parentElement) { \
      const colour = rgba(getComputedStyle(at).backgroundColor); if (colour[3] === 255) return colour; } return [255, 255, 255, 255]; }; \
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); \
    const seen = new Map(); let lowest = [21, '']; let checked = 0; \
    while (walker.nextNode()) { \
      const text = walker.currentNode.textContent.trim(), parent = walker.currentNode.parentElement; \
      if (!text || parent.closest('script, style, noscript, .arrow, .unseen, [aria-disabled=true]')) continue; \
      if (!parent.checkVisibility({ visibilityProperty: true })) continue; \
      const key = parent.tagName + parent.className + (parent.parentElement?.className ?? '') + (parent.closest('[class*=hue-]')?.className ?? ''); \
      if (seen.has(key)) continue; seen.set(key, true); checked += 1; \
      const [one, other] = [light(rgba(getComputedStyle(parent).color)), light(back(parent))].sort((a, b) => b - a); \
      const ratio = (one + 0.05) / (other + 0.05); \
      if (ratio < lowest[0]) lowest = [ratio, text.slice(0, 60)]; } \
    return [lowest[0], lowest[1], checked]; })()";

/// What reaches past the right edge of the window and is not inside something that scrolls by itself.
pub(super) const STICKS_OUT: &str = "[...document.querySelectorAll('body *')].filter((part) => \
    part.getBoundingClientRect().right > innerWidth + 1 && !part.closest('.wide > *, .top nav > *')) \
    .map((part) => `${part.tagName} ${part.id} ${part.className}`).slice(0, 10)";
