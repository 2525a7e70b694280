/** The walk-through: every stage of a sentence's way through the model, with its true numbers. */

import { filled, h, number, piece } from "../draw.js";
import { ledger, shape } from "../ledger.js";
import { picture } from "../picture.js";
import { bodies } from "./stages.js";

export const id = "walk";
export const key = "view_walk";

export function available(recording) { return Boolean(recording.view("walk")); }

/** All stages: the text first, those of the recording, and what is written in the end. */
function stagesOf(recording) {
  return [{ kind: "pieces", side: "", layer: null }, ...recording.view("walk").stages, { kind: "written", side: "", layer: null }];
}

export function onkey(event, context) {
  const last = stagesOf(context.recording).length - 1;
  const stage = context.state.stage ?? 0;
  const moves = { ArrowRight: 1, ArrowLeft: -1 };
  if (!(event.key in moves)) return false;
  const to = Math.min(Math.max(stage + moves[event.key], 0), last);
  if (to !== stage) context.set({ stage: to });
  return true;
}

export function render(root, context) {
  const { recording } = context;
  const stages = stagesOf(recording);
  const at = Math.min(context.state.stage ?? 0, stages.length - 1);
  const walk = { ...context, stages, at, stage: stages[at], focus: focusOf(context, stages[at]) };
  root.append(steps(walk), h("div", { class: "walk" },
    rail(walk),
    h("div", { class: "walk-main" }, mover(walk), card(walk), everything(walk))));
  // Drawn anew, lists would stand at their beginning.
  requestAnimationFrame(() => {
    const [list, strides] = [root.querySelector(".rail"), root.querySelector(".strides")];
    const [stage, step] = [list.querySelector("[aria-current]"), strides.querySelector("[aria-pressed=true]")];
    list.scrollTop = stage.offsetTop - list.clientHeight / 2;
    strides.scrollLeft = step.offsetLeft - strides.clientWidth / 2;
  });
}

/** The row that is looked at: the step of a decoder, or the chosen token of what is read. */
function focusOf({ recording, state }, stage) {
  const length = recording.streams[stage.stream]?.tokens.length ?? 0;
  const wanted = stage.stream === "source" && recording.streams.previous ? state.token ?? 0 : state.step;
  return Math.min(wanted, Math.max(0, length - 1));
}

/** “has read I → writes love”: the steps, of which one is chosen. */
function steps({ recording, state, set, t }) {
  const { steps: all } = recording.view("next");
  const step = Math.min(state.step, all.length - 1);
  return h("div", { class: "strides", role: "group", "aria-label": t("walk_steps") }, all.map((one, i) =>
    h("button", { type: "button", id: `step-${i}`, "aria-pressed": String(i === step), onclick: () => set({ step: i }) },
      readAndWritten(t, one))));
}

/** “has read I → writes love”, without the spaces that pieces begin with. */
export function readAndWritten(t, { reads, writes }) {
  const token = (text) => piece({ piece: text.trim() || text, start: 0, end: /^<\/?s>$/.test(text) ? 0 : 1 });
  return filled(t("walk_step"), { read: token(reads), written: h("strong", null, token(writes)) });
}

/** Every stage by name, with the vector of the chosen row as it is there. */
function rail(walk) {
  const { stages, at, set, t } = walk;
  const groups = [];
  stages.forEach((stage, i) => {
    const name = groupName(stage, t);
    if (groups.at(-1)?.name !== name) groups.push({ name, items: [] });
    groups.at(-1).items.push(h("li", null, h("button", { type: "button", class: "bare", id: `stage-${i}`,
      "aria-current": i === at ? "step" : null, onclick: () => set({ stage: i }) },
      h("span", null, t(titleKey(stage), stage)), glimpse(walk, stage))));
  });
  return h("nav", { class: "rail", "aria-label": t("walk_stages") },
    groups.map((group) => h("div", null, h("h3", null, group.name), h("ol", null, group.items))));
}

function glimpse(walk, stage) {
  const { recording } = walk;
  if (!stage.stream || stage.kind === "probabilities") return null;
  const row = recording.tensor(stage.result).row(focusOf(walk, stage));
  return picture({ rows: 1, columns: row.length, at: (_, c) => row[c], class: "strip" });
}

