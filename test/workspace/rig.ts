/** A workspace with a snapshot of it. */
import { join } from 'node:path';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { make, picture, tempFolder, type Wanted } from './folders.ts';

/** A workspace `ws` next to a folder `outside`, a snapshot of it, and its picture at that time. */
export async function rig(wanted: Wanted) {
  const it = tempFolder();
  const ws = join(it.path, 'ws');
  make(it.path, { 'outside/precious': 'precious', ws: {} });
  make(ws, wanted);
  const snapshots = await openSnapshots({ workspace: ws, dir: join(it.path, 'snaps') });
  return {
    ...it,
    ws,
    at: (path: string) => join(ws, path),
    snapshots,
    before: await snapshots.take(),
    was: picture(ws),
  };
}
