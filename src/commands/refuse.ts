/** Says why nothing was done, with the text that is wrong. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Diagnostic } from '../model/diagnostic.ts';
import { asCalled } from './called.ts';
import { draw } from './draw.ts';
import { fewOfEach } from './few.ts';
import type { Io } from './io.ts';
import { errColumns, paints } from './io.ts';

/** An error with its fix, without a place in a text. */
export const wrong = (code: string, message: string, fix?: string): Diagnostic => ({
  code,
  severity: 'error',
  message,
  ...(fix === undefined ? {} : { fix }),
});

/** A refusal as JSON. */
export const refusal = (problems: readonly Diagnostic[], code: number, more: object = {}): string =>
  `${JSON.stringify({ schema_version: 1, status: 'refused', exit_code: code, problems, ...more }, null, 2)}\n`;

/** Draws what is wrong on standard error; with `json` the result on standard output says it too, and `more`. */
export async function refuse(
  found: readonly Diagnostic[],
  io: Io,
  options: { readonly json?: boolean; readonly color?: boolean },
  code = 2,
  more: object = {},
): Promise<void> {
  const problems = found.map((problem) => typed(problem, io));
  if (options.json === true) {
    io.out(refusal(problems, code, more));
  }
  const colour = paints(io, io.errIsTerminal, options.color);
  const texts = new Map<string, string | undefined>();
  const { told, more: others } = fewOfEach(problems, io.errIsTerminal);
  for (const problem of told) {
    const file = problem.place?.file;
    if (file !== undefined && !texts.has(file)) {
      // A file that cannot be read any more is drawn without its line.
      texts.set(file, await readFile(resolve(io.cwd, file), 'utf8').catch(() => undefined));
    }
    io.err(`${draw(problem, file === undefined ? undefined : texts.get(file), colour, errColumns(io))}\n`);
  }
  for (const line of others) io.err(`${line}\n`);
}

/** With the commands that it proposes as this user types them. Only our own words are touched, no text of a pipeline. */
const typed = (problem: Diagnostic, { called }: Io): Diagnostic => ({
  ...problem,
  message: problem.place === undefined ? asCalled(problem.message, called?.program) : problem.message,
  ...(problem.fix === undefined ? {} : { fix: asCalled(problem.fix, called?.program) }),
});
