// A matrix on a canvas, of any size: only what is in sight is drawn. Labels are HTML, so that every script is drawn as its own.
//
// Zoom by + and -, by the buttons or by the wheel with Ctrl; arrows move the chosen cell. Where cells are smaller than pixels, a pixel
// has the largest weight of its cells, so that no link is lost.

import { make, makeSvg, isolated, tokenLabel, textWidth, svgText, number } from "./dom.js";

const SMALLEST = 12; // pixels of a cell with a label
const LARGEST = 28;
const MANY = 200; // tokens from which on a first look shows all, however small
const GAP = 6;

// edges of the runs of cells that share a pixel: one cell each where cells are larger than pixels
function runs(count, cell, from, length) {
  const first = Math.max(0, Math.floor(from / cell));
  const after = Math.min(count, Math.ceil((from + length) / cell));
  if (cell >= 1) return { edges: Int32Array.from({ length: Math.max(0, after - first) + 1 }, (_, i) => first + i), at: first * cell - from, size: cell };
  const pixels = Math.max(0, Math.ceil(Math.min(length, count * cell - from)));
  const edge = (pixel) => Math.min(count, Math.floor((from + pixel) / cell));
  return { edges: Int32Array.from({ length: pixels + 1 }, (_, pixel) => edge(pixel)), at: 0, size: 1 };
}

// cells as pixels: the largest weight of each run
export function paintCells(values, columns, across, down, table, full) {
  const width = across.length - 1, height = down.length - 1;
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, width);
  canvas.height = Math.max(1, height);
  if (width < 1 || height < 1) return canvas;
  const pen = canvas.getContext("2d");
  const pixels = pen.createImageData(width, height);
  const scale = 255 / (full || 1);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      let most = 0;
      for (let row = down[y]; row < Math.max(down[y + 1], down[y] + 1); row += 1) {
        const base = row * columns;
        for (let column = across[x]; column < Math.max(across[x + 1], across[x] + 1); column += 1) if (values[base + column] > most) most = values[base + column];
      }
      const level = Math.min(255, Math.round(most * scale)) * 3, to = (y * width + x) * 4;
      pixels.data[to] = table[level];
      pixels.data[to + 1] = table[level + 1];
      pixels.data[to + 2] = table[level + 2];
      pixels.data[to + 3] = 255;
    }
  }
  pen.putImageData(pixels, 0, 0);
  return canvas;
}

// a whole matrix in a picture of at most `side` pixels a side
export function thumbnail(values, rows, columns, table, full, side) {
  const edges = (count) => runs(count, Math.min(1, side / count), 0, Math.min(count, side)).edges;
  return paintCells(values, columns, edges(columns), edges(rows), table, full);
}

