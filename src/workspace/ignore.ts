/** `.factoryignore`: which paths of the workdir stay out of a run's copy. `.gitignore` is read in the same way. */

/** True for a path that is left out. `path` is a slash path relative to the top; what lies below a folder that is
 *  left out is never asked about. */
export type Ignore = (path: string, isFolder: boolean) => boolean;

type Rule = { readonly pattern: RegExp; readonly out: boolean; readonly foldersOnly: boolean };

/** Reads the text of a `.factoryignore`: one pattern a line, `#` comments, `!` takes back, the last match decides.
 *  A slash at the start or inside ties a pattern to the top, else it matches at any depth; a slash at the end means
 *  folders only. `*` and `?` stay within a name, `**` crosses folders, `[a-z]` and `[!a-z]` are one character,
 *  `\` takes the next character literally. */
export function readIgnore(text: string): Ignore {
  const last = lastMatch(text);
  return (path, isFolder) => last(path, isFolder) ?? false;
}

/** The same, and undefined where no pattern matches: a list further up may say something of the path. */
export function lastMatch(text: string): (path: string, isFolder: boolean) => boolean | undefined {
  const rules = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line) => readRule(line) ?? []);
  return (path, isFolder) =>
    rules.findLast((rule) => (isFolder || !rule.foldersOnly) && rule.pattern.test(path))?.out;
}

function readRule(line: string): Rule | undefined {
  // A blank that is escaped belongs to the pattern.
  const trimmed = line.replace(/(?<!\\)[ \t]+$/, '');
  if (trimmed === '' || trimmed.startsWith('#')) return undefined;
  const out = !trimmed.startsWith('!');
  const body = out ? trimmed : trimmed.slice(1);
  const foldersOnly = body.endsWith('/');
  const path = foldersOnly ? body.replace(/\/+$/, '') : body;
  const anchored = path.includes('/');
  const glob = path.replace(/^\/+/, '');
  if (glob === '') return undefined;
  return {
    pattern: new RegExp(`^${anchored ? '' : '(?:.*/)?'}${expression(glob)}$`, 'su'),
    out,
    foldersOnly,
  };
}

// Tried in this order at each place; what none of them takes is a plain character.
const tokens =
  /(?<lead>^\*\*\/)|(?<middle>\/\*\*\/)|(?<tail>\/\*\*$)|(?<star>\*+)|(?<one>\?)|(?<set>\[!?\]?[^\]/]*\])|\\(?<escaped>.)|(?<plain>.)/gsu;

function expression(glob: string): string {
  return glob.replace(tokens, (whole, ...rest) => {
    const found: Readonly<Record<string, string | undefined>> = rest.at(-1);
    if (found['lead'] !== undefined) return '(?:.*/)?';
    if (found['middle'] !== undefined) return '/(?:.*/)?';
    if (found['tail'] !== undefined) return '/.+';
    if (found['star'] !== undefined) return '[^/]*';
    if (found['one'] !== undefined) return '[^/]';
    if (found['set'] !== undefined) return characterSet(found['set']);
    return (found['escaped'] ?? whole).replace(/[\^$\\.*+?()[\]{}|/]/u, '\\$&');
  });
}

/** `[a-c]`, `[!a-c]` as an expression; a range that runs backwards makes the whole an ordinary text. */
function characterSet(set: string): string {
  const negated = set.startsWith('[!');
  const inside = set.slice(negated ? 2 : 1, -1).replace(/[\\\][^|]/gu, '\\$&');
  try {
    return new RegExp(negated ? `(?!/)[^${inside}]` : `(?!/)[${inside}]`, 'u').source;
  } catch {
    return set.replace(/[\^$\\.*+?()[\]{}|/]/gu, '\\$&');
  }
}
