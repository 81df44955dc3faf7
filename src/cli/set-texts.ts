/** What `--set` gives: texts of the command line or of files. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { SetAttribute } from '../app/run/set-attributes.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { isMissing, systemWords } from '../platform/files/write.ts';
import { usage } from './find-run.ts';

/** `NODE.ATTRIBUTE=TEXT` or `NODE.ATTRIBUTE=@FILE`. */
export async function setAttributesOf(
  pairs: readonly string[],
  cwd: string,
): Promise<{ readonly attributes: readonly SetAttribute[] } | Refusal> {
  const attributes: SetAttribute[] = [];
  for (const pair of pairs) {
    const [, name, value = ''] = /^([A-Za-z_][\w.]*)=(.*)$/s.exec(pair) ?? [];
    if (name === undefined)
      return usage(
        `--set ${pair.slice(0, 60)} is not NODE.ATTRIBUTE=TEXT or NODE.ATTRIBUTE=@FILE`,
        'for example --set plan.prompt=@new-plan.md; variables are set by --var NAME=VALUE',
      );
    const given = await setText(name, value, cwd);
    if ('problems' in given) return given;
    attributes.push({ name, ...given });
  }
  return { attributes };
}

/** The text of `--set NAME=VALUE`; of a file without the line end at its end. */
export async function setText(
  name: string,
  value: string,
  cwd: string,
): Promise<{ readonly text: string; readonly file?: string } | Refusal> {
  if (!value.startsWith('@')) return { text: value };
  const file = value.slice(1);
  const path = resolve(cwd, file);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
    return { text: text.replace(/\r?\n$/, ''), file };
  } catch (error) {
    const why =
      error instanceof TypeError
        ? 'it is not UTF-8 text'
        : isMissing(error)
          ? 'there is no such file'
          : systemWords(error);
    return usage(
      `--set ${name}: ${path} cannot be read: ${why}`,
      'the path is relative to the current directory',
    );
  }
}
