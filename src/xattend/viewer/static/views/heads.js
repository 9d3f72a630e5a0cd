// Every head at a glance, layers one below the other. A click shows one in the matrix.

import { make, makeSvg, svgText, shown } from "../dom.js";
import { largest } from "../decode.js";
import { thumbnail } from "../pane.js";

const SIDE = 112;

// heads by their layer, or all in one row
function byLayer(names) {
  const rows = new Map();
  names.forEach((name, head) => {
    const layer = /^(.*), head \d+$/.exec(name);
    const key = layer ? layer[1] : "";
    rows.set(key, [...(rows.get(key) || []), head]);
  });
  return rows;
}

function drawHeads(element, trace, context) {
  const tiles = [];
  let most = 0;
  for (const [layer, heads] of byLayer(trace.names)) {
    const row = make("div", { class: "xa-heads" });
    for (const head of heads) {
      const values = trace.weights.plane(head), full = largest(values) || 1;
      const canvas = thumbnail(values, trace.steps, trace.positions, context.map, full, SIDE);
      canvas.className = "xa-thumb";
      canvas.setAttribute("aria-hidden", "true");
      const name = shown(trace.names[head]);
      most = Math.max(most, full);
      tiles.push({ canvas, name, layer });
      row.append(make("button", { type: "button", class: "xa-head", "data-head": head, "aria-label": `${name}, largest weight ${full.toFixed(2)}: show in the matrix`,
        click: () => { context.setHead(head); context.show("matrix"); } }, canvas, make("span", {}, layer ? name.slice(layer.length + 2) : name)));
    }
    element.append(make("div", { class: "xa-layer" }, layer ? make("span", { class: "xa-name" }, layer) : null, row));
  }
  element.append(make("p", { class: "xa-faint" }, "The strongest colour of a head is its own largest weight. Click one to see it in the matrix."));
  context.scale(most);
  return { svg: () => headsSvg(tiles, context) };
}

function headsSvg(tiles, context) {
  const across = Math.min(8, tiles.length), step = SIDE + 12, tall = SIDE + 26;
  const width = across * step + 12, height = Math.ceil(tiles.length / across) * tall + 12;
  const svg = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "sans-serif", "font-size": "11" }, makeSvg("rect", { width, height, fill: context.dark ? "#14161a" : "#fff" }));
  tiles.forEach(({ canvas, name }, at) => {
    const x = 12 + (at % across) * step, y = 12 + Math.floor(at / across) * tall;
    svg.append(makeSvg("image", { href: canvas.toDataURL("image/png"), x, y, width: SIDE, height: SIDE, preserveAspectRatio: "none", "image-rendering": "pixelated" }));
    svg.append(svgText(name, { x, y: y + SIDE + 14, fill: context.dark ? "#e8e8e8" : "#16181d" }));
  });
  return svg;
}

export const headsView = {
  name: "heads",
  title: "Heads",
  byHead: false,
  accepts: (trace) => trace.heads > 1 && trace.positions > 0 && trace.steps > 0 && (!trace.arrays.boxes || trace.kind === "picture"),
  draw: drawHeads,
};
