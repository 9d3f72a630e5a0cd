// Looks through a small window (Mnih et al. 2014, fig. 3): the picture, the path from look to look, and what the patches of the chosen look show.
// Of a model that looks first and then writes (kind "picture" with boxes): the windows of all looks, as strong as the chosen word's weights.

import { make, makeSvg, svgText, tokenLabel, number } from "../dom.js";
import { LINES, DASHES } from "../colour.js";
import { largest } from "../decode.js";
import { stepPlayer } from "../player.js";
import { wordStrip } from "../strip.js";

const VIEW = 420; // pixels of the picture's longer side
const PATCH = 130; // of a patch that is shown by itself
const FAINT = 0.12; // opacity of a window that a word gives no weight

// part of a picture, enlarged so that its pixels are seen; what lies outside stays dark
export function enlarged(picture, [x, y, width, height], wide, high) {
  const canvas = make("canvas", { width: Math.max(1, Math.round(wide)), height: Math.max(1, Math.round(high)), class: "xa-patch" }), pen_ = canvas.getContext("2d");
  pen_.imageSmoothingEnabled = false;
  pen_.fillStyle = "#20242c";
  pen_.fillRect(0, 0, canvas.width, canvas.height);
  if (picture && width > 0 && height > 0) {
    const across = canvas.width / width, down = canvas.height / height;
    pen_.drawImage(picture, -x * across, -y * down, picture.width * across, picture.height * down);
  }
  return canvas;
}

// boxes of a step: [left, top, right, bottom], as shares of the picture
export function boxesOf(trace, step) {
  const { shape, values } = trace.arrays.boxes;
  return Array.from({ length: shape[1] }, (_, box) => Array.from(values.subarray((step * shape[1] + box) * 4, (step * shape[1] + box + 1) * 4)));
}

export function boxFrame([left, top, right, bottom], width, height, line) {
  return makeSvg("rect", { x: left * width, y: top * height, width: Math.max(1, (right - left) * width), height: Math.max(1, (bottom - top) * height), fill: "none", stroke: LINES[line % LINES.length], "stroke-width": 3, "stroke-dasharray": DASHES[line % DASHES.length], class: "xa-box", "data-box": line });
}

function glimpseSvg(trace, image, width, height, step) {
  const svg = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "xa-drawing", role: "img", "data-role": "glimpse" });
  svg.append(makeSvg("image", { href: image, x: 0, y: 0, width, height }));
  const middles = Array.from({ length: step + 1 }, (_, at) => boxesOf(trace, at)[0]).map(([left, top, right, bottom]) => [((left + right) / 2) * width, ((top + bottom) / 2) * height]);
  svg.append(makeSvg("polyline", { points: middles.map((place) => place.map((one) => one.toFixed(1)).join(",")).join(" "), fill: "none", stroke: "#56b4e9", "stroke-width": 3, class: "xa-path" }));
  middles.forEach(([x, y], at) => svg.append(makeSvg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: at === step ? 6 : 4, fill: "#56b4e9", stroke: "#000" }, makeSvg("title", {}, `look ${at + 1}`))));
  boxesOf(trace, step).forEach((box, line) => svg.append(boxFrame(box, width, height, line)));
  return svg;
}

function drawGlimpse(element, trace, context) {
  const { picture } = trace, [high, wide] = picture ? [picture.height, picture.width] : trace.grid, scale = VIEW / Math.max(high, wide, 1);
  const width = Math.round(wide * scale), height = Math.round(high * scale), image = enlarged(picture, [0, 0, wide, high], width, height).toDataURL("image/png");
  const place = make("div", {}), patches = make("div", { class: "xa-patches", "data-role": "patches" });
  const player = stepPlayer(trace.steps, context.selection.step, (at) => { context.select({ step: at }, follow); redraw(at); }, { label: "look", pace: 700 });
  let svg = null;
  element.append(player.element, make("div", { class: "xa-beside" }, place, patches));
  if (!picture) element.append(make("p", { class: "xa-faint" }, "the picture itself is not in this trace"));

  function follow({ step }) {
    const at = Math.min(step, trace.steps - 1);
    player.mark(at);
    redraw(at);
  }

  function redraw(at) {
    const boxes = boxesOf(trace, at), [left, top, right, bottom] = boxes[0];
    svg = glimpseSvg(trace, image, width, height, at);
    place.replaceChildren(svg);
    patches.replaceChildren(...boxes.map((box, line) => {
      const part = [box[0] * wide, box[1] * high, (box[2] - box[0]) * wide, (box[3] - box[1]) * high];
      const figure = make("figure", { class: "xa-tile" }, enlarged(picture, part, PATCH, PATCH), make("figcaption", {}, `${number(part[2], 0)} x ${number(part[3], 0)} pixels`));
      figure.style.borderTop = `4px solid ${LINES[line % LINES.length]}`;
      return figure;
    }));
    const said = `look ${at + 1}: across ${number((left + right) / 2, 2)}, down ${number((top + bottom) / 2, 2)}, wide ${number(right - left, 2)}`;
    svg.setAttribute("aria-label", said);
    context.say(said);
  }

  context.listen(follow);
  redraw(Math.min(context.selection.step, trace.steps - 1));
  return { svg: () => svg.cloneNode(true), destroy: player.stop };
}

