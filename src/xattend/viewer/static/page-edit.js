// A hand on the model: how the output begins, what is out of sight, where single steps look.

import { make, shown, tokenLabel, number } from "./dom.js";

const PLACES = 400;
const END = "</s>";

// "0, 4-6" -> [0, 4, 5, 6]
function placesIn(text) {
  const found = new Set();
  for (const part of text.split(/[\s,]+/u).filter(Boolean)) {
    const ends = /^(\d{1,6})(?:-(\d{1,6}))?$/u.exec(part);
    if (!ends) throw new Error(`${shown(part)} is no position: write 0, 4-6`);
    const last = Number(ends[2] || ends[1]);
    for (let place = Number(ends[1]); place <= last && found.size < 100000; place += 1) found.add(place);
  }
  return [...found];
}

// what is edited, and the panel that edits it; `again()` decodes with it
export class Editing {
  constructor(element, again, say) {
    this.element = element;
    this.again = again;
    this.say = say;
    this.trace = null;
    this.step = 0;
    this.clear();
  }

  clear() {
    this.prefix = [];
    this.rows = new Map();
    this.masked = new Set();
  }

  get any() {
    return this.prefix.length > 0 || this.rows.size > 0 || this.masked.size > 0;
  }

  // what goes into a question
  request() {
    const found = {};
    if (this.prefix.length) found.prefix = this.prefix;
    if (this.rows.size) found.rows = Object.fromEntries(this.rows);
    if (this.masked.size) found.masked = [...this.masked].sort((a, b) => a - b);
    return found;
  }

  hide() {
    this.element.hidden = true;
    this.trace = null;
  }

  // force the output to begin with these tokens; the end mark cannot be forced
  force(tokens) {
    this.prefix = tokens.filter((token) => token !== END);
    this.again();
  }

  mask(positions) {
    this.masked = new Set(positions);
    this.again();
  }

  // weights of one step, or null for the model's own
  row(step, weights) {
    if (weights) this.rows.set(String(step), weights.map(Number));
    else this.rows.delete(String(step));
    this.again();
  }

  show(trace) {
    this.trace = trace;
    this.step = Math.min(this.step, Math.max(0, trace.steps - 1));
    this.element.hidden = false;
    this.redraw();
  }

  redraw() {
    const held = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : null;
    const parts = [make("h2", {}, "Edit, and decode again"), this.inEffect(), this.outputPart()];
    if (this.trace.positions > 0) parts.push(this.sourcePart(), this.rowPart());
    this.element.replaceChildren(...parts.filter(Boolean));
    if (held) {
      const again = [...this.element.querySelectorAll("[data-key]")].find((one) => one.dataset.key === held);
      if (again) again.focus();
    }
  }

  inEffect() {
    if (!this.any) return make("p", { class: "xa-faint" }, "Choose a token of the output to keep it or to say where its step looks; a token of the source to hide it.");
    const { source, steps } = this.trace, list = [];
    const drop = (label, call) => make("button", { type: "button", class: "xa-button", click: () => { call(); this.again(); } }, `${label} \u2715`);
    if (this.prefix.length) list.push(drop(`begins with: ${this.prefix.map((token) => tokenLabel(token)).join(" ")}`, () => { this.prefix = []; }));
    for (const step of [...this.rows.keys()].sort((a, b) => a - b)) list.push(drop(`step ${Number(step) + 1} looks by hand${Number(step) < steps ? "" : " (not reached)"}`, () => this.rows.delete(step)));
    if (this.masked.size) list.push(drop(`hidden: ${[...this.masked].slice(0, 12).map((place) => tokenLabel(source[place])).join(" ")}${this.masked.size > 12 ? "\u2026" : ""}`, () => this.masked.clear()));
    return make("div", { class: "pg-row", "data-role": "edits" }, ...list, make("button", { type: "button", class: "xa-button", "data-role": "clear", click: () => { this.clear(); this.again(); } }, "take all back"));
  }

