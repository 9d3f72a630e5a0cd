// One trace, drawn: the views that can show it as tabs, its texts, a legend, and what is under the pointer.
//
//     render(element, doc, { view: "matrix", theme: "dark", edit: null })

import { make, isolated, shown, tokenLabel, number } from "./dom.js";
import { openTrace } from "./decode.js";
import { colourTable, colourOf } from "./colour.js";
import { isDark, setTheme, onTheme, themeSwitch } from "./theme.js";
import { download, pngBlob, svgBlob } from "./save.js";
import { views } from "./views/index.js";

const drawn = new WeakMap();

// what views share: colours, the chosen head and cell, and ways to speak to the reader
class Context {
  constructor(trace, options) {
    this.trace = trace;
    this.edit = options.edit || null;
    this.head = trace.heads > 1 ? -1 : 0;
    this.selection = { step: 0, position: 0 };
    this.chosen = false; // whether the reader has chosen a cell or a step yet
    this.listeners = new Set();
    this.paint();
  }

  paint() {
    this.dark = isDark();
    this.map = colourTable(this.dark);
  }

  // told of every other choice of a step and a position
  listen(call) {
    this.listeners.add(call);
  }

  select(selection, from = null) {
    this.selection = { ...this.selection, ...selection };
    this.chosen = true;
    for (const call of this.listeners) if (call !== from) call(this.selection);
  }

  headName(head = this.head) {
    return head < 0 ? `mean of ${this.trace.heads} heads` : this.trace.names[head];
  }
}

function texts(trace) {
  const line = (name, text) => make("div", { class: "xa-text" }, make("span", { class: "xa-name" }, name), isolated("span", { class: "xa-said" }, shown(text)));
  return make("div", { class: "xa-texts" }, line("source", trace.doc.source.text || trace.doc.source.name || ""), line("output", trace.doc.target.text));
}

function legend(context) {
  const bar = make("canvas", { class: "xa-legend-bar", width: "128", height: "10", "aria-hidden": "true" });
  const most = make("span", {}, "1"), least = make("span", {});
  const element = make("div", { class: "xa-legend", "data-role": "legend", role: "img" }, least, bar, most);
  return {
    element,
    show(full, what) {
      const pen = bar.getContext("2d");
      for (let x = 0; x < 128; x += 1) {
        pen.fillStyle = colourOf(context.map, x / 127);
        pen.fillRect(x, 0, 1, 10);
      }
      least.textContent = `${what} 0`;
      most.textContent = number(full, 2);
      element.setAttribute("aria-label", `colours: from ${what} 0 to ${number(full, 2)}`);
    },
  };
}

// tabs that arrow keys walk through
function tabList(all, open) {
  const buttons = all.map((view) => make("button", { type: "button", role: "tab", class: "xa-tab", "data-view": view.name, click: () => open(view.name) }, view.title));
  const list = make("div", { role: "tablist", class: "xa-tabs", "aria-label": "views" }, ...buttons);
  list.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement), move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at < 0 || !move) return;
    const next = buttons[(at + move + buttons.length) % buttons.length];
    open(next.dataset.view);
    next.focus();
    event.preventDefault();
  });
  return { list, mark(name) {
    for (const button of buttons) {
      const on = button.dataset.view === name;
      button.setAttribute("aria-selected", String(on));
      button.tabIndex = on ? 0 : -1;
    }
  } };
}

function headChoice(context, changed) {
  const { trace } = context;
  if (trace.heads < 2) return null;
  const choice = make("select", { class: "xa-choice", "aria-label": "head", "data-role": "head" });
  for (let head = -1; head < trace.heads; head += 1) choice.append(make("option", { value: String(head) }, shown(context.headName(head))));
  choice.value = String(context.head);
  choice.addEventListener("change", () => changed(Number(choice.value)));
  return choice;
}

