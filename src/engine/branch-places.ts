/** The folders in which branches work. Each is a checkout of what its branch has committed last, in the run's scratch folder: a
 *  resume makes it anew, and needs nothing that is in it. */

import { renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { WorkspaceFiles } from '../core/contracts/node-kind.ts';
import { sandboxLevelFor } from '../core/policy/confinement.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { removeTree } from '../platform/files/remove.ts';
import { removeIfEmpty } from '../platform/files/write.ts';
import type { Snapshot, Snapshots } from '../workspace/snapshot.ts';
import { branchFolders } from './branch-folder.ts';
import { sandboxRequestOf } from './confinement.ts';
import type { Run } from './run-context.ts';

/** Where a branch works. `snapshot` is the one of its cursor, with the facts of the files of this folder. */
export type BranchPlace = {
  readonly workspace: string;
  readonly snapshots: Snapshots;
  readonly snapshot: Snapshot;
  /** Of a branch without a folder. */
  readonly files?: WorkspaceFiles;
  /** To be called when the branch does nothing more: the next one may take its folder over. */
  release(): Promise<void>;
};

/** The folders of the branches of one open fork: as many as are open at the same time. */
export interface BranchPlaces {
  /** Rejects with a WorkspaceError where the folder cannot be made. */
  open(id: string, cursor: { readonly snapshot: string }): Promise<BranchPlace>;
  /** Removes the folders; all have been released. */
  close(): Promise<void>;
}

type Folder = { readonly path: string; readonly snapshots: Snapshots };

/** A folder is named after its branch, so that paths in what a branch has built without a sandbox stay true on a resume. */
export function branchPlaces(
  run: Pick<Run, 'runDir' | 'snapshots' | 'graph' | 'confinement' | 'log' | 'setup'>,
  { node }: { readonly node: string },
): BranchPlaces {
  const { runDir, snapshots: ofRun } = run;
  const top = branchFolders(runDir, node);
  /** Left by branches that have ended. */
  const free: Folder[] = [];

  const opened = async (path: string, id: string): Promise<Folder> => {
    const own = free.findIndex((folder) => folder.path === path);
    const [found] = free.splice(own < 0 ? 0 : own, 1);
    if (found?.path === path) return restored(found, id);
    // Of a visit that an error has ended.
    await removeTree(path);
    if (found === undefined) {
      await ofRun.checkout(id, path);
      return { path, snapshots: ofRun.ofFolder(path) };
    }
    beforeWrite(path);
    renameSync(found.path, path);
    return restored({ path, snapshots: ofRun.ofFolder(path, found.snapshots) }, id);
  };

  return {
    async open(id, cursor) {
      warnOfPaths(run);
      const folder = await opened(join(top, id), cursor.snapshot);
      // Compared with what was last known of this very folder: of files that are as they were nothing is read.
      const snapshot = await folder.snapshots.take();
      return {
        ...{ workspace: folder.path, snapshots: folder.snapshots, snapshot },
        async release() {
          free.push(folder);
        },
      };
    },
    async close() {
      beforeWrite(top);
      await removeTree(top);
      removeIfEmpty(dirname(top));
    },
  };
}

async function restored(folder: Folder, id: string): Promise<Folder> {
  await folder.snapshots.restore(await folder.snapshots.load(id));
  return folder;
}

/** Logs of runs that have the warning. */
const warned = new WeakSet<Run['log']>();

function warnOfPaths({
  graph,
  confinement,
  log,
  setup,
}: Pick<Run, 'graph' | 'confinement' | 'log' | 'setup'>): void {
  if (confinement === undefined || warned.has(log)) return;
  const { word } = sandboxRequestOf(graph, undefined, confinement);
  if (sandboxLevelFor(word, confinement.able, false) === 'bwrap') return;
  warned.add(log);
  const installed =
    setup === undefined
      ? ''
      : ', and those in what the setup has installed (a Python venv, pip install -e) lead from a branch into the workspace';
  log(
    'warn',
    `branches work in separate folders, and without a sandbox their programs see other paths there than in the workspace: absolute paths in what they build are wrong after the join${installed}`,
  );
}
