/** The family side by side: one sentence through several models, and what of it each model's decoder can see. */

import { h, heatmap, number, piece, rounded } from "../draw.js";
import { picture } from "../picture.js";

export const id = "family";
export const key = "view_family";

/** The run that a recording is of, where the reader chose it. */
const runOf = new WeakMap();
/** What is shown in each card: {map, stage}, by recording. */
const shown = new WeakMap();
let told = null;

export function available() { return true; }

export function render(root, context) {
  const { recording, compared, t, api, runs, state } = context;
  if (!runOf.has(recording)) runOf.set(recording, state.run ?? runs[0]?.name ?? null);
  root.append(h("p", { class: "lead" }, t("family_lead")), chooser(context),
    h("p", { role: "alert", class: "failed" }, told ? t("status_failed", { message: told }) : ""));
  if (!compared.length) root.append(h("p", { class: "note", id: "family-alone" }, t(api && runs.length > 1 ? "family_choose" : api ? "family_one_run" : "family_alone")));
  const all = [recording, ...compared];
  root.append(summary(all, context), h("div", { class: "family" }, all.map((one, i) => card(one, i, context))));
}

function chooser({ recording, compared, t, api, runs, compare }) {
  if (!api || runs.length < 2) return "";
  const beside = (name) => compared.find((one) => runOf.get(one) === name);
  const toggle = async (run) => {
    told = null;
    if (beside(run.name)) return compare(compared.filter((one) => one !== beside(run.name)));
    try {
      const found = await api.record({ run: run.name, text: recording.source || undefined, target: null });
      runOf.set(found, run.name);
      return compare([...compared, found]);
    } catch (error) {
      told = error.message;
      return compare(compared);
    }
  };
  return h("div", { class: "choice family-runs", role: "group", "aria-label": t("family_runs") }, h("span", { class: "choice-name" }, t("family_runs")),
    runs.filter((run) => run.name !== runOf.get(recording)).map((run) => h("button", { type: "button", id: `family-${run.name}`, "aria-pressed": String(Boolean(beside(run.name))),
      onclick: () => toggle(run) }, `${run.name} (${run.model})`)));
}

function name(recording) { return runOf.get(recording) ?? recording.model; }

/** Attention from what is written to the source, or where there is none, of a text to itself. */
function maps(recording) {
  const of = (place) => recording.axes[`${place}.weights`];
  const crossing = recording.places.filter((place) => of(place)[1] !== of(place)[2]);
  return { crossing: crossing.length > 0, places: crossing.length ? crossing : recording.places };
}

/** Tensors that hold the whole text at once: no axis of them runs along a text. */
function vectors(recording) {
  return recording.names.filter((of) => /(^|\.)context$/.test(of) && !recording.axes[of].some((axis) => axis in recording.streams));
}

function summary(all, { t }) {
  const between = (one) => t(!one.streams.source ? "family_by_itself" : !one.streams.previous ? "family_by_none"
    : maps(one).crossing ? "family_by_attention" : vectors(one).length ? "family_by_vector" : "family_by_states");
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": t("family_table") }, h("table", { class: "list" }, h("caption", { class: "sr" }, t("family_table")),
    h("thead", null, h("tr", null, ["model", "translation", "logp", "between"].map((of) => h("th", { scope: "col" }, t(`family_col_${of}`))))),
    h("tbody", null, all.map((one, i) => h("tr", { "data-recording": i }, h("th", { scope: "row" }, name(one), " ", h("span", { class: "kind quiet" }, one.model)),
      h("td", { lang: one.notes.target_language, dir: "auto" }, one.translation), h("td", { class: "right" }, number(one.view("next").total, { from: "views.next.total" })),
      h("td", null, between(one)))))));
}

function card(recording, i, context) {
  const { t } = context;
  return h("section", { class: "card member", "data-recording": i, "aria-label": name(recording) },
    h("h2", null, name(recording)), h("p", { class: "kind quiet" }, recording.model),
    h("p", { class: "written", lang: recording.notes.target_language, dir: "auto" }, recording.translation || "—"),
    ...vectors(recording).map((of) => whole(recording, of, t)), states(recording, t), map(recording, i, context), field(recording, i, context));
}

/** The context vector: everything that the decoder is told of the sentence. */
function whole(recording, of, t) {
  const tensor = recording.tensor(of);
  const width = tensor.shape.at(-1);
  const rows = tensor.values.length / width;
  return h("figure", null, h("figcaption", null, h("h3", null, t("family_vector")), h("p", { class: "quiet" }, t("family_vector_about", { numbers: tensor.values.length }), " ", h("code", null, of))),
    picture({ rows, columns: width, at: (r, c) => tensor.values[r * width + c], title: `${of} ${tensor.shape.join(" × ")}`, class: "vector" }), strongest(recording, of, t));
}

/** The largest number of a tensor, as one that can be checked. */
function strongest(recording, of, t) {
  const tensor = recording.tensor(of);
  let best = 0;
  tensor.values.forEach((value, k) => { if (Math.abs(value) > Math.abs(tensor.values[best])) best = k; });
  const index = tensor.shape.map((size, axis) => Math.floor(best / tensor.shape.slice(axis + 1).reduce((a, b) => a * b, 1)) % size);
  return h("p", { class: "quiet strongest" }, t("family_strongest", { index: index.join(", ") }), " ", number(tensor.values[best], { tensor: of, index }));
}

