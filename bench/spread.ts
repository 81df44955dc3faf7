/** Arithmetic of measurements: spreads, paired comparisons, and how a cost grows with the length of a run. */

export type Spread = { readonly min: number; readonly median: number; readonly max: number };

/** Undefined for no values at all. Of an even number of values the median is the mean of the middle two. */
export function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const min = sorted[0];
  const max = sorted.at(-1);
  if (min === undefined || max === undefined) return undefined;
  const upper = sorted[sorted.length >> 1] ?? max;
  const lower = sorted[(sorted.length - 1) >> 1] ?? min;
  return { min, median: (lower + upper) / 2, max };
}

/** How two measurements of one round are held against each other; `value` looks at the first alone. */
export type How = 'ratio' | 'difference' | 'value';

/** One number for each round in which both were measured, so that load which hits a round hits both sides of it. */
export function paired(
  how: How,
  ours: readonly (number | undefined)[],
  theirs: readonly (number | undefined)[],
): number[] {
  return ours.flatMap((mine, round) => {
    if (mine === undefined) return [];
    if (how === 'value') return [mine];
    const other = theirs[round];
    if (other === undefined || (how === 'ratio' && other === 0)) return [];
    return [how === 'ratio' ? mine / other : mine - other];
  });
}

/** Differences of neighbours: what each node but the first added to the run. */
export const stepsOf = (times: readonly number[]): number[] =>
  times.slice(1).map((time, index) => time - (times[index] ?? time));

/** Means of `size` neighbours; a shorter rest at the end counts to the last block. */
export function blocksOf(costs: readonly number[], size: number): number[] {
  const whole = Math.max(1, Math.floor(costs.length / size));
  return Array.from({ length: costs.length === 0 ? 0 : whole }, (_, index) => {
    const block = costs.slice(index * size, index === whole - 1 ? undefined : (index + 1) * size);
    return block.reduce((sum, cost) => sum + cost, 0) / block.length;
  });
}

/** The clock of a file system moves in steps of up to 10 ms: only a block of nodes is long enough to be told by it. */
export const blockSize = 25;
const skipped = 10;

/** How often the cost of the first nodes (from the tenth on) goes into that of the last ones: medians over the blocks
 *  of two windows, each a quarter of the run but no more than 250 nodes. Undefined for a run too short to tell. */
export function growthOf(costs: readonly number[]): number | undefined {
  const window = windowOf(costs.length);
  if (window === undefined) return undefined;
  const first = spreadOf(blocksOf(costs.slice(skipped, skipped + window), blockSize))?.median;
  const last = spreadOf(blocksOf(costs.slice(-window), blockSize))?.median;
  return first === undefined || last === undefined || first <= 0 ? undefined : last / first;
}

/** Nodes; undefined for a run too short to tell its growth. */
function windowOf(count: number): number | undefined {
  const window = Math.min(250, Math.floor(count / 4 / blockSize) * blockSize);
  return window < 2 * blockSize ? undefined : window;
}

/** The growth of `costs` beyond that of the work which is the same at every node: what the kernel counted for the stages
 *  in the same two windows. A processor that others slow down meanwhile moves both alike. `times` are the nodes' moments,
 *  `pulses` what the stages had used when, both in order. Undefined for a run too short, or when too little was felt. */
export function evenGrowthOf(
  times: readonly number[],
  pulses: readonly { readonly at: number; readonly used: number }[],
): number | undefined {
  const end = pulses.at(-1)?.at ?? 0;
  // The program ends between two pulses: what came after the last of them is not known.
  const felt = times.filter((time) => time <= end);
  const growth = growthOf(stepsOf(felt));
  const window = windowOf(felt.length - 1);
  if (growth === undefined || window === undefined) return undefined;
  const between = (from: number, to: number) =>
    usedAt(felt.at(to) ?? Number.NaN, pulses) - usedAt(felt.at(from) ?? Number.NaN, pulses);
  const first = between(skipped, skipped + window);
  const last = between(-1 - window, -1);
  return first > 0 && last > 0 ? growth / (last / first) : undefined;
}

function usedAt(time: number, pulses: readonly { readonly at: number; readonly used: number }[]): number {
  const next = pulses.findIndex(({ at }) => at >= time);
  const right = pulses[next];
  const left = pulses[next - 1] ?? right;
  if (left === undefined || right === undefined) return Number.NaN;
  const part = right.at === left.at ? 0 : (time - left.at) / (right.at - left.at);
  return left.used + part * (right.used - left.used);
}
