// Pen strokes that draw themselves, and the window that moves over the text meanwhile (Graves 2013, fig. 12): a row a character, a column a point.

import { make, makeSvg, isolated, tokenLabel, textWidth, svgText, number } from "../dom.js";
import { colourOf, inkOn } from "../colour.js";
import { largest } from "../decode.js";
import { turned, heatMap, cellUnder } from "../heat.js";
import { stepPlayer } from "../player.js";

const POINT = 12; // milliseconds that the pen takes
const MAP = 900; // pixels of the window's map
const LETTER = 15;

// where the pen goes: commands of a path, one a point, and how large it all is
function penPath(values, count) {
  const found = { commands: [], at: [], left: 0, top: 0, right: 0, bottom: 0 };
  let x = 0, y = 0, lifted = true;
  for (let point = 0; point < count; point += 1) {
    x += values[3 * point];
    y += values[3 * point + 1];
    const place = `${x.toFixed(1)},${y.toFixed(1)}`;
    found.commands.push(lifted ? `M${place}L${place}` : `L${place}`); // a stroke of one point is a dot
    found.at.push([x, y]);
    lifted = values[3 * point + 2] > 0.5;
    if (point === 0) Object.assign(found, { left: x, right: x, top: y, bottom: y });
    Object.assign(found, { left: Math.min(found.left, x), right: Math.max(found.right, x), top: Math.min(found.top, y), bottom: Math.max(found.bottom, y) });
  }
  return found;
}

function strokesSvg(path, upTo, context) {
  const high = Math.max(1, path.bottom - path.top), wide = Math.max(1, path.right - path.left), pad = Math.max(high, wide / 20) * 0.1 + 1, thick = Math.max(high, wide / 12) / 40;
  const box = [path.left - pad, path.top - pad, wide + 2 * pad, high + 2 * pad].map((one) => one.toFixed(1));
  const width = 900, height = Math.round(Math.min(420, Math.max(60, (900 * box[3]) / box[2])));
  const svg = makeSvg("svg", { width, height, viewBox: box.join(" "), class: "xa-drawing", role: "img", "data-role": "strokes", "aria-label": `${path.commands.length} points of a pen` });
  svg.append(makeSvg("rect", { x: box[0], y: box[1], width: box[2], height: box[3], fill: context.dark ? "#14161a" : "#fff" }));
  const line = makeSvg("path", { d: path.commands.slice(0, upTo + 1).join(""), fill: "none", stroke: context.dark ? "#e8e8e8" : "#112233", "stroke-width": thick.toFixed(2), "stroke-linecap": "round", "stroke-linejoin": "round" });
  const tip = makeSvg("circle", { r: (1.8 * thick).toFixed(2), fill: context.dark ? "#ff6fae" : "#d1005b" });
  svg.append(line, tip);
  return { svg, line, tip };
}

