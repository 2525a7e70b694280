/** What the walk-through shows at each kind of stage. Each takes the walk and its tools, and gives nodes. */

import { element, filled, h, number, piece } from "../draw.js";
import { ledger } from "../ledger.js";
import { picture } from "../picture.js";

const say = (walk, key, nodes = {}) => h("p", { class: "lead" }, filled(walk.t(key), nodes));

/** The vector of the chosen row. */
const line = (walk, sign, label, name, more = {}) => ({ sign, label, name, tensor: name, index: [walk.focus], ...more });

const tokenAt = (walk) => piece(walk.recording.streams[walk.stage.stream].tokens[walk.focus]);

function sum(walk, lines, key = "walk_this_row") {
  const caption = walk.t(key, { piece: tokenAt(walk).textContent });
  return [h("h3", null, filled(walk.t(key), { piece: tokenAt(walk) })), ledger(walk, lines, { caption, id: "sum" })];
}

export const bodies = { pieces, embedding, input, self: attention, cross: attention, residual, feed_forward: feedForward,
  recurrent: parts, convolution: parts, memory: parts, context: whole, output: handedOn, other: parts, probabilities, written };

function pieces(walk) {
  const { recording, t } = walk;
  const streams = Object.entries(recording.streams).filter(([name]) => name !== "previous" || !recording.streams.source);
  const folded = recording.notes.folded.map(([before, after]) => `${before} → ${after}`).join(", ");
  return [
    say(walk, "stage_pieces_text"),
    folded ? h("p", { class: "note" }, t("stage_pieces_folded", { folded })) : null,
    h("div", { class: "tables" }, streams.map(([name, table]) => h("div", { class: "wide" }, h("table", { class: "numbers tokens" },
      h("caption", null, t(`stream_${name}`)),
      h("thead", null, h("tr", null, ["place", "piece", "id", "covers"].map((key, i) => h("th", { scope: "col", class: i % 2 ? "left" : null }, t(`token_${key}`))))),
      h("tbody", null, table.tokens.map((token, i) => h("tr", null,
        h("td", null, String(i)),
        h("th", { scope: "row" }, piece(token)),
        h("td", null, number(token.id, { from: `notes.streams.${name}.tokens.${i}.id` }, { text: String(token.id) })),
        h("td", { class: "covers" }, covers(table, token, t)))))))))];
}

function covers(table, token, t) {
  if (token.start === token.end) return h("span", { class: "quiet" }, t("token_mark"));
  const text = [...table.text].slice(token.start, token.end).join("");
  return [h("span", { class: "piece" }, `“${text}”`), h("span", { class: "quiet" }, ` ${token.start}–${token.end}`)];
}

function embedding(walk, tools) {
  const { stage, recording, t } = walk;
  const at = walk.stages.indexOf(stage) - 1;
  const token = recording.streams[stage.stream].tokens[walk.focus];
  const row = `${stage.result}.row`;
  const scaled = stage.scale !== null && Math.abs(stage.scale - 1) > 1e-6;
  const scale = () => number(stage.scale, { from: `views.walk.stages.${at}.scale` }, { digits: 4 });
  const lines = [
    recording.has(row) ? line(walk, "", t("stage_embedding_row", { id: token.id }), row) : null,
    scaled ? { sign: "×", label: "√d", scalar: h("span", null, scale()) } : null,
    scaled || !recording.has(row) ? line(walk, "=", t("stage_embedding_result"), stage.result, { total: true }) : null,
  ].filter(Boolean);
  const width = recording.payload.tensors[stage.result].shape.at(-1);
  return [say(walk, scaled ? "stage_embedding_text_scaled" : "stage_embedding_text", { width: String(width), scale: scaled ? scale() : "" }),
    sum(walk, lines), tools.rows()];
}

function input(walk, tools) {
  const { stage, recording, t } = walk;
  if (!stage.added) return stage.stream ? [say(walk, "stage_input_text_other"), tools.rows()] : whole(walk);
  const before = stage.before ?? stage.added.replace(/position$/, "embedding");
  const lines = [
    line(walk, "", t("stage_embedding"), before),
    line(walk, "+", t("stage_position_vector"), stage.added),
    line(walk, stage.sum ? "=" : "⇒", t("stage_input"), stage.result, { total: true }),
  ].filter((one) => recording.has(one.tensor));
  return [say(walk, stage.sum ? "stage_input_text" : "stage_input_text_changed"), sum(walk, lines), tools.rows()];
}

