/** Says why nothing was done, with the text that is wrong. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Diagnostic } from '../model/diagnostic.ts';
import { asCalled } from './called.ts';
import { draw, fewOfEach } from './draw.ts';
import type { Io } from './io.ts';
import { errColumns, paints } from './io.ts';

/** An error with its fix, without a place in a text. */
export const wrong = (code: string, message: string, fix?: string): Diagnostic => ({
  code,
  severity: 'error',
  message,
  ...(fix === undefined ? {} : { fix }),
});

/** Prints what is wrong on standard error; with `json` the result on standard output has it too, and `more`. Answers with
 *  the exit code. */
export async function refuse(
  found: readonly Diagnostic[],
  io: Io,
  options: { readonly json?: boolean; readonly color?: boolean },
  code = 2,
  more: object = {},
): Promise<number> {
  const problems = found.map((problem) => typed(problem, io));
  if (options.json === true)
    io.out(
      `${JSON.stringify({ schema_version: 1, status: 'refused', exit_code: code, problems, ...more }, null, 2)}\n`,
    );
  const texts = new Map<string, string | undefined>();
  for (const { place } of problems)
    if (place !== undefined && !texts.has(place.file))
      // A file that cannot be read any more is drawn without its line.
      texts.set(place.file, await readFile(resolve(io.cwd, place.file), 'utf8').catch(() => undefined));
  printFindings(problems, (file) => texts.get(file), io, options.color);
  return code;
}

/** Prints findings on standard error: on a terminal the first of each code. */
export function printFindings(
  found: readonly Diagnostic[],
  textOf: (file: string) => string | undefined,
  io: Io,
  color: boolean | undefined,
): void {
  const colour = paints(io, io.errIsTerminal, color);
  const { told, more } = fewOfEach(found, io.errIsTerminal);
  for (const one of told)
    io.err(
      `${draw(one, one.place === undefined ? undefined : textOf(one.place.file), colour, errColumns(io))}\n`,
    );
  for (const line of more) io.err(`${line}\n`);
}

/** With the commands that it proposes as this user types them. Only our own words are touched, no text of a pipeline. */
const typed = (problem: Diagnostic, { called }: Io): Diagnostic => ({
  ...problem,
  message: problem.place === undefined ? asCalled(problem.message, called?.program) : problem.message,
  ...(problem.fix === undefined ? {} : { fix: asCalled(problem.fix, called?.program) }),
});
