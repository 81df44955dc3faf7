/** What a run changed in its workspace, path by path, each file with its patch. */
import { posix } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { masker } from '../core/policy/mask.ts';
import { textsToMask } from '../core/policy/secrets.ts';
import type { RunRecord } from '../core/records/visit.ts';
import { ancestorsOf, liesIn, shownPath } from '../platform/files/names.ts';
import { WorkspaceError } from '../platform/files/workspace-error.ts';
import { GitError } from '../platform/git.ts';
import { openRun, type RunReader } from '../run/open-run.ts';
import type { RunHistory } from '../run/run-journal.ts';
import type { Entry, Snapshots } from '../workspace/snapshot.ts';
import type { ChangeList, FilePatch, PathFacts } from './answers.ts';
import { changeWriters } from './change-writers.ts';
import {
  findMoments,
  isNoFolder,
  isProduct,
  loadSides,
  type MomentNames,
  type PathChange,
  pathChanges,
  type TwoMoments,
} from './changes.ts';
import { type FilePatches, filePatches } from './file-patches.ts';
import { textsWithheld } from './inspect/withheld.ts';

const mostFiles = 1000;
/** Bytes. */
const inList = { perFile: 64 * 1024, all: 4 * 1024 * 1024 };
const ofNamed = { perFile: 4 * 1024 * 1024, all: 4 * 1024 * 1024 };

/** Without `paths` everything that has changed. */
export type ChangeQuery = MomentNames & { readonly paths: readonly string[] };

/** What `factory diff` answers with, of the run in `dir`. */
export async function listChanges(
  dir: string,
  query: ChangeQuery,
  env: Environment,
): Promise<ChangeList | Refusal> {
  const reader = openRun(dir);
  const read = reader.history();
  if (!read.ok) return refused('run-files', read.why);
  const moments = findMoments(read, query);
  if ('problems' in moments) return moments;
  const only = changesAsked(query);
  if (typeof only !== 'function') return only;
  try {
    return await listOf(reader, read, moments, only, { env, named: query.paths.length > 0 });
  } catch (error) {
    if (error instanceof WorkspaceError) return refused('diff', error.message, undefined, 1);
    throw error;
  }
}

async function listOf(
  reader: RunReader,
  { records, checkpoint }: RunHistory,
  moments: TwoMoments,
  only: (path: string) => boolean,
  { env, named }: { readonly env: Environment; readonly named: boolean },
): Promise<ChangeList> {
  const { sides, snapshots } = await loadSides(reader.dir, moments);
  const all = pathChanges(sides, () => true);
  const changes = all.filter(({ path }) => only(path));
  const ours = withoutFullFolders(changes.filter(({ path }) => isProduct(path)));
  const shown = ours.slice(0, mostFiles);
  const withheld = await withheldPaths(reader, records, snapshots);
  const files = new Set(
    shown.filter((one) => isNoFolder(one) && !withheld.has(one.path)).map(({ path }) => path),
  );
  const limits = named ? ofNamed : inList;
  const made = await filePatches(sides, snapshots, files, { env, ...limits }).catch((error: unknown) => {
    // What has changed is known without git.
    if (error instanceof GitError) return error.message;
    throw error;
  });
  const writers = await changeWriters(reader.dir, records, moments, new Set(shown.map(({ path }) => path)));
  // Unlike records, the files of a workspace keep what a node that was given a secret has written.
  const mask = masker(textsToMask(env));
  return {
    schema_version: 1,
    run_id: checkpoint.run_id,
    from: { moment: moments.from.words, snapshot: moments.from.snapshot },
    to: { moment: moments.to.words, snapshot: moments.to.snapshot },
    changes: changes.map(({ path, what, before, after }) => ({
      ...{ path: shownPath(path), what, before: factsOf(before), after: factsOf(after) },
    })),
    files: shown.map((one) => {
      const change = shownChange(one, made, withheld.has(one.path));
      return { ...change, patch: mask(change.patch), by: writers.get(one.path) ?? null };
    }),
    more: ours.length - shown.length,
    left_out: all.filter((one) => !isProduct(one.path)).length,
    withheld: shown.some(({ path }) => withheld.has(path)),
  };
}

/** The paths that are asked for. Of a whole run it is the product: what is not the engine's own. */
export function changesAsked({ at, paths }: ChangeQuery): ((path: string) => boolean) | Refusal {
  if (paths.length === 0) return at === undefined ? isProduct : () => true;
  const named = paths.map((path) => posix.normalize(path).replace(/\/$/, ''));
  const outside = named.findIndex((path) => path.startsWith('/') || path === '..' || path.startsWith('../'));
  if (outside !== -1)
    return refused(
      'usage',
      `"${paths[outside]}" does not lie in the workspace`,
      'name files and folders as the workspace has them, from its top on',
    );
  if (named.includes('.')) return () => true;
  const these = new Set(named);
  // A name that is no UTF-8 cannot be typed in any other way than as we show it.
  return (path) => liesIn(these, path) || liesIn(these, shownPath(path));
}

const factsOf = (entry: Entry | undefined): PathFacts | null =>
  entry === undefined
    ? null
    : {
        kind: entry.kind,
        mode: entry.mode.toString(8).padStart(4, '0'),
        ...(entry.size === undefined ? {} : { size: entry.size }),
        ...(entry.hash === undefined ? {} : { sha256: entry.hash }),
        ...(entry.target === undefined ? {} : { target: entry.target }),
      };

/** Files that a node has changed whose texts are withheld: it may have copied the holdout into them. */
async function withheldPaths(
  reader: RunReader,
  records: readonly RunRecord[],
  snapshots: Snapshots,
): Promise<ReadonlySet<string>> {
  const withheld = await textsWithheld(reader);
  const paths = new Set<string>();
  for (const one of records) {
    if (one.type !== 'Visit' || one.before === one.after || !withheld(one.node)) continue;
    const sides = { before: await snapshots.load(one.before), after: await snapshots.load(one.after) };
    for (const { path } of pathChanges(sides, isProduct)) paths.add(path);
  }
  return paths;
}

/** A folder is a change by itself only if nothing in it is one. */
function withoutFullFolders(changes: readonly PathChange[]): readonly PathChange[] {
  const full = new Set(changes.flatMap(({ path }) => ancestorsOf(path)));
  return changes.filter((one) => isNoFolder(one) || !full.has(one.path));
}

const whys = {
  folder: 'a folder',
  permissions: 'only its permissions changed',
  large: 'too large to compare',
  name: 'a name that git does not accept',
} as const;

/** `made`: the patches, or why there are none. */
function shownChange(
  change: PathChange,
  made: FilePatches | string,
  withheld: boolean,
): Omit<FilePatch, 'by'> {
  const { path, what, before, after } = change;
  const failed = typeof made === 'string';
  const patch = failed ? undefined : made.patches.get(path);
  const untold = failed ? undefined : made.untold.find((one) => one.path === path)?.why;
  const why = isNoFolder(change) ? untold : 'folder';
  return {
    ...{ path: shownPath(path), what, kind: (after ?? before)?.kind ?? 'file' },
    ...{ patch: patch?.text ?? '', added: patch?.added ?? 0, removed: patch?.removed ?? 0 },
    cut: patch?.cut ?? false,
    why_not: withheld ? 'withheld' : why !== undefined ? whys[why] : failed ? made : '',
  };
}
