// The beam's tree: every candidate that search looked at, a column a step, best above; what was dropped, and why; greedy and best paths marked.

import { make, makeSvg, svgText, tokenLabel, number } from "../dom.js";
import { colourOf } from "../colour.js";

const NODES = 600;
const WIDE = 96;
const HIGH = 26;

// at most so many nodes: those on the best and the greedy path first, then those that were kept, then the rest by rank
function chosenNodes(nodes, withPruned) {
  const ancestors = new Set(), byId = new Map(nodes.map((node) => [node.id, node]));
  for (const node of nodes) {
    if (!node.best && !node.greedy) continue;
    for (let at = node; at && !ancestors.has(at.id); at = byId.get(at.parent)) ancestors.add(at.id);
  }
  const wanted = nodes.filter((node) => withPruned || node.kept || ancestors.has(node.id) || node.why === "finished");
  const rank = (node) => (ancestors.has(node.id) ? 0 : node.kept ? 1 : 2);
  const kept = wanted.toSorted((a, b) => rank(a) - rank(b) || a.step - b.step || a.rank - b.rank).slice(0, NODES);
  const ids = new Set(kept.map((node) => node.id));
  return { nodes: nodes.filter((node) => ids.has(node.id)), left: wanted.length - kept.length };
}

function layOut(nodes) {
  const columns = new Map();
  for (const node of nodes.toSorted((a, b) => a.step - b.step || a.rank - b.rank)) columns.set(node.step, [...(columns.get(node.step) || []), node]);
  const spots = new Map(), order = [...columns.keys()];
  order.forEach((step, column) => columns.get(step).forEach((node, row) => spots.set(node.id, { x: 12 + column * WIDE, y: 24 + row * HIGH })));
  return { spots, width: 24 + order.length * WIDE, height: 48 + Math.max(1, ...[...columns.values()].map((column) => column.length)) * HIGH };
}

function described(node) {
  const fate = node.best ? "on the best path" : node.kept ? "kept" : node.why || "dropped";
  return `${tokenLabel(node.token, 40)}: probability ${number(Math.exp(node.logprob))}, total ${number(node.total)}${node.score === null || node.score === undefined ? "" : `, score ${number(node.score)}`}; ${fate}${node.why && node.kept ? `, ${node.why}` : ""}${node.greedy ? ", greedy" : ""}`;
}

function drawTree(element, trace, context) {
  const state = { pruned: true };
  const box = make("input", { type: "checkbox", checked: true, "aria-label": "show what was dropped" });
  const holder = make("div", { class: "xa-wide", tabindex: "0", "aria-label": "the tree of candidates; scroll with the arrow keys" }), note = make("p", { class: "xa-faint", "data-role": "note" });
  box.addEventListener("change", () => { state.pruned = box.checked; redraw(); });
  element.append(make("div", { class: "xa-tools" }, make("label", {}, box, " what was dropped"),
    make("span", { class: "xa-faint" }, "thick line: best path; dotted underline: greedy path; dashed box: dropped; double box: finished; a box's colour: probability")), holder, note);
  let svg = null;

  function redraw() {
    const found = chosenNodes(trace.tree.nodes, state.pruned), { spots, width, height } = layOut(found.nodes);
    const ink = context.dark ? "#e8e8e8" : "#16181d", faint = context.dark ? "#767c88" : "#8a909c", accent = context.dark ? "#ffb454" : "#b34700";
    svg = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `a tree of ${found.nodes.length} candidates`, "font-family": "sans-serif", "font-size": "12" });
    svg.append(makeSvg("rect", { width, height, fill: context.dark ? "#14161a" : "#fff" }));
    const lines = makeSvg("g", {}), boxes = makeSvg("g", {});
    for (const node of found.nodes) {
      const { x, y } = spots.get(node.id), from = spots.get(node.parent);
      if (from) {
        const start = from.x + WIDE - 20, middle = (start + x) / 2;
        lines.append(makeSvg("path", { d: `M${start},${from.y} C${middle},${from.y} ${middle},${y} ${x},${y}`, fill: "none", stroke: node.best ? accent : faint, "stroke-width": node.best ? 3.5 : node.kept ? 1.5 : 0.8, "stroke-dasharray": node.kept || node.best ? "none" : "3 3" }));
      }
      const group = makeSvg("g", { class: "xa-node", "data-id": node.id, "data-kept": String(node.kept), "data-best": String(Boolean(node.best)), "data-greedy": String(Boolean(node.greedy)) });
      const gone = !node.kept && !node.best && node.why !== "finished";
      group.append(makeSvg("title", {}, described(node)));
      group.append(makeSvg("rect", { x, y: y - 10, width: WIDE - 20, height: 20, rx: 4, fill: context.dark ? "#1f232b" : "#f3f4f7", stroke: node.best ? accent : gone ? faint : ink, "stroke-width": node.best ? 2.5 : 1, "stroke-dasharray": gone ? "3 3" : "none" }));
      group.append(makeSvg("rect", { x: x + 3, y: y - 7, width: 8, height: 14, fill: colourOf(context.map, Math.exp(node.logprob)) }));
      if (node.why === "finished") group.append(makeSvg("rect", { x: x - 3, y: y - 13, width: WIDE - 14, height: 26, rx: 6, fill: "none", stroke: ink }));
      if (node.greedy) group.append(makeSvg("line", { x1: x + 14, x2: x + WIDE - 24, y1: y + 8, y2: y + 8, stroke: accent, "stroke-width": 2, "stroke-dasharray": "2 2" }));
      group.append(svgText(tokenLabel(node.token, 9), { x: x + (WIDE - 8) / 2, y: y + 4, "text-anchor": "middle", fill: gone ? faint : ink }));
      group.addEventListener("pointerenter", () => context.say(described(node)));
      boxes.append(group);
    }
    svg.append(lines, boxes);
    holder.replaceChildren(svg);
    note.textContent = found.left ? `${found.nodes.length} candidates are drawn, ${found.left} of low rank are not` : "";
  }

  redraw();
  context.scale(1, "probability");
  return { svg: () => svg.cloneNode(true) };
}

export const treeView = {
  name: "tree",
  title: "Beam tree",
  byHead: false,
  accepts: (trace) => trace.tree !== null && Array.isArray(trace.tree.nodes) && trace.tree.nodes.length > 0,
  draw: drawTree,
};
