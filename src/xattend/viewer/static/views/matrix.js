// The alignment matrix (Bahdanau et al. 2015, fig. 3): a row a word written, a column a position looked at.

import { make } from "../dom.js";
import { largest } from "../decode.js";
import { matrixPane } from "../pane.js";

function drawMatrix(element, trace, context) {
  const values = trace.weights.plane(context.head), full = largest(values) || 1;
  const zooms = make("div", { class: "xa-tools" });
  element.append(zooms);
  const pane = matrixPane(element, { values, rows: trace.target, columns: trace.source, full, table: context.map }, {
    point: (step, position) => context.read(step, position),
    choose: (step, position) => context.select({ step, position }),
  }, { label: "alignment matrix, a row a word written, a column a position of the source; arrow keys move, plus and minus zoom" });
  const button = (text, label, act) => make("button", { type: "button", class: "xa-button", "aria-label": label, click: act }, text);
  zooms.append(button("\u2212", "zoom out", pane.zoomOut), button("1:1", "zoom back", pane.zoomReset), button("+", "zoom in", pane.zoomIn));
  if (trace.heads > 1) zooms.append(make("span", { class: "xa-faint" }, context.headName()));
  context.scale(full);
  if (context.chosen) pane.point(context.selection.step, context.selection.position);
  return pane;
}

export const matrixView = {
  name: "matrix",
  title: "Matrix",
  byHead: true,
  accepts: (trace) => trace.heads > 0 && trace.positions > 0 && trace.steps > 0 && (!trace.arrays.boxes || trace.kind === "picture"), // windows lie on pixels, not on positions
  draw: drawMatrix,
};
