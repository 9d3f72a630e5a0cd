// Where each word listened (Chorowski et al. 2015): the spectrogram, bright where the chosen word looked, and along the same time a row of weights a word.

import { make, makeSvg, isolated, svgText, tokenLabel, textWidth, number } from "../dom.js";
import { largest } from "../decode.js";
import { alongTime, heatMap, cellUnder } from "../heat.js";
import { soundPlayer } from "../audio.js";
import { wordStrip } from "../strip.js";
import { lit } from "./overlay.js";

const TIME = 900; // pixels of the axis of time
const BANDS = 150;
const LINE = 17; // of a word
const WORDS = 300; // that are drawn

// rows of the first words, along time
function rowsAlong(trace, context, words) {
  const found = new Float32Array(words * TIME);
  for (let step = 0; step < words; step += 1) {
    const row = trace.weights.row(step, context.head), most = largest(row) || 1;
    found.set(alongTime(row, TIME).map((weight) => weight / most), step * TIME);
  }
  return found;
}

// where a token lies: around its largest weight, as far as weights are at least half of it (as xattend align has it, times.py); in seconds
function lying(row, seconds) {
  const full = largest(row), most = row.indexOf(full), each = seconds / row.length;
  let first = most, last = most;
  while (first > 0 && row[first - 1] >= full / 2) first -= 1;
  while (last + 1 < row.length && row[last + 1] >= full / 2) last += 1;
  return { from: first * each, to: (last + 1) * each };
}

// when each word is said. Tokens are put together where some of them are spaces, or begin with the mark of one
export function wordTimes(trace, head, steps) {
  const spaced = trace.target.some((token) => token.trim() === "" || token.startsWith("\u2581")), found = [];
  let open = false;
  for (let step = 0; step < steps; step += 1) {
    const token = trace.target[step];
    if (token.trim() === "" || token === "</s>") {
      open = false;
      continue;
    }
    const at = lying(trace.weights.row(step, head), trace.seconds);
    if (spaced && open && !token.startsWith("\u2581")) {
      const word = found[found.length - 1];
      word.text += token;
      word.from = Math.min(word.from, at.from);
      word.to = Math.max(word.to, at.to);
    } else found.push({ text: token.replace(/^\u2581/, ""), ...at });
    open = true;
  }
  return found;
}

