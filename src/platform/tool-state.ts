/** The state that tools keep between their executions: one JSON object in the file `$FACTORY_STATE`, in which each program
 *  has a key. Without that variable, by hand, it is a file of the workspace. */
import { writeFile } from 'node:fs/promises';
import { isObject } from '../core/json.ts';
import { readPlain } from './files/read.ts';
import { writeJson } from './files/write.ts';

export interface ToolState {
  /** The value under the program's key; undefined if there is none. A file that holds no JSON object is a problem. */
  read(): { readonly value: unknown } | { readonly problem: string };
  /** Replaces that value and leaves those of other programs. */
  write(value: unknown): Promise<void>;
}

/** `byHand`: the path of the file without the variable, and its name for people. */
export function toolState(
  key: string,
  env: Readonly<Record<string, string | undefined>>,
  byHand: { readonly path: string; readonly name: string },
): ToolState {
  const given = env['FACTORY_STATE'] || undefined;
  const { path, name } = given === undefined ? byHand : { path: given, name: '$FACTORY_STATE' };
  return {
    read() {
      const all = objectIn(path, name);
      return 'problem' in all ? all : { value: all.object[key] };
    },
    async write(value) {
      const all = objectIn(path, name);
      const object = { ...('object' in all ? all.object : {}), [key]: value };
      // Written in place: a sandbox may show the engine's file as a mount, which cannot be replaced.
      if (given !== undefined) await writeFile(path, `${JSON.stringify(object)}\n`);
      else await writeJson(path, object);
    },
  };
}

function objectIn(
  path: string,
  name: string,
): { readonly object: Readonly<Record<string, unknown>> } | { readonly problem: string } {
  const file = readPlain(path);
  if (file.kind === 'missing') return { object: {} };
  if (file.kind === 'none') return { problem: `${name} ${file.why}` };
  try {
    const value: unknown = JSON.parse(file.text);
    return isObject(value) ? { object: value } : { problem: `${name} is not a JSON object` };
  } catch (error) {
    return { problem: `${name} is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
