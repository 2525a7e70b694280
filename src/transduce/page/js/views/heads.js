/** All heads at a glance: what each looks at, three numbers about it, and what is written without it. */

import { h, number, piece, rounded } from "../draw.js";
import { picture } from "../picture.js";

export const id = "heads";
export const key = "view_heads";

const MEASURES = ["confidence", "entropy", "offset"];
/** What a model writes without some heads, by its recording: {off: [[place, head]…], free, forced, failed}. */
const results = new WeakMap();

export function available(recording) { return Boolean(recording.view("heads")?.length); }

export function render(root, context) {
  const { recording, t, api } = context;
  const heads = recording.view("heads").map((head, i) => ({ ...head, path: `views.heads.${i}` }));
  const places = [...new Set(heads.map((head) => head.place))];
  const most = Math.max(...places.map((place) => heads.filter((head) => head.place === place).length));
  const state = results.get(recording) ?? { off: [] };
  results.set(recording, state);
  root.append(
    h("p", { class: "lead" }, t("heads_lead"), api ? t("heads_choose") : ""),
    h("p", { class: "note" }, t("heads_caution")),
    h("div", { class: "heads-split" }, h("div", { class: "wide" }, h("table", { class: "glance" },
      h("caption", { class: "sr" }, t("heads_caption")),
      h("thead", null, h("tr", null, h("td", null), Array.from({ length: most }, (_, i) => h("th", { scope: "col" }, t("heads_head", { head: i }))))),
      h("tbody", null, places.map((place) => h("tr", null, h("th", { scope: "row" }, named(place, context)),
        heads.filter((head) => head.place === place).map((head) => h("td", null, glance(head, state, context)))))))),
    h("div", { class: "heads-beside" }, h("dl", { class: "legend heads-legend" }, MEASURES.map((of) => [h("dt", null, t(`heads_${of}`)), h("dd", null, t(`heads_${of}_means`))])),
    api ? h("div", { id: "heads-result", class: "card", "aria-live": "polite" }, ...without(state, context))
      : h("p", { class: "quiet" }, t("heads_offline")))));
}

/** A place in words, with its own name under it. */
function named(place, { recording, t }) {
  const [, rows, columns] = recording.axes[`${place}.weights`];
  const kind = rows === columns ? "self" : "cross";
  const layer = /\.(\d+)\./.exec(`${place}.`)?.[1];
  const side = place.startsWith("decoder") ? "decoder" : "encoder";
  return [h("span", { class: "place-name" }, t(`heads_${kind}_${side}`), layer === undefined ? "" : ` ${t("heads_layer", { layer: Number(layer) + 1 })}`),
    h("code", null, place)];
}

function glance(head, state, context) {
  const { recording, t, api, open } = context;
  const weights = recording.tensor(`${head.place}.weights`);
  const [, rows, columns] = weights.shape;
  const off = state.off.some(([place, of]) => place === head.place && of === head.head);
  const name = t("heads_open", { place: head.place, head: head.head });
  const image = picture({ rows, columns, at: (r, c) => weights.at(head.head, r, c), top: 1 });
  image.style.aspectRatio = `${columns} / ${rows}`;
  const of = (measure, options) => number(head[measure], { from: `${head.path}.${measure}` }, { digits: 2, ...options });
  return h("div", { class: `head${off ? " off" : ""}` },
    h("span", { class: "head-name quiet", "aria-hidden": "true" }, t("heads_head", { head: head.head })),
    h("button", { type: "button", class: "thumb", id: `head-${head.place}-${head.head}`, "aria-label": name, title: name,
      onclick: () => open("attention", { place: head.place, head: head.head, view: "attention" }) }, image),
    h("div", { class: "measures" }, of("confidence", { title: t("heads_confidence") }), of("entropy", { title: t("heads_entropy") }),
      of("offset", { title: t("heads_offset"), text: signed(head.offset) })),
    h("span", { class: "sure", "aria-hidden": "true", style: { "--share": head.confidence } }),
    api ? h("label", { class: "switch" }, h("input", { type: "checkbox", id: `off-${head.place}-${head.head}`, checked: !off,
      "aria-label": t("heads_switch", { place: head.place, head: head.head }), onchange: (event) => toggle(head, !event.target.checked, state, context) }),
      h("span", { "aria-hidden": "true" }, t(off ? "heads_off" : "heads_on"))) : null);
}