/** A vector for each token of the source: what the last layer over it hands on. */
function states(recording, t) {
  const stages = recording.names.filter((of) => /^(encoder\.|recurrent\.)?(output|\d+\.(output|hidden))$/.test(of) && recording.axes[of][0] === "source" && recording.axes[of].length === 2);
  // Where an encoder's output is longer than its text, only the receptive fields know that it is the text's.
  const of = recording.view("reach")?.filter((one) => one.stream === "source").at(-1)?.place ?? stages.at(-1);
  if (!of) return null;
  const tensor = recording.tensor(of);
  const [rows, columns] = tensor.shape;
  return h("figure", null, h("figcaption", null, h("h3", null, t(recording.capabilities.includes("recurrent") ? "family_states_recurrent" : "family_states")), h("p", { class: "quiet" }, t("family_states_about", { rows, columns }), " ", h("code", null, of))),
    h("div", { class: "labelled" }, h("div", { class: "labels", "aria-hidden": "true", style: { "--rows": rows } }, Array.from({ length: rows }, (_, r) => recording.streams.source.tokens[r] ?? { piece: "·", start: 0, end: 0 }).map((token) => piece(token))),
      picture({ rows, columns, at: (r, c) => tensor.at(r, c), title: `${of} ${rows} × ${columns}`, class: "states", style: { "--rows": rows } })), strongest(recording, of, t));
}

function map(recording, i, { t, set }) {
  const { places, crossing } = maps(recording);
  if (!places.length) return h("figure", null, h("h3", null, t("family_map_none")), h("p", { class: "quiet" }, t("family_map_none_about")));
  const options = places.flatMap((place) => Array.from({ length: recording.tensor(`${place}.weights`).shape[0] }, (_, head) => [place, head]));
  const state = shown.get(recording) ?? {};
  const at = Math.min(state.map ?? 0, options.length - 1);
  const [place, head] = options[at];
  const tensor = `${place}.weights`;
  const weights = recording.tensor(tensor);
  const [, rows, columns] = recording.axes[tensor];
  const of = (stream) => recording.streams[stream].tokens.map((token) => token.piece.replace(/^ /, "␣"));
  const select = h("select", { id: `family-map-${i}`, "aria-label": t("family_map_choose"), onchange: (event) => { shown.set(recording, { ...state, map: Number(event.target.value) }); set({}); } },
    options.map(([p, k], o) => h("option", { value: o, selected: o === at }, t("family_map_option", { place: p, head: k }))));
  return h("figure", null, h("figcaption", null, h("h3", null, t(crossing ? "family_map" : "family_map_self")), select),
    h("div", { class: "wide" }, heatmap({ rows: of(crossing ? "expected" : rows), columns: of(columns), at: (r, c) => weights.at(head, r, c), from: (r, c) => ({ tensor, index: [head, r, c] }),
      caption: t("family_map_option", { place, head }), top: 1, text: short, corner: crossing ? t("family_corner") : "" })));
}

/** As much of a number as a small cell holds; the whole of it is the cell's title. */
const short = (value) => (value > 0 && value < 0.005 ? "<.01" : rounded(value, 2));

/** The receptive field: which tokens a state can see after some layers. */
function field(recording, i, { t, set }) {
  const stages = recording.view("reach");
  if (!stages?.length) return h("figure", null, h("h3", null, t("family_field")), h("p", { class: "quiet" }, t(stages ? "family_field_long" : "family_field_none")));
  const state = shown.get(recording) ?? {};
  const at = Math.min(state.stage ?? 0, stages.length - 1);
  const path = `views.reach.${at}.influence`;
  const influence = recording.packed(path);
  const [rows, columns] = influence.shape;
  const labels = recording.streams[stages[at].stream].tokens.map((token) => token.piece.replace(/^ /, "␣"));
  const seen = Array.from({ length: rows }, (_, r) => influence.row(r).filter((value) => value > 0).length);
  const [least, most] = [Math.min(...seen), Math.max(...seen)];
  const sees = least === columns ? "family_field_all" : least === most ? "family_field_same" : "family_field_sees";
  return h("figure", { class: "field" }, h("figcaption", null, h("h3", null, t("family_field")), h("p", { class: "quiet" }, t("family_field_about")),
    h("label", { class: "slide" }, h("span", null, t("family_field_stage", { stage: at + 1, stages: stages.length }), " ", h("code", null, stages[at].place)),
      h("input", { type: "range", id: `family-stage-${i}`, min: 0, max: stages.length - 1, value: at, onchange: (event) => { shown.set(recording, { ...state, stage: Number(event.target.value) }); set({}); } }))),
    h("div", { class: "wide" }, heatmap({ rows: Array.from({ length: rows }, (_, r) => labels[r] ?? "·"), columns: labels.slice(0, columns), at: (r, c) => influence.at(r, c),
      from: (r, c) => ({ from: path, index: [r, c] }), caption: t("family_field"), class: "seen", text: (value) => (value === 0 ? "" : short(value)) })),
    h("p", { class: "quiet" }, t(sees, { least, most, all: columns })));
}
