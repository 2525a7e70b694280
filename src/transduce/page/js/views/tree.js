/** The beam search as a tree that grows step by step; a branch can be forced, and the search goes on from there. */

import { filled, h, number, piece, rounded, svg, svgNumber } from "../draw.js";

export const id = "tree";
export const key = "view_tree";

export function available(recording) { return Boolean(recording.tree?.candidates.length); }

const ROW = 40, TOP = 30, LEFT = 8, GAP = 46, CHIP = 28;
/** Dropped candidates of a step that are drawn unless all are wanted, and the height of a row of them. */
const FEW = 5, LOW = 32;
const PLAY = 1100;
/** What a forced search came from: {origin, prefix}, by its recording. */
const forced = new WeakMap();
let playing = null;
/** What was drawn last, so that only what has grown since appears slowly: {recording, grown}. */
let last = null;

export function render(root, context) {
  const { recording, t } = context;
  clearTimeout(playing?.timer);
  if (playing?.recording !== recording) playing = null;
  const tree = model(recording);
  const grown = Math.min(context.state.grown ?? tree.steps, tree.steps);
  const panel = h("div", { class: "card tree-path", "aria-live": "polite" });
  const told = h("p", { class: "tree-told failed", role: "alert" });
  const show = (of) => panel.replaceChildren(...path(tree, of, context));
  const go = (of) => force(tree, of, context, told, show);
  root.append(
    h("p", { class: "lead" }, t("tree_lead", { beam: tree.beam, alpha: tree.length_penalty }), context.api ? t("tree_choose") : ""),
    origin(context), controls(tree, grown, context), told,
    h("div", { class: "wide tree-drawing", id: "tree-drawing" }, drawing(tree, grown, context, show, go)),
    legend(context), panel, h("h2", null, t("tree_every")), ...tables(tree, grown, context, go),
  );
  show(chosen(tree, grown));
  const scroller = root.querySelector("#tree-drawing");
  requestAnimationFrame(() => { scroller.scrollLeft = grown === tree.steps ? scroller.scrollLeft : scroller.scrollWidth; });
  if (playing) playing.timer = setTimeout(() => step(tree, grown, context), PLAY);
}

/** The tree with what drawing it needs: children, the way to the best result, and how much of it was given. */
function model(recording) {
  const tree = recording.tree;
  const at = (number) => tree.candidates[number - 1];
  const way = (number) => {
    const found = [];
    for (let n = number; n; n = at(n).parent) found.unshift(at(n));
    return found;
  };
  const best = tree.candidates.find((c) => c.rank === 1);
  const steps = Math.max(...tree.candidates.map((c) => c.step));
  const only = Array.from({ length: steps }, (_, i) => tree.candidates.filter((c) => c.step === i + 1).length === 1);
  const begun = only.includes(false) ? only.indexOf(false) : steps;
  return { ...tree, at, way, steps, begun, best: new Set(best ? way(best.number).map((c) => c.number) : []),
    // A language model's tree begins with the text it goes on with, which is no prefix of its output.
    given: recording.capabilities.includes("language-model") ? begun - (forced.get(recording)?.prefix.length ?? 0) : 0,
    label: (c) => token(recording, c.token) };
}

function token(recording, id) {
  const text = recording.vocabulary[id];
  return /^<.*>$/.test(text) ? { piece: text, start: 0, end: 0 } : { piece: text, start: 0, end: 1 };
}

const kept = (c) => c.fate === "lives" || c.fate === "finished" || c.rank !== null;

function chosen(tree, grown) {
  const grew = tree.candidates.filter((c) => c.step <= grown);
  return grew.filter((c) => tree.best.has(c.number)).at(-1) ?? grew[0];
}

function controls(tree, grown, { t, set, recording, state }) {
  const dropped = tree.candidates.filter((c) => c.step === grown && !kept(c)).length;
  const to = (n) => set({ grown: n >= tree.steps ? null : Math.max(1, n) });
  const stop = () => { playing = null; };
  const play = () => {
    if (playing) { stop(); to(grown); return; }
    playing = { recording, timer: 0 };
    to(grown >= tree.steps ? 1 : grown);
  };
  return h("div", { class: "tree-controls" },
    h("button", { type: "button", id: "tree-back", disabled: grown <= 1, "aria-label": t("tree_back"), onclick: () => { stop(); to(grown - 1); } }, "◀"),
    h("button", { type: "button", id: "tree-play", class: "primary", onclick: play }, playing ? t("tree_pause") : t("tree_play")),
    h("button", { type: "button", id: "tree-on", disabled: grown >= tree.steps, "aria-label": t("tree_on"), onclick: () => { stop(); to(grown + 1); } }, "▶"),
    h("label", { class: "tree-slider" }, h("span", null, t("tree_step", { step: grown, steps: tree.steps })),
      h("input", { type: "range", id: "tree-step", min: 1, max: tree.steps, value: grown, oninput: (event) => { stop(); to(Number(event.target.value)); } })),
    dropped > FEW ? h("button", { type: "button", id: "tree-dropped", "aria-pressed": String(Boolean(state.dropped)), onclick: () => set({ dropped: state.dropped ? null : 1 }) },
      t("tree_all_dropped", { count: dropped })) : null);
}

