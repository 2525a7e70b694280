/** The tab that translates: what is asked for, and what the server says. How a translation is shown is shown.js's. */

import * as server from "./api.js";
import { h } from "./draw.js";
import { read, save } from "./translate/files.js";
import { form } from "./translate/form.js";
import { Problem } from "./translate/problem.js";
import { Shown } from "./translate/shown.js";

const KEY = "transduce.key";

/** `mount(root, app)` → {show, changed}, as app.js wants of every tab. */
export function mount(root, app) {
  const tab = new Tab(root, app);
  tab.begin();
  return { show: () => {}, changed: () => tab.changed() };
}

class Tab {
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.t = app.t;
    this.runs = [];
    this.limit = Infinity;
    /** How many translations of a text are wished for; a run may have fewer. */
    this.wished = 3;
    this.busy = null;
    this.fileName = "translation";
    /** The last thing said, as a key and its values, so that it can be said in another language. */
    this.said = null;
    root.append(...form());
    this.problem = new Problem(this.find("translate-error"), this.find("translate-again"), app.t);
    this.shown = new Shown(app, { input: this.input, marks: this.find("source-marks"), output: this.find("translate-output"),
      detail: this.find("translate-detail") });
    this.listen();
    this.changed();
  }

  find(id) { return this.root.querySelector(`#${id}`); }

  get input() { return this.find("translate-text"); }

  get run() { return this.runs.find((run) => run.name === this.find("translate-run").value); }

  listen() {
    const on = (id, event, what) => this.find(id).addEventListener(event, what);
    on("translate-form", "submit", (event) => {
      event.preventDefault();
      if (this.busy) this.busy.abort();
      else this.translate();
    });
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.busy?.abort();
      this.translate();
    });
    on("translate-text", "input", () => this.edited());
    on("translate-from", "change", () => this.choose({ from: this.find("translate-from").value }));
    on("translate-to", "change", () => this.choose({ from: this.find("translate-from").value, to: this.find("translate-to").value }));
    on("translate-run", "change", () => this.chosen());
    on("translate-nbest", "change", (event) => { this.wished = Number(event.target.value); });
    on("translate-swap", "click", () => this.swap());
    on("translate-open", "click", () => this.find("translate-file").click());
    on("translate-file", "change", (event) => { this.take(event.target.files[0]); event.target.value = ""; });
    on("translate-clear", "click", () => { this.fill(""); this.input.focus(); });
    on("translate-copy", "click", () => this.copy());
    on("translate-save", "click", () => save(this.shown.text, `${this.fileName}.${this.find("translate-to").value || "out"}.txt`));
    on("translate-sure", "change", (event) => this.colour(event.target.checked));
    on("translate-key", "input", (event) => {
      server.useKey(event.target.value.trim());
      sessionStorage.setItem(KEY, event.target.value.trim());
    });
    const pane = this.find("translate-source");
    const holds = (event) => event.dataTransfer?.types.includes("Files");
    // Anywhere in the tab: a browser would leave the page for a file that is dropped beside the field.
    this.root.addEventListener("dragover", (event) => { if (holds(event)) { event.preventDefault(); pane.classList.add("over"); } });
    this.root.addEventListener("dragleave", () => pane.classList.remove("over"));
    this.root.addEventListener("drop", (event) => {
      pane.classList.remove("over");
      if (!holds(event)) return;
      event.preventDefault();
      this.take(event.dataTransfer.files[0]);
    });
  }

  /** What this server has: runs, limits, and whether it wants a key. */
  async begin() {
    try {
      const [runs, settings] = await Promise.all(["v1/runs", "frontend/settings"].map((path) => server.get(path)));
      this.runs = runs.filter((run) => run.translates);
      this.limit = settings.charLimit;
      if (settings.keyRequired) this.askForKey();
    } catch (error) {
      this.fail(error);
      return;
    }
    if (this.runs.length) this.choose({ from: this.runs[0].source, to: this.runs[0].target });
    else {
      this.chosen();
      this.say("translate_no_run");
    }
    this.changed();
  }

  askForKey() {
    const field = this.find("translate-key");
    field.hidden = false;
    field.lastElementChild.value = sessionStorage.getItem(KEY) ?? "";
    server.useKey(field.lastElementChild.value);
  }

  /** The words of the tab, where they are not fixed. */
  changed() {
    this.find("translate-go").textContent = this.t(this.busy ? "translate_stop" : "translate_go");
    for (const id of ["translate-from", "translate-to"]) {
      for (const option of this.find(id).options) option.textContent = this.language(option.value);
    }
    if (this.said) this.say(...this.said);
    this.problem.changed();
    this.count();
    this.shown.changed();
    this.others();
    this.colour(kept());
  }

  language(code) {
    if (!code) return this.t("translate_no_language");
    let name = code;
    try {
      name = new Intl.DisplayNames(this.app.language, { type: "language" }).of(code);
    } catch { /* A run may call its languages whatever it likes. */ }
    return name.charAt(0).toLocaleUpperCase() + name.slice(1);
  }

  /** Fills the choices that follow from a source language, and from both. */
  choose({ from, to }) {
    const distinct = (codes) => [...new Set(codes)];
    const options = (id, codes, chosen) => {
      this.find(id).replaceChildren(...codes.map((code) => h("option", { value: code, selected: code === chosen }, this.language(code))));
      this.find(id).value = codes.includes(chosen) ? chosen : codes[0];
    };
    options("translate-from", distinct(this.runs.map((run) => run.source)), from);
    options("translate-to", distinct(this.runs.filter((run) => run.source === from).map((run) => run.target)), to);
    const target = this.find("translate-to").value;
    const fitting = this.runs.filter((run) => run.source === from && run.target === target);
    this.find("translate-run").replaceChildren(...fitting.map((run) => h("option", { value: run.name }, `${run.name} (${run.model})`)));
    this.root.querySelector(".which").hidden = this.runs.length < 2;
    const back = this.runs.some((run) => run.source === target && run.target === from);
    const swap = this.find("translate-swap");
    swap.disabled = !back;
    swap.dataset.tTitle = swap.dataset.tLabel = back ? "translate_swap" : "translate_swap_none";
    for (const name of ["title", "aria-label"]) swap.setAttribute(name, this.t(swap.dataset.tTitle));
    this.input.lang = from;
    this.find("translate-output").lang = target;
    this.chosen();
  }

  /** Offers what the run has: alternatives, confidence, and whether a text is cut into sentences for it. */
  chosen() {
    const { nbest: most, alignment, whole } = this.run ?? { nbest: 1, alignment: false, whole: false };
    const counts = [...new Set([1, 3, 5, most])].filter((n) => n <= most).sort((a, b) => a - b);
    const count = counts.findLast((n) => n <= this.wished);
    const field = this.find("translate-nbest");
    field.replaceChildren(...counts.map((n) => h("option", { value: n, selected: n === count }, String(n))));
    field.closest("label").hidden = most < 2;
    this.find("translate-sure").closest("label").hidden = !alignment;
    this.find("translate-whole").hidden = !whole;
    // What is hidden would be read out with the field all the same.
    this.input.setAttribute("aria-describedby", whole ? "translate-whole translate-count" : "translate-count");
    this.colour(kept());
    this.edited();
  }

  swap() {
    const [from, to] = ["translate-from", "translate-to"].map((id) => this.find(id).value);
    const text = this.shown.text;
    this.choose({ from: to, to: from });
    if (text) this.fill(text);
  }

  edited() {
    this.shown.outdate();
    this.find("translate-inside").hidden = true;
    this.count();
  }

  fill(text, name = "translation") {
    this.input.value = text;
    this.fileName = name;
    this.edited();
  }

  count() {
    const length = Array.from(this.input.value).length;
    const over = length > this.limit;
    const number = (n) => n.toLocaleString(this.app.language);
    const at = this.find("translate-count");
    at.textContent = this.limit === Infinity ? number(length) : this.t("translate_count", { length: number(length), limit: number(this.limit) });
    at.classList.toggle("failed", over);
    this.input.setAttribute("aria-invalid", String(over));
    this.find("translate-go").disabled = !this.busy && (over || !this.run || !this.input.value.trim());
  }

  /** A file in the place of the text. */
  async take(file) {
    if (!file) return;
    const found = await read(file, this.limit, this.app.language);
    this.say(found.key, found.values);
    if (found.text === null) return;
    this.fill(found.text, found.name);
    this.input.focus();
  }

  async translate() {
    const { run, input } = this;
    this.count();
    if (this.find("translate-go").disabled) return;
    const busy = new AbortController();
    this.busy = busy;
    this.clear();
    this.shown.start(input.value, run);
    this.find("translate-target").setAttribute("aria-busy", "true");
    this.say("translate_busy");
    this.changed();
    const started = performance.now();
    try {
      const question = { text: input.value, run: run.name, alignment: true, stream: true,
        nbest: Number(this.find("translate-nbest").value), format: this.find("translate-format").value };
      await this.hear(server.events("v1/translate", question, { signal: busy.signal }));
      const seconds = ((performance.now() - started) / 1000).toLocaleString(this.app.language, { maximumFractionDigits: 1 });
      this.finished(run, seconds);
    } catch (error) {
      if (this.busy !== busy) return;
      this.shown.stop();
      if (error.name === "AbortError") this.say("translate_stopped");
      else this.fail(error);
    } finally {
      if (this.busy === busy) {
        this.busy = null;
        this.find("translate-target").removeAttribute("aria-busy");
        this.changed();
      }
    }
  }

  async hear(events) {
    for await (const { name, data } of events) {
      if (name === "token") this.shown.hear(data.sentence, data.token);
      else if (name === "error") throw new server.ApiError(data.error, data.status, null);
      else if (name === "done") {
        this.shown.finish(data.translations[0]);
        return;
      }
    }
    throw new server.ApiError("", 0, null);
  }

  finished(run, seconds) {
    const { shown } = this;
    const flawed = ["truncated", "repetitive"].find((flaw) => shown.result[flaw]);
    this.say(flawed ? `translate_${flawed}` : "translate_done", { seconds });
    // Heard once by those who listen to the page; they were spared each token of it.
    this.find("translate-said").textContent = shown.text.slice(0, 1000);
    for (const id of ["translate-copy", "translate-save"]) this.find(id).disabled = false;
    const inside = this.find("translate-inside");
    inside.hidden = !shown.sentence;
    inside.href = `#inside?${new URLSearchParams({ text: shown.sentence, run: run.name })}`;
    this.input.lang = run.source;
  }

  clear() {
    this.problem.clear();
    this.find("translate-inside").hidden = true;
    this.find("translate-said").textContent = "";
    for (const id of ["translate-copy", "translate-save"]) this.find(id).disabled = true;
  }

  say(key, values = {}) {
    this.said = [key, values];
    this.find("translate-status").textContent = this.t(key, values);
  }

  fail(error) {
    this.said = null;
    this.find("translate-status").textContent = "";
    this.problem.tell(error);
  }

  async copy() {
    const { text } = this.shown;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages that came without encryption from another machine have no clipboard, but may copy what is selected.
      getSelection().selectAllChildren(this.find("translate-output"));
      document.execCommand("copy");
    }
    this.say("translate_copied");
  }

  colour(on) {
    try { localStorage.setItem("transduce.confidence", on ? "on" : "off"); } catch { /* Where nothing may be kept, it isn't. */ }
    this.find("translate-sure").checked = on;
    this.find("translate-output").classList.toggle("sure", on);
    const legend = this.find("translate-legend");
    legend.hidden = !on || !this.shown.result || !this.run?.alignment;
    legend.querySelector("ul").replaceChildren(...this.shown.legend());
  }

  others() {
    const found = this.shown.result?.alternatives ?? [];
    this.find("translate-others").hidden = found.length < 2;
    const item = (one, i) => h("li", { class: i ? "" : "best" },
      h("span", { class: "written", lang: this.find("translate-output").lang, dir: "auto" }, one.text),
      h("span", { class: "quiet" }, this.t("translate_score", { score: one.score.toFixed(2), logp: one.log_probability.toFixed(2) }).replaceAll("-", "−")));
    this.root.querySelector("#translate-others ol").replaceChildren(...found.map(item));
  }
}

function kept() {
  try { return localStorage.getItem("transduce.confidence") === "on"; } catch { return false; }
}
