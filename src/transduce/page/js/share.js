/** Taking it along: the page as one file, a view as a picture, the numbers as `.npz`. */

import * as server from "./api.js";
import { h } from "./draw.js";
import { npz } from "./npz.js";
import { drawn, rastered } from "./snapshot.js";

/** What `transduce.page.document` leaves where the recordings belong. */
const PLACE = "recordings-come-here";

export function shareMenu({ recording, compared, api, t, view, state, root }) {
  const name = (recording.translation || recording.source || "recording").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "recording";
  const title = [recording.source, recording.translation].filter(Boolean).join(" → ");
  const told = h("p", { class: "quiet", role: "status" });
  const item = (key, ending, make) => h("button", { type: "button", id: `save-${ending}`, onclick: async () => {
    told.textContent = "";
    try {
      save(await make(), `${name}${ending === "html" || ending === "npz" ? "" : `-${view}`}.${ending}`);
    } catch (error) {
      told.textContent = t("share_failed", { message: error.message });
    }
  } }, t(key));
  return h("details", { class: "share" },
    h("summary", null, t("share")),
    h("div", { class: "share-items" },
      api ? item("share_html", "html", () => page([recording, ...compared], state)) : null,
      item("share_svg", "svg", () => new Blob([drawn(root(), title)], { type: "image/svg+xml" })),
      item("share_png", "png", () => rastered(drawn(root(), title))),
      item("share_npz", "npz", () => npz(recording)),
      told));
}

/** What a saved page begins with: all that was chosen, but for what only a server can do. */
function kept({ text, run, beam, target, ...values }) { return values; }

async function page(recordings, state) {
  const empty = await server.getText("inspect/page");
  const content = JSON.stringify({ recordings: recordings.map((one) => one.payload), values: kept(state) }).replaceAll("<", "\\u003c");
  const [before, after] = empty.split(`>${PLACE}<`);
  return new Blob([before, ">", content, "<", after], { type: "text/html" });
}

function save(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