function step(tree, grown, { set }) {
  if (grown + 1 >= tree.steps) playing = null;
  set({ grown: grown + 1 >= tree.steps ? null : grown + 1 });
}

/** Left and right grow and shrink the tree, wherever the focus is. */
export function onkey(event, context) {
  const tree = model(context.recording);
  const grown = Math.min(context.state.grown ?? tree.steps, tree.steps);
  const to = grown + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0);
  if (to === grown || to < 1 || to > tree.steps) return false;
  playing = null;
  context.set({ grown: to === tree.steps ? null : to });
  return true;
}

function origin({ recording, t, replace, set }) {
  const came = forced.get(recording);
  if (!came) return "";
  const text = came.prefix.map((id) => recording.vocabulary[id]).join("");
  return h("p", { class: "note tree-forced" }, ...filled(t("tree_forced"), { prefix: h("strong", { dir: "auto" }, text) }), " ",
    h("button", { type: "button", id: "tree-free", onclick: () => { set({ grown: null }); replace(came.origin); } }, t("tree_free")));
}

async function force(tree, c, context, told, show) {
  const { api, recording, t, replace, set } = context;
  show(c);
  if (!api) return;
  const way = tree.way(c.number).slice(tree.given);
  // The end mark cannot be gone on from: what comes before it can.
  const prefix = (c.fate === "finished" ? way.slice(0, -1) : way).map((one) => one.token);
  playing = null;
  try {
    told.textContent = t("tree_searching");
    const found = await api.record({ prefix, target: null });
    forced.set(found, { origin: forced.get(recording)?.origin ?? recording, prefix });
    set({ grown: null, step: null });
    replace(found);
    document.getElementById("tree-free")?.focus();
  } catch (error) {
    told.textContent = t("status_failed", { message: error.message });
  }
}

/** Row of each node that stays: leaves below one another, what goes on level with the first of its children. */
function layout(tree) {
  const children = new Map();
  const leaves = new Map();
  for (const c of tree.candidates.filter(kept).reverse()) {
    children.set(c.parent, [c, ...(children.get(c.parent) ?? [])]);
    const own = Math.max(1, leaves.get(c.number) ?? 0);
    leaves.set(c.number, own);
    leaves.set(c.parent, (leaves.get(c.parent) ?? 0) + own);
  }
  // The best way comes first and so runs straight along the top; what has few leaves stands near its parent.
  const order = (a, b) => tree.best.has(b.number) - tree.best.has(a.number) || leaves.get(a.number) - leaves.get(b.number) || a.number - b.number;
  const rows = new Map();
  let free = 0;
  const visit = (node) => {
    rows.set(node, free);
    const below = [...(children.get(node) ?? [])].sort(order);
    below.forEach((c) => visit(c.number));
    if (!below.length) free += 1;
  };
  visit(0);
  return { rows, depth: free };
}

