// A matrix of numbers as a canvas of cells, of a given size: weights by the colours of the page, numbers of either sign from blue to orange.

import { make } from "./dom.js";
import { paintCells } from "./pane.js";

const BELOW = [0, 114, 178];
const ABOVE = [213, 94, 0];

// edges of so many runs of equal length
function edgesOf(count, runs) {
  return Int32Array.from({ length: runs + 1 }, (_, at) => Math.floor((at * count) / runs));
}

// rows x columns as columns x rows
export function turned(values, rows, columns) {
  const found = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row += 1) for (let column = 0; column < columns; column += 1) found[column * rows + row] = values[row * columns + column];
  return found;
}

// of a row of weights the largest in each of so many equal parts
export function alongTime(weights, cells) {
  const edges = edgesOf(weights.length, cells);
  return Float32Array.from({ length: cells }, (_, cell) => {
    let most = 0;
    for (let at = edges[cell]; at < Math.max(edges[cell + 1], edges[cell] + 1); at += 1) if (weights[at] > most) most = weights[at];
    return most;
  });
}

// where cells are smaller than pixels, a pixel has the largest weight of its cells
export function heatMap(canvas, values, rows, columns, table, full) {
  const pen_ = canvas.getContext("2d"), wide = Math.min(columns, canvas.width), high = Math.min(rows, canvas.height);
  pen_.imageSmoothingEnabled = false;
  if (wide > 0 && high > 0) pen_.drawImage(paintCells(values, columns, edgesOf(columns, wide), edgesOf(rows, high), table, full), 0, 0, canvas.width, canvas.height);
}

// white, or black on a dark page, is 0; `full` is the strongest colour of either sign
export function signedMap(canvas, values, rows, columns, dark, full) {
  const small = make("canvas", { width: Math.max(1, columns), height: Math.max(1, rows) }), pen_ = small.getContext("2d");
  const pixels = pen_.createImageData(small.width, small.height), zero = dark ? 20 : 255;
  for (let at = 0; at < rows * columns; at += 1) {
    const share = Math.max(-1, Math.min(1, values[at] / (full || 1))), colour = share < 0 ? BELOW : ABOVE;
    for (let c = 0; c < 3; c += 1) pixels.data[4 * at + c] = Math.round(zero + Math.abs(share) * (colour[c] - zero));
    pixels.data[4 * at + 3] = 255;
  }
  pen_.putImageData(pixels, 0, 0);
  const large = canvas.getContext("2d");
  large.imageSmoothingEnabled = false;
  large.drawImage(small, 0, 0, canvas.width, canvas.height);
}

// the largest number, whatever its sign
export function farthest(values) {
  let most = 0;
  for (let at = 0; at < values.length; at += 1) if (Math.abs(values[at]) > most) most = Math.abs(values[at]);
  return most;
}

// the column and row under the pointer, of a canvas with so many
export function cellUnder(event, canvas, rows, columns) {
  const box = canvas.getBoundingClientRect();
  const at = (from, length, count) => Math.min(count - 1, Math.max(0, Math.floor((from / (length || 1)) * count)));
  return { row: at(event.clientY - box.top, box.height, rows), column: at(event.clientX - box.left, box.width, columns) };
}
