/** Vectors line by line, as in a sum on paper: each a strip of colours, and a window of its numbers to read. */

import { element, h, number } from "./draw.js";
import { picture } from "./picture.js";

/** Numbers of a vector that a window shows, by the room there is; app.js draws anew where that changes. */
export const ROOM = ["(min-width: 85rem)", "(min-width: 46rem)"];
const SIZES = [6, 4, 2];
const windowSize = () => SIZES[ROOM.filter((room) => !matchMedia(room).matches).length];

/**
 * `lines`: {sign, label, name, tensor, index: of all axes but the last, strong, onpick} or {sign, label, scalar: node}.
 * All vectors have the same width or one of their own; the window of each begins at `state.dim`.
 */
export function ledger(context, lines, { caption, id = "ledger" }) {
  const { recording, t, state, set } = context;
  const vectors = lines.filter((line) => line.tensor);
  const width = Math.max(0, ...vectors.map((line) => tensorOf(recording, line).shape.at(-1)));
  const shown = Math.min(windowSize(), width);
  const first = Math.min(Math.max(0, state.dim ?? 0), width - shown);
  const move = (to) => set({ dim: Math.min(Math.max(0, to), width - shown) });
  const strongest = Math.max(0, ...vectors.map((line) => largest(tensorOf(recording, line).row(...line.index))));
  const button = (key, sign, to, off) => h("button", { type: "button", id: `${id}-${key}`, title: t(key), "aria-label": t(key),
    disabled: off, onclick: () => move(to) }, sign);
  const dims = Array.from({ length: shown }, (_, i) => first + i);
  return h("div", { class: "wide" }, h("table", { class: "ledger" },
    h("caption", { class: "sr" }, caption),
    h("thead", null, h("tr", null,
      h("td", { colspan: 2, class: "dims-move" }, width > shown ? [
        button("ledger_before", "◀", first - shown, first === 0),
        button("ledger_after", "▶", first + shown, first + shown >= width)] : null),
      h("th", { scope: "col", class: "strip-head" }, t("ledger_vector", { width })),
      dims.map((dim) => h("th", { scope: "col", class: "dim" }, String(dim))))),
    h("tbody", null, lines.map((line) => row(context, line, { first, dims, strongest, move })))));
}

function row(context, line, { first, dims, strongest, move }) {
  const { recording } = context;
  const name = h("th", { scope: "row" },
    line.onpick ? h("button", { type: "button", class: "bare", id: line.id, onclick: line.onpick, "aria-pressed": String(Boolean(line.strong)) }, line.label)
      : h("span", null, line.label),
    line.name ? h("code", null, line.name) : null);
  const sign = h("td", { class: "sign" }, line.sign ?? "");
  const kind = [line.strong && "strong", line.total && "total"].filter(Boolean).join(" ") || null;
  if (line.scalar) return h("tr", { class: kind }, sign, name, h("td", { colspan: dims.length + 1, class: "scalar" }, line.scalar));
  const tensor = tensorOf(recording, line);
  const values = tensor.row(...line.index);
  const strip = picture({ rows: 1, columns: values.length, at: (_, c) => values[c], top: strongest, class: "strip" });
  const box = h("div", { class: "strip-box", onclick: (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    move(Math.round(((event.clientX - box.left) / box.width) * values.length - dims.length / 2));
  } }, strip);
  if (values.length > dims.length) box.append(h("span", { class: "window", style: {
    left: `${(100 * first) / values.length}%`, width: `${(100 * dims.length) / values.length}%` } }));
  const cells = dims.map((dim) => (dim < values.length ? h("td", { class: "dim" }, cell(recording, line, dim)) : h("td", { class: "dim" })));
  return h("tr", { class: kind }, sign, name, h("td", { class: "strip-cell" }, box), cells);
}

function tensorOf(recording, line) { return line.from ? recording.packed(line.from) : recording.tensor(line.tensor); }

function cell(recording, line, dim) {
  const index = [...line.index, dim];
  return line.from ? number(tensorOf(recording, line).at(...index), { from: line.from, index }) : element(recording, line.tensor, index);
}

function largest(values) {
  return values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);
}

/** `[5, 128]` with the names of its axes: "5 pieces × 128 features". */
export function shape(context, name) {
  const { recording, t } = context;
  const axes = recording.axes[name] ?? [];
  const sizes = recording.payload.tensors[name].shape;
  const known = { source: "axis_source", previous: "axis_previous", head: "axis_head", feature: "axis_feature", vocabulary: "axis_vocabulary" };
  return sizes.map((size, i) => (known[axes[i]] ? t(known[axes[i]], { n: size }) : String(size))).join(" × ");
}
