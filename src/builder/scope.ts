/** Whether a proposal may be written: its paths, where they really lead, and what they are based on. Writes nothing. */
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

/** What stands at a path before it is written. */
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

/** Sorted unique paths of a proposal, also of one that is refused. */
export const touchedBy = (proposal: WriteProposal): string[] =>
  [...new Set(proposal.writes.map((write) => write.path))].sort();

/** What of a work order says where its files may be. */
export type OrderScope = {
  readonly allowed_files: readonly string[];
  readonly forbidden?: readonly string[] | undefined;
};

/** Duplicates, then scope, then paths that no order may have and what is forbidden, then real places, then every base hash: nothing is written unless all hold. */
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
    const note = spelt ? ' (spelled with other characters than the allowed one that looks the same)' : '';
    return violation(`not in allowed_files: ${named(outside)}${note}`);
  }

  // What parseProposal has read is relative; a caller may have read it otherwise.
  for (const path of paths) {
    const problem = relativePathProblem(path);
    if (problem !== undefined) return violation(`${named([path])} ${problem}`);
    const entry = forbiddenBy(order.forbidden ?? [], path);
    if (entry !== undefined) return violation(`${named([path])} is forbidden by ${JSON.stringify(entry)}`);
  }

  const root = await realpath(workspace);
  const found: CheckedWrite[] = [];
  for (const { path, content } of proposal.writes) {
    if (isKept(path)) return violation(`${path} belongs to git or to the factory and is never written`);
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
      `base_sha256 is not the hash of the file as it is: ${lines.join(', ')}`,
    );
  }
  const below = paths.find((path) => foldersOf(path).some((folder) => once.has(folder)));
  if (below !== undefined)
    return stageFailure(
      'write_failed',
      `${named([below])} lies below a path that is to be a file of its own`,
    );
  return { writes: found };
}

/** Why this file system takes the path, which is to be written, for another of the same proposal that has been. */
export function takenFor(workspace: string, path: string): StageFailure | undefined {
  const listed = asListed(workspace, path);
  if (listed === path) return undefined;
  const [one, other] = [named([path]), named([listed])];
  const reason = `${one} is ${other} to this file system, which does not tell them apart, and another write of this proposal has made that: name it so`;
  return stageFailure('write_scope_violation', reason);
}

/** The folders on the way to a path, each by its own path. */
const foldersOf = (path: string): string[] =>
  [...path.matchAll(/\//g)].map((slash) => path.slice(0, slash.index));

/** `.git` and `.factory`. */
const isKept = (path: string): boolean => namesGit(path) || path.split('/')[0]?.toLowerCase() === '.factory';

/** Characters of one name or message that are worth telling, and how many names are. */
const tellable = { name: 200, message: 1000, names: 20 } as const;
const short = (text: string, most: number): string =>
  text.length <= most ? text : `${[...text.slice(0, most)].slice(0, -1).join('')}…`;

/** Paths as a message names them: a proposal may hold any number, of any length. */
function named(paths: readonly string[]): string {
  const told = paths.slice(0, tellable.names).map((path) => short(path, tellable.name));
  return told.join(', ') + (paths.length > told.length ? ` and ${paths.length - told.length} more` : '');
}

export const said = (error: unknown): string =>
  short(error instanceof Error ? error.message : String(error), tellable.message);

function hashOf(before: Standing): string {
  return before.is === 'absent' || before.bytes === undefined ? emptySha256 : sha256(before.bytes);
}

async function look(root: string, path: string): Promise<{ standing: Standing } | { reason: string }> {
  // Git would commit it beside the one that it is as another.
  const listed = asListed(root, path);
  if (listed !== path)
    return { reason: `${path} is ${listed} to this file system, which may not tell case apart: name it so` };
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
  if (real === undefined) return { reason: `${path} is a link that leads in a circle` };
  const inside = real.startsWith(`${root}${sep}`) ? real.slice(root.length + 1) : undefined;
  if (inside === undefined) return { reason: `${path} is a link that leaves the workspace` };
  if (isKept(inside)) return { reason: `${path} is a link to ${inside}, which is never written` };
  const there = await stat(place).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (there === undefined) return { standing: { is: 'link', target, bytes: undefined, mode: 0o644 } };
  if (!there.isFile()) return { reason: `${path} is a link to something that is not a regular file` };
  return { standing: { is: 'link', target, bytes: await readFile(place), mode: there.mode & 0o7777 } };
}

/** Where a link ends, also when nothing is there; undefined for a circle. */
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

/** The parent's real path, as far up as something exists, with the rest as it is spelled. */
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
