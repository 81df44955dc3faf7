/** Set-id bits: a file with one runs as its owner or group, also long after the node that made it. */
import { chmodSync, copyFileSync, renameSync, rmSync, type Stats } from 'node:fs';
import { isCode } from './write.ts';

const bits = 0o6000;

/** The mode that a file keeps. A folder keeps the bit for the group: it only decides the group of new files. */
export const withoutSetId = (mode: number): number => mode & 0o7777 & ~bits;

export const hasSetId = ({ mode }: Pick<Stats, 'mode'>): boolean => (mode & bits) !== 0;

/** Removes the bits of a file; another user's keeps them. With another hard link, which may be a program of the system, the name
 *  becomes a separate file. */
export function dropSetId(place: string | Buffer, { mode, nlink }: Pick<Stats, 'mode' | 'nlink'>): void {
  const path = Buffer.from(place);
  const folder = path.subarray(0, path.lastIndexOf('/') + 1);
  const apart = Buffer.concat([folder, Buffer.from(`.factory-set-id.${process.pid}.tmp`)]);
  try {
    if (nlink > 1) {
      copyFileSync(path, apart);
      renameSync(apart, path);
    }
    chmodSync(path, withoutSetId(mode));
  } catch (error) {
    rmSync(apart, { force: true });
    if (!isCode(error, 'ENOENT', 'EPERM', 'EACCES')) throw error;
  }
}