function groupName(stage, t) {
  if (stage.kind === "pieces") return t("walk_group_text");
  if (stage.kind === "probabilities" || stage.kind === "written") return t("walk_group_output");
  const side = stage.side === "encoder" || stage.side === "decoder" ? t(`walk_side_${stage.side}`) : t("walk_side_model");
  return stage.layer === null ? side : t("walk_group_layer", { side, layer: stage.layer + 1 });
}

export function titleKey(stage) {
  if (stage.kind === "self" && stage.masked) return "stage_masked";
  if (stage.kind === "input" && !stage.added) return "stage_input_other";
  if (stage.kind === "recurrent" && stage.part) return `stage_recurrent_${stage.part}`;
  return stage.kind === "residual" && stage.result.endsWith(".sum") ? "stage_add" : `stage_${stage.kind}`;
}

/** Back, on, and a list of all stages where there is no room for the rail. */
function mover({ stages, at, set, t }) {
  const go = (to) => () => set({ stage: to });
  return h("div", { class: "mover" },
    h("button", { type: "button", id: "stage-back", disabled: at === 0, onclick: go(at - 1) }, "← ", t("walk_back")),
    h("select", { id: "stage-list", "aria-label": t("walk_stages"), onchange: (event) => set({ stage: Number(event.target.value) }) },
      stages.map((stage, i) => h("option", { value: i, selected: i === at }, `${i + 1}. ${groupName(stage, t)}: ${t(titleKey(stage), stage)}`))),
    h("span", { class: "quiet count", "aria-live": "polite" }, t("walk_count", { at: at + 1, of: stages.length }), h("span", { class: "sr" }, ` ${t(titleKey(stages[at]), stages[at])}`), h("span", { class: "keys" }, ` · ${t("walk_keys")}`)),
    h("button", { type: "button", id: "stage-on", class: "primary", disabled: at === stages.length - 1, onclick: go(at + 1) }, t("walk_on"), " →"));
}

function card(walk) {
  const { stage, t } = walk;
  const body = bodies[stage.kind] ?? bodies.other;
  return h("article", { class: "card stage", "data-picture": true },
    h("p", { class: "eyebrow" }, groupName(stage, t)),
    h("h2", null, t(titleKey(stage), stage)),
    stage.result ? h("p", { class: "shape" }, h("code", null, stage.result), " ", shape(walk, stage.result)) : null,
    body(walk, { rows: () => rows(walk), readAndWritten }));
}

/** All positions of a stage's result, one line each; a click on one makes it the row that is looked at. */
function rows(walk) {
  const { recording, stage, focus, set, t } = walk;
  const tokens = recording.streams[stage.stream].tokens;
  const own = stage.stream === "source" && recording.streams.previous ? "token" : "step";
  const lines = tokens.map((token, i) => ({ label: piece(token), tensor: stage.result, index: [i], strong: i === focus,
    id: `row-${i}`, onpick: () => set({ [own]: i }) }));
  return [h("h3", null, t("walk_all_rows")), ledger(walk, lines, { caption: t("walk_all_rows"), id: "rows" })];
}

/** Every tensor by its name, drawn when it is asked for. */
let opened = false;
function everything(walk) {
  const { recording, t } = walk;
  const { tensors } = recording.view("walk");
  const box = h("div", { class: "wide" });
  const fill = () => box.replaceChildren(h("table", { class: "numbers" },
    h("caption", { class: "sr" }, t("walk_tensors", { n: tensors.length })),
    h("thead", null, h("tr", null, ["name", "shape", "least", "mean", "greatest"].map((key, i) => h("th", { scope: "col", class: i < 2 ? "left" : null }, t(`tensors_${key}`))))),
    h("tbody", null, tensors.map((of, i) => h("tr", null, h("th", { scope: "row" }, h("code", null, of.name)), h("td", { class: "left" }, shape(walk, of.name)),
      ["least", "mean", "greatest"].map((key) => h("td", null, of[key] === null ? "" : number(of[key], { from: `views.walk.tensors.${i}.${key}` }))))))));
  if (opened) fill();
  return h("details", { class: "everything", open: opened, ontoggle: (event) => {
    opened = event.target.open;
    if (opened && !box.firstChild) fill();
  } }, h("summary", null, t("walk_tensors", { n: tensors.length })), box);
}
