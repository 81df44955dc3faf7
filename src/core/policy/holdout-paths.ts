/** Which paths of a workspace are holdouts, hidden from the builder. Pure. */
import { cleanPath } from './paths.ts';

/** The default holdout path. */
export const usualHoldout = 'scripts/scenarios/';

/** The variable that lists the holdout paths, separated by commas, for a node whose workspace has them: file
 *  listings for a model leave them out. */
export const holdoutVariable = 'FACTORY_HOLDOUT';

/** Folders of the engine and of git in a workspace: neither can be a holdout. */
const kept: ReadonlySet<string> = new Set(['.git', '.factory']);

/** The holdout paths in `holdout`, sorted as they were written, each once and none below another; or why one of
 *  them cannot be sealed. `listed` returns how the workdir spells a path. */
export function holdoutPaths(
  words: readonly string[],
  listed: (path: string) => string = (path) => path,
): { readonly paths: readonly string[] } | { readonly problem: string } {
  const paths: string[] = [];
  for (const word of words) {
    const path = cleanPath(word);
    if (path === '') return { problem: `"${word}" is the whole workspace: nothing would be left to work on` };
    const own = path
      .toLowerCase()
      .split('/')
      .find((part) => kept.has(part));
    if (own !== undefined) return { problem: `"${word}" belongs to ${own.slice(1)}, and cannot be sealed` };
    paths.push(listed(path));
  }
  const topmost = paths.filter((path) => !paths.some((other) => other !== path && isAtOrBelow(path, other)));
  return { paths: [...new Set(topmost)] };
}

/** Whether `path` is `folder` or lies in it; both absolute, or both relative to the workspace. */
export const isAtOrBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);

/** Whether a path is a holdout path or lies below one. */
export const isSealedPath = (path: string, sealed: readonly string[]): boolean =>
  sealed.some((one) => isAtOrBelow(path, one));

/** Words of a command that may be paths: without quotes, of `name=path` the path. */
const pathWords = (command: string): string[] =>
  command
    .split(/[\s;&|()<>`]+/)
    .map((word) => word.replace(/["']/g, '').replace(/^[\w.-]+=/, ''))
    .filter((word) => word !== '' && !word.startsWith('-'));

/** The paths that a command names at or below one of `holdout`, without `./`, each once, in order. */
export function scenariosNamed(command: string, holdout: readonly string[]): string[] {
  const folders = holdout.map(cleanPath).filter((folder) => folder !== '');
  const named = pathWords(command)
    .filter((word) => !word.startsWith('/'))
    .map(cleanPath)
    .filter((word) => folders.some((folder) => word === folder || word.startsWith(`${folder}/`)));
  return [...new Set(named)];
}

/** Whether a command runs scenarios itself, and so starts a product in a nested sandbox. */
export const runsScenarios = (command: string): boolean =>
  /\bfactory["']?\s+scenario\s+(?:run|selftest)\b/.test(command);

/** Only these can be measured: self-tests do not run the product. */
export const runsScenariosLive = (command: string): boolean =>
  /\bfactory["']?\s+scenario\s+run\b/.test(command);

/** Whether texts mention programs that touch a file without changing content and times: they set its mode, or
 *  create a hard link, as a local clone of a repository does. */
const touches =
  /\b(?:chmod|chown|chgrp|setfacl|setfattr|chattr|ln|clone)\b|\bcp\s+-[a-zA-Z]*l|--link\b|\blink(?:Sync)?\s*\(/;

/** Where no text mentions them, a file whose change time (ctime) differs was written, even if its content and its
 *  times are restored: a product that rewrites its scenario while it runs can restore both, but not the change
 *  time. Pure. */
export const mayTouch = (texts: Iterable<string | Buffer>): boolean => {
  for (const text of texts)
    if (touches.test(typeof text === 'string' ? text : text.toString('latin1'))) return true;
  return false;
};
