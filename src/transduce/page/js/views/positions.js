/** Positions: what tells the model where a token stands; and one word in two sentences, layer by layer. */

import { filled, h, heatmap, number, piece } from "../draw.js";
import { curves, picture } from "../picture.js";
import { Recording } from "../recording.js";

export const id = "positions";
export const key = "view_positions";

const SIMILAR = 24;
/** Where the reader last pointed: {place, dimension}. */
const at = { place: 3, dimension: 8 };
/** What was asked of a recording's words in another sentence: {text, word, failed, busy}. */
const asked = new WeakMap();
/** The recording of the second sentence, by what the server answered. */
const seconds = new WeakMap();

export function available() { return true; }

export function render(root, context) {
  const { recording, t } = context;
  const tables = recording.view("positions");
  root.append(h("p", { class: "lead" }, t("positions_lead")));
  if (tables === undefined) root.append(h("p", { class: "note" }, t("positions_no_model")));
  else if (!tables.length) root.append(h("p", { class: "note", id: "positions-none" }, t(recording.capabilities.includes("recurrent") ? "positions_none_recurrent" : "positions_none")));
  (tables ?? []).forEach((table, i) => root.append(places(table, i, context)));
  if (recording.streams.source) root.append(...words(context));
}

function places(table, i, { recording, t }) {
  const path = `views.positions.${i}`;
  const vectors = recording.packed(`${path}.vectors`);
  const [n, d] = vectors.shape;
  const drawn = picture({ rows: n, columns: d, at: (r, c) => vectors.at(r, c), title: t("positions_picture", { n, d }), class: "places",
    top: table.kind === "scalar" ? n : undefined });
  const cross = h("div", { class: "crosshair", "aria-hidden": "true" });
  const read = h("p", { class: "readout", "aria-live": "polite" });
  const curve = h("div", { class: "place-curve" });
  const slider = (name, most) => h("input", { type: "range", id: `positions-${name}-${i}`, min: 0, max: most, value: Math.min(at[name], most),
    oninput: (event) => { at[name] = Number(event.target.value); show(); } });
  const sliders = { place: slider("place", n - 1), dimension: slider("dimension", d - 1) };
  const show = () => {
    const [p, c] = [Math.min(at.place, n - 1), Math.min(at.dimension, d - 1)];
    [sliders.place.value, sliders.dimension.value] = [p, c];
    cross.style.setProperty("--x", (c + 0.5) / d);
    cross.style.setProperty("--y", (p + 0.5) / n);
    const formula = table.kind === "sinusoidal" ? t(c % 2 ? "positions_cos" : "positions_sin", { pos: p, two_i: c - (c % 2), d }) : t("positions_entry", { pos: p, dim: c });
    const token = recording.streams.source?.tokens[p];
    read.replaceChildren(h("code", null, formula), " = ", number(vectors.at(p, c), { from: `${path}.vectors`, index: [p, c] }, { digits: 4, tag: "strong" }),
      token ? h("span", { class: "quiet" }, " ", ...filled(t("positions_here"), { piece: piece(token) })) : "");
    const line = Array.from({ length: n }, (_, r) => [r, vectors.at(r, c)]);
    const most = Math.max(...line.map(([, y]) => Math.abs(y)), 1e-9);
    const low = table.kind === "scalar" ? 0 : -most;
    curve.replaceChildren(curves({ title: t("positions_curve", { dim: c }), height: 210, dots: false,
      series: [{ name: "", points: line }],
      x: { label: t("positions_axis_place"), low: 0, high: n - 1, ticks: [0, 8, 16, 24, 32, 40].filter((v) => v < n).map((v) => [v, v]) },
      y: { label: t("positions_axis_value"), low, high: most, ticks: [low, (low + most) / 2, most].map((v) => [v, Number(v.toPrecision(2))]) } }));
  };
  const frame = h("div", { class: "places-frame" }, drawn, cross);
  const point = (event) => {
    const box = drawn.getBoundingClientRect();
    at.dimension = Math.max(0, Math.min(d - 1, Math.floor((d * (event.clientX - box.left)) / box.width)));
    at.place = Math.max(0, Math.min(n - 1, Math.floor((n * (event.clientY - box.top)) / box.height)));
    show();
  };
  drawn.addEventListener("pointerdown", point);
  drawn.addEventListener("pointermove", point);
  show();
  const m = Math.min(SIMILAR, n);
  const cosines = recording.packed(`${path}.cosines`);
  const labels = Array.from({ length: m }, (_, r) => String(r));
  return h("section", { class: "positions", id: `positions-${i}` },
    h("h2", null, t(`positions_kind_${table.kind}`), " ", h("code", null, table.name)),
    h("p", { class: "quiet" }, t(`positions_about_${table.kind}`, { n, d })),
    h("div", { class: "split" },
      h("div", { class: "card" }, frame, h("div", { class: "axis-name" }, h("span", null, t("positions_axis_place"), " ↓"), h("span", null, t("positions_axis_dimension"), " →")),
        h("div", { class: "controls" }, ["place", "dimension"].map((name) => h("label", { class: "slide" }, h("span", null, t(`positions_axis_${name}`)), sliders[name]))),
        read, curve),
      h("div", { class: "card" }, h("h3", null, t("positions_similar")), h("p", { class: "quiet" }, t("positions_similar_about")),
        h("div", { class: "wide" }, heatmap({ rows: labels, columns: labels, at: (r, c) => cosines.at(r, c),
          from: (r, c) => ({ from: `${path}.cosines`, index: [r, c] }), caption: t("positions_similar"), top: 1, numbers: false, class: "medium" })))));
}

