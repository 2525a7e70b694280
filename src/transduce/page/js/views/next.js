/** Next word: what the model could have written at each step, what earlier layers would have, and how it learned to. */

import { filled, h, number, piece, rounded, walkable, shade } from "../draw.js";
import { curves } from "../picture.js";

export const id = "next";
export const key = "view_next";

const FOUND = 24;
let searched = "";

export function available(recording) { return Boolean(recording.view("next")?.steps.length); }

export function render(root, context) {
  const { recording, t } = context;
  const { steps } = recording.view("next");
  const s = Math.min(Math.max(context.state.step, 0), steps.length - 1);
  root.append(h("p", { class: "lead" }, t("next_lead", { size: recording.vocabulary.length.toLocaleString(context.language) })), chooser(steps, s, context),
    h("div", { class: "split" }, likeliest(steps[s], s, context), whole(steps[s], s, context)), ...lens(s, context), ...training(context));
}

export function onkey(event, { recording, state, set }) {
  const to = state.step + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0);
  if (to === state.step || to < 0 || to >= recording.view("next").steps.length) return false;
  set({ step: to });
  return true;
}

function token(recording, id) {
  const text = recording.vocabulary[id];
  return { piece: text, start: 0, end: /^<.*>$/.test(text) ? 0 : 1 };
}

function chooser(steps, s, { recording, t, set }) {
  return h("div", { class: "steps", role: "group", "aria-label": t("next_steps") }, steps.map((step, i) =>
    h("button", { type: "button", id: `next-step-${i}`, "aria-pressed": String(i === s), onclick: () => set({ step: i }) },
      h("span", { class: "quiet" }, `${i + 1}`), piece(recording.streams.expected.tokens[i]))));
}

function likeliest(step, s, { recording, t }) {
  const written = token(recording, step.written);
  const outside = step.best.every((guess) => guess.id !== step.written);
  const row = (id, probability, from, rank) => h("tr", { class: id === step.written ? "written" : null },
    h("td", { class: "right quiet" }, rank), h("th", { scope: "row" }, piece(token(recording, id))),
    h("td", { class: "bar-cell" }, h("span", { class: "bar", "aria-hidden": "true", style: { "--share": probability } })),
    h("td", { class: "right" }, number(probability, from, { digits: 4 })));
  return h("section", { class: "card" },
    h("h2", null, ...filled(t("next_reads"), { reads: piece({ piece: step.reads, start: 0, end: /^<.*>$/.test(step.reads) ? 0 : 1 }), writes: piece(written) })),
    h("table", { class: "list guesses" }, h("caption", { class: "sr" }, t("next_best")),
      h("thead", null, h("tr", null, ["rank", "piece"].map((of) => h("th", { scope: "col" }, t(`next_col_${of}`))), h("td", null), h("th", { scope: "col" }, t("next_col_p")))),
      h("tbody", null, step.best.map((guess, i) => row(guess.id, guess.probability, { from: `views.next.steps.${s}.best.${i}.probability` }, i + 1)),
        outside ? row(step.written, recording.packed("views.next.probabilities").at(s, step.written), { from: "views.next.probabilities", index: [s, step.written] }, step.rank) : null)),
    h("p", { class: "quiet" }, ...filled(t("next_summary"), {
      logp: number(step.log_probability, { from: `views.next.steps.${s}.log_probability` }),
      rank: number(step.rank, { from: `views.next.steps.${s}.rank` }, { text: String(step.rank) }),
      entropy: number(step.entropy, { from: `views.next.steps.${s}.entropy` }) })));
}

/** All pieces by rank, and any of them by its name. */
function whole(step, s, { recording, t, language }) {
  const size = recording.vocabulary.length;
  const powers = (low, high) => Array.from({ length: high - low + 1 }, (_, i) => low + i);
  const lowest = Math.floor(Math.log10(Math.max(step.curve.at(-1)[1], 1e-12)));
  const labels = (list) => list.map((p) => [10 ** p, p === 0 ? "1" : Math.abs(p) < 4 && p > 0 ? String(10 ** p) : `10${superscript(p)}`]);
  const found = h("div", { class: "found", "aria-live": "polite" });
  const search = (text) => { searched = text; found.replaceChildren(...matches(text, s, recording, t)); };
  search(searched);
  return h("section", { class: "card" }, h("h2", null, t("next_whole")), h("p", { class: "quiet" }, t("next_whole_about", { size: size.toLocaleString(language) })),
    curves({ title: t("next_curve"), height: 250, series: [{ name: t("next_col_rank"), points: step.curve, from: (i) => `views.next.steps.${s}.curve.${i}.1` }],
      x: { label: t("next_axis_rank"), low: 1, high: size, log: true, ticks: labels(powers(0, Math.floor(Math.log10(size)))) },
      y: { label: t("next_axis_p"), low: 10 ** lowest, high: 1, log: true, ticks: labels(powers(lowest, 0).filter((p) => lowest > -5 || p % 2 === 0)) } }),
    h("label", { class: "search" }, h("span", null, t("next_search")), h("input", { id: "next-search", type: "search", value: searched, autocomplete: "off", spellcheck: "false", dir: "auto",
      oninput: (event) => search(event.target.value) })),
    found);
}

