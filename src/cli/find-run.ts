/** The run that a command names, and the place of a new one. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '../core/contracts/clock.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { type RunHistory, readRun } from '../store/run-journal.ts';
import { findRun, namedRun, newRunId, validRunId } from '../store/runs.ts';
import type { Io } from './io.ts';

type Place = { readonly runsdir?: string };
/** `dir` is absolute. */
export type NamedRun = { readonly id: string; readonly dir: string };
type Progress = RunHistory & { readonly runDir: string };

export const usage = (message: string, fix: string): Refusal => refused('usage', message, fix);

export const runsDirOf = ({ runsdir }: Place, { cwd }: Pick<Io, 'cwd'>): string =>
  resolve(cwd, runsdir ?? '.factory/runs');

export async function findNamed(
  run: string,
  options: Place,
  io: Pick<Io, 'cwd'>,
): Promise<NamedRun | Refusal> {
  const found = await findRun(runsDirOf(options, io), run);
  return found.ok ? { id: found.id, dir: resolve(io.cwd, found.dir) } : refused('no-run', found.why);
}

/** The run with what its checkpoint and its records say. */
export async function loadProgress(
  run: string,
  options: Place,
  io: Pick<Io, 'cwd'>,
): Promise<Progress | Refusal> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const read = await readRun(found.dir);
  return read.ok ? { ...read, runDir: found.dir } : refused('run-files', read.why);
}

/** The id of a run to create, by default a new one. */
export function newRun(
  runsDir: string,
  id: string | undefined,
  io: Pick<Io, 'cwd'> & { readonly clock: Clock },
): { readonly runsDir: string; readonly runId: string } | Refusal {
  const runId = id ?? newRunId(io.clock);
  const bad = validRunId(runId);
  if (bad !== undefined) return usage(`--run-id: ${bad}`, 'for example --run-id try-1; or leave it out');
  if (!existsSync(join(runsDir, runId))) return { runsDir, runId };
  return usage(
    `there is a run "${runId}" in ${runsDir} already`,
    `resume it: factory resume ${namedRun(join(runsDir, runId), io.cwd)}; or leave out --run-id for a new one`,
  );
}