// content: { values, rows: [labels], columns: [labels], full, table }; calls: { point(step, position), choose(step, position) }
export function matrixPane(host, content, calls = {}, options = {}) {
  let now = content, zoom = 1, chosen = null, waiting = false;
  const canvas = make("canvas", { class: "xa-canvas", "aria-hidden": "true" });
  const spacer = make("div", { class: "xa-spacer" });
  const cross = [make("div", { class: "xa-cross" }), make("div", { class: "xa-cross" }), make("div", { class: "xa-cell" })];
  const scroll = make("div", { class: "xa-scroll", tabindex: "0", role: "application", "aria-label": options.label || "matrix; arrow keys move, plus and minus zoom" }, spacer);
  const top = make("div", { class: "xa-columns", "aria-hidden": "true" });
  const left = make("div", { class: "xa-rows", "aria-hidden": "true" });
  const body = make("div", { class: "xa-body" }, canvas, ...cross, scroll);
  const pane = make("div", { class: "xa-pane" }, top, left, body);
  host.append(pane);

  const size = { gutter: 40, head: 40, width: 300, height: 200, wide: LARGEST, high: LARGEST };

  function measure() {
    const longest = (labels) => Math.max(8, ...labels.slice(0, 400).map((label) => textWidth(tokenLabel(label))));
    size.gutter = Math.min(190, longest(now.rows)) + 2 * GAP;
    size.head = Math.min(130, longest(now.columns)) + 2 * GAP;
    const room = Math.max(120, (host.clientWidth || 800) - size.gutter - 2), tall = options.height || 520;
    const base = (count, span) => (count <= MANY ? Math.max(SMALLEST, Math.min(LARGEST, span / count)) : span / count);
    size.wide = base(now.columns.length || 1, room) * zoom;
    size.high = base(now.rows.length || 1, tall) * zoom;
    const bar = 16;
    size.width = Math.min(room, size.wide * now.columns.length + bar);
    size.height = Math.min(tall, size.high * now.rows.length + bar);
    pane.style.gridTemplateColumns = `${size.gutter}px ${size.width}px`;
    pane.style.gridTemplateRows = `${size.head}px ${size.height}px`;
    spacer.style.width = `${size.wide * now.columns.length}px`;
    spacer.style.height = `${size.high * now.rows.length}px`;
  }

  function labels(holder, texts, cell, from, length, place) {
    const every = Math.max(1, Math.ceil(SMALLEST / cell));
    const first = Math.max(0, Math.floor(from / cell)), after = Math.min(texts.length, Math.ceil((from + length) / cell));
    const found = [];
    for (let i = Math.ceil(first / every) * every; i < after; i += every) {
      const label = isolated("span", { class: "xa-label" }, tokenLabel(texts[i]));
      place(label, (i + (every > 1 ? 0 : 0.5)) * cell - from);
      found.push(label);
    }
    holder.replaceChildren(...found);
  }

  function redraw() {
    waiting = false;
    const wide = scroll.clientWidth, high = scroll.clientHeight, ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(wide * ratio));
    canvas.height = Math.max(1, Math.round(high * ratio));
    canvas.style.width = `${wide}px`;
    canvas.style.height = `${high}px`;
    const x = runs(now.columns.length, size.wide, scroll.scrollLeft, wide), y = runs(now.rows.length, size.high, scroll.scrollTop, high);
    const cells = paintCells(now.values, now.columns.length, x.edges, y.edges, now.table, now.full);
    const pen = canvas.getContext("2d");
    pen.imageSmoothingEnabled = false;
    pen.scale(ratio, ratio);
    if (x.edges.length > 1 && y.edges.length > 1) pen.drawImage(cells, x.at, y.at, (x.edges.length - 1) * x.size, (y.edges.length - 1) * y.size);
    labels(top, now.columns, size.wide, scroll.scrollLeft, wide, (label, at) => { label.style.left = `${at}px`; });
    labels(left, now.rows, size.high, scroll.scrollTop, high, (label, at) => { label.style.top = `${at}px`; });
    mark();
  }

  function later() {
    if (!waiting) requestAnimationFrame(redraw);
    waiting = true;
  }

  function mark() {
    for (const one of cross) one.hidden = !chosen;
    if (!chosen) return;
    const x = chosen.position * size.wide - scroll.scrollLeft, y = chosen.step * size.high - scroll.scrollTop;
    const put = (one, left_, top_, width, height) => Object.assign(one.style, { left: `${left_}px`, top: `${top_}px`, width: `${width}px`, height: `${height}px` });
    put(cross[0], 0, y, Math.min(scroll.clientWidth, size.wide * now.columns.length), Math.max(1, size.high));
    put(cross[1], x, 0, Math.max(1, size.wide), Math.min(scroll.clientHeight, size.high * now.rows.length));
    put(cross[2], x, y, Math.max(3, size.wide), Math.max(3, size.high));
  }

  function point(step, position, told = true) {
    if (step < 0 || position < 0 || step >= now.rows.length || position >= now.columns.length) return;
    chosen = { step, position };
    mark();
    if (told && calls.point) calls.point(step, position);
  }

  function under(event) {
    const box = scroll.getBoundingClientRect();
    return [
      Math.floor((event.clientY - box.top + scroll.scrollTop) / size.high), Math.floor((event.clientX - box.left + scroll.scrollLeft) / size.wide),
    ];
  }

  function reveal() {
    const x = chosen.position * size.wide, y = chosen.step * size.high;
    if (x < scroll.scrollLeft) scroll.scrollLeft = x;
    if (x + size.wide > scroll.scrollLeft + scroll.clientWidth) scroll.scrollLeft = x + size.wide - scroll.clientWidth;
    if (y < scroll.scrollTop) scroll.scrollTop = y;
    if (y + size.high > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = y + size.high - scroll.clientHeight;
  }

  function zoomTo(next, event) {
    const [step, position] = event ? under(event) : chosen ? [chosen.step, chosen.position] : [0, 0];
    const box = scroll.getBoundingClientRect();
    const dx = event ? event.clientX - box.left : scroll.clientWidth / 2, dy = event ? event.clientY - box.top : scroll.clientHeight / 2;
    zoom = Math.min(64, Math.max(1 / 16, next));
    measure();
    scroll.scrollLeft = (position + 0.5) * size.wide - dx;
    scroll.scrollTop = (step + 0.5) * size.high - dy;
    later();
  }

  scroll.addEventListener("scroll", later, { passive: true });
  scroll.addEventListener("pointermove", (event) => point(...under(event)));
  scroll.addEventListener("click", (event) => {
    point(...under(event));
    if (chosen && calls.choose) calls.choose(chosen.step, chosen.position);
  });
  scroll.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomTo(zoom * (event.deltaY < 0 ? 1.25 : 0.8), event);
  }, { passive: false });
  scroll.addEventListener("keydown", (event) => {
    const at = chosen || { step: 0, position: 0 };
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -at.position], End: [0, now.columns.length - 1 - at.position] };
    if (event.key === "+" || event.key === "=") zoomTo(zoom * 1.25);
    else if (event.key === "-") zoomTo(zoom * 0.8);
    else if (event.key === "0") zoomTo(1);
    else if (event.key === "Enter" && chosen && calls.choose) calls.choose(chosen.step, chosen.position);
    else if (moves[event.key]) {
      if (chosen) point(at.step + moves[event.key][0], at.position + moves[event.key][1]);
      else point(0, 0);
      if (chosen) reveal();
    } else return;
    event.preventDefault();
  });
  const watcher = new ResizeObserver(() => { measure(); later(); });
  watcher.observe(host);
  measure();
  redraw();

  return {
    point: (step, position) => point(step, position, false),
    zoomIn: () => zoomTo(zoom * 1.25),
    zoomOut: () => zoomTo(zoom * 0.8),
    zoomReset: () => zoomTo(1),
    update(content_) { now = content_; measure(); later(); },
    destroy() { watcher.disconnect(); },
    svg: () => matrixSvg(now, size.gutter, size.head),
  };
}

