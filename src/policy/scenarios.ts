/** Which scenario scripts, and which files, a command names. */

const clean = (path: string): string =>
  path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');

/** Words of a command that may be paths: without quotes, of `name=path` the path. */
const pathWords = (command: string): string[] =>
  command
    .split(/[\s;&|()<>`]+/)
    .map((word) => word.replace(/["']/g, '').replace(/^[\w.-]+=/, ''))
    .filter((word) => word !== '' && !word.startsWith('-'));

/** The paths that a command names at or below one of `holdout`, without `./`, each once, in order. */
export function scenariosNamed(command: string, holdout: readonly string[]): string[] {
  const folders = holdout.map(clean).filter((folder) => folder !== '');
  const named = pathWords(command)
    .filter((word) => !word.startsWith('/'))
    .map(clean)
    .filter((word) => folders.some((folder) => word === folder || word.startsWith(`${folder}/`)));
  return [...new Set(named)];
}

/** Whether a command runs scenarios itself, and so starts a product in a nested sandbox. */
export const runsScenarios = (command: string): boolean =>
  /\bfactory["']?\s+scenario\s+(?:run|selftest)\b/.test(command);
