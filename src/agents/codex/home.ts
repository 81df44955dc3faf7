/** Where codex keeps its configuration and login. */
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder, absolute; undefined where there is neither CODEX_HOME nor a home. */
export function codexHome(env: Environment): string | undefined {
  const said = env['CODEX_HOME']?.trim() ?? '';
  if (said !== '') return resolve(said);
  const home = env['HOME']?.trim() ?? '';
  return home === '' ? undefined : join(resolve(home), '.codex');
}

/** Whether the folder lies where temporary files do. There codex does not install its sandbox helper: every
 *  command of the model's fails, and the program ends with 0 all the same. */
export function isTemporary(home: string, env: Environment): boolean {
  const temporary = resolve(env['TMPDIR']?.trim() || tmpdir());
  return home === temporary || home.startsWith(`${temporary.replace(/\/$/, '')}/`);
}
