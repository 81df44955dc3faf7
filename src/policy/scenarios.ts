/** Which scripts of the judge a command names. */

const clean = (path: string): string =>
  path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');

/** Words of a command that may be paths: quotes removed, of `name=path` the path. */
export function pathWords(command: string): string[] {
  return command
    .split(/[\s;&|()<>`]+/)
    .map((word) => word.replace(/["']/g, '').replace(/^[\w.-]+=/, ''))
    .filter((word) => word !== '' && !word.startsWith('-'));
}

/** The paths that a command names at or below one of `holdout`, without `./`, each once, in order. */
export function scenariosNamed(command: string, holdout: readonly string[]): string[] {
  const folders = holdout.map(clean).filter((folder) => folder !== '');
  const named = pathWords(command)
    .filter((word) => !word.startsWith('/'))
    .map(clean)
    .filter((word) => folders.some((folder) => word === folder || word.startsWith(`${folder}/`)));
  return [...new Set(named)];
}

/** The files and folders that a command names, as far as its words tell: with a slash inside, or a name's ending. */
export function filesNamed(command: string): string[] {
  const words = pathWords(command).filter(
    (word) => /^(?!\/|~)[\w@%+,./-]+$/.test(word) && (word.includes('/') || /\.[A-Za-z]\w{0,5}$/.test(word)),
  );
  return [...new Set(words.map(clean))].filter((word) => word !== '' && !word.startsWith('..'));
}
