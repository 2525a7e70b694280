/** The tab that looks inside: a sentence, a run, its recording, and the views of it. */

import * as server from "./api.js";
import { filled, h } from "./draw.js";
import { Recording } from "./recording.js";
import { shareMenu } from "./share.js";
import { views } from "./views/index.js";

/** `mount(root, app)` → {show, changed}, as app.js wants of every tab. */
export function mount(root, app) {
  const find = (id) => root.querySelector(`#${id}`);
  const page = { root, app, find, runs: [], recording: null, compared: [], asked: null, failed: null, busy: null };
  const { t } = app;

  page.api = app.shared ? null : {
    get: server.get,
    post: server.post,
    record: async (body) => new Recording(await server.post("inspect/record", filledIn(page, body))),
  };
  if (app.shared) {
    [page.recording, ...page.compared] = app.shared.recordings.map((payload) => new Recording(payload));
    find("ask").hidden = true;
  } else ready(page);

  find("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    // The same sentence is looked at again, as after a failure.
    page.asked = null;
    app.go({ tab: "inside", values: Object.fromEntries(new FormData(event.target)) });
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea, [contenteditable]");
    if (root.hidden || typing || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    if (page.recording && current(page).onkey?.(event, context(page))) event.preventDefault();
  });
  return {
    show: () => {
      const { values } = app.route;
      const begin = find("text").value || page.runs[0]?.sample;
      if (app.shared || !page.runs.length) draw(page);
      else if (!values.text && begin) app.go({ values: { ...values, text: begin } }, { replace: true });
      else if (values.text && wanted(page) !== page.asked) look(page, values);
      else draw(page);
    },
    changed: () => { say(page, page.failed ? told(t, page.failed) : ""); menus(page); },
  };
}

async function ready(page) {
  const { app, find } = page;
  try {
    page.runs = await page.api.get("inspect/runs");
  } catch (error) {
    fail(page, error);
    return;
  }
  menus(page);
  const given = app.route.values;
  find("text").value = given.text ?? page.runs[0]?.sample ?? "";
  find("beam").value = given.beam ?? "";
  find("target").value = given.target ?? "";
  if (given.run) find("run").value = given.run;
  if (app.route.tab === "inside") app.go({}, { replace: true });
}

function menus(page) {
  if (page.app.shared) return;
  const select = page.find("run");
  const before = select.value;
  select.replaceChildren(...page.runs.map((run) => h("option", { value: run.name }, `${run.name} (${run.model}, ${run.source} → ${run.target})`)));
  if (before) select.value = before;
  select.onchange = () => {
    const run = page.runs.find((one) => one.name === select.value);
    const samples = page.runs.map((one) => one.sample);
    if (samples.includes(page.find("text").value)) page.find("text").value = run.sample;
  };
}

/** What a record of the page's form has to say; what `body` names takes its place. */
function filledIn(page, body) {
  const { text, run, beam, target } = page.app.route.values;
  const asked = { text, run: run || page.runs[0]?.name, beam: beam ? Number(beam) : undefined, target: target || undefined, ...body };
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined && value !== null));
}

function wanted(page) {
  const { text, run, beam, target } = page.app.route.values;
  return JSON.stringify([text, run || page.runs[0]?.name, beam || "", target || ""]);
}

async function look(page, values) {
  const { app, find } = page;
  page.asked = wanted(page);
  page.busy?.abort();
  page.busy = new AbortController();
  find("text").value = values.text;
  say(page, app.t("status_looking"));
  find("recorded").setAttribute("aria-busy", "true");
  try {
    const body = filledIn(page, {});
    page.recording = new Recording(await server.post("inspect/record", body, { signal: page.busy.signal }));
    page.compared = [];
    page.failed = null;
    say(page, "");
    draw(page);
  } catch (error) {
    if (error.name === "AbortError") return;
    fail(page, error);
  }
  find("recorded").removeAttribute("aria-busy");
}

function fail(page, error) {
  page.failed = error;
  say(page, told(page.app.t, error));
}

function told(t, error) {
  if (error.status === 0) return t("status_no_server");
  if (error.retryAfter) return t("status_later", { message: error.message, seconds: error.retryAfter });
  return t("status_failed", { message: error.message });
}

function say(page, text) {
  page.find("status").textContent = text;
  page.find("status").classList.toggle("failed", Boolean(page.failed));
}

function current(page) {
  const fitting = views.filter((view) => view.available(page.recording));
  return fitting.find((view) => view.id === page.app.route.view) ?? fitting[0];
}

/** What a view is given. */
function context(page) {
  const { app } = page;
  return {
    recording: page.recording,
    compared: page.compared,
    t: app.t,
    language: app.language,
    api: page.api,
    runs: page.runs,
    state: read(app.route.values),
    set: (changes) => app.go({ values: { ...app.route.values, ...changes } }, { replace: true }),
    /** Shows another view, with other values. */
    open: (view, changes = {}) => app.go({ view, values: { ...app.route.values, ...changes } }),
    /** Shows another recording in the place of this one, as after a forced choice. */
    replace: (recording) => { page.recording = recording; draw(page); },
    /** Sets the recordings beside this one. */
    compare: (recordings) => { page.compared = recordings; draw(page); },
  };
}

/** State as views want it: what is a number in the address is a number to them. */
function read(values) {
  const state = Object.entries(values).map(([key, value]) => [key, /^-?\d+$/.test(value) && key !== "text" ? Number(value) : value]);
  return { step: 0, unit: "pieces", ...Object.fromEntries(state) };
}

function draw(page) {
  const { app, find, recording } = page;
  find("recorded").hidden = !recording;
  if (!recording) return;
  const { t } = app;
  const { notes } = recording;
  const arrow = recording.source && recording.translation ? h("span", { class: "arrow", "aria-hidden": "true" }, " → ") : "";
  const text = (of, language) => h("span", { lang: language, dir: "auto" }, of);
  find("headline").replaceChildren(text(recording.source, notes.source_language), arrow, text(recording.translation, notes.target_language));
  const kind = h("span", { class: "kind" }, notes.model);
  find("about").replaceChildren(...filled(t("about"), { model: kind, source: notes.source_language, target: notes.target_language,
    tensors: String(recording.names.length), numbers: count(recording, app.language) }));
  const view = current(page);
  find("views").replaceChildren(...views.filter((one) => one.available(recording)).map((one) =>
    h("a", { href: `#inside/${one.id}`, "aria-current": one === view ? "page" : null }, t(one.key))));
  find("share").replaceChildren(shareMenu({ ...context(page), view: view.id, root: () => find("view") }));
  keepFocus(find("view"), () => {
    const into = h("div", { class: `view-${view.id}` });
    view.render(into, context(page));
    find("view").replaceChildren(into);
  });
}

function count(recording, language) {
  const sizes = Object.values(recording.payload.tensors).map(({ shape }) => shape.reduce((a, b) => a * b, 1));
  return sizes.reduce((a, b) => a + b, 0).toLocaleString(language);
}

/** What had the focus before a drawing has it afterwards: known by its id, or its place in the recording. */
function keepFocus(root, drawing) {
  const at = root.contains(document.activeElement) ? document.activeElement : null;
  const { tensor, from, index } = at?.dataset ?? {};
  drawing();
  if (!at) return;
  const selector = at.id ? `#${CSS.escape(at.id)}`
    : index && `[data-index="${index}"][data-${tensor ? "tensor" : "from"}="${CSS.escape(tensor ?? from)}"][tabindex]`;
  const found = selector && root.querySelector(selector);
  (found ?? root).focus({ preventScroll: true });
}