// the whole matrix as a drawing to keep, with all labels where there is room for them
export function matrixSvg(content, gutter, head) {
  const { values, rows, columns, table, full } = content;
  const cell = Math.max(1, Math.min(24, 1600 / Math.max(rows.length, columns.length, 1)));
  const width = cell * columns.length, height = cell * rows.length, foot = 24;
  const total = { width: Math.ceil(gutter + width + GAP), height: Math.ceil(head + height + foot) };
  const svg = makeSvg("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}`, "font-family": "sans-serif", "font-size": "13" });
  const image = thumbnail(values, rows.length, columns.length, table, full, 4096).toDataURL("image/png");
  svg.append(makeSvg("rect", { ...total, fill: "#fff" }));
  svg.append(makeSvg("image", { href: image, x: gutter, y: head, width, height, preserveAspectRatio: "none", "image-rendering": "pixelated" }));
  const every = Math.max(1, Math.ceil(SMALLEST / cell));
  for (let i = 0; i < rows.length; i += every) {
    const text = tokenLabel(rows[i]), box = svgText(text, { x: gutter - GAP, y: head + (i + 0.5) * cell + 4 });
    box.setAttribute("text-anchor", box.getAttribute("direction") === "rtl" ? "start" : "end");
    svg.append(box);
  }
  for (let i = 0; i < columns.length; i += every) {
    const text = tokenLabel(columns[i]), box = svgText(text, { transform: `translate(${gutter + (i + 0.5) * cell + 4},${head - GAP}) rotate(-90)` });
    box.setAttribute("text-anchor", box.getAttribute("direction") === "rtl" ? "end" : "start");
    svg.append(box);
  }
  svg.append(svgText(`strongest colour = ${number(full)}`, { x: gutter, y: total.height - GAP, "font-size": "11" }));
  return svg;
}
