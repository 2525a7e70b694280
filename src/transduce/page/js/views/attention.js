/** Maps of attention by layer and head, by pieces, characters or words; and what hangs on a word of the source. */

import { choice, h, heatmap, piece } from "../draw.js";
import { picture } from "../picture.js";

export const id = "attention";
export const key = "view_attention";

export function available(recording) { return Boolean(recording.view("attention")); }

export function render(root, context) {
  const { recording, state, t } = context;
  const { maps } = recording.view("attention");
  root.append(h("p", { class: "note" }, t("attention_caution")), places(context, maps));
  if (!recording.places.includes(state.place)) {
    root.append(h("p", { class: "lead" }, t("attention_pick")));
    return;
  }
  const kinds = ["weights", "norms"].filter((kind) => maps.some((one) => one.place === state.place && one.kind === kind));
  const kind = kinds.includes(state.kind) ? state.kind : "weights";
  const unit = ["pieces", "characters", "words"].includes(state.unit) ? state.unit : "pieces";
  const at = maps.findIndex((one) => one.place === state.place && one.kind === kind && one.unit === unit);
  const shown = { ...context, map: maps[at], path: `views.attention.maps.${at}`, heads: recording.tensor(`${state.place}.weights`).shape[0] };
  root.append(controls(shown, kinds, kind, unit), h("div", { class: "maps" },
    h("div", { class: "map-main" }, heads(shown), large(shown)),
    h("aside", null, reading(shown), without(context))));
}

/** Every place that attends, none of them chosen beforehand; the small maps are means over its heads. */
function places(context, maps) {
  const { recording, state, set, t } = context;
  return h("div", { class: "minis layers", role: "group", "aria-label": t("attention_places") }, recording.places.map((place) => {
    const at = maps.findIndex((one) => one.place === place && one.kind === "weights" && one.unit === "pieces");
    const mean = recording.packed(`views.attention.maps.${at}.mean`);
    const [rows, columns] = mean.shape;
    return h("button", { type: "button", class: "mini", id: `place-${place}`, "aria-pressed": String(place === state.place),
      onclick: () => set({ place, head: undefined, row: undefined }) },
      picture({ rows, columns, at: (r, c) => mean.at(r, c), top: 1, title: t("attention_mean_of", { place: placeName(t, place) }), class: "map" }),
      h("span", null, placeName(t, place)));
  }));
}

/** `decoder.1.cross` in words: "Decoder layer 2, to the source". */
export function placeName(t, place) {
  const match = /^(encoder|decoder)\.(?:(\d+)\.)?(self|cross)$/.exec(place);
  if (!match) return place;
  const side = t(`walk_side_${match[1]}`);
  const layer = match[2] === undefined ? side : t("walk_group_layer", { side, layer: Number(match[2]) + 1 });
  return t(`place_${match[3]}`, { layer });
}

function controls(shown, kinds, kind, unit) {
  const { set, t } = shown;
  return h("div", { class: "controls" },
    choice({ label: t("attention_unit"), id: "unit", value: unit, onchange: (of) => set({ unit: of }),
      options: ["pieces", "characters", "words"].map((of) => [of, t(`unit_${of}`)]) }),
    kinds.length > 1 ? choice({ label: t("attention_kind"), id: "kind", value: kind, onchange: (of) => set({ kind: of }),
      options: kinds.map((of) => [of, t(`kind_${of}`)]) }) : null);
}

function at(shown, head) {
  const { recording, map, path } = shown;
  if (head === null) return { tensor: recording.packed(`${path}.mean`), lead: [], from: { from: `${path}.mean` } };
  if (map.tensor) return { tensor: recording.tensor(map.tensor), lead: [head], from: { tensor: map.tensor } };
  return { tensor: recording.packed(`${path}.values`), lead: [head], from: { from: `${path}.values` } };
}

function chosenHead({ state, heads: count }) {
  if (count === 1) return 0;
  return Number.isInteger(state.head) && state.head >= 0 && state.head < count ? state.head : null;
}

function top(shown) {
  if (shown.map.kind === "weights") return 1;
  return Math.max(...at(shown, shown.heads === 1 ? 0 : null).tensor.values, ...(shown.map.tensor ? shown.recording.tensor(shown.map.tensor).values : shown.recording.packed(`${shown.path}.values`).values));
}

function heads(shown) {
  const { heads: count, set, t, map } = shown;
  if (count === 1) return null;
  const head = chosenHead(shown);
  const strongest = top(shown);
  const one = (of, name) => {
    const { tensor, lead } = at(shown, of);
    return h("button", { type: "button", class: "mini", id: `head-${of ?? "mean"}`, "aria-pressed": String(of === head),
      onclick: () => set({ head: of ?? undefined }) },
      picture({ rows: map.rows.length, columns: map.columns.length, at: (r, c) => tensor.at(...lead, r, c), top: strongest, title: name, class: "map" }),
      h("span", null, name));
  };
  return h("div", { class: "minis", role: "group", "aria-label": t("walk_heads") },
    one(null, t("attention_mean")), Array.from({ length: count }, (_, of) => one(of, t("walk_head", { head: of }))));
}

