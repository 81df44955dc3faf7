import { readFile, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, join, posix, resolve, sep } from 'node:path';
import { errorText, shortText, shown } from '../core/diagnostic.ts';
import { type StageFailure, stageFailure } from '../core/orders/failure-stage.ts';
import { emptySha256, type WriteProposal } from '../core/orders/proposal.ts';
import { normalizePath, relativePathProblem } from '../core/orders/work-order.ts';
import { namesGit } from '../core/policy/paths.ts';
import { sha256 } from '../core/sha256.ts';
import { asListed } from '../platform/files/names.ts';
import { lstatIfThere } from '../platform/files/read.ts';
import { isMissing } from '../platform/files/write.ts';

/** The state of a path before it is written. */
export type PathStatus =
  | { readonly is: 'absent' }
  | { readonly is: 'file'; readonly bytes: Buffer; readonly mode: number }
  /** A link that stays in the workspace: the write replaces the link, not what it points at. */
  | {
      readonly is: 'link';
      readonly target: string;
      readonly bytes: Buffer | undefined;
      readonly mode: number;
    };

export type CheckedWrite = { readonly path: string; readonly content: string; readonly before: PathStatus };
export type CheckedProposal = { readonly writes: readonly CheckedWrite[] };

/** Sorted unique paths of a proposal, including a refused one. */
export const touchedBy = (proposal: WriteProposal): string[] =>
  [...new Set(proposal.writes.map((write) => write.path))].sort();

/** The fields of a work order that limit which files may be written. */
export type OrderScope = {
  readonly allowed_files: readonly string[];
  readonly forbidden?: readonly string[] | undefined;
};

/** Checks, in this order: duplicate paths, `allowed_files`, invalid and forbidden paths, real locations, base hashes. The
 *  first failure is returned. */
export async function checkProposal(
  workspace: string,
  order: OrderScope,
  proposal: WriteProposal,
): Promise<CheckedProposal | StageFailure> {
  const violation = (reason: string) => stageFailure('write_scope_violation', reason);
  const paths = proposal.writes.map((write) => write.path);
  const once = new Set<string>();
  const twice = [...new Set(paths.filter((path) => once.size === once.add(path).size))];
  if (twice.length > 0) return violation(`written more than once: ${named(twice)}`);
  const allowed = new Set(order.allowed_files.map(normalizePath));
  const outside = paths.filter((path) => !allowed.has(path));
  if (outside.length > 0) {
    const alike = new Set([...allowed].map((path) => path.normalize()));
    const spelt = outside.some((path) => alike.has(path.normalize()));
    const note = spelt ? ' (it looks like an allowed path but has other Unicode characters)' : '';
    return violation(`not in allowed_files: ${named(outside)}${note}`);
  }

  // parseProposal returns relative paths only; a proposal from another source may have others.
  for (const path of paths) {
    const problem = relativePathProblem(path);
    if (problem !== undefined) return violation(`${named([path])} ${problem}`);
    const entry = forbiddenBy(order.forbidden ?? [], path);
    if (entry !== undefined) return violation(`${named([path])} is forbidden by ${JSON.stringify(entry)}`);
  }

  const root = await realpath(workspace);
  const found: CheckedWrite[] = [];
  for (const { path, content } of proposal.writes) {
    if (isReserved(path)) return violation(`${path} belongs to git or to factory and is never written`);
    try {
      const looked = await look(root, path);
      if ('reason' in looked) return violation(looked.reason);
      found.push({ path, content, before: looked.standing });
    } catch (error) {
      return stageFailure('write_failed', `${named([path])}: ${errorText(error)}`);
    }
  }
  const stale = found.filter((write, at) => hashOf(write.before) !== proposal.writes[at]?.base_sha256);
  if (stale.length > 0) {
    const lines = stale.map((write) => `${write.path} (its hash is ${hashOf(write.before)})`);
    return stageFailure(
      'stale_context',
      `base_sha256 is not the hash of the current file: ${lines.join(', ')}`,
    );
  }
  const below = paths.find((path) => foldersOf(path).some((folder) => once.has(folder)));
  if (below !== undefined)
    return stageFailure(
      'write_failed',
      `${named([below])} lies below a path that the same proposal writes as a file`,
    );
  return { writes: found };
}

/** The failure if this file system takes `path` for a file that the same proposal has already written. */
export function escapedPath(workspace: string, path: string): StageFailure | undefined {
  const listed = asListed(workspace, path);
  if (listed === path) return undefined;
  const [one, other] = [named([path]), named([listed])];
  const reason = `${one} already exists as ${other} on this file system, from another write of this proposal; use ${other} for both`;
  return stageFailure('write_scope_violation', reason);
}

