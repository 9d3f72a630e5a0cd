// The same weights used in three ways, side by side: soft (their mean), sampled (one place, drawn) and argmax (the likeliest place).

import { make, makeSvg, svgText, shown, number } from "../dom.js";
import { largest } from "../decode.js";
import { matrixPane } from "../pane.js";

function meanOf(logprobs) {
  const known = (logprobs || []).filter((one) => one !== null);
  return known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : null;
}

function drawModes(element, trace, context) {
  const all = [{ name: "soft", weights: trace.weights, logprobs: trace.logprobs }, ...trace.modes];
  const row = make("div", { class: "xa-modes" });
  element.append(row);
  let most = 0;
  const panes = all.map(({ name, weights, logprobs }) => {
    const values = weights.plane(Math.min(context.head, weights.heads - 1)), full = largest(values) || 1, mean = meanOf(logprobs);
    most = Math.max(most, full);
    const place = make("section", { class: "xa-mode", "data-mode": name }, make("h3", {}, shown(name)), make("p", { class: "xa-faint" }, mean === null ? "\u00a0" : `log-probability a token ${number(mean)}`));
    row.append(place);
    return matrixPane(place, { values, rows: trace.target, columns: trace.source, full, table: context.map }, {
      point: (step, position) => {
        for (const pane of panes) pane.point(step, position);
        const each = all.map((one) => `${one.name} ${number(one.weights.at(step, Math.min(context.head, one.weights.heads - 1), position))}`);
        context.say(`step ${step + 1}, position ${position + 1}: ${each.join(", ")}`);
      },
    }, { height: 340, label: `weights, ${name}; arrow keys move` });
  });
  context.scale(most);
  return { destroy: () => panes.forEach((pane) => pane.destroy()), svg: () => beside(panes.map((pane) => pane.svg()), all.map((one) => one.name)) };
}

function beside(drawings, names) {
  const widths = drawings.map((one) => Number(one.getAttribute("width"))), height = Math.max(...drawings.map((one) => Number(one.getAttribute("height")))) + 24;
  const width = widths.reduce((sum, one) => sum + one + 12, 0);
  const svg = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "sans-serif", "font-size": "13" }, makeSvg("rect", { width, height, fill: "#fff" }));
  let x = 0;
  drawings.forEach((one, at) => {
    one.setAttribute("x", x);
    one.setAttribute("y", 24);
    svg.append(svgText(shown(names[at]), { x: x + 6, y: 16 }), one);
    x += widths[at] + 12;
  });
  return svg;
}

export const modesView = {
  name: "modes",
  title: "Soft, sampled, argmax",
  byHead: true,
  accepts: (trace) => trace.modes.length > 0 && trace.positions > 0,
  draw: drawModes,
};