/** The part about one word in two sentences. */
function words(context) {
  const { recording, t, api } = context;
  const state = asked.get(recording) ?? { text: recording.view("companion") ?? "" };
  asked.set(recording, state);
  const input = h("input", { id: "positions-second", value: state.text, dir: "auto", lang: recording.notes.source_language, autocomplete: "off", required: true, maxlength: 500,
    oninput: (event) => { state.text = event.target.value; } });
  const answer = recording.view("contexts");
  const ask = (event) => { event?.preventDefault(); if (state.text.trim()) compare(state, context); };
  if (api && state.text && !answer && !state.failed && !state.busy) ask();
  return [h("h2", null, t("positions_words")), h("p", { class: "lead" }, t("positions_words_lead")),
    api ? h("form", { class: "second", onsubmit: ask }, h("label", null, h("span", null, t("positions_second")), input), h("button", { type: "submit", class: "primary" }, t("positions_compare")))
      : answer ? "" : h("p", { class: "quiet" }, t("positions_offline")),
    h("div", { "aria-live": "polite" }, state.failed ? h("p", { class: "failed" }, t("status_failed", { message: state.failed.message })) : null,
      state.busy ? h("p", { class: "quiet" }, t("status_looking")) : null, answer ? shared(answer, state, context) : null)];
}

async function compare(state, { api, recording, state: { run }, runs, set }) {
  const busy = state.busy = {};
  const done = (changes) => { if (state.busy === busy) { Object.assign(state, { busy: null, failed: null }, changes); set({}); } };
  try {
    const answer = await api.post("inspect/contexts", { run: run ?? runs[0]?.name, first: recording.source, second: state.text });
    // It becomes a part of the recording, so that a shared file has it too.
    if (state.busy === busy) recording.payload.views.contexts = answer;
    done({});
  } catch (error) {
    if (state.busy === busy) recording.payload.views.contexts = null;
    done({ failed: error });
  }
}

function shared(answer, state, context) {
  const { recording, t, set } = context;
  const found = answer.words;
  if (!seconds.has(answer)) seconds.set(answer, new Recording(answer.second));
  const second = seconds.get(answer);
  if (!found.length) return h("p", { class: "note" }, t("positions_no_word"));
  // A word with more than one meaning is the point; which one that is, the vectors tell: the least alike in the end.
  const least = found.reduce((a, b) => (b.stages.at(-1).cosine < a.stages.at(-1).cosine ? b : a));
  const word = found.find((one) => one.text === state.word) ?? least;
  const w = found.indexOf(word);
  const sentence = (of, i) => h("p", { class: "sentence" }, h("span", { lang: of.notes.source_language, dir: "auto" }, of.source.slice(0, word.starts[i]),
    h("mark", null, word.text), of.source.slice(word.starts[i] + word.text.length)), h("span", { class: "quiet", lang: of.notes.target_language, dir: "auto" }, " → ", of.translation));
  return h("div", { class: "card contexts" },
    h("div", { class: "choice", role: "group", "aria-label": t("positions_word") }, h("span", { class: "choice-name" }, t("positions_word")),
      found.map((one) => h("button", { type: "button", id: `word-${one.text}`, lang: recording.notes.source_language, "aria-pressed": String(one === word),
        onclick: () => { state.word = one.text; set({}); } }, one.text))),
    h("div", { class: "sentences" }, sentence(recording, 0), sentence(second, 1)),
    h("ol", { class: "stages" }, word.stages.map((stage, s) => h("li", null,
      h("div", { class: "stage-name" }, h("strong", null, named(stage.place, t)), h("code", null, stage.place)),
      h("div", { class: "strips" }, strip(recording, stage.place, word.tokens[0], t("positions_first")), strip(second, stage.place, word.tokens[1], t("positions_other"))),
      h("div", { class: "cosine" }, h("span", { class: "meter", "aria-hidden": "true", style: { "--share": Math.max(0, stage.cosine) } }),
        h("span", { class: "quiet" }, "cos "), number(stage.cosine, { from: `views.contexts.words.${w}.stages.${s}.cosine` }, { digits: 3 }))))),
    h("p", { class: "quiet" }, t("positions_words_note")));
}

/** The vector of a word's first token at a stage, as a row of colours. */
function strip(recording, place, tokens, title) {
  const tensor = recording.tensor(place);
  const row = tensor.row(tokens[0]);
  return picture({ rows: 1, columns: row.length, at: (_, c) => row[c], title: `${title}: ${place}[${tokens[0]}]`, class: "strip" });
}

function named(place, t) {
  const layer = /(\d+)\.(?:output|hidden)$/.exec(place)?.[1];
  if (layer !== undefined) return t("positions_stage_layer", { layer: Number(layer) + 1 });
  return t(`positions_stage_${place.split(".").at(-1)}`);
}
