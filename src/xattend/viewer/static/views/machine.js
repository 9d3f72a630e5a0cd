// A memory that is read and written (Graves et al. 2014, fig. 6): where each head was, slot by slot over time, how full slots are, and what they hold.

import { make, makeSvg, svgText, shown, tokenLabel, number } from "../dom.js";
import { turned, heatMap, signedMap, farthest, cellUnder } from "../heat.js";
import { stepPlayer } from "../player.js";

const OVER_TIME = 820; // pixels of the axis of time, at most
const STEP = 14; // of a step, at most
const SLOTS = 220; // of a panel's height, at most

// a panel's numbers, slots x steps, and its name
function panelsOf(trace) {
  const found = trace.names.map((name, head) => ({ name, values: turned(trace.weights.plane(head), trace.steps, trace.positions) }));
  const { usage } = trace.arrays;
  if (usage) found.push({ name: "usage", values: turned(usage.values, usage.shape[0], usage.shape[1]) });
  return found;
}

function drawMachine(element, trace, context) {
  const { steps, positions: slots } = trace, { contents } = trace.arrays;
  const width = Math.max(1, Math.round(Math.min(OVER_TIME, steps * STEP))), height = Math.max(1, Math.round(Math.max(Math.min(SLOTS, slots * 12), Math.min(slots, 2 * SLOTS))));
  const panels = panelsOf(trace).map((panel) => ({ ...panel, canvas: make("canvas", { class: "xa-heat", width, height, role: "img", "data-panel": panel.name, "aria-label": `${shown(panel.name)}: a row a slot, a column a step` }) }));
  const held = contents ? make("canvas", { class: "xa-heat", width: Math.min(420, Math.max(60, contents.shape[2] * 16)), height, role: "img", "data-role": "contents" }) : null;
  const caption = make("figcaption", {}), full = contents ? farthest(contents.values) : 0;
  const token = (at) => tokenLabel(trace.target[at], 20);
  const player = stepPlayer(steps, context.selection.step, choose, { label: "step", pace: 250, name: (at) => `step ${at + 1} of ${steps}: ${token(at)}` });
  const columns = panels.map((panel) => make("figure", { class: "xa-tile" }, make("figcaption", {}, shown(panel.name)), panel.canvas));
  element.append(player.element, make("div", { class: "xa-beside" }, make("div", {}, ...columns), held ? make("figure", { class: "xa-tile" }, caption, held) : null));
  element.append(make("p", { class: "xa-faint" }, `a row a slot, time goes to the right; steps that answer are named with >${held ? `; what a slot holds: blue below 0, orange above, strongest ${number(full, 2)}` : ""}`));
  let now = 0;

  function choose(at) {
    context.select({ step: at }, follow);
    redraw(at);
  }

  function follow({ step }) {
    const at = Math.max(0, Math.min(step, steps - 1));
    player.mark(at);
    redraw(at);
  }

  function redraw(at) {
    now = at;
    for (const { canvas, values } of panels) {
      heatMap(canvas, values, slots, steps, context.map, 1);
      const pen_ = canvas.getContext("2d");
      pen_.strokeStyle = context.dark ? "#ff6fae" : "#d1005b";
      pen_.strokeRect((at / steps) * width + 0.5, 0.5, Math.max(2, width / steps) - 1, height - 1);
    }
    if (!held) return;
    const [kept, rows, wide] = contents.shape, known = at < kept;
    caption.textContent = known ? `memory after step ${at + 1}` : `what the memory held after step ${at + 1} was left out`;
    signedMap(held, known ? contents.values.subarray(at * rows * wide, (at + 1) * rows * wide) : new Float32Array(rows * wide), rows, wide, context.dark, full);
    held.setAttribute("aria-label", `${caption.textContent}: a row a slot, a column a number`);
  }

  for (const { canvas, name, values } of panels) {
    canvas.addEventListener("pointermove", (event) => {
      const { row, column } = cellUnder(event, canvas, slots, steps);
      context.say(`${shown(name)}, slot ${row}, step ${column + 1} (${token(column)}): ${number(values[row * steps + column])}`);
    });
    canvas.addEventListener("click", (event) => { player.stop(); follow({ step: cellUnder(event, canvas, 1, steps).column }); });
  }
  if (held) held.addEventListener("pointermove", (event) => {
    const { row, column } = cellUnder(event, held, contents.shape[1], contents.shape[2]);
    if (now < contents.shape[0]) context.say(`slot ${row}, number ${column + 1}: ${number(contents.values[(now * contents.shape[1] + row) * contents.shape[2] + column])}`);
  });
  context.listen(follow);
  context.scale(1);
  redraw(Math.max(0, Math.min(context.selection.step, steps - 1)));
  return { svg: () => machineSvg(panels, held, caption.textContent, width, height, context), destroy: player.stop };
}

function machineSvg(panels, held, said, width, height, context) {
  const total = { width: width + 30 + (held ? held.width + 10 : 0), height: panels.length * (height + 26) + 10 }, ink = context.dark ? "#e8e8e8" : "#16181d";
  const svg = makeSvg("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, "font-family": "sans-serif", "font-size": "12" }, makeSvg("rect", { ...total, fill: context.dark ? "#14161a" : "#fff" }));
  const put = (canvas, name, x, y) => svg.append(svgText(shown(name), { x, y: y + 14, fill: ink }), makeSvg("image", { href: canvas.toDataURL("image/png"), x, y: y + 20, width: canvas.width, height: canvas.height }));
  panels.forEach(({ canvas, name }, at) => put(canvas, name, 10, at * (height + 26)));
  if (held) put(held, said, width + 20, 0);
  return svg;
}

export const machineView = {
  name: "machine",
  title: "Memory",
  byHead: false,
  accepts: (trace) => trace.kind === "machine" && trace.heads > 0 && trace.steps > 0 && trace.positions > 0,
  draw: drawMachine,
};
