/** The page: language, theme, and which tab is shown. What a tab shows is its own module's. */

import { mount as mountInside } from "./inside.js";
import { ROOM } from "./ledger.js";
import en from "./strings/en.js";
import zh from "./strings/zh.js";

const STRINGS = { en, zh };
const THEMES = ["auto", "light", "dark"];

/** What a shared file carries; null on a server. */
const shared = document.getElementById("payload");

function kept(key) {
  try { return localStorage.getItem(`transduce.${key}`); } catch { return null; }
}

function keep(key, value) {
  try { localStorage.setItem(`transduce.${key}`, value); } catch { /* Where nothing may be kept, it isn't. */ }
}

const settings = {
  language: kept("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en"),
  theme: kept("theme") ?? "auto",
};

/** The words for a key in the language of the page, `{name}` filled in from `values`. */
export function t(key, values = {}) {
  const text = STRINGS[settings.language][key];
  if (text === undefined) throw new Error(`no words for ${key}`);
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

const app = {
  t,
  get language() { return settings.language; },
  /** {tab, view, values} as the address has them. */
  route: { tab: "inside", view: null, values: {} },
  shared: shared && JSON.parse(shared.textContent),
  /** Shows another tab or view, or other values of it, and makes it the address. */
  go(route, { replace = false } = {}) {
    app.route = { ...app.route, ...route };
    const address = written(app.route);
    // In a frame without an address of its own (a notebook's) there is nothing to write it to.
    try { history[replace ? "replaceState" : "pushState"](null, "", address); } catch { /* The page works all the same. */ }
    show();
  },
};

function written({ tab, view, values }) {
  const pairs = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(pairs.map(([key, value]) => [key, String(value)])).toString();
  return `#${[tab, tab === "inside" && view].filter(Boolean).join("/")}${query && tab === "inside" ? `?${query}` : ""}`;
}

function read(address) {
  const [path, query = ""] = address.replace(/^#/, "").split("?");
  const [tab, view] = path.split("/");
  return { tab: tab || (app.shared ? "inside" : "translate"), view: view || null,
    values: { ...app.shared?.values, ...Object.fromEntries(new URLSearchParams(query)) } };
}

const tabs = {};

function show() {
  for (const [name, tab] of Object.entries(tabs)) {
    const current = name === app.route.tab;
    document.getElementById(name).hidden = !current;
    const link = document.getElementById(`tab-${name}`);
    if (current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    if (current) tab.show();
  }
}

/** Fills in the words of `index.html`. */
function words() {
  document.documentElement.lang = settings.language === "zh" ? "zh-Hans" : "en";
  for (const at of document.querySelectorAll("[data-t]")) at.textContent = t(at.dataset.t);
  for (const [name, attribute] of [["tTitle", "title"], ["tLabel", "aria-label"], ["tPlaceholder", "placeholder"]]) {
    const selector = `[data-${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}]`;
    for (const at of document.querySelectorAll(selector)) at.setAttribute(attribute, t(at.dataset[name]));
  }
  const theme = document.getElementById("theme");
  theme.textContent = t(`theme_${settings.theme}`);
  document.documentElement.dataset.theme = settings.theme;
}

function change(setting, value) {
  settings[setting] = value;
  keep(setting, value);
  words();
  for (const tab of Object.values(tabs)) tab.changed?.();
  show();
}

async function start() {
  // Before anything can write an address of its own.
  app.route = read(location.hash);
  words();
  document.getElementById("language").onclick = () => change("language", settings.language === "zh" ? "en" : "zh");
  document.getElementById("theme").onclick = () => change("theme", THEMES[(THEMES.indexOf(settings.theme) + 1) % THEMES.length]);
  for (const room of ["(prefers-color-scheme: dark)", ...ROOM]) matchMedia(room).addEventListener("change", show);
  tabs.inside = mountInside(document.getElementById("inside"), app);
  if (app.shared) document.body.classList.add("shared");
  else {
    const translate = await import("./translate.js");
    tabs.translate = translate.mount(document.getElementById("translate"), app);
    words();
  }
  addEventListener("popstate", () => { app.route = read(location.hash); show(); });
  // The base of a frame's links can be another page than its own, so none is followed.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const target = link.getAttribute("href");
    if (link.classList.contains("skip")) document.querySelector(target).focus();
    else {
      const to = read(target);
      app.go({ tab: to.tab, view: to.view ?? app.route.view, values: Object.keys(to.values).length ? to.values : app.route.values });
    }
  });
  show();
}

start();
