/** What all views draw with. Every number goes through `number`, so that each says where in the recording it stands. */

const SVG = "http://www.w3.org/2000/svg";

function build(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, of] of Object.entries(value)) made.style.setProperty(key, of);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** An HTML element: `h("p", {class: "quiet", onclick: f, style: {"--v": 1}}, "text", child, …)`. */
export function h(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

/** A sentence whose `{name}` are nodes: strings and nodes in order, for `h`. */
export function filled(template, nodes) {
  return template.split(/\{(\w+)\}/).map((part, i) => (i % 2 ? nodes[part] : part));
}

/** Text of a number: `digits` significant ones where it is not tiny, and a real minus sign. */
export function rounded(value, digits = 3) {
  if (Number.isNaN(value)) return "?";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 0.0005 || size >= 1e5) return value.toExponential(1).replace("-", "−").replace("e−", "e-").replace("e+", "e");
  const text = size < 1 ? value.toFixed(digits) : value.toFixed(Math.max(0, digits - Math.floor(Math.log10(size))));
  return text.replace("-", "−");
}

/**
 * A number of the recording. `from`: {tensor, index} for a tap's number; {from, index} for a derived one, by its path in
 * the payload (`views.heads.0.entropy`), with an index where an array stands there. `options`: tag, text, digits, class.
 */
export function number(value, from, options = {}) {
  const { tag = "span", digits = 3, text = rounded(value, digits), ...attributes } = options;
  return h(tag, { title: told(value, from), ...attributes, ...source(value, from),
    class: attributes.class ? `n ${attributes.class}` : "n" }, text);
}

/** Where a number stands, and all of its digits. */
function told(value, { tensor, index, from }) {
  return `${tensor ?? from}${index ? `[${index.join(", ")}]` : ""} = ${value}`;
}

function source(value, { tensor, index, from }) {
  const where = from === undefined ? { "data-tensor": tensor } : { "data-from": from };
  return { ...where, "data-index": index?.join(","), "data-value": Object.is(value, -0) ? "-0" : String(value) };
}

/** The same inside an SVG drawing: a text element. */
export function svgNumber(value, from, options = {}) {
  const { digits = 3, text = rounded(value, digits), ...attributes } = options;
  return svg("text", { ...attributes, ...source(value, from), class: attributes.class ? `n ${attributes.class}` : "n" }, text);
}

/** The number of a tensor at an index, drawn. */
export function element(recording, tensor, index, options) {
  return number(recording.tensor(tensor).at(...index), { tensor, index }, options);
}

/** From which share of the strongest colour on the ink of a cell has to turn dark on a dark page, and light on a light
 * one, for a contrast of 4.5 with the colours of style.css. */
const BRIGHT = 0.62;
const STRONG = 0.71;

/** Colours a cell for a value: `top` is what the strongest colour stands for; below 0 it is another hue. */
export function shade(cell, value, top) {
  const share = Number.isFinite(value) && top > 0 ? Math.min(1, Math.abs(value) / top) : 0;
  cell.style.setProperty("--v", share.toFixed(4));
  cell.classList.toggle("bright", share > BRIGHT);
  cell.classList.toggle("strong", share > STRONG);
  cell.classList.toggle("minus", value < 0 && Number.isFinite(value));
}

/**
 * A heat map, which is a table: `rows`, `columns` are labels (texts or nodes), `at(r, c)` a value, `from(r, c)` where it
 * stands (see `number`). `caption` names it. `top`: value of the strongest colour, the largest unless given.
 * `numbers`: whether cells show them (else only their colour, and the number as the cell's title). `onpick(r, c)`: what a
 * click or Enter does. `corner`: what stands above the row labels. `chosen(r, c)` marks cells. Arrow keys walk the cells.
 */
export function heatmap({ rows, columns, at, from, caption, top, numbers = true, onpick, corner = "", chosen, text, class: kind = "" }) {
  const values = rows.map((_, r) => columns.map((_, c) => at(r, c)));
  const finite = values.flat().filter(Number.isFinite).map(Math.abs);
  const strongest = top ?? Math.max(0, ...finite);
  const cells = values.map((line, r) => line.map((value, c) => {
    const cell = number(value, from(r, c), { tag: "td", digits: 2, tabindex: r || c ? -1 : 0,
      title: `${label(rows[r])} → ${label(columns[c])}: ${value}`, text: numbers ? (text?.(value) ?? rounded(value, 2)) : "",
      class: chosen?.(r, c) ? "chosen" : null });
    if (!numbers) cell.setAttribute("aria-label", cell.title);
    shade(cell, value, strongest);
    return cell;
  }));
  const table = h("table", { class: `heat ${kind}${numbers ? "" : " small"}${onpick ? " picks" : ""}` },
    h("caption", { class: "sr" }, caption),
    h("thead", null, h("tr", null, h("td", { class: "corner" }, corner), columns.map((c) => h("th", { scope: "col", dir: "auto" }, h("span", { class: label(c).length > 4 ? "long" : null }, c))))),
    h("tbody", null, cells.map((line, r) => h("tr", null, h("th", { scope: "row", dir: "auto" }, rows[r]), line))));
  walkable(table, cells, onpick);
  return table;
}

function label(of) { return typeof of === "string" ? of : of.textContent; }

/** Arrow keys, Home and End move through cells; one of them at a time can be tabbed to. */
export function walkable(table, cells, onpick) {
  const find = (cell) => {
    const r = cells.findIndex((line) => line.includes(cell));
    return r < 0 ? null : [r, cells[r].indexOf(cell)];
  };
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity] };
  table.addEventListener("keydown", (event) => {
    const where = find(event.target);
    if (!where || event.altKey || event.ctrlKey || event.metaKey) return;
    if (moves[event.key]) {
      const [r, c] = where.map((i, axis) => i + moves[event.key][axis]);
      const line = cells[Math.min(Math.max(r, 0), cells.length - 1)];
      line[Math.min(Math.max(c, 0), line.length - 1)].focus();
    } else if (onpick && (event.key === "Enter" || event.key === " ")) onpick(...where);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  table.addEventListener("focusin", (event) => {
    if (!find(event.target)) return;
    for (const cell of cells.flat()) cell.tabIndex = cell === event.target ? 0 : -1;
  });
  if (onpick) table.addEventListener("click", (event) => {
    const where = find(event.target.closest("td"));
    if (where) onpick(...where);
  });
}

/** A piece of text as the model cuts it: white space visible, marks quiet. `token`: {piece, start, end}. */
export function piece(token, attributes = {}) {
  const mark = token.start === token.end;
  const shown = token.piece.replace(/^ /, "␣").replace(/ $/, "␣");
  return h("span", { dir: "auto", ...attributes, class: `piece${mark ? " mark" : ""} ${attributes.class ?? ""}`.trim() }, shown);
}

/** A row of buttons of which one is pressed: `options` [[value, text]…], `onchange(value)`. */
export function choice({ label: name, options, value, onchange, id }) {
  return h("div", { class: "choice", role: "group", "aria-label": name },
    h("span", { class: "choice-name" }, name),
    options.map(([of, text]) => h("button", { type: "button", id: id && `${id}-${of}`, "aria-pressed": String(of === value),
      onclick: () => onchange(of) }, text)));
}
