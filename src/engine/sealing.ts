/** What is sealed, around the attempts of a run: put there for those who may see it, taken out before anybody else looks. */
import { join } from 'node:path';
import { readAttributes } from '../model/attribute.ts';
import type { Node } from '../model/graph.ts';
import type { Holdout, SealedFile } from '../model/sealed.ts';
import { sha256 } from '../model/sha256.ts';
import type { RanCommand } from '../model/visit-record.ts';
import { openHoldout } from '../nodes/agent-attributes.ts';
import { executableAttributes, type Site } from '../nodes/kind.ts';
import { isSealedPath } from '../policy/holdout.ts';
import { mayTouch } from '../policy/touching.ts';
import { ancestorsOf } from '../workspace/names.ts';
import { type Placed, placeSealed, type TakenOut, takeOutSealed } from '../workspace/sealed.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { look } from '../workspace/walk.ts';
import { ownFrom } from './holdout.ts';

/** The judge of a run, in memory. */
export type Sealed = {
  /** Sealed paths, relative to the workspace. */
  readonly paths: readonly string[];
  /** Whether commits of the workdir may hold it. */
  readonly committed: boolean;
  files(): readonly SealedFile[];
  /** Whether a path of the workspace is sealed or lies below one that is. */
  isSealed(path: string): boolean;
};

export const sealedOf = ({ paths, from }: Holdout, files: readonly SealedFile[]): Sealed => ({
  paths,
  committed: from === 'workdir',
  files: () => files,
  isSealed: (path) => isSealedPath(path, paths),
});

/** Whether a node's stages get to see what is sealed. Tools that work on the run itself do not unless they say so: what
 *  they record, compare and put back is the builder's part of the workspace. */
export function seesHoldout(node: Node, type: string): boolean {
  if (type === 'codergen')
    return Object.values(readAttributes(node.attrs, openHoldout).values).some((said) => said === true);
  const { sees_holdout: said, access } = readAttributes(node.attrs, executableAttributes).values;
  return said ?? access === undefined;
}

/** What of the judge is kept from a node that is no agent's. */
export const withheldFrom = (node: Node, sealed: Sealed | undefined): Site['withheld'] =>
  sealed === undefined || seesHoldout(node, 'verification')
    ? { paths: [], inHistory: false }
    : { paths: sealed.paths, inHistory: sealed.committed };

/** Folders beyond these stay as they are: each mount is made at the cost of all that are there already. */
const mostPinned = 300;

/** Folders of the workspace that a sandboxed stage that sees what is sealed cannot rename: those on the way to it, and its own.
 *  One that is elsewhere for a while lets another judge answer in its place, and no file in it tells of that. */
export function pinnedIn(workspace: string, { paths, files }: Sealed): readonly string[] {
  const own = files().flatMap(({ kind, path }) => (kind === 'dir' ? [path] : []));
  const all = new Set([...paths.flatMap((path) => ancestorsOf(path)), ...own]);
  return [...all]
    .filter((path) => look(workspace, path)?.kind === 'dir')
    .sort((a, b) => a.split('/').length - b.split('/').length || (a < b ? -1 : 1))
    .slice(0, mostPinned)
    .map((path) => join(workspace, path));
}

/** One attempt at a node, as far as what is sealed is concerned. */
export interface Sealing {
  /** Before the stage: its sealed files are there, if it may see them. Throws a WorkspaceError. */
  place(): void;
  /** When all of its processes have ended: nothing sealed is in the workspace any more. `ran` are the programs of the
   *  stage. Throws a WorkspaceError. */
  takeOut(ran: readonly RanCommand[]): TakenOut;
  /** Files that the stage has made of sealed ones: the same bytes under another name. Sorted. `broken`: a record says that
   *  it did something to those. */
  copies(before: Snapshot, after: Snapshot, broken?: boolean): readonly string[];
}

/** Caches that a language leaves beside what it runs. */
const isCache = (path: string): boolean => /(?:^|\/)__pycache__(?:\/|$)|\.pyc$/.test(path);

/** Undefined in a run that has sealed nothing. */
export function sealingOf(
  { sealed, workspace }: { readonly sealed?: Sealed | undefined; readonly workspace: string },
  node: Node,
  type: string,
): Sealing | undefined {
  if (sealed === undefined) return undefined;
  const sees = seesHoldout(node, type);
  // An agent runs no judge: what it leaves beside one is its own.
  const tolerates = type === 'codergen' ? () => false : isCache;
  let placed: Placed | undefined;
  let suspect = false;
  return {
    place() {
      placed = sees ? placeSealed(workspace, sealed.paths, sealed.files()) : undefined;
    },
    takeOut(ran) {
      const found = takeOutSealed(workspace, sealed.paths, sealed.files(), placed, tolerates);
      // A product that its judge runs can give it other words, and the old ones back: nobody else has touched it then.
      const said = () => [
        ...ran.flatMap(({ argv }) => argv),
        ...sealed.files().flatMap(({ kind, content }) => (kind === 'file' ? [content] : [])),
      ];
      const rewritten = found.touched.length > 0 && type !== 'codergen' && !mayTouch(said());
      const taken = rewritten ? { ...found, broken: [...found.broken, ...found.touched].sort() } : found;
      // A second name, or a file that is gone from its place: even a short one has been taken somewhere.
      suspect = taken.linked || taken.broken.length > 0;
      return taken;
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

const known = new WeakMap<Sealed, ReadonlyMap<string, number>>();

/** SHA-256 of the contents of at least so many bytes; worked out once for a run. */
function hashesOf(sealed: Sealed, least: number): ReadonlySet<string> {
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
