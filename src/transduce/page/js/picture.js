/** Pictures of many numbers at once, for where a cell each would be too small to read: an SVG of a few paths. */

import { svg } from "./draw.js";

const LEVELS = 12;

/**
 * Numbers `at(r, c)` as coloured cells of one unit. `top`: value of the strongest colour, the largest unless given; below
 * 0 it is another hue. All cells of a shade are one path, so that thousands of them are light. `title` names it.
 */
export function picture({ rows, columns, at, top, title, class: kind = "", ...attributes }) {
  const values = Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (_, c) => at(r, c)));
  const strongest = top ?? values.flat().reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);
  const paths = new Map();
  values.forEach((line, r) => line.forEach((value, c) => {
    const level = Number.isFinite(value) && strongest > 0 ? Math.min(LEVELS, Math.round((LEVELS * Math.abs(value)) / strongest)) : 0;
    if (!level) return;
    const key = value < 0 ? -level : level;
    paths.set(key, `${paths.get(key) ?? ""}M${c} ${r}h1v1h-1z`);
  }));
  return svg("svg", { viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none", "shape-rendering": "crispEdges",
    role: "img", ...(title ? { "aria-label": title } : { "aria-hidden": "true" }), ...attributes, class: `picture ${kind}`.trim() },
    title ? svg("title", null, title) : null,
    svg("rect", { class: "ground", width: columns, height: rows }),
    [...paths].map(([level, d]) => svg("path", { d, class: level < 0 ? "minus" : "plus", "fill-opacity": (Math.abs(level) / LEVELS).toFixed(3) })));
}

/**
 * Curves over a common x: `series` [{name, points: [[x, y]…], class, from(i): where point i stands in the payload}].
 * `x`, `y`: {label, low, high, ticks: [[value, text]…], log}. Points are small circles that carry their number.
 */
export function curves({ series, x, y, title, height = 300, dots = true, class: kind = "" }) {
  const narrow = matchMedia("(max-width: 40rem)").matches;
  const width = narrow ? 380 : 720;
  const box = { left: 56, right: width - 16, top: 14, bottom: height - 44 };
  const scale = (axis, from, to) => {
    const of = axis.log ? Math.log10 : (v) => v;
    const [low, high] = [of(axis.low), of(axis.high)];
    return (value) => from + ((to - from) * (Math.min(Math.max(of(value), low), high) - low)) / (high - low || 1);
  };
  const [sx, sy] = [scale(x, box.left, box.right), scale(y, box.bottom, box.top)];
  const at = (point) => [sx(point[0]).toFixed(1), sy(point[1]).toFixed(1)];
  return svg("svg", { class: `curves ${kind}`.trim(), viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title },
    svg("title", null, title),
    y.ticks.map(([value, text]) => [svg("line", { class: "grid", x1: box.left, x2: box.right, y1: sy(value), y2: sy(value) }),
      svg("text", { class: "tick", x: box.left - 8, y: sy(value) + 4, "text-anchor": "end" }, text)]),
    x.ticks.filter((_, i) => !narrow || i % 2 === 0 || x.ticks.length < 5).map(([value, text]) => [svg("line", { class: "stroke", x1: sx(value), x2: sx(value), y1: box.bottom, y2: box.bottom + 5 }),
      svg("text", { class: "tick", x: sx(value), y: box.bottom + 20, "text-anchor": "middle" }, text)]),
    svg("line", { class: "stroke", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
    svg("text", { class: "axis", x: (box.left + box.right) / 2, y: height - 5, "text-anchor": "middle" }, x.label),
    svg("text", { class: "axis", transform: `translate(13 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, y.label),
    series.map((one, s) => svg("g", { class: `series ${one.class ?? `series-${s}`}` },
      svg("polyline", { points: one.points.map((point) => at(point).join(",")).join(" ") }),
      dots ? one.points.map((point, i) => svg("circle", { class: "n", cx: at(point)[0], cy: at(point)[1], r: 3.5,
        "data-from": one.from(i), "data-value": String(point[1]) }, svg("title", null, `${one.name}, ${point[0]}: ${point[1]}`))) : null)));
}
