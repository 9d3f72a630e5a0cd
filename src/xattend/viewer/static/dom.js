// Elements and texts. Every text of a trace reaches the page through here, as a text node: none is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

// a text with what cannot be seen made visible: control characters by their pictures, broken characters by U+FFFD
export function shown(text) {
  return String(text)
    .replace(/[\u0000-\u001f]/g, (letter) => String.fromCharCode(0x2400 + letter.charCodeAt(0)))
    .replace(/\u007f/g, "\u2421")
    .replace(/[\u0080-\u009f\ufffe\uffff]/g, "\ufffd")
    .replace(/\p{Surrogate}/gu, "\ufffd");
}

// a token on an axis: its spaces are seen, a lone accent stands on a circle, and a long one is cut, with a sign that it was
export function tokenLabel(token, longest = 24) {
  const text = shown(token).replace(/\p{Z}/gu, "\u2423");
  if (text === "") return "\u2205";
  if (text.length <= longest) return /^\p{M}/u.test(text) ? "\u25cc" + text : text;
  let cut = "";
  for (const { segment } of new Intl.Segmenter().segment(text.slice(0, longest * 8))) {
    if (cut.length + segment.length >= longest) break;
    cut += segment;
  }
  return cut + "\u2026";
}

// "rtl" if the first letter with a direction goes from right to left; exported drawings have no dir="auto"
export function direction(text) {
  const strong = /\p{L}/u.exec(text);
  return strong && /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(strong[0]) ? "rtl" : "ltr";
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

// make("button", { class: "x", click: () => ... }, "text", element): functions listen, the rest are attributes
export function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function makeSvg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// an SVG text that stays in its own direction beside others
export function svgText(text, attributes) {
  return makeSvg("text", { direction: direction(text), "unicode-bidi": "isolate", ...attributes }, text);
}

// an element whose text decides its own direction
export function isolated(tag, attributes, text) {
  return make(tag, { dir: "auto", ...attributes }, text);
}

const pen = document.createElement("canvas").getContext("2d");

export const FONT = "13px system-ui, 'Noto Sans', sans-serif";

export function textWidth(text) {
  pen.font = FONT;
  return pen.measureText(text).width;
}

export function number(value, digits = 3) {
  return value === null || value === undefined || Number.isNaN(value) ? "\u2013" : Number(value).toFixed(digits);
}
