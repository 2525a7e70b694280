/** A translation: as it comes, and then with what each piece of it was read from and how sure the model was. */

import { h } from "../draw.js";

/** Least probabilities of the classes that colours tell, the surest first. */
const SURE = [0.9, 0.6, 0.3, 0];

/** Places are counted in characters as the server counts them, which are code points. */
export class Shown {
  /** `marks` lies under the text field and has its text, so that parts of that can be marked. */
  constructor(app, { input, marks, output, detail }) {
    Object.assign(this, { app, t: app.t, input, marks, output, detail });
    this.source = [];
    this.result = null;
    this.written = [];
    this.lit = [];
    output.addEventListener("mouseover", (event) => this.point(event.target.closest(".from")));
    output.addEventListener("mouseleave", () => this.point(output.querySelector(".from:focus")));
    output.addEventListener("focusin", (event) => this.point(event.target.closest(".from")));
    output.addEventListener("focusout", () => this.point(null));
    output.addEventListener("keydown", (event) => this.walk(event));
    input.addEventListener("mousemove", (event) => {
      const under = document.elementsFromPoint(event.clientX, event.clientY);
      this.pointSource(under.find((at) => at.classList.contains("to")));
    });
    input.addEventListener("mouseleave", () => this.point(null));
    document.addEventListener("selectionchange", () => this.atCaret());
  }

  get text() { return this.result?.text ?? ""; }

  /** The first sentence of the source, as one line: several lines are one sentence where a text is read as a whole. */
  get sentence() {
    const [first] = this.result?.sentences ?? [];
    return first ? this.source.slice(first.source_start, first.source_end).join("").replace(/\s*\n\s*/g, " ") : "";
  }

  start(text, run) {
    this.source = Array.from(text);
    this.result = null;
    this.written = [];
    // Where words have spaces between them, sentences do.
    this.gap = /^(zh|ja|th|lo|my|km)\b/.test(run.target) ? "" : " ";
    this.draw();
  }

  hear(sentence, token) {
    this.written[sentence] = (this.written[sentence] ?? "") + token;
    this.output.textContent = this.written.filter(Boolean).join(this.gap);
  }

  finish(result) {
    this.result = result;
    this.draw();
  }

  /** No more will come: what came is only a beginning. */
  stop() {
    this.output.classList.add("stale");
  }

  /** The text was changed, so what stands here is no translation of it any more. */
  outdate() {
    if (this.result) this.result = { ...this.result, alignment: [], sentences: [], alternatives: [] };
    this.source = Array.from(this.input.value);
    this.draw();
    this.output.classList.toggle("stale", Boolean(this.result));
  }

  changed() {
    this.point(null);
  }

  draw() {
    this.lit = [];
    this.output.classList.remove("stale");
    const links = this.result?.alignment ?? [];
    const ranges = [...new Map(links.map((link) => [link.source_start, link])).values()].sort((a, b) => a.source_start - b.source_start);
    this.marks.replaceChildren(...this.cut(this.source, ranges, "source", (text, link) =>
      h("span", { class: "to", "data-start": link.source_start }, text)), "\u200b");
    const target = Array.from(this.text);
    const pieces = this.cut(target, links, "target", (text, link) =>
      h("span", { class: `from sure-${SURE.findIndex((least) => link.probability >= least)}`, tabindex: -1, "aria-describedby": this.detail.id,
        "data-start": link.source_start, "data-link": links.indexOf(link) }, text));
    this.output.replaceChildren(...pieces);
    const first = this.output.querySelector(".from");
    // Keys reach the translation: its pieces or, where it has none, all of it, so that it can be scrolled.
    if (first) first.tabIndex = 0;
    if (first || !this.text) this.output.removeAttribute("tabindex");
    else this.output.tabIndex = 0;
    this.point(null);
  }

  /** A text as nodes: what links name, without outer white space, made by `made`, and what stands between. */
  cut(text, links, side, made) {
    const nodes = [];
    let at = 0;
    for (const link of links) {
      const part = text.slice(Math.max(at, link[`${side}_start`]), link[`${side}_end`]).join("");
      const core = part.trim();
      if (!core) continue;
      const start = Math.max(at, link[`${side}_start`]) + Array.from(part.slice(0, part.indexOf(core))).length;
      nodes.push(text.slice(at, start).join(""), made(core, link));
      at = start + Array.from(core).length;
    }
    nodes.push(text.slice(at).join(""));
    return nodes;
  }

  /** Shows where a piece of the translation was read from; without one, what can be pointed at. */
  point(piece) {
    this.unlight();
    const link = piece && this.result?.alignment[piece.dataset.link];
    if (!link) {
      const some = Boolean(this.result?.alignment.length);
      const words = some ? "translate_point" : this.result?.sentences.length ? "translate_no_links" : null;
      this.detail.textContent = words ? this.t(words) : "";
      return;
    }
    this.light([piece, ...this.marks.querySelectorAll(`[data-start="${link.source_start}"]`)]);
    const percent = (value) => value.toLocaleString(this.app.language, { style: "percent", maximumFractionDigits: 0 });
    const read = this.source.slice(link.source_start, link.source_end).join("").trim();
    this.detail.textContent = this.t("translate_from_piece", { target: piece.textContent, source: read,
      weight: percent(link.weight), probability: percent(link.probability) });
  }

  /** Shows what was written where a piece of the source was read. */
  pointSource(piece) {
    if (!piece) {
      if (this.lit.length) this.point(null);
      return;
    }
    const written = [...this.output.querySelectorAll(`[data-start="${piece.dataset.start}"]`)];
    this.unlight();
    this.light([piece, ...written]);
    this.detail.textContent = this.t("translate_to_pieces", { source: piece.textContent,
      target: written.map((one) => one.textContent).join(" · ") });
  }

  atCaret() {
    if (document.activeElement !== this.input || !this.result?.alignment.length) return;
    const at = Array.from(this.input.value.slice(0, this.input.selectionStart)).length;
    const link = this.result.alignment.find((one) => one.source_start <= at && at < one.source_end);
    this.pointSource(link && this.marks.querySelector(`[data-start="${link.source_start}"]`));
  }

  light(nodes) {
    this.lit = nodes;
    for (const node of nodes) node.classList.add("lit");
  }

  unlight() {
    for (const node of this.lit) node.classList.remove("lit");
    this.lit = [];
  }

  walk(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    const pieces = [...this.output.querySelectorAll(".from")];
    const at = pieces.indexOf(document.activeElement);
    if (!step || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = pieces[Math.min(Math.max(at + step, 0), pieces.length - 1)];
    pieces[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  /** What the colours say. */
  legend() {
    const percent = (value) => value.toLocaleString(this.app.language, { style: "percent" });
    const item = (least, i) => h("li", null, h("span", { class: `from sure-${i}`, "aria-hidden": "true" }, "abc"),
      this.t("translate_legend_range", { least: percent(least), most: percent(i ? SURE[i - 1] : 1) }));
    return SURE.map(item);
  }
}