function attention(walk, tools) {
  const { stage, recording, t } = walk;
  const weights = recording.tensor(`${stage.place}.weights`);
  const [heads] = weights.shape;
  const width = recording.payload.tensors[`${stage.place}.queries`]?.shape.at(-1);
  const kind = stage.kind === "cross" ? "cross" : stage.masked ? "masked" : "self";
  const texts = { heads: String(heads), width: String(width ?? "?") };
  return [
    say(walk, `stage_${kind}_text`, texts),
    h("h3", null, t("walk_heads")),
    h("div", { class: "minis" }, Array.from({ length: heads }, (_, head) => thumbnail(walk, head))),
    recording.has(`${stage.place}.projected`) ? headLines(walk, heads) : contextLines(walk),
    tools.rows(),
  ];
}

/** One head's map in small, which opens the map itself. */
function thumbnail(walk, head) {
  const { recording, stage, t, open } = walk;
  const weights = recording.tensor(`${stage.place}.weights`);
  const [, rows, columns] = weights.shape;
  const name = t("walk_head", { head });
  return h("button", { type: "button", class: "mini", id: `thumb-${head}`, title: t("walk_open_map"),
    onclick: () => open("attention", { place: stage.place, head }) },
    picture({ rows, columns, at: (r, c) => weights.at(head, r, c), top: 1, title: `${stage.place}, ${name}`, class: "map" }), h("span", null, name));
}

/** What each head adds for the chosen row; with the bias of W^O it is the output. */
function headLines(walk, heads) {
  const { stage, t, focus, open } = walk;
  const lines = Array.from({ length: heads }, (_, head) => ({ sign: head ? "+" : "", label: t("walk_head_projected", { head }),
    name: `${stage.place}.projected`, tensor: `${stage.place}.projected`, index: [head, focus] }));
  lines.push({ sign: "+", label: t("walk_bias"), name: `${stage.place}.bias`, tensor: `${stage.place}.bias`, index: [] });
  lines.push(line(walk, "=", t("walk_output"), stage.result, { total: true }));
  return [sum(walk, lines, "walk_heads_add"), h("p", null, h("button", { type: "button", id: "walk-query",
    onclick: () => open("query", { place: stage.place, head: 0, row: focus }) }, t("walk_open_query"), " →"))];
}

function contextLines(walk) {
  const { stage, t } = walk;
  return sum(walk, [line(walk, "", t("walk_context"), stage.result, { total: true })]);
}

function residual(walk, tools) {
  const { stage, recording, t } = walk;
  const base = stage.tensors[0].replace(/\.sum$/, "");
  const part = t(`stage_${stage.part === "feed_forward" ? "feed_forward" : stage.part}`);
  const has = (name) => recording.has(`${base}.${name}`);
  const vector = (sign, label, name, more) => ({ sign, label, name: `${base}.${name}`, tensor: `${base}.${name}`, index: [], ...more });
  const normed = has("output");
  const lines = [
    ...(stage.sum ? [line(walk, "", t("walk_before"), stage.before), line(walk, "+", part, stage.added)] : []),
    line(walk, stage.sum ? "=" : "", t("walk_sum"), `${base}.sum`, { total: !normed }),
    ...(has("standard") ? [line(walk, "⇒", t("walk_standard"), `${base}.standard`), vector("×", t("walk_gain"), "gain"), vector("+", t("walk_shift"), "shift")] : []),
    ...(normed ? [line(walk, "=", t("walk_normed"), `${base}.output`, { total: true })] : []),
  ];
  return [say(walk, normed ? "stage_residual_text" : "stage_residual_text_pre", { part }), sum(walk, lines), tools.rows()];
}

function feedForward(walk, tools) {
  const { stage, recording, t } = walk;
  const inner = stage.tensors.find((name) => name.endsWith(".inner"));
  if (!stage.stream) return whole(walk);
  const size = recording.payload.tensors[inner ?? stage.result].shape.at(-1);
  const lines = [inner && line(walk, "", t("walk_inner"), inner), line(walk, "⇒", t("walk_output"), stage.result, { total: true })].filter(Boolean);
  return [say(walk, "stage_feed_forward_text", { inner: String(size) }), sum(walk, lines), tools.rows()];
}