function drawing(tree, grown, context, show, go) {
  const { t } = context;
  const { rows, depth } = layout(tree);
  const every = tree.candidates.filter((c) => c.step === grown && !kept(c));
  const dropped = context.state.dropped ? every : every.slice(0, FEW);
  dropped.forEach((c, i) => rows.set(c.number, depth + 0.4 + (i * LOW) / ROW));
  const drawn = tree.candidates.filter((c) => (c.step <= grown && kept(c)) || dropped.includes(c));
  const widths = Array.from({ length: tree.steps + 1 }, (_, s) =>
    Math.max(56, ...tree.candidates.filter((c) => c.step === s && (kept(c) || dropped.includes(c))).map((c) => width(tree, c))));
  widths[0] = 40;
  const lefts = widths.map((_, s) => LEFT + widths.slice(0, s).reduce((a, b) => a + b + GAP, 0));
  const place = (c) => ({ x: lefts[c.step], y: TOP + rows.get(c.number) * ROW, width: width(tree, c) });
  const start = { x: lefts[0], y: TOP + rows.get(0) * ROW, width: 40 };
  const from = (c) => (c.parent ? place(tree.at(c.parent)) : start);
  const right = lefts[grown] + Math.max(widths[grown] + 90, every.length ? 240 : 0);
  const height = TOP + depth * ROW + (dropped.length ? 0.4 * ROW + dropped.length * LOW : 0);
  const edges = [...drawn].sort((a, b) => tree.best.has(a.number) - tree.best.has(b.number)).map((c) => edge(tree, c, from(c), place(c)));
  const nodes = drawn.map((c) => node(tree, c, place(c), grown, context));
  const made = svg("svg", { class: "tree", width: right, height, viewBox: `0 0 ${right} ${height}`, role: "tree", "aria-label": t("tree_name") },
    svg("title", null, t("tree_name")), edges,
    svg("g", { class: "start", role: "presentation" }, svg("rect", { x: start.x, y: start.y - CHIP / 2, width: start.width, height: CHIP, rx: 14 }),
      svg("text", { x: start.x + start.width / 2, y: start.y + 5, "text-anchor": "middle" }, "<s>")),
    dropped.length ? svg("text", { class: "heading", x: lefts[grown], y: TOP + depth * ROW - 10 }, t("tree_dropped")) : null, nodes);
  walk(made, drawn, tree, show, go);
  last = { recording: context.recording, grown };
  return made;
}

const ruler = document.createElement("canvas").getContext("2d");

/** Of the chip of a candidate, with the number in it. */
function width(tree, c) {
  ruler.font = `700 15px ${getComputedStyle(document.documentElement).getPropertyValue("--serif")}`;
  return Math.ceil(ruler.measureText(shown(tree.label(c).piece)).width) + 74;
}

const shown = (text) => text.replace(/^ /, "␣").replace(/ $/, "␣");

function edge(tree, c, a, b) {
  const [x, end] = [a.x + a.width, b.x];
  const bend = (end - x) / 2;
  const state = tree.best.has(c.number) ? "best" : kept(c) ? "" : "dropped";
  return svg("path", { class: `edge ${state}`, d: `M${x} ${a.y}C${x + bend} ${a.y} ${end - bend} ${b.y} ${end} ${b.y}`,
    style: { "--p": Math.exp(c.log_probability).toFixed(4) } });
}

function node(tree, c, { x, y, width }, grown, { t, recording }) {
  const of = `notes.tree.candidates.${c.number - 1}`;
  const label = tree.label(c).piece;
  const classes = ["node", c.fate, tree.best.has(c.number) && "best", c.step === grown && (last?.recording !== recording || last.grown !== grown) && "new"].filter(Boolean).join(" ");
  return svg("g", { class: classes, id: `node-${c.number}`, "data-number": c.number, role: "treeitem", tabindex: -1, "aria-level": c.step,
    "aria-label": t("tree_node", { piece: label, logp: rounded(c.log_probability), score: rounded(c.score), fate: fate(c, t) }),
    style: { "--p": Math.exp(c.log_probability).toFixed(4) } },
    svg("title", null, `${label}: log P ${c.log_probability}, ${fate(c, t)}`),
    svg("rect", { class: "under", x, y: y - CHIP / 2, width, height: CHIP, rx: 14 }),
    svg("rect", { class: "chip", x, y: y - CHIP / 2, width, height: CHIP, rx: 14 }),
    svg("text", { class: "label", x: x + 12, y: y + 5 }, shown(label)),
    svgNumber(c.log_probability, { from: `${of}.log_probability` }, { class: "logp", x: x + width - 10, y: y + 4, "text-anchor": "end", digits: 2 }),
    c.rank === null ? null : svg("text", { class: "rank", x: x + width + 8, y: y - 1 }, t("tree_rank", { rank: c.rank })),
    c.rank === null && kept(c) ? null : svgNumber(c.score, { from: `${of}.score` }, { class: "score", x: x + width + 8, y: c.rank === null ? y + 4 : y + 13 }));
}

