/** What the translator's tab is made of. Words come by `data-t`, which app.js fills in for whichever language. */

import { h } from "../draw.js";

/** In the order of the Tab key: languages, text, what to do with it, translation. */
export function form() {
  return [
    h("h1", { class: "sr", "data-t": "translate_title" }),
    h("form", { id: "translate-form" }, languages(), source(), controls(), target()),
    h("p", { class: "sr", id: "translate-said", "aria-live": "polite" }),
    h("div", { id: "translate-legend", hidden: true },
      h("p", { class: "quiet", "data-t": "translate_legend" }), h("ul", { class: "legend" })),
    h("section", { id: "translate-others", hidden: true, "aria-labelledby": "translate-others-title" },
      h("h2", { id: "translate-others-title", "data-t": "translate_others" }), h("ol")),
  ];
}

function button(id, key, attributes = {}) {
  return h("button", { type: "button", id, "data-t": key, ...attributes });
}

function choice(id, key, ...options) {
  return h("label", null, h("span", { "data-t": key }), h("select", { id }, ...options));
}

function languages() {
  return h("div", { class: "pair" },
    choice("translate-from", "translate_from"),
    h("button", { type: "button", id: "translate-swap", "data-t-label": "translate_swap", "data-t-title": "translate_swap" },
      h("span", { "aria-hidden": "true" }, "⇄")),
    choice("translate-to", "translate_to"),
    h("div", { class: "which", hidden: true }, choice("translate-run", "translate_run")));
}

function source() {
  return h("div", { class: "card pane", id: "translate-source" },
    h("label", { class: "sr", for: "translate-text", "data-t": "translate_text" }),
    h("div", { class: "stack" },
      h("div", { id: "source-marks", dir: "auto", "aria-hidden": "true" }),
      h("textarea", { id: "translate-text", dir: "auto", spellcheck: "false", rows: "1",
        "aria-describedby": "translate-count", "aria-keyshortcuts": "Control+Enter", "data-t-placeholder": "translate_placeholder" })),
    h("p", { id: "translate-whole", class: "quiet", "data-t": "translate_whole", hidden: true }),
    h("div", { class: "pane-foot" },
      button("translate-open", "translate_open"),
      h("input", { id: "translate-file", type: "file", accept: ".txt,text/plain", hidden: true }),
      button("translate-clear", "translate_clear"),
      h("span", { id: "translate-count", class: "quiet" })),
    h("p", { class: "drop", "aria-hidden": "true", "data-t": "translate_drop" }));
}

function controls() {
  return h("div", { class: "act" },
    h("button", { type: "submit", id: "translate-go", class: "primary" }),
    h("kbd", { class: "quiet", "aria-hidden": "true" }, navigator.platform.startsWith("Mac") ? "⌘ ↵" : "Ctrl ↵"),
    h("p", { id: "translate-status", role: "status" }),
    h("label", { class: "check" }, h("input", { type: "checkbox", id: "translate-sure" }), h("span", { "data-t": "translate_confidence" })),
    choice("translate-nbest", "translate_nbest"),
    choice("translate-format", "translate_format",
      h("option", { value: "text", "data-t": "translate_format_text" }), h("option", { value: "html" }, "HTML")),
    h("label", { id: "translate-key", hidden: true }, h("span", { "data-t": "translate_key" }),
      h("input", { type: "password", autocomplete: "off" })),
    h("div", { id: "translate-error", class: "note", role: "alert", hidden: true }),
    h("p", { id: "translate-again", class: "quiet", hidden: true }));
}

function target() {
  return h("div", { class: "card pane", id: "translate-target" },
    h("div", { id: "translate-output", role: "group", dir: "auto", "data-t-label": "translate_output" }),
    h("p", { id: "translate-detail", class: "quiet" }),
    h("div", { class: "pane-foot" },
      button("translate-copy", "translate_copy", { disabled: true }),
      button("translate-save", "translate_save", { disabled: true }),
      h("a", { id: "translate-inside", "data-t": "translate_inside", hidden: true })));
}
