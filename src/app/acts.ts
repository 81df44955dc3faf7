/** What people asked for from outside of a run: `acts.jsonl` in its directory. No lock is needed, no hash covers it. */
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';
import * as z from 'zod';
import type { Clock } from '../core/contracts/clock.ts';
import { type Json, parseJson } from '../core/json.ts';
import { once } from '../core/once.ts';
import { layout } from '../core/records/layout.ts';
import { named } from '../platform/files/disk-error.ts';
import { readPlain } from '../platform/files/read.ts';
import { typedCommand } from './typed-command.ts';
import type { Host } from './types.ts';

const actSchema = once(() =>
  z.looseObject({
    schema_version: z.literal(1),
    at: z.string().describe('RFC 3339, UTC'),
    who: z.string().describe('The user, or where the request came from'),
    what: z
      .string()
      .describe(
        '`start`, `stop`, `resume`, `fork`, `replay`, `deliver`, `accept_weak`, `answer`, `steer`, `dismiss`, `queue`',
      ),
  }),
);
/** Other fields depend on `what`. */
export type Act = z.infer<ReturnType<typeof actSchema>>;

/** Appends one act. Safe with other writers: the line is one write at the end of the file. Throws the system's error if it
 *  cannot be written; a run directory that is gone is not created again. */
export function recordAct(
  runDir: string,
  act: { readonly who: string; readonly what: string; readonly [detail: string]: Json },
  clock: Pick<Clock, 'now'>,
): void {
  const line = JSON.stringify({ schema_version: 1, at: clock.now().toISOString(), ...act });
  appendSharedLine(layout(runDir).acts, line);
}

/** Appends a line to a file that has several writers. */
export function appendSharedLine(path: string, line: string): void {
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    const file = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644);
    try {
      writeSync(file, `${isTorn(file) ? '\n' : ''}${line}\n`);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw named(path, error);
  }
}

/** Whether a full disk has cut the last line: ours must not be joined to it. */
function isTorn(file: number): boolean {
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
}

/** The acts of a run, in order; lines that are no acts are skipped. */
export function readActs(runDir: string): readonly Act[] {
  const read = readPlain(layout(runDir).acts);
  if (read.kind !== 'text') return [];
  return read.text.split('\n').flatMap((line) => {
    if (line === '') return [];
    try {
      const act = actSchema().safeParse(parseJson(line));
      return act.success ? [act.data] : [];
    } catch {
      return [];
    }
  });
}

/** The user of this process, for `who`. */
export function thisUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

/** Where a run is that is not in the default directory. */
export const placeWords = (runsDir: string, cwd: string): readonly string[] =>
  runsDir === resolve(cwd, '.factory/runs') ? [] : [`--runsdir=${runsDir}`];

/** The command line that does `argv` with the run in `dir`. */
export const commandFor = (
  dir: string,
  argv: readonly string[],
  { cwd, called }: Pick<Host, 'cwd' | 'called'>,
): string => typedCommand(called?.program ?? 'factory', [...argv, ...placeWords(dirname(dir), cwd)]);
