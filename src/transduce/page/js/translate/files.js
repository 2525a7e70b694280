/** Texts from files and into them. */

import { h } from "../draw.js";

/** The text of a file with its name, or null with what is wrong: `key` and `values` of the words for it. */
export async function read(file, limit, language) {
  const values = { name: file.name, size: file.size.toLocaleString(language), limit: limit.toLocaleString(language) };
  // No character has more than four bytes, and a mark may stand before the first.
  if (file.size > 4 * limit + 3) return { text: null, key: "translate_file_large", values };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    if (!text.includes("\0")) return { text, name: file.name.replace(/\.[^.]*$/, ""), key: "translate_file_read", values };
  } catch { /* Told below. */ }
  return { text: null, key: "translate_file_other", values };
}

export function save(text, name) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
