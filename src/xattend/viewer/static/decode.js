// A trace document opened: blobs unpacked, weights by step, head and position. The format is described in docs/trace.md.

const SQUARES = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255) ** 2);

// weights of target step x head x source position; `plane` is one head's matrix, of head -1 the mean of all
export class Weights {
  constructor(shape, data) {
    [this.steps, this.heads, this.positions] = shape;
    this.bytes = data instanceof Uint8Array;
    this.data = data;
    this.kept = new Map();
  }

  at(step, head, position) {
    if (head < 0) return this.plane(-1)[step * this.positions + position];
    const value = this.data[(step * this.heads + head) * this.positions + position];
    return this.bytes ? SQUARES[value] : value;
  }

  plane(head) {
    if (this.heads === 1) head = 0;
    if (this.kept.has(head)) return this.kept.get(head);
    const { steps, heads, positions, data } = this;
    const found = new Float32Array(steps * positions);
    const first = head < 0 ? 0 : head;
    const after = head < 0 ? heads : head + 1;
    for (let step = 0; step < steps; step += 1) {
      const to = step * positions;
      for (let one = first; one < after; one += 1) {
        const from = (step * heads + one) * positions;
        if (this.bytes) for (let s = 0; s < positions; s += 1) found[to + s] += SQUARES[data[from + s]];
        else for (let s = 0; s < positions; s += 1) found[to + s] += data[from + s];
      }
    }
    if (after - first > 1) for (let i = 0; i < found.length; i += 1) found[i] /= after - first;
    if (this.kept.size > 4) this.kept.delete(this.kept.keys().next().value);
    this.kept.set(head, found);
    return found;
  }

  row(step, head) {
    return this.plane(head).subarray(step * this.positions, (step + 1) * this.positions);
  }
}

export function largest(values) {
  let most = 0;
  for (let i = 0; i < values.length; i += 1) if (values[i] > most) most = values[i];
  return most;
}

function unbase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function unpack(doc, blob) {
  const packed = new Blob([unbase64(doc.blobs[blob])]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

const BYTES = { sqrt8: 1, int8: 1, int16: 2, float32: 4 }; // bytes of a number, by its encoding

// an array as it is packed: bytes of shares stay bytes, as there may be many
async function openPacked(doc, given) {
  const bytes = await unpack(doc, given.blob), count = given.shape.reduce((product, size) => product * size, 1);
  if (!BYTES[given.encoding] || bytes.length !== count * BYTES[given.encoding]) throw new Error("an array of this trace is damaged");
  if (given.encoding === "float32") return new Float32Array(bytes.buffer, 0, count);
  if (given.encoding === "int8") return new Int8Array(bytes.buffer, 0, count);
  return given.encoding === "int16" ? new Int16Array(bytes.buffer, 0, count) : bytes;
}

async function openWeights(doc, given) {
  if (!["sqrt8", "float32"].includes(given.encoding)) throw new Error("the weights of this trace are damaged");
  return new Weights(given.shape, await openPacked(doc, given));
}

// any other array, as numbers: { shape, values }
async function openArray(doc, given) {
  const packed = await openPacked(doc, given), step = given.scale / (given.encoding === "int8" ? 127 : 32767);
  const number_ = { sqrt8: (byte) => SQUARES[byte], float32: (value) => value }[given.encoding] || ((level) => level * step);
  return { shape: given.shape, values: given.encoding === "float32" ? packed : Float32Array.from(packed, number_) };
}

async function openPicture(doc, media) {
  if (!media) return null;
  return createImageBitmap(new Blob([await unpack(doc, media.blob)], { type: media.type }));
}

// what views are given: the document, and `weights`, `modes`, `picture`, `seen` and `arrays` unpacked
export async function openTrace(doc) {
  if (!doc || doc.format !== "xattend-trace") throw new Error("this is no trace");
  if (doc.version !== 2) throw new Error(`this is a trace of version ${Number(doc.version)}, and this viewer reads version 2`);
  const names = Object.keys(doc.modes || {}), kept = Object.keys(doc.arrays || {});
  const [weights, picture, seen, arrays, others] = await Promise.all([
    openWeights(doc, doc.weights), openPicture(doc, doc.source.media), openPicture(doc, doc.source.seen),
    Promise.all(kept.map((name) => openArray(doc, doc.arrays[name]))), Promise.all(names.map((name) => openWeights(doc, doc.modes[name]))),
  ]);
  const [steps, heads, positions] = doc.weights.shape;
  const source = doc.source.tokens.length ? doc.source.tokens : Array.from({ length: positions }, (_, place) => String(place));
  return {
    doc, kind: doc.kind, steps, heads, positions, weights, picture, seen, media: doc.source.media, grid: doc.source.grid, source,
    target: doc.target.tokens, logprobs: doc.target.logprobs || [], names: doc.heads, nbest: doc.nbest || [], tree: doc.tree || null,
    modes: names.map((name, at) => ({ name, weights: others[at], logprobs: doc.modes[name].logprobs || null })), edits: doc.edits || null,
    arrays: Object.fromEntries(kept.map((name, at) => [name, arrays[at]])), seconds: doc.source.seconds || 0, rate: doc.source.rate || 0, notes: doc.notes || [],
  };
}
