/** Places holdout files in the workspace for the attempts that may see them, and removes them afterwards. */
import { join } from 'node:path';
import type { NodeContext } from '../core/contracts/node-kind.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { type Graph, isAgentType, isOwnType, type Node } from '../core/graph.ts';
import { isSealedPath, mayTouch } from '../core/policy/holdout-paths.ts';
import type { Holdout, Manifest, SealedFile } from '../core/records/manifest.ts';
import type { RanCommand } from '../core/records/visit.ts';
import { mayReadHoldout, toolSeesHoldout } from '../core/settings/node.ts';
import { sha256 } from '../core/sha256.ts';
import { ancestorsOf } from '../platform/files/names.ts';
import { isWithin, realOrSame } from '../workspace/roots.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { look } from '../workspace/walk.ts';
import { ownFrom } from './seal.ts';
import { type Placed, placeSealed, type RemovedHoldout, takeOutSealed } from './sealed-files.ts';
import { readSealed, sealText } from './vault.ts';

/** The holdout of a run, in memory. */
export type SealedHoldout = {
  /** Sealed paths, relative to the workspace. */
  readonly paths: readonly string[];
  /** Whether commits of the workdir may contain it. */
  readonly committed: boolean;
  files(): readonly SealedFile[];
  /** Whether a path of the workspace is, or lies below, a holdout path. */
  isSealed(path: string): boolean;
  /** Encrypts a text with the key of the holdout. */
  seal(text: string): Buffer;
};

type WithHoldout = Pick<Manifest, 'original_workdir'> & { readonly holdout: Holdout };

/** Whether commits of the run may have scenarios: its own, or those that a fork has replaced. */
export const mayBeCommitted = ({
  holdout: { from, committed },
  original_workdir: workdir,
}: WithHoldout): boolean =>
  committed === true ||
  from === 'workdir' ||
  (workdir !== '' && isWithin(realOrSame(workdir), realOrSame(from)));

export const sealedHoldout = (
  manifest: WithHoldout,
  files: readonly SealedFile[],
  key: Buffer,
): SealedHoldout => ({
  paths: manifest.holdout.paths,
  committed: mayBeCommitted(manifest),
  files: () => files,
  isSealed: (path) => isSealedPath(path, manifest.holdout.paths),
  seal: (text) => sealText(text, key),
});

/** Whether a node may see the holdout. */
export function seesHoldout(node: Node, type: string): boolean {
  if (isAgentType(type)) return mayReadHoldout(node);
  const { settings } = node;
  return isOwnType(node.type) ? settings.sees_holdout === true : toolSeesHoldout(settings);
}

/** The holdout paths that a tool or verification node must not see. */
export const withheldFrom = (
  node: Node,
  sealed: SealedHoldout | undefined,
): Pick<NodeContext['holdout'], 'withheld' | 'inHistory'> =>
  sealed === undefined || seesHoldout(node, 'verification')
    ? { withheld: [], inHistory: false }
    : { withheld: sealed.paths, inHistory: sealed.committed };

/** The sealed paths; in a run without a holdout, the paths that would be sealed. */
export const scenariosOf = (run: {
  readonly graph: Graph;
  readonly sealed?: SealedHoldout | undefined;
}): readonly string[] => run.sealed?.paths ?? run.graph.settings.holdout;

/** Upper bound of pinned folders: each mount costs as much time as there are mounts already. */
const mostPinned = 300;

/** Folders of the workspace that a sandboxed node that sees the holdout cannot rename: those above and in it. A program that
 *  renamed one for a while could run other scenarios in its place, and no file would show it. */
export function pinnedIn(workspace: string, { paths, files }: SealedHoldout): readonly string[] {
  const own = files().flatMap(({ kind, path }) => (kind === 'dir' ? [path] : []));
  const all = new Set([...paths.flatMap((path) => ancestorsOf(path)), ...own]);
  return [...all]
    .filter((path) => look(workspace, path)?.kind === 'dir')
    .sort((a, b) => a.split('/').length - b.split('/').length || (a < b ? -1 : 1))
    .slice(0, mostPinned)
    .map((path) => join(workspace, path));
}

/** The holdout during one attempt of a node. */
export interface HoldoutMount {
  /** Before the attempt: places the files if the node may see them. Throws a WorkspaceError. */
  place(): void;
  /** After all processes of the attempt have ended: removes the files from the workspace. `ran` are the attempt's programs.
   *  Throws a WorkspaceError. */
  takeOut(ran: readonly RanCommand[]): RemovedHoldout;
  /** Files of the attempt with the same bytes as a holdout file. Sorted. `broken`: the attempt changed holdout files. */
  copies(before: Snapshot, after: Snapshot, broken?: boolean): readonly string[];
}

