/** Paths that a work order forbids, as far as its entries name paths: the model reads the rest. */
import { posix } from 'node:path';

/** The first entry that names one of the files `path` may be, undefined when none does. An entry names files when
 *  it is a path (a folder includes all below it), a pattern (`*.lock`, `src/**`), or a plain sentence that starts
 *  with a prohibition ("do not modify a.txt or src/*"). A sentence with more than that ("… except its imports") is
 *  not enforced: it may allow what its paths alone would forbid. */
export function forbiddenBy(entries: readonly string[], path: string): string | undefined {
  return entries.find((entry) => named(entry).some((pattern) => matches(pattern, path)));
}

const verb =
  'touch|edit|modify|change|alter|update|write(?: to| in)?|create|add|delete|remove|rename|overwrite';
const sentence = new RegExp(
  `^(?:please )?(?:do not|don't|never|must not|may not)(?: be)? (?:${verb})(?:(?:,| or|,? and)? (?:${verb}))*(?: (?:the|any|a))?(?: (?:files?|folders?|director(?:y|ies)|paths?|anything|everything))?(?: (?:in|under|below|inside|called|named))?:? (.+)$`,
  'i',
);

/** Paths and patterns that an entry names. */
function named(entry: string): string[] {
  const text = entry.trim().replace(/[.!]$/, '');
  const whole = bare(text);
  if (whole !== undefined) return [whole];
  const rest = sentence.exec(text)?.[1];
  if (rest === undefined) return [];
  const words = rest.split(/\s*,\s*(?:and |or )?|\s+(?:and|or)\s+|\s+/).filter((word) => word !== '');
  const paths = words.map(bare);
  // A word without a dot or slash may be an ordinary word.
  const are = paths.every((word) => word !== undefined && /[./*]/.test(word));
  return are ? paths.filter((word) => word !== undefined) : [];
}

/** A word that may be a path or a pattern, without the quotes around it. */
function bare(word: string): string | undefined {
  const text = word.replace(/^([`'"])(.*)\1$/s, '$2');
  return text === '' || /[\s`'"<>|]/.test(text) ? undefined : text;
}

function matches(pattern: string, path: string): boolean {
  const wanted = posix.normalize(pattern.replace(/^\.?\/+/, '')).replace(/\/+$/, '');
  if (wanted === '' || wanted === '.' || wanted.startsWith('..')) return false;
  if (!/[*?[{]/.test(wanted)) return path === wanted || path.startsWith(`${wanted}/`);
  const glob = compiled(wanted);
  // A pattern without a slash matches names at any depth, as in a .gitignore.
  const parts = path.split('/');
  const candidates = wanted.includes('/') ? parts.map((_, at) => parts.slice(0, at + 1).join('/')) : parts;
  return candidates.some((candidate) => glob.test(candidate));
}

/** One piece of a pattern: maps the positions reached so far in a path to those reached after it. */
type Piece = (path: string, from: ReadonlySet<number>) => Set<number>;

/** Matches from all reachable positions at once, so that many stars cost no more than their number. */
const isWhole = (pieces: readonly Piece[], path: string): boolean =>
  through(pieces, path, new Set([0])).has(path.length);

const through = (pieces: readonly Piece[], path: string, from: ReadonlySet<number>): Set<number> =>
  pieces.reduce((places, piece) => piece(path, places), new Set(from));

const oneOf =
  (is: (character: string) => boolean): Piece =>
  (path, from) =>
    new Set([...from].filter((at) => at < path.length && is(path.charAt(at))).map((at) => at + 1));

/** Any number of characters that `is` accepts; of the positions after them those that `ends` accepts. */
const many =
  (is: (character: string) => boolean, ends: (path: string, at: number) => boolean = () => true): Piece =>
  (path, from) => {
    const reached = new Set(from);
    let going = false;
    for (let at = 0; at < path.length; at++) {
      going = (going || from.has(at)) && is(path.charAt(at));
      if (going && ends(path, at + 1)) reached.add(at + 1);
    }
    return reached;
  };

const notSlash = (character: string): boolean => character !== '/';
const any = (): boolean => true;

/** The depth of nested braces; a deeper pattern names nothing. */
const mostNested = 100;

/** `**` crosses folders, `*` and `?` do not; `[…]` and `{a,b}` as in a shell. A reversed range matches nothing. */
function compiled(pattern: string): { test(path: string): boolean } {
  let at = 0;
  let isMeant = true;
  const list = (depth: number): Piece[] => {
    if (depth > mostNested) isMeant = false;
    const pieces: Piece[] = [];
    for (; isMeant && at < pattern.length; at++) {
      const character = pattern.charAt(at);
      if (depth > 0 && (character === ',' || character === '}')) break;
      const set = character === '[' ? /^\[([!^]?)([^\]]+)\]/.exec(pattern.slice(at)) : null;
      if (character === '*') {
        const stars = /^\*+/.exec(pattern.slice(at))?.[0].length ?? 1;
        at += stars - 1;
        if (stars > 1 && pattern[at + 1] === '/') {
          at += 1;
          pieces.push(many(any, (path, end) => path[end - 1] === '/'));
        } else pieces.push(many(stars > 1 ? any : notSlash));
      } else if (character === '?') pieces.push(oneOf(notSlash));
      else if (set !== null) {
        pieces.push(oneOf(setOf(set[1] !== '', set[2] ?? '')));
        at += set[0].length - 1;
      } else if (character === '{') {
        const branches: Piece[][] = [];
        do {
          at += 1;
          branches.push(list(depth + 1));
        } while (pattern[at] === ',');
        pieces.push((path, from) => new Set(branches.flatMap((branch) => [...through(branch, path, from)])));
      } else pieces.push(oneOf((one) => one === character));
    }
    return pieces;
  };
  const pieces = list(0);
  return { test: (path) => isMeant && isWhole(pieces, path) };
}

function setOf(inverted: boolean, characters: string): (character: string) => boolean {
  try {
    const set = new RegExp(`^[${inverted ? '^' : ''}${characters.replace(/[\\\]^]/g, '\\$&')}]$`, 's');
    return (character) => set.test(character);
  } catch {
    return () => false;
  }
}