/** Arrow keys walk from node to node: to the parent, the first child, and up and down in a step. */
function walk(made, drawn, tree, show, go) {
  const ordered = [...drawn].sort((a, b) => a.step - b.step || y(a) - y(b));
  function y(c) { return Number(made.querySelector(`#node-${c.number} .chip`).getAttribute("y")); }
  const element = (c) => made.querySelector(`#node-${c.number}`);
  const of = (target) => drawn.find((c) => c.number === Number(target.closest?.(".node")?.dataset.number));
  const first = drawn.find((c) => tree.best.has(c.number)) ?? drawn[0];
  element(first).setAttribute("tabindex", "0");
  made.addEventListener("focusin", (event) => {
    const c = of(event.target);
    if (!c) return;
    for (const other of made.querySelectorAll(".node")) other.setAttribute("tabindex", other === element(c) ? "0" : "-1");
    show(c);
  });
  made.addEventListener("pointerover", (event) => { const c = of(event.target); if (c) show(c); });
  made.addEventListener("click", (event) => { const c = of(event.target); if (c) go(c); });
  made.addEventListener("keydown", (event) => {
    const c = of(event.target);
    if (!c || event.altKey || event.ctrlKey || event.metaKey) return;
    const column = ordered.filter((other) => other.step === c.step);
    const beside = (by) => column[column.indexOf(c) + by];
    const to = { ArrowLeft: () => drawn.find((other) => other.number === c.parent), ArrowRight: () => ordered.find((other) => other.parent === c.number),
      ArrowUp: () => beside(-1), ArrowDown: () => beside(1) }[event.key];
    if (to) element(to() ?? c).focus();
    else if (event.key === "Enter" || event.key === " ") go(c);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

function fate(c, t) {
  return c.rank === null ? t(`tree_fate_${c.fate}`) : t("tree_fate_result", { rank: c.rank });
}

function legend({ t }) {
  return h("ul", { class: "legend tree-legend" }, ["lives", "finished", "beam", "length", "stopped"].map((of) =>
    h("li", null, h("span", { class: `swatch ${of}`, "aria-hidden": "true" }), t(`tree_fate_${of}`))));
}

/** How the log-probabilities along a way add up to its score. */
function path(tree, c, { t, api }) {
  const way = tree.way(c.number);
  const of = (one, name) => number(one[name], { from: `notes.tree.candidates.${one.number - 1}.${name}` }, { digits: 4 });
  return [
    h("h2", null, t("tree_path")),
    h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": t("tree_path") }, h("table", { class: "sums" },
      h("caption", { class: "sr" }, t("tree_path")),
      h("tbody", null,
        h("tr", null, h("th", { scope: "row" }, t("tree_col_piece")), way.map((one) => h("td", null, piece(tree.label(one)))), h("td", null)),
        h("tr", null, h("th", { scope: "row" }, t("tree_col_logp")), way.map((one) => h("td", null, of(one, "log_probability"))),
          h("td", { class: "total" }, "Σ = ", of(c, "total")))))),
    h("p", { class: "tree-score" }, ...filled(t("tree_sum"), { total: of(c, "total"), penalty: of(c, "penalty"), score: h("strong", null, of(c, "score")) })),
    h("p", { class: "quiet" }, filled(t("tree_fate_is"), { fate: fate(c, t) })),
    api ? h("p", { class: "quiet" }, t("tree_click")) : "",
  ];
}

function tables(tree, grown, context, go) {
  return Array.from({ length: grown }, (_, i) => grown - i).map((s) => {
    const rows = tree.candidates.filter((c) => c.step === s);
    return h("details", { open: s === grown, id: `tree-table-${s}` },
      h("summary", null, context.t("tree_table", { step: s, count: rows.length })),
      h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": context.t("tree_table", { step: s, count: rows.length }) }, table(tree, rows, s, context, go)));
  });
}

function table(tree, rows, s, { t, api }, go) {
  const columns = ["before", "piece", "logp", "total", "penalty", "score", "fate"];
  const of = (c, name) => h("td", { class: "right" }, number(c[name], { from: `notes.tree.candidates.${c.number - 1}.${name}` }));
  return h("table", { class: "list candidates" },
    h("caption", { class: "sr" }, t("tree_table", { step: s, count: rows.length })),
    h("thead", null, h("tr", null, columns.map((name) => h("th", { scope: "col" }, t(`tree_col_${name}`))), api ? h("td", null) : null)),
    h("tbody", null, rows.map((c) => h("tr", { class: tree.best.has(c.number) ? "best" : kept(c) ? null : "dropped" },
      h("td", { dir: "auto" }, tree.way(c.parent).map((one) => tree.label(one).piece).join("")),
      h("th", { scope: "row" }, piece(tree.label(c))),
      ["log_probability", "total", "penalty", "score"].map((name) => of(c, name)),
      h("td", null, fate(c, t)),
      api ? h("td", null, h("button", { type: "button", class: "small", id: `force-${c.number}`, onclick: () => go(c),
        "aria-label": t("tree_force_label", { piece: tree.label(c).piece }) }, t("tree_force"))) : null))));
}
