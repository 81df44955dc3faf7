/** Finds many sequences of symbols at once, in one pass however many there are (Aho and Corasick's automaton). */

export type Automaton = {
  /** Class of each byte; 0 for one that no sequence has. */
  readonly classes: Uint8Array;
  /** Classes, the one of strangers included. */
  readonly width: number;
  /** The state after `state` and a class, at `state * width + class`. State 0 is the beginning. */
  readonly next: Int32Array;
  /** How many symbols a state has read of a sequence that may yet become whole. */
  readonly depth: Int32Array;
  /** Length of the longest sequence that ends with a state; 0 for none. */
  readonly ends: Int32Array;
  readonly longest: number;
};

/** `fold` makes symbols one that count as the same. */
export function automatonOf(
  sequences: readonly Uint8Array[],
  fold: (byte: number) => number = (byte) => byte,
): Automaton {
  const classes = new Uint8Array(256);
  let width = 1;
  for (const sequence of sequences)
    for (const byte of sequence) {
      const symbol = fold(byte);
      if (classes[symbol] === 0) classes[symbol] = width++;
    }
  for (let byte = 0; byte < 256; byte++) classes[byte] = classes[fold(byte)] ?? 0;
  const size = sequences.reduce((sum, sequence) => sum + sequence.length, 1);
  const next = new Int32Array(size * width);
  const depth = new Int32Array(size);
  const ends = new Int32Array(size);
  let states = 1;
  for (const sequence of sequences) {
    let state = 0;
    for (const byte of sequence) {
      const at = state * width + (classes[byte] ?? 0);
      let to = next[at] ?? 0;
      if (to === 0) {
        to = states++;
        next[at] = to;
        depth[to] = (depth[state] ?? 0) + 1;
      }
      state = to;
    }
    ends[state] = sequence.length;
  }
  // Breadth first: a state's fall-back is shorter, and done before it.
  const back = new Int32Array(size);
  const queue: number[] = [];
  for (let c = 0; c < width; c++) {
    const to = next[c] ?? 0;
    if (to !== 0) queue.push(to);
  }
  for (let head = 0; head < queue.length; head++) {
    const state = queue[head] ?? 0;
    const fall = back[state] ?? 0;
    if (ends[state] === 0) ends[state] = ends[fall] ?? 0;
    for (let c = 0; c < width; c++) {
      const at = state * width + c;
      const to = next[at] ?? 0;
      const other = next[fall * width + c] ?? 0;
      if (to === 0) next[at] = other;
      else {
        back[to] = other;
        queue.push(to);
      }
    }
  }
  const longest = sequences.reduce((most, sequence) => Math.max(most, sequence.length), 0);
  return { classes, width, next, depth, ends, longest };
}
