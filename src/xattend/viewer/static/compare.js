// Two models on one input, side by side: the same view of both.

import { make, isolated, shown, number } from "./dom.js";
import { render } from "./render.js";

function total(logprobs) {
  return (logprobs || []).reduce((sum, one) => sum + (one === null ? -Infinity : one), 0);
}

function table(docs, names) {
  const rows = docs.map((doc, at) => {
    const sum = total(doc.target.logprobs), steps = Math.max(1, (doc.target.logprobs || []).length);
    return make("tr", {}, make("th", { scope: "row" }, shown(names[at])), make("td", {}, isolated("bdi", {}, shown(doc.target.text))), make("td", { class: "xa-number" }, number(sum)), make("td", { class: "xa-number" }, number(Math.exp(-sum / steps), 2)));
  });
  const same = docs[0].target.text === docs[1].target.text;
  return make("table", { class: "xa-table" }, make("caption", {}, same ? "Both write the same." : "They write different texts."),
    make("thead", {}, make("tr", {}, ...["", "output", "log-probability", "perplexity a token"].map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, ...rows));
}

// options as for render, and `names` of the two
export async function renderTwo(element, one, two, options = {}) {
  const docs = [one, two], names = options.names || ["first", "second"];
  const places = names.map((name) => make("section", { class: "xa-side", "aria-label": shown(name) }, make("h3", {}, shown(name))));
  element.replaceChildren(make("div", { class: "xattend xa-compare" }, table(docs, names), make("div", { class: "xa-sides" }, ...places)));
  const handles = [];
  for (const [at, place] of places.entries()) {
    const other = 1 - at;
    handles.push(await render(place, docs[at], { ...options, texts: false, themeSwitch: at === 0 && options.themeSwitch,
      onShow: (name) => { if (handles[other] && handles[other].views && handles[other].views.includes(name)) handles[other].show(name); } }));
  }
  return handles;
}
