/** The run that a command names, and the place of a new one. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { JobHost } from '../app/queued-run.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { openRun } from '../run/open-run.ts';
import type { RunHistory } from '../run/run-journal.ts';
import { findRun, namedRun, newRunId, newRunIdProblem } from '../run/runs.ts';
import type { Io } from './io.ts';
import { databaseUrlOf } from './options.ts';

type Place = { readonly runsdir?: string; readonly db?: string };
/** `dir` is absolute. */
export type NamedRun = { readonly id: string; readonly dir: string };
type Progress = RunHistory & { readonly runDir: string };

export const usage = (message: string, fix: string): Refusal => refused('usage', message, fix);

export const runsDirOf = ({ runsdir }: Place, { cwd }: Pick<Io, 'cwd'>): string =>
  resolve(cwd, runsdir ?? '.factory/runs');

/** The run with this name: its id or a unique prefix, `latest`, `-2`, the path of its directory, or its title; with `titles: 'none'`
 *  a title names no run. */
export async function findNamed(
  run: string,
  options: Place & { readonly titles?: 'none' },
  io: JobHost,
): Promise<NamedRun | Refusal> {
  const runsDir = runsDirOf(options, io);
  const found = await findRun(runsDir, run);
  if (found.ok) return { id: found.id, dir: resolve(io.cwd, found.dir) };
  const titled = await byTitle(runsDir, run);
  const [id] = titled;
  if (id === undefined) {
    const { queuedRefusal } = await import('./queued.ts');
    return (
      (await queuedRefusal(runsDir, run, { ...io, db: databaseUrlOf(options, io) })) ??
      refused('no-run', found.why)
    );
  }
  const isName = options.titles !== 'none';
  if (titled.length === 1 && isName) return { id, dir: join(runsDir, id) };
  const ids = titled.slice(0, 5).join(', ') + (titled.length > 5 ? ', …' : '');
  if (!isName)
    return refused('no-run', `"${run}" is a title, not the id of a run`, `name a run by its id: ${ids}`);
  return refused('no-run', `${titled.length} runs have the title "${run}": ${ids}; name one by its id`);
}

/** Ids of the runs with a title, in any case; without any, of those whose title begins so. */
async function byTitle(runsDir: string, name: string): Promise<readonly string[]> {
  const key = name.trim().toLowerCase();
  // What looks like an id or a path is a slip, and reading all titles takes time.
  if (key.length < 3) return [];
  const { runTitles } = await import('../app/inspect/title.ts');
  const titles = (await runTitles(runsDir)).map(({ id, title }) => ({ id, title: title.toLowerCase() }));
  const same = titles.filter(({ title }) => title === key);
  const fit = same.length > 0 ? same : titles.filter(({ title }) => title.startsWith(key));
  return fit.map(({ id }) => id);
}

/** The run with what its checkpoint and its records say. */
export async function loadProgress(run: string, options: Place, io: JobHost): Promise<Progress | Refusal> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const read = openRun(found.dir).history();
  return read.ok ? { ...read, runDir: found.dir } : refused('run-files', read.why);
}

/** The id of a run to create, by default a new one. */
export function newRun(
  runsDir: string,
  id: string | undefined,
  io: Pick<Io, 'cwd'> & { readonly clock: Clock },
): { readonly runsDir: string; readonly runId: string } | Refusal {
  const runId = id ?? newRunId(io.clock);
  const bad = newRunIdProblem(runId);
  if (bad !== undefined) return usage(`--run-id: ${bad}`, 'for example --run-id try-1; or leave it out');
  if (!existsSync(join(runsDir, runId))) return { runsDir, runId };
  return usage(
    `there is a run "${runId}" in ${runsDir} already`,
    `resume it: factory resume ${namedRun(join(runsDir, runId), io.cwd)}; or leave out --run-id for a new one`,
  );
}
