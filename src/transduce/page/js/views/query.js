/** One query in detail: from q·k to the normalised sum, as one works it by hand. */

import { choice, element, filled, h, number, piece } from "../draw.js";
import { ledger } from "../ledger.js";
import { placeName } from "./attention.js";

export const id = "query";
export const key = "view_query";

export function available(recording) { return Boolean(recording.view("query")); }

export function render(root, context) {
  const { recording, state, t } = context;
  const { places } = recording.view("query");
  const at = Math.max(0, places.findIndex((one) => one.place === state.place));
  const found = places[at];
  const { place } = found;
  const [heads, rows, columns] = recording.tensor(`${place}.weights`).shape;
  const within = (wanted, size) => Math.min(Math.max(0, Number.isInteger(wanted) ? wanted : 0), size - 1);
  const axes = recording.axes[`${place}.weights`];
  const one = { ...context, found, place, path: `views.query.places.${at}`, heads, columns,
    head: within(state.head, heads), row: within(state.row, rows), column: within(state.column, columns),
    queries: recording.streams[axes[1]].tokens, keys: recording.streams[axes[2]].tokens };
  root.append(h("p", { class: "lead" }, t(found.score === "scaled" ? "query_lead" : "query_lead_other")), pickers(one, places), h("div", { class: "worked" },
    [scores(one), byHand(one), values(one), output(one), after(one)].filter(Boolean).map((made, i) => step(i + 1, ...made))));
}

function pickers(one, places) {
  const { t, set, heads, head, row, queries, state } = one;
  const started = state.place ? null : h("p", { class: "quiet" }, t("query_start"));
  return h("div", null, h("div", { class: "controls" },
    h("label", { class: "inline" }, h("span", null, t("query_place")), h("select", { id: "query-place", onchange: (event) => set({ place: event.target.value, head: 0, row: 0, column: 0 }) },
      places.map(({ place }) => h("option", { value: place, selected: place === one.place }, placeName(t, place))))),
    heads > 1 ? choice({ label: t("query_head"), id: "query-head", value: head, onchange: (of) => set({ place: one.place, head: of }),
      options: Array.from({ length: heads }, (_, of) => [of, String(of)]) }) : null),
    h("div", { class: "controls" }, choice({ label: t("query_row"), id: "query-row", value: row, onchange: (of) => set({ place: one.place, row: of }),
      options: queries.map((token, i) => [i, piece(token)]) })), started);
}

/** ① to ④: a score for each key, and what softmax makes of them. */
function scores(one) {
  const { t, found, place, path, head, row, column, keys, recording, set } = one;
  const scaled = found.score === "scaled";
  const index = (s) => [head, row, s];
  const derived = (name, s) => number(recording.packed(`${path}.${name}`).at(...index(s)), { from: `${path}.${name}`, index: index(s) });
  const tap = (name, s) => element(recording, `${place}.${name}`, index(s));
  const steps = [
    ["query_products", found.products && ((s) => derived("products", s))],
    ["query_scaled", scaled && ((s) => derived("scaled", s))],
    ["query_masked", (s) => tap("scores", s)],
    ["query_powers", (s) => derived("powers", s)],
    ["query_weights", (s) => tap("weights", s)],
  ].filter(([, draw]) => draw);
  const root = number(found.root, { from: `${path}.root` }, { digits: 4 });
  const shift = recording.packed(`${path}.shift`).at(head, row);
  const total = number(recording.packed(`${path}.total`).at(head, row), { from: `${path}.total`, index: [head, row] });
  const weights = recording.tensor(`${place}.weights`);
  return [t("query_scores_title"),
    h("p", { class: "lead" }, filled(t(`query_scores_${found.score}`), { query: piece(one.queries[row]), width: String(found.width), root })),
    h("div", { class: "wide" }, h("table", { class: "numbers scores" },
      h("caption", { class: "sr" }, t("query_scores_title")),
      h("thead", null, h("tr", null, h("th", { scope: "col", class: "left" }, t("query_key")), steps.map(([key]) => h("th", { scope: "col" }, t(key))), h("td", null))),
      h("tbody", null, keys.map((token, s) => h("tr", { class: s === column ? "chosen" : null },
        h("th", { scope: "row" }, h("button", { type: "button", class: "bare", id: `key-${s}`, "aria-pressed": String(s === column), onclick: () => set({ place, column: s }) }, piece(token))),
        steps.map(([, draw]) => h("td", null, draw(s))),
        h("td", { class: "bar-cell" }, weights.at(head, row, s) ? h("span", { class: "bar", style: { "--share": weights.at(head, row, s) } }) : null)))))),
    h("p", { class: "quiet" }, filled(t("query_softmax"), { total }), " ",
      shift ? filled(t("query_shift"), { shift: number(shift, { from: `${path}.shift`, index: [head, row] }) }) : "", " ", t("query_hidden"), " ", found.products ? t("query_pick") : "")];
}

