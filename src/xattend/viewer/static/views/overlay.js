// Where each word looked in a picture (Xu et al. 2015, fig. 3): the picture is bright where the weights of the chosen word are.

import { make, makeSvg, svgText, tokenLabel, number } from "../dom.js";
import { largest } from "../decode.js";
import { wordStrip } from "../strip.js";

const LONGER = 420; // pixels of the picture's longer side
export const DIM = 0.78; // what is taken from the picture where nothing was looked at

// weights on their grid as darkness: a small canvas, which is enlarged smoothly
export function darkness(weights, height, width, full) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const pen = canvas.getContext("2d"), pixels = pen.createImageData(width, height);
  for (let i = 0; i < width * height; i += 1) pixels.data[4 * i + 3] = Math.round(255 * DIM * (1 - Math.min(1, weights[i] / (full || 1))));
  pen.putImageData(pixels, 0, 0);
  return canvas;
}

// `source` is the part of the picture to draw: [x, y, width, height]
export function lit(canvas, picture, source, weights, grid, full) {
  const pen = canvas.getContext("2d");
  pen.imageSmoothingEnabled = true;
  pen.imageSmoothingQuality = "high";
  pen.drawImage(picture, ...source, 0, 0, canvas.width, canvas.height);
  if (!weights) return;
  const [height, width] = grid, dark = darkness(weights, height, width, full);
  // the grid's cells are as large as the picture's share of them, so that the middle of a weight lies on the middle of its place
  pen.drawImage(dark, 0, 0, width, height, 0, 0, canvas.width, canvas.height);
}

function drawOverlay(element, trace, context) {
  const { picture, grid } = trace, [high, wide] = grid;
  const scale = LONGER / Math.max(picture.width, picture.height);
  const canvas = make("canvas", { class: "xa-picture", width: Math.round(picture.width * scale), height: Math.round(picture.height * scale), role: "img", "data-role": "picture" });
  const plain = make("input", { type: "checkbox", "aria-label": "show the picture alone" });
  const step = () => Math.min(context.selection.step, trace.steps - 1);
  const strip = wordStrip(trace.target, step(), (at) => { context.select({ step: at }, follow); redraw(); });
  element.append(strip.element, canvas, make("div", { class: "xa-tools" }, make("label", {}, plain, " the picture alone")));

  // another view, or another model beside this one, chose a step
  function follow() {
    strip.mark(step());
    redraw();
  }

  function redraw() {
    const weights = trace.weights.row(step(), context.head), full = largest(weights);
    lit(canvas, picture, [0, 0, picture.width, picture.height], plain.checked ? null : weights, [high, wide], full);
    canvas.setAttribute("aria-label", `the picture, bright where "${tokenLabel(trace.target[step()])}" looked; largest weight ${number(full, 2)}`);
    context.say(`${tokenLabel(trace.target[step()])}: brightest = ${number(full)}`);
  }

  plain.addEventListener("change", redraw);
  context.listen(follow);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const y = Math.floor(((event.clientY - box.top) / box.height) * high), x = Math.floor(((event.clientX - box.left) / box.width) * wide);
    if (y >= 0 && x >= 0 && y < high && x < wide) context.read(step(), y * wide + x);
  });
  redraw();
  return { svg: () => overlaySvg(trace, context) };
}

// every word's picture, in rows, as a strip to keep
function overlaySvg(trace, context) {
  const { picture, grid } = trace, side = 160, scale = side / Math.max(picture.width, picture.height);
  const width = Math.round(picture.width * scale), height = Math.round(picture.height * scale), across = Math.min(6, trace.steps);
  const total = { width: across * (width + 6) + 6, height: Math.ceil(trace.steps / across) * (height + 26) + 6 };
  const svg = makeSvg("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, "font-family": "sans-serif", "font-size": "13" }, makeSvg("rect", { ...total, fill: "#fff" }));
  for (let step = 0; step < trace.steps; step += 1) {
    const canvas = document.createElement("canvas"), weights = trace.weights.row(step, context.head), full = largest(weights);
    canvas.width = width;
    canvas.height = height;
    lit(canvas, picture, [0, 0, picture.width, picture.height], weights, grid, full);
    const x = 6 + (step % across) * (width + 6), y = 6 + Math.floor(step / across) * (height + 26);
    svg.append(makeSvg("image", { href: canvas.toDataURL("image/png"), x, y: y + 20, width, height }), svgText(`${tokenLabel(trace.target[step])}  ${number(full, 2)}`, { x: x + 2, y: y + 15 }));
  }
  return svg;
}

export const overlayView = {
  name: "overlay",
  title: "Picture",
  byHead: true,
  accepts: (trace) => trace.picture !== null && trace.kind === "picture" && trace.heads > 0 && trace.steps > 0 && trace.grid.length === 2 && trace.grid[0] * trace.grid[1] === trace.positions,
  draw: drawOverlay,
};