/** The chosen map with its numbers; a cell leads to its query in detail. */
function large(shown) {
  const { map, state, t, set, open } = shown;
  const head = chosenHead(shown);
  const { tensor, lead, from } = at(shown, head);
  const name = `${placeName(t, state.place)}, ${head === null ? t("attention_mean_long") : t("walk_head", { head })}`;
  const rows = map.rows.map((unit, r) => (map.reads.length ? h("span", null, `${map.reads[r]} → `, unitLabel(unit)) : unitLabel(unit)));
  const detail = map.unit === "pieces" && map.tensor && shown.recording.view("query")?.places.some((one) => one.place === state.place);
  return h("figure", { class: "card" },
    h("figcaption", null, h("strong", null, name), h("p", { class: "quiet" }, t(head === null && shown.heads > 1 ? "attention_no_head" : "attention_rows"),
      " ", t(`attention_${map.kind}`), map.unit === "pieces" ? "" : ` ${t("attention_sums")}`)),
    h("div", { class: "wide" }, heatmap({ rows, columns: map.columns.map(unitLabel), caption: name, top: top(shown), corner: map.reads.length ? t("attention_corner") : "",
      at: (r, c) => tensor.at(...lead, r, c), from: (r, c) => ({ ...from, index: [...lead, r, c] }),
      text: (value) => (value === 0 ? "0" : value.toFixed(2)), chosen: (r) => r === state.row,
      onpick: (r) => set({ row: r === state.row ? undefined : r }) })),
    detail ? h("p", null, h("button", { type: "button", id: "to-query", onclick: () => open("query", { place: state.place, head: head ?? 0, row: state.row ?? 0 }) },
      t("attention_to_query"), " →")) : null);
}

function unitLabel(unit) {
  return piece({ piece: unit.label, start: unit.start, end: unit.end });
}

/** The columns in words: how much each of them is read by the chosen row. */
function reading(shown) {
  const { map, state, t } = shown;
  if (!Number.isInteger(state.row) || state.row >= map.rows.length) return h("p", { class: "quiet" }, t("attention_pick_row"));
  const { tensor, lead } = at(shown, chosenHead(shown));
  const strongest = top(shown);
  return h("div", { class: "card reading" },
    h("h3", null, t("attention_row_reads", { row: `${map.reads[state.row] ? `${map.reads[state.row]} → ` : ""}${map.rows[state.row].label.trim()}` })),
    h("p", { class: "read-text" }, map.columns.map((unit, c) => {
      const label = unitLabel(unit);
      label.classList.add("read");
      label.style.setProperty("--v", Math.min(1, tensor.at(...lead, state.row, c) / strongest).toFixed(4));
      return label;
    })));
}

/** Delete a word and see. */
function without(context) {
  const { recording, api, t } = context;
  const words = recording.streams.source?.words ?? [];
  if (words.length < 2) return null;
  const text = [...recording.source];
  const told = h("div", { "aria-live": "polite" });
  const name = ([start, end]) => text.slice(start, end).join("");
  const ask = async (number) => {
    told.replaceChildren(h("p", { class: "quiet" }, t("status_looking")));
    try {
      told.replaceChildren(...outcome(context, name(words[number]), await api.record({ without_word: number, target: null, text: recording.source })));
    } catch (error) {
      told.replaceChildren(h("p", { class: "failed" }, error.message));
    }
  };
  return h("div", { class: "card without" },
    h("h3", null, t("without_title")), h("p", { class: "quiet" }, t(api ? "without_text" : "without_no_server")),
    api ? h("div", { class: "words" }, words.map((word, i) => h("button", { type: "button", id: `without-${i}`, title: t("without_word", { word: name(word) }),
      onclick: () => ask(i) }, h("span", { class: "piece" }, name(word))))) : null,
    told);
}

function outcome(context, word, after) {
  const { recording, t } = context;
  const row = (label, of) => h("tr", null, h("th", { scope: "row" }, label), h("td", { dir: "auto" }, of.source), h("td", { dir: "auto" }, of.translation));
  return [
    h("table", { class: "without-table" }, h("caption", { class: "sr" }, t("without_title")),
      h("tbody", null, row(t("without_before"), recording), row(t("without_after", { word }), after))),
    h("p", null, t(after.translation === recording.translation ? "without_same" : "without_changed", { word }))];
}