const signed = (offset) => (offset > 0 ? `+${offset}` : rounded(offset, 0));

async function toggle(head, off, state, context) {
  const { api, recording, set } = context;
  state.off = state.off.filter(([place, of]) => place !== head.place || of !== head.head);
  if (off) state.off.push([head.place, head.head]);
  state.free = state.forced = state.failed = null;
  const asked = state.asked = {};
  set({});
  if (!state.off.length) return;
  try {
    const free = await api.record({ without_heads: state.off, target: null });
    // A model without a target writes labels or marks: there the output has no other text to be asked about.
    const same = recording.translation && recording.streams.previous ? await api.record({ without_heads: state.off, target: recording.translation }) : free;
    if (state.asked === asked) [state.free, state.forced] = [free, same];
  } catch (error) {
    if (state.asked === asked) state.failed = error;
  }
  if (state.asked === asked) set({});
}

function without(state, context) {
  const { recording, t } = context;
  const title = h("h2", null, t("heads_without"));
  if (!state.off.length) return [title, h("p", { class: "quiet" }, t("heads_none_off"))];
  const names = state.off.map(([place, head]) => `${place} ${head}`).join(", ");
  if (state.failed) return [title, h("p", { class: "failed", role: "alert" }, t("status_failed", { message: state.failed.message }))];
  if (!state.free) return [title, h("p", { class: "quiet" }, t("heads_working", { names }))];
  const language = recording.notes.target_language;
  const text = (of) => h("strong", { lang: language, dir: "auto", class: "written" }, of);
  const changed = state.free.translation !== recording.translation;
  return [title,
    h("p", { class: "quiet" }, t("heads_off_are", { names })),
    h("dl", { class: "before-after" },
      h("dt", null, t("heads_before")), h("dd", null, text(recording.translation)),
      h("dt", null, t("heads_after")), h("dd", { class: changed ? "changed" : null, id: "heads-after" }, text(state.free.translation), " ",
        h("span", { class: "quiet" }, t(changed ? "heads_changed" : "heads_same")))),
    difference(recording, state.forced, context)];
}

/** The same translation, step by step, with and without the heads. */
function difference(before, after, { t }) {
  const [a, b] = [before, after].map((recording) => recording.view("next"));
  if (!a || !b || a.steps.length !== b.steps.length) return null;
  const cell = (value, from, recording, options = {}) => h("td", { "data-recording": recording }, number(value, { from }, options));
  const row = (name, x, y, from) => h("tr", null, h("th", { scope: "row" }, name), cell(x, from, "0"), cell(y, from, "without"),
    h("td", { class: y - x < -0.1 ? "worse" : null }, h("span", { class: "bar", "aria-hidden": "true", style: { "--share": Math.min(1, Math.abs(y - x) / 5) } }), signedNumber(y - x)));
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": t("heads_steps") }, h("table", { class: "list deltas" },
    h("caption", null, t("heads_steps")),
    h("thead", null, h("tr", null, ["piece", "with", "less", "change"].map((of) => h("th", { scope: "col" }, t(`heads_col_${of}`))))),
    h("tbody", null, a.steps.map((step, i) => row(piece(before.streams.expected.tokens[i]), step.log_probability, b.steps[i].log_probability,
      `views.next.steps.${i}.log_probability`)), row(t("heads_sum"), a.total, b.total, "views.next.total"))));
}

const signedNumber = (value) => h("span", { class: "plain" }, `${value > 0 ? "+" : ""}${rounded(value)}`);
