/** What a source file imports from its own project, by patterns for JavaScript and Python. */
import { posix } from 'node:path';

const endings = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.json', '/index.js', '/index.ts'];

/** Paths in the workspace that a file may import: existing ones are among them. */
export function importedBy(path: string, text: string): readonly string[] {
  const folder = posix.dirname(path);
  if (/\.[cm]?[jt]sx?$/.test(path))
    return [...text.matchAll(/(?:from|import|require)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g)].flatMap(
      ([, file = '']) => endings.map((ending) => inside(posix.join(folder, `${file}${ending}`))),
    );
  return path.endsWith('.py') ? pythonImports(folder, text).map(inside) : [];
}

/** A path that leads out of the workspace is none. */
const inside = (path: string): string => (path.startsWith('..') ? '' : path);

function pythonImports(folder: string, text: string): readonly string[] {
  const names = [...text.matchAll(/^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(.+)|import[ \t]+(.+))$/gm)];
  return names.flatMap(([, from, what = '', modules = '']) => {
    const all =
      from === undefined ? wordsOf(modules) : [from, ...wordsOf(what).map((one) => `${from}.${one}`)];
    return all.flatMap((name) => modulePaths(folder, name));
  });
}

const wordsOf = (list: string): string[] =>
  list
    .replace(/#.*|[()]/g, '')
    .split(',')
    .map((one) => one.trim().split(/\s+/)[0] ?? '')
    .filter((one) => /^[\w.]+$/.test(one));

/** A module from the folder of the script, from the root, or relative to its package. */
function modulePaths(folder: string, name: string): string[] {
  const dots = /^\.*/.exec(name)?.[0].length ?? 0;
  const parts = name
    .slice(dots)
    .split('.')
    .filter((one) => one !== '')
    .join('/');
  const bases = dots > 0 ? [posix.join(folder, ...Array<string>(dots - 1).fill('..'))] : [folder, '.'];
  return bases.flatMap((base) => {
    const path = posix.join(base, parts);
    return [`${path}.py`, posix.join(path, '__init__.py')];
  });
}
