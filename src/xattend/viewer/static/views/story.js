// Hops over the sentences of a story (Sukhbaatar et al. 2015, table 4): a row a sentence, a column a hop, and a star at what a hop looked at most.

import { make, makeSvg, isolated, shown, svgText, tokenLabel, number } from "../dom.js";
import { colourOf, inkOn } from "../colour.js";

const SENTENCES = 400; // drawn at most: those that some hop weighs most

// numbers of the sentences that are drawn, in their order
function sentencesShown(trace) {
  const places = Array.from({ length: trace.positions }, (_, place) => place);
  if (places.length <= SENTENCES) return places;
  const most = (place) => Math.max(...trace.names.map((_, hop) => trace.weights.at(0, hop, place)));
  return places.toSorted((a, b) => most(b) - most(a)).slice(0, SENTENCES).sort((a, b) => a - b);
}

function bestOf(trace, hop) {
  const row = Array.from({ length: trace.positions }, (_, place) => trace.weights.at(0, hop, place)), most = Math.max(...row);
  return most > 0 ? row.indexOf(most) : -1;
}

function drawStory(element, trace, context) {
  const hops = Array.from({ length: trace.heads }, (_, hop) => hop), best = hops.map((hop) => bestOf(trace, hop)), places = sentencesShown(trace);
  const cell = (place, hop) => {
    const weight = trace.weights.at(0, hop, place), star = best[hop] === place;
    const found = make("td", { class: "xa-number", "data-hop": hop, "data-place": place, "data-best": String(star), pointerenter: () => context.read(0, place, hop) }, `${number(weight, 2)}${star ? " \u2605" : ""}`);
    Object.assign(found.style, { backgroundColor: colourOf(context.map, weight), color: inkOn(context.map, weight) });
    return found;
  };
  const head = make("tr", {}, ...["", "sentence", ...hops.map((hop) => trace.names[hop])].map((name) => make("th", { scope: "col" }, shown(name))));
  const rows = places.map((place) => make("tr", {}, make("td", { class: "xa-number" }, String(place + 1)), isolated("td", {}, shown(trace.source[place])), ...hops.map((hop) => cell(place, hop))));
  element.append(make("table", { class: "xa-table xa-story", "data-role": "story" }, make("caption", {}, "where each hop looked; a star is where it looked most"), make("thead", {}, head), make("tbody", {}, ...rows)),
    make("p", {}, make("span", { class: "xa-name" }, "answer: "), isolated("bdi", {}, shown(trace.doc.target.text))));
  if (places.length < trace.positions) element.append(make("p", { class: "xa-faint", "data-role": "note" }, `${places.length} of ${trace.positions} sentences are listed: those that some hop weighs most`));
  context.scale(1);
  return { svg: () => storySvg(trace, context, places, best) };
}

function storySvg(trace, context, places, best) {
  const wide = 64, high = 22, left = 20 + trace.heads * wide, total = { width: left + 560, height: (places.length + 1) * high + 12 }, ink = context.dark ? "#e8e8e8" : "#16181d";
  const svg = makeSvg("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, "font-family": "sans-serif", "font-size": "12" }, makeSvg("rect", { ...total, fill: context.dark ? "#14161a" : "#fff" }));
  trace.names.forEach((name, hop) => svg.append(svgText(tokenLabel(name, 10), { x: 10 + hop * wide, y: 16, fill: ink })));
  places.forEach((place, row) => {
    const y = (row + 1) * high;
    trace.names.forEach((_, hop) => {
      const weight = trace.weights.at(0, hop, place);
      svg.append(makeSvg("rect", { x: 8 + hop * wide, y, width: wide - 2, height: high - 2, fill: colourOf(context.map, weight) }), svgText(`${number(weight, 2)}${best[hop] === place ? " \u2605" : ""}`, { x: 14 + hop * wide, y: y + 15, fill: inkOn(context.map, weight) }));
    });
    svg.append(svgText(`${place + 1}  ${shown(trace.source[place]).slice(0, 80)}`, { x: left, y: y + 15, fill: ink }));
  });
  return svg;
}

export const storyView = {
  name: "story",
  title: "Story",
  byHead: false,
  accepts: (trace) => trace.kind === "memory" && trace.heads > 0 && trace.steps > 0 && trace.positions > 0,
  draw: drawStory,
};
