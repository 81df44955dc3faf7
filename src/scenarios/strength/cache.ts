/** Outcomes of mutants that are kept, so that a measurement that was ended can be continued. They say what the scenarios do not test:
 *  only their user may read them. */
import { appendFileSync, chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { Environment } from '../../core/contracts/process.ts';
import { once } from '../../core/once.ts';
import { readPlain } from '../../platform/files/read.ts';
import { removeFile } from '../../platform/files/write.ts';
import { type MutantOutcome, mutantOutcomes } from './tally.ts';

export type StrengthCache = {
  /** What is known under a key: outcomes by the ids of mutants. */
  read(key: string): ReadonlyMap<string, MutantOutcome>;
  add(key: string, id: string, outcome: MutantOutcome): void;
  /** Forgets all under a key: it may be wrong. */
  drop(key: string): void;
};

const lineSchema = once(() => z.object({ mutant: z.string(), outcome: z.enum(mutantOutcomes) }));

/** The newest files that are kept. */
const mostFiles = 50;

/** Files in `XDG_CACHE_HOME` or `~/.cache`, a line for each mutant. Without either, or where they cannot be written, nothing is kept. */
export function openStrengthCache(env: Environment): StrengthCache {
  const top = env['XDG_CACHE_HOME'] || (env['HOME'] ? join(env['HOME'], '.cache') : undefined);
  if (top === undefined) return noStrengthCache;
  const folder = join(top, 'factory', 'strength');
  const fileOf = (key: string): string => join(folder, `${key}.jsonl`);
  return {
    read: (key) => outcomesIn(fileOf(key)),
    add: (key, id, outcome) =>
      whereWritable(() => {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        const file = fileOf(key);
        const isNew = statSync(file, { throwIfNoEntry: false }) === undefined;
        appendFileSync(file, `${JSON.stringify({ mutant: id, outcome })}\n`, { mode: 0o600 });
        if (!isNew) return;
        chmodSync(file, 0o600);
        removeOldest(folder);
      }),
    drop: (key) => whereWritable(() => removeFile(fileOf(key))),
  };
}

export const noStrengthCache: StrengthCache = { read: () => new Map(), add: () => {}, drop: () => {} };

/** A home that cannot be written costs time, no more. */
function whereWritable(act: () => void): void {
  try {
    act();
  } catch {
    // Nothing is kept.
  }
}

function outcomesIn(path: string): ReadonlyMap<string, MutantOutcome> {
  const file = readPlain(path);
  const lines = file.kind === 'text' ? file.text.split('\n') : [];
  return new Map(
    lines.flatMap((line) => {
      const entry = entryIn(line);
      return entry === undefined ? [] : [[entry.mutant, entry.outcome] as const];
    }),
  );
}

/** Undefined for the torn line of a process that was killed. */
function entryIn(line: string) {
  try {
    return lineSchema().safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

function removeOldest(folder: string): void {
  const files = readdirSync(folder).map((name) => join(folder, name));
  const age = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  for (const path of files.sort((a, b) => age(b) - age(a)).slice(mostFiles)) removeFile(path);
}
