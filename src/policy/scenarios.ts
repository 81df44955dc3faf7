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

/** The files and folders that a command names: words with a slash, or with the ending of a file name. */
export function filesNamed(command: string): string[] {
  const words = pathWords(command).filter(
    (word) => /^(?!\/|~)[\w@%+,./-]+$/.test(word) && (word.includes('/') || /\.[A-Za-z]\w{0,5}$/.test(word)),
  );
  return [...new Set(words.map(clean))].filter((word) => word !== '' && !word.startsWith('..'));
}
