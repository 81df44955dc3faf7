/** Measures one case: every program once a round, in turn, so that load on the machine hits all of them alike. */
import { spawnSync } from 'node:child_process';
import {
  against,
  type Bench,
  type Case,
  type Comparison,
  type Measured,
  type Program,
  type Quantity,
  quantities,
  unitOf,
} from './case.ts';
import { readTree } from './material.ts';
import { Failed } from './measure.ts';
import { blockSize, blocksOf, paired, type Spread, spreadOf } from './spread.ts';

export type Values = Spread & { readonly values: readonly (number | null)[] };
export type Compared = {
  readonly what: string;
  readonly how: Comparison['how'];
  /** The unit of the value, `x` for a ratio. */
  readonly unit: string;
  /** Absent when there is no round in which both sides were measured. */
  readonly value?: Values;
  readonly limit?: number;
  /** Of the median; only where there is a limit. */
  readonly met?: boolean;
};
export type CaseResult = {
  readonly name: string;
  readonly title: string;
  readonly rounds: number;
  /** Who → quantity → one value a round, null where that round failed. */
  readonly measured: Readonly<Record<string, Readonly<Partial<Record<Quantity, Values>>>>>;
  /** Who → why. A program that has failed is not asked again. */
  readonly failed: Readonly<Record<string, string>>;
  readonly compared: readonly Compared[];
  /** Who → milliseconds per node in blocks of `block` nodes, medians over the rounds. */
  readonly costs: Readonly<Record<string, readonly number[]>>;
  readonly block: number;
};

export type Setting = {
  readonly bench: Bench;
  readonly rounds: number;
  readonly other: Program | undefined;
  /** Flush the disk where a case wants it. */
  readonly settle: boolean;
  readonly tell: (line: string) => void;
};

type Entry = { readonly name: string; readonly measure: (id: string) => Promise<Measured> };
type Books = { readonly taken: Map<string, (Measured | undefined)[]>; readonly failed: Map<string, string> };

/** Rejects with `Interrupted` only; whatever a program does wrong stands in `failed`. */
export async function hold(
  which: Case,
  { bench, rounds, other, settle, tell }: Setting,
): Promise<CaseResult> {
  const contest = which.prepare(bench);
  const programs = [bench.ours, ...(other === undefined || which.alone ? [] : [other])];
  const entries: Entry[] = [
    ...programs.map((program) => ({
      name: program.name,
      measure: (id: string) => contest.program(program, id),
    })),
    ...Object.entries(contest.beside).map(([name, measure]) => ({ name, measure })),
  ];
  const books: Books = { taken: new Map(entries.map(({ name }) => [name, []])), failed: new Map() };
  for (let round = -(which.warmUps ?? 0); round < rounds; round++) {
    tell(round < 0 ? `${which.name}: warming up` : `${which.name}: round ${round + 1} of ${rounds}`);
    // Whoever goes first finds the machine in another state: every other round goes backwards.
    for (const [index, entry] of (round % 2 === 0 ? entries : [...entries].reverse()).entries()) {
      if (settle && which.settle) spawnSync('sync', ['-f', bench.folder]);
      if (contest.reads !== undefined) readTree(contest.reads);
      await measureOnce(entry, `${which.name}-${round + 1}-${index}`, round, books);
    }
  }
  return resultOf(which, bench, rounds, books);
}

async function measureOnce({ name, measure }: Entry, id: string, round: number, books: Books): Promise<void> {
  if (books.failed.has(name)) return;
  try {
    const measured = await measure(id);
    if (measured.problem !== undefined) books.failed.set(name, measured.problem);
    const taken = books.taken.get(name);
    if (round >= 0 && taken !== undefined) taken[round] = measured;
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    books.failed.set(name, error.message);
  }
}

function resultOf(which: Case, bench: Bench, rounds: number, { taken, failed }: Books): CaseResult {
  const valuesOf = (who: string, quantity: Quantity): (number | undefined)[] =>
    Array.from({ length: rounds }, (_, round) => taken.get(who)?.[round]?.sample[quantity]);
  const measured: Record<string, Partial<Record<Quantity, Values>>> = {};
  const costs: Record<string, readonly number[]> = {};
  for (const [who, all] of taken) {
    const present = all.filter((each) => each !== undefined);
    const ofThis: Partial<Record<Quantity, Values>> = {};
    for (const quantity of quantities) {
      const values = withSpread(valuesOf(who, quantity));
      if (values !== undefined) ofThis[quantity] = values;
    }
    measured[who] = ofThis;
    const curves = present.flatMap((each) =>
      each.costs === undefined ? [] : [blocksOf(each.costs, blockSize)],
    );
    if (curves.length > 0) costs[who] = medianCurve(curves);
  }
  return {
    name: which.name,
    title: which.title(bench.sizes),
    rounds,
    measured,
    failed: Object.fromEntries(failed),
    compared: which.comparisons
      .filter(({ of, to }) => [of[0], to?.[0]].every((who) => who !== against || taken.has(against)))
      .map((comparison) => compare(comparison, valuesOf)),
    costs,
    block: blockSize,
  };
}

/** Rounds that were not measured are kept as null, so that the values of a round stay beside each other. */
function withSpread(values: readonly (number | undefined)[]): Values | undefined {
  const spread = spreadOf(values.filter((value) => value !== undefined));
  return spread === undefined ? undefined : { ...spread, values: values.map((value) => value ?? null) };
}

/** Holds two quantities against each other, and the median against the limit. A target that could not be measured is
 *  not met. */
export function compare(
  { what, how, of, to, limit }: Comparison,
  valuesOf: (who: string, quantity: Quantity) => readonly (number | undefined)[],
): Compared {
  const value = withSpread(paired(how, valuesOf(...of), to === undefined ? [] : valuesOf(...to)));
  return {
    what,
    how,
    unit: how === 'ratio' ? 'x' : unitOf(of[1]),
    ...(value === undefined ? {} : { value }),
    ...(limit === undefined ? {} : { limit, met: value !== undefined && value.median <= limit }),
  };
}

const medianCurve = (curves: readonly (readonly number[])[]): number[] =>
  (curves[0] ?? []).map((_, index) => spreadOf(curves.flatMap((curve) => curve[index] ?? []))?.median ?? 0);

/** Ours failed in one of them, or the baseline did: there is no measurement to speak of. */
export const anyOfOursFailed = (results: readonly CaseResult[]): boolean =>
  results.some(({ failed }) => Object.keys(failed).some((who) => who !== against));
