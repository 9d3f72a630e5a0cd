// Learning curves: lines over updates, drawn as SVG.

import { make, makeSvg, shown } from "./dom.js";
import { LINES, DASHES } from "./colour.js";

const CHART = { width: 460, height: 250, left: 56, right: 12, top: 14, bottom: 36 };

// round numbers that cut a range into a few parts
function ticks(low, high, count) {
  const rough = (high - low || 1) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return found;
}

function plain(value) {
  return Math.abs(value) >= 10000 ? value.toLocaleString("en") : String(Number(value.toPrecision(4)));
}

// chart: { title, x, y, lines: [{ name, points: [[x, y], ...] }] }
export function lineChart(element, chart) {
  const lines = chart.lines.filter((line) => line.points.length);
  const every = lines.flatMap((line) => line.points);
  const { width, height, left, right, top, bottom } = CHART;
  const extent = (at) => every.reduce(([low, high], point) => [Math.min(low, point[at]), Math.max(high, point[at])], [Infinity, -Infinity]);
  const [[x0, x1], [y0, y1]] = [extent(0), extent(1)], pad = (y1 - y0 || Math.abs(y1) || 1) * 0.05, low = y0 - pad, high = y1 + pad;
  const toX = (x) => left + ((x - x0) / (x1 - x0 || 1)) * (width - left - right), toY = (y) => height - bottom - ((y - low) / (high - low)) * (height - top - bottom);
  const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, class: "xa-chart-svg", role: "img", "aria-label": `${chart.title}: ${lines.map((line) => `${line.name} ends at ${plain(line.points.at(-1)[1])}`).join(", ")}`, "font-size": "11" });
  for (const at of ticks(low, high, 5)) {
    svg.append(makeSvg("line", { x1: left, x2: width - right, y1: toY(at), y2: toY(at), class: "xa-gridline" }), makeSvg("text", { x: left - 6, y: toY(at) + 4, "text-anchor": "end", class: "xa-ink" }, plain(at)));
  }
  for (const at of ticks(x0, x1, 5)) svg.append(makeSvg("text", { x: toX(at), y: height - bottom + 16, "text-anchor": "middle", class: "xa-ink" }, plain(at)));
  svg.append(makeSvg("text", { x: width - right, y: height - 4, "text-anchor": "end", class: "xa-ink" }, shown(chart.x)));
  lines.forEach((line, number_) => {
    const points = line.points.map(([x, y]) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`).join(" ");
    svg.append(makeSvg("polyline", { points, fill: "none", stroke: LINES[number_ % LINES.length], "stroke-width": 2, "stroke-dasharray": DASHES[number_ % DASHES.length] }));
    if (line.points.length < 30) for (const [x, y] of line.points) svg.append(makeSvg("circle", { cx: toX(x), cy: toY(y), r: 3, fill: LINES[number_ % LINES.length] }, makeSvg("title", {}, `${shown(line.name)} at ${plain(x)}: ${plain(y)}`)));
  });
  const said = make("output", { class: "xa-readout" });
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), x = ((((event.clientX - box.left) / box.width) * width - left) / (width - left - right)) * (x1 - x0) + x0;
    const nearest = (line) => line.points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
    said.textContent = `${plain(nearest(lines[0])[0])} ${chart.x}: ${lines.map((line) => `${line.name} ${plain(nearest(line)[1])}`).join(", ")}`;
  });
  const names = lines.map((line, number_) => make("span", { class: "xa-key" }, makeSvg("svg", { width: 26, height: 10, "aria-hidden": "true" }, makeSvg("line", { x1: 0, x2: 26, y1: 5, y2: 5, stroke: LINES[number_ % LINES.length], "stroke-width": 2, "stroke-dasharray": DASHES[number_ % DASHES.length] })), shown(line.name)));
  element.append(make("figure", { class: "xa-chart" }, make("figcaption", {}, shown(chart.title)), svg, make("div", { class: "xa-keys" }, ...names), said));
}