function drawSound(element, trace, context) {
  const words = Math.min(trace.steps, WORDS), looked = trace.heads > 0 && trace.positions > 0 && words > 0;
  const labels = trace.target.slice(0, words).map((token) => tokenLabel(token, 12));
  const gutter = Math.max(30, ...labels.map(textWidth)) + 12;
  const bands = make("canvas", { class: "xa-bands", width: TIME, height: BANDS, role: "img", "data-role": "spectrogram" });
  const rows = make("canvas", { class: "xa-heat", width: TIME, height: Math.max(1, words * LINE), role: "img", "data-role": "alignment", "aria-label": "a row of weights a word, along time" });
  const head = make("div", { class: "xa-playhead", hidden: true }), time = make("output", { "data-role": "time" });
  const step = () => Math.min(context.selection.step, trace.steps - 1);
  const strip = wordStrip(trace.target.slice(0, words), step(), (at) => { context.select({ step: at }, follow); redraw(); });
  const { samples } = trace.arrays, kept = samples ? samples.shape[0] / trace.rate : 0;
  const button = make("button", { type: "button", class: "xa-button", "data-role": "play-sound", click: () => (sound.on ? sound.stop() : sound.play(0)) }, "play");
  const sound = samples ? soundPlayer(samples.values, trace.rate, moved, context.say) : null;
  const names = labels.map((label, at) => {
    const name = isolated("span", { class: "xa-label" }, label);
    name.style.top = `${(at + 0.5) * LINE}px`;
    return name;
  });
  const side = make("div", { class: "xa-rows", "aria-hidden": "true" }, ...(looked ? names : []));
  const axis = make("div", { class: "xa-axis xa-faint" }, ...[0, 1, 2, 3, 4].map((part) => make("span", {}, `${number((trace.seconds * part) / 4, 2)} s`)));
  const times = make("div", { class: "xa-times", "data-role": "times" });
  const grid = make("div", { class: "xa-sound" }, make("span", {}), make("div", { class: "xa-timeline" }, bands, head), make("span", {}), axis, ...(looked ? [make("span", {}), times] : []), side, looked ? rows : null);
  grid.style.gridTemplateColumns = `${gutter}px minmax(0, ${TIME}px)`;
  rows.style.height = `${rows.height}px`; // beside its labels, however narrow the page
  element.append(strip.element, make("div", { class: "xa-tools" }, ...(sound ? [button, time, make("span", { class: "xa-faint" }, "a click into the spectrogram plays from there")] : [make("span", { class: "xa-faint" }, "there is no sound to hear: the model was given features")])), grid);
  if (words < trace.steps) element.append(make("p", { class: "xa-faint", "data-role": "note" }, `the first ${words} of ${trace.steps} words are drawn`));

  function moved(seconds) {
    head.hidden = seconds === null;
    button.textContent = seconds === null ? "play" : "stop";
    if (seconds === null) return;
    head.style.left = `${(100 * seconds) / (trace.seconds || 1)}%`;
    time.textContent = `${number(seconds, 2)} s`;
  }

  // another view, or another model beside this one, chose a step
  function follow() {
    strip.mark(Math.min(step(), words - 1));
    redraw();
  }

  function redraw() {
    const weights = looked ? trace.weights.row(step(), context.head) : null, full = weights ? largest(weights) : 0;
    lit(bands, trace.picture, [0, 0, trace.picture.width, trace.picture.height], weights ? alongTime(weights, TIME) : null, [1, TIME], full);
    if (!looked) return;
    const most = weights.indexOf(full), at = ((most + 0.5) / trace.positions) * trace.seconds;
    heatMap(rows, rowsAlong(trace, context, words), words, TIME, context.map, 1);
    const said_ = wordTimes(trace, context.head, words);
    times.replaceChildren(...said_.map(({ text, from, to }) => {
      const when = `${text}: ${number(from, 2)} to ${number(to, 2)} s`;
      const box = isolated("span", { class: "xa-time", title: when, "aria-label": when }, text);
      box.style.left = `${(100 * from) / (trace.seconds || 1)}%`;
      box.style.width = `${(100 * (to - from)) / (trace.seconds || 1)}%`;
      return box;
    }));
    const pen_ = rows.getContext("2d");
    pen_.strokeStyle = context.dark ? "#ff6fae" : "#d1005b";
    pen_.strokeRect(0.5, step() * LINE + 0.5, TIME - 1, LINE - 1);
    const { from, to } = lying(weights, trace.seconds);
    const said = `${tokenLabel(trace.target[step()])}: most at ${number(at, 2)} s, ${number(full)}; from ${number(from, 2)} to ${number(to, 2)} s`;
    bands.setAttribute("aria-label", `spectrogram, bright where the word listened; ${said}`);
    context.say(said);
  }

  bands.addEventListener("click", (event) => {
    const from = (cellUnder(event, bands, 1, TIME).column / TIME) * trace.seconds;
    if (!sound) return;
    if (from < kept) sound.play(from);
    else context.say(`of the sound the first ${number(kept, 1)} of ${number(trace.seconds, 1)} s can be heard`);
  });
  rows.addEventListener("pointermove", (event) => {
    const { row, column } = cellUnder(event, rows, words, trace.positions);
    context.read(row, column);
  });
  rows.addEventListener("click", (event) => { const { row } = cellUnder(event, rows, words, 1); strip.go(row); });
  context.listen(follow);
  if (looked) context.scale(1, "of a word's largest weight,");
  redraw();
  return { svg: () => soundSvg(bands, looked ? rows : null, labels, gutter, trace.seconds, looked ? wordTimes(trace, context.head, words) : []), destroy: () => sound && sound.close() };
}

function soundSvg(bands, rows, labels, gutter, seconds, times) {
  const top = BANDS + 24 + (times.length ? 20 : 0), total = { width: Math.ceil(gutter + TIME + 6), height: top + 6 + (rows ? rows.height : 0) };
  const svg = makeSvg("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, "font-family": "sans-serif", "font-size": "12" }, makeSvg("rect", { ...total, fill: "#fff" }));
  svg.append(makeSvg("image", { href: bands.toDataURL("image/png"), x: gutter, y: 0, width: TIME, height: BANDS }));
  for (let part = 0; part <= 4; part += 1) svg.append(svgText(`${number((seconds * part) / 4, 2)} s`, { x: gutter + (part * TIME) / 4, y: BANDS + 16, "text-anchor": ["start", "middle", "middle", "middle", "end"][part] }));
  if (!rows) return svg;
  for (const { text, from, to } of times) {
    const x = gutter + (TIME * from) / (seconds || 1), width = (TIME * (to - from)) / (seconds || 1);
    svg.append(makeSvg("rect", { x, y: BANDS + 22, width, height: 18, fill: "#e8eef6", stroke: "#123" }), svgText(text, { x: x + width / 2, y: BANDS + 35, "text-anchor": "middle" }));
  }
  svg.append(makeSvg("image", { href: rows.toDataURL("image/png"), x: gutter, y: top, width: TIME, height: rows.height }));
  labels.forEach((label, at) => svg.append(svgText(label, { x: gutter - 6, y: top + (at + 0.5) * LINE + 4, "text-anchor": "end" })));
  return svg;
}

export const soundView = {
  name: "sound",
  title: "Sound",
  byHead: true,
  accepts: (trace) => trace.kind === "sound" && trace.picture !== null && trace.steps > 0,
  draw: drawSound,
};
