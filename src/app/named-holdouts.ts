/** The holdout directories that requests have named, kept in the runs directory: no later request may read them as anything else. */
import { isAbsolute } from 'node:path';
import * as z from 'zod';
import { jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import { requestLayout } from '../core/records/layout.ts';
import { readPlain } from '../platform/files/read.ts';
import { appendSharedLine } from './acts.ts';

const lineSchema = once(() => z.looseObject({ holdout: z.string().refine(isAbsolute) }));

/** Absolute and real, each once. Throws the system's error if they cannot be read: then nothing may be offered. */
export function knownHoldouts(runsDir: string): readonly string[] {
  const read = readPlain(requestLayout(runsDir).holdouts);
  if (read.kind === 'missing') return [];
  if (read.kind !== 'text') throw new Error(`${requestLayout(runsDir).holdouts} ${read.why}`);
  const lines = read.text.split('\n').map((line) => lineSchema().safeParse(jsonIn(line)).data?.holdout);
  return [...new Set(lines.filter((one) => one !== undefined))];
}

/** `holdout`: the real path. The runs directory exists. */
export function keepHoldout(runsDir: string, holdout: string, runId: string): void {
  if (knownHoldouts(runsDir).includes(holdout)) return;
  const line = JSON.stringify({ schema_version: 1, holdout, run_id: runId });
  appendSharedLine(requestLayout(runsDir).holdouts, line);
}
