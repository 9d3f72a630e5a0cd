// A picture that is painted step by step (Gregor et al. 2015, fig. 5): what is looked at with the window that reads, the canvas with the one that writes.

import { make, makeSvg, svgText, shown } from "../dom.js";
import { LINES } from "../colour.js";
import { stepPlayer } from "../player.js";
import { enlarged, boxesOf, boxFrame } from "./glimpse.js";

const PAINTED = 340; // pixels of the canvas's longer side
const LINE_OF = { read: 2, write: 1 }; // which of the lines draws a window of this name

function painting(href, width, height, boxes) {
  const svg = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "xa-drawing", role: "img" }, makeSvg("image", { href, x: 0, y: 0, width, height }));
  // a window that is wider than the picture is seen at its edge
  for (const { box, line } of boxes) svg.append(boxFrame(box.map((side) => Math.min(1, Math.max(0, side))), width, height, line));
  return svg;
}

function drawCanvas(element, trace, context) {
  const { media, picture, seen } = trace, scale = PAINTED / Math.max(media.width, media.height), frames = media.frames || 1;
  const width = Math.round(media.width * scale), height = Math.round(media.height * scale);
  const before = seen ? enlarged(seen, [0, 0, seen.width, seen.height], width, height).toDataURL("image/png") : null;
  const place = make("div", { class: "xa-beside", "data-role": "canvas" });
  const player = stepPlayer(frames, context.chosen ? context.selection.step : frames - 1, (at) => { context.select({ step: at }, follow); redraw(at); }, { label: "step", pace: 300 });
  let now = 0;
  element.append(player.element, place);
  if (trace.arrays.boxes) {
    element.append(make("div", { class: "xa-keys" }, ...trace.names.map((name) => {
      const key = make("span", { class: "xa-key" }, `\u25a1 window that ${shown(name)}s`);
      key.style.color = LINES[LINE_OF[name] ?? 0];
      return key;
    })));
  }

  // windows of a step by their names: those that write lie on the canvas, the others on what is looked at if it is shown
  function windows(at, written) {
    if (!trace.arrays.boxes || at >= trace.arrays.boxes.shape[0]) return [];
    const named = boxesOf(trace, at).map((box, number_) => ({ box, name: trace.names[number_] || "", line: LINE_OF[trace.names[number_]] ?? number_ }));
    return named.filter(({ name }) => (before ? (name === "write") === written : written));
  }

  function parts(at) {
    const frame = enlarged(picture, [0, at * media.height, media.width, media.height], width, height);
    const found = [{ title: `canvas after step ${at + 1}`, svg: painting(frame.toDataURL("image/png"), width, height, windows(at, true)) }];
    if (before) found.unshift({ title: "what is looked at", svg: painting(before, width, height, windows(at, false)) });
    return found;
  }

  function follow({ step }) {
    const at = Math.min(step, frames - 1);
    player.mark(at);
    redraw(at);
  }

  function redraw(at) {
    now = at;
    place.replaceChildren(...parts(at).map(({ title, svg }) => {
      svg.setAttribute("aria-label", title);
      return make("figure", { class: "xa-tile" }, make("figcaption", {}, title), svg);
    }));
    context.say(`step ${at + 1} of ${frames}`);
  }

  context.listen(follow);
  redraw(context.chosen ? Math.min(context.selection.step, frames - 1) : frames - 1);
  return { svg: () => canvasSvg(parts(now), width, height), destroy: player.stop };
}

function canvasSvg(parts, width, height) {
  const total = { width: parts.length * (width + 10) + 10, height: height + 34 };
  const svg = makeSvg("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, "font-family": "sans-serif", "font-size": "13" }, makeSvg("rect", { ...total, fill: "#fff" }));
  parts.forEach((part, at) => {
    part.svg.setAttribute("x", 10 + at * (width + 10));
    part.svg.setAttribute("y", 24);
    svg.append(svgText(part.title, { x: 10 + at * (width + 10), y: 16 }), part.svg);
  });
  return svg;
}

export const canvasView = {
  name: "canvas",
  title: "Canvas",
  byHead: false,
  accepts: (trace) => trace.kind === "canvas" && trace.picture !== null,
  draw: drawCanvas,
};