// windows of all looks, the largest weight's on top and with its number
function looksSvg(trace, image, width, height, step, weights) {
  const svg = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "xa-drawing", role: "img", "data-role": "looks" });
  svg.append(makeSvg("image", { href: image, x: 0, y: 0, width, height }));
  const full = largest(weights) || 1, boxes = boxesOf(trace, step).map((box) => box.map((side) => Math.min(1, Math.max(0, side))));
  const order = boxes.map((_, look) => look).sort((one, other) => weights[one] - weights[other]), most = order[order.length - 1];
  for (const look of order) {
    const frame = boxFrame(boxes[look], width, height, look);
    frame.setAttribute("stroke-opacity", (FAINT + (1 - FAINT) * (weights[look] / full)).toFixed(3));
    frame.append(makeSvg("title", {}, `look ${tokenLabel(trace.source[look])}: ${number(weights[look], 2)}`));
    svg.append(frame);
  }
  svg.append(svgText(tokenLabel(trace.source[most]), { x: boxes[most][0] * width + 8, y: boxes[most][1] * height + 20, "font-size": 16, "font-weight": "bold", fill: LINES[most % LINES.length], stroke: "#fff", "stroke-width": 3, "paint-order": "stroke" }));
  return svg;
}

function drawLooks(element, trace, context) {
  const { picture } = trace, [high, wide] = picture ? [picture.height, picture.width] : [1, 1], scale = VIEW / Math.max(high, wide, 1);
  const width = Math.round(wide * scale), height = Math.round(high * scale), image = enlarged(picture, [0, 0, wide, high], width, height).toDataURL("image/png");
  const place = make("div", {}), patches = make("div", { class: "xa-patches", "data-role": "patches" });
  const step = () => Math.min(context.selection.step, trace.steps - 1);
  const strip = wordStrip(trace.target, step(), (at) => { context.select({ step: at }, follow); redraw(); });
  let svg = null;
  element.append(strip.element, make("div", { class: "xa-beside" }, place, patches));
  if (!picture) element.append(make("p", { class: "xa-faint" }, "the picture itself is not in this trace: its windows are drawn on a square"));

  // another view, or another model beside this one, chose a step
  function follow() {
    strip.mark(step());
    redraw();
  }

  function redraw() {
    const at = step(), weights = trace.weights.row(at, context.head), most = weights.indexOf(largest(weights));
    svg = looksSvg(trace, image, width, height, at, weights);
    place.replaceChildren(svg);
    patches.replaceChildren(...boxesOf(trace, at).map(([left, top, right, bottom], look) => {
      const seen = enlarged(picture, [left * wide, top * high, (right - left) * wide, (bottom - top) * high], PATCH, PATCH);
      const figure = make("figure", { class: "xa-tile" }, seen, make("figcaption", {}, `look ${tokenLabel(trace.source[look])}: ${number(weights[look], 2)}`));
      figure.style.borderTop = `4px solid ${LINES[look % LINES.length]}`;
      return figure;
    }));
    const said = `${tokenLabel(trace.target[at])}: most at look ${tokenLabel(trace.source[most])}, ${number(weights[most], 2)}`;
    svg.setAttribute("aria-label", said);
    context.say(said);
  }

  context.listen(follow);
  redraw();
  return { svg: () => svg.cloneNode(true) };
}

// whether steps are words, and positions are looks with a window each
const looksFirst = (trace) => trace.kind === "picture" && trace.heads > 0 && trace.positions > 0 && trace.arrays.boxes.shape[1] === trace.positions;

export const glimpseView = {
  name: "glimpse",
  title: "Looks",
  byHead: true, // of looks that words attend to; looks themselves have one head
  accepts: (trace) => trace.steps > 0 && Boolean(trace.arrays.boxes) && trace.arrays.boxes.shape[1] > 0 && (looksFirst(trace) || (trace.kind === "glimpse" && (trace.picture !== null || trace.grid.length === 2))),
  draw: (element, trace, context) => (trace.kind === "glimpse" ? drawGlimpse : drawLooks)(element, trace, context),
};