function drawStrokes(element, trace, context) {
  const { shape, values } = trace.arrays.points, count = shape[0], looked = trace.heads > 0 && trace.positions > 0 && trace.steps > 0;
  const path = penPath(values, count), drawing = strokesSvg(path, count - 1, context);
  const letters = looked ? trace.source.map((token) => isolated("span", { class: "xa-chip" }, tokenLabel(token, 8))) : [];
  const window_ = looked ? turned(trace.weights.plane(context.head), trace.steps, trace.positions) : null, full = looked ? largest(window_) || 1 : 1;
  const map = make("canvas", { class: "xa-heat", width: MAP, height: Math.max(1, trace.positions * LETTER), role: "img", "data-role": "window", "aria-label": "the window over the text: a row a character, a column a point" });
  const gutter = Math.max(20, ...trace.source.map((token) => textWidth(tokenLabel(token, 8)))) + 12;
  const names = looked ? trace.source.map((token, at) => {
    const name = isolated("span", { class: "xa-label" }, tokenLabel(token, 8));
    name.style.top = `${(at + 0.5) * LETTER}px`;
    return name;
  }) : [];
  const pane = make("div", { class: "xa-sound" }, make("div", { class: "xa-rows", "aria-hidden": "true" }, ...names), map);
  pane.style.gridTemplateColumns = `${gutter}px minmax(0, ${MAP}px)`;
  map.style.height = `${map.height}px`; // beside its labels, however narrow the page
  const first = context.chosen ? Math.min(context.selection.step, count - 1) : count - 1; // all of it, until a point is chosen
  const player = stepPlayer(count, Math.max(0, first), choose, { label: "point", pace: POINT });
  element.append(drawing.svg, player.element);
  if (looked) element.append(make("div", { class: "xa-chips", "data-role": "letters" }, ...letters), pane);
  if (count === 0) element.append(make("p", { class: "xa-faint" }, "nothing was written"));

  function choose(at) {
    context.select({ step: at }, follow);
    redraw(at);
  }

  function follow({ step }) {
    const at = Math.max(0, Math.min(step, count - 1));
    player.mark(at);
    redraw(at);
  }

  function redraw(at) {
    drawing.line.setAttribute("d", path.commands.slice(0, at + 1).join(""));
    const [x, y] = path.at[at] || [0, 0];
    drawing.tip.setAttribute("cx", x.toFixed(1));
    drawing.tip.setAttribute("cy", y.toFixed(1));
    if (!looked) return;
    heatMap(map, window_, trace.positions, trace.steps, context.map, full);
    const pen_ = map.getContext("2d");
    pen_.fillStyle = context.dark ? "#ff6fae" : "#d1005b";
    pen_.fillRect(((at + 0.5) / trace.steps) * MAP - 1, 0, 2, map.height);
    const weights = trace.weights.row(Math.min(at, trace.steps - 1), context.head);
    letters.forEach((letter, place) => Object.assign(letter.style, { backgroundColor: colourOf(context.map, weights[place] / full), color: inkOn(context.map, weights[place] / full) }));
    const most = weights.indexOf(largest(weights));
    context.say(most < 0 ? `point ${at + 1}` : `point ${at + 1}: most at ${tokenLabel(trace.source[most])}, ${number(weights[most])}`);
  }

  map.addEventListener("pointermove", (event) => { const { row, column } = cellUnder(event, map, trace.positions, trace.steps); context.read(column, row); });
  map.addEventListener("click", (event) => { player.stop(); follow({ step: cellUnder(event, map, 1, trace.steps).column }); });
  context.listen(follow);
  if (looked) context.scale(full);
  redraw(Math.max(0, first));
  return { svg: () => strokesKept(path, context, looked ? map : null, trace.source, gutter), destroy: player.stop };
}

// all strokes, and the map below them
function strokesKept(path, context, map, source, gutter) {
  const { svg, tip } = strokesSvg(path, path.commands.length - 1, context);
  tip.remove();
  if (!map) return svg;
  const top = Number(svg.getAttribute("height")) + 10, total = { width: Math.ceil(gutter + MAP + 6), height: top + map.height + 6 };
  const whole = makeSvg("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, "font-family": "sans-serif", "font-size": "12" }, makeSvg("rect", { ...total, fill: context.dark ? "#14161a" : "#fff" }), svg);
  whole.append(makeSvg("image", { href: map.toDataURL("image/png"), x: gutter, y: top, width: MAP, height: map.height }));
  source.forEach((token, at) => whole.append(svgText(tokenLabel(token, 8), { x: gutter - 6, y: top + (at + 0.5) * LETTER + 4, "text-anchor": "end", fill: context.dark ? "#e8e8e8" : "#16181d" })));
  return whole;
}

export const strokesView = {
  name: "strokes",
  title: "Strokes",
  byHead: false,
  accepts: (trace) => trace.kind === "strokes" && Boolean(trace.arrays.points),
  draw: drawStrokes,
};
