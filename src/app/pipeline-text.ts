/** Reads the text of a pipeline file. */
import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Diagnostic, shortText } from '../core/diagnostic.ts';
import { systemWords } from '../platform/files/write.ts';

/** Texts by the absolute paths of their files. */
export type OpenTexts = ReadonlyMap<string, string>;

/** The text of a pipeline file, `path` as the user typed it, or why there is none. */
export async function pipelineText(
  path: string,
  cwd: string,
  shown = path,
  texts?: OpenTexts,
): Promise<{ text: string } | { problem: Diagnostic }> {
  const no = (message: string, fix: string) => ({
    problem: { code: 'pipeline-file', severity: 'error' as const, message, fix },
  });
  const open = texts?.get(resolve(cwd, path));
  if (open !== undefined) return { text: open };
  if (path === '') return no('the name of the pipeline file is empty', 'name a .dot file');
  try {
    const file = resolve(cwd, path);
    // Reading a pipe may block, so it must not block signals.
    const bytes = statSync(file).isFile() ? readFileSync(file) : await readFile(file);
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return { text };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      return no(
        `there is no pipeline file ${shown}`,
        path === '-'
          ? 'name a .dot file; standard input is /dev/stdin'
          : 'name a .dot file, or a pipeline that factory pipelines lists',
      );
    if (code === 'EISDIR') return no(`${shown} is a folder, not a pipeline file`, 'name a .dot file in it');
    if (code === 'EACCES') return no(`${shown} may not be read`, 'check its permissions');
    if (error instanceof TypeError)
      return no(`${shown} is not UTF-8 text`, 'a pipeline is a Graphviz DOT text file');
    return no(`cannot read ${shortText(shown, 200)}: ${systemWords(error)}`, 'name a .dot file');
  }
}
