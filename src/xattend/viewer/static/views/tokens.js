// What was written, each token shaded by how likely it was, and the other outputs that search found.

import { make, makeSvg, isolated, svgText, shown, tokenLabel, textWidth, number } from "../dom.js";
import { colourOf, inkOn } from "../colour.js";

const CHIPS = 2000; // tokens of an output that are drawn
const LISTED = 50; // outputs that are listed
const BETWEEN_WORDS = ["glimpse", "machine"]; // kinds whose steps are no words of the output

function chips(tokens, logprobs, context, choose) {
  const found = tokens.slice(0, CHIPS).map((token, at) => {
    const chance = logprobs[at] === null || logprobs[at] === undefined ? null : Math.exp(logprobs[at]);
    const said = chance === null ? "probability unknown" : `probability ${number(chance)}`;
    const chip = isolated(choose ? "button" : "span", { class: "xa-chip", title: said, ...(choose ? { type: "button", "aria-label": `${tokenLabel(token, 40)}: ${said}`, click: () => choose(at), pointerenter: () => context.say(`${tokenLabel(token, 40)}: ${said}`) } : {}) }, tokenLabel(token, 40));
    if (chance !== null) Object.assign(chip.style, { backgroundColor: colourOf(context.map, chance), color: inkOn(context.map, chance) });
    return chip;
  });
  if (tokens.length > CHIPS) found.push(make("span", { class: "xa-faint" }, `and ${tokens.length - CHIPS} more tokens`));
  return found;
}

function nbestTable(trace, context) {
  const rows = trace.nbest.slice(0, LISTED).map((one, at) => make("tr", {},
    make("td", { class: "xa-number" }, String(at + 1)), make("td", { class: "xa-number" }, number(one.score)), make("td", { class: "xa-number" }, number(one.logprob)),
    make("td", {}, isolated("div", {}, shown(one.text)), make("div", { class: "xa-chips" }, ...chips(one.tokens || [], one.logprobs || [], context, null)))));
  const more = trace.nbest.length - rows.length;
  return make("table", { class: "xa-table", "data-role": "nbest" }, make("caption", {}, `${trace.nbest.length} outputs of the search, best first${more > 0 ? `; ${more} are not listed` : ""}`),
    make("thead", {}, make("tr", {}, ...["", "score", "log-probability", "output"].map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, ...rows));
}

// what was written: the steps, or the best output's tokens where steps are looks or the steps of a machine
function outputOf(trace) {
  const best = trace.nbest[0];
  return BETWEEN_WORDS.includes(trace.kind) && best && (best.tokens || []).length ? { tokens: best.tokens, logprobs: best.logprobs || [], own: false } : { tokens: trace.target, logprobs: trace.logprobs, own: true };
}

function drawTokens(element, trace, context) {
  const choose = (step) => {
    context.select({ step });
    if (context.edit && context.edit.force) context.say(`step ${step + 1} is chosen: "keep up to here" forces the output to begin so`);
  };
  const { tokens, logprobs, own } = outputOf(trace);
  element.append(make("div", { class: "xa-chips xa-output", "data-role": "chips" }, ...chips(tokens, logprobs, context, own ? choose : null)));
  if (context.edit && context.edit.force) {
    element.append(make("button", { type: "button", class: "xa-button", click: () => context.edit.force(trace.target.slice(0, context.selection.step + 1)) }, "keep up to here"));
  }
  if (trace.nbest.length) element.append(nbestTable(trace, context));
  context.scale(1, "probability");
  return { svg: () => tokensSvg(trace, context) };
}

function tokensSvg(trace, context) {
  const width = 900, boxes = [];
  let x = 8, y = 8;
  const { tokens, logprobs } = outputOf(trace);
  tokens.slice(0, CHIPS).forEach((token, at) => {
    const label = tokenLabel(token, 40), wide = textWidth(label) + 12, chance = Math.exp(logprobs[at] ?? 0);
    if (x + wide > width - 8) { x = 8; y += 28; }
    boxes.push(makeSvg("rect", { x, y, width: wide, height: 24, rx: 4, fill: colourOf(context.map, chance) }), svgText(label, { x: x + wide / 2, y: y + 17, "text-anchor": "middle", fill: inkOn(context.map, chance) }));
    x += wide + 4;
  });
  const height = y + 36;
  return makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "sans-serif", "font-size": "13" }, makeSvg("rect", { width, height, fill: context.dark ? "#14161a" : "#fff" }), ...boxes);
}

export const tokensView = {
  name: "tokens",
  title: "Probabilities",
  byHead: false,
  accepts: (trace) => trace.steps > 0 && !["strokes", "canvas"].includes(trace.kind), // points of a pen and canvases are no tokens
  draw: drawTokens,
};