function keepButtons(current, name, say) {
  const keep = (label, blob) => make("button", { type: "button", class: "xa-button", "aria-label": `save this view as ${label}`, "data-role": label.toLowerCase(),
    click: async () => {
      const svg = current() && current().svg ? current().svg() : null;
      if (!svg) return say("this view cannot be saved");
      return download(await blob(svg), `${name()}.${label.toLowerCase()}`);
    } }, label);
  return [keep("SVG", svgBlob), keep("PNG", pngBlob)];
}

// draws a trace document into an element; what was drawn there before is taken away
export async function render(element, doc, options = {}) {
  if (drawn.has(element)) drawn.get(element).destroy();
  const gone = new AbortController();
  const root = make("div", { class: "xattend" });
  const handle = { destroy() { gone.abort(); if (view) view.destroy && view.destroy(); root.remove(); } };
  let view = null, name = "";
  drawn.set(element, handle);
  element.append(root);
  let trace;
  try {
    trace = await openTrace(doc);
  } catch (error) {
    root.append(make("p", { class: "xa-error", role: "alert" }, shown(error.message)));
    return handle;
  }
  if (gone.signal.aborted) return handle;
  if (options.theme) setTheme(options.theme);
  const context = new Context(trace, options);
  const fitting = views.filter((one) => one.accepts(trace, context));
  const readout = make("output", { class: "xa-readout", "data-role": "readout", "aria-live": "polite" });
  const colours = legend(context);
  const panel = make("div", { class: "xa-view", role: "tabpanel" });

  // what is under the pointer, in words; numbers are attributes, too, for tests and tools
  context.read = (step, position, head = context.head) => {
    const value = trace.weights.at(step, head, position);
    Object.assign(readout.dataset, { step, position, value: String(value) });
    readout.replaceChildren(isolated("bdi", {}, tokenLabel(trace.target[step], 40)), " \u2190 ", isolated("bdi", {}, tokenLabel(trace.source[position], 40)), `  ${number(value)}`,
      make("span", { class: "xa-faint" }, `  step ${step + 1}, position ${position + 1}`));
  };
  context.say = (text) => { readout.replaceChildren(shown(text)); };
  context.scale = (full, what = "weight") => { colours.element.hidden = full === null; if (full !== null) colours.show(full, what); };

  const draw = (next) => {
    const one = fitting.find((candidate) => candidate.name === next);
    if (!one) return;
    if (view && view.destroy) view.destroy();
    context.listeners.clear();
    context.scale(null);
    readout.replaceChildren();
    panel.replaceChildren();
    panel.setAttribute("aria-label", one.title);
    name = next;
    root.dataset.view = name;
    tabs.mark(name);
    if (heads) heads.hidden = !one.byHead;
    view = one.draw(panel, trace, context) || null;
  };
  const open = (next) => {
    if (next === name) return;
    draw(next);
    if (options.onShow) options.onShow(name);
  };
  const tabs = tabList(fitting, open);
  const heads = headChoice(context, (head) => { context.head = head; draw(name); });
  context.setHead = (head) => { context.head = head; if (heads) heads.value = String(head); };
  context.show = open;
  const buttons = keepButtons(() => view, () => `xattend-${name}`, context.say);
  const bar = make("div", { class: "xa-bar" }, tabs.list, make("span", { class: "xa-space" }), heads, ...buttons, options.themeSwitch === false ? null : themeSwitch(gone.signal));
  if (options.texts !== false) root.append(texts(trace));
  if (trace.notes.length) root.append(make("ul", { class: "xa-notes xa-faint", "data-role": "notes" }, ...trace.notes.map((note) => make("li", {}, shown(note)))));
  root.append(bar, panel, make("div", { class: "xa-foot" }, readout, colours.element));
  onTheme(() => { context.paint(); draw(name); }, gone.signal);
  const first = fitting.find((one) => one.name === options.view) || fitting[0];
  if (first) draw(first.name);
  else root.append(make("p", {}, "There is nothing to draw in this trace."));
  root.dataset.ready = "true";
  Object.defineProperty(handle, "view", { get: () => name });
  return Object.assign(handle, { trace, context, views: fitting.map((one) => one.name), show: (next) => { if (next !== name) draw(next); } });
}
