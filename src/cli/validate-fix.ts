/** `factory validate --fix`: shows what it would change in pipeline files, and changes them when a person agrees. */
import { readFile, realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { structuredPatch } from 'diff';
import { type FixedPipeline, fixedPipeline } from '../app/fix-pipeline.ts';
import { pipelinePath } from '../app/pipelines.ts';
import { countedItems } from '../core/amounts.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { isMissing, systemWords, writeFileAtomic } from '../platform/files/write.ts';
import { type CliIo, paints } from './io.ts';
import { type Paint, painter } from './report/run.ts';
import type { ValidateOptions } from './validate.ts';

/** Prints the differences of all files first. They are written with `--yes` or when a person on the terminal agrees; otherwise
 *  nothing is. Answers with what `--json` says of each file that it can put right. */
export async function fixFiles(
  files: readonly string[],
  { strict, yes, json, color }: ValidateOptions,
  io: CliIo,
): Promise<{ readonly differences: ReadonlyMap<string, object> } | Refusal> {
  const found = new Map<string, FixedPipeline>();
  for (const file of files) {
    const fixed = await fixedPipeline(pipelinePath(file, io.cwd), io.cwd, { strict: strict === true });
    if (fixed !== undefined) found.set(file, fixed);
  }
  const paint = painter(paints(io, io.outIsTerminal, color));
  if (json !== true)
    for (const [file, fixed] of found)
      io.out(`${differenceLines(file, fixed).map(painted(paint)).join('\n')}\n`);
  const count = countedItems(
    [...found.values()].reduce((sum, { made }) => sum + made.length, 0),
    'mistake',
  );
  const where = found.size === 1 ? [...found.keys()].join() : countedItems(found.size, 'file');
  const isWritten =
    found.size > 0 &&
    (yes === true || (json !== true && (await isConfirmed(`Fix ${count} in ${where}?`, color, io))));
  if (isWritten)
    for (const [file, { before, after }] of found) {
      const problem = await replaced(resolve(io.cwd, pipelinePath(file, io.cwd)), before, after);
      if (problem !== undefined)
        return refused('pipeline-file', `${file} was not changed: ${problem}`, 'do the same again');
    }
  if (json !== true) io.out(`${summary(found.size, isWritten, count, where)}\n`);
  const differences = [...found].map(([file, fixed]) => {
    const difference = `${differenceLines(file, fixed).join('\n')}\n`;
    return [file, { fixes: fixed.made.length, fixed: isWritten, difference }] as const;
  });
  return { differences: new Map(differences) };
}

/** Asks on a terminal; elsewhere nothing is written without `--yes`. */
async function isConfirmed(message: string, color: boolean | undefined, io: CliIo): Promise<boolean> {
  const { terminal } = io;
  if (terminal === undefined) return false;
  const { confirmOnTerminal } = await import('./ask.ts');
  const colour = paints(io, io.errIsTerminal, color);
  return confirmOnTerminal(message, terminal, { io, colour, signal: io.signal() });
}

function summary(files: number, isWritten: boolean, count: string, where: string): string {
  if (files === 0) return 'nothing to fix that is certain';
  return isWritten
    ? `fixed ${count} in ${where}`
    : `nothing was changed; --fix --yes fixes ${count} in ${where}`;
}

/** A unified difference, as `git diff` prints it. */
function differenceLines(file: string, { before, after }: FixedPipeline): readonly string[] {
  const { hunks } = structuredPatch(file, file, before, after, '', '', { context: 2 });
  return [
    ...[`--- ${file}`, `+++ ${file}`],
    ...hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
      `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
      ...lines.map((line) => line.replace(/\r$/, '')),
    ]),
  ];
}

const painted =
  (paint: Paint) =>
  (line: string): string => {
    if (/^(?:---|\+\+\+) /.test(line)) return paint.bold(line);
    if (line.startsWith('@@')) return paint.dim(line);
    return line.startsWith('+') ? paint.green(line) : line.startsWith('-') ? paint.red(line) : line;
  };

/** Writes the file under its own name, with its permissions; behind a symbolic link the file that it leads to. */
async function replaced(path: string, before: string, after: string): Promise<string | undefined> {
  try {
    const file = await realpath(path);
    // A person may have thought about the question for a while.
    if ((await readFile(file, 'utf8')) !== before) return 'it has changed meanwhile';
    await writeFileAtomic(file, after, { mode: (await stat(file)).mode & 0o7777, sync: true });
    return undefined;
  } catch (error) {
    return isMissing(error) ? 'it is gone' : systemWords(error);
  }
}