/** Caches that an interpreter writes next to the scripts that it runs. */
const isCache = (path: string): boolean => /(?:^|\/)__pycache__(?:\/|$)|\.pyc$/.test(path);

/** Undefined in a run without a holdout. */
export function sealingOf(
  { sealed, workspace }: { readonly sealed?: SealedHoldout | undefined; readonly workspace: string },
  node: Node,
  type: string,
): HoldoutMount | undefined {
  if (sealed === undefined) return undefined;
  const sees = seesHoldout(node, type);
  // Agents do not run scenarios, so a cache there is a file that they wrote.
  const tolerates = isAgentType(type) ? () => false : isCache;
  let placed: Placed | undefined;
  let suspect = false;
  return {
    place() {
      placed = sees ? placeSealed(workspace, sealed.paths, sealed.files()) : undefined;
    },
    takeOut(ran) {
      const found = takeOutSealed(workspace, sealed.paths, sealed.files(), placed, tolerates);
      // A product that a scenario starts could change the scenario and restore it. Changed times show that, unless the commands
      // or scenarios themselves may touch these files.
      const texts = () => [
        ...ran.flatMap(({ argv }) => argv),
        ...sealed.files().flatMap(({ kind, content }) => (kind === 'file' ? [content] : [])),
      ];
      const rewritten = found.touched.length > 0 && !isAgentType(type) && !mayTouch(texts());
      const removed = rewritten ? { ...found, broken: [...found.broken, ...found.touched].sort() } : found;
      // After a hard link or a missing file, even short equal contents count as copies.
      suspect = removed.linked || removed.broken.length > 0;
      return removed;
    },
    copies(before, after, broken = false) {
      if (!sees || before.id === after.id) return [];
      const hashes = hashesOf(sealed, suspect || broken ? 1 : ownFrom);
      const found = [...after.tree].filter(
        ([path, { hash }]) => hash !== undefined && hashes.has(hash) && before.tree.get(path)?.hash !== hash,
      );
      if (found.length === 0) return [];
      const known = new Set([...before.tree.values()].map(({ hash }) => hash));
      return found.flatMap(([path, { hash }]) => (known.has(hash) ? [] : [path])).sort();
    },
  };
}

const known = new WeakMap<SealedHoldout, ReadonlyMap<string, number>>();

/** SHA-256 of the contents of at least `least` bytes; computed once per run. */
function hashesOf(sealed: SealedHoldout, least: number): ReadonlySet<string> {
  let sizes = known.get(sealed);
  if (sizes === undefined) {
    sizes = new Map(
      sealed
        .files()
        .filter(({ kind }) => kind === 'file')
        .map(({ content }) => [sha256(content), content.length]),
    );
    known.set(sealed, sizes);
  }
  return new Set([...sizes].flatMap(([hash, size]) => (size >= least ? [hash] : [])));
}

/* Reads the holdout of a run before anything changes, and places its files when the run stops. */

/** The holdout of a run; `sealed` is undefined in a run without one. Refuses a missing or damaged store or key. */
export async function openHoldout(
  runDir: string,
  { holdout, original_workdir }: Pick<Manifest, 'holdout' | 'original_workdir'>,
  env: Environment,
): Promise<{ readonly sealed: SealedHoldout | undefined } | Refusal> {
  if (holdout === undefined) return { sealed: undefined };
  const read = await readSealed(runDir, holdout, env);
  return 'problem' in read
    ? { problems: [read.problem] }
    : { sealed: sealedHoldout({ holdout, original_workdir }, read.files, read.key) };
}

/** Places the holdout files in the workspace of a run that has ended; a resume removes them, since it restores the checkpoint.
 *  May be repeated. */
export function revealHoldout(workspace: string, sealed: SealedHoldout | undefined): void {
  if (sealed !== undefined) placeSealed(workspace, sealed.paths, sealed.files());
}

/** The same after a disk error, which may make this fail as well: the store still has the files. */
export function revealHoldoutIfPossible(workspace: string, sealed: SealedHoldout | undefined): void {
  try {
    revealHoldout(workspace, sealed);
  } catch {
    // The disk error is reported already; a resume restores the workspace.
  }
}
