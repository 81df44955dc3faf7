/** Small disks of other kinds, for tests of what their file systems do not keep. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const did = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;

const mounts = {
  FAT: (image: string, folder: string) =>
    did('mkfs.vfat', image) && did('mount', '-o', 'loop', '-t', 'vfat', image, folder),
  exFAT: (image: string, folder: string) =>
    did('mkfs.exfat', image) &&
    ['exfat', 'exfat-fuse'].some((type) => did('mount', '-o', 'loop', '-t', type, image, folder)),
  tmpfs: (_: string, folder: string) => did('mount', '-t', 'tmpfs', 'tmpfs', folder),
};

export const kinds = ['FAT', 'exFAT', 'tmpfs'] as const;

/** Such a disk below `folder`; undefined where there is no program for it, or it is not permitted. */
export function diskIn(folder: string, kind: (typeof kinds)[number]) {
  const image = join(folder, 'image');
  const path = join(folder, 'disk');
  writeFileSync(image, '');
  truncateSync(image, 64 * 1024 * 1024);
  mkdirSync(path);
  if (!mounts[kind](image, path)) return undefined;
  return { path, [Symbol.dispose]: () => void did('umount', path) };
}
