/** `factory steer`: gives the next agent of a run a note. */
import { thisUser } from '../app/acts.ts';
import { reportOfNote, steerRun } from '../app/steer-run.ts';
import { findNamed } from './find-run.ts';
import type { CliIo } from './io.ts';
import { noteWords } from './report/inspect.ts';
import type { VerbResult } from './verb.ts';

export type SteerOptions = {
  readonly runsdir?: string;
  readonly branch?: string;
  readonly by?: string;
  readonly json?: boolean;
};

/** 0: the note waits for the next agent; 1: the run has ended. */
export async function steerCommand(
  run: string,
  text: string,
  options: SteerOptions,
  io: CliIo,
): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const { branch } = options;
  const request = { text, branch, by: options.by ?? thisUser(), from: 'command' as const };
  const given = await steerRun(found.dir, request, io);
  if ('problems' in given) return given;
  const report = await reportOfNote(found.dir, request, given.note, io);
  io.out(
    options.json === true
      ? `${JSON.stringify(report, null, 2)}\n`
      : `${steeredText(report.note, report.next)}\n`,
  );
  return 0;
}

const steeredText = (note: Parameters<typeof noteWords>[0], next: string): string =>
  [noteWords(note), ...(next === '' ? [] : [`next: ${next}`])].join('\n');