/** A stage of several tensors: every one of them for the chosen row. */
function parts(walk, tools) {
  const { stage, recording } = walk;
  const along = stage.tensors.filter((name) => (recording.axes[name] ?? []).at(-2) === stage.stream && recording.axes[name].length === 2);
  const known = ["recurrent", "convolution", "memory"].includes(stage.kind);
  const text = say(walk, `stage_${known ? stage.kind : "other"}_text`);
  if (!stage.stream || !along.length) return [text, ...whole(walk).slice(1)];
  const lines = along.map((name) => line(walk, "", name.split(".").slice(-2).join("."), name, { total: name === stage.result }));
  return [text, sum(walk, lines), tools.rows()];
}

/** Vectors that belong to the whole text: each of them, whatever their axes. */
function whole(walk) {
  const { stage, recording, t } = walk;
  const lines = stage.tensors.flatMap((name) => {
    const { shape } = recording.payload.tensors[name];
    const leads = shape.slice(0, -1).reduce((found, size) => found.flatMap((lead) => Array.from({ length: size }, (_, i) => [...lead, i])), [[]]);
    return leads.map((index) => ({ label: index.length ? `[${index.join(", ")}]` : t("walk_vector"), name, tensor: name, index }));
  });
  return [say(walk, "stage_context_text"), ledger(walk, lines, { caption: t("stage_context"), id: "whole" })];
}

function handedOn(walk, tools) {
  if (!walk.stage.stream) return whole(walk);
  return [say(walk, "stage_output_text"), tools.rows()];
}

function probabilities(walk) {
  const { recording, t, state } = walk;
  const { steps } = recording.view("next");
  const at = Math.min(state.step, steps.length - 1);
  const step = steps[at];
  const path = `views.next.steps.${at}`;
  const logits = recording.tensor("logits");
  const index = (id) => (logits.shape.length > 1 ? [at, id] : [id]);
  const sentence = { vocabulary: recording.vocabulary.length.toLocaleString(walk.language), read: step.reads, written: h("strong", null, step.writes) };
  return [
    say(walk, "stage_probabilities_text", sentence),
    h("div", { class: "wide" }, h("table", { class: "numbers likely" },
      h("caption", { class: "sr" }, t("stage_probabilities")),
      h("thead", null, h("tr", null, ["piece", "logit", "probability"].map((key, i) => h("th", { scope: "col", class: i ? null : "left" }, t(`guess_${key}`))), h("td", null))),
      h("tbody", null, step.best.map((guess, i) => h("tr", { class: guess.id === step.written ? "chosen" : null },
        h("th", { scope: "row" }, piece({ piece: guess.piece, start: 0, end: 1 })),
        h("td", null, element(recording, "logits", index(guess.id))),
        h("td", null, number(guess.probability, { from: `${path}.best.${i}.probability` }, { digits: 4 })),
        h("td", { class: "bar-cell" }, h("span", { class: "bar", style: { "--share": guess.probability } }))))))),
    h("p", { class: "quiet" }, filled(t("stage_probabilities_entropy"), {
      entropy: number(step.entropy, { from: `${path}.entropy` }), rank: number(step.rank, { from: `${path}.rank` }, { text: String(step.rank) }) }))];
}

function written(walk, tools) {
  const { recording, t, state } = walk;
  const next = recording.view("next");
  const at = Math.min(state.step, next.steps.length - 1);
  return [
    say(walk, recording.streams.previous ? "stage_written_text" : "stage_written_text_labels"),
    h("ol", { class: "told" }, next.steps.map((step, i) => h("li", { class: i === at ? "chosen" : null },
      h("span", null, tools.readAndWritten(t, step)),
      h("span", { class: "quiet" }, " ln P = ", number(step.log_probability, { from: `views.next.steps.${i}.log_probability` }))))),
    h("p", null, filled(t("stage_written_total"), { total: number(next.total, { from: "views.next.total" }, { digits: 4 }) }))];
}
