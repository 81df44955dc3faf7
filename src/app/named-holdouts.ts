/** The holdout directories that requests have named, kept in the runs directory: no later request may read them as anything else. */
import { isAbsolute } from 'node:path';
import * as z from 'zod';
import { jsonIn } from '../core/json.ts';
import { once } from '../core/once.ts';
import { requestLayout } from '../core/records/layout.ts';
import { readPlain } from '../platform/files/read.ts';
import { makeRunsDir } from '../run/runs.ts';
import { appendSharedLine } from './acts.ts';

/** `holdout` is null in the line that a run left which did not begin. */
const lineSchema = once(() =>
  z.looseObject({ holdout: z.string().refine(isAbsolute).nullable(), run_id: z.string() }),
);

/** Absolute and real, each once. Throws the system's error if they cannot be read: then nothing may be offered. */
export function knownHoldouts(runsDir: string): readonly string[] {
  const read = readPlain(requestLayout(runsDir).holdouts);
  if (read.kind === 'missing') return [];
  if (read.kind !== 'text') throw new Error(`${requestLayout(runsDir).holdouts} ${read.why}`);
  const byRun = new Map<string, string | null>();
  for (const line of read.text.split('\n')) {
    const { data } = lineSchema().safeParse(jsonIn(line));
    if (data !== undefined) byRun.set(data.run_id, data.holdout);
  }
  return [...new Set([...byRun.values()].filter((one) => one !== null))];
}

/** Before the run begins: from its first moment on no other request may read the folder. `holdout`: the real path. */
export async function keepHoldout(
  runsDir: string,
  holdout: string | undefined,
  runId: string,
): Promise<void> {
  if (holdout === undefined) return;
  await makeRunsDir(runsDir);
  appendHoldout(runsDir, holdout, runId);
}

/** Of a run that did not begin. The same folder stays known by the lines of other runs. */
export function releaseHoldout(runsDir: string, holdout: string | undefined, runId: string): void {
  if (holdout !== undefined) appendHoldout(runsDir, null, runId);
}

function appendHoldout(runsDir: string, holdout: string | null, runId: string): void {
  const line = JSON.stringify({ schema_version: 1, holdout, run_id: runId });
  appendSharedLine(requestLayout(runsDir).holdouts, line);
}