function superscript(n) { return [...String(n)].map((c) => ({ "-": "⁻" }[c] ?? "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)])).join(""); }

function matches(text, s, recording, t) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const fitting = recording.vocabulary.map((name, of) => [name.toLowerCase(), of]).filter(([name]) => name.includes(wanted))
    // What is the word itself comes before what merely holds it.
    .sort(([a], [b]) => (b.trim() === wanted) - (a.trim() === wanted) || a.length - b.length);
  const tensor = recording.packed("views.next.probabilities");
  if (!fitting.length) return [h("p", { class: "quiet" }, t("next_no_piece", { text }))];
  return [h("table", { class: "list" }, h("caption", { class: "quiet" }, t("next_found", { shown: Math.min(FOUND, fitting.length), count: fitting.length })),
    h("tbody", null, fitting.slice(0, FOUND).map(([, of]) => h("tr", null, h("th", { scope: "row" }, piece(token(recording, of))), h("td", { class: "right quiet" }, `id ${of}`),
      h("td", { class: "right" }, number(tensor.at(s, of), { from: "views.next.probabilities", index: [s, of] }, { digits: 4 }))))))];
}

/** What each layer would write, were it the last. */
function lens(s, { recording, t, set }) {
  const rows = recording.view("lens");
  const title = h("h2", null, t("next_lens"));
  if (!rows) return [title, h("p", { class: "quiet", id: "lens-none" }, t("next_lens_none"))];
  const places = [...new Set(rows.map((row) => row.place))];
  const steps = recording.view("next").steps;
  const cells = places.map((place) => steps.map((_, c) => {
    const i = rows.findIndex((row) => row.place === place && row.position === c);
    const [name, probability] = rows[i].pieces[0];
    const others = rows[i].pieces.map(([of, p]) => `${of} ${rounded(p)}`).join(", ");
    const cell = number(probability, { from: `views.lens.${i}.pieces.0.1` }, { tag: "td", tabindex: -1, title: others, class: c === s ? "chosen" : null, text: "" });
    cell.append(h("span", { class: "lens-piece", dir: "auto" }, name.replace(/^ /, "␣")), h("span", { class: "lens-p" }, rounded(probability, 2)));
    shade(cell, probability, 1);
    return cell;
  }));
  cells[0][0].tabIndex = 0;
  const table = h("table", { class: "heat lens picks" }, h("caption", { class: "sr" }, t("next_lens")),
    h("thead", null, h("tr", null, h("td", { class: "corner" }, t("next_lens_corner")), steps.map((_, c) => h("th", { scope: "col" }, piece(recording.streams.expected.tokens[c]))))),
    h("tbody", null, cells.map((line, r) => h("tr", null, h("th", { scope: "row" }, t("next_lens_layer", { layer: r + 1 })), line))));
  walkable(table, cells, (_, c) => set({ step: c }));
  return [title, h("p", { class: "note" }, t("next_heuristic")), h("div", { class: "wide" }, table)];
}

/** How the probability of some words moved while the model learned. */
function training({ recording, t, language }) {
  const title = h("h2", null, t("next_training"));
  const probes = recording.view("probes");
  if (!probes?.length) return [title, h("p", { class: "quiet", id: "probes-none" }, t(probes ? "next_no_probes" : "next_no_journal"))];
  return [title, ...probes.map((probe, p) => probed(probe, p, recording, t, language))];
}

function probed(probe, p, recording, t, language) {
  const last = probe.points.at(-1).update;
  const of = (i, w) => `views.probes.${p}.points.${i}.values.${w}`;
  const ticks = Array.from({ length: 6 }, (_, i) => Math.round((last * i) / 5));
  const text = (of, code) => h("span", { lang: code, dir: "auto" }, of);
  return h("section", { class: "card probe" },
    h("p", { class: "probe-place" }, text(probe.source, recording.notes.source_language), " → ", text(`${probe.prefix} `, recording.notes.target_language), h("span", { class: "blank" }, "?")),
    h("ul", { class: "legend" }, probe.words.map((word, w) => h("li", { class: `series-${w}` }, h("span", { class: "swatch line", "aria-hidden": "true" }), `P(${word})`,
      " ", number(probe.points.at(-1).values[w], { from: of(probe.points.length - 1, w) })))),
    curves({ title: t("next_training_title", { words: probe.words.join(", ") }), height: 320, class: "training",
      series: probe.words.map((word, w) => ({ name: `P(${word})`, points: probe.points.map((point) => [point.update, point.values[w]]), from: (i) => of(i, w) })),
      x: { label: t("next_axis_update"), low: 0, high: last, ticks: ticks.map((v) => [v, v.toLocaleString(language)]) },
      y: { label: t("next_axis_p"), low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1].map((v) => [v, v]) } }),
    h("details", null, h("summary", null, t("next_training_table")), h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": t("next_training_table") }, h("table", { class: "list" },
      h("caption", { class: "sr" }, t("next_training_table")),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, t("next_axis_update")), probe.words.map((word) => h("th", { scope: "col" }, `P(${word})`)))),
      h("tbody", null, probe.points.map((point, i) => h("tr", null, h("th", { scope: "row" }, point.update.toLocaleString(language)),
        point.values.map((value, w) => h("td", { class: "right" }, number(value, { from: of(i, w) }, { digits: 4 }))))))))));
}