  outputPart() {
    const { target } = this.trace;
    if (!target.length) return null;
    const chips = target.map((token, step) => make("button", { type: "button", class: `xa-word${step < this.prefix.length ? " pg-forced" : ""}`, dir: "auto", "data-key": `out-${step}`, "aria-pressed": String(step === this.step),
      click: () => { this.step = step; this.redraw(); } }, tokenLabel(token)));
    const token = target[this.step], end = token === END;
    const field = make("input", { type: "text", class: "pg-field", dir: "auto", "data-key": "replacement", "data-role": "replacement", "aria-label": `what to write at step ${this.step + 1} instead`, placeholder: "something else" });
    const replace = () => { if (field.value.trim()) this.force([...target.slice(0, this.step), field.value.trim()]); };
    field.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); replace(); } });
    return make("div", {}, make("h3", {}, "Output"), make("div", { class: "pg-chips", "data-role": "output-tokens" }, ...chips), make("div", { class: "pg-row" },
      make("span", {}, `step ${this.step + 1}: `, make("bdi", {}, tokenLabel(token))),
      make("button", { type: "button", class: "xa-button", "data-role": "keep", "data-key": "keep", click: () => this.force(target.slice(0, this.step + (end ? 0 : 1))) }, end ? "keep all before it" : "keep up to here"),
      make("label", {}, "write instead", field), make("button", { type: "button", class: "xa-button", "data-role": "replace", "data-key": "replace", click: replace }, "replace")));
  }

  sourcePart() {
    const { source, positions, grid } = this.trace;
    const part = make("div", {}, make("h3", {}, "Source: click to hide"));
    if (positions > PLACES) {
      const field = make("input", { type: "text", class: "pg-field", "data-key": "masked", value: [...this.masked].join(", "), "aria-label": "positions to hide", placeholder: "0, 4-6" });
      field.addEventListener("change", () => { try { this.mask(placesIn(field.value)); } catch (error) { this.say(error.message, true); } });
      part.append(make("label", {}, `positions 0 to ${positions - 1}: `, field));
      return part;
    }
    const flat = grid.length < 2;
    const list = make("div", { class: flat ? "pg-chips" : "pg-grid", "data-role": "source-tokens" }, ...source.map((token, place) => {
      const hidden = this.masked.has(place);
      return make("button", { type: "button", class: `xa-word${hidden ? " pg-masked" : ""}`, dir: "auto", "data-key": `in-${place}`, "data-place": place, "aria-pressed": String(hidden),
        "aria-label": `${tokenLabel(token)}, position ${place + 1}${hidden ? ", hidden" : ""}`, click: () => { this.masked[hidden ? "delete" : "add"](place); this.again(); } }, tokenLabel(token, flat ? 24 : 8));
    }));
    if (!flat) list.style.gridTemplateColumns = `repeat(${grid[grid.length - 1]}, auto)`;
    part.append(list);
    return part;
  }

  rowPart() {
    const { source, positions, target, weights } = this.trace;
    if (!target.length) return null;
    const own = Array.from(weights.row(this.step, -1)), given = this.rows.get(String(this.step)), now = given || own;
    const part = make("div", {}, make("h3", {}, `Where step ${this.step + 1} looks (`, make("bdi", {}, tokenLabel(target[this.step])), `), ${given ? "set by hand" : "the model's own"}`));
    const decode = (read) => make("div", { class: "pg-row" },
      make("button", { type: "button", class: "xa-button", "data-role": "decode-row", "data-key": "decode-row", click: () => { try { this.row(this.step, read()); } catch (error) { this.say(error.message, true); } } }, "decode with this row"),
      given ? make("button", { type: "button", class: "xa-button", "data-role": "own-row", "data-key": "own-row", click: () => this.row(this.step, null) }, "the model's own again") : null);
    if (positions > PLACES) {
      const field = make("textarea", { class: "pg-field", rows: 4, "data-key": "row", "aria-label": "weights, one a position" });
      field.value = now.map((one) => number(one, 4)).join(" ");
      part.append(field, decode(() => {
        const read = field.value.split(/[\s,]+/u).filter(Boolean).map(Number);
        if (read.some(Number.isNaN)) throw new Error("weights are numbers, with spaces between them");
        return read;
      }));
      return part;
    }
    const inputs = [];
    const lines = now.map((weight, place) => {
      const slider = make("input", { type: "range", min: 0, max: 1, step: 0.01, value: Math.min(1, weight), "data-key": `slide-${place}`, "data-place": place, "aria-label": `weight of ${tokenLabel(source[place])}, position ${place + 1}` });
      const typed = make("input", { type: "number", class: "pg-field pg-number", min: 0, step: "any", value: number(weight, 3), "data-key": `type-${place}`, "data-place": place, "aria-label": `weight of ${tokenLabel(source[place])}, typed` });
      const put = (value) => { slider.value = String(Math.min(1, value)); typed.value = String(value); };
      slider.addEventListener("input", () => { typed.value = slider.value; });
      typed.addEventListener("input", () => { slider.value = String(Math.min(1, Number(typed.value))); });
      typed.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); this.row(this.step, inputs.map((one) => one.read())); } });
      inputs.push({ put, read: () => Number(typed.value) });
      return make("div", { class: "pg-weight" }, make("span", { dir: "auto" }, tokenLabel(source[place])), slider, typed,
        make("button", { type: "button", class: "xa-button", "data-role": "only", "data-place": place, "data-key": `only-${place}`, "aria-label": `look at ${tokenLabel(source[place])} alone`,
          click: () => { inputs.forEach((one, at) => one.put(at === place ? 1 : 0)); this.row(this.step, inputs.map((one) => one.read())); } }, "only"));
    });
    part.append(make("div", { class: "pg-weights", "data-role": "weights" }, ...lines), decode(() => inputs.map((one) => one.read())));
    return part;
  }
}
