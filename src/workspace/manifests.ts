/** The trees of the snapshots in one folder, each in `trees/<id>.json`. */
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isCode, makeFolder, systemWords, writeFileAtomic } from '../system/files.ts';
import { readPlainBytes } from '../system/read.ts';
import type { Tree } from './snapshot.ts';
import type { Place } from './store.ts';
import { type ReadTree, readTree, writeTree } from './tree.ts';
import { DamagedStore } from './trouble.ts';

/** The tree of that name in the store `dir`. Throws a DamagedStore where it is missing, or not what was written. */
export function readManifest(dir: string, id: string, boot = ''): ReadTree {
  const path = join(dir, 'trees', `${id}.json`);
  const read = readPlainBytes(path, Number.POSITIVE_INFINITY);
  if (read.kind === 'missing')
    throw new DamagedStore(`there is no snapshot ${basename(path, '.json')} in ${dirname(dirname(path))}`);
  if (read.kind === 'none') throw new DamagedStore(`the snapshot ${path} is damaged: it ${read.why}`);
  try {
    return readTree(read.text, id, boot);
  } catch (error) {
    throw new DamagedStore(`the snapshot ${path} is damaged: it is not what was written there`, {
      cause: error,
    });
  }
}

/** Writes and reads the trees of one store; makes their folder when it is missing. */
export class Manifests {
  /** Whether the folder was made by this opening: its name is not known to be on disk. */
  readonly areNew: boolean;
  private readonly folder: string;
  private readonly boot = bootId();
  /** Trees that this opening has written: of others the name may not be on disk. */
  readonly written = new Set<string>();

  /** With `sync` false nothing is flushed: the caller flushes all of `dir` before it is used. */
  constructor(
    private readonly dir: string,
    private readonly sync: boolean,
  ) {
    this.folder = join(dir, 'trees');
    try {
      this.areNew = makeFolder(this.folder) !== undefined;
    } catch (error) {
      if (!isCode(error, 'EEXIST', 'ENOTDIR', 'ELOOP')) throw error;
      throw new DamagedStore(`the snapshots in ${dir} are out of reach: ${systemWords(error)}`, {
        cause: error,
      });
    }
  }

  read(id: string): ReadTree {
    return readManifest(this.dir, id, this.boot);
  }

  /** Settles when the tree and its name are on disk, in place of one with other times of the files. */
  async write(id: string, tree: Tree, placeOf: (hash: string) => Place | undefined): Promise<void> {
    const { sync } = this;
    const pieces = writeTree(tree, this.boot, placeOf);
    await writeFileAtomic(join(this.folder, `${id}.json`), pieces, { mode: 0o600, sync, syncFolder: sync });
    this.written.add(id);
  }
}

/** Names this start of the system; empty where the system does not tell. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
