/** `bench/history.jsonl`: the medians of recorded measurements, by commit, to compare later ones with. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { factory, type Quantity, quantities } from './case.ts';
import type { CaseResult } from './contest.ts';

/** Medians of `factory` by case. Units as in the names of the quantities. */
export type Figures = Readonly<Record<string, Readonly<Partial<Record<Quantity, number>>>>>;
export type Recorded = {
  /** Abbreviated; with `+` if files differed from it. */
  readonly commit: string;
  readonly at: string;
  readonly machine: string;
  readonly quick: boolean;
  readonly figures: Figures;
};

const fileOf = (project: string): string => join(project, 'bench/history.jsonl');

/** The latest measurement of each case on the same machine with the same sizes; empty without one. */
export function earlierFigures(project: string, machine: string, quick: boolean): Recorded | undefined {
  const all = readHistory(project).filter((one) => one.machine === machine && one.quick === quick);
  const last = all.at(-1);
  return last === undefined
    ? undefined
    : {
        ...last,
        figures: Object.assign(
          {},
          ...all.filter(({ commit }) => commit === last.commit).map(({ figures }) => figures),
        ),
      };
}

function readHistory(project: string): Recorded[] {
  let text: string;
  try {
    text = readFileSync(fileOf(project), 'utf8');
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Recorded]));
}

/** Appends one line with the medians of `results`. */
export function record(
  project: string,
  results: readonly CaseResult[],
  facts: { readonly at: string; readonly machine: string; readonly quick: boolean },
): Recorded {
  const line = { commit: commitOf(project), ...facts, figures: figuresOf(results) };
  appendFileSync(fileOf(project), `${JSON.stringify(line)}\n`);
  return line;
}

const figuresOf = (results: readonly CaseResult[]): Figures =>
  Object.fromEntries(
    results.map(({ name, measured }) => [
      name,
      Object.fromEntries(
        quantities.flatMap((quantity) => {
          const median = measured[factory]?.[quantity]?.median;
          return median === undefined ? [] : [[quantity, Number(median.toPrecision(4))]];
        }),
      ),
    ]),
  );

function commitOf(project: string): string {
  const git = (...words: string[]) =>
    execFileSync('git', ['-C', project, ...words], { encoding: 'utf8' }).trim();
  const changed =
    git('status', '--porcelain', '--untracked-files=no', '--', 'src', 'scripts', 'package.json') !== '';
  return `${git('rev-parse', '--short=8', 'HEAD')}${changed ? '+' : ''}`;
}
