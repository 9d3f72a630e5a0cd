// From a weight to a colour that everybody can tell apart: from blue to yellow, lightness rising evenly, so that it also works in grey.

const ANCHORS = [
  [8, 18, 46],
  [24, 50, 98],
  [62, 84, 118],
  [104, 116, 124],
  [150, 150, 116],
  [202, 188, 94],
  [254, 236, 128],
];
const STEPS = 256;

// 256 colours for weights from 0 to the largest. Nothing is near the page's own colour: dark pages begin with blue, light ones with yellow.
export function colourTable(dark) {
  const table = new Uint8ClampedArray(STEPS * 3);
  for (let i = 0; i < STEPS; i += 1) {
    const place = ((dark ? i : STEPS - 1 - i) / (STEPS - 1)) * (ANCHORS.length - 1);
    const low = Math.min(Math.floor(place), ANCHORS.length - 2);
    for (let c = 0; c < 3; c += 1) table[i * 3 + c] = ANCHORS[low][c] + (place - low) * (ANCHORS[low + 1][c] - ANCHORS[low][c]);
  }
  return table;
}

export function colourOf(table, share) {
  const i = Math.round(Math.min(1, Math.max(0, share || 0)) * (STEPS - 1)) * 3;
  return `rgb(${table[i]},${table[i + 1]},${table[i + 2]})`;
}

// black or white, whichever can be read on a colour
export function inkOn(table, share) {
  const i = Math.round(Math.min(1, Math.max(0, share || 0)) * (STEPS - 1)) * 3;
  return 0.299 * table[i] + 0.587 * table[i + 1] + 0.114 * table[i + 2] > 125 ? "#000" : "#fff";
}

// lines that are told apart by everyone (Okabe and Ito), and by their dashes
export const LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
export const DASHES = ["none", "6 3", "2 3", "8 3 2 3", "12 4", "1 2"];
