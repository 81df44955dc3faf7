/** What a run changed in its workspace between two of its moments. */
import { type Refusal, refused } from '../core/diagnostic.ts';
import type { Checkpoint } from '../core/records/checkpoint.ts';
import { inWorkspace, layout } from '../core/records/layout.ts';
import { isSnapshotName, momentText, parsePoint } from '../core/records/names.ts';
import type { RunRecord } from '../core/records/visit.ts';
import { workBegan } from '../core/setup.ts';
import { findMoment } from '../run/moment.ts';
import { diff } from '../workspace/diff.ts';
import type { Sides } from '../workspace/patch.ts';
import type { Entry, Snapshots } from '../workspace/snapshot.ts';
import { openSnapshots } from '../workspace/snapshots.ts';

/** Which moments, as users write them: `at` is one execution from its beginning to its end, and excludes the other two, which are
 *  `NODE[@VISIT]` (after that execution) or the name of a snapshot. Without any: the whole run. */
export type MomentNames = {
  readonly at?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

/** A moment of the run: its words, and the snapshot of the workspace. */
type NamedMoment = {
  readonly words: string;
  readonly snapshot: string;
  /** Number of the last line of the journal before it; undefined for a snapshot that was named. */
  readonly line?: number;
};
export type TwoMoments = { readonly from: NamedMoment; readonly to: NamedMoment };

/** The two moments that the names mean. */
export function findMoments(
  { checkpoint, records }: { readonly checkpoint: Checkpoint; readonly records: readonly RunRecord[] },
  { at, from, to }: MomentNames,
): TwoMoments | Refusal {
  if (at !== undefined && (from !== undefined || to !== undefined))
    return refused(
      'usage',
      '--at tells one visit, from its beginning to its end; --from and --to say it otherwise',
      'leave --at out, or the other two',
    );
  const runId = checkpoint.run_id;
  const moment = (flag: string, text: string, before: boolean): NamedMoment | Refusal => {
    if (!before && isSnapshotName(text)) return { words: text.slice(0, 12), snapshot: text };
    const point = parsePoint(text);
    if ('problem' in point)
      return refused('usage', `--${flag} ${point.problem}`, point.fix.replace('--at', `--${flag}`));
    const there = findMoment(records, point, before);
    if (!there.ok) return refused('no-visit', `run ${runId}: ${there.why}`, there.fix);
    const { node, visit } = there.visit;
    const line = there.visit.seq - (before ? 1 : 0);
    return { words: momentText({ node, visit, before }), snapshot: there.snapshot, line };
  };
  const first = at ?? from;
  const last = at ?? to;
  const start =
    first === undefined
      ? beginningOf(records, checkpoint)
      : moment(at ? 'at' : 'from', first, at !== undefined);
  if (start === undefined) return refused('run-files', `run ${runId} has no record of its beginning`);
  if ('problems' in start) return start;
  const end = last === undefined ? latestOf(checkpoint) : moment(at ? 'at' : 'to', last, false);
  if (end === undefined) return refused('run-files', `the checkpoint of run ${runId} names no snapshot`);
  return 'problems' in end ? end : { from: start, to: end };
}

/** What a setup has installed before all else is no change of the run. */
function beginningOf([first]: readonly RunRecord[], checkpoint: Checkpoint): NamedMoment | undefined {
  if (first?.type !== 'Start') return undefined;
  const snapshot = workBegan(first.snapshot, checkpoint);
  const words = snapshot === first.snapshot ? 'as it began' : 'as its setup left it';
  return { words, snapshot, line: first.seq };
}

const latestOf = ({ snapshot }: Checkpoint): NamedMoment | undefined =>
  snapshot === null ? undefined : { words: 'its latest checkpoint', snapshot };

/** The workspace at two moments, and the store that has the contents. */
export async function loadSides(
  runDir: string,
  { from, to }: TwoMoments,
): Promise<{ readonly sides: Sides; readonly snapshots: Snapshots }> {
  const { workspace, contents: dir } = layout(runDir);
  const snapshots = await openSnapshots({ workspace, dir });
  return {
    sides: { before: await snapshots.load(from.snapshot), after: await snapshots.load(to.snapshot) },
    snapshots,
  };
}

/** Whether a path of the workspace belongs to the product, not to the engine. */
export const isProduct = (path: string): boolean =>
  path !== inWorkspace.factory && !path.startsWith(`${inWorkspace.factory}/`);

export type PathChange = {
  readonly path: string;
  readonly what: 'created' | 'modified' | 'deleted';
  readonly before?: Entry;
  readonly after?: Entry;
};

/** All that differs, folders too, sorted by path. */
export function pathChanges(
  { before, after }: Sides,
  only: (path: string) => boolean,
): readonly PathChange[] {
  const { folders, ...items } = diff(before, after);
  const found: PathChange[] = [];
  for (const lists of [items, folders])
    for (const what of ['created', 'modified', 'deleted'] as const)
      for (const path of lists[what].filter(only)) {
        const was = what === 'created' ? undefined : before.tree.get(path);
        const is = what === 'deleted' ? undefined : after.tree.get(path);
        found.push({
          path,
          what,
          ...(was === undefined ? {} : { before: was }),
          ...(is === undefined ? {} : { after: is }),
        });
      }
  return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

export const isNoFolder = ({ before, after }: PathChange): boolean => (after ?? before)?.kind !== 'dir';

/** The files of the product that differ. */
export const fileChanges = (sides: Sides): readonly PathChange[] =>
  pathChanges(sides, isProduct).filter(isNoFolder);
