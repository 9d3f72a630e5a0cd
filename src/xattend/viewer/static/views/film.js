// Where each word looked in a film (Yao et al. 2015, fig. 4): its frames in a row, bright as their weights, in time and, if it has any, in space.

import { make, makeSvg, svgText, tokenLabel, number } from "../dom.js";
import { largest } from "../decode.js";
import { wordStrip } from "../strip.js";
import { lit } from "./overlay.js";

const FRAME = 108; // pixels of a frame's longer side
const FRAMES = 200; // drawn at most

// weights on a grid [frames] or [frames, h, w]: those of one frame, on their places
function ofFrame(weights, grid, frame) {
  const places = grid.length === 3 ? grid[1] * grid[2] : 1;
  return weights.subarray(frame * places, (frame + 1) * places);
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function drawFilm(element, trace, context) {
  const { picture, grid, media } = trace, frames = Math.min(media.frames, FRAMES), inSpace = grid.length === 3;
  const scale = FRAME / Math.max(media.width, media.height), width = Math.round(media.width * scale), height = Math.round(media.height * scale);
  const step = () => Math.min(context.selection.step, trace.steps - 1);
  const tiles = Array.from({ length: frames }, (_, frame) => {
    const canvas = make("canvas", { class: "xa-frame", width, height, "aria-hidden": "true" }), bar = make("div", { class: "xa-bar-fill" }), said = make("span", { class: "xa-faint" });
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const places = inSpace ? grid[1] * grid[2] : 1;
      const y = inSpace ? Math.floor(((event.clientY - box.top) / box.height) * grid[1]) : 0, x = inSpace ? Math.floor(((event.clientX - box.left) / box.width) * grid[2]) : 0;
      const place = Math.min(places - 1, Math.max(0, inSpace ? y * grid[2] + x : 0));
      context.read(step(), frame * places + place);
    });
    return { canvas, bar, said, element: make("figure", { class: "xa-tile" }, canvas, make("div", { class: "xa-bar-track" }, bar), make("figcaption", {}, `${frame + 1} `, said)) };
  });
  const strip = wordStrip(trace.target, step(), (at) => { context.select({ step: at }, follow); redraw(); });
  const row = make("div", { class: "xa-film", role: "img", tabindex: "0", "data-role": "film" }, ...tiles.map((tile) => tile.element));
  element.append(strip.element, row);
  if (frames < media.frames) element.append(make("p", { class: "xa-faint" }, `the first ${frames} of ${media.frames} frames are drawn`));

  // another view, or another model beside this one, chose a step
  function follow() {
    strip.mark(step());
    redraw();
  }

  function redraw() {
    const weights = trace.weights.row(step(), context.head), full = largest(weights);
    const shares = tiles.map((_, frame) => sum(ofFrame(weights, grid, frame))), most = Math.max(...shares) || 1;
    tiles.forEach(({ canvas, bar, said }, frame) => {
      lit(canvas, picture, [0, frame * media.height, media.width, media.height], ofFrame(weights, grid, frame), inSpace ? [grid[1], grid[2]] : [1, 1], full);
      bar.style.width = `${(100 * shares[frame]) / most}%`;
      said.textContent = number(shares[frame], 2);
    });
    const best = shares.indexOf(Math.max(...shares));
    row.setAttribute("aria-label", `frames, bright where "${tokenLabel(trace.target[step()])}" looked: most at frame ${best + 1}, ${number(shares[best], 2)}`);
    context.say(`${tokenLabel(trace.target[step()])}: brightest = ${number(full)}`);
  }

  context.listen(follow);
  redraw();
  return { svg: () => filmSvg(trace, step(), tiles, width, height) };
}

function filmSvg(trace, step, tiles, width, height) {
  const total = { width: tiles.length * (width + 6) + 6, height: height + 50 };
  const svg = makeSvg("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, "font-family": "sans-serif", "font-size": "13" }, makeSvg("rect", { ...total, fill: "#fff" }), svgText(tokenLabel(trace.target[step]), { x: 6, y: 16 }));
  tiles.forEach(({ canvas, said }, at) => {
    const x = 6 + at * (width + 6);
    svg.append(makeSvg("image", { href: canvas.toDataURL("image/png"), x, y: 24, width, height }), svgText(`${at + 1}: ${said.textContent}`, { x, y: height + 42, "font-size": "11" }));
  });
  return svg;
}

export const filmView = {
  name: "film",
  title: "Film",
  byHead: true,
  accepts: (trace) => trace.picture !== null && trace.kind === "film" && trace.heads > 0 && trace.steps > 0 && trace.grid[0] === trace.media.frames && [1, 3].includes(trace.grid.length),
  draw: drawFilm,
};
