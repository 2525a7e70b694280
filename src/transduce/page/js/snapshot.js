/** A view as a picture of its own: what the browser laid out, as boxes, lines and text of an SVG that needs no styles. */

import { svg } from "./draw.js";

const MARGIN = 16;
/** Room above the view for what it is of. */
const TITLE = 44;
/** Sides of a picture that browsers can still make. */
const LARGEST = 16_000;

/** The SVG of an element, as text, under a title. What within it is marked as the picture stands for all of it. */
export function drawn(view, title) {
  const root = view.querySelector("[data-picture]") ?? view;
  const box = root.getBoundingClientRect();
  const page = getComputedStyle(document.body);
  // What scrolls inside of the view is drawn to its end.
  const reach = [...root.querySelectorAll(".wide")].map((at) => at.getBoundingClientRect().left - box.left + at.scrollWidth);
  const width = Math.ceil(Math.max(box.width, ...reach)) + 2 * MARGIN;
  const height = Math.ceil(box.height) + 2 * MARGIN + TITLE;
  const picture = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
    svg("title", null, title),
    svg("rect", { width, height, fill: page.backgroundColor }),
    svg("text", { x: MARGIN, y: MARGIN + TITLE / 2, "font-size": TITLE / 2, "font-family": page.getPropertyValue("--serif").trim(), fill: page.color }, title));
  add(root, picture, { x: MARGIN - box.left, y: MARGIN + TITLE - box.top });
  return new XMLSerializer().serializeToString(picture);
}

/** The same as PNG, two pixels for each. */
export async function rastered(text) {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    image.src = address;
    await image.decode();
    const scale = Math.min(2, LARGEST / Math.max(image.width, image.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(image.width * scale);
    canvas.height = Math.round(image.height * scale);
    const to = canvas.getContext("2d");
    to.scale(scale, scale);
    to.drawImage(image, 0, 0);
    return await new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  } finally {
    URL.revokeObjectURL(address);
  }
}

function add(at, to, by) {
  const style = getComputedStyle(at);
  if (!at.checkVisibility({ visibilityProperty: true }) || at.classList.contains("sr")) return;
  if (at instanceof SVGSVGElement) {
    to.append(inline(at, by));
    return;
  }
  frame(at, style, to, by);
  for (const child of at.childNodes) {
    if (child instanceof Text) words(child, style, to, by);
    else if (child instanceof HTMLSelectElement) chosen(child, to, by);
    else if (child instanceof Element) add(child, to, by);
  }
}

/** Ground and border of a box. */
function frame(at, style, to, by) {
  const box = at.getBoundingClientRect();
  const filled = !/^rgba\(0, 0, 0, 0\)$|^transparent$/.test(style.backgroundColor);
  const sides = ["Top", "Right", "Bottom", "Left"].map((side) => [parseFloat(style[`border${side}Width`]), style[`border${side}Style`], style[`border${side}Color`]]);
  const lined = ([width, kind]) => width > 0 && kind !== "none";
  const all = sides.every((side) => lined(side) && side.join() === sides[0].join());
  const [x, y] = [box.left + by.x, box.top + by.y];
  if (filled || all) {
    to.append(svg("rect", { x, y, width: box.width, height: box.height, rx: Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.height / 2),
      fill: filled ? style.backgroundColor : "none", stroke: all ? sides[0][2] : "none", "stroke-width": all ? sides[0][0] : 0 }));
  }
  if (all) return;
  const lines = [[x, y, x + box.width, y], [x + box.width, y, x + box.width, y + box.height], [x, y + box.height, x + box.width, y + box.height], [x, y, x, y + box.height]];
  sides.forEach((side, i) => {
    if (!lined(side)) return;
    const [x1, y1, x2, y2] = lines[i];
    to.append(svg("line", { x1, y1, x2, y2, stroke: side[2], "stroke-width": side[0] }));
  });
}

/** Text where it stands, line by line. */
function words(node, style, to, by) {
  if (!node.data.trim()) return;
  const range = document.createRange();
  const lines = [];
  let at = 0;
  for (const character of node.data) {
    range.setStart(node, at);
    at += character.length;
    range.setEnd(node, at);
    const box = range.getClientRects()[0];
    if (!box || (!box.width && !box.height)) continue;
    const last = lines.at(-1);
    const collapses = /\s/.test(character) && !style.whiteSpace.startsWith("pre");
    const goesOn = last && (upright(style) ? Math.abs(last.box.left - box.left) < 2 : Math.abs(last.box.top - box.top) < 2);
    if (goesOn) last.text += character;
    // A line does not begin with a space.
    else if (!collapses) lines.push({ text: character, box });
  }
  const said = style.textTransform === "uppercase" ? (text) => text.toUpperCase() : (text) => text;
  for (const { text, box } of lines) to.append(written({ text: said(text), box }, style, by));
}

function upright(style) { return style.writingMode.startsWith("vertical"); }

function written({ text, box }, style, by) {
  const size = parseFloat(style.fontSize);
  const common = { "font-family": style.fontFamily, "font-size": size, "font-weight": style.fontWeight, fill: style.color, "xml:space": "preserve" };
  if (upright(style)) {
    // Vertical labels are turned by half, so that they read from below.
    const [x, y] = [box.left + box.width / 2 + size * 0.35 + by.x, box.bottom + by.y];
    return svg("text", { ...common, transform: `translate(${x} ${y}) rotate(-90)` }, text);
  }
  return svg("text", { ...common, x: box.left + by.x, y: box.top + box.height / 2 + size * 0.35 + by.y }, text);
}

function chosen(select, to, by) {
  const style = getComputedStyle(select);
  frame(select, style, to, by);
  const box = select.getBoundingClientRect();
  to.append(written({ text: select.selectedOptions[0]?.textContent ?? "", box: new DOMRect(box.left + 10, box.top, box.width, box.height) }, style, by));
}

const PAINTS = ["fill", "stroke", "fill-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];

/** A drawing within the view, with its styles written out. */
function inline(at, by) {
  const copy = at.cloneNode(true);
  const [from, into] = [[at, ...at.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of PAINTS) into[i].setAttribute(name, style.getPropertyValue(name));
    into[i].removeAttribute("class");
  });
  const box = at.getBoundingClientRect();
  for (const [name, value] of Object.entries({ x: box.left + by.x, y: box.top + by.y, width: box.width, height: box.height })) copy.setAttribute(name, value);
  return copy;
}
