/** What stands on the bench's command line. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { nearest } from '../src/core/nearest.ts';
import { splitWords } from '../src/core/policy/words.ts';
import { cases } from './cases/index.ts';
import { highestPriority, type Priority, usualPriority } from './priority.ts';

export type Options = {
  readonly quick: boolean;
  /** Names of cases; all of them when empty. */
  readonly only: readonly string[];
  /** Rounds of every case; undefined for each its own number. */
  readonly runs: number | undefined;
  /** The words of the other program. */
  readonly against: readonly string[] | undefined;
  /** Absolute; undefined for a file of its own in `bench/results/`. */
  readonly json: string | undefined;
  readonly plot: string | undefined;
  readonly limitMs: number;
  /** Add the medians to `bench/history.jsonl`. */
  readonly record: boolean;
  readonly priority: Priority;
};

export const usage = `usage: npm run bench -- [--quick] [--only CASE,…] [--runs N] [--against "COMMAND"]
                        [--json FILE] [--plot FILE.svg] [--limit SECONDS] [--record]
                        [--usual-priority]
cases: ${cases.map(({ name }) => name).join(', ')}`;

/** The options, or what is wrong with the flags and how to mend it. `folder` is where relative paths begin. */
export function readFlags(argv: readonly string[], folder: string): Options | { readonly problem: string } {
  let values: ReturnType<typeof parse>;
  try {
    values = parse(argv);
  } catch (error) {
    return { problem: (error as Error).message };
  }
  const only = (values.only ?? '').split(',').flatMap((name) => name.trim() || []);
  const names = cases.map(({ name }) => name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const near = nearest(unknown, names);
    return {
      problem: `--only names "${unknown}", which is no case${near === undefined ? '' : `: did you mean "${near}"?`}`,
    };
  }
  if (values.only !== undefined && only.length === 0) return { problem: '--only names no case' };
  const runs = wholeNumber(values.runs);
  if (runs === null) return { problem: `--runs is ${values.runs}: give a whole number of at least 1` };
  const limit = wholeNumber(values.limit ?? '1800');
  if (limit === null || limit === undefined)
    return { problem: `--limit is ${values.limit}: give a whole number of seconds` };
  const split = values.against === undefined ? undefined : splitWords(values.against);
  if (split !== undefined && 'problem' in split)
    return { problem: `--against cannot be read: ${split.problem}, at character ${split.at + 1}` };
  if (split?.words.length === 0) return { problem: '--against is empty: name a program' };
  const path = (file: string | undefined) => (file === undefined ? undefined : resolve(folder, file));
  return {
    quick: values.quick,
    only,
    runs,
    against: split?.words,
    json: path(values.json),
    plot: path(values.plot),
    // A timer counts to 2^31 ms.
    limitMs: Math.min(limit, 2_000_000) * 1000,
    record: values.record,
    priority: values['usual-priority'] ? usualPriority : highestPriority(),
  };
}

const parse = (argv: readonly string[]) =>
  parseArgs({
    args: [...argv],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      runs: { type: 'string' },
      against: { type: 'string' },
      json: { type: 'string' },
      plot: { type: 'string' },
      limit: { type: 'string' },
      record: { type: 'boolean', default: false },
      'usual-priority': { type: 'boolean', default: false },
    },
  }).values;

/** Null for what is no whole number of at least one. */
function wholeNumber(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  return /^\d+$/.test(text) && number >= 1 && Number.isSafeInteger(number) ? number : null;
}