/** q·k for one key, number by number. */
function byHand(one) {
  const { t, found, place, head, row, column, keys, queries, recording, path } = one;
  if (!found.products) return null;
  const perHead = recording.tensor(`${place}.queries`).shape.length === 3;
  const line = (sign, name, i, label) => ({ sign, label, name: `${place}.${name}`, tensor: `${place}.${name}`, index: perHead ? [head, i] : [i] });
  const index = [head, row, column];
  return [filled(t("query_hand_title"), { query: piece(queries[row]), key: piece(keys[column]) }),
    h("p", { class: "lead" }, t("query_hand_text")),
    ledger(one, [line("", "queries", row, [t("query_q"), " ", piece(queries[row])]), line("·", "keys", column, [t("query_k"), " ", piece(keys[column])]),
      { sign: "=", label: "q·k", total: true, scalar: number(recording.packed(`${path}.products`).at(...index), { from: `${path}.products`, index }, { digits: 5 }) }],
    { caption: t("query_hand_text"), id: "hand" })];
}

/** The weighted sum of the values. */
function values(one) {
  const { t, place, head, row, keys, recording } = one;
  const perHead = recording.tensor(`${place}.values`).shape.length === 3;
  const result = ["heads", "context"].map((part) => `${place}.${part}`).find((name) => recording.has(name));
  if (!result) return null;
  const lines = keys.map((token, s) => ({ sign: s ? "+" : "", tensor: `${place}.values`, index: perHead ? [head, s] : [s], id: `value-${s}`,
    label: h("span", null, element(recording, `${place}.weights`, [head, row, s]), " × v ", piece(token)) }));
  lines.push({ sign: "=", label: t("query_sum"), name: result, tensor: result, total: true, index: recording.tensor(result).shape.length === 3 ? [head, row] : [row] });
  return [t("query_values_title"), h("p", { class: "lead" }, t("query_values_text")), ledger(one, lines, { caption: t("query_values_title"), id: "values" })];
}

/** The head's slice of W^O, and what the others add. */
function output(one) {
  const { t, place, head, row, heads, recording } = one;
  if (!recording.has(`${place}.projected`)) return null;
  const width = recording.tensor(`${place}.heads`).shape.at(-1);
  const lines = Array.from({ length: heads }, (_, of) => ({ sign: of ? "+" : "", label: t("walk_head_projected", { head: of }), strong: of === head,
    tensor: `${place}.projected`, index: [of, row] }));
  lines.push({ sign: "+", label: t("walk_bias"), tensor: `${place}.bias`, index: [] });
  lines.push({ sign: "=", label: t("walk_output"), name: `${place}.output`, tensor: `${place}.output`, index: [row], total: true });
  return [t("query_output_title"), h("p", { class: "lead" }, t("query_output_text", { head, heads, width, first: head * width, last: (head + 1) * width - 1 })),
    ledger(one, lines, { caption: t("query_output_title"), id: "output" })];
}

/** Residual connection and normalisation. */
function after(one) {
  const { t, place, row, recording } = one;
  const stage = recording.view("walk").stages.find((of) => of.kind === "residual" && of.added === `${place}.output`);
  if (!stage?.sum) return null;
  const base = `${place}.residual`;
  const has = (name) => recording.has(`${base}.${name}`);
  const lines = [
    { label: t("walk_before"), name: stage.before, tensor: stage.before, index: [row] },
    { sign: "+", label: t("walk_output"), name: stage.added, tensor: stage.added, index: [row] },
    { sign: "=", label: t("walk_sum"), name: stage.sum, tensor: stage.sum, index: [row], total: !has("output") },
    has("standard") && { sign: "⇒", label: t("walk_standard"), tensor: `${base}.standard`, index: [row] },
    has("gain") && { sign: "×", label: t("walk_gain"), tensor: `${base}.gain`, index: [] },
    has("shift") && { sign: "+", label: t("walk_shift"), tensor: `${base}.shift`, index: [] },
    has("output") && { sign: "=", label: t("walk_normed"), name: `${base}.output`, tensor: `${base}.output`, index: [row], total: true },
  ].filter(Boolean);
  return [t("query_after_title"), h("p", { class: "lead" }, t(has("output") ? "query_after_text" : "query_after_text_pre")),
    ledger(one, lines, { caption: t("query_after_title"), id: "after" })];
}

function step(count, title, ...body) {
  return h("section", { class: "card step" }, h("h2", null, h("span", { class: "count", "aria-hidden": "true" }, String(count)), " ", title), body);
}
