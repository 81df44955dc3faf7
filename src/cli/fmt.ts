/** `factory fmt`: pipeline files in one layout, readable by Graphviz too. */

import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipelineText } from '../app/pipeline-text.ts';
import { wrong } from '../core/diagnostic.ts';
import { printGraph } from '../dot/format.ts';
import { readGraph } from '../dot/read.ts';
import { systemWords, writeFileAtomic } from '../platform/files/write.ts';
import type { Io } from './io.ts';
import { reportError } from './report/errors.ts';

/** Formats each file in place, and prints the names of those that it changed; with `check` it changes nothing, and prints
 *  the names of those that it would change. A file that cannot be read as a pipeline stays unchanged. Exit code 2 when
 *  there is such a file, else 1 when `check` found one to change, else 0. */
export async function fmtCommand(
  files: readonly string[],
  options: { readonly check?: boolean; readonly color?: boolean },
  io: Io,
): Promise<number> {
  let code = 0;
  for (const file of files) {
    const read = await pipelineText(file, io.cwd);
    const found = 'problem' in read ? [read.problem] : readGraph(file, read.text).diagnostics;
    if ('problem' in read || found.length > 0) {
      await reportError(found, io, options);
      code = 2;
      continue;
    }
    const printed = printGraph(read.text);
    if (printed === read.text) continue;
    if (options.check === true) code = Math.max(code, 1);
    else {
      const problem = await replace(resolve(io.cwd, file), printed);
      if (problem !== undefined) {
        await reportError([wrong('pipeline-file', `${file} cannot be written: ${problem}`)], io, options);
        code = 2;
        continue;
      }
    }
    io.out(`${file}\n`);
  }
  return code;
}

/** Writes a file anew under its own name, with its permissions; behind a symbolic link the file that it leads to. */
async function replace(path: string, text: string): Promise<string | undefined> {
  try {
    const file = await realpath(path);
    await writeFileAtomic(file, text, { mode: (await stat(file)).mode & 0o7777, sync: true });
    return undefined;
  } catch (error) {
    return systemWords(error);
  }
}
