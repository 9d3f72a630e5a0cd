// Links between two lines of words: those above a threshold, the strongest first, never more than can be looked at.

import { make, makeSvg, svgText, tokenLabel, textWidth, number } from "../dom.js";
import { colourOf } from "../colour.js";
import { largest } from "../decode.js";

const AT_ONCE = 120; // words of a line
const LINKS = 600;
const TALL = 220;

function places(tokens, from) {
  let x = 10;
  return tokens.slice(from, from + AT_ONCE).map((token, at) => {
    const label = tokenLabel(token, 16), width = Math.max(14, textWidth(label) + 12);
    x += width;
    return { label, at: from + at, middle: x - width / 2, end: x };
  });
}

function linksAbove(trace, context, source, target, threshold) {
  const found = [];
  for (const word of target) {
    for (const place of source) {
      const weight = trace.weights.at(word.at, context.head, place.at);
      if (weight >= threshold) found.push({ word, place, weight });
    }
  }
  found.sort((a, b) => b.weight - a.weight);
  return { shown: found.slice(0, LINKS), left: Math.max(0, found.length - LINKS) };
}

function drawArcs(element, trace, context) {
  const full = largest(trace.weights.plane(context.head)) || 1;
  const state = { threshold: 0.1, source: 0, target: 0 };
  const holder = make("div", { class: "xa-wide" }), note = make("p", { class: "xa-faint", "data-role": "note" }), shownValue = make("span", {}, "0.10");
  const slider = (label, most, value, act, step = 1) => make("input", { type: "range", min: "0", max: String(most), step: String(step), value: String(value), "aria-label": label, input: (event) => { act(Number(event.target.value)); redraw(); } });
  const tools = make("div", { class: "xa-tools" }, make("label", {}, "links from ", slider("smallest weight that is drawn", 1, 0.1, (value) => { state.threshold = value; }, 0.01)), shownValue);
  if (trace.positions > AT_ONCE) tools.append(make("label", {}, "source from ", slider("first source word", trace.positions - AT_ONCE, 0, (value) => { state.source = value; })));
  if (trace.steps > AT_ONCE) tools.append(make("label", {}, "output from ", slider("first word of the output", trace.steps - AT_ONCE, 0, (value) => { state.target = value; })));
  element.append(tools, holder, note);
  let svg = null;

  function redraw() {
    shownValue.textContent = number(state.threshold, 2);
    const source = places(trace.source, state.source), target = places(trace.target, state.target);
    const width = Math.ceil(Math.max(source.at(-1).end, target.at(-1).end) + 10);
    const links = linksAbove(trace, context, source, target, state.threshold);
    svg = makeSvg("svg", { width, height: TALL, viewBox: `0 0 ${width} ${TALL}`, role: "img", "aria-label": `${links.shown.length} links between source, above, and output, below`, "font-family": "sans-serif", "font-size": "13" });
    svg.append(makeSvg("rect", { width, height: TALL, class: "xa-paper", fill: context.dark ? "#14161a" : "#fff" }));
    const ink = context.dark ? "#e8e8e8" : "#16181d";
    for (const { word, place, weight } of links.shown.toReversed()) {
      const path = makeSvg("path", {
        d: `M${place.middle},34 C${place.middle},${TALL / 2} ${word.middle},${TALL / 2} ${word.middle},${TALL - 34}`, fill: "none",
        stroke: colourOf(context.map, 0.25 + (0.75 * weight) / full), "stroke-width": 1 + 5 * (weight / full), class: "xa-link", "data-step": word.at, "data-position": place.at,
      });
      path.addEventListener("pointerenter", () => context.read(word.at, place.at));
      svg.append(path);
    }
    for (const [words, y] of [[source, 24], [target, TALL - 16]]) for (const word of words) svg.append(svgText(word.label, { x: word.middle, y, "text-anchor": "middle", fill: ink }));
    holder.replaceChildren(svg);
    const cut = [];
    if (trace.positions > AT_ONCE || trace.steps > AT_ONCE) cut.push(`${Math.min(AT_ONCE, trace.positions)} of ${trace.positions} source words and ${Math.min(AT_ONCE, trace.steps)} of ${trace.steps} words of the output are in sight`);
    if (links.left) cut.push(`the ${LINKS} strongest links are drawn, ${links.left} weaker ones are not`);
    note.textContent = cut.join("; ");
  }

  redraw();
  context.scale(full);
  return { svg: () => svg.cloneNode(true) };
}

export const arcsView = {
  name: "arcs",
  title: "Links",
  byHead: true,
  accepts: (trace) => trace.kind === "text" && trace.heads > 0 && trace.positions > 0 && trace.steps > 0,
  draw: drawArcs,
};
