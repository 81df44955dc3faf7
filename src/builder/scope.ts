/** Checks whether a proposal may be written: its paths, where links lead, and the base hashes. Writes nothing. */
import type { Stats } from 'node:fs';
import { lstat, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import type { WriteProposal } from '../model/proposal.ts';
import { emptySha256 } from '../model/proposal.ts';
import { sha256 } from '../model/sha256.ts';
import { normalizePath, relativePathProblem } from '../model/work-order.ts';
import { forbiddenBy } from '../policy/forbidden.ts';
import { namesGit } from '../policy/paths.ts';
import { isMissing } from '../system/files.ts';
import { asListed } from '../system/spelled.ts';
import { type StageFailure, stageFailure } from './stage.ts';

/** The state of a path before it is written. */
export type Standing =
  | { readonly is: 'absent' }
  | { readonly is: 'file'; readonly bytes: Buffer; readonly mode: number }
  /** A link that stays in the workspace: the write replaces the link, not what it points at. */
  | {
      readonly is: 'link';
      readonly target: string;
      readonly bytes: Buffer | undefined;
      readonly mode: number;
    };

export type CheckedWrite = { readonly path: string; readonly content: string; readonly before: Standing };
export type Checked = { readonly writes: readonly CheckedWrite[] };

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
): Promise<Checked | StageFailure> {
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
      return stageFailure('write_failed', `${named([path])}: ${said(error)}`);
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
export function takenFor(workspace: string, path: string): StageFailure | undefined {
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

/** Limits of messages: characters of a name and of a message, and the number of names. */
const shown = { name: 200, message: 1000, names: 20 } as const;
const short = (text: string, most: number): string =>
  text.length <= most ? text : `${[...text.slice(0, most)].slice(0, -1).join('')}…`;

/** Paths for a message, shortened: a proposal may have any number of paths of any length. */
function named(paths: readonly string[]): string {
  const names = paths.slice(0, shown.names).map((path) => short(path, shown.name));
  return names.join(', ') + (paths.length > names.length ? ` and ${paths.length - names.length} more` : '');
}

export const said = (error: unknown): string =>
  short(error instanceof Error ? error.message : String(error), shown.message);

function hashOf(before: Standing): string {
  return before.is === 'absent' || before.bytes === undefined ? emptySha256 : sha256(before.bytes);
}

async function look(root: string, path: string): Promise<{ standing: Standing } | { reason: string }> {
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
): Promise<{ standing: Standing } | { reason: string }> {
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

async function lstatIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
