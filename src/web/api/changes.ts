/** What a run changed in its workspace, file by file. */
import {
  findMoments,
  isProduct,
  loadSides,
  type PathChange,
  pathChanges,
  type TwoMoments,
} from '../../app/changes.ts';
import { type FilePatches, filePatches } from '../../app/file-patches.ts';
import { textsWithheld } from '../../app/inspect/withheld.ts';
import { masker } from '../../core/policy/mask.ts';
import { textsToMask } from '../../core/policy/secrets.ts';
import type { RunRecord } from '../../core/records/visit.ts';
import { ancestorsOf, shownPath } from '../../platform/files/names.ts';
import { WorkspaceError } from '../../platform/files/workspace-error.ts';
import { GitError } from '../../platform/git.ts';
import { readRun } from '../../run/run-journal.ts';
import type { Snapshots } from '../../workspace/snapshot.ts';
import type { ChangeList, FilePatch } from '../contract.ts';
import { type Handlers, problem, refusal, type Web } from '../web.ts';

const mostFiles = 1000;
/** Bytes. */
const inList = { perFile: 64 * 1024, all: 4 * 1024 * 1024 };
const ofOne = { perFile: 4 * 1024 * 1024, all: 4 * 1024 * 1024 };

export const changesApi: Pick<Handlers, 'changes'> = {
  changes: async ({ web, run, query }) => {
    const read = await readRun(run.dir);
    if (!read.ok) return problem(409, 'refused', read.why);
    const moments = findMoments(read, query);
    if ('problems' in moments) return refusal(moments, 400);
    try {
      return await changesOf(web, { ...read, dir: run.dir }, moments, query.path);
    } catch (error) {
      if (error instanceof WorkspaceError || error instanceof GitError)
        return problem(409, 'refused', error.message);
      throw error;
    }
  },
};

async function changesOf(
  web: Web,
  { dir, records }: { readonly dir: string; readonly records: readonly RunRecord[] },
  moments: TwoMoments,
  path: string | undefined,
): Promise<ChangeList> {
  const { sides, snapshots } = await loadSides(dir, moments);
  const all = pathChanges(sides, () => true);
  const ours = withoutFullFolders(all.filter((one) => isProduct(one.path))).filter(
    (one) => path === undefined || shownPath(one.path) === path,
  );
  const shown = ours.slice(0, mostFiles);
  const withheld = await withheldPaths(dir, records, snapshots);
  const files = new Set(
    shown.filter((one) => isNoFolder(one) && !withheld.has(one.path)).map(({ path }) => path),
  );
  const limits = path === undefined ? inList : ofOne;
  const made = await filePatches(sides, snapshots, files, { env: web.env, ...limits });
  // Unlike records, the files of a workspace keep what a node that was given a secret has written.
  const mask = masker(textsToMask(web.env));
  return {
    from: { moment: moments.from.words, snapshot: moments.from.snapshot },
    to: { moment: moments.to.words, snapshot: moments.to.snapshot },
    files: shown.map((one) => {
      const change = shownChange(one, made, withheld.has(one.path));
      return { ...change, patch: mask(change.patch) };
    }),
    more: ours.length - shown.length,
    left_out: all.filter((one) => !isProduct(one.path)).length,
    withheld: shown.some(({ path }) => withheld.has(path)),
  };
}

/** Files that a node has changed whose texts are withheld: it may have copied the holdout into them. */
async function withheldPaths(
  dir: string,
  records: readonly RunRecord[],
  snapshots: Snapshots,
): Promise<ReadonlySet<string>> {
  const withheld = await textsWithheld(dir);
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

const isNoFolder = ({ before, after }: PathChange): boolean => (after ?? before)?.kind !== 'dir';

const whys = {
  folder: 'a folder',
  permissions: 'only its permissions changed',
  large: 'too large to compare',
  name: 'a name that git does not accept',
} as const;

function shownChange(change: PathChange, { patches, untold }: FilePatches, withheld: boolean): FilePatch {
  const { path, what, before, after } = change;
  const patch = patches.get(path);
  const why = isNoFolder(change) ? untold.find((one) => one.path === path)?.why : 'folder';
  return {
    ...{ path: shownPath(path), what, kind: (after ?? before)?.kind ?? 'file' },
    ...{ patch: patch?.text ?? '', added: patch?.added ?? 0, removed: patch?.removed ?? 0 },
    cut: patch?.cut ?? false,
    why_not: withheld ? 'withheld' : why === undefined ? '' : whys[why],
  };
}