/** The parent folders of a path. */
const foldersOf = (path: string): string[] =>
  [...path.matchAll(/\//g)].map((slash) => path.slice(0, slash.index));

/** `.git` and `.factory`. */
const isReserved = (path: string): boolean =>
  namesGit(path) || path.split('/')[0]?.toLowerCase() === '.factory';

/** Paths for a message, shortened: a proposal may have any number of paths of any length. */
function named(paths: readonly string[]): string {
  const names = paths.slice(0, shown.names).map((path) => shortText(path, shown.name));
  return names.join(', ') + (paths.length > names.length ? ` and ${paths.length - names.length} more` : '');
}

function hashOf(before: PathStatus): string {
  return before.is === 'absent' || before.bytes === undefined ? emptySha256 : sha256(before.bytes);
}

async function look(root: string, path: string): Promise<{ standing: PathStatus } | { reason: string }> {
  // On a case-insensitive file system git would commit the same file under two names.
  const listed = asListed(root, path);
  if (listed !== path)
    return { reason: `${path} already exists as ${listed} on this file system; use ${listed}` };
  const parts = path.split('/');
  let place = root;
  for (const part of parts.slice(0, -1)) {
    place = join(place, part);
    const parent = await lstatIfThere(place);
    if (parent === undefined) return { standing: { is: 'absent' } };
    if (parent.isSymbolicLink())
      return { reason: `${path} leads through the link ${place.slice(root.length + 1)}` };
    if (!parent.isDirectory())
      return { reason: `${path} lies below ${place.slice(root.length + 1)}, which is a file` };
  }
  place = join(root, path);
  const there = await lstatIfThere(place);
  if (there === undefined) return { standing: { is: 'absent' } };
  if (there.isDirectory()) return { reason: `${path} is a folder, not a file` };
  if (there.isSymbolicLink()) return lookAtLink(root, path, place);
  if (!there.isFile()) return { reason: `${path} is not a regular file` };
  return { standing: { is: 'file', bytes: await readFile(place), mode: there.mode & 0o7777 } };
}

async function lookAtLink(
  root: string,
  path: string,
  place: string,
): Promise<{ standing: PathStatus } | { reason: string }> {
  const target = await readlink(place);
  const real = await whereTo(place);
  if (real === undefined) return { reason: `${path} is a link in a cycle of links` };
  const inside = real.startsWith(`${root}${sep}`) ? real.slice(root.length + 1) : undefined;
  if (inside === undefined) return { reason: `${path} is a link that leaves the workspace` };
  if (isReserved(inside)) return { reason: `${path} is a link to ${inside}, which is never written` };
  const there = await stat(place).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (there === undefined) return { standing: { is: 'link', target, bytes: undefined, mode: 0o644 } };
  if (!there.isFile()) return { reason: `${path} is a link to something that is not a regular file` };
  return { standing: { is: 'link', target, bytes: await readFile(place), mode: there.mode & 0o7777 } };
}

/** The target of a link, followed through further links, also if it does not exist; undefined for a cycle. */
async function whereTo(link: string): Promise<string | undefined> {
  let place = link;
  for (let hops = 0; hops < 40; hops += 1) {
    place = await realpathOfWhatExists(place);
    const there = await lstatIfThere(place);
    if (there === undefined || !there.isSymbolicLink()) return place;
    place = resolve(dirname(place), await readlink(place));
  }
  return undefined;
}

/** The path with its existing parent folders resolved and the rest unchanged. */
async function realpathOfWhatExists(path: string): Promise<string> {
  const parent = dirname(path);
  if (parent === path) return path;
  try {
    return join(await realpath(parent), path.slice(parent.length));
  } catch (error) {
    if (!isMissing(error)) throw error;
    return join(await realpathOfWhatExists(parent), path.slice(parent.length));
  }
}

/* Paths that a work order forbids, as far as its entries name paths: the model reads the rest. */

/** The first entry that names one of the files `path` may be, undefined when none does. An entry names files when
 *  it is a path (a folder includes all below it), a pattern (`*.lock`, `src/**`), or a plain sentence that starts
 *  with a prohibition ("do not modify a.txt or src/*"). A sentence with more than that ("… except its imports") is
 *  not enforced: it may allow what its paths alone would forbid. */
export function forbiddenBy(entries: readonly string[], path: string): string | undefined {
  return entries.find((entry) => namedPaths(entry).some((pattern) => matches(pattern, path)));
}

const verb =
  'touch|edit|modify|change|alter|update|write(?: to| in)?|create|add|delete|remove|rename|overwrite';
const sentence = new RegExp(
  `^(?:please )?(?:do not|don't|never|must not|may not)(?: be)? (?:${verb})(?:(?:,| or|,? and)? (?:${verb}))*(?: (?:the|any|a))?(?: (?:files?|folders?|director(?:y|ies)|paths?|anything|everything))?(?: (?:in|under|below|inside|called|named))?:? (.+)$`,
  'i',
);

/** Paths and patterns that an entry names. */
function namedPaths(entry: string): string[] {
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
  const normal = posix.normalize(pattern.replace(/^\.?\/+/, '')).replace(/\/+$/, '');
  if (normal === '' || normal === '.' || normal.startsWith('..')) return false;
  if (!/[*?[{]/.test(normal)) return path === normal || path.startsWith(`${normal}/`);
  const glob = compiled(normal);
  // A pattern without a slash matches names at any depth, as in a .gitignore.
  const parts = path.split('/');
  const candidates = normal.includes('/') ? parts.map((_, at) => parts.slice(0, at + 1).join('/')) : parts;
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
