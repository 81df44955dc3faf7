/** The run that a command names, as far as its checkpoint has come. */
import { resolve } from 'node:path';
import type { Diagnostic } from '../model/diagnostic.ts';
import { readSoFar } from '../store/moment.ts';
import { findRun } from '../store/run-store.ts';
import type { Io } from './io.ts';
import { wrong } from './refuse.ts';

type SoFar = Extract<Awaited<ReturnType<typeof readSoFar>>, { ok: true }> & { readonly runDir: string };

/** Answers with what is wrong where there is no such run, or its files cannot be read. `runDir` is absolute. */
export async function soFarOf(
  run: string,
  options: { readonly runsdir?: string },
  io: Pick<Io, 'cwd'>,
): Promise<SoFar | Diagnostic> {
  const found = await findRun(resolve(io.cwd, options.runsdir ?? '.factory/runs'), run);
  if (!found.ok) return wrong('no-run', found.why);
  const runDir = resolve(io.cwd, found.dir);
  const read = await readSoFar(runDir);
  return read.ok ? { ...read, runDir } : wrong('run-files', read.why);
}
