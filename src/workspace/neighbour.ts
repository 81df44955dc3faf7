/** What is to take the place of a file is made beside it, and gets its name when it is whole. */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { below, parentOf } from './names.ts';

/** A name in no tree: what was left under it by somebody who was killed, the next whole restore takes away. */
export const neighbourName = (): string => `.factory-restore.${randomBytes(8).toString('hex')}.tmp`;

/** Longer paths may have no room for a neighbour's name: the system's limit is 4096 bytes, elsewhere 1024. */
const longFrom = 900;

/** Where a neighbour of a path is made: at the top where there is no room beside it. */
export function neighbourOf(workspace: string, path: string): string | Buffer {
  const folder = parentOf(path);
  const name = neighbourName();
  const isLong = Buffer.byteLength(below(workspace, path)) >= longFrom;
  return below(workspace, folder === '' || isLong ? name : `${folder}/${name}`);
}

/** For a clean-up while another error is on its way, which says more than one of this would. */
export function removeIfThere(place: string | Buffer): void {
  try {
    rmSync(place, { force: true });
  } catch {}
}
