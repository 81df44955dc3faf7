/** Where a branch works whose agents answer from their prompts alone. It has no folder: nothing that runs in it could read or write
 *  one. Its files are those of a snapshot, from which the engine reads a prompt_file and to which it adds a response_file. */
import { dirname, posix } from 'node:path';
import type { WorkspaceFiles } from '../core/contracts/node-kind.ts';
import { type Graph, isAgentType } from '../core/graph.ts';
import type { LaneBounds } from '../core/lane-bounds.ts';
import { headOf } from '../platform/files/read.ts';
import type { Entry, Snapshot, Snapshots, Tree } from '../workspace/snapshot.ts';
import { FolderTree } from '../workspace/tree.ts';
import type { BranchPlace } from './branch-places.ts';
import type { Run } from './run-context.ts';

/** Whether all nodes of a branch are such agents. */
export const onlyAnswers = (
  { agentFor }: Pick<Run, 'agentFor'>,
  graph: Graph,
  { nodes }: Pick<LaneBounds, 'nodes'>,
): boolean =>
  [...nodes].every((id) => {
    const node = graph.nodes.get(id);
    return (
      node !== undefined && isAgentType(node.type) && agentFor(node)?.answersAlone?.(node.settings) === true
    );
  });

export type AnswerPlace = BranchPlace & { readonly files: WorkspaceFiles };

/** A place with the files of `snapshot`. Its `workspace` is that of the run, which other branches share. */
export function answerPlace(
  { workspace, snapshots, clock }: Pick<Run, 'workspace' | 'snapshots' | 'clock'>,
  snapshot: Snapshot,
): AnswerPlace {
  const files = new SnapshotFiles(workspace, snapshots, snapshot, () => clock.now().getTime());
  return { workspace, snapshots: files.snapshots, snapshot, files, release: async () => {} };
}

class SnapshotFiles implements WorkspaceFiles {
  readonly path: string;
  readonly snapshots: Snapshots;
  private readonly of: Snapshots;
  private readonly time: () => number;
  /** The last one taken. */
  private latest: Snapshot;
  private tree: Tree;

  constructor(path: string, of: Snapshots, from: Snapshot, time: () => number) {
    this.path = path;
    this.of = of;
    this.time = time;
    this.latest = from;
    this.tree = from.tree;
    this.snapshots = {
      store: of.store,
      copyIn: (folder, options) => of.copyIn(folder, options),
      take: (since) => this.take(since),
      strays: () => [],
      load: (id) => of.load(id),
      keepTree: (tree) => of.keepTree(tree),
      restore: async (to, only) => this.restore(to, only),
      checkout: (id, folder) => of.checkout(id, folder),
      ofFolder: (folder, before) => of.ofFolder(folder, before),
      read: (hash) => of.read(hash),
      pieces: (hash) => of.pieces(hash),
    };
  }

  async read(path: string, limit: number): Promise<string | undefined> {
    const entry = this.entryAt(path);
    if (entry?.kind !== 'file' || entry.hash === undefined) return undefined;
    const bytes = await this.of.read(entry.hash);
    return headOf(bytes, limit, bytes.length > limit);
  }

  async stat(path: string): Promise<'file' | 'dir' | undefined> {
    const kind = this.entryAt(path)?.kind;
    return kind === 'link' ? undefined : kind;
  }

  async write(path: string, content: string): Promise<string | undefined> {
    const folder = followed(this.tree, dirname(path));
    if (folder === undefined) return 'it leads out of the workspace by a link';
    const place = folder === '' ? posix.basename(path) : `${folder}/${posix.basename(path)}`;
    const above = foldersAbove(place);
    const odd = above.find((one) => (this.tree.get(one)?.kind ?? 'dir') !== 'dir');
    if (odd !== undefined) return `${odd} is not a folder`;
    if (this.tree.get(place)?.kind === 'dir') return `${place} is a folder`;
    const batch = this.of.store.begin();
    try {
      const file: Entry = {
        ...{ kind: 'file', mode: 0o644, ...batch.addContent(Buffer.from(content)) },
        mtimeMs: this.time(),
      };
      await batch.commit();
      const made = above.filter((one) => !this.tree.has(one)).map((one): [string, Entry] => [one, newFolder]);
      this.tree = FolderTree.from(new Map([...this.tree, ...made, [place, file]]));
      return undefined;
    } finally {
      await batch.end();
    }
  }

  private entryAt(path: string): Entry | undefined {
    const place = followed(this.tree, path);
    return place === undefined ? undefined : this.tree.get(place);
  }

  private async take(since: Snapshot | undefined): Promise<Snapshot> {
    if (this.tree !== this.latest.tree) {
      this.latest = await this.of.keepTree(this.tree);
      this.tree = this.latest.tree;
    }
    return since?.id === this.latest.id ? since : this.latest;
  }

  private restore(to: Snapshot, only: (path: string) => boolean = () => true): void {
    const kept = [...this.tree].filter(([path]) => !only(path));
    const back = [...to.tree].filter(([path]) => only(path));
    this.tree = FolderTree.from([...kept, ...back]);
  }
}

const newFolder: Entry = { kind: 'dir', mode: 0o755 };

/** The folders above a path, the outermost first. */
function foldersAbove(path: string): readonly string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, at) => names.slice(0, at + 1).join('/'));
}

/** Links on the way to a path; more are a circle. */
const mostLinks = 40;

/** Where a path of a tree leads once all links in it are followed; undefined if that is outside, or nowhere. */
function followed(tree: Tree, path: string): string | undefined {
  const left = path.split('/');
  const at: string[] = [];
  let links = 0;
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      if (at.pop() === undefined) return undefined;
      continue;
    }
    const { kind, target = '' } = tree.get([...at, name].join('/')) ?? {};
    if (kind !== 'link') at.push(name);
    else if (posix.isAbsolute(target) || ++links > mostLinks) return undefined;
    else left.unshift(...target.split('/'));
  }
  return at.join('/');
}
